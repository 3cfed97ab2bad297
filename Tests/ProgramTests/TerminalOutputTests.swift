import Fixtures
import Foundation
import Testing

/// What reaches a terminal, seen from its other side.
@Suite(.enabled(if: findTool("python3") != nil, "no python3")) struct TerminalOutputTests {
  /// Text with what a terminal obeys: a control sequence of one character, an escape, a reversal of direction.
  private static let text = "a\u{9B}31m\u{1B}[2Jb\u{202E}c\u{2066}\u{85}"

  /// Runs the program with a terminal as its standard output and error.
  private func onTerminal(_ arguments: [String], columns: Int = 200) throws -> String {
    let program = try #require(Program.path)
    let script = """
      import os, pty, sys
      pid, end = pty.fork()
      if pid == 0:
          os.environ["COLUMNS"] = "\(columns)"; os.environ["NO_COLOR"] = "1"
          os.execv(sys.argv[1], sys.argv[1:])
      seen = b""
      while True:
          try:
              part = os.read(end, 65536)
          except OSError:
              break
          if not part:
              break
          seen += part
      os.waitpid(pid, 0)
      sys.stdout.buffer.write(seen)
      """
    let python = try #require(findTool("python3"))
    let result = try run(python, ["-c", script, program] + arguments)
    return String(decoding: result.stdout, as: UTF8.self)
  }

  private func store(_ folder: TemporaryFolder) throws -> String {
    let url = folder.url.appendingPathComponent("hostile.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, \"c\u{202E}\" TEXT)")
    try database.insert("INSERT INTO t VALUES(1, ?)", [[.string(Self.text)]])
    database.close()
    return url.path
  }

  @Test(arguments: [
    ["rows", "--format", "ndjson"], ["rows", "--format", "json"], ["rows", "--format", "csv"],
    ["rows", "--all", "--format", "ndjson"], ["rows", "--all", "--format", "csv"],
    ["rows", "--raw", "--format", "ndjson"], ["inspect", "--json"], ["inspect"], ["rows"],
    ["pages", "--format", "ndjson"], ["check", "--json"],
    ["rows", "--entity", "no\u{202E}ne"], ["rows", "--bo\u{1B}gus"],
    ["rows", "--json", "--entity", "no\u{202E}ne"], ["insp\u{9B}ct"],
  ])
  func nothingIsObeyed(_ arguments: [String]) throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let seen = try onTerminal(arguments + [path])
    #expect(!seen.isEmpty)
    let hidden = seen.unicodeScalars.filter {
      ($0.value < 0x20 && !"\r\n\t".unicodeScalars.contains($0)) || (0x7F...0x9F).contains($0.value)
        || (0x2028...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value)
    }
    #expect(hidden.isEmpty, "\(arguments): \(seen.debugDescription)")
  }

  /// On a terminal it is the same JSON; in a pipe not a byte is changed.
  @Test func theDataIsTheSame() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let seen = try onTerminal(["rows", "--raw", "--format", "ndjson", path])
    let line = try #require(seen.split(whereSeparator: \.isNewline).first { $0.hasPrefix("{") })
    let read = try JSONDecoder().decode(JSON.self, from: Data(line.utf8))
    let piped = try Program.run("rows", "--raw", "--format", "ndjson", path)
    #expect(try piped.lines() == [read])
    #expect(piped.text.utf8.firstRange(of: "\u{202E}".utf8) != nil)
    let csv = try Program.run("rows", "--raw", "--format", "csv", path)
    #expect(csv.text.utf8.firstRange(of: Self.text.utf8) != nil)
  }

  /// Notes on standard error are wrapped on a terminal, and stay whole lines in a file.
  @Test func notesAreWrapped() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let note =
      "note: this is not a Core Data store; its tables follow as SQLite stores them (--raw)"
    let lines = try onTerminal(["rows", "--format", "ndjson", path], columns: 80)
      .split(whereSeparator: \.isNewline)
    let start = try #require(lines.firstIndex { $0.hasPrefix("note: ") })
    #expect(lines[start].count <= 80 && lines[start + 1].hasPrefix("  "), "\(lines)")
    #expect("\(lines[start]) \(lines[start + 1].dropFirst(2))" == note)
    #expect(try Program.run(["rows", path], columns: 80).errors == note + "\n")
  }
}
