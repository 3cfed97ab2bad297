import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Long values whose overflow pages are ruined: the value is marked, or mended where the pointer map tells how,
/// and never given as whole when it is not.
@Suite struct OverflowDamageTests {
  struct Form: Sendable, CustomTestStringConvertible {
    let pageSize: Int
    let vacuum: String
    var hasMap: Bool { vacuum != "NONE" }
    var testDescription: String { "\(pageSize) \(vacuum)" }
    static let all = [
      Form(pageSize: 512, vacuum: "NONE"), Form(pageSize: 1024, vacuum: "FULL"),
      Form(pageSize: 1024, vacuum: "NONE"), Form(pageSize: 4096, vacuum: "INCREMENTAL"),
    ]

    func make() throws -> DamageCase {
      try DamageCase(pageSize: pageSize, pragmas: "PRAGMA auto_vacuum = \(vacuum)") {
        try Notebook.fill($0, rows: 120, longest: pageSize * 6)
      }
    }
  }

  /// Rows of notes with three overflow pages or more: the place of the row, and the pages of its chain.
  private static func chains(_ store: DamageCase, _ most: Int = 3) -> [(place: Int, pages: [Int])] {
    store.places(of: "note").enumerated().filter { $0.element.count > 3 }
      .map { ($0.offset, Array($0.element.dropFirst())) }.prefix(most).map { $0 }
  }

  private static func put(_ number: Int, _ bytes: inout [UInt8], _ at: Int) {
    for offset in 0..<4 {
      bytes[at + offset] = UInt8(truncatingIfNeeded: number >> (24 - 8 * offset))
    }
  }

