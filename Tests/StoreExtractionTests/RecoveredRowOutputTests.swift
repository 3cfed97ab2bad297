import CoreDataStore
import Fixtures
import Foundation
import RowText
import SQLiteForensics
import Testing

@testable import StoreExtraction

/// Which rows of a store without a model the names of entities and tables select.
@Suite struct RecoveredRowOutputTests {
  private static let composed = "Caf\u{e9}"
  private static let decomposed = "Cafe\u{301}"

  private let place: TemporaryFolder
  private let url: URL

  /// Makes a store with two rows for each entity, one more for each later entity, and a plain table that is called as
  /// an entity is, but for the case of its letters.
  init() throws {
    place = try TemporaryFolder()
    url = place.url.appendingPathComponent("rows.sqlite")
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec(
      """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (
        Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE NOTE (x);
      INSERT INTO NOTE VALUES ('plain');
      INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 0);
      """)
    let entities = [Self.composed, Self.decomposed, "Note"]
    let tables = ["ZCAF\u{c9}", "ZCAFE\u{301}", "ZNOTE"]
    for (place, (entity, table)) in zip(entities, tables).enumerated() {
      try connection.exec(
        """
        INSERT INTO Z_PRIMARYKEY VALUES (\(place + 1), '\(entity)', 0, 9);
        CREATE TABLE "\(table)" (
          Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZX VARCHAR);
        """)
      for row in 1...place + 2 {
        try connection.exec("INSERT INTO \"\(table)\" VALUES (\(row), \(place + 1), 1, 'x')")
      }
    }
    // A subentity of Note, in its table.
    try connection.exec(
      """
      INSERT INTO Z_PRIMARYKEY VALUES (4, 'Letter', 3, 0);
      INSERT INTO ZNOTE VALUES (9, 4, 1, 'letter');
      """)
  }

  private func output(_ names: [String]?) throws -> RecoveredRowOutput {
    var output = RecoveredRowOutput(try DamagedStore(path: url.path))
    output.names = names
    return output
  }

  /// The number of rows by entity, with the bytes of its name.
  private func counts(_ names: [String]?) throws -> [ExactText: Int] {
    var counts: [ExactText: Int] = [:]
    let outcome = try output(names).forEachRow(.live) { row, _, _ in
      counts[ExactText(row.entityName ?? ""), default: 0] += 1
      return true
    }
    #expect(outcome.rowCount == counts.values.reduce(0, +))
    return counts
  }

  private func csv(_ write: (Int32) throws -> RecoveredRowOutput.Outcome) throws -> String {
    let path = place.url.appendingPathComponent("out.csv").path
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    _ = try write(descriptor)
    return String(decoding: try bytes(of: URL(fileURLWithPath: path)), as: UTF8.self)
  }

  @Test func namesThatDifferInTheirBytesAreTwo() throws {
    let (one, other) = (ExactText(Self.composed), ExactText(Self.decomposed))
    #expect(try counts([Self.composed]) == [one: 2])
    #expect(try counts([Self.decomposed]) == [other: 3])
    #expect(try counts([Self.composed, Self.decomposed]) == [one: 2, other: 3])
    let tables = try output([Self.composed, Self.decomposed, "ZCAF\u{c9}"]).tableNames()
    let expected = ["ZCAF\u{c9}", "ZCAFE\u{301}"].map { Array($0.utf8) }
    #expect(tables?.map { Array($0.utf8) } == expected)
    for (name, count) in [(Self.composed, 2), (Self.decomposed, 3)] {
      let text = try csv { try output(nil).writeCSV(.live, of: name, to: $0) }
      #expect(text.split(separator: "\r\n").count == 1 + count, "\(text)")
    }
  }

  /// A keyboard composes letters in only one way.
  @Test func aNameMayBeComposedInAnotherWayThanTheOnlyEntity() throws {
    let connection = try SQLiteConnection(url)
    try connection.exec("DROP TABLE \"ZCAF\u{c9}\"; DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = 1")
    connection.close()
    #expect(try counts([Self.composed]) == [ExactText(Self.decomposed): 3])
    let text = try csv { try output(nil).writeCSV(.live, of: Self.composed, to: $0) }
    #expect(text.split(separator: "\r\n").count == 4)
  }

  @Test func theNameOfATableMayHaveAnotherCase() throws {
    #expect(try counts(["znote"]) == [ExactText("Note"): 4, ExactText("Letter"): 1])
    let all = try csv { try output(["znote"]).writeJSON(.live, to: $0) }
    #expect(all.split(separator: "\n").count == 5)
  }

  @Test func anEntityIsNotThePlainTableOfItsName() throws {
    #expect(try counts(["Note"]) == [ExactText("Note"): 4, ExactText("Letter"): 1])
  }

  @Test func aSubentityIsInTheTableOfItsParent() throws {
    #expect(try counts(["Letter"]) == [ExactText("Letter"): 1])
    #expect(throws: ExtractionError.self) { _ = try counts(["Letters"]) }
  }

  @Test func everyRowIsInTheCSVOfAllEntities() throws {
    #expect(
      try output(nil).entityNames.map { Array($0.utf8) }
        == [Self.decomposed, Self.composed, "Letter", "Note"].map { Array($0.utf8) })
    func lines() throws -> Int {
      try csv { try output(nil).writeCSV(.live, ofEntities: nil, to: $0) }
        .split(separator: "\r\n").count
    }
    #expect(try lines() == 1 + 2 + 3 + 4 + 1)
    let connection = try SQLiteConnection(url)
    try connection.exec("DELETE FROM Z_PRIMARYKEY")
    connection.close()
    #expect(try lines() == 1 + 2 + 3 + 4 + 1)
  }

  /// Attributes whose names differ only in their bytes have a column each.
  @Test func sharedColumnsAreToldApartByBytes() {
    var shared = SharedColumns()
    for name in [Self.composed, Self.decomposed, Self.composed] { shared.add(name) }
    #expect(shared.names.count == 2)
    #expect(shared.place(of: Self.composed) == 0 && shared.place(of: Self.decomposed) == 1)
  }
}
