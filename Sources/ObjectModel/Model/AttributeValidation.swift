/// A rule for the values of an attribute: a predicate on the value (`SELF >= 0`, `length <= 50`), and the error that
/// Core Data reports if the predicate is false.
package struct AttributeValidation: Sendable, Hashable {
  package var predicate: ModelPredicate
  /// What Core Data reports if ``predicate`` is false: the number of a Cocoa error, or an error message.
  package var warning: ArchivedValue

  package init(predicate: ModelPredicate, warning: ArchivedValue) {
    self.predicate = predicate
    self.warning = warning
  }
}
