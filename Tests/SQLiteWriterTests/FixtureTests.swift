import CSQLite
import Fixtures
import Foundation
import Testing

/// The generators make what they claim: everything else is tested against their files.
@Suite struct FixtureTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  func make(_ name: String) throws -> URL {
    try StoreFixtures.named(name).make(folder.url)
  }

  /// Opens a private copy, as SQLite does after a crash.
  func reopened(_ store: URL, withSidecars: Bool = true) throws -> (
    SQLiteConnection, TemporaryFolder
  ) {
    let place = try TemporaryFolder()
    let copy = try SQLiteConnection.copyStore(store, into: place.url)
    if !withSidecars {
      for suffix in ["-wal", "-journal"] {
        try? FileManager.default.removeItem(atPath: copy.path + suffix)
      }
    }
    return (try SQLiteConnection(copy), place)
  }

  func number(_ bytes: [UInt8], _ at: Int) -> Int {
    bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  @Test func namesAreUnique() {
    #expect(Set(StoreFixtures.all.map(\.name)).count == StoreFixtures.all.count)
    #expect(StoreFixtures.all.count > 70)
  }

  /// Usually half of them; the tests of the check ask SQLite about all of them as well.
  @Test(arguments: Rounds.part(of: StoreFixtures.all, every: 2))
  func everyFixtureIsSoundForSQLite(_ fixture: StoreFixture) throws {
    let url = try fixture.make(folder.url)
    let before = treeState(of: folder.url)
    let (connection, place) = try reopened(url)
    #expect(try connection.integrityCheck() == ["ok"])
    connection.close()
    withExtendedLifetime(place) {}
    let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: url)
    let mayBeEmpty = [
      "empty-header-only", "emptied", "all-deleted", "journal-hot-from-nothing",
    ]
    #expect(mayBeEmpty.contains(fixture.name) || rows.values.contains { !$0.isEmpty })
    // Neither look has touched the fixture itself.
    #expect(treeState(of: folder.url) == before)
    #expect(!FileManager.default.fileExists(atPath: url.path + "-shm"))
  }

  @Test(arguments: [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536])
  func pageSizesAreInTheHeader(_ size: Int) throws {
    let header = try bytes(of: make("page-\(size)"))
    #expect(Int(header[16]) << 8 | Int(header[17]) == (size == 65536 ? 1 : size))
    #expect(header.count % size == 0)
  }

  @Test(arguments: [
    ("reserved-8-of-4096", 8), ("reserved-32-of-512", 32), ("reserved-255-of-1024", 255),
  ])
  func reservedBytesAreInTheHeader(_ name: String, _ count: UInt8) throws {
    #expect(try bytes(of: make(name))[20] == count)
  }

  @Test(arguments: [
    ("text-utf8", 1), ("text-utf16le", 2), ("text-utf16be", 3), ("text-utf8-invalid", 1),
    ("text-utf16le-surrogates", 2), ("text-utf16be-surrogates", 3), ("overflow-utf16", 3),
  ])
  func encodingsAreInTheHeader(_ name: String, _ encoding: Int) throws {
    #expect(try number(bytes(of: make(name)), 56) == encoding)
  }

  @Test(arguments: ["text-utf8-invalid", "text-utf16le-surrogates", "text-utf16be-surrogates"])
  func rawTextIsStoredAsGiven(_ name: String) throws {
    let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: make(name), text: .stored)["text"]
    for row in try #require(rows) {
      guard case .text(let text) = row.values[1], case .blob(let raw) = row.values[2] else {
        Issue.record("not text and blob: \(row)")
        continue
      }
      #expect(text == raw)
    }
  }

  @Test(arguments: [
    ("auto-vacuum-full", 0), ("auto-vacuum-incremental", 1), ("auto-vacuum-reserved", 1),
  ])
  func autoVacuumHasSeveralPointerMaps(_ name: String, _ incremental: Int) throws {
    let content = try bytes(of: make(name))
    // Offset 52 holds the largest root page, which is 0 without auto-vacuum; 64 the incremental mode.
    #expect(number(content, 52) > 0)
    #expect(number(content, 64) == incremental)
    let pageSize = Int(content[16]) << 8 | Int(content[17])
    let usable = pageSize - Int(content[20])
    #expect(content.count / pageSize > 3 * (usable / 5 + 1))
  }

  @Test(arguments: ["deep-table", "deep-index"])
  func deepTreesHaveThreeLevels(_ name: String) throws {
    let url = try make(name)
    let (connection, place) = try reopened(url)
    // A path in dbstat has one `/xxx` a level below the root.
    let depth = try connection.integer(
      "SELECT max(length(path) - length(replace(path, '/', ''))) FROM dbstat WHERE path NOT LIKE '%+%'"
    )
    #expect((depth ?? 0) >= 3)
    withExtendedLifetime(place) {}
  }

  @Test func freePagesFillSeveralTrunks() throws {
    let content = try bytes(of: make("free-pages"))
    #expect(number(content, 32) > 0)
    #expect(number(content, 36) > 3 * (512 / 4 - 2))
    let text = String(decoding: content, as: UTF8.self)
    #expect(text.contains("note number 10000"), "deleted rows are still in the free pages")
  }

  @Test func schemaSpansSeveralPages() throws {
    let content = try bytes(of: make("big-schema"))
    #expect(content[100] == 5, "the schema's root is an interior table page")
    let tables = try SQLiteConnection.rowsOfEveryTable(
      inCopyOf: folder.url.appendingPathComponent("big-schema.sqlite"))
    #expect(tables.count == 201)
  }

  @Test func emptyDatabaseIsOnePage() throws {
    #expect(try bytes(of: make("empty-header-only")).count == 4096)
  }

  @Test func serialTypesCoverEveryStorageClass() throws {
    let url = try make("serial-types")
    let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: url)["value"] ?? []
    let plain = Set(rows.map { $0.values[1] })
    #expect(plain.contains(.integer(.min)) && plain.contains(.integer(.max)))
    #expect(plain.contains(.real(.infinity)) && plain.contains(.real(.leastNonzeroMagnitude)))
    #expect(plain.contains(.text([])) && plain.contains(.blob([])) && plain.contains(.null))
    // Column r is REAL: whole numbers come back as reals though they are stored as integers.
    #expect(rows.contains { $0.values[1] == .integer(1) && $0.values[3] == .real(1) })
  }

  @Test func extremeRowIDsAreThere() throws {
    let tables = try SQLiteConnection.rowsOfEveryTable(inCopyOf: make("rowids-extreme"))
    for table in ["far", "farkey"] {
      let ids = (tables[table] ?? []).compactMap(\.rowid)
      #expect(ids.first == .min && ids.last == .max && ids.count > 150 && ids == ids.sorted())
    }
  }

  @Test func hiddenRowIDsAreFoundOrNil() throws {
    let tables = try SQLiteConnection.rowsOfEveryTable(inCopyOf: make("rowid-hidden"))
    #expect(tables["one"]?.map(\.rowid) == [-1, 40])
    #expect(tables["one"]?.first?.values == [.string("c"), .string("d")])
    #expect(tables["two"]?.map(\.rowid) == [2, 5])
    #expect(tables["three"]?.map(\.rowid) == [nil, nil])
    #expect(tables["threekey"]?.map(\.rowid) == [20, 30])
  }

  @Test func withoutRowidComesInKeyOrder() throws {
    let tables = try SQLiteConnection.rowsOfEveryTable(inCopyOf: make("without-rowid"))
    #expect(tables["integerkey"]?.map(\.values[0]) == (-150..<150).map { .integer($0) })
    #expect(tables["simple"]?.allSatisfy { $0.rowid == nil } == true)
    #expect(tables["empty"]?.isEmpty == true)
  }

  @Test func virtualColumnsCanBeLeftOut() throws {
    let url = try make("generated-columns")
    let all = try SQLiteConnection.rowsOfEveryTable(inCopyOf: url)["made"]?.first?.values
    let stored = try SQLiteConnection.rowsOfEveryTable(inCopyOf: url, virtualColumns: false)["made"]
    #expect(all?.count == 9)
    #expect(
      stored?.first?.values == [
        .integer(1), .integer(2), .integer(3), .integer(6), .string("tail"), .integer(9),
      ])
  }

  @Test func virtualTablesHaveShadowTables() throws {
    let tables = try SQLiteConnection.rowsOfEveryTable(inCopyOf: make("virtual-tables"))
    #expect(tables["ordinary"]?.count == 2)
    #expect(tables["search"] == nil)
    if sqlite3_compileoption_used_("ENABLE_FTS5") { #expect(tables["search_content"]?.count == 2) }
  }

  func sqlite3_compileoption_used_(_ name: String) -> Bool {
    unsafe sqlite3_compileoption_used(name) != 0
  }
}

