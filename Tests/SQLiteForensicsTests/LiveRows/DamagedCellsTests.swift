import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Cells whose pointers lead anywhere, records that go on in overflow pages to which others lead too, and dead rows
/// that
/// others were written over: what is given unmarked was so.
@Suite struct DamagedCellsTests {
  /// A history and a table that joins two others: rows of a few small numbers, many on each page.
  private static func history(_ pageSize: Int, rows: Int, seed: UInt64 = 3) throws -> DamageCase {
    try DamageCase(pageSize: pageSize) { try fill($0, rows, seed) }
  }

  private static func fill(_ connection: SQLiteConnection, _ rows: Int, _ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    try connection.exec(
      """
      BEGIN;
      CREATE TABLE change(id INTEGER PRIMARY KEY, ent INTEGER, opt INTEGER, kind INTEGER,
        entity INTEGER, key INTEGER, step INTEGER, columns BLOB);
      CREATE TABLE link(one INTEGER, two INTEGER, PRIMARY KEY (one, two));
      """)
    var changes: [[FixtureValue]] = []
    var links: [[FixtureValue]] = []
    for row in 1...rows {
      let bytes = random.bytes(Int.random(in: 1...6, using: &random))
      changes.append([
        .integer(Int64(row)), .integer(16001), .null,
        .integer(Int64.random(in: 0...2, using: &random)),
        .integer(Int64.random(in: 1...4, using: &random)),
        .integer(Int64.random(in: 1...5000, using: &random)), .integer(Int64(row / 6)),
        Bool.random(using: &random) ? .null : .blob(bytes),
      ])
      links.append([
        .integer(Int64(row)), .integer(Int64.random(in: 1...60, using: &random)),
      ])
    }
    try connection.insert("INSERT INTO change VALUES(?, ?, ?, ?, ?, ?, ?, ?)", changes)
    try connection.insert("INSERT INTO link VALUES(?, ?)", links)
    try connection.exec("COMMIT")
  }

  private static func put(_ number: Int, _ bytes: inout [UInt8], _ at: Int) {
    for offset in 0..<4 {
      bytes[at + offset] = UInt8(truncatingIfNeeded: number >> (24 - 8 * offset))
    }
  }

  // MARK: - Cells

