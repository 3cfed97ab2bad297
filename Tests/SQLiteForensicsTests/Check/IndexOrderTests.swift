import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// The order of index entries and of rows without row ids, against what `PRAGMA integrity_check` says of it.
@Suite struct IndexOrderTests {
  private static let encodings = ["UTF-8", "UTF-16le", "UTF-16be"]

  /// Indexes and keys of every kind that is compared, with values that differ in what a collation, an affinity or a
  /// class makes of them.
  private static func make(_ url: URL, encoding: String) throws {
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA encoding = '\(encoding)'; PRAGMA page_size = 1024;
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, n NUMERIC, r REAL, b, c TEXT COLLATE NOCASE DEFAULT 'Später');
      CREATE INDEX ta ON t(a); CREATE INDEX tad ON t(a DESC, n); CREATE INDEX tan ON t(a COLLATE NOCASE, id);
      CREATE INDEX tar ON t(a COLLATE RTRIM DESC); CREATE INDEX tn ON t(n); CREATE INDEX trb ON t(r DESC, b);
      CREATE INDEX tb ON t(b); CREATE INDEX tc ON t(c); CREATE UNIQUE INDEX tu ON t(b, id);
      CREATE TABLE u(x UNIQUE, y TEXT PRIMARY KEY COLLATE NOCASE, z, UNIQUE(z, x), UNIQUE(y));
      CREATE TABLE w(k TEXT COLLATE RTRIM, m INTEGER, v TEXT UNIQUE, PRIMARY KEY(k DESC, m)) WITHOUT ROWID;
      CREATE INDEX wv ON w(v COLLATE NOCASE DESC); CREATE INDEX wm ON w(m, k);
      CREATE TABLE i(p INTEGER PRIMARY KEY, q UNIQUE) WITHOUT ROWID;
      """)
    let texts = [
      "", "a", "A", "a ", "a  ", "B", "b", "ab", "a\u{301}", "Ä", "ä", "z", "\u{ffff}", "😀",
    ]
    for number in 0..<300 {
      let text = texts[number % texts.count] + (number % 3 == 0 ? "" : "\(number % 40)")
      let real = Double(number % 50) / (number % 2 == 0 ? 1 : 3) - 7
      try connection.exec(
        """
        INSERT INTO t VALUES(\(number * 7 % 307), '\(text)', \(number % 5 == 0 ? "'\(text)'" : "\(real)"), \(real),
          \(["NULL", "x'00ff'", "'\(text)'", "9007199254740993", "9007199254740992.0", "-1e300"][number % 6]),
          \(number % 4 == 0 ? "NULL" : "'\(text)'"));
        INSERT INTO u VALUES(\(number % 9 == 0 ? "NULL" : "\(real)+\(number * 1000)"), 'k\(number)', '\(text)');
        INSERT INTO w VALUES('\(text)\(number / 7)', \(number), '\(text)\(number)');
        INSERT INTO i VALUES(\(1000 - number), '\(number)');
        """)
    }
    try connection.exec("INSERT INTO t(id, a) VALUES(5000, 'without c')")
  }

  @Test(arguments: encodings) func whatSQLiteSortsIsInOrder(_ encoding: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    try Self.make(url, encoding: encoding)
    #expect(try CheckTests.verdict(url) == ["ok"])
    let full = try SQLiteDatabase(path: url.path).check(depth: .full)
    #expect(full.findings.kept == [])
    #expect(full.unchecked == [])
    // What was not looked at is named.
    let quick = try SQLiteDatabase(path: url.path).check(depth: .quick)
    #expect(quick.findings.kept == [])
    #expect(quick.unchecked.map(\.id.rawValue) == ["index.entries", "index.order"])
  }

  /// Two entries that stand next to each other change places: all values are there, and a search misses them.
  @Test(arguments: encodings) func entriesThatChangePlacesAreFound(_ encoding: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    try Self.make(url, encoding: encoding)
    let sound = try bytes(of: url)
    var leaves: [String: Int] = [:]
    _ = try SQLiteDatabase(path: url.path).listPages { entry in
      if entry.kind == .leafIndex, entry.cellCount ?? 0 > 3, let owner = entry.owner {
        leaves[owner] = Int(entry.page - 1) * 1024
      }
    }
    #expect(leaves.count >= 15)
    for (owner, page) in Rounds.part(of: leaves.sorted { $0.key < $1.key }, every: 3) {
      var changed = sound
      for byte in 0..<2 { changed.swapAt(page + 10 + byte, page + 12 + byte) }
      try Data(changed).write(to: url)
      #expect(try CheckTests.verdict(url) != ["ok"], "\(owner)")
      let findings = try SQLiteDatabase(path: url.path).check(depth: .full).findings.kept
      let id = owner == "w" || owner == "i" ? "table.badOrder" : "index.badOrder"
      #expect(
        findings.map(\.id.rawValue) == [id] && findings.first?.table == owner,
        "\(owner): \(findings)")
    }
  }

  /// The declaration changes under the entries.
  @Test(arguments: [
    ("tan", "CREATE INDEX tan ON t(a COLLATE BINARY, id)"), ("tad", "CREATE INDEX tad ON t(a, n)"),
    ("tar", "CREATE INDEX tar ON t(a DESC)"), ("tn", "CREATE INDEX tn ON t(n DESC)"),
    ("ta", "CREATE UNIQUE INDEX ta ON t(a)"),
    (
      "w",
      "CREATE TABLE w(k TEXT COLLATE RTRIM, m INTEGER, v TEXT UNIQUE, PRIMARY KEY(k, m)) WITHOUT ROWID"
    ),
  ])
  func anotherOrderIsNoticed(_ name: String, _ sql: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    try Self.make(url, encoding: "UTF-8")
    try CheckTests.edit(url, "UPDATE sqlite_schema SET sql = '\(sql)' WHERE name = '\(name)'")
    #expect(try CheckTests.verdict(url) != ["ok"])
    let damage = try CheckTests.damage(url) ?? []
    #expect(
      !damage.isEmpty
        && Set(damage).isSubset(of: ["index.badOrder", "table.badOrder", "index.notUnique"]),
      "\(damage)")
    #expect(try CheckTests.damage(url, .quick) == [])
  }

  @Test func whatCannotBeComparedIsNamed() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(a TEXT, b INT CHECK(b > 0)); INSERT INTO t VALUES('x', 1), ('y', 2);
      CREATE INDEX te ON t(lower(a)); CREATE INDEX tp ON t(a) WHERE b > 1; CREATE INDEX tc ON t(a);
      CREATE VIEW v AS SELECT a FROM t; CREATE VIRTUAL TABLE f USING fts5(z);
      """)
    connection.close()
    try CheckTests.edit(
      url,
      "UPDATE sqlite_schema SET sql = 'CREATE INDEX tc ON t(a COLLATE german)' WHERE name = 'tc'")
    let report = try SQLiteDatabase(path: url.path).check(depth: .full)
    #expect(report.findings.damageCount == 0, "\(report.findings.kept)")
    #expect(
      report.unchecked.map(\.id.rawValue) == [
        "index.entries", "index.order", "table.checks", "table.virtual", "schema.expressions",
      ])
    #expect(report.unchecked[0].message.contains("(te, tp)"))
    #expect(report.unchecked[1].message.contains("(te, tc)"))
  }

  /// An index of a table without row ids ends with the columns of the key, in the key's order. Automatic indexes ignore
  /// the key's DESC.
  @Test func indexesEndWithTheKeyInItsOrder() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE w(a TEXT, b TEXT UNIQUE, c TEXT, PRIMARY KEY(a DESC)) WITHOUT ROWID;
      CREATE INDEX wc ON w(c); CREATE UNIQUE INDEX wu ON w(c, b);
      INSERT INTO w VALUES('k1', NULL, 'x'), ('k2', NULL, 'x'), ('k3', NULL, 'x');
      """)
    connection.close()
    #expect(try CheckTests.verdict(url) == ["ok"])
    let report = try SQLiteDatabase(path: url.path).check(depth: .full)
    #expect(report.findings.kept == [])
    #expect(report.unchecked == [])
  }

  /// Values that are equal in all bytes that are compared, one of them as long as these bytes.
  @Test func whatIsTooLongToBeComparedIsNamed() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    let most = KeyOrderSink.maxBytes
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB); CREATE INDEX tb ON t(b);
      INSERT INTO t VALUES(9, zeroblob(\(most))), (3, zeroblob(\(most + 1)));
      CREATE TABLE w(k BLOB PRIMARY KEY) WITHOUT ROWID;
      INSERT INTO w VALUES(zeroblob(\(most + 1))), (zeroblob(\(most + 2)));
      """)
    connection.close()
    #expect(try CheckTests.verdict(url) == ["ok"])
    let report = try SQLiteDatabase(path: url.path).check(depth: .full)
    #expect(report.findings.kept == [])
    #expect(report.unchecked.map(\.id.rawValue) == ["index.order"])
    #expect(report.unchecked.first?.message.contains("(tb, w)") == true)
  }
}
