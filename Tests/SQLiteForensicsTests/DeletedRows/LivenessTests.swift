import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Which pages of a damaged file are live: what the schema and whole b-trees say comes before the free list, and what
/// they do not lead to is of the past.
@Suite struct LivenessTests {
  private static let header = (trunk: 32, freeCount: 36, largestRoot: 52)

  private static func put(_ value: Int, at offset: Int, in bytes: inout [UInt8]) {
    for place in 0..<4 {
      bytes[offset + place] = UInt8(truncatingIfNeeded: value >> (24 - 8 * place))
    }
  }

  private static func integer(at offset: Int, in bytes: [UInt8]) -> Int {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  /// A store whose free list has pages with rows, by deletions after which no space is reclaimed.
  private static func thinned(_ pragmas: String = "") throws -> DamageCase {
    try DamageCase(pragmas: pragmas) { connection in
      try Notebook.fill(connection, rows: 1500, longest: 3000)
      try connection.exec("DELETE FROM note WHERE id % 3 = 0 OR id BETWEEN 400 AND 900")
      try connection.exec("DELETE FROM event WHERE rowid < 200")
    }
  }

  @Test func aRootIsNotFreeWhateverTheFreeListSays() throws {
    let made = try DamageCase { try Notebook.fill($0) }
    let root = try #require(made.pages("leaf", of: "folder").first ?? made.pages.first)
    let inner = try #require(made.pages("internal", of: "note").first)
    for page in [root, inner] {
      let recovered = try made.recover(.all) { bytes in
        let trunk = bytes.count / made.pageSize + 1
        bytes += [UInt8](repeating: 0, count: made.pageSize)
        Self.put(trunk, at: Self.header.trunk, in: &bytes)
        Self.put(2, at: Self.header.freeCount, in: &bytes)
        Self.put(trunk, at: 28, in: &bytes)
        Self.put(1, at: made.pageSize * (trunk - 1) + 4, in: &bytes)
        Self.put(page.number, at: made.pageSize * (trunk - 1) + 8, in: &bytes)
      }
      Judgement(recovered, made).expectAll("\(page)")
      #expect(recovered.dead.isEmpty)
      #expect(recovered.findings.contains("page.notFree"))
    }
  }

  @Test(arguments: ["", "PRAGMA auto_vacuum = INCREMENTAL;"])
  func aTrunkThatIsALeafCostsNothing(_ pragmas: String) throws {
    let made = try DamageCase(pragmas: pragmas) { try Notebook.fill($0, longest: 3000) }
    let pages = ["internal", "leaf", "overflow"].flatMap { kind in
      Rounds.part(of: made.pages(kind), every: 4)
    }
    for page in pages {
      let recovered = try made.recover(.all) { bytes in
        Self.put(page.number, at: Self.header.trunk, in: &bytes)
        Self.put(1, at: Self.header.freeCount, in: &bytes)
      }
      Judgement(recovered, made).expectAll("\(page)")
    }
  }

  @Test(arguments: ["", "PRAGMA auto_vacuum = INCREMENTAL;"])
  func orphansOfWholeTreesAreDeleted(_ pragmas: String) throws {
    let made = try Self.thinned(pragmas)
    let sound = try made.recover(.all) { _ in }
    let broken = try made.recover(.all) { bytes in
      let trunk = Self.integer(at: Self.header.trunk, in: bytes)
      Self.put(trunk, at: (trunk - 1) * made.pageSize, in: &bytes)
      Self.put(5000, at: (trunk - 1) * made.pageSize + 4, in: &bytes)
    }
    for recovered in [sound, broken] { Judgement(recovered, made).expectAll() }
    #expect(sound.dead.count > 300, "\(sound.dead.count)")
    #expect(broken.dead.count * 10 > sound.dead.count * 9, "\(broken.dead.count)")
    let lost = try made.recover(.all) { bytes in
      Self.put(0, at: Self.header.trunk, in: &bytes)
      Self.put(0, at: Self.header.freeCount, in: &bytes)
    }
    Judgement(lost, made).expectAll()
  }

  private static let plainThinned = Result { try thinned() }

  /// A fault in a trunk has one id, whether the file is checked or read as a damaged one. `offset` is the place in the
  /// trunk where `value` is written: the next trunk, the number of pages or the first of them.
  @Test(arguments: [
    (0, 1_000_000, "freelist.outOfRange"), (4, 5000, "freelist.badTrunk"),
    (8, 1_000_000, "freelist.outOfRange"), (8, 0, "freelist.outOfRange"),
    (8, 1, "freelist.duplicate"),
  ])
  func aFaultInATrunkHasOneID(_ offset: Int, _ value: Int, _ id: String) throws {
    let made = try Self.plainThinned.get()
    var bytes = made.bytes
    let trunk = Self.integer(at: Self.header.trunk, in: bytes)
    try #require(trunk > 1)
    // SQLite may have left a trunk that lists no page.
    Self.put(1, at: (trunk - 1) * made.pageSize + 4, in: &bytes)
    Self.put(value, at: (trunk - 1) * made.pageSize + offset, in: &bytes)
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("ruined.sqlite")
    try Data(bytes).write(to: url)
    let checked = try SQLiteDatabase(path: url.path).check().findings.kept.map(\.id.rawValue)
    #expect(checked.contains(id), "\(checked)")
    // The schema is on page 1, which the freelist cannot take away from it.
    #expect(value != 1 || !checked.contains("page.referencedTwice"), "\(checked)")
    let read = try Recovered(path: url.path, .all).findings.filter {
      $0.utf8.starts(with: "freelist.".utf8)
    }
    #expect(read == [id])
  }

  /// Of a lost interior page the leaves are live, and no others.
  @Test(arguments: [false, true]) func orphansFillHolesOnly(_ isListLost: Bool) throws {
    let made = try DamageCase(pageSize: 512) { connection in
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INTEGER)")
      try connection.exec(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
        INSERT INTO t SELECT i, 'row number ' || i || ' of the table', i * 7 FROM n
        """)
      try connection.exec("DELETE FROM t WHERE id BETWEEN 1000 AND 2500 AND id % 40 > 0")
    }
    let inner = made.pages("internal", of: "t")
    let root = try #require(inner.first { $0.path == "/" })
    var looked = 0
    for page in inner where page.number != root.number {
      let below = made.pages("leaf", of: "t").filter { $0.path.hasPrefix(page.path) }
      guard below.count > 10 else { continue }
      let first = made.rows(of: below[0]).lowerBound
      let recovered = try made.recover(.all) { bytes in
        for place in made.range(page.number) { bytes[place] = 0 }
        if isListLost {
          Self.put(0, at: Self.header.trunk, in: &bytes)
          Self.put(0, at: Self.header.freeCount, in: &bytes)
        }
      }
      let judgement = Judgement(recovered, made)
      // In the hole itself nothing tells old leaves from new ones where the list is lost, too.
      if isListLost, (900..<1100).contains(first) || first < 900 && first + 600 > 1000 { continue }
      judgement.expectAll("\(page)")
      #expect(recovered.dead.count > 500, "\(recovered.dead.count)")
      looked += 1
    }
    #expect(looked > 3, "\(looked)")
  }

  /// The root's own rows stay on it as they were when it became an interior page.
  @Test func leftoversOnAnInteriorPageAreMarked() throws {
    let made = try DamageCase(pageSize: 4096) { connection in
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
      for number in 1...200 {
        try connection.exec("INSERT INTO t VALUES(\(number), 'entry number \(number + 1000)')")
      }
      try connection.exec("UPDATE t SET a = 'other number ' || (id + 1000)")
    }
    let root = try #require(made.pages("internal", of: "t").first)
    try #require(root.number == 2)
    // The file as it is, cut off behind the page, and with the cells of the page lost.
    for damage in 0..<3 {
      let recovered = try made.recover(.all) { bytes in
        let end = 2 * made.pageSize
        if damage == 1 { bytes.removeLast(bytes.count - end) }
        if damage == 2 {
          bytes.replaceSubrange(end - 512..<end, with: repeatElement(0, count: 512))
        }
      }
      if damage == 1 {
        #expect(recovered.live.isEmpty, "\(recovered.live.count)")
      } else {
        Judgement(recovered, made).expectAll()
      }
      #expect(recovered.dead.count > 100, "\(recovered.dead.count)")
    }
  }

  /// The file ends within the cells of the root page. The rows on it are those of the time when it was a leaf, and the
  /// cells have overwritten the end of one of them.
  @Test(arguments: [1, 5, 20, 70]) func leftoversOnACutInteriorPageAreNotLive(_ missing: Int) throws
  {
    let made = try DamageCase(pageSize: 512) { connection in
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB)")
      try connection.insert(
        "INSERT INTO t VALUES(?, ?, ?)",
        (1...60).map { id in
          [
            .integer(Int64(id)), .string("entry number \(id + 1000)"),
            .blob([UInt8](repeating: UInt8(id), count: id * 13 % 400)),
          ]
        })
      try connection.exec("UPDATE t SET a = 'other number ' || (id + 1000)")
    }
    let root = try #require(made.pages("internal", of: "t").first { $0.path == "/" })
    try #require(root.number == 2 && root.cellCount > 20)
    let recovered = try made.recover(.all) { bytes in
      bytes.removeLast(bytes.count - 2 * made.pageSize + missing)
    }
    #expect(recovered.live.isEmpty, "\(recovered.live.map(\.values))")
  }

  /// A header that speaks of a pointer map does not make a leaf into a page of it.
  @Test func aLeafIsNoPageOfThePointerMap() throws {
    let made = try DamageCase { try Notebook.fill($0) }
    try #require(made.pages.contains { $0.number == 2 && $0.table != "sqlite_schema" })
    let recovered = try made.recover(.all) { Self.put(4, at: Self.header.largestRoot, in: &$0) }
    let judgement = Judgement(recovered, made)
    judgement.expectHonest()
    #expect(judgement.exact.count == judgement.total)
  }

  /// Stores on which rows were lost, or given that were none: SQLite's count of the rows of each.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      "freelist-lists-Z_PRIMARYKEY-root.sqlite", "freelist-trunk-is-live-leaf.sqlite",
      "plain-freelist_loop-seed5150.sqlite", "inner-root-leftovers-whole.sqlite",
      "fuzzdata3-00576-root-on-freelist.db",
    ])
  func foundStoresHaveTheRowsThatSQLiteGives(_ name: String) throws {
    guard let url = try Self.found(name) else { return }
    let connection = try SQLiteConnection(url.file)
    var truth: [String: Int64] = [:]
    for table in try connection.ordinaryTables() {
      let count = try connection.integer("SELECT count(*) FROM \"\(table)\"") ?? 0
      if count > 0 { truth[table] = count }
    }
    connection.close()
    let recovered = try Recovered(path: url.file.path, .all)
    let counts = Dictionary(grouping: recovered.live) { recovered.table(of: $0) ?? "?" }
      .mapValues { Int64($0.count) }
    #expect(counts == truth)
    for (table, rows) in Dictionary(grouping: recovered.live, by: \.origin.table) {
      let rowIDs = rows.compactMap(\.rowID)
      #expect(Set(rowIDs).count == rowIDs.count, "\(table ?? -1)")
    }
  }

  @Test(.enabled(if: Shared.isThere)) func leftoversOfAFoundStoreAreMarked() throws {
    guard let url = try Self.found("inner-root-leftovers.sqlite") else { return }
    let recovered = try Recovered(path: url.file.path, .all)
    #expect(recovered.live.isEmpty)
    #expect(recovered.dead.count > 140, "\(recovered.dead.count)")
  }

  /// A flipped bit in a row id. SQLite reads the row, so it was not deleted.
  @Test func aRowThatSQLiteReadsIsNotDeleted() throws {
    let made = try DamageCase(pageSize: 512) { connection in
      try connection.exec(
        """
        CREATE TABLE a(id INTEGER PRIMARY KEY, t);
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 599)
        INSERT INTO a SELECT i, printf('row number %03d of the table', i) FROM n;
        """)
    }
    var looked = 0
    for leaf in made.pages("leaf", of: "a") where leaf.cellCount > 1 {
      let start = made.range(leaf.number).lowerBound
      let pointer = start + 8 + 2 * (leaf.cellCount - 1)
      let cell = start + Int(made.bytes[pointer]) << 8 + Int(made.bytes[pointer + 1])
      // The first of the two bytes of its row id.
      guard made.bytes[cell + 1] == 0x81 else { continue }
      looked += 1
      func ruin(_ bytes: inout [UInt8]) { bytes[cell + 1] = 0xff }
      let all = try made.recover(.all, ruin).rows.filter { $0.rowID ?? 0 > 600 }
      #expect(all.map(\.origin.state) == [.contradicted], "page \(leaf.number)")
      #expect(try made.recover(.deleted, ruin).rows.isEmpty, "page \(leaf.number)")
    }
    #expect(looked > 3)
  }

  private static func found(_ name: String) throws -> (file: URL, folder: TemporaryFolder)? {
    guard let shared = Shared.require(name), let tool = findTool("xz") else { return nil }
    let packed = shared.appendingPathComponent("stores/found/recovery/\(name).xz")
    guard FileManager.default.fileExists(atPath: packed.path) else {
      print("skipped: \(name)")
      return nil
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent(name)
    try run(tool, ["-dc", packed.path]).stdout.write(to: url)
    return (url, folder)
  }
}
