import Fixtures
import Foundation
import SQLiteFile
import Testing

/// A store that SQLite writes to while it is read.
@Suite struct LiveLogTests {
  /// A writer that restarts the log, and lets other pages take the place of page 1 in it, until it is ended.
  private static let writer = """
    import sqlite3, sys, time
    end = time.monotonic() + 600
    store = sqlite3.connect(sys.argv[1], isolation_level=None)
    for line in ('journal_mode=wal', 'wal_autocheckpoint=0', 'synchronous=off'):
        store.execute('PRAGMA ' + line)
    store.execute('CREATE TABLE t(a INTEGER PRIMARY KEY, b)')
    for turn in range(1 << 40):
        if time.monotonic() > end: break
        if turn == 3: print('ready', flush=True)
        if turn % 2: store.execute('INSERT INTO t(b) VALUES(?)', ['x' * 30000])
        store.execute('CREATE TABLE u(a)')
        store.execute('DROP TABLE u')
        store.execute('PRAGMA wal_checkpoint(restart)')
        if turn % 50 == 0: store.execute('DELETE FROM t')
    """

  /// A log that is written over between two looks makes a store that changes, and no file that is no store.
  @Test(.enabled(if: findTool("python3") != nil, "no python3"))
  func aLogThatIsWrittenOverIsAChange() throws {
    let python = try #require(findTool("python3"))
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("Live.sqlite").path
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = ["-c", Self.writer, path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    #expect(!output.fileHandleForReading.availableData.isEmpty, "the writer has begun")
    for _ in 1...300 {
      do throws(SQLiteFileError) { _ = try SQLiteDatabase(path: path) } catch {
        #expect(error.code == .changedDuringRead, "\(error)")
      }
    }
  }
}
