import Fixtures
import Foundation
import SQLiteFile
import Testing

/// Logs and journals made by hand, and things in the place of files.
@Suite struct EvilSidecarTests {
  private static func plain(_ folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 512; CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
    connection.close()
    return url
  }

  /// A journal over `url` whose header has these numbers and whose records are these pages.
  private static func writeJournal(
    beside url: URL, count: UInt32, pages: UInt32, sector: UInt32, pageSize: UInt32,
    records: [(UInt32, [UInt8])] = []
  ) throws {
    var bytes: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    for number in [count, 7, pages, sector, pageSize] { bytes += EvilFile.word(number) }
    bytes += [UInt8](repeating: 0, count: 512 - bytes.count)
    for (page, content) in records {
      var sum: UInt32 = 7
      for offset in stride(from: content.count - 200, to: 0, by: -200) {
        sum &+= UInt32(content[offset])
      }
      bytes += EvilFile.word(page) + content + EvilFile.word(sum)
    }
    try Data(bytes).write(to: URL(fileURLWithPath: url.path + "-journal"))
  }

  @Test(
    arguments: [
      (0, 512), (512, 1), (512, 0), (31, 512), (48, 512), (131_072, 512), (512, 131_072),
      (512, 513),
      (4_294_967_295, 4_294_967_295),
    ] as [(UInt32, UInt32)])
  func journalsWithImpossibleSizesAreNotUsed(_ sector: UInt32, _ pageSize: UInt32) throws {
    let folder = try TemporaryFolder()
    let url = try Self.plain(folder)
    try Self.writeJournal(beside: url, count: 1, pages: 2, sector: sector, pageSize: pageSize)
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.journal?.state == .unreadable)
    #expect(try database.rows(of: database.schema.tables[0]).count == 2)
    // It does start like a journal.
    #expect(
      database.findings.kept.filter { $0.member == .journal }.map(\.id.rawValue)
        == ["journal.badHeader"])
  }

  /// 2^32 - 1 pages: up to the end of the file, which is not much.
  @Test func aJournalWithoutACountGoesToItsEnd() throws {
    let folder = try TemporaryFolder()
    let url = try Self.plain(folder)
    var page = Array(try bytes(of: url)[512..<1024])
    page[4] = 1
    try Self.writeJournal(
      beside: url, count: .max, pages: 2, sector: 512, pageSize: 512,
      records: [(2, page), (4_000_000_000, page)])
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.journal?.state == .hot)
    #expect(database.pageCount == 2)
    #expect(try database.rows(of: database.schema.tables[0]).count == 1)
    // SQLite rolls back to the same.
    let copy = try TemporaryFolder()
    let connection = try SQLiteConnection(
      try SQLiteConnection.copyStore(url, into: copy.url))
    #expect(try connection.integer("SELECT count(*) FROM t") == 1)
    connection.close()
  }

  @Test func aJournalThatPromisesTooMuchIsPlayedAsFarAsItGoes() throws {
    let folder = try TemporaryFolder()
    let url = try Self.plain(folder)
    try Self.writeJournal(
      beside: url, count: 4_294_967_294, pages: .max, sector: 512, pageSize: 512,
      records: [(2, Array(try bytes(of: url)[512..<1024]))])
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.findings.kept.contains { $0.id.rawValue == "journal.truncated" })
    #expect(try database.rows(of: database.schema.tables[0]).count == 2)
  }

  /// A commit that says that the database has 4 billion pages.
  @Test func aLogThatCountsFourBillionPages() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("wal-committed").make(folder.url)
    let log = URL(fileURLWithPath: url.path + "-wal")
    let truth = try SQLiteDatabase(path: url.path)
    let rows = try truth.rows(of: truth.schema.tables[0])
    let frames = try WALFile(log)
    for (index, frame) in frames.frames.enumerated() where frame.commit > 0 {
      try overwrite(
        log, at: 32 + index * (frames.pageSize + 24) + 4, bytes: [0xff, 0xff, 0xff, 0xff])
    }
    try WALFile.useBigEndianChecksums(in: log.path)
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.pageCount < 65_536)
    #expect(database.findings.kept.contains { $0.id.rawValue == "wal.badPageCount" })
    #expect(try database.rows(of: database.schema.tables[0]) == rows)
  }

  /// A frame for page 4,294,967,295, which costs no memory.
  @Test func aLogWithTheHighestPage() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("wal-committed").make(folder.url)
    let log = URL(fileURLWithPath: url.path + "-wal")
    try overwrite(log, at: 32, bytes: [0xff, 0xff, 0xff, 0xff])
    try WALFile.useBigEndianChecksums(in: log.path)
    let database = try SQLiteDatabase(path: url.path)
    for table in database.schema.tables { _ = try database.rows(of: table) }
    #expect(database.writeAheadLog?.committedFrameCount ?? 0 > 0)
  }

  /// A log of other pages than the database's is not used, and the header is then the main file's.
  @Test func aLogOfAnotherPageSizeIsNotUsed() throws {
    let folder = try TemporaryFolder()
    let url = try Self.plain(folder)
    let other = try StoreFixtures.named("wal-holds-everything").make(folder.url)
    try FileManager.default.copyItem(atPath: other.path + "-wal", toPath: url.path + "-wal")
    // Page 1 of the log now says 512 in a log of 4096.
    let frames = try WALFile(URL(fileURLWithPath: url.path + "-wal"))
    for (index, frame) in frames.frames.enumerated() where frame.page == 1 {
      try overwrite(
        URL(fileURLWithPath: url.path + "-wal"), at: 32 + index * (4096 + 24) + 24 + 16,
        bytes: [32, 0])
    }
    try WALFile.useBigEndianChecksums(in: url.path + "-wal")
    let database = try SQLiteDatabase(path: url.path)
    try #require(database.header.pageSize == 512)
    #expect(try database.rows(of: database.schema.tables[0]).count == 2)
    #expect(database.findings.kept.contains { $0.id.rawValue == "wal.otherPageSize" })
  }

  /// The main file is sound, so the error names the log.
  @Test func aLogWithoutAHeaderOnPage1IsBlamed() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("wal-holds-everything").make(folder.url)
    let log = URL(fileURLWithPath: url.path + "-wal")
    let frames = try WALFile(log)
    for (index, frame) in frames.frames.enumerated() where frame.page == 1 {
      try overwrite(log, at: 32 + index * (frames.pageSize + 24) + 24, bytes: [0])
    }
    try WALFile.useBigEndianChecksums(in: log.path)
    let error = #expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: url.path) }
    #expect(error?.code == .notADatabase)
    #expect(error?.message.contains("in the write-ahead log") == true)
  }

  /// No log or journal can be beside it: their names would be too long.
  @Test func theLongestNameIsOpened() throws {
    let folder = try TemporaryFolder()
    let long = folder.url.appendingPathComponent(String(repeating: "n", count: 255))
    try FileManager.default.moveItem(at: try Self.plain(folder), to: long)
    #expect(try SQLiteDatabase(path: long.path).schema.tables.count == 1)
  }

  @Test(arguments: [0, 1, 31, 32, 55, 56])
  func shortLogsAreNoCrash(_ size: Int) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("wal-committed").make(folder.url)
    try truncate(URL(fileURLWithPath: url.path + "-wal"), to: size)
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.writeAheadLog?.committedFrameCount ?? 0 == 0)
  }

  // MARK: - What is no file

  @Test func whatIsNoFileIsRefusedAtOnce() throws {
    let folder = try TemporaryFolder()
    let url = try Self.plain(folder)
    let pipe = folder.url.appendingPathComponent("pipe").path
    let link = folder.url.appendingPathComponent("link").path
    let loop = folder.url.appendingPathComponent("loop").path
    #expect(unsafe mkfifo(pipe, 0o600) == 0)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: url.path)
    try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
    let cases: [(String, SQLiteFileError.Code)] = [
      (folder.url.path, .notRegular), (pipe, .notRegular), (link, .notRegular), (loop, .notRegular),
      ("/dev/null", .notRegular), (folder.url.path + "/none", .missing), ("", .missing),
      (url.path + "/below", .missing),
    ]
    for (path, code) in cases {
      let error = #expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: path) }
      #expect(error?.code == code, "\(path)")
    }
    // The same in the place of a log: without it rows would be wrong in silence.
    for place in [pipe, link, folder.url.path] {
      try FileManager.default.createSymbolicLink(
        atPath: url.path + "-wal", withDestinationPath: place)
      let error = #expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: url.path) }
      #expect(error?.code == .notRegular)
      #expect(try SQLiteDatabase(path: url.path, logView: .ignore).schema.tables.count == 1)
      try FileManager.default.removeItem(atPath: url.path + "-wal")
    }
  }

  #if os(Linux)
    /// A socket cannot be opened at all, which is no fault of the device.
    @Test func socketsAreNoFiles() throws {
      let folder = try TemporaryFolder()
      let socket = folder.url.appendingPathComponent("socket").path
      #expect(unsafe mknod(socket, S_IFSOCK | 0o600, 0) == 0)
      let error = #expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: socket) }
      #expect(error?.code == .notRegular)
    }
  #endif

  @Test func whatIsNoDatabaseSaysWhy() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("x")
    func code(_ bytes: [UInt8]) throws -> SQLiteFileError.Code? {
      try Data(bytes).write(to: url)
      return #expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: url.path) }?.code
    }
    var generator = SplitMix64(seed: 5)
    #expect(try code([]) == .empty)
    #expect(try code(Array("short".utf8)) == .notADatabase)
    #expect(try code(generator.bytes(8192)) == .looksEncrypted)
    #expect(try code(generator.bytes(2048)) == .notADatabase)
    #expect(try code(Array(String(repeating: "plain text. ", count: 800).utf8)) == .notADatabase)
    var bytes = EvilFile().bytes
    bytes[0] = 0
    #expect(try code(bytes) == .notADatabase)
  }

  /// However often files are opened and fail, no descriptor stays open.
  @Test func descriptorsAreGivenBack() throws {
    let folder = try TemporaryFolder()
    let good = try StoreFixtures.named("wal-committed").make(folder.url)
    let bad = folder.url.appendingPathComponent("bad")
    try Data(repeating: 1, count: 5000).write(to: bad)
    // Other tests open files at the same time, so the number only has to stay far below that of the openings.
    for _ in 0..<2000 {
      _ = try? SQLiteDatabase(path: bad.path)
      _ = try? SQLiteDatabase(path: folder.url.path)
      let database = try SQLiteDatabase(path: good.path)
      _ = try database.rowCount(of: database.schema.tables[0])
    }
    let open = (0..<4096).count { fcntl(Int32($0), F_GETFD) != -1 }
    #expect(open < 500, "\(open)")
  }
}
