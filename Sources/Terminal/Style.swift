/// When output is coloured: the values of `--color`.
package enum ColorChoice: String, Sendable, CaseIterable {
  /// On a terminal that supports colour, unless `NO_COLOR` is set.
  case auto
  /// Always, even into a pipe and when `NO_COLOR` is set.
  case always
  /// Never.
  case never
}

/// How text looks on one stream: with SGR sequences (ECMA-48, 8.3.117) or without.
package struct Style: Sendable, Equatable {
  /// How a text looks. Colour only repeats what the words say.
  package enum Tone: Int, Sendable, CaseIterable {
    /// Bold.
    case bold = 1
    /// Faint.
    case dim = 2
    /// For damage and errors.
    case red = 31
    /// For good results.
    case green = 32
    /// For warnings.
    case yellow = 33
  }

  /// Whether `apply` does anything.
  package let isColored: Bool

  /// A style without colour.
  package static let plain = Style(isColored: false)

  /// A style with or without colour.
  package init(isColored: Bool) {
    self.isColored = isColored
  }

  /// The style for a stream. Each stream has its own.
  ///
  /// - Parameters:
  ///   - choice: what the user asked for.
  ///   - descriptor: the stream, 1 for standard output and 2 for standard error.
  package init(_ choice: ColorChoice, descriptor: Int32) {
    self.init(
      choice, isTerminal: System.isTerminal(descriptor),
      noColor: System.environment("NO_COLOR"), term: System.environment("TERM"))
  }

  /// The style that follows from these facts.
  ///
  /// - Parameters:
  ///   - choice: what the user asked for.
  ///   - isTerminal: whether the stream is a terminal.
  ///   - noColor: the variable `NO_COLOR`; nil or empty means colour.
  ///   - term: the variable `TERM`; nil and `dumb` mean none.
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

  /// `text` in this tone, or as it is. Tones do not nest. The text is not made visible here.
  package func apply(_ text: String, _ tone: Tone) -> String {
    guard isColored, !text.isEmpty else { return text }
    return "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m"
  }
}
