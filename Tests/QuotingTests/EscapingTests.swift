import Foundation
import Quoting
import SafeText
import Testing

@Suite struct EscapingTests {
  static let words = [
    "plain", "", "with space", "it's", "a'\u{301};touch PWNED;'\u{301}.sqlite", "$(id)", "`id`",
    "\\", "a" + String(repeating: "\u{301}", count: 40),
    String(repeating: "\u{301}", count: 16) + "'",
    "tab\tand\nline", "\u{202E}gnp", "'\u{200B}\\", "-rf", "é\u{301}", "\u{1B}[2J7", "!x", "*?[",
  ]

  /// The shell itself says what a word means.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/bin/bash")), arguments: words)
  func aShellReadsTheWordBack(_ word: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", "printf '%s' " + ShellText.quoted(word)]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(Array(bytes) == Array(word.utf8))
  }

  /// What is printed is what is run: making a word visible changes nothing of it.
  @Test(arguments: words) func aWordIsVisibleAsItIs(_ word: String) {
    let quoted = ShellText.quoted(word)
    #expect(VisibleText.visible(quoted) == quoted)
  }

  @Test func aPathIsNoOption() {
    #expect(ShellText.path("-x.sqlite") == "./-x.sqlite")
    #expect(ShellText.path("- x") == "'./- x'")
    #expect(ShellText.path("a-x") == "a-x")
  }

  @Test(
    arguments: [
      ("a<b", "a&lt;b"), ("\"\u{301} x='\u{301}", "&quot;\u{301} x=&#39;\u{301}"),
      ("&\u{20D2}>", "&amp;\u{20D2}&gt;"),
    ])
  func html(_ text: String, _ expected: String) {
    #expect(Array(MarkupText.html(text).utf8) == Array(expected.utf8))
  }

  @Test func dot() {
    let text = "a\"\u{301} URL=\"x\\"
    #expect(Array(MarkupText.dot(text).utf8) == Array("a\\\"\u{301} URL=\\\"x\\\\".utf8))
  }

  @Test func mermaid() {
    #expect(MarkupText.mermaid("a\"b") == "a#34;b")
    #expect(MarkupText.mermaid("Größe 2") == "Größe 2")
  }

  @Test(
    arguments: [
      ("=1", true), ("+1", true), ("-1", true), ("@a", true), ("\t1", true), ("\r1", true),
      ("\n1", true), ("  =1", true), ("\u{A0}=1", true), ("\u{FEFF}=1", true),
      ("\u{3000}=1", true), ("\u{FF1D}1", true), ("\u{2212}1", true), ("=\u{301}1", true),
      ("\0=1", true), ("\u{B}=1", true), ("\u{C}=1", true), ("\u{1F}=1", true),
      ("\u{7F}=1", true), ("\u{2028}=1", true), ("\u{202E}=1", true), ("\u{301}=1", true),
      ("\u{85}\u{E0001}=1", true), (";=1", true), ("x;=1", true), ("x\t=1", true),
      ("x;\u{1F} \"=1", true), ("x\r\n+1", true), ("é;\u{2028}@a", true), ("x;;\t-", true),
      ("x;y=1", false), (";", false), ("x\ty\r\nz", false), ("x\t\t", false), ("\"=1", false),
      ("x,=1", false), ("\0a=1", false), ("\u{301}a=1", false), ("\u{1F600}=1", false),
      ("", false), ("a=1", false), (" ", false), ("1-2", false), ("é", false), ("\u{FF10}", false),
    ] as [(String, Bool)])
  func formulas(_ text: String, _ expected: Bool) {
    let bytes = Array(text.utf8)
    #expect(CSVText.isFormula(count: bytes.count) { bytes[$0] } == expected)
  }
}