  /// The same file is damaged for both, or for neither.
  @Test(arguments: Form.all) func plainReadingSaysSoToo(_ form: Form) throws {
    let store = try form.make()
    func expect(_ ids: Set<String>, in bytes: [UInt8]) throws {
      let found = try BothFindings(in: bytes)
      #expect(Set(found.plain) == ids)
      #expect((found.recovered.damageCount > 0) == !ids.isEmpty)
    }
    try expect([], in: store.bytes)
    let chain = try #require(Self.chains(store).first).pages
    var bytes = store.bytes
    Self.put(2, &bytes, store.range(try #require(chain.last)).lowerBound)
    try expect(["overflow.tooLong"], in: bytes)
    guard form.pageSize > 512 else { return }
    bytes = store.bytes
    let sector = store.range(chain[1]).lowerBound + 512
    bytes.replaceSubrange(sector..<sector + 512, with: repeatElement(0, count: 512))
    try expect(["page.zeroSector"], in: bytes)
  }

  /// A BLOB may end in zeros, wherever they begin: nothing of a sound file is lost.
  @Test(arguments: [500, 1024, 6000]) func zerosAtTheEndOfABlobAreContent(_ zeros: Int) throws {
    let store = try DamageCase(pageSize: 4096) {
      try $0.exec("CREATE TABLE padded(id INTEGER PRIMARY KEY, name TEXT, data BLOB, n INTEGER)")
      let rows = (0..<520).map { length -> [FixtureValue] in
        let data = Array(repeating: UInt8(ascii: "h"), count: length)
        return [
          .integer(Int64(length)), .string("row"),
          .blob(data + Array(repeating: 0, count: zeros)), length % 2 == 0 ? .null : .integer(0),
        ]
      }
      try $0.insert("INSERT INTO padded VALUES(?, ?, ?, ?)", rows)
    }
    let found = try BothFindings(in: store.bytes)
    #expect(found.plain == [])
    #expect(found.checked == [])
    #expect(found.recovered.kept.map(\.id.rawValue) == [])
    Judgement(try store.recover { _ in }, store).expectAll()
  }

  /// Numbers and texts in UTF-16 end in zeros, too. Behind a long text, these zeros may be alone in a sector, on a page
  /// that holds nothing else.
  @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"])
  func zerosAtTheEndOfAValueAreContent(_ encoding: String) throws {
    let store = try DamageCase(pageSize: 4096, pragmas: "PRAGMA encoding = '\(encoding)'") {
      try $0.exec("CREATE TABLE long(id INTEGER PRIMARY KEY, name TEXT, value)")
      let values: [FixtureValue] = [
        .real(12.5), .real(2), .integer(65_536), .integer(1 << 40), .integer(256),
        .blob([1, 0, 0, 0]), .null,
      ]
      let lengths = encoding == "UTF-8" ? 4040...4110 : 2015...2055
      let rows = lengths.flatMap { length in
        values.map { [.string(String(repeating: "x", count: length)), $0] }
      }
      try $0.insert("INSERT INTO long(name, value) VALUES(?, ?)", rows)
    }
    let found = try BothFindings(in: store.bytes)
    #expect(found.plain == [])
    #expect(found.checked == [])
    #expect(found.recovered.kept.map(\.id.rawValue) == [])
    Judgement(try store.recover { _ in }, store).expectAll()
  }

  /// Zeros before the lost sectors are content, and those that go on behind the row are not.
  @Test func lostSectorsBehindZerosOfAValue() throws {
    let store = try DamageCase(pageSize: 4096) {
      try $0.exec("CREATE TABLE archive(id INTEGER PRIMARY KEY, data BLOB)")
      let rows = (0..<200).map { number -> [FixtureValue] in
        let start = [UInt8](repeating: 7, count: 30 + number % 20)
        return [.blob(start + [UInt8](repeating: 0, count: 200) + [9])]
      }
      try $0.insert("INSERT INTO archive(data) VALUES(?)", rows)
    }
    let leaves = Set(store.places(of: "archive").compactMap(\.first)).sorted()
    try #require(leaves.count > 8)
    for page in leaves {
      var bytes = store.bytes
      let range = store.range(page)
      bytes.replaceSubrange(
        range.lowerBound + 2048..<range.upperBound, with: repeatElement(0, count: 2048))
      let found = try BothFindings(in: bytes)
      #expect(!found.checked.isEmpty && !found.plain.isEmpty, "page \(page)")
      Judgement(try store.recover { $0 = bytes }, store).expectHonest("page \(page)")
    }
  }

  /// Where BLOBs do not end in zeros as a rule, a lost sector at the end of one is no content: on a leaf, and on the last
  /// page of a chain, which is full where the rest of the payload is on the leaf (file format, section 1.6).
  @Test(arguments: [900, 9000]) func aLostSectorAtTheEndOfABlobIsNoContent(_ least: Int) throws {
    let store = try DamageCase(pageSize: 4096) {
      try $0.exec("CREATE TABLE photo(id INTEGER PRIMARY KEY, name TEXT, data BLOB)")
      let rows = (0..<40).map { number -> [FixtureValue] in
        [
          .integer(Int64(number)), .string("row"),
          .blob((0..<least + 13 * number).map { UInt8(truncatingIfNeeded: $0 * 7 + number) | 1 }),
        ]
      }
      try $0.insert("INSERT INTO photo VALUES(?, ?, ?)", rows)
    }
    let ends = Set(store.places(of: "photo").compactMap(\.last)).sorted()
    try #require(ends.count > 8)
    for page in ends.prefix(12) {
      var bytes = store.bytes
      let end = store.range(page).upperBound
      bytes.replaceSubrange(end - 512..<end, with: repeatElement(0, count: 512))
      let found = try BothFindings(in: bytes)
      #expect(found.plain == ["page.zeroSector"], "page \(page)")
      #expect(found.checked == ["page.zeroSector"], "page \(page)")
      #expect(found.recovered.damageCount > 0, "page \(page)")
      let judged = Judgement(try store.recover { $0 = bytes }, store)
      judged.expectHonest("page \(page)")
      #expect(judged.partial.count == 1, "page \(page)")
    }
  }

  /// One value is marked, begins as it should, and everything else is as it was.
  private static func expectOnePartial(
    _ recovered: Recovered, _ store: DamageCase, _ place: Int, have: Range<Int>? = nil,
    _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let judgement = Judgement(recovered, store)
    judgement.expectHonest(comment, sourceLocation: sourceLocation)
    let key = Judgement.Key(table: "note", place: place)
    #expect(judgement.partial == [key], comment, sourceLocation: sourceLocation)
    #expect(judgement.exact.count == judgement.total - 1, comment, sourceLocation: sourceLocation)
    #expect(recovered.findings.contains("row.partial"), comment, sourceLocation: sourceLocation)
    let row = try #require(recovered.live.first { !$0.partial.isEmpty })
    // What stood behind the value's first bytes may be the end of others too.
    #expect(
      row.partial.last?.column == 5 && row.partial.count <= 3, comment,
      sourceLocation: sourceLocation)
    #expect(row.partial.allSatisfy { $0.bytes.count == $0.have && $0.have < $0.of })
    let value = try #require(row.partial.last)
    if let have {
      #expect(have.contains(value.have), comment, sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: Form.all)
  func aWholeStoreIsWhole(_ form: Form) throws {
    let store = try form.make()
    try #require(Self.chains(store).count == 3)
    Judgement(try store.recover { _ in }, store).expectAll()
  }

  @Test(arguments: Form.all)
  func aPageOfZerosMarksItsValue(_ form: Form) throws {
    let store = try form.make()
    for chain in Self.chains(store) {
      for (position, page) in chain.pages.enumerated() {
        let recovered = try store.recover {
          $0.replaceSubrange(store.range(page), with: repeatElement(0, count: store.pageSize))
        }
        let piece = store.pageSize - 4
        try Self.expectOnePartial(
          recovered, store, chain.place,
          have: max(0, position * piece - 400)..<(position * piece + store.pageSize),
          "page \(position) of \(chain.pages.count), row \(chain.place)")
      }
    }
  }

  /// Noise in the place of an overflow page shows only by the number of the next page, which no page has.
  @Test(arguments: Form.all)
  func aPageOfNoiseMarksItsValue(_ form: Form) throws {
    let store = try form.make()
    for chain in Self.chains(store) {
      for (position, page) in chain.pages.enumerated() {
        var generator = SplitMix64(seed: UInt64(page))
        let noise = generator.bytes(store.pageSize)
        let recovered = try store.recover { $0.replaceSubrange(store.range(page), with: noise) }
        try Self.expectOnePartial(
          recovered, store, chain.place, "page \(position) of \(chain.pages.count)")
      }
    }
  }

  @Test(arguments: Form.all.filter { $0.pageSize > 512 })
  func aSectorOfZerosMarksItsValue(_ form: Form) throws {
    let store = try form.make()
    for chain in Self.chains(store, 2) {
      for page in chain.pages.dropLast() {
        for sector in 0..<store.pageSize / 512 {
          let start = store.range(page).lowerBound + 512 * sector
          let recovered = try store.recover {
            $0.replaceSubrange(start..<start + 512, with: repeatElement(0, count: 512))
          }
          try Self.expectOnePartial(
            recovered, store, chain.place, "sector \(sector) of page \(page)")
        }
      }
    }
  }

  /// Nothing tells the zeros of a lost sector from those that a value ends in, however few of its bytes stood there.
  @Test func aLostSectorWithFewBytesMarksItsValue() throws {
    // Of these lengths the part behind the page ends about 3,584 bytes into the next one.
    let store = try DamageCase(pageSize: 4096) {
      try $0.exec(
        """
        CREATE TABLE note(body TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
        INSERT INTO note SELECT substr(hex(zeroblob(3000)), 1, 4060 + i) FROM n;
        """)
    }
    var lost: Set<Int> = []
    for (place, pages) in store.places(of: "note").enumerated() {
      guard pages.count > 1, let last = pages.last else { continue }
      let range = store.range(last)
      let used = store.bytes[range].lastIndex { $0 != 0 }.map { $0 + 1 - range.lowerBound } ?? 0
      guard used > 512, used % 512 < 8, lost.insert(used % 512).inserted else { continue }
      let sector = range.lowerBound + used / 512 * 512
      guard used % 512 > 0 else { continue }
      let recovered = try store.recover {
        $0.replaceSubrange(sector..<sector + 512, with: repeatElement(0, count: 512))
      }
      let judgement = Judgement(recovered, store)
      judgement.expectHonest("\(used % 512) bytes of row \(place)")
      #expect(recovered.live.count { !$0.partial.isEmpty } == 1)
      #expect(judgement.exact.count == judgement.total - 1)
    }
    #expect(lost.isSuperset(of: 1...7))
  }

  /// Pages of two chains have changed places. The pointer map knows where the chains go on, but not that each has a page of
  /// the other.
  @Test(arguments: Form.all.filter(\.hasMap), [0, 1]) func exchangedPagesAreMarked(
    _ form: Form, _ place: Int
  ) throws {
    let store = try form.make()
    let chains = Self.chains(store)
    let (one, other) = (try #require(chains.first), try #require(chains.last))
    try #require(one.place != other.place)
    let recovered = try store.recover {
      let (here, there) = (store.range(one.pages[place]), store.range(other.pages[place]))
      $0.replaceSubrange(here, with: store.bytes[there])
      $0.replaceSubrange(there, with: store.bytes[here])
    }
    let judgement = Judgement(recovered, store)
    judgement.expectHonest("\(one) and \(other)")
    #expect(judgement.partial.count == 2)
    #expect(judgement.exact.count == judgement.total - 2)
  }

  /// The number of the next page is wrong. With a pointer map the right one is known.
  @Test(arguments: Form.all)
  func aWrongNextPageNeverMixesRows(_ form: Form) throws {
    let store = try form.make()
    let chains = Self.chains(store, 4)
    let chain = try #require(chains.first)
    let other = try #require(chains.last)
    let leaf = try #require(store.pages("leaf", of: "event").first)
    for (position, page) in chain.pages.dropLast().enumerated() {
      let targets = [
        0, 1, page, chain.pages[0], other.pages[0], other.pages[1],
        other.pages[other.pages.count - 1],
        leaf.number, store.pageCount + 5, 0x7fff_ffff, 0xffff_ffff,
      ]
      for target in targets where target != chain.pages[position + 1] {
        let recovered = try store.recover { Self.put(target, &$0, store.range(page).lowerBound) }
        let comment: Comment =
          "page \(position) of row \(chain.place) leads to \(target); chain \(chain.pages), other \(other.pages)"
        let judgement = Judgement(recovered, store)
        judgement.expectHonest(comment)
        #expect(judgement.missing.isEmpty, comment)
        #expect(judgement.exact.count >= judgement.total - 2, comment)
        if form.hasMap, target <= store.pageCount { judgement.expectAll(comment) }
      }
    }
  }

  /// The number of the first overflow page, on the leaf, is wrong.
  @Test(arguments: Form.all)
  func aWrongFirstPageNeverMixesRows(_ form: Form) throws {
    let store = try form.make()
    let chains = Self.chains(store, 4)
    let chain = try #require(chains.first)
    let other = try #require(chains.last)
    let number = (0..<4).map { UInt8(truncatingIfNeeded: chain.pages[0] >> (24 - 8 * $0)) }
    let page = store.range(store.places(of: "note")[chain.place][0])
    let place = try #require(
      page.dropLast(3).first { Array(store.bytes[$0..<$0 + 4]) == number })
    for target in [0, 1, other.pages[0], other.pages[1], store.pageCount + 5, 0xffff_ffff] {
      let recovered = try store.recover { Self.put(target, &$0, place) }
      let comment: Comment =
        "row \(chain.place) leads to \(target); chain \(chain.pages), other \(other.pages)"
      let judgement = Judgement(recovered, store)
      judgement.expectHonest(comment)
      #expect(judgement.missing.isEmpty, comment)
      #expect(judgement.exact.count >= judgement.total - 2, comment)
    }
  }

  @Test(arguments: Form.all)
  func aTruncatedFileMarksWhatItCuts(_ form: Form) throws {
    let store = try form.make()
    let places = store.places(of: "note")
    for percent in [40, 60, 80, 95] {
      let last = store.pageCount * percent / 100
      let recovered = try store.recover { $0.removeLast($0.count - last * store.pageSize - 100) }
      let judgement = Judgement(recovered, store)
      judgement.expectHonest("\(percent)")
      for (place, pages) in places.enumerated() where pages[0] <= last {
        let key = Judgement.Key(table: "note", place: place)
        if pages.allSatisfy({ $0 <= last }) {
          #expect(judgement.exact.contains(key), "\(percent): \(place) of \(pages)")
        } else {
          #expect(judgement.partial.contains(key), "\(percent): \(place) of \(pages)")
        }
      }
    }
  }

  /// A chain that is led astray ends on another row's only overflow page, just where its own payload does: the page is that
  /// row's, for which no page is passed over, even where its own end has lost its zero.
  @Test(arguments: [false, true]) func aChainLedAstrayTakesNobodysPage(_ losesEnd: Bool) throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
      for number in 1...40 {
        try connection.exec(
          "INSERT INTO t VALUES(\(number), randomblob(\(number % 4 == 0 ? 2800 : 1400)))")
      }
    }
    let chains = store.places(of: "t").map { Array($0.dropFirst()) }
    let astray = try #require(chains.first { $0.count == 2 })
    let other = try #require(chains.dropFirst(20).first { $0.count == 1 })
    let place = try #require(chains.firstIndex(of: other))
    let recovered = try store.recover { bytes in
      Self.put(other[0], &bytes, store.range(astray[0]).lowerBound)
      if losesEnd { Self.put(astray[1] + 4, &bytes, store.range(other[0]).lowerBound) }
    }
    let judgement = Judgement(recovered, store)
    judgement.expectHonest()
    #expect(judgement.exact.contains(Judgement.Key(table: "t", place: place)))
    #expect(judgement.exact.count == judgement.total - 1)
  }

  // MARK: - Headers that go on in overflow pages

  /// A row whose record has 39 of the 63 bytes of its header on the leaf, and the bytes of the leaf in the file.
  private static func wide(_ more: String = "") throws -> (store: DamageCase, leaf: Range<Int>) {
    let columns = (0..<60).map { "c\($0) BLOB" }.joined(separator: ", ")
    let store = try DamageCase(pageSize: 512) {
      try $0.exec(
        "CREATE TABLE wide(\(more)\(columns)); INSERT INTO wide(c0, c1) VALUES(randomblob(200), randomblob(792))"
      )
    }
    return (store, store.range(try #require(store.pages("leaf", of: "wide").first).number))
  }

  @Test func typesThatAskForMoreThanTheRecordLoseTheRow() throws {
    let (store, leaf) = try Self.wide()
    let recovered = try store.recover { bytes in
      // The first type asks for 8,185 bytes, and no overflow page follows.
      bytes.replaceSubrange(leaf.upperBound - 42..<leaf.upperBound - 40, with: [0xff, 0x7f])
      Self.put(0, &bytes, leaf.upperBound - 4)
    }
    #expect(recovered.live.isEmpty)
    #expect(recovered.findings.contains("page.rowsLost"), "\(recovered.findings)")
    #expect(!recovered.findings.contains("row.partial"))
  }

  /// A record has no field for a virtual column, so the fields behind it are not the columns of the same number.
  @Test(arguments: [false, true]) func aLostHeaderLosesEachColumnOnce(_ isFirst: Bool) throws {
    let (store, leaf) = try Self.wide(isFirst ? "v AS (c0) VIRTUAL, " : "")
    let recovered = try store.recover { Self.put(0, &$0, leaf.upperBound - 4) }
    let row = try #require(recovered.live.first)
    let first = isFirst ? 1 : 0
    #expect(row.partial.map(\.column) == [first, first + 1] + Array(first + 36..<first + 60))
  }
}
