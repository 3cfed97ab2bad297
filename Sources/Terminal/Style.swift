/// When output is coloured: the values of `--color`.
package enum ColorChoice: String, Sendable, CaseIterable {
  /// Output is coloured on a terminal that supports colour, unless `NO_COLOR` is set.
  case auto
  /// Output is always coloured, even into a pipe and when `NO_COLOR` is set.
  case always
  /// Output is never coloured.
  case never
}

/// Whether text on one stream is coloured, with SGR sequences (ECMA-48, 8.3.117).
package struct Style: Sendable, Equatable {
  /// A colour or weight of text, by its SGR code. Colour only repeats what the words say.
  package enum Tone: Int, Sendable, CaseIterable {
    /// Bold text.
    case bold = 1
    /// Faint text.
    case dim = 2
    /// Red, for damage and errors.
    case red = 31
    /// Green, for good results.
    case green = 32
    /// Yellow, for warnings.
    case yellow = 33
  }

  /// Whether ``apply(_:_:)`` adds SGR sequences.
  package let isColored: Bool

  /// A style without colour.
  package static let plain = Style(isColored: false)

  /// A style with or without colour.
  package init(isColored: Bool) {
    self.isColored = isColored
  }

  /// The style for one stream of this process: standard output and standard error may have different styles.
  ///
  /// - Parameters:
  ///   - choice: what the user asked for.
  ///   - descriptor: the stream, 1 for standard output and 2 for standard error.
  package init(_ choice: ColorChoice, descriptor: Int32) {
    self.init(
      choice, isTerminal: System.isTerminal(descriptor),
      noColor: System.environment("NO_COLOR"), term: System.environment("TERM"))
  }

  /// The style that follows from the user's choice and the environment.
  ///
  /// - Parameters:
  ///   - choice: what the user asked for.
  ///   - isTerminal: whether the stream is a terminal.
  ///   - noColor: the variable `NO_COLOR`. If it is nil or empty, colour is allowed.
  ///   - term: the variable `TERM`. If it is nil or `dumb`, the terminal has no colour.
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

  /// Returns `text` in this tone, or unchanged if the style has no colour. Tones do not nest. Control characters in the
  /// text are not escaped here.
  package func apply(_ text: String, _ tone: Tone) -> String {
    guard isColored, !text.isEmpty else { return text }
    return "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m"
  }
}