/// What is beside the main file.
@Suite struct SidecarFixtureTests {
  let tests: FixtureTests

  init() throws {
    tests = try FixtureTests()
  }

  func log(_ name: String) throws -> (URL, WALFile) {
    let url = try tests.make(name)
    return (url, try WALFile(URL(fileURLWithPath: url.path + "-wal")))
  }

  @Test(arguments: [
    "wal-committed", "wal-several-commits", "wal-grows", "wal-shrinks-vacuum",
    "wal-shrinks-incremental", "wal-shrinks-then-grows", "wal-holds-everything", "wal-page-512",
    "wal-page-65536", "wal-partly-checkpointed", "wal-big-endian", "wal-restarted",
  ])
  func logHoldsWhatTheMainFileLacks(_ name: String) throws {
    let (url, log) = try log(name)
    #expect(log.frames.contains { $0.isValid && $0.commit != 0 })
    let with = try contents(url, withSidecars: true)
    let without = try? contents(url, withSidecars: false)
    #expect(with != without)
  }

  func contents(_ url: URL, withSidecars: Bool) throws -> [String: [[FixtureValue]]] {
    let (connection, place) = try tests.reopened(url, withSidecars: withSidecars)
    defer { withExtendedLifetime(place) {} }
    var result: [String: [[FixtureValue]]] = [:]
    for table in try connection.ordinaryTables() {
      result[table] = try connection.rowsOfTable(table).map(\.values)
    }
    return result
  }

