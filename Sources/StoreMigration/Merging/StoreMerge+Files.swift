import CoreDataStore
import Foundation
import ObjectModel
import SQLiteWriter
import StoreExtraction

// The files beside both stores. A name is a UUID, so both stores have one only where one store is a copy of the other;
// the files may have changed since.
extension StoreMerge {
  /// Gives files of the other store new names where the present store has a name for another file, or for one that it
  /// lacks: each row keeps its own file.
  func giveFilesNames() throws {
    try rename(
      old.liveNames.intersection(present.liveNames).filter { !old.hasSameFile($0, as: present) },
      isAdded: false)
  }

  /// Gives a file a second name where an added object would share it with a present one: Core Data deletes a file with
  /// its object.
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

  /// Keeps the files that rows of the merged store name.
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
    // The present store has its own copy of a file that both have.
    let shared = present.liveNames
    old.keep { named.contains($0) && !shared.contains($0) }
  }

  /// The columns, quoted, whose values may name files.
  private func fileColumns(of table: TableLayout.Table) throws -> [String] {
    try attributes(of: table).filter(\.attribute.allowsExternalBinaryDataStorage)
      .map { try SQLText.quoted($0.name) }
  }

  /// Whether a value has the form of a file's name, as SQL.
  static func namesFile(_ column: String) -> String {
    "(length(\(column)) = 38 AND substr(\(column), 1, 1) = x'02')"
  }

  private static func stored(_ name: String) -> [UInt8] { [2] + Array(name.utf8) + [0] }
}
