/// When output is coloured: the values of `--color`.
package enum ColorChoice: String, Sendable, CaseIterable {
  /// Output is coloured on a terminal that supports colour, unless `NO_COLOR` is set.
  case auto
  /// Output is always coloured, even into a pipe and when `NO_COLOR` is set.
  case always
  case never
}

/// Whether text on one stream is coloured, with SGR sequences (ECMA-48, 8.3.117).
package struct Style: Sendable, Equatable {
  /// A colour or weight of text, by its SGR code. Colour never carries information that the text does not have.
  package enum Tone: Int, Sendable, CaseIterable {
    case bold = 1
    case dim = 2
    /// Red, for damage and errors.
    case red = 31
    /// Green, for good results.
    case green = 32
    /// Yellow, for warnings.
    case yellow = 33
  }

  package let isColored: Bool

  package static let plain = Style(isColored: false)

  package init(isColored: Bool) {
    self.isColored = isColored
  }

  /// The style for the stream `descriptor` of this process: 1 for standard output, 2 for standard error.
  package init(_ choice: ColorChoice, descriptor: Int32) {
    self.init(
      choice, isTerminal: System.isTerminal(descriptor),
      noColor: System.environment("NO_COLOR"), term: System.environment("TERM"))
  }

  /// The style that follows from the user's choice and the environment. `noColor` is the value of the variable
  /// `NO_COLOR`; colour is allowed only if `noColor` is nil or empty. `term` is the value of the variable `TERM`; a
  /// terminal is assumed to have no colour if `term` is nil or `dumb`.
  package init(_ choice: ColorChoice, isTerminal: Bool, noColor: String?, term: String?) {
    switch choice {
    case .always: isColored = true
    case .never: isColored = false
    case .auto:
      let isRefused = !(noColor ?? "").isEmpty
      let isDumb = (term ?? "dumb") == "dumb"
      isColored = isTerminal && !isRefused && !isDumb
    }
  }

  /// Returns `text` in this tone, or unchanged if the tone is nil or the style has no colour. Tones do not nest. Control
  /// characters in the text are not escaped here.
  package func apply(_ text: String, _ tone: Tone?) -> String {
    guard let tone, isColored, !text.isEmpty else { return text }
    return "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m"
  }
}