  @Test func severalCommits() throws {
    let (_, log) = try log("wal-several-commits")
    #expect(log.magic == 0x377f_0682)
    #expect(log.frames.filter { $0.commit != 0 }.count >= 5)
    #expect(log.frames.allSatisfy { $0.isValid })
    #expect(log.frames.last?.commit != 0)
  }

  @Test(arguments: ["wal-uncommitted-tail", "wal-uncommitted-only"])
  func uncommittedTail(_ name: String) throws {
    let (url, log) = try log(name)
    let lastCommit = log.frames.lastIndex { $0.commit != 0 } ?? -1
    #expect(log.frames.count - lastCommit > 20)
    if name == "wal-uncommitted-tail" {
      #expect(log.frames.allSatisfy { $0.isValid })
    } else {
      // Here SQLite wrote a page of its open transaction over an earlier frame of it. From then on
      // it leaves salts and checksums zero and fills them in only at the commit.
      #expect(log.frames.contains { !$0.isCurrent } && log.frames.contains { $0.isCurrent })
    }
    let (connection, place) = try tests.reopened(url)
    #expect(
      try connection.integer("SELECT count(*) FROM numbered WHERE note LIKE 'never%'") == 0)
    withExtendedLifetime(place) {}
  }

  @Test func restartedLogKeepsOldFrames() throws {
    let (_, log) = try log("wal-restarted")
    let current = log.frames.prefix { $0.isValid }.count
    #expect(current > 0 && log.frames.count > 3 * current)
    #expect(log.frames.dropFirst(current).allSatisfy { !$0.isCurrent })
  }

  @Test(arguments: ["wal-shrinks-vacuum", "wal-shrinks-incremental"])
  func logCutsTheDatabase(_ name: String) throws {
    let (url, log) = try log(name)
    let pages = try bytes(of: url).count / log.pageSize
    let commit = try #require(log.frames.last { $0.isValid && $0.commit != 0 })
    #expect(Int(commit.commit) < pages / 2)
  }

  @Test func logShrinksAndGrows() throws {
    let (url, log) = try log("wal-shrinks-then-grows")
    let sizes = log.frames.filter { $0.isValid && $0.commit != 0 }.map { Int($0.commit) }
    let main = try bytes(of: url).count / log.pageSize
    let least = try #require(sizes.min())
    let last = try #require(sizes.last)
    #expect(least < main && last > least)
  }

  @Test func logGrowsTheDatabase() throws {
    let (url, log) = try log("wal-grows")
    let pages = try bytes(of: url).count / log.pageSize
    let last = try #require(log.frames.last)
    #expect(Int(last.commit) > pages * 3)
  }

  @Test func bigEndianChecksums() throws {
    let (url, log) = try log("wal-big-endian")
    #expect(log.magic == 0x377f_0683)
    #expect(log.frames.allSatisfy { $0.isValid })
    // SQLite takes the log: the last commit is there.
    let (connection, place) = try tests.reopened(url)
    #expect(try connection.integer("SELECT count(*) FROM numbered WHERE note = 'commit 5'") == 4)
    withExtendedLifetime(place) {}
  }

  @Test func mainFileIsOnlyTheHeader() throws {
    let (url, log) = try log("wal-holds-everything")
    #expect(try bytes(of: url).count == log.pageSize)
  }

  @Test func tornLastFrameLosesOneCommit() throws {
    let (url, _) = try log("wal-torn-last-frame")
    let (connection, place) = try tests.reopened(url)
    #expect(try connection.integer("SELECT count(*) FROM numbered WHERE note = 'commit 5'") == 0)
    #expect(try connection.integer("SELECT count(*) FROM second") == 1)
    withExtendedLifetime(place) {}
  }

  @Test(arguments: [("wal-page-512", 512), ("wal-page-65536", 65536)])
  func logPageSize(_ name: String, _ size: Int) throws {
    #expect(try log(name).1.pageSize == size)
  }

  @Test func cleanWALModeHasNoLog() throws {
    let url = try tests.make("wal-mode-clean")
    #expect(try bytes(of: url)[18] == 2)
    #expect(!FileManager.default.fileExists(atPath: url.path + "-wal"))
    let empty = try tests.make("wal-empty")
    #expect(try bytes(of: URL(fileURLWithPath: empty.path + "-wal")).isEmpty)
  }

  /// The magic at the head of a rollback journal.
  static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

  @Test(arguments: StoreFixtures.all.filter { $0.name.hasPrefix("journal-hot") })
  func hotJournalIsRolledBack(_ fixture: StoreFixture) throws {
    let url = try fixture.make(tests.folder.url)
    let journal = try bytes(of: URL(fileURLWithPath: url.path + "-journal"))
    #expect(Array(journal.prefix(8)) == Self.journalMagic)
    let pagesBefore = tests.number(journal, 16)
    let sectorSize = tests.number(journal, 20)
    #expect(sectorSize == 512 || sectorSize == 4096)
    let pageSize = tests.number(journal, 24)
    let pagesNow = try bytes(of: url).count / pageSize
    switch fixture.name {
    case "journal-hot-grown": #expect(pagesNow > pagesBefore)
    case "journal-hot-from-nothing": #expect(pagesBefore == 0 && pagesNow > 0)
    case "journal-hot-unsynced": #expect(tests.number(journal, 8) == 0xffff_ffff)
    default: break
    }
    if fixture.name == "journal-hot-from-nothing" {
      #expect(tests.number(journal, 8) == 0, "an empty file has no page to save")
    } else if fixture.name != "journal-hot-unsynced" {
      #expect((1..<0xffff_ffff).contains(tests.number(journal, 8)))
    }

    if fixture.name == "journal-hot" {
      // Each time the cache spilled SQLite synced the journal and began another segment.
      let heads = stride(from: 0, to: journal.count - 8, by: sectorSize).filter {
        journal[$0..<$0 + 8].elementsEqual(Self.journalMagic)
      }
      #expect(heads.count > 1)
    }

    // Without its journal the main file shows the half-written state …
    let without = try? contents(url, withSidecars: false)
    // … and SQLite, given both, rolls back: the file has its old size and the journal is gone.
    let (connection, place) = try tests.reopened(url)
    let copy = place.url.appendingPathComponent(url.lastPathComponent)
    let tables = try connection.ordinaryTables()
    #expect(try bytes(of: copy).count == pagesBefore * pageSize)
    if !fixture.name.hasSuffix("from-nothing") {
      #expect(tables == ["numbered"])
      #expect(
        try connection.integer("SELECT count(*) FROM numbered WHERE note LIKE 'half-way%'") == 0)
      #expect(try connection.integer("SELECT count(*) FROM numbered WHERE half = 0") == 0)
    }
    #expect(!FileManager.default.fileExists(atPath: copy.path + "-journal"))
    #expect(try contents(url, withSidecars: true) != without)
  }

  @Test func spentJournalsAreNotHot() throws {
    let persistent = try tests.make("journal-persist-zeroed")
    let journal = try bytes(of: URL(fileURLWithPath: persistent.path + "-journal"))
    #expect(journal.count > 512 && journal.prefix(28).allSatisfy { $0 == 0 })
    let truncated = try tests.make("journal-truncated")
    #expect(try bytes(of: URL(fileURLWithPath: truncated.path + "-journal")).isEmpty)
    for url in [persistent, truncated] {
      let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: url)["numbered"] ?? []
      #expect(rows.count == 500)
      #expect(rows.last?.values[1] == .string("committed 500"))
    }
  }
}

