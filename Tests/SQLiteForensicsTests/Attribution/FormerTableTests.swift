import Fixtures
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Deleted rows on pages that went to another table since keep the name of their own, or have none.
@Suite struct FormerTableTests {
  /// A table that is dropped and the one that gets its page.
  struct Successor: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var former =
      "CREATE TABLE users (id INT UNSIGNED NOT NULL, name TEXT NOT NULL, city TEXT, code INT, size FLOAT)"
    var next =
      "CREATE TABLE members (id INT UNSIGNED NOT NULL, name TEXT NOT NULL, city TEXT, code INT, size FLOAT)"
    var rowCount = 20
    var nextCount = 5
  }

  private static func fill(
    _ table: String, _ columnCount: Int, _ count: Int, _ first: Int, _ connection: SQLiteConnection
  ) throws {
    let places = Array(repeating: "?", count: columnCount).joined(separator: ", ")
    try connection.insert(
      "INSERT INTO \(table) VALUES (\(places))",
      (0..<count).map { index -> [FixtureValue] in
        let number = Int64(first + index)
        return Array(
          [
            .integer(number), .string("name \(number * 7919)"),
            .string(String(repeating: "x", count: index * 5 % 13)), .integer(number * 104_729),
            .real(Double(number) * 1.25 + 0.5),
          ].prefix(columnCount))
      })
  }

  @Test(arguments: [
    Successor(testDescription: "alike"),
    Successor(testDescription: "alike, with one row", nextCount: 1),
    Successor(testDescription: "alike, empty", nextCount: 0),
    Successor(testDescription: "alike, many pages", rowCount: 300, nextCount: 5),
    Successor(
      testDescription: "a longer name",
      next:
        "CREATE TABLE all_members_of_the_club (mid INTEGER, mname TEXT, place TEXT, a NUMERIC, b NUMERIC)"
    ),
  ])
  func rowsOfADroppedTableAreNotThoseOfItsSuccessor(_ successor: Successor) throws {
    let next = Recovered.name(in: successor.next)
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(successor.former)
      try Self.fill("users", 5, successor.rowCount, 1000, connection)
      try connection.exec("DROP TABLE users")
      try connection.exec(successor.next)
      try Self.fill(next, 5, successor.nextCount, 500_000, connection)
    }
    let recovered = try store.recover(.all) { _ in }
    Judgement(recovered, store).expectAll()
    #expect(recovered.dead.count * 2 > successor.rowCount)
    for row in recovered.dead {
      #expect(recovered.table(of: row) != next, "\(row.origin.confidence) \(row.values)")
    }
  }

  /// Where nothing was ever dropped the page's own table is the only one that they can be of.
  @Test func rowsOfThePagesOwnTableKeepItsName() throws {
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(Successor(testDescription: "").former)
      try connection.exec("CREATE TABLE other (id INT, name TEXT)")
      try Self.fill("users", 5, 20, 1000, connection)
      for key in (9...20).reversed() {
        try connection.exec("DELETE FROM users WHERE rowid = \(key)")
      }
      try Self.fill("users", 5, 2, 5000, connection)
    }
    let recovered = try store.recover(.all) { _ in }
    #expect(recovered.dead.count >= 8)
    for row in recovered.dead { #expect(recovered.table(of: row) == "users") }
  }
}
