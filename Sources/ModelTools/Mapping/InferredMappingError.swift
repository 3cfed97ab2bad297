import ObjectModel

/// The error when no mapping can be inferred between two versions of a model.
package struct InferredMappingError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `mapping.notInferable`. Later versions may add codes.
  package struct Code: RawRepresentable, Sendable, Hashable {
    /// The stable text of the code.
    package let rawValue: String

    /// Makes a code from its stable text.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Lightweight migration cannot do some of the changes. Core Data itself reports error 134190 for this, or 134140
    /// without an underlying error.
    package static let notInferable = Code(rawValue: "mapping.notInferable")
  }

  /// What went wrong, as a stable code.
  package let code: Code
  /// Every change that prevents the mapping, each with its reason in ``ModelChange/verdict``.
  package let changes: [ModelChange]

  /// The error as one sentence for people, with all reasons.
  package var message: String {
    let reasons = changes.map { change in
      change.summary + (change.verdict.reason.map { ": \($0)" } ?? "")
    }
    return "No mapping can be inferred: \(reasons.joined(separator: "; "))."
  }
}

extension InferredMappingError: CustomStringConvertible {
  /// The message and the code in one line.
  package var description: String { "\(message) [\(code.rawValue)]" }
}
