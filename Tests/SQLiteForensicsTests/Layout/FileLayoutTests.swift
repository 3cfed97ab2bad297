import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Files whose head is ruined, lost or moved: page size, encoding and place of page 1 by what the pages say.
@Suite struct FileLayoutTests {
  struct Form: Sendable, CustomTestStringConvertible {
    let pageSize: Int
    var reserved: Int32 = 0
    var encoding = "UTF-8"
    var vacuum = "NONE"

    var pragmas: String { "PRAGMA encoding = '\(encoding)'; PRAGMA auto_vacuum = \(vacuum)" }
    var testDescription: String { "\(pageSize) \(reserved) \(encoding) \(vacuum)" }

    func make(longest: Int = 0) throws -> DamageCase {
      try DamageCase(pageSize: pageSize, reserved: reserved, pragmas: pragmas) {
        try Notebook.fill($0, rows: max(200, pageSize / 20), longest: longest)
      }
    }

    /// With overflow pages. Those of the largest pages take tens of megabytes, and are there in long rounds only.
    func makeLong() throws -> DamageCase {
      try make(longest: pageSize < 65_536 || Rounds.areLong ? pageSize * 3 : 0)
    }
  }

  static let sizes = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]
  static let forms: [Form] =
    sizes.map { Form(pageSize: $0) }
    + ["UTF-8", "UTF-16le", "UTF-16be"].flatMap { encoding in
      ["NONE", "FULL", "INCREMENTAL"].map {
        Form(pageSize: 1024, encoding: encoding, vacuum: $0)
      }
    }
    + [
      Form(pageSize: 512, reserved: 32), Form(pageSize: 1024, reserved: 12),
      Form(pageSize: 4096, reserved: 80), Form(pageSize: 4096, reserved: 255, vacuum: "FULL"),
    ]

  private static func expect(
    _ layout: FileLayout, _ form: Form, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(layout.pageSize == form.pageSize, sourceLocation: sourceLocation)
    #expect(layout.reservedBytes == Int(form.reserved), sourceLocation: sourceLocation)
    #expect(layout.textEncoding.name == form.encoding.uppercased(), sourceLocation: sourceLocation)
    #expect(layout.hasPointerMap == (form.vacuum != "NONE"), sourceLocation: sourceLocation)
  }

  @Test(arguments: Rounds.part(of: forms, every: 2))
  func aWholeFileIsReadAsSQLiteReadsIt(_ form: Form) throws {
    let store = try form.make(longest: form.pageSize * 3)
    let recovered = try store.recover { _ in }
    Self.expect(recovered.layout, form)
    #expect(recovered.layout.origin == 0)
    #expect(recovered.layout.pageSizeSource == .header)
    #expect(recovered.layout.encodingSource == .header)
    #expect(recovered.findings.isEmpty, "\(recovered.findings)")
    Judgement(recovered, store).expectAll()
    #expect(
      recovered.rows.allSatisfy { $0.origin.attribution == .root && $0.origin.confidence == 100 })
  }

  @Test(arguments: Rounds.part(of: forms, every: 2, from: 1))
  func aHeaderOfZerosCostsNothing(_ form: Form) throws {
    let store = try form.makeLong()
    let recovered = try store.recover {
      $0.replaceSubrange(0..<100, with: repeatElement(0, count: 100))
    }
    Self.expect(recovered.layout, form)
    #expect(recovered.layout.pageSizeSource == .pages)
    #expect(recovered.findings.contains("header.unreadable"))
    Judgement(recovered, store).expectAll()
  }

  @Test(arguments: Rounds.part(of: forms, every: 4))
  func aWrongPageSizeIsOutvoted(_ form: Form) throws {
    let store = try form.make()
    for wrong in Self.sizes where wrong != form.pageSize && wrong != 65_536 {
      let recovered = try store.recover {
        $0[16] = UInt8(wrong >> 8)
        $0[17] = UInt8(wrong & 255)
      }
      Self.expect(recovered.layout, form)
      Judgement(recovered, store).expectAll("\(wrong)")
    }
  }

  @Test(arguments: forms.filter { $0.pageSize == 1024 })
  func aWrongEncodingIsOutvoted(_ form: Form) throws {
    let store = try form.make()
    for (number, name) in [(1, "UTF-8"), (2, "UTF-16le"), (3, "UTF-16be")] as [(UInt8, String)]
    where (name == "UTF-8") != (form.encoding == "UTF-8") {
      let recovered = try store.recover { $0[59] = number }
      Self.expect(recovered.layout, form)
      #expect(recovered.layout.encodingSource == .pages)
      #expect(recovered.findings.contains("header.otherEncoding"))
      Judgement(recovered, store).expectAll(Comment(rawValue: name))
    }
  }

  /// Text in UTF-16 of which the bytes are valid UTF-8, too: "男" is "u7" or "7u".
  @Test(arguments: ["UTF-16le", "UTF-16be"])
  func textThatIsValidInBothEncodingsOutvotesNoHeader(_ encoding: String) throws {
    let store = try DamageCase(pragmas: "PRAGMA encoding = '\(encoding)'") { connection in
      try connection.exec("CREATE TABLE person(id INTEGER PRIMARY KEY, sex TEXT)")
      try connection.insert(
        "INSERT INTO person VALUES(?, ?)",
        (1...3000).map { (id: Int64) -> [FixtureValue] in
          [.integer(id), .string(id % 2 == 0 ? "男" : "女")]
        })
    }
    let recovered = try store.recover { _ in }
    #expect(recovered.layout.encodingSource == .header)
    #expect(recovered.findings.isEmpty, "\(recovered.findings)")
    Judgement(recovered, store).expectAll()
  }

  /// Where the main file was emptied, only the header in the log says how many bytes of a page are reserved.
  @Test func theLogTellsTheReservedBytesOfAnEmptyFile() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("made.sqlite")
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.reserve(bytes: 12)
    try connection.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try Notebook.fill(connection, rows: 60, longest: 20_000)
    let store = try DamageCase(connection, url)
    try #require(store.bytes[20] == 12)
    let recovered = try store.recover { $0 = [] }
    #expect(recovered.layout.reservedBytes == 12)
    Judgement(recovered, store).expectAll()
  }

  /// Rows that became shorter leave fragments at the end of pages, which are no reserved bytes.
  @Test(arguments: [0, 12] as [Int32])
  func fragmentsAreNoReservedBytes(_ reserved: Int32) throws {
    let store = try DamageCase(pageSize: 1024, reserved: reserved) { connection in
      try connection.exec("CREATE TABLE short(id INTEGER PRIMARY KEY, note TEXT, half REAL)")
      try connection.insert(
        "INSERT INTO short VALUES(?, ?, ?)",
        (1...3000).map {
          [.integer(Int64($0)), .string("note number \($0)"), .real(Double($0) / 2)]
        })
      try connection.exec("UPDATE short SET note = 'committed ' || id")
    }
    for length in [0, 100] {
      let recovered = try store.recover {
        $0.replaceSubrange(0..<length, with: repeatElement(0, count: length))
      }
      #expect(recovered.layout.reservedBytes == Int(reserved))
      Judgement(recovered, store).expectAll("\(length)")
    }
  }

  /// The header's other fields may be anything.
  @Test func noFieldOfTheHeaderIsNeeded() throws {
    let store = try Form(pageSize: 1024).make(longest: 3000)
    for field in stride(from: 0, to: 100, by: 4) {
      for value in [0x00, 0xff, 0x41] as [UInt8] {
        let recovered = try store.recover {
          $0.replaceSubrange(field..<field + 4, with: repeatElement(value, count: 4))
        }
        Judgement(recovered, store).expectAll("offset \(field), \(value)")
      }
    }
  }

  // MARK: - Page 1

  /// Without a schema no table has a name, and every row is there.
  @Test(arguments: Rounds.part(of: forms, every: 4, from: 3), [UInt64?.none, 99])
  func pageOneOfZerosOrNoiseCostsTheNamesOnly(_ form: Form, _ seed: UInt64?) throws {
    let store = try form.makeLong()
    func ruin(_ bytes: inout [UInt8]) {
      var generator = SplitMix64(seed: seed ?? 0)
      let count = store.pageSize
      bytes.replaceSubrange(
        store.range(1),
        with: seed == nil ? [UInt8](repeating: 0, count: count) : generator.bytes(count))
    }
    let recovered = try store.recover(.live, ruin)
    Self.expect(recovered.layout, form)
    let judgement = Judgement(recovered, store)
    guard store.pages("leaf", of: "sqlite_schema").allSatisfy({ $0.number == 1 }) else {
      // The schema took more than page 1, and its leaves are whole.
      return judgement.expectAll()
    }
    #expect(recovered.findings.contains("schema.lost"))
    judgement.expectHonest()
    #expect(judgement.nameless.count == judgement.total)
    #expect(recovered.rows.allSatisfy { $0.origin.attribution == .unknown })

    // Somebody who knows the tables gives them back.
    let told = try store.recover(.live, expect: Notebook.statements, ruin)
    let named = Judgement(told, store)
    named.expectAll()
    #expect(told.rows.allSatisfy { $0.origin.attribution == .shape })
  }

  // MARK: - Head

  /// How many pages of which form are lost: each form and each number is in the part of them that is usual.
  static let lostHeads: [(Form, Int)] = {
    let forms = [
      Form(pageSize: 512), Form(pageSize: 1024), Form(pageSize: 4096),
      Form(pageSize: 1024, encoding: "UTF-16le"), Form(pageSize: 1024, vacuum: "FULL"),
      Form(pageSize: 1024, reserved: 32),
    ]
    var all: [(Form, Int)] = []
    for form in forms { for lost in [1, 2, 3, 8, 20] { all.append((form, lost)) } }
    return Rounds.part(of: all, every: 4)
  }()

  /// What is left of a file whose first pages are gone starts at a page boundary, and only page numbers tell
  /// which one it was.
  @Test(arguments: lostHeads)
  func aLostHeadCostsItsOwnPages(_ form: Form, _ lost: Int) throws {
    let store = try DamageCase(
      pageSize: form.pageSize, reserved: form.reserved, pragmas: form.pragmas
    ) { try Notebook.fill($0, rows: form.pageSize * 2, longest: form.pageSize * 4) }
    let recovered = try store.recover(expect: Notebook.statements) {
      $0.removeFirst(lost * store.pageSize)
    }
    Self.expect(recovered.layout, form)
    #expect(recovered.layout.origin == Int64(-lost * store.pageSize))
    #expect(recovered.findings.contains("file.headMissing"))
    let judgement = Judgement(recovered, store)
    judgement.expectHonest()
    let whole = Notebook.statements.map(Recovered.name(in:)).flatMap { table in
      store.places(of: table).enumerated().filter { $0.element.allSatisfy { $0 > lost } }
        .map { Judgement.Key(table: table, place: $0.offset) }
    }
    #expect(whole.count > judgement.total / 2)
    let given = judgement.exact.union(judgement.nameless)
    let absent = whole.filter { !given.contains($0) }
    #expect(absent.isEmpty, "\(absent.count) of \(whole.count)")
  }

  /// Something stands before the database: junk of a length that has nothing to do with pages.
  @Test(
    arguments: [Form(pageSize: 512), Form(pageSize: 1024), Form(pageSize: 4096)],
    [1, 100, 512, 777, 4096, 10_000])
  func junkBeforeTheFileIsSkipped(_ form: Form, _ length: Int) throws {
    let store = try form.make(longest: form.pageSize * 3)
    for isZero in [true, false] {
      var generator = SplitMix64(seed: UInt64(length))
      let junk = isZero ? [UInt8](repeating: 0, count: length) : generator.bytes(length)
      let recovered = try store.recover { $0 = junk + $0 }
      Self.expect(recovered.layout, form)
      #expect(recovered.layout.origin == Int64(length))
      #expect(recovered.findings.contains("file.headMoved"))
      Judgement(recovered, store).expectAll("\(isZero)")
    }
  }

  /// Junk before the database does not make up for pages that are lacking at its end.
  @Test func aLostTailBehindJunkIsTold() throws {
    let store = try Form(pageSize: 1024).make()
    let recovered = try store.recover {
      $0.removeLast(2048)
      $0 = [UInt8](repeating: 0x11, count: 4096) + $0
    }
    #expect(recovered.layout.origin == 4096)
    #expect(recovered.findings.contains("file.truncated"), "\(recovered.findings)")
  }

  /// A file that ends in the middle of a page has all the pages before.
  @Test(arguments: [Form(pageSize: 1024), Form(pageSize: 1024, vacuum: "FULL")], [30, 60, 90])
  func aLostTailCostsItsOwnPages(_ form: Form, _ percent: Int) throws {
    let store = try form.make(longest: 5000)
    let last = store.pageCount * percent / 100
    let recovered = try store.recover { $0.removeLast($0.count - last * store.pageSize - 300) }
    #expect(recovered.findings.contains("file.truncated"))
    let judgement = Judgement(recovered, store)
    judgement.expectHonest()
    for table in Notebook.statements.map(Recovered.name(in:)) {
      for (place, pages) in store.places(of: table).enumerated() {
        let key = Judgement.Key(table: table, place: place)
        if pages.allSatisfy({ $0 <= last }) {
          #expect(judgement.exact.contains(key), "\(key) of pages \(pages)")
        } else if pages[0] <= last {
          #expect(judgement.partial.contains(key), "\(key) of pages \(pages)")
        }
      }
    }
  }

  // MARK: - What is no database

  @Test func noiseIsCalledEncrypted() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("noise")
    for seed in 1...8 as ClosedRange<UInt64> {
      try randomFile(url, bytes: 200_000, seed: seed)
      let error = #expect(throws: SQLiteFileError.self) { try DamagedDatabase(path: url.path) }
      #expect(error?.code == .looksEncrypted)
    }
  }

  @Test func whatIsNoDatabaseIsSaid() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("other")
    for content in [
      Data(repeating: 0, count: 100_000), Data(String(repeating: "words ", count: 9000).utf8),
      Data("SQLite format 3\0".utf8), Data([1]),
    ] {
      try content.write(to: url)
      let error = #expect(throws: SQLiteFileError.self) { try DamagedDatabase(path: url.path) }
      #expect(error?.code == .notADatabase)
    }
    try Data().write(to: url)
    let error = #expect(throws: SQLiteFileError.self) { try DamagedDatabase(path: url.path) }
    #expect(error?.code == .empty)
  }
}