  /// A column of numeric affinity keeps text that is no number, as dates are often stored; one declared ANY in a STRICT
  /// table keeps all.
  @Test(
    arguments: [
      "DATE", "DATETIME", "TIMESTAMP", "BOOLEAN", "NUMERIC", "ANY", "FLOAT", "INTEGER", "REAL",
    ])
  func textUnderAnyNumericTypeIsNoMisfit(_ type: String) throws {
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(
        "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, due \(type))\(type == "ANY" ? " STRICT" : "")"
      )
      try connection.exec(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO note SELECT i, 'Title ' || i, '2024-01-' || i || ' 10:00' FROM n
        """)
    }
    let leaf = try #require(store.pages("leaf", of: "note").first)
    let start = store.range(leaf.number).lowerBound
    let damages: [(String, (inout [UInt8]) -> Void)] = [
      (
        "a pointer twice",
        { $0.replaceSubrange(start + 24..<start + 26, with: $0[start + 34..<start + 36]) }
      ),
      ("a cell more", { $0[start + 4] = 31 }),
      (
        "a freeblock where a cell is",
        { $0.replaceSubrange(start + 1..<start + 3, with: [0x0f, 0xa0]) }
      ),
      ("no page type", { $0[start] = 0 }),
      (
        "two pointers exchanged",
        {
          let one = Array($0[start + 24..<start + 26])
          $0.replaceSubrange(start + 24..<start + 26, with: $0[start + 34..<start + 36])
          $0.replaceSubrange(start + 34..<start + 36, with: one)
        }
      ),
    ]
    for (name, damage) in damages {
      let recovered = try store.recover { damage(&$0) }
      Judgement(recovered, store).expectAll("\(type), \(name)")
    }
  }

  /// A cell without row id has its last type in a lost sector: its values there are in doubt, those behind it are not.
  @Test(arguments: ["", "v AS (b) VIRTUAL, "])
  func aLostSectorInARowWithoutRowID(_ virtual: String) throws {
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(
        """
        CREATE TABLE w(\(virtual)k TEXT PRIMARY KEY, a TEXT, b TEXT, d TEXT) WITHOUT ROWID;
        WITH n(k, d) AS (VALUES('key0key0key0', printf('%.91c', 'D')), ('key1key1key1', '0123456789'))
        INSERT INTO w(k, a, b, d) SELECT k, printf('%.600c', 'A'), printf('%.100c', 'B'), d FROM n;
        """)
    }
    let start = store.range(try #require(store.pages("leaf", of: "w").first).number).lowerBound
    // The second cell begins at 2,552, and its last type is at 2,560.
    try #require(Array(store.bytes[start + 10..<start + 12]) == [0x09, 0xf8])
    let recovered = try store.recover(.all) {
      $0.replaceSubrange(start + 2560..<start + 3072, with: repeatElement(0, count: 512))
    }
    let row = try #require(recovered.rows.first { $0.origin.state == .contradicted })
    let first = virtual.isEmpty ? 0 : 1
    #expect(row.partial.map(\.column) == [first, first + 1, first + 3])
    #expect(row.values[first + 2] == .text(StoredText(String(repeating: "B", count: 100))))
  }

  /// The text of one table's row stands where the row id of the other's is NULL.
  @Test func aPageOfAnotherTableIsTold() throws {
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(
        """
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, size INT);
        CREATE TABLE tag(name, note);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO note SELECT i, 'Title ' || i, i * i FROM n;
        INSERT INTO tag SELECT 'tag ' || id, 'note ' || id FROM note;
        """)
    }
    let note = store.range(try #require(store.pages("leaf", of: "note").first).number)
    let tag = store.range(try #require(store.pages("leaf", of: "tag").first).number)
    var bytes = store.bytes
    let before = try BothFindings(in: bytes)
    #expect(before.plain.isEmpty && before.recovered.kept.isEmpty)
    bytes.replaceSubrange(note, with: store.bytes[tag])
    let found = try BothFindings(in: bytes)
    #expect(found.plain.contains("page.otherRows"))
    #expect(found.recovered.kept.contains { $0.id.rawValue == "page.otherRows" })
  }

  /// The number of cells that make up an interior page is the true one; what more pointers lead to is nothing.
  @Test(arguments: [-2, -1, 1, 2, 5])
  func anInteriorPageWithAFalseCountLeadsOn(_ change: Int) throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec(
        """
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, rating FLOAT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
        INSERT INTO note SELECT i, 'Title ' || i, 'none yet' FROM n;
        """)
    }
    let interior = try #require(store.pages("internal", of: "note").first)
    let place = store.range(interior.number).lowerBound + 4
    let recovered = try store.recover { $0[place] = UInt8(interior.cellCount + change) }
    Judgement(recovered, store).expectAll("\(interior.cellCount) + \(change)")
  }

  /// Rows with row ids do not belong to a table without row ids: they go to the table whose rows they look like.
  @Test func aTablesPageIsNoneOfATableWithoutRowIDs() throws {
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(
        """
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, size INT NOT NULL, body BLOB);
        CREATE TABLE word(k TEXT, n INT, v, PRIMARY KEY(k, n)) WITHOUT ROWID;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO note SELECT i, 'Title ' || i, i * i, x'00' FROM n;
        INSERT INTO word SELECT 'word ' || id, id, title FROM note;
        """)
    }
    let note = store.range(try #require(store.pages("leaf", of: "note").first).number)
    let word = store.range(try #require(store.pages("leaf", of: "word").first).number)
    let recovered = try store.recover {
      $0.replaceSubrange(note, with: store.bytes[word])
      $0.replaceSubrange(word, with: store.bytes[note])
    }
    #expect(recovered.live.filter { recovered.table(of: $0) == "word" }.isEmpty)
    #expect(recovered.live.filter { recovered.table(of: $0) == "note" }.count == 30)
  }

  /// Of some hundred pointers that lead anywhere one often meets what reads as a cell, even one that has all others
  /// in it. The rows of the large pages go on behind the leaf that is looked at, in long rounds further.
  @Test(arguments: [1024, 4096, 32768])
  func pointersThatLeadAnywhereCostNothing(_ pageSize: Int) throws {
    let store = try Self.history(
      pageSize, rows: Rounds.areLong ? pageSize : min(pageSize, 8192))
    for table in ["change", "link"] {
      let leaf = try #require(store.pages("leaf", of: table).dropFirst().first)
      let start = store.range(leaf.number).lowerBound + 8
      for seed in Rounds.part(of: 1...8, every: 2) {
        var random = SplitMix64(seed: UInt64(seed))
        let noise = random.bytes(2 * leaf.cellCount)
        let recovered = try store.recover {
          $0.replaceSubrange(start..<start + noise.count, with: noise)
        }
        Judgement(recovered, store).expectAll("\(table), seed \(seed)")
      }
    }
  }

  /// Rows that were moved leave copies in the space before the cells, which are taken for no row that was cut off.
  @Test func aPageThatIsCutGivesNoOldCopies() throws {
    let store = try DamageCase(pageSize: 8192) { connection in
      try Self.fill(connection, 300, 5)
      try connection.exec(
        "DELETE FROM change WHERE id % 3 = 0; UPDATE change SET key = key + 70000, step = 1")
    }
    let leaf = try #require(store.pages("leaf", of: "change").first)
    let page = store.range(leaf.number)
    for end in stride(from: page.lowerBound + 100, to: page.upperBound, by: 555) {
      let recovered = try store.recover { $0.removeLast($0.count - end) }
      Judgement(recovered, store).expectHonest("cut at \(end - page.lowerBound)")
    }
  }

  /// A number of two bytes of which the first one is zero, and the second one stands in a sector that was lost.
  @Test func aNumberThatALostSectorEndsIsMarked() throws {
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec("CREATE TABLE number(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)")
      try connection.insert(
        "INSERT INTO number VALUES(?, ?, ?)",
        (1...900).map { [.integer($0), .integer(16001), .integer(128 + $0 % 100)] })
    }
    for leaf in store.pages("leaf", of: "number") {
      let page = store.range(leaf.number)
      for start in stride(from: page.lowerBound + 512, to: page.upperBound, by: 512) {
        let recovered = try store.recover {
          $0.replaceSubrange(start..<start + 512, with: repeatElement(0, count: 512))
        }
        Judgement(recovered, store).expectHonest("page \(leaf.number), byte \(start)")
      }
    }
  }

  /// Two pages of a value that are lost, where a pointer map leads over the first one: zeros are no text behind it.
  @Test func whatStandsOnALostPageIsMarked() throws {
    let store = try DamageCase(
      pageSize: 1024, pragmas: "PRAGMA auto_vacuum = FULL;"
    ) { connection in
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT, title TEXT, key BLOB)")
      try connection.insert(
        "INSERT INTO t VALUES(?, ?, ?, ?)",
        (1...20).map { id in
          [
            .integer(Int64(id)), .string(String(repeating: "body \(id) ", count: 350 + id)),
            .string("title \(id)"), .blob([UInt8](repeating: UInt8(id), count: 16)),
          ]
        })
    }
    let overflow = store.pages("overflow", of: "t").map(\.number).sorted()
    for (one, next) in zip(overflow, overflow.dropFirst()) where next == one + 1 {
      let recovered = try store.recover { bytes in
        for page in [one, next] {
          bytes.replaceSubrange(
            store.range(page), with: repeatElement(0, count: store.pageSize))
        }
      }
      Judgement(recovered, store).expectHonest("pages \(one) and \(next)")
    }
    #expect(overflow.count > 20)
  }

  @Test(.enabled(if: Shared.isThere)) func aFalseCellSwallowsNoRows() throws {
    guard let shared = Shared.require("recovery"), let tool = findTool("xz") else { return }
    let name = "cellptr_5-seed7331-7MB.sqlite"
    let packed = shared.appendingPathComponent("stores/found/recovery/\(name).xz")
    guard FileManager.default.fileExists(atPath: packed.path) else {
      return print("skipped: \(name)")
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent(name)
    try run(tool, ["-dc", packed.path]).stdout.write(to: url)
    let recovered = try Recovered(path: url.path, .live)
    let rows = recovered.live.filter { $0.origin.page == 314 }
    #expect(rows.count == 179)
    #expect(rows.allSatisfy { $0.partial.isEmpty && $0.rowID != nil })
    let ids = rows.compactMap(\.rowID)
    #expect(Set(ids).count == 179 && (ids.max() ?? 0) - (ids.min() ?? 0) == 178)
  }

  // MARK: - Overflow

  /// Rows with a long value and shorter ones behind it, in a file without pointer map.
  private static func chains(_ pageSize: Int, churn: Bool = false) throws -> DamageCase {
    try DamageCase(pageSize: pageSize) { connection in
      var random = SplitMix64(seed: 11)
      try connection.exec(
        "CREATE TABLE long(id INTEGER PRIMARY KEY, name TEXT, body BLOB, tail TEXT, last INTEGER)")
      func row(_ id: Int64) -> [FixtureValue] {
        let size = Int.random(in: pageSize...pageSize * 7, using: &random)
        return [
          .integer(id), .string("row \(id)"), .blob(random.bytes(size)), .string("tail of \(id)"),
          .integer(id * 1_000_003),
        ]
      }
      try connection.insert("INSERT INTO long VALUES(?, ?, ?, ?, ?)", (1...40).map { row($0) })
      guard churn else { return }
      // The free pages of deleted rows go to new ones in another order.
      try connection.exec("DELETE FROM long WHERE id % 3 = 0")
      try connection.insert("INSERT INTO long VALUES(?, ?, ?, ?, ?)", (41...60).map { row($0) })
    }
  }

  /// One link of a chain leads into another chain: that one is whole, and the stray one is marked from there on.
  @Test(arguments: [(512, false), (4096, false), (1024, true)])
  func theChainThatEndsExactlyHasThePage(_ pageSize: Int, _ churn: Bool) throws {
    let store = try Self.chains(pageSize, churn: churn)
    let places = store.places(of: "long")
    var random = SplitMix64(seed: 2)
    for _ in 0..<12 {
      let one = Int.random(in: 0..<places.count, using: &random)
      let two = Int.random(in: 0..<places.count, using: &random)
      let chain = Array(places[one].dropFirst())
      let other = Array(places[two].dropFirst())
      guard one != two, chain.count > 1, other.count > 1 else { continue }
      let from = Int.random(in: 0..<chain.count - 1, using: &random)
      let to = Int.random(in: 0..<other.count, using: &random)
      let recovered = try store.recover {
        Self.put(other[to], &$0, store.range(chain[from]).lowerBound)
      }
      let comment: Comment =
        "\(chain) at \(from) leads to \(to) of \(other), rows \(one) and \(two)"
      let judgement = Judgement(recovered, store)
      judgement.expectHonest(comment)
      #expect(judgement.partial.contains(.init(table: "long", place: one)), comment)
      // Where both come out even, and none in order, nothing tells which is right.
      let isEven = chain.count - from - 1 == other.count - to
      let isInOrder = to > 0 && other[to] == other[to - 1] + 1
      if !isEven || isInOrder {
        #expect(judgement.exact.count == judgement.total - 1, comment)
      } else {
        #expect(judgement.exact.count >= judgement.total - 2, comment)
      }
    }
  }

  /// Several links at once lead anywhere, so that strays go on in what nobody else leads to any more.
  @Test(arguments: [(512, false), (1024, true), (4096, false)])
  func strayLinksAlterNothing(_ pageSize: Int, _ churn: Bool) throws {
    let store = try Self.chains(pageSize, churn: churn)
    let pages = store.pages("overflow", of: "long").map(\.number)
    var exact = 0
    var wrong: [String] = []
    for seed in 1...8 {
      var random = SplitMix64(seed: UInt64(seed))
      let recovered = try store.recover { content in
        for page in pages where Int.random(in: 0..<25, using: &random) == 0 {
          let target = Int.random(in: 2...store.pageCount, using: &random)
          Self.put(target, &content, store.range(page).lowerBound)
        }
      }
      let judgement = Judgement(recovered, store)
      if !churn { judgement.expectHonest("seed \(seed)") }
      wrong += judgement.wrong
      exact += judgement.exact.count
    }
    // Among pages in no order nothing tells a stray chain that comes out even in what another one has lost.
    #expect(wrong.count * 150 <= exact, "\(exact) exact, \(wrong)")
    #expect(exact > 150, "\(exact)")
  }

  /// The first sector of a root is lost, and that of a leaf below it: the cells that are left of the root lead to the leaf.
  /// `other`: a leaf beside it that has lost its last sector, and so says nothing of the keys of the root.
  @Test(arguments: [3, 6], [nil, 1, 5]) func aLeafUnderARootThatLostItsHeader(
    _ place: Int, _ other: Int?
  ) throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec("CREATE TABLE pair(a, b)")
      try connection.exec("CREATE TABLE other(x INTEGER PRIMARY KEY, y)")
      try connection.exec(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
        INSERT INTO pair SELECT i * 7, i % 60 FROM n;
        """)
    }
    let root = try #require(store.pages("internal", of: "pair").first).number
    let leaves = store.pages("leaf", of: "pair")
    let lost = [UInt8](repeating: 0, count: 512)
    let recovered = try store.recover(.all) { bytes in
      for page in [root, leaves[place].number] {
        let start = store.range(page).lowerBound
        bytes.replaceSubrange(start..<start + 512, with: lost)
      }
      if let other {
        let start = store.range(leaves[other].number).lowerBound + 512
        bytes.replaceSubrange(start..<start + 512, with: lost)
      }
    }
    let judgement = Judgement(recovered, store)
    judgement.expectHonest()
    var lacking = 0
    for leaf in [place, other].compactMap(\.self) {
      let rows = store.rows(of: leaves[leaf])
      let given = rows.count { judgement.exact.contains(.init(table: "pair", place: $0)) }
      // Half of the leaf is left, or the cells before the last sector.
      #expect(given * 10 >= rows.count * 3, "\(given) of \(rows.count)")
      lacking += rows.count - given
    }
    #expect(judgement.exact.count == judgement.total - lacking)
  }

  /// A table of rows so long that few stand on a page, and keys that ascend.
  private static func long() throws -> DamageCase {
    try DamageCase(pageSize: 1024) { connection in
      var random = SplitMix64(seed: 5)
      try connection.exec("CREATE TABLE text(id INTEGER PRIMARY KEY, name TEXT, number, body TEXT)")
      for row in 1...400 {
        let body = String(repeating: "word \(row) ", count: Int.random(in: 20...40, using: &random))
        try connection.exec("INSERT INTO text VALUES(\(row), 'row \(row)', \(row * 7), '\(body)')")
      }
    }
  }

  /// An interior page has lost a sector of its cells, and one of the leaves that they led to its header: what is whole of the
  /// leaf is the table's all the same.
  @Test func aLeafWithoutHeaderToWhichNothingLeads() throws {
    let store = try Self.long()
    let interior = try #require(
      store.pages("internal", of: "text").max { $0.cellCount < $1.cellCount })
    // The last cells of the page are its first ones.
    let leaf = store.pages("leaf", of: "text")[3]
    let recovered = try store.recover(.all) { bytes in
      for start in [
        store.range(interior.number).lowerBound + 512, store.range(leaf.number).lowerBound,
      ] {
        bytes.replaceSubrange(start..<start + 512, with: [UInt8](repeating: 0, count: 512))
      }
    }
    let judgement = Judgement(recovered, store)
    judgement.expectHonest()
    let lost = store.rows(of: leaf)
    let whole = store.rows(of: leaf).count { place in
      judgement.exact.contains(.init(table: "text", place: place))
    }
    #expect(whole > 0)
    #expect(judgement.exact.count == judgement.total - lost.count + whole)
  }

  /// Two pointers of a leaf lead to one cell: its row comes once.
  @Test func aCellWithTwoPointersIsOneRow() throws {
    let store = try Self.history(1024, rows: 400)
    let leaf = try #require(store.pages("leaf", of: "change").dropFirst().first)
    let pointers = store.range(leaf.number).lowerBound + 8
    let recovered = try store.recover(.all) { bytes in
      bytes.replaceSubrange(
        pointers + 4..<pointers + 6, with: Array(bytes[pointers + 6..<pointers + 8]))
    }
    let rows = Dictionary(
      grouping: recovered.rows.filter { recovered.table(of: $0) == "change" }, by: \.rowID)
    for (rowID, same) in rows { #expect(same.count == 1, "row \(String(describing: rowID))") }
  }

  /// The number of the last page's next one is of no use to a row that has all its bytes.
  @Test func aFullLastPageIsNotDoubtedForItsNumber() throws {
    let store = try Self.chains(1024)
    let places = store.places(of: "long")
    var random = SplitMix64(seed: 4)
    for (place, pages) in places.enumerated() where pages.count > 2 {
      let target = places[Int.random(in: 0..<places.count, using: &random)].last ?? 2
      let last = pages[pages.count - 1]
      guard target != last else { continue }
      let recovered = try store.recover { Self.put(target, &$0, store.range(last).lowerBound) }
      Judgement(recovered, store).expectAll("row \(place) to \(target)")
    }
  }

  /// The page behind one that leads nowhere may be its next one: that is a guess.
  @Test func aGuessedChainIsNeverWhole() throws {
    let store = try Self.chains(1024)
    for (place, pages) in store.places(of: "long").enumerated().prefix(12) where pages.count > 3 {
      for page in pages.dropFirst().dropLast() {
        let recovered = try store.recover { Self.put(0, &$0, store.range(page).lowerBound) }
        let judgement = Judgement(recovered, store)
        judgement.expectHonest("row \(place)")
        #expect(judgement.partial == [.init(table: "long", place: place)])
        let row = try #require(recovered.live.first { !$0.partial.isEmpty })
        #expect(row.partial.map(\.column) == [2, 3, 4])
      }
    }
  }

  // MARK: - Records whose header goes on in overflow pages

  private static func wide(_ rowID: Bool) throws -> DamageCase {
    try DamageCase(pageSize: 512) { connection in
      let columns = (1...180).map { "c\($0) INTEGER" }.joined(separator: ", ")
      try connection.exec(
        "CREATE TABLE wide(k TEXT PRIMARY KEY, \(columns)) \(rowID ? "" : "WITHOUT ROWID")")
      let places = (1...181).map { _ in "?" }.joined(separator: ", ")
      try connection.insert(
        "INSERT INTO wide VALUES(\(places))",
        (1...60).map { row in
          var values = [FixtureValue.string("key \(row)")]
          for column in 1...180 { values.append(.integer(Int64(column % 5 * row * 100))) }
          return values
        })
    }
  }

  @Test(arguments: [true, false])
  func aHeaderInOverflowPagesIsRead(_ rowID: Bool) throws {
    let store = try Self.wide(rowID)
    let whole = try store.recover { _ in }
    #expect(whole.findings.isEmpty, "\(whole.findings)")
    if rowID { return Judgement(whole, store).expectAll() }
    let wanted = Set(try #require(store.truth["wide"]).map(\.values))
    func check(_ recovered: Recovered, least: Int, _ comment: Comment) {
      let given = recovered.live.filter(\.partial.isEmpty)
        .map { $0.values.map { FixtureValue($0) } }
      #expect(Set(given).count == given.count, comment)
      #expect(wanted.isSuperset(of: given), comment)
      #expect(given.count >= least, comment)
    }
    check(whole, least: 60, "whole")
    for page in store.pages("overflow", of: "wide").map(\.number) {
      for filling in [0, 1] {
        var random = SplitMix64(seed: UInt64(page))
        let content = filling == 0 ? [UInt8](repeating: 0, count: 512) : random.bytes(512)
        let recovered = try store.recover { $0.replaceSubrange(store.range(page), with: content) }
        check(recovered, least: 59, "page \(page), filling \(filling)")
        #expect(recovered.findings.contains { $0 == "row.partial" || $0 == "page.rowsLost" })
      }
    }
  }

  // MARK: - Dead rows

  /// Where half of a table is deleted from the front, one of its pages keeps what it held at several times, one over
  /// the
  /// other.
  @Test func deletedRowsUnderOthersAreMarked() throws {
    var exact = 0
    var wrong: [String] = []
    for seed in 1...12 {
      let store = try DamageCase(pageSize: [1024, 4096, 8192][seed % 3]) { connection in
        try Self.fill(connection, 1500, UInt64(seed))
        try connection.exec("DELETE FROM change WHERE id < \(400 + 37 * seed)")
      }
      let original = (try Self.history(4096, rows: 1500, seed: UInt64(seed)).truth["change"] ?? [])
        .map(\.values)
      for row in try store.recover(.deleted, { _ in }).dead
      where store.truth["change"]?.first?.values.count == row.values.count {
        let given = row.values.map { FixtureValue($0) }
        var isTrue = false
        for wanted in original where !isTrue {
          if let rowID = row.rowID, wanted[0] != .integer(rowID) { continue }
          isTrue = Self.agrees(row, given, wanted)
        }
        if !isTrue { wrong.append("seed \(seed) row \(row.rowID ?? -1) \(given)") }
        if row.partial.isEmpty { exact += 1 }
      }
    }
    // Where the header of what was written over a row is gone, too, nothing tells.
    #expect(wrong.count * 700 <= exact, "\(exact) exact, \(wrong)")
    #expect(exact > 5000, "\(exact)")
  }

  /// Whether a dead row has all values of one that was, but for those that are marked.
  private static func agrees(
    _ row: RecoveredRow, _ given: [FixtureValue], _ wanted: [FixtureValue]
  ) -> Bool {
    for column in given.indices where given[column] != wanted[column] {
      if column == 0, row.rowID == nil { continue }
      guard row.partial.contains(where: { $0.column == column }) else { return false }
    }
    return true
  }
}
