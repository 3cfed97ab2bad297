import Fixtures
import Foundation
import SQLiteWriter
import Testing

/// What the `sqlite3` command-line tool, a program of its own, makes of a file; nil where it is absent.
func sqlite3(_ file: String, _ sql: String) throws -> String? {
  guard let tool = findTool("sqlite3") else {
    print("skipped: reading \(file) with sqlite3: the tool is not installed")
    return nil
  }
  let result = try run(tool, ["-batch", "-bail", file, sql])
  #expect(result.status == 0, "\(String(decoding: result.stderr, as: UTF8.self))")
  return String(decoding: result.stdout, as: UTF8.self).trimmingCharacters(in: .newlines)
}

/// Runs `body` and returns the writer's error, or fails.
func writerError(_ body: () throws -> Void) -> SQLiteWriterError? {
  do {
    try body()
    Issue.record("nothing was thrown")
  } catch let error as SQLiteWriterError {
    return error
  } catch {
    Issue.record("another error: \(error)")
  }
  return nil
}

@Suite struct CreatingTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  func path(_ name: String) -> String {
    folder.url.appendingPathComponent(name).path
  }

  /// The folder is moved away and a link to another one put in its place, between the first look and the last.
  @Test func aFolderThatBecomesALinkLeadsNowhereElse() throws {
    let files = FileManager.default
    try files.createDirectory(atPath: path("here"), withIntermediateDirectories: false)
    try files.createDirectory(atPath: path("other"), withIntermediateDirectories: false)
    let published = try SQLiteWriter(creating: path("here/a"))
    let discarded = try SQLiteWriter(creating: path("here/b"))
    for writer in [published, discarded] { try writer.execute("CREATE TABLE t(x)") }
    try files.moveItem(atPath: path("here"), toPath: path("moved"))
    try files.createSymbolicLink(atPath: path("here"), withDestinationPath: path("other"))
    for name in ["a", "b"] {
      try Data("not ours".utf8).write(to: URL(fileURLWithPath: path("other/" + name)))
    }
    try published.publish(as: path("here/done"))
    #expect(discarded.discard())
    #expect(try files.contentsOfDirectory(atPath: path("moved")) == ["done"])
    #expect(Set(try files.contentsOfDirectory(atPath: path("other"))) == ["a", "b"])
    for name in ["a", "b"] {
      #expect(
        try Data(contentsOf: URL(fileURLWithPath: path("other/" + name))) == Data("not ours".utf8))
    }
  }

  /// A file that gets the final name meanwhile stays, and so does one that takes the place of the new one.
  @Test func whatOthersPutThereStays() throws {
    let late = try SQLiteWriter(creating: path("late"))
    try Data("theirs".utf8).write(to: URL(fileURLWithPath: path("done")))
    #expect(writerError { try late.publish(as: path("done")) }?.code == .exists)
    #expect(late.discard())
    try FileManager.default.removeItem(atPath: path("done"))
    // The new file's inode would be used again if nobody held it.
    let writer = try SQLiteWriter(creating: path("a"))
    try FileManager.default.removeItem(atPath: path("a"))
    try Data("theirs".utf8).write(to: URL(fileURLWithPath: path("a")))
    #expect(writerError { try writer.publish(as: path("done")) }?.code == .replaced)
    #expect(!writer.discard())
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["a"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: path("a"))) == Data("theirs".utf8))
  }

  /// The longest names that a volume takes, which have no room for a suffix.
  @Test(arguments: [String(repeating: "n", count: 255), String(repeating: "日", count: 85)])
  func theLongestNameIsPublished(_ name: String) throws {
    let writer = try SQLiteWriter(creating: SQLiteWriter.privatePath(for: path(name)))
    try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    try writer.publish(as: path(name))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [name])
  }

  @Test(arguments: [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536])
  func pageSizeIsKept(_ size: Int) throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"), options: .init(pageSize: size))
    try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    #expect(try writer.check() == [])
    try writer.close()
    let header = try bytes(of: URL(fileURLWithPath: writer.path))
    #expect(Int(header[16]) << 8 | Int(header[17]) == (size == 65536 ? 1 : size))
    if let text = try sqlite3(
      writer.path, "PRAGMA page_size; PRAGMA integrity_check; SELECT * FROM t")
    {
      #expect(text == "\(size)\nok\n1")
    }
  }

  @Test(arguments: [
    (SQLiteWriter.Options.AutoVacuum.none, "0"), (.full, "1"), (.incremental, "2"),
  ])
  func autoVacuumIsKept(_ mode: SQLiteWriter.Options.AutoVacuum, _ expected: String) throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"), options: .init(autoVacuum: mode))
    try writer.close()
    if let text = try sqlite3(writer.path, "PRAGMA auto_vacuum") { #expect(text == expected) }
  }

  @Test(arguments: [
    SQLiteWriter.Options.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian,
  ])
  func textSurvivesEachEncoding(_ encoding: SQLiteWriter.Options.Encoding) throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"), options: .init(encoding: encoding))
    try writer.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
    let texts = ["", "a\0b", "\0", "Grüße 😀 日本", String(repeating: "long", count: 9000)]
    let insert = try writer.prepare("INSERT INTO t(a) VALUES(?)")
    for text in texts { try insert.run([.string(text)]) }
    #expect(try writer.rows("SELECT a FROM t ORDER BY id") == texts.map { [.string($0)] })
    try writer.close()
    if let text = try sqlite3(
      writer.path, "PRAGMA encoding; SELECT hex(CAST(a AS BLOB)) FROM t WHERE id = 2")
    {
      let hex =
        switch encoding {
        case .utf8: "610062"
        case .utf16LittleEndian: "610000006200"
        case .utf16BigEndian: "006100000062"
        }
      #expect(text == "\(encoding.rawValue)\n\(hex)")
    }
    let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: writer.path)["t"]
    #expect(rows?.map(\.values.last) == texts.map { .string($0) })
  }

  @Test(arguments: [SQLiteWriter.Options.JournalMode.delete, .wal, .off])
  func journalModeLeavesOneFile(_ mode: SQLiteWriter.Options.JournalMode) throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"), options: .init(journalMode: mode))
    try writer.execute("CREATE TABLE t(a)")
    try writer.transaction {
      let insert = try writer.prepare("INSERT INTO t VALUES(?)")
      for number in 0..<500 { try insert.run([.integer(Int64(number))]) }
    }
    try writer.close()
    #expect(!writer.isOpen)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["new.sqlite"])
    let header = try bytes(of: URL(fileURLWithPath: writer.path))
    #expect(header[18] == (mode == .wal ? 2 : 1))
    if let text = try sqlite3(writer.path, "SELECT sum(a) FROM t; PRAGMA integrity_check") {
      #expect(text == "124750\nok")
    }
  }

  @Test func emptyDatabaseIsValid() throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"), options: .init(pageSize: 1024))
    try writer.close()
    #expect(try bytes(of: URL(fileURLWithPath: writer.path)).count == 1024)
    if let text = try sqlite3(writer.path, "PRAGMA page_count; PRAGMA integrity_check") {
      #expect(text == "1\nok")
    }
  }

  @Test func fileIsPrivate() throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"))
    let attributes = try FileManager.default.attributesOfItem(atPath: writer.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    writer.discard()
  }

  @Test(arguments: ["", "-journal", "-wal", "-shm"])
  func whatIsThereIsNeverTouched(_ suffix: String) throws {
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path("new.sqlite" + suffix)))
    let before = treeState(of: folder.url)
    let error = writerError { _ = try SQLiteWriter(creating: path("new.sqlite")) }
    #expect(error?.code == .exists)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func danglingLinkIsRefused() throws {
    try FileManager.default.createSymbolicLink(
      atPath: path("new.sqlite"), withDestinationPath: path("target.sqlite"))
    let before = treeState(of: folder.url)
    let error = writerError { _ = try SQLiteWriter(creating: path("new.sqlite")) }
    #expect(error?.code == .exists)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func linkInTheFolderIsFollowed() throws {
    try FileManager.default.createDirectory(
      atPath: path("real"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: path("link"), withDestinationPath: path("real"))
    let writer = try SQLiteWriter(creating: path("link/new.sqlite"))
    try writer.close()
    #expect(writer.path.hasSuffix("/real/new.sqlite"))
  }

  @Test func uriIsAnOrdinaryName() throws {
    let writer = try SQLiteWriter(creating: path("file:x?mode=memory"))
    try writer.execute("CREATE TABLE t(a)")
    try writer.close()
    #expect(FileManager.default.fileExists(atPath: path("file:x?mode=memory")))
  }

  @Test(arguments: ["", "missing/new.sqlite", ".", "..", "sub/", "a\0b"])
  func impossiblePathIsRefused(_ name: String) throws {
    let error = writerError {
      _ = try SQLiteWriter(creating: name.isEmpty ? "" : path("") + "/" + name)
    }
    #expect([.cannotCreate, .embeddedNUL].contains(error?.code))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
  }

  @Test func tooLongPathLeavesNothing() throws {
    // SQLite takes 512 bytes; the file system takes more.
    var deep = folder.url
    for _ in 0..<3 { deep.appendPathComponent(String(repeating: "d", count: 200)) }
    try FileManager.default.createDirectory(at: deep, withIntermediateDirectories: true)
    let error = writerError {
      _ = try SQLiteWriter(creating: deep.appendingPathComponent("new.sqlite").path)
    }
    #expect(error?.code == .cannotOpen)
    #expect(try FileManager.default.contentsOfDirectory(atPath: deep.path) == [])
  }

  @Test(arguments: [0, 511, 513, 131_072, -4096, Int.min, Int.max])
  func badPageSizeIsRefused(_ size: Int) throws {
    let error = writerError {
      _ = try SQLiteWriter(creating: path("new.sqlite"), options: .init(pageSize: size))
    }
    #expect(error?.code == .badOption)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
  }

  @Test(arguments: [SQLiteWriter.Options.JournalMode.delete, .wal, .off])
  func discardRemovesItsOwnFilesOnly(_ mode: SQLiteWriter.Options.JournalMode) throws {
    try Data("other".utf8).write(to: URL(fileURLWithPath: path("new.sqlite-other")))
    let before = treeState(of: folder.url).filter { $0.key != "." }
    let writer = try SQLiteWriter(creating: path("new.sqlite"), options: .init(journalMode: mode))
    try writer.execute("CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES(1)")
    #expect(writer.discard())
    #expect(!writer.discard())
    #expect(treeState(of: folder.url).filter { $0.key != "." } == before)
  }

  @Test func discardLeavesAReplacementAlone() throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"))
    try FileManager.default.moveItem(atPath: path("new.sqlite"), toPath: path("moved.sqlite"))
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path("new.sqlite")))
    #expect(!writer.discard())
    #expect(try bytes(of: URL(fileURLWithPath: path("new.sqlite"))) == Array("mine".utf8))
  }

  @Test func closeRefusesAnOpenTransaction() throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"))
    try writer.execute("CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES(1)")
    #expect(writerError { try writer.close() }?.code == .transactionOpen)
    try writer.execute("COMMIT")
    try writer.close()
    #expect(writerError { try writer.close() }?.code == .closed)
    #expect(writerError { try writer.execute("SELECT 1") }?.code == .closed)
  }

  @Test func statementsOutliveTheWriterSafely() throws {
    let writer = try SQLiteWriter(creating: path("new.sqlite"))
    try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
    let half = try writer.prepare("SELECT a FROM t")
    #expect(try half.step())
    try writer.close()
    #expect(half.row == [])
    #expect(half.value(at: 0) == .null)
    #expect(writerError { try half.step() }?.code == .closed)
    #expect(writerError { try half.bind([]) }?.code == .closed)
    half.reset()
    half.finalize()
  }

  @Test func releasedWriterRollsBack() throws {
    do {
      let writer = try SQLiteWriter(creating: path("new.sqlite"))
      try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1); BEGIN; DELETE FROM t")
    }
    if let text = try sqlite3(path("new.sqlite"), "SELECT count(*) FROM t") { #expect(text == "1") }
  }
}
