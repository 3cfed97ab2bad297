import Testing

@testable import Terminal

@Suite struct StyleTests {
  struct Case: Sendable {
    var choice: ColorChoice
    var isTerminal: Bool
    var noColor: String?
    var term: String?
    var expected: Bool
  }

  @Test(
    arguments: [
      Case(choice: .auto, isTerminal: true, noColor: nil, term: "xterm", expected: true),
      Case(choice: .auto, isTerminal: false, noColor: nil, term: "xterm", expected: false),
      Case(choice: .auto, isTerminal: true, noColor: "", term: "xterm", expected: true),
      Case(choice: .auto, isTerminal: true, noColor: "1", term: "xterm", expected: false),
      Case(choice: .auto, isTerminal: true, noColor: "0", term: "xterm", expected: false),
      Case(choice: .auto, isTerminal: true, noColor: nil, term: "dumb", expected: false),
      Case(choice: .auto, isTerminal: true, noColor: nil, term: nil, expected: false),
      Case(choice: .always, isTerminal: false, noColor: "1", term: "dumb", expected: true),
      Case(choice: .never, isTerminal: true, noColor: nil, term: "xterm", expected: false),
    ])
  func decision(_ item: Case) {
    let style = Style(
      item.choice, isTerminal: item.isTerminal, noColor: item.noColor, term: item.term)
    #expect(style.isColored == item.expected)
  }

  @Test(
    arguments: [(Style.Tone.bold, 1), (.dim, 2), (.red, 31), (.green, 32), (.yellow, 33)])
  func sequences(_ tone: Style.Tone, _ code: Int) {
    #expect(Style(isColored: true).apply("x", tone) == "\u{1B}[\(code)mx\u{1B}[0m")
    #expect(Style.plain.apply("x", tone) == "x")
    #expect(Style(isColored: true).apply("", tone) == "")
  }

  @Test(
    arguments: [
      (Int?.none, String?.none, 80), (120, nil, 120), (nil, "100", 100), (120, "100", 120),
      (0, "100", 100), (10, nil, 40), (10_000, nil, 400), (nil, "-5", 80), (nil, "wide", 80),
      (nil, "", 80), (nil, "99999999999999999999", 80), (Int.max, nil, 400),
    ])
  func width(_ window: Int?, _ variable: String?, _ expected: Int) {
    #expect(TerminalWidth.columns(window: window, variable: variable) == expected)
  }

  @Test func widthOfNoTerminalIsWithinBounds() {
    #expect(TerminalWidth.bounds.contains(TerminalWidth.columns(of: -1)))
  }
}
