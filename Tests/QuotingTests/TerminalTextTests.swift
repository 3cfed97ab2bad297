import Foundation
import Quoting
import SafeText
import Testing

/// Data for a terminal.
@Suite struct TerminalTextTests {
  @Test(
    arguments: [
      ("{\"a\":\"\u{9B}31m\"}\n", "{\"a\":\"\\u009b31m\"}\n"),
      ("\u{202E}x\u{2066}", "\\u202ex\\u2066"), ("\u{E0041}", "\\udb40\\udc41"),
      ("\u{1B}[2J", "\\u001b[2J"), ("a\r\nb\rc\r", "a\r\nb\\u000dc\\u000d"),
      ("\u{7F}\u{85}\u{200E}\u{61C}\u{2028}\u{FEFF}", "\\u007f\\u0085\\u200e\\u061c\\u2028\\ufeff"),
      ("Größe 日本 👩\u{200D}🚀\t", "Größe 日本 👩\u{200D}🚀\t"),
    ])
  func whatATerminalObeysIsEscaped(_ text: String, _ expected: String) {
    #expect(Array(TerminalText.escaped(text).utf8) == Array(expected.utf8))
    // However the bytes are cut the result is the same.
    let bytes = Array(text.utf8)
    for size in 1...5 {
      var terminal = TerminalText()
      var result: [UInt8] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        result += terminal.escaped(bytes[start..<min(start + size, bytes.count)], isEnd: false)
      }
      result += terminal.escaped([], isEnd: true)
      #expect(result == Array(expected.utf8), "\(size)")
    }
  }

  @Test func theSameJSON() throws {
    let text = "\u{9B}\u{202E}\u{E0041}\u{85}\u{10FFFF}a\u{301}"
    let data = try JSONEncoder().encode([text])
    let escaped = TerminalText.escaped(String(decoding: data, as: UTF8.self))
    #expect(try JSONDecoder().decode([String].self, from: Data(escaped.utf8)) == [text])
    #expect(!escaped.unicodeScalars.contains(where: VisibleText.isHidden))
  }

  @Test func bytesThatAreNoText() {
    var terminal = TerminalText()
    let bytes: [UInt8] = [0x9b, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf5, 0x61, 0xe2, 0x80]
    #expect(
      String(decoding: terminal.escaped(bytes, isEnd: true), as: UTF8.self)
        == "\\x9b\\xc0\\x80\\xed\\xa0\\x80\\xf5a\\xe2\\x80")
  }
}
