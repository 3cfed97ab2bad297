import Fixtures
import Foundation

/// Sessions of real SQLite in processes of their own, which end by closing the store or by SIGKILL: one
/// process of Python forks one for each.
final class Sessions {
  /// How a session ends.
  enum End: String, CaseIterable {
    /// All is closed.
    case close
    /// The process kills itself after the last statement.
    case kill
    /// The process repeats its statements, and is killed at some time from outside.
    case killAnywhere
    /// The process keeps the store open, until `end()`.
    case stay
    /// The process repeats its statements until `end()`.
    case work
  }

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  /// Nil where there is no Python with SQLite.
  init?(for test: String) throws {
    guard let python = findTool("python3") else {
      print("skipped: \(test), without python3")
      return nil
    }
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = ["-c", Self.script]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    guard try answer() == "ready" else {
      print("skipped: \(test), without Python's sqlite3")
      return nil
    }
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Runs one session, to its end unless it goes on by its kind.
  ///
  /// - Returns: "ok", or the first error of a statement.
  @discardableResult
  func run(_ store: String, _ end: End, after microseconds: Int = 0, _ sql: [String]) throws
    -> String
  {
    let line = ["run", store, end.rawValue, "\(microseconds)", sql.joined(separator: "\u{1}")]
    return try ask(line.joined(separator: "\t"))
  }

  /// Ends the sessions that go on: closed in order, or killed.
  func end(killed: Bool) throws { _ = try ask(killed ? "kill" : "close") }

  /// Returns once the clock that the folder's files get their times from has gone on.
  func tick(_ folder: String) throws { _ = try ask("tick\t\(folder)") }

  private func ask(_ line: String) throws -> String {
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    return try answer()
  }

  private func answer() throws -> String {
    var line = Data()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), let first = byte.first {
      if first == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(first)
    }
    return "ended"
  }

  private static let script = #"""
    import os, signal, sys, time
    try:
        import sqlite3
    except ImportError:
        print('none', flush=True)
        sys.exit()
    print('ready', flush=True)
    living = []

    def session(store, end, sql, told, wait):
        error = 'ok'
        try:
            store = sqlite3.connect(store, isolation_level=None, timeout=0.01)
            while True:
                for one in sql:
                    try:
                        store.execute(one).fetchall()
                    except sqlite3.Error as problem:
                        if error == 'ok':
                            error = type(problem).__name__ + ': ' + str(problem)
                if end not in ('killAnywhere', 'work'):
                    break
                if told is not None:
                    os.write(told, (error + '\n').encode())
                    told = None
        except sqlite3.Error as problem:
            error = str(problem)
        if end == 'close':
            store.close()
        os.write(told, (error + '\n').encode())
        if end == 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        if end == 'stay':
            os.read(wait, 1)
            store.close()
        os._exit(0)

    for line in sys.stdin:
        words = line.rstrip('\n').split('\t')
        answer = 'ok'
        if words[0] == 'run':
            store, end, pause, sql = words[1], words[2], int(words[3]), words[4].split('\x01')
            heard, told = os.pipe()
            wait, go = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    os.close(go)
                    session(store, end, sql, told, wait)
                finally:
                    os._exit(1)
            os.close(told)
            if end == 'killAnywhere':
                time.sleep(pause / 1e6)
                os.kill(child, signal.SIGKILL)
            else:
                answer = os.read(heard, 1000).decode().split('\n')[0]
            os.close(heard)
            if end in ('stay', 'work'):
                living.append((child, go, end))
                os.close(wait)
            else:
                os.waitpid(child, 0)
                os.close(go)
                os.close(wait)
        elif words[0] in ('kill', 'close'):
            for child, go, end in living:
                if words[0] == 'kill' or end == 'work':
                    os.kill(child, signal.SIGKILL)
                else:
                    # Not by closing it: those that were begun later have it, too.
                    os.write(go, b'.')
                os.waitpid(child, 0)
                os.close(go)
            living = []
        elif words[0] == 'tick':
            probe = words[1] + '/tick'
            open(probe, 'w').close()
            first = os.stat(probe).st_mtime_ns
            while os.stat(probe).st_mtime_ns == first:
                open(probe, 'w').close()
            os.unlink(probe)
        print(answer, flush=True)
    for child, go, end in living:
        os.kill(child, signal.SIGKILL)
    """#
}
