import CoreDataStore
import Foundation
import ObjectModel
import SQLiteWriter
import StoreExtraction

// The external files of both stores. Their names are UUIDs, so both stores have a file of one name only where one store
// is a copy of the other; the files may have changed since.
extension StoreMerge {
  /// Gives external files of the other store new names where the present store refers to a different file by the same
  /// name, or lacks the file. So each row keeps its own file.
  func giveFilesNames() throws {
    try rename(
      old.liveNames.intersection(present.liveNames).filter { !old.hasSameFile($0, as: present) },
      isAdded: false)
  }

  /// Gives the external file of an added object a name of its own where a present object refers to a file of the same
  /// name: Core Data deletes a file with its object.
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

  /// Keeps only those external files of both stores that rows of the merged store refer to.
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

  /// The quoted names of a table's columns whose values may be names of external files.
  private func fileColumns(of table: TableLayout.Table) throws -> [String] {
    try attributes(of: table).filter(\.attribute.allowsExternalBinaryDataStorage)
      .map { try SQLText.quoted($0.name) }
  }

  /// A condition, as SQL, that holds when the value of a column has the form of an external file's name.
  static func namesFile(_ column: String) -> String {
    "(length(\(column)) = 38 AND substr(\(column), 1, 1) = x'02')"
  }

  private static func stored(_ name: String) -> [UInt8] { [2] + Array(name.utf8) + [0] }
}
