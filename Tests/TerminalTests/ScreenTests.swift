import Foundation
import Testing

@testable import Terminal

@Suite struct ScreenTests {
  @Test func textIsPutAndCut() {
    var screen = Screen(rows: 3, columns: 10)
    #expect(screen.put("title", 0, 0) == 5)
    screen.put("a long line of text", 1, 0)
    screen.put("abcdef", 2, 2, width: 4)
    #expect(screen.lines == ["title", "a long li…", "  abc…"])
  }

  @Test func whatIsOutsideIsNotPut() {
    var screen = Screen(rows: 2, columns: 4)
    for place in [(-1, 0), (2, 0), (0, 4), (0, -1)] { screen.put("x", place.0, place.1) }
    screen.put("", 0, 0)
    screen.put("x", 0, 0, width: 0)
    screen.paint(7, .reversed)
    #expect(screen.lines == ["", ""])
  }

  @Test func wideAndCombiningCharactersKeepTheirColumns() {
    var screen = Screen(rows: 3, columns: 6)
    #expect(screen.put("日本", 0, 0) == 4)
    screen.put("|", 0, 5)
    #expect(screen.put("e\u{301}x", 1, 0) == 2)
    screen.put("日本語x", 2, 0)
    #expect(screen.lines == ["日本 |", "e\u{301}x", "日本…"])
  }

  @Test func aSizeIsBounded() {
    let none = Screen(rows: 0, columns: -3)
    #expect(none.rows == 1 && none.columns == 1)
    let huge = Screen(rows: .max, columns: .max)
    #expect(huge.rows == 300 && huge.columns == 500)
  }

  @Test func nothingThatATerminalObeysIsSent() {
    let hostile = "a\u{1B}[2Jb\u{9B}31mc\u{202E}d\u{7}e\nf\u{85}\u{2066}"
    var screen = Screen(rows: 2, columns: 80)
    screen.put(hostile, 0, 0)
    let sent = screen.update(from: Screen(rows: 2, columns: 80), isColored: true)
    let own = sent.replacingOccurrences(of: "\u{1B}[", with: "")
    let obeyed = own.unicodeScalars.filter {
      $0.value < 0x20 || (0x7F...0x9F).contains($0.value) || (0x2028...0x202E).contains($0.value)
        || (0x2066...0x2069).contains($0.value)
    }
    #expect(obeyed.isEmpty, "\(obeyed)")
    #expect(sent.contains("a\\u{1B}[2Jb"))
    // Its own sequences: hide the cursor, go to the line, plain, erase the rest.
    #expect(sent.hasPrefix("\u{1B}[?25l\u{1B}[1;1H\u{1B}[0ma"))
  }

  @Test func onlyLinesThatDifferAreSent() {
    var first = Screen(rows: 3, columns: 20)
    for row in 0..<3 { first.put("line \(row)", row, 0) }
    var second = first
    second.put("other", 1, 0)
    let sent = second.update(from: first, isColored: false)
    #expect(sent == "\u{1B}[?25l\u{1B}[2;1H\u{1B}[0mother1\u{1B}[K")
    #expect(second.update(from: second, isColored: false) == "\u{1B}[?25l")
    // A window of another size is drawn as a whole.
    #expect(
      second.update(from: Screen(rows: 2, columns: 20), isColored: false).contains("\u{1B}[2J"))
  }

  @Test func toneIsNotSentWithoutColour() {
    var screen = Screen(rows: 1, columns: 8)
    screen.put("red", 0, 0, Screen.Look(.red))
    screen.put("x", 0, 4, .reversed)
    #expect(screen.update(from: nil, isColored: true).contains("\u{1B}[0;31m"))
    let plain = screen.update(from: nil, isColored: false)
    #expect(!plain.contains("31m") && plain.contains("\u{1B}[0;7m"))
  }

  @Test func theCursorIsWhereItIsWanted() {
    var screen = Screen(rows: 4, columns: 8)
    #expect(screen.update(from: screen, isColored: false).hasSuffix("\u{1B}[?25l"))
    screen.cursor = .init(row: 2, column: 3)
    #expect(screen.update(from: screen, isColored: false).hasSuffix("\u{1B}[3;4H\u{1B}[?25h"))
  }
}