@Suite struct FixtureToolTests {
  @Test func smallRowsReachTheirSize() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("small.sqlite")
    try smallRows(megabytes: 3, at: url)
    let size = try bytes(of: url).count
    #expect((3_000_000...4_000_000).contains(size))
    let connection = try SQLiteConnection(url)
    #expect(try connection.integrityCheck() == ["ok"])
    let rows = try #require(try connection.integer("SELECT count(*) FROM ZNOTE"))
    #expect((80...140).contains(size / Int(rows)))
  }

  @Test func treeStateSeesEveryChange() throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appendingPathComponent(".hidden")
    try randomFile(file, bytes: 1000, seed: 1)
    try FileManager.default.createSymbolicLink(
      atPath: folder.url.path + "/link", withDestinationPath: "nowhere")
    let before = treeState(of: folder.url)
    #expect(Set(before.keys) == [".", ".hidden", "link"])
    #expect(before[".hidden"]?.size == 1000)
    #expect(treeState(of: folder.url) == before)
    try overwrite(file, at: 500, bytes: [0])
    #expect(treeState(of: folder.url)[".hidden"]?.sha256 != before[".hidden"]?.sha256)
    try truncate(file, to: 10)
    #expect(treeState(of: folder.url)[".hidden"]?.size == 10)
  }

  @Test func hashIsSHA256() {
    #expect(
      hex(of: Data("abc".utf8))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test func splitMixIsTheKnownOne() {
    // The reference sequence of SplitMix64 for the seed 1234567.
    var generator = SplitMix64(seed: 1_234_567)
    #expect(generator.next() == 6_457_827_717_110_365_317)
    #expect(generator.next() == 3_203_168_211_198_807_973)
  }

  @Test func runSurvivesBigOutput() throws {
    let shell = try #require(findTool("sh"))
    let result = try run(
      shell, ["-c", "cat; head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 3"],
      stdin: Data(repeating: 65, count: 1_000_000), environment: ["PATH": "/usr/bin:/bin"])
    #expect(result.status == 3)
    #expect(result.stdout.count == 4_000_000)
    #expect(result.stderr.count == 2_000_000)
  }

  @Test func runStopsAHang() throws {
    let shell = try #require(findTool("sh"))
    #expect(throws: FixtureError.self) { try run(shell, ["-c", "exec sleep 60"], timeout: 0.3) }
    #expect(try run(shell, ["-c", "kill -9 $$"]).status == 137)
    #expect(findTool("no-such-tool-here") == nil)
  }
}
