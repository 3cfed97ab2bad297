import SafeText
import Testing

@testable import Terminal

@Suite struct DisplayTextTests {
  @Test(
    arguments: [
      ("plain", "plain"), ("", ""), ("a\nb\r\tc", "a\\nb\\r\\tc"),
      ("\u{1B}[31mred", "\\u{1B}[31mred"), ("safe\u{202E}fdp.exe", "safe\\u{202E}fdp.exe"),
      ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"), ("\u{9B}2J", "\\u{9B}2J"),
      ("a\u{200B}b\u{FEFF}", "a\\u{200B}b\\u{FEFF}"), ("\u{2028}", "\\u{2028}"),
      ("\u{E0041}", "\\u{E0041}"), ("\u{0}", "\\u{0}"), ("\u{7F}", "\\u{7F}"),
      ("\u{FFFE}", "\\u{FFFE}"), ("a\u{FFF9}", "a\\u{FFF9}"),
      ("soft\u{AD}hyphen", "soft\\u{AD}hyphen"),
      ("Zoë 日本 👩‍👩‍👧 🇨🇭 ❤️ می‌خواهم", "Zoë 日本 👩‍👩‍👧 🇨🇭 ❤️ می‌خواهم"), ("\r\n", "\\r\\n"),
    ])
  func everythingHiddenBecomesVisible(_ text: String, _ expected: String) {
    #expect(Array(VisibleText.visible(text).unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test func noScalarThatTheTerminalObeysSurvives() {
    for value in [0...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069, 0xE0000...0xE007F]
      .joined()
    {
      guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
      let shown = VisibleText.visible("a\(Character(scalar))b")
      #expect(!shown.unicodeScalars.contains(scalar), "U+\(String(value, radix: 16))")
    }
  }

  @Test func stackedAccentsAreEscapedAfterSixteenScalars() {
    let text = "e" + String(repeating: "\u{301}", count: 1000)
    let shown = VisibleText.visible(text)
    #expect(shown.unicodeScalars.filter { $0 == "\u{301}" }.count == 15)
    #expect(shown.hasSuffix("\\u{301}"))
  }

  @Test(
    arguments: [
      ("abc", 3), ("", 0), ("日本語", 6), ("e\u{301}", 1), ("é", 1), ("👍", 2), ("👩‍👩‍👧‍👦", 2),
      ("🇨🇭", 2), ("❤️", 2), ("❤", 1), ("한국", 4), ("\u{1112}\u{1161}\u{11AB}", 2), ("ｶﾅ", 2),
      ("Ａ", 2), ("👍🏽", 2), ("Привет", 6), ("1️⃣", 2), ("…─", 2), ("𠀀", 2), ("اَ", 1), ("\u{1F320}", 2),
    ])
  func widthInColumns(_ text: String, _ columns: Int) {
    #expect(DisplayWidth.columns(of: text) == columns)
  }

  @Test(
    arguments: [
      ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 1, "…"), ("abcdef", 0, ""),
      ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("日本語", 2, "…"), ("a", 1, "a"),
    ])
  func truncation(_ text: String, _ columns: Int, _ expected: String) {
    let result = DisplayText.truncated(text, to: columns)
    #expect(result == expected)
    #expect(DisplayWidth.columns(of: result) <= columns)
  }

  @Test(
    arguments: [
      ("one two three", 7, ["one two", "three"]), ("", 5, [""]),
      ("abcdefgh", 3, ["abc", "def", "gh"]),
      ("a bbbbbb c", 4, ["a", "bbbb", "bb c"]), ("日本 語", 3, ["日", "本", "語"]),
      ("short", 20, ["short"]), ("in /a/long/path here", 6, ["in", "/a/long/path", "here"]),
      ("a/b c", 3, ["a/b", "c"]), ("one  two", 4, ["one", "two"]), ("日本 ", 20, ["日本"]),
      (" ", 5, [""]), ("a  b", 4, ["a  b"]),
    ])
  func wrapping(_ text: String, _ columns: Int, _ expected: [String]) {
    #expect(DisplayText.wrapped(text, to: columns) == expected)
  }
}
