import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import SQLiteForensics
import Testing

@testable import StoreExtraction

/// What is found, against SQLite's own answer.
@Suite struct SearchTests {
  /// A hit as `table key column`, for rows of tables.
  private static func hits(
    _ store: URL, _ text: String, isCaseSensitive: Bool = false, live: Bool = true
  ) throws -> [SearchHit] {
    var hits: [SearchHit] = []
    let search = ValueSearch(
      try DamagedStore(path: store.path),
      for: try SearchPattern(text, isCaseSensitive: isCaseSensitive))
    _ = try search.run(live ? .readable : .all) {
      hits.append($0)
      return true
    }
    return hits
  }

  /// In every text of a real store, a word is found where SQLite finds it. Outside the long rounds, in each third one.
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 3, from: 2))
  func textsAreFoundWhereSQLiteFindsThem(_ store: RealStore) throws {
    let place = try TemporaryFolder()
    let copy = try store.copy(into: place.url)
    let words = [("a", false), ("Note", true), ("the", false), ("é", true), ("http", true)]
    let found = try words.map { text, isCaseSensitive in
      try Self.hits(copy, text, isCaseSensitive: isCaseSensitive).count { $0.inside == nil }
    }
    let connection = try SQLiteConnection(copy)
    var expected = Array(repeating: 0, count: words.count)
    for table in try connection.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
    {
      guard case .text(let bytes) = table[0] else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      let quoted = "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
      for column in try connection.rows("SELECT name FROM pragma_table_info('\(name)')") {
        guard case .text(let bytes) = column[0] else { continue }
        let value = "\"" + String(decoding: bytes, as: UTF8.self) + "\""
        for (place, (word, isCaseSensitive)) in words.enumerated() {
          // SQLite's lower() knows ASCII only, as the words without an accent do.
          let test =
            isCaseSensitive ? "instr(\(value), '\(word)')" : "instr(lower(\(value)), '\(word)')"
          expected[place] += Int(
            try connection.integer(
              "SELECT count(*) FROM \(quoted) WHERE typeof(\(value)) = 'text' AND \(test) > 0") ?? 0
          )
        }
      }
    }
    #expect(found == expected)
  }

  private static func made(_ sql: String, in folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("s.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(sql)
    connection.close()
    return url
  }

  @Test func casesAndFormsOfLetters() throws {
    let place = try TemporaryFolder()
    let store = try Self.made(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
      INSERT INTO t VALUES (1, 'Straße ÉCOLE'), (2, 'e\u{301}cole'), (3, 'école'), (4, 'ΟΔΟΣ'),
        (5, 'οδος'), (6, 'ecole'), (7, 'МОСКВА'), (8, '');
      """, in: place)
    func keys(_ text: String, _ isCaseSensitive: Bool = false) throws -> [Int64?] {
      try Self.hits(store, text, isCaseSensitive: isCaseSensitive).map(\.key)
    }
    #expect(try keys("école") == [1, 2, 3])
    #expect(try keys("e\u{301}cole") == [1, 2, 3])
    #expect(try keys("école", true) == [2, 3])
    #expect(try keys("οδος") == [4, 5])
    #expect(try keys("ΟΔΟΣ") == [4, 5])
    #expect(try keys("москва") == [7])
    #expect(try keys("STRASSE") == [])
    #expect(try keys("/^.{4}$/") == [4, 5])
    #expect(try keys("/^É/") == [3])
    #expect(try keys("/ école$/") == [1])
  }

  @Test func numbersAndDates() throws {
    let place = try TemporaryFolder()
    let store = try Self.made(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOUNT INTEGER, ZWHEN TIMESTAMP, ZSIZE FLOAT);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Note', 0, 3);
      INSERT INTO ZNOTE VALUES (1, 1, 7, 42, 0, 1.5), (2, 1, 42, 7, 86399.5, 42), (42, 1, 1, NULL, 86400, 42.5);
      """, in: place)
    func found(_ text: String) throws -> [String] {
      try Self.hits(store, text).map { "\($0.key ?? -1) \($0.attribute ?? "")" }
    }
    // Keys and what Core Data counts itself are not searched.
    #expect(try found("42") == ["1 ZCOUNT", "2 ZSIZE"])
    #expect(try found("42.5") == ["42 ZSIZE"])
    // Equal is equal, also where a float rounds.
    let pattern = try SearchPattern("9223372036854775808")
    #expect(!pattern.matches(Int64.max) && pattern.matches(9_223_372_036_854_775_808.0))
    let odd = try SearchPattern("9007199254740993")
    #expect(!odd.matches(9_007_199_254_740_992.0) && odd.matches(Int64(9_007_199_254_740_993)))
    #expect(try found("2001-01-01") == ["1 ZWHEN", "2 ZWHEN"])
    #expect(try found("2001-01") == ["1 ZWHEN", "2 ZWHEN", "42 ZWHEN"])
    #expect(try found("2001-01-01T23:59") == ["2 ZWHEN"])
    #expect(try found("2001-01-02T00:00:00Z") == ["42 ZWHEN"])
    #expect(try found("2001-02-30") == [])
    #expect(try found("/^2001-01-02/") == ["42 ZWHEN"])
    #expect(try Self.hits(store, "42").allSatisfy { $0.isEntity && $0.part == "Note" })
  }

  @Test(arguments: ["gzip", "zlib", "none"])
  func binaryValuesAreDecoded(_ compression: String) throws {
    let place = try TemporaryFolder()
    let list: [String: Any] = [
      "theme": ["name": "Midnight Ocean", "size": 4711], "names": ["Ünïcode Text", "b"],
    ]
    let blobs = [
      try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0),
      try NSKeyedArchiver.archivedData(
        withRootObject: ["map": ["x": "Hidden Treasure"]], requiringSecureCoding: false),
      Data("{\"text\": \"some JSON text\"}".utf8),
      "wide characters".data(using: .utf16LittleEndian) ?? Data(),
    ].map { compression == "none" ? $0 : Self.compressed($0, isGzip: compression == "gzip") }
    let store = try Self.made("CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB)", in: place)
    let connection = try SQLiteConnection(store)
    try connection.insert("INSERT INTO t(b) VALUES (?)", blobs.map { [.blob([UInt8]($0))] })
    connection.close()
    func inside(_ text: String) throws -> [String] {
      try Self.hits(store, text).map { "\($0.key ?? -1) \($0.inside ?? "")" }
    }
    let lead = compression == "none" ? "" : compression + ", "
    #expect(try inside("midnight") == ["1 \(lead)property list, theme.name"])
    #expect(try inside("ünïcode") == ["1 \(lead)property list, names.0"])
    #expect(try inside("treasure") == ["2 \(lead)keyed archive, map.x"])
    #expect(try inside("json text") == ["3 \(lead)text"])
    #expect(try inside("CHARACTERS") == ["4 \(lead)byte 10 of 30"])
    #expect(try inside("/Mid.*Ocean/") == ["1 \(lead)property list, theme.name"])
  }

  /// In a binary list, numbers and dates are no text; in XML, some letters are written as entities.
  @Test(arguments: [false, true]) func valuesOfListsAreFoundAsTheyAreMeant(_ isXML: Bool) throws {
    let place = try TemporaryFolder()
    let list: [String: Any] = [
      "size": 471_100, "share": 0.375, "text": "salt & pepper",
      "when": Date(timeIntervalSinceReferenceDate: 86_400),
    ]
    let bytes = try PropertyListSerialization.data(
      fromPropertyList: list, format: isXML ? .xml : .binary, options: 0)
    let store = try Self.made("CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB)", in: place)
    let connection = try SQLiteConnection(store)
    try connection.insert("INSERT INTO t(b) VALUES (?)", [[.blob([UInt8](bytes))]])
    connection.close()
    for (text, key) in [
      ("471100", "size"), ("0.375", "share"), ("salt & pepper", "text"), ("2001-01-02", "when"),
    ] {
      #expect(
        try Self.hits(store, text).map(\.inside) == ["property list, \(key)"], "\(text)")
    }
    #expect(try Self.hits(store, "471101").isEmpty)
  }

  /// A UUID in a list is bytes, and XML writes bytes in Base64.
  @Test func uuidsAndDataInListsAreFound() throws {
    let place = try TemporaryFolder()
    let text = "12345678-9ABC-DEF0-1234-56789ABCDEF0"
    let half: [UInt8] = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0]
    let list: [String: Any] = ["id": Data(half + half), "note": Data("some milk".utf8)]
    let blobs = [
      try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0),
      try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0),
      try NSKeyedArchiver.archivedData(
        withRootObject: try #require(NSUUID(uuidString: text)), requiringSecureCoding: false),
    ]
    let store = try Self.made("CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB)", in: place)
    let connection = try SQLiteConnection(store)
    try connection.insert("INSERT INTO t(b) VALUES (?)", blobs.map { [.blob([UInt8]($0))] })
    connection.close()
    #expect(try Self.hits(store, text).map(\.key) == [1, 2, 3])
    #expect(try Self.hits(store, "milk").map(\.key) == [1, 2])
  }

  /// Lists in the data of lists, deeper than any stack.
  @Test func listsWithinListsEnd() throws {
    var list = BlobContentTests.list([[0x56] + Array("needle".utf8)])
    for _ in 0..<8_000 {
      let head: [UInt8] = [0x4f, 0x12] + UInt32(list.count).bigEndianBytes
      list = BlobContentTests.list([head + list])
    }
    #expect(try SearchPattern("needle").match(inBlob: list) != nil)
    #expect(try SearchPattern("/needle/").match(inBlob: list) == nil)
    // Each list has the next one a hundred times.
    list = BlobContentTests.list([[0x56] + Array("needle".utf8)])
    for _ in 0..<8 {
      let head: [UInt8] = [0x4f, 0x12] + UInt32(list.count).bigEndianBytes
      let references = (0..<100).flatMap { _ in [0, 0] as [UInt8] }
      list = BlobContentTests.list([head + list, [0xaf, 0x10, 100] + references])
    }
    #expect(try SearchPattern("/nothing/").match(inBlob: list) == nil)
  }

  /// A stream with a stored block, made by hand so that no compressor is needed.
  private static func compressed(_ data: Data, isGzip: Bool) -> Data {
    let count = UInt16(data.count)
    var stored = Data([
      1, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8),
    ])
    stored += data
    func bytes(_ value: UInt32, isBig: Bool) -> [UInt8] {
      let bytes = (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
      return isBig ? bytes.reversed() : bytes
    }
    if isGzip {
      var crc: UInt32 = ~0
      for byte in data {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
      }
      return Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]) + stored
        + bytes(~crc, isBig: false) + bytes(UInt32(count), isBig: false)
    }
    var (one, two): (UInt32, UInt32) = (1, 0)
    for byte in data {
      one = (one + UInt32(byte)) % 65_521
      two = (two + one) % 65_521
    }
    return Data([0x78, 0x9c]) + stored + bytes(two << 16 | one, isBig: true)
  }

  @Test func deletedRowsAreToldApart() throws {
    let place = try TemporaryFolder()
    let store = try Self.made(
      """
      PRAGMA secure_delete = OFF;
      CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
      INSERT INTO t VALUES (1, 'first needle'), (2, 'second needle'), (3, 'third needle');
      DELETE FROM t WHERE id = 2;
      """, in: place)
    let all = try Self.hits(store, "needle", live: false)
    #expect(all.filter { $0.origin?.state == nil }.map(\.key) == [1, 3])
    let gone = all.filter { $0.origin?.state == .deleted }
    #expect(gone.contains { $0.excerpt.before == "second " && $0.excerpt.match == "needle" })
    #expect(try Self.hits(store, "needle").map(\.key) == [1, 3])
  }

  @Test func externalFilesAreFoundUnderTheirRow() throws {
    let place = try TemporaryFolder()
    let named = "0B7C4A52-4C42-4B5F-9A0B-2F1D3C4E5F60"
    let stray = "1B7C4A52-4C42-4B5F-9A0B-2F1D3C4E5F60"
    let store = try Self.made(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB);
      INSERT INTO t VALUES (5, CAST(x'02' || '\(named)' || x'00' AS BLOB));
      """, in: place)
    let folder = place.url.appendingPathComponent(".s_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // The match lies across the border of two pieces that are read.
    var large = Data(repeating: 0x20, count: 5 << 20)
    large.replaceSubrange((1 << 18) - 3..<(1 << 18) + 3, with: Data("needle".utf8))
    try large.write(to: folder.appendingPathComponent(named))
    try Data("another needle".utf8).write(to: folder.appendingPathComponent(stray))
    let hits = try Self.hits(store, "needle")
    #expect(hits.map(\.key) == [5, nil])
    #expect(hits.first?.inside == "external file \(named), byte 262141 of 5242880")
    #expect(hits.last?.inside == "external file \(stray), text" && hits.last?.part == nil)
  }

  /// An expression is held against the first part of a long value. What is left out is counted.
  @Test func whatIsSearchedOnlyInPartIsCounted() throws {
    let place = try TemporaryFolder()
    let store = try Self.made("CREATE TABLE t(id INTEGER PRIMARY KEY, v)", in: place)
    func long(_ count: Int, needleAt offset: Int) -> [UInt8] {
      var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: count)
      bytes.replaceSubrange(offset..<offset + 6, with: Array("needle".utf8))
      return bytes
    }
    let values: [FixtureValue] = [
      .text(long(100_000, needleAt: 10)), .text(long(100_000, needleAt: 90_000)),
      .blob(long(2_000_000, needleAt: 10)), .blob(long(2_000_000, needleAt: 1_500_000)),
      .blob(long(300_000, needleAt: 200_000)), .blob([UInt8](repeating: 0, count: 2_000_000)),
      .string("nothing"),
    ]
    let connection = try SQLiteConnection(store)
    try connection.insert("INSERT INTO t(v) VALUES (?)", values.map { [$0] })
    connection.close()
    let folder = place.url.appendingPathComponent(".s_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(long(5 << 20, needleAt: 4 << 20)).write(
      to: folder.appendingPathComponent("0B7C4A52-4C42-4B5F-9A0B-2F1D3C4E5F60"))
    // Bytes that are no text are not held against an expression, so nothing of them is left out.
    try Data(count: 5 << 20).write(
      to: folder.appendingPathComponent("1B7C4A52-4C42-4B5F-9A0B-2F1D3C4E5F60"))
    // What a list of this size stands for is not read: here, the ampersand.
    let list = Data("<?xml version=\"1.0\"?>&amp;".utf8) + Data(repeating: 0x20, count: 5 << 20)
    try list.write(to: folder.appendingPathComponent("2B7C4A52-4C42-4B5F-9A0B-2F1D3C4E5F60"))
    func found(_ text: String) throws -> (keys: [Int64?], outcome: ValueSearch.Outcome) {
      var keys: [Int64?] = []
      let search = ValueSearch(try DamagedStore(path: store.path), for: try SearchPattern(text))
      let outcome = try search.run(.readable) {
        keys.append($0.key)
        return true
      }
      return (keys, outcome)
    }
    let expression = try found("/need.e/")
    #expect(expression.keys == [1, 3])
    #expect(expression.outcome.searchedInPart == 5)
    let text = try found("needle")
    #expect(text.keys == [1, 2, 3, 4, 5, nil])
    #expect(text.outcome.searchedInPart == 1)
  }

  /// A list that is too large to be read is not passed over without a word.
  @Test func aListTooLargeToBeReadIsCounted() throws {
    let list = ["key": String(repeating: "salt & pepper ", count: 100_000)]
    let bytes = [UInt8](
      try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0))
    try #require(bytes.count > 1 << 20)
    for (text, isFound) in [("/salt & p/", false), ("salt & p", false), ("salt", true)] {
      var isPartial = false
      let found = try SearchPattern(text).match(inBlob: bytes, &isPartial)
      #expect((found != nil) == isFound, "\(text)")
      #expect(isPartial != isFound, "\(text)")
    }
  }

  /// Excerpts are short and never begin within a letter.
  @Test func excerpts() throws {
    let place = try TemporaryFolder()
    let store = try Self.made(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
      INSERT INTO t VALUES (1, '\(String(repeating: "ü€", count: 500))needle\(String(repeating: "é", count: 500))');
      """, in: place)
    let hit = try #require(try Self.hits(store, "NEEDLE").first)
    #expect(hit.excerpt.match == "needle")
    #expect(hit.excerpt.before == String(repeating: "ü€", count: 12))
    #expect(hit.excerpt.after == String(repeating: "é", count: 48))
    #expect(hit.excerpt.isCutBefore && hit.excerpt.isCutAfter)
  }

  /// A byte that is not UTF-8 is read as a replacement character, which has three bytes.
  @Test(
    arguments: [
      [0xff], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xc0, 0x80], [0xed, 0xa0, 0x80],
      [0xff, 0xc3, 0xa9, 0xfe],
      Array("é€".utf8),
    ] as [[UInt8]])
  func anExpressionFindsItsPlaceBehindInvalidText(_ lead: [UInt8]) throws {
    let text = ContiguousArray(lead + Array("some words".utf8) + lead)
    let start = lead.count + 5
    let pattern = try SearchPattern("/w[a-z]+s/")
    #expect(pattern.match(inText: text.rawSpan) == start..<start + 5)
    // The match of the whole text ends where the text does.
    #expect(try SearchPattern("/(?s)\\A.*\\z/").match(inText: text.rawSpan) == 0..<text.count)
  }

  @Test(arguments: ["", "/[/", "/(/"]) func whatIsNoPattern(_ text: String) {
    let error = #expect(throws: ExtractionError.self) { _ = try SearchPattern(text) }
    #expect(error?.code.rawValue == "usage.badPattern")
  }

  /// The other direction of what `ReferenceDate` writes.
  @Test func datesAreReadAsTheyAreWritten() throws {
    let days = Rounds.areLong ? 37.0 : 1_117
    for seconds in stride(from: -63_000_000_000, through: 250_000_000_000, by: 86_400 * days + 61) {
      guard let text = ReferenceDate(seconds: seconds).iso8601 else { continue }
      #expect(DateText.seconds(in: text)?.lowerBound == seconds)
    }
  }
}
