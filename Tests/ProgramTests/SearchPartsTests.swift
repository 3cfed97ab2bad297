import Fixtures
import Foundation
import Testing

/// `lifeboat search` says which values it did not search to their end.
@Suite struct SearchPartsTests {
  @Test func valuesSearchedInPartAreTold() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("s.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
    let long = String(repeating: "x", count: 100_000) + "needle"
    try connection.insert(
      "INSERT INTO t(v) VALUES (?)", [[.string(long)], [.string("a needle")]])
    connection.close()
    let expression = try Program.run("search", "/n[e]+dle/", store.path)
    #expect(expression.status == 0)
    #expect(expression.text.contains("t 2, v: a needle") && !expression.text.contains("t 1"))
    #expect(expression.errors.contains("1 value was searched only in part"))
    let json = try Program.run("search", "--format", "ndjson", "/n[e]+dle/", store.path)
    // Each line is a match, so the note is not among them.
    #expect(try json.lines().map { $0["key"]?.integer } == [2])
    #expect(json.errors.contains("1 value was searched only in part"))
    // A text is looked for in all bytes.
    let text = try Program.run("search", "--format", "ndjson", "needle", store.path)
    #expect(try text.lines().map { $0["key"]?.integer } == [1, 2])
    #expect(text.errors.isEmpty)
  }
}
