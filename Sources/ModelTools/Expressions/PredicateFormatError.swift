/// The error that is thrown if a string is not an expression or predicate in Apple's predicate format.
package struct PredicateFormatError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `predicate.syntax`. Later versions of this library may add codes.
  package struct Code: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let syntax = Code(rawValue: "predicate.syntax")
    /// The text is too long, is nested too deeply or has too many parts.
    package static let tooComplex = Code(rawValue: "predicate.tooComplex")
  }

  package let code: Code
  package let message: String
  /// The position of the error, in UTF-8 bytes from the start of the text.
  package let offset: Int
}

extension PredicateFormatError: CustomStringConvertible {
  package var description: String { "offset \(offset): \(message) [\(code.rawValue)]" }
}
