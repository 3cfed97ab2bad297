import Fixtures
import Foundation
import RowText
import SQLiteFile
import Testing

/// Rows that are not between the keys above their page: SQLite does not find them by row id.
@Suite struct KeyBoundsTests {
  /// `rowCount`: of few rows one thread reads all, of many two.
  @Test(arguments: [300, 40_000])
  func rowsBesideTheirKeysAreDamage(_ rowCount: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Keys.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 512; CREATE TABLE t(a)")
    try connection.exec(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount)) INSERT INTO t SELECT hex(zeroblob(20)) FROM n"
    )
    connection.close()
    #expect(try CheckTests.verdict(url) == ["ok"])
    #expect(try Self.findings(url).isEmpty)
    var bytes = [UInt8](try Data(contentsOf: url))
    // The first interior page that leads to leaves, and its first cell (file format, section 1.6).
    let page = try #require(
      stride(from: 512, to: bytes.count, by: 512).first { start in
        guard bytes[start] == 5 else { return false }
        let cell = start + Int(bytes[start + 12]) << 8 + Int(bytes[start + 13])
        let child = bytes[cell..<cell + 4].reduce(0) { $0 << 8 | Int($1) }
        return bytes[(child - 1) * 512] == 13
      })
    let cell = page + Int(bytes[page + 12]) << 8 + Int(bytes[page + 13])
    let last = try #require((cell + 4..<cell + 13).first { bytes[$0] < 0x80 })
    bytes[last] -= 3
    try Data(bytes).write(to: url)
    #expect(try CheckTests.verdict(url) != ["ok"])
    #expect(try Self.findings(url) == ["tree.keyOrder"])
  }

  private static func findings(_ url: URL) throws -> Set<String> {
    let database = try SQLiteDatabase(path: url.path)
    _ = try bytesWritten { _ = try database.writeJSON(of: database.schema.tables, to: $0) }
    return Set(database.findings.kept.map(\.id.rawValue))
  }
}
