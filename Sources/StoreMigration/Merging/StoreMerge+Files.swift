import CoreDataStore
import Foundation
import ObjectModel
import SQLiteWriter
import StoreExtraction

// Handles the external files of both stores. Their names are UUIDs, so the same name occurs in both stores only if one
// store is a copy of the other. Even then, a file may have changed since the copy was made.
extension StoreMerge {
  /// Gives a new name to each external file of the other store whose name is also used in the present store, unless
  /// both stores have the same file under this name. Then each row keeps its own file.
  func giveFilesNames() throws {
    try rename(
      old.liveNames.intersection(present.liveNames).filter { !old.hasSameFile($0, as: present) },
      isAdded: false)
  }

  /// Gives a new name to each external file of an added object if the present store also has a file with the same name.
  /// If two objects shared a file, deleting one object would delete the other object's file.
  func giveAddedFilesNames() throws {
    try rename(old.liveNames.intersection(present.liveNames), isAdded: true)
  }

  private func rename(_ names: Set<String>, isAdded: Bool) throws {
    guard !names.isEmpty else { return }
    let table = "\(Self.schema).\"file names\""
    try writer.execute(
      "CREATE TABLE IF NOT EXISTS \(table) (old BLOB PRIMARY KEY, new BLOB NOT NULL) WITHOUT ROWID")
    try writer.execute("DELETE FROM \(table)")
    let insert = try writer.prepare("INSERT INTO \(table) VALUES (?1, ?2)")
    for name in names.sorted() {
      let new = UUID().uuidString
      old.add(new, forFile: name)
      try insert.run([.blob(Self.stored(name)), .blob(Self.stored(new))])
    }
    insert.finalize()
    for place in layout.tables {
      for column in try fileColumns(of: place) {
        let added =
          "Z_PK IN (SELECT old FROM \(try keys(of: place)) WHERE how = \(Way.added.rawValue)) AND "
        try writer.execute(
          "UPDATE \(other(place)) SET \(column) = (SELECT new FROM \(table) WHERE old = \(column)) WHERE \(isAdded ? added : "")\(column) IN (SELECT old FROM \(table))"
        )
      }
    }
  }

  /// Settles which external files are copied from each of the two stores. A file to which no row of the merged store
  /// refers is not copied. A file that both stores have is copied from the present store.
  func settleFiles() throws {
    var named: Set<String> = []
    for table in layout.tables {
      for column in try fileColumns(of: table) {
        let statement = try writer.prepare(
          "SELECT \(column) FROM \(own(table)) WHERE \(Self.namesFile(column))")
        defer { statement.finalize() }
        while try statement.step() {
          if case .blob(let bytes) = statement.value(at: 0),
            let name = ExternalBlob.identifier(in: bytes)
          {
            named.insert(name)
          }
        }
      }
    }
    present.keep { named.contains($0) }
    // A file that both stores have is copied from the present store.
    let shared = present.liveNames
    old.keep { named.contains($0) && !shared.contains($0) }
  }

  /// The quoted names of those columns of a table whose values may be names of external files.
  private func fileColumns(of table: TableLayout.Table) throws -> [String] {
    try attributes(of: table).filter(\.attribute.allowsExternalBinaryDataStorage)
      .map { try SQLText.quoted($0.name) }
  }

  /// An SQL condition that is true if the value of a column has the form of an external file's name.
  static func namesFile(_ column: String) -> String {
    "(length(\(column)) = 38 AND substr(\(column), 1, 1) = x'02')"
  }

  /// Returns the BLOB that a row stores as its reference to the external file `name`.
  static func stored(_ name: String) -> [UInt8] { [2] + Array(name.utf8) + [0] }
}
