import Fixtures
import Foundation
import Testing

/// The browser in a real terminal: keys pressed in tmux, and what its screen shows.
@Suite(.serialized) struct BrowseTerminalTests {
  /// A terminal of 80 by 24 in which a shell runs.
  private final class Window {
    private let tmux: String
    private let python: String
    private let folder = try? TemporaryFolder()
    private var socket: String { (folder?.url.path ?? "/tmp") + "/tmux" }

    init?() {
      guard let tmux = findTool("tmux"), let python = findTool("python3") else {
        print("skipped: the browser in a terminal: no tmux, or no python3")
        return nil
      }
      (self.tmux, self.python) = (tmux, python)
    }

    deinit { _ = try? call("kill-server") }

    @discardableResult
    func call(_ arguments: String...) throws -> String {
      try call(tmux, arguments)
    }

    private func call(
      _ program: String, before: [String] = [], _ arguments: [String]
    ) throws -> String {
      var environment = ProcessInfo.processInfo.environment
      environment["TMUX"] = nil
      environment["LANG"] = "C.UTF-8"
      environment["TERM"] = "xterm-256color"
      environment["NO_COLOR"] = nil
      let result = try run(
        program, before + ["-u", "-S", socket, "-f", "/dev/null"] + arguments,
        environment: environment, timeout: 60)
      guard result.status == 0 else {
        throw FixtureError("tmux \(arguments): \(String(decoding: result.stderr, as: UTF8.self))")
      }
      return String(decoding: result.stdout, as: UTF8.self)
    }

    func start() throws {
      // Foundation waits until every descendant has closed a socket of its own, and the server of tmux stays: Python
      // hands on no descriptor but the first three. Other calls start no process that stays.
      let script = """
        import subprocess, sys
        sys.exit(subprocess.run(sys.argv[1:]).returncode)
        """
      _ = try call(
        python, before: ["-c", script, tmux],
        ["new-session", "-d", "-x", "80", "-y", "24", "-s", "w", "sh"])
      try call("send-keys", "-t", "w", "PS1='ready> '", "Enter")
      _ = try wait { $0.last { !$0.isEmpty } == "ready>" }
    }

    func press(_ keys: String...) throws {
      for key in keys { try call("send-keys", "-t", "w", key) }
    }

    func type(_ text: String) throws { try call("send-keys", "-t", "w", "-l", text) }

    /// The lines of the screen.
    func screen() throws -> [String] {
      try call("capture-pane", "-p", "-t", "w")
        .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The lines, once they are as wanted. A program answers when it can, so there is patience and no time.
    @discardableResult
    func wait(
      _ sourceLocation: SourceLocation = #_sourceLocation, _ isWanted: ([String]) -> Bool
    ) throws -> [String] {
      var lines: [String] = []
      for _ in 0..<1000 {
        lines = try screen()
        if isWanted(lines) { return lines }
        usleep(25_000)
      }
      Issue.record(
        "never shown; last:\n\(lines.joined(separator: "\n"))", sourceLocation: sourceLocation)
      throw FixtureError("the screen is not as wanted")
    }

    /// What the terminal's modes are: echo and lines, as before the browser.
    func modes() throws -> String {
      let tty = try call("display-message", "-p", "-t", "w", "#{pane_tty}")
        .trimmingCharacters(in: .newlines)
      let stty = try #require(findTool("stty"))
      let result = try run(stty, ["-g", "-F", tty])
      return String(decoding: result.stdout, as: UTF8.self)
    }
  }

