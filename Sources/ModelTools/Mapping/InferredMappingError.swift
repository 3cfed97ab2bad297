import ObjectModel

/// The error that is thrown if no mapping can be inferred between two versions of a model.
package struct InferredMappingError: Error, Sendable, Hashable {
  /// The stable code of this error. Core Data itself has other codes for a change that lightweight migration cannot do:
  /// `NSInferredMappingModelError` (134190), or `NSMigrationMissingMappingModelError` (134140) without an underlying
  /// error.
  package static let code = "mapping.notInferable"

  /// Every change that prevents the mapping. The reason is in the ``ModelChange/verdict`` of the change.
  package let changes: [ModelChange]

  package var message: String {
    let reasons = changes.map { change in
      change.summary + (change.verdict.reason.map { ": \($0)" } ?? "")
    }
    return "No mapping can be inferred: \(reasons.joined(separator: "; "))."
  }
}

extension InferredMappingError: CustomStringConvertible {
  package var description: String { "\(message) [\(Self.code)]" }
}
