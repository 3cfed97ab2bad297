import Fixtures
import Foundation
import Testing

/// Rows of a bundle without their values.
@Suite struct BundleRedactionTests {
  /// A file of three tables, of which one looks like an entity's.
  private static func store(in folder: URL) throws -> URL {
    let url = folder.appendingPathComponent("people.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZPERSON(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZBORN TIMESTAMP,
        ZHEIGHT FLOAT, ZLUCKY INTEGER, ZPHOTO BLOB);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Person', 0, 4);
      INSERT INTO ZPERSON VALUES
        (1, 1, 1, 'Ludwig', 100000000.5, 1.75, 4711, x'0102030405'),
        (2, 1, 1, 'Ludwig', 100086400.5, 0.25, -4712, x'0102030405'),
        (3, 1, 1, 'Βασιλική', 0, NULL, 0, NULL),
        (4, 1, 1, NULL, 1e15, 1e300, 9223372036854775807, zeroblob(5000));
      """)
    let metadata: [String: Any] = [
      "NSStoreModelVersionHashes": ["Person": Data(repeating: 7, count: 32)],
      "NSStoreType": "SQLite", "NSPersistenceFrameworkVersion": 1344,
      "NSStoreModelVersionHashesVersion": 3, "NSStoreModelVersionIdentifiers": ["1"],
    ]
    let list = try PropertyListSerialization.data(
      fromPropertyList: metadata, format: .binary, options: 0)
    try connection.insert(
      "INSERT INTO Z_METADATA VALUES(1, 'A6E3F0D1-5B0C-4E0A-9C6B-7D1E2F3A4B5C', ?)",
      [[.blob([UInt8](list))]])
    connection.close()
    return url
  }

  private static func rows(_ bundle: URL) throws -> [JSON] {
    let entries = try BundleTests.unpack(bundle)
    return try (entries["rows.ndjson"] ?? Data()).split(separator: 0x0a).map {
      try JSONDecoder().decode(JSON.self, from: Data($0))
    }
  }

  private static func values(_ row: JSON, _ kind: String) -> JSON? { row["values"]?[kind] }

  private static func seconds(_ text: String?) throws -> Double {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return try #require(text.flatMap { formatter.date(from: $0) }).timeIntervalSince1970
  }

  @Test func aTokenStandsForEachValue() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place.url)
    let (folder, bundle, outcome) = try BundleTests.create(store, "--include", "rows")
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    let rows = try Self.rows(bundle)
    try #require(rows.count == 4)
    #expect(rows.map { $0["entity"]?.string } == Array(repeating: "Person", count: 4))
    #expect(rows.map { $0["pk"] } == [.integer(1), .integer(2), .integer(3), .integer(4)])

    let names = rows.map { Self.values($0, "ZNAME") }
    #expect(names[0] == names[1])
    #expect(names[0]?["text"] != names[2]?["text"])
    #expect(names[0]?["length"]?.string == "4-7" && names[0]?["script"]?.string == "Latin")
    #expect(names[2]?["length"]?.string == "8-15" && names[2]?["script"]?.string == "Greek")
    #expect(names[3] == .null)

    // Dates keep their distance, and those that mark something tell no offset.
    let dates = rows.map { Self.values($0, "ZBORN")?["date"]?.string }
    let distance = try Self.seconds(dates[1]) - Self.seconds(dates[0])
    #expect(distance == 86_400)
    #expect(try abs(Self.seconds(dates[0]) - 978_307_200 - 100_000_000.5) >= 365 * 86_400)
    #expect(dates[2] == "marks something")
    #expect(dates[3] == "out of range")

    #expect(
      rows.map { Self.values($0, "ZHEIGHT")?["range"]?.string }
        == ["0..1e1", "0..1e1", nil, "1e300..1e301"])
    #expect(
      rows.map { Self.values($0, "ZLUCKY")?["range"]?.string }
        == ["1000..9999", "-9999..-1000", "0..9", "1000000000000000000..9999999999999999999"])
    let photos = rows.map { Self.values($0, "ZPHOTO") }
    #expect(photos[0] == photos[1] && photos[0]?["bytes"]?.string == "4-7")
    #expect(photos[3]?["bytes"]?.string == "4096-8191")
  }

  /// Nothing joins two bundles, not even of the same store.
  @Test func anotherBundleHasOtherTokens() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place.url)
    var tokens: [Set<String>] = []
    for _ in 0..<2 {
      let (folder, bundle, _) = try BundleTests.create(store, "--include", "rows")
      defer { withExtendedLifetime(folder) {} }
      let text = try String(
        decoding: #require(BundleTests.unpack(bundle)["rows.ndjson"]), as: UTF8.self)
      tokens.append(Set(text.matches(of: #/"([0-9a-f]{16})"/#).map { String($0.1) }))
      #expect(text.contains("\"date\":\"20") || text.contains("\"date\":\"19"))
    }
    #expect(tokens[0].count > 8)
    #expect(tokens[0].isDisjoint(with: tokens[1]))
  }

  /// A bundle of redacted rows, made with the text of an allow-list.
  private static func create(
    _ store: URL, allowing text: String
  ) throws -> (folder: TemporaryFolder, bundle: URL, outcome: Outcome) {
    let place = try TemporaryFolder()
    let list = place.url.appendingPathComponent("allow")
    try Data(text.utf8).write(to: list)
    return try withExtendedLifetime(place) {
      try BundleTests.create(
        store, "--include", "rows", "--redact", "listed", "--allow", list.path)
    }
  }

  @Test func whatIsListedStays() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place.url)
    let (folder, bundle, outcome) = try Self.create(
      store, allowing: "lifeboat-allow 1\r\n# names\r\n  Person.ZNAME\t\r\n\r\n")
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    let rows = try Self.rows(bundle)
    #expect(
      rows.map { Self.values($0, "ZNAME") }
        == [.string("Ludwig"), .string("Ludwig"), .string("Βασιλική"), .null])
    #expect(rows.allSatisfy { Self.values($0, "ZLUCKY")?["integer"]?.string?.utf8.count == 16 })
  }

  /// Names that a user may have chosen are tokens; the values that a list allows stay all the same.
  @Test func whatIsListedUnderAnUnusualNameStays() throws {
    let place = try TemporaryFolder()
    let store = place.url.appendingPathComponent("plain.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE "my notes"(id INTEGER PRIMARY KEY, "first name" TEXT, other TEXT);
      INSERT INTO "my notes" VALUES(1, 'Ada Lovelace', 'Charles Babbage');
      """)
    connection.close()
    let (folder, bundle, outcome) = try Self.create(
      store, allowing: "lifeboat-allow 1\nmy notes.first name\n")
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    let text = try Program.run("rows", "--format", "ndjson", bundle.path).text
    #expect(text.contains("Ada Lovelace") && !text.contains("Babbage"), "\(text)")
    #expect(!text.contains("first name"))
  }

  @Test(arguments: [
    ("", 65), ("lifeboat-allow 2\n", 65), ("lifeboat-allow 1\nPerson\n", 65),
    ("lifeboat-allow 1\n*.*\n", 65), ("lifeboat-allow 1\nPerson.ZNAMES\n", 64),
    ("lifeboat-allow 1\nPersons.*\n", 64), ("lifeboat-allow 1\nPerson.\u{0}\n", 64),
    ("\u{feff}lifeboat-allow 1\n", 65),
  ])
  func aListThatSaysNothingSensibleIsRefused(_ text: String, _ status: Int32) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place.url)
    let (folder, bundle, outcome) = try Self.create(store, allowing: text)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == status, "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: bundle.path))
  }

  /// In a file that is no Core Data store a key may be a telephone number.
  @Test func keysOfPlainTablesAreValues() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("plain.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE calls(number INTEGER PRIMARY KEY, note TEXT);
      INSERT INTO calls VALUES(491701234567, 'hello');
      CREATE TABLE answers(number INTEGER, note TEXT);
      INSERT INTO answers VALUES(491701234567, 'hello');
      """)
    connection.close()
    let (folder, bundle, outcome) = try BundleTests.create(url, "--include", "rows")
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    for (name, data) in try BundleTests.unpack(bundle) {
      #expect(!data.holds("491701234567"), "\(name)")
    }
    let rows = try Self.rows(bundle)
    try #require(rows.count == 2)
    // Texts can still be joined. A number is one column's, so that a column which counts is no dictionary for others.
    #expect(Self.values(rows[0], "note") == Self.values(rows[1], "note"))
    #expect(Self.values(rows[0], "number") != Self.values(rows[1], "number"))
    let (other, chosen, _) = try BundleTests.create(url, "--include", "rows:calls")
    defer { withExtendedLifetime(other) {} }
    #expect(try Self.rows(chosen).map { $0["table"]?.string } == ["calls"])
  }

  /// A column that counts is no dictionary for the others.
  @Test func numbersOfTwoColumnsHaveNoTokenInCommon() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("plain.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, age INTEGER, weight REAL, half REAL);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 50)
        INSERT INTO t SELECT k, 51 - k, k + 0.5, 51 - k + 0.5 FROM n;
      """)
    connection.close()
    let (folder, bundle, _) = try BundleTests.create(url, "--include", "rows")
    defer { withExtendedLifetime(folder) {} }
    let rows = try Self.rows(bundle)
    #expect(rows.count == 50)
    let tokens = ["id", "age"].map { name in
      Set(rows.compactMap { Self.values($0, name)?["integer"]?.string })
    }
    #expect(tokens[0].count == 50 && tokens[0].isDisjoint(with: tokens[1]))
    let reals = ["weight", "half"].map { name in
      Set(rows.compactMap { Self.values($0, name)?["real"]?.string })
    }
    #expect(reals[0].count == 50 && reals[0].isDisjoint(with: reals[1]))
  }

  /// Ranks are those that SQLite counts.
  @Test func numbersHaveTheirRanks() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("plain.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, x REAL);
      WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 500)
        INSERT INTO t SELECT i, random() % 100, (random() % 1000) / 7.0 FROM k;
      INSERT INTO t VALUES(1001, 9223372036854775807, 1e300), (1002, -9223372036854775808, -1e-300),
        (1003, 0, 0.0), (1004, NULL, NULL), (1005, -1, -0.0);
      """)
    let truth = try connection.rows(
      """
      SELECT n, CASE WHEN n IS NOT NULL THEN dense_rank() OVER (ORDER BY n) - (SELECT count(*) > 0 FROM t WHERE n IS NULL) END,
        x, CASE WHEN x IS NOT NULL THEN dense_rank() OVER (ORDER BY x) - 1 END, id,
        dense_rank() OVER (ORDER BY id) FROM t ORDER BY id
      """)
    connection.close()
    let (folder, bundle, outcome) = try BundleTests.create(
      url, "--include", "rows", "--numbers", "ranks")
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    let rows = try Self.rows(bundle)
    try #require(rows.count == truth.count && truth.count == 505)
    for (row, expected) in zip(rows, truth) {
      for (name, place) in [("n", 1), ("x", 3), ("id", 5)] {
        let value = Self.values(row, name)
        if case .integer(let rank) = expected[place] {
          #expect(value?["rank"]?.integer == rank, "\(name) of \(expected)")
          #expect(value?["range"] == nil)
        } else {
          #expect(value == .null)
        }
      }
    }
    let refused = try Program.run(
      "bundle", "create", url.path, "-o", place.url.path + "/no.zip", "--numbers", "ranks")
    #expect(refused.status == 64)
  }

  @Test func aDryRunSaysWhatWouldLeave() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place.url)
    let outcome = try Program.run(
      "bundle", "create", store.path, "-n", "--include", "rows", "--redact", "none")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("everything that the user has entered"))
    #expect(outcome.text.contains("rows.ndjson"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).count == 1)
    let bad: [[String]] = [
      ["--redact", "none"], ["--include", "rows", "--redact", "listed"],
      ["--include", "store", "--redact", "values"], ["--include", "rows", "--allow", "x"],
      ["--include", "rows:"], ["--include", "store:Person"], ["--include", "rows:Nobody"],
    ]
    for flags in bad {
      #expect(
        try Program.run(["bundle", "create", store.path, "-n"] + flags).status == 64, "\(flags)")
    }
  }
}
