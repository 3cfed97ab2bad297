import Fixtures
import Foundation
import Testing

/// Bundles that may not have more bytes than was asked for.
@Suite struct BundleSizeTests {
  /// Two entities-like tables: one of `count` rows and one of few, so that both have to stay.
  private static func store(in folder: TemporaryFolder, _ count: Int = 20_000) throws -> URL {
    let url = folder.url.appendingPathComponent("many.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE event(id INTEGER PRIMARY KEY, what TEXT);
      CREATE TABLE setting(id INTEGER PRIMARY KEY, what TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        INSERT INTO event SELECT i, 'event ' || i || hex(randomblob(12)) FROM n;
      INSERT INTO setting VALUES (1, 'first setting'), (2, 'second setting');
      """)
    connection.close()
    return url
  }

  private struct Row: Decodable {
    var table: String?
  }

  private static func counts(_ bundle: URL) throws -> [String: Int] {
    let rows = try BundleTests.unpack(bundle)["rows.ndjson"] ?? Data()
    var counts: [String: Int] = [:]
    for line in rows.split(separator: 0x0a) {
      let row = try JSONDecoder().decode(Row.self, from: Data(line))
      counts[row.table ?? "", default: 0] += 1
    }
    return counts
  }

  private static func size(_ url: URL) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int ?? -1
  }

  @Test(arguments: [["--redact", "none"], [], ["--level", "1"]])
  func theFirstRowsOfEachTableStay(_ options: [String]) throws {
    let place = try TemporaryFolder()
    let count = Rounds.areLong ? 20_000 : 6_000
    let store = try Self.store(in: place, count)
    let whole = place.url.appendingPathComponent("whole.zip")
    let arguments = ["bundle", "create", store.path, "--include", "rows"] + options
    #expect(try Program.run(arguments + ["-o", whole.path]).status == 0)
    let limit = try Self.size(whole) / 3
    let small = place.url.appendingPathComponent("small.zip")
    let limited = arguments + ["--max-size", "\(limit)"]

    // What will be left out is said before anything is made.
    let plan = try Program.run(limited + ["--dry-run"])
    #expect(plan.status == 0, "\(plan.errors)")
    #expect(plan.text.contains("left out: Rows after the first "))
    #expect(!FileManager.default.fileExists(atPath: small.path))

    let made = try Program.run(limited + ["-o", small.path])
    #expect(made.status == 0, "\(made.errors)")
    #expect(try Self.size(small) <= limit)
    // Not much less than there is room for.
    #expect(try Self.size(small) > limit * 8 / 10)
    let counts = try Self.counts(small)
    #expect(counts["setting"] == 2)
    let kept = try #require(counts["event"])
    #expect(kept > 1000 && kept < count)
    let sentence = "Rows after the first \(kept) of each entity or table, "
    let line = made.text.split(separator: "\n").first { $0.contains(sentence) }
    #expect(line?.hasSuffix(": \(count - kept).") == true, "\(made.text)")
    let shown = try Program.run("bundle", "show", small.path).text
    #expect(shown.contains("Rows after the first \(kept) of each"), "\(shown)")
    #expect(try Program.run("bundle", "verify", small.path).status == 0)
  }

  /// Rows of very different lengths: how many of them fit is not known before it is tried.
  @Test func aLimitOfFewRowsIsLoweredRowByRow() throws {
    let place = try TemporaryFolder()
    let store = place.url.appendingPathComponent("few.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE note(id INTEGER PRIMARY KEY, what TEXT)")
    for length in [10_000, 100_000] + [Int](repeating: 5000, count: 7) {
      try connection.exec("INSERT INTO note(what) VALUES(hex(randomblob(\(length))))")
    }
    connection.close()
    let bundle = place.url.appendingPathComponent("b.zip")
    let made = try Program.run(
      "bundle", "create", store.path, "--include", "rows", "--redact", "none", "--max-size", "60kB",
      "-o", bundle.path)
    #expect(made.status == 0, "\(made.errors)")
    #expect(try Self.counts(bundle) == ["note": 1])
  }

  @Test func largeExternalFilesStayOut() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let external = place.url.appendingPathComponent(".many_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: external, withIntermediateDirectories: true)
    var random = SplitMix64(seed: 7)
    for (name, count) in [("A", 900_000), ("B", 2_000_000), ("C", 10_000)] {
      let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      try Data(bytes).write(to: external.appendingPathComponent(name))
    }
    let bundle = place.url.appendingPathComponent("b.zip")
    let made = try Program.run(
      "bundle", "create", store.path, "--include", "store", "--max-size", "2.5MB", "-o",
      bundle.path)
    #expect(made.status == 0, "\(made.errors)")
    #expect(try Self.size(bundle) <= 2_500_000)
    let names = try BundleTests.unpack(bundle).keys.filter { $0.contains("_EXTERNAL_DATA") }
    #expect(
      names.sorted() == ["A", "C"].map { "store/.many_SUPPORT/_EXTERNAL_DATA/\($0)" })
    #expect(made.text.contains("The largest external files of the store"))
    #expect(made.text.contains(": 1, with 2000000 bytes."))
  }

  /// What was asked for never becomes something else.
  @Test(arguments: ["structure", "rows", "store"])
  func whatCannotFitIsRefused(_ contents: String) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let bundle = place.url.appendingPathComponent("b.zip")
    let made = try Program.run(
      "bundle", "create", store.path, "--include", contents, "--max-size", "1000", "-o",
      bundle.path)
    #expect(made.status == 73)
    #expect(made.errorCode == "bundle.overLimit", "\(made.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path) == ["many.sqlite"])
  }

  /// The limit is one on the file that is sent.
  @Test func anEncryptedBundleFitsToo() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let key = place.url.appendingPathComponent("key")
    #expect(try Program.run("bundle", "keygen", "-o", key.path).status == 0)
    let text = try String(contentsOf: key, encoding: .utf8)
    let recipient = try #require(text.firstMatch(of: /age1[a-z0-9]+/)).output
    for armor in [[], ["--armor"]] {
      let bundle = place.url.appendingPathComponent("b\(armor.count).zip.age")
      let made = try Program.run(
        ["bundle", "create", store.path, "--include", "rows", "--max-size", "200kB"]
          + ["--to", String(recipient), "-o", bundle.path] + armor)
      #expect(made.status == 0, "\(made.errors)")
      let size = try Self.size(bundle)
      #expect(size <= 200_000 && size > 150_000)
    }
  }

  /// Copies obey the limit, too.
  @Test func aCopyIsMadeSmaller() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let bundle = place.url.appendingPathComponent("b.zip")
    let copy = place.url.appendingPathComponent("c.zip")
    #expect(
      try Program.run(
        "bundle", "create", store.path, "--include", "rows", "-o", bundle.path
      ).status == 0)
    let made = try Program.run(
      "bundle", "redact", bundle.path, "--max-size", "100kB", "-o", copy.path)
    #expect(made.status == 0, "\(made.errors)")
    #expect(try Self.size(copy) <= 100_000)
    #expect(try Self.counts(copy)["setting"] == 2)
    #expect(made.text.contains("Rows after the first "))
  }
}
