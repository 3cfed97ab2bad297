/// Why a text is not an expression or predicate of Apple's predicate format.
public struct PredicateFormatError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string; more may be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The stable text of the code.
    public let rawValue: String

    /// Makes a code from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The text does not follow the format.
    public static let syntax = Code(rawValue: "predicate.syntax")
    /// The text is longer, deeper or richer in parts than is read.
    public static let tooComplex = Code(rawValue: "predicate.tooComplex")
  }

  /// What went wrong.
  public let code: Code
  /// One sentence for a reader.
  public let message: String
  /// Where, in UTF-8 bytes from the start of the text.
  public let offset: Int

  /// Makes an error.
  public init(code: Code, message: String, offset: Int) {
    self.code = code
    self.message = message
    self.offset = offset
  }
}

extension PredicateFormatError: CustomStringConvertible {
  /// The place and the message in one line.
  public var description: String { "offset \(offset): \(message) [\(code.rawValue)]" }
}