  private static func store(_ folder: TemporaryFolder, _ count: Int = 3000) throws -> String {
    let url = folder.url.appendingPathComponent("numbered.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, kind TEXT, note TEXT);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < \(count))
        INSERT INTO t SELECT k, 'kind ' || (k % 3), 'note ' || k || ' 日本' FROM n;
      UPDATE t SET note = char(27) || '[2J' || char(27) || ']0;title' || char(7) WHERE id = 2;
      """)
    connection.close()
    return url.path
  }

  @Test func keysAreObeyedAndTheTerminalIsRestored() throws {
    guard let window = Window() else { return }
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = try Self.store(folder)
    let before = treeState(of: folder.url)
    try window.start()
    let modes = try window.modes()
    try window.type("\(program) browse \(store); echo status $?")
    try window.press("Enter")
    // A screen may be seen half drawn, and rows come after their number: each wait is for all that is expected.
    try window.wait {
      $0[0].hasPrefix("Entities and tables") && $0[1].hasSuffix("3,000 rows")
        && $0[23].contains("Enter:rows")
    }
    #expect(try window.modes() != modes)

    try window.press("Enter")
    try window.wait {
      $0[0].hasPrefix("t") && $0[2].hasPrefix(">") && $0[22].hasSuffix("row 1 of 3,000")
        && $0[3].contains("\\u{1B}[2J\\u{1B}]0;title\\u{7}") && $0[4].contains("note 3 日本")
    }
    try window.press("Down", "Down", "Down")
    try window.wait { $0[5].hasPrefix(">") && $0[22].hasSuffix("row 4 of 3,000") }
    try window.press("NPage")
    try window.wait { $0[22].hasSuffix("row 24 of 3,000") }
    try window.press("End")
    try window.wait {
      $0[22].hasSuffix("row 3,000 of 3,000")
        && $0.contains { $0.hasPrefix("> 3000") && $0.contains("note 3000 日本") }
    }
    try window.press("Home", "/")
    try window.type("NOTE 1234")
    try window.press("Enter")
    try window.wait { $0.contains { $0.hasPrefix("> 1234") } }
    try window.press("Enter")
    try window.wait { $0[0].hasPrefix("t 1234") && $0.contains { $0.contains("kind 1") } }
    try window.press("Escape")
    try window.wait { $0[22].hasSuffix("row 1,234 of 3,000") }
    try window.press("?")
    try window.wait { $0[0].hasPrefix("Keys") }
    try window.press("Escape")

    // The window changes its size.
    try window.call("resize-window", "-t", "w", "-x", "100", "-y", "30")
    try window.wait { $0.count >= 30 && $0[28].hasSuffix("row 1,234 of 3,000") }
    try window.call("resize-window", "-t", "w", "-x", "80", "-y", "24")
    try window.wait { $0[22].hasSuffix("row 1,234 of 3,000") }

    try window.press("q")
    let lines = try window.wait { $0.contains("status 0") }
    #expect(!lines.contains { $0.contains("row 1,234") }, "the alternate screen stayed")
    #expect(try window.modes() == modes)
    #expect(treeState(of: folder.url) == before)
  }

  @Test(arguments: [("C-c", "130"), ("kill", "143")])
  func aSignalLeavesTheTerminalAsItWas(_ key: String, _ status: String) throws {
    guard let window = Window() else { return }
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = try Self.store(folder, 10)
    try window.start()
    let modes = try window.modes()
    let script = "echo $$ > \(folder.url.path)/pid; exec \(program) browse \(store)"
    try window.type("sh -c '\(script)'")
    try window.press("Enter")
    try window.wait { $0[0].hasPrefix("Entities and tables") && $0[1].hasSuffix("10 rows") }
    if key == "kill" {
      let text = try String(contentsOf: folder.url.appendingPathComponent("pid"), encoding: .utf8)
      kill(try #require(pid_t(text.trimmingCharacters(in: .newlines))), SIGTERM)
    } else {
      try window.press(key)
    }
    try window.wait { $0.last { !$0.isEmpty } == "ready>" }
    try window.type("echo status $?")
    try window.press("Enter")
    try window.wait { $0.contains("status \(status)") }
    #expect(try window.modes() == modes)
  }

  @Test func itIsStoppedAndGoesOn() throws {
    guard let window = Window() else { return }
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = try Self.store(folder, 10)
    try window.start()
    try window.type("\(program) browse \(store)")
    try window.press("Enter")
    try window.wait { $0[0].hasPrefix("Entities and tables") && $0[1].hasSuffix("10 rows") }
    try window.press("C-z")
    try window.wait { $0.last { !$0.isEmpty } == "ready>" }
    try window.type("fg")
    try window.press("Enter")
    try window.wait { $0[0].hasPrefix("Entities and tables") && $0[1].hasSuffix("10 rows") }
    try window.press("q")
    try window.wait { $0.last { !$0.isEmpty } == "ready>" }
  }

  @Test func linesAndAPromptNeedNoTerminal() throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(folder)
    let program = try #require(Program.path)
    let commands = "1\nf note 300\n1\nb\nb\n9\n-9223372036854775808\nnonsense\nq\n"
    let result = try run(program, ["browse", "--linear", store], stdin: Data(commands.utf8))
    let text = String(decoding: result.stdout, as: UTF8.self)
    #expect(result.status == 0, "\(String(decoding: result.stderr, as: UTF8.self))")
    #expect(text.contains("1. t: 3,000 rows\n"))
    #expect(text.contains("2. key 2; id: 2; kind: kind 2; note: \\u{1B}[2J\\u{1B}]0;title\\u{7}\n"))
    #expect(text.contains("rows 1 to 20 of 3,000\n"))
    #expect(text.contains("rows 1 to 2 of 2\n") && text.contains("2. key 3000; "))
    #expect(text.contains("1. id: 300\n"))
    #expect(text.contains("there is no line 9\n") && text.contains("nonsense is not a command"))
    #expect(!text.contains("\u{1B}"))
    // The end of the input is the end, too.
    #expect(try run(program, ["browse", "--linear", store]).status == 0)
  }

  @Test func withoutATerminalRowsArePrinted() throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(folder, 5)
    let rows = try Program.run("rows", store)
    let browsed = try Program.run("browse", store)
    #expect(browsed.status == 0 && browsed.text == rows.text && rows.text.contains("note 5"))
    #expect(browsed.errors.contains("note: there is no terminal to browse on"))
    let json = try Program.run("browse", "--json", "-q", store)
    #expect(try json.json() == Program.run("rows", "--json", store).json())
    let missing = try Program.run("browse", store + "x")
    #expect(missing.status == 66 && missing.errors.contains("(file.missing)"))
  }
}
