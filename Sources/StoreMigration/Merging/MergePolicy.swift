/// How a merge treats objects that are in both of its stores. A merge combines the rows of an old store, which was set
/// aside, with the rows of the present store, which the app has used since then.
public struct MergePolicy: Sendable {
  /// What happens when an object of the old store and an object of the present store have the same values in a
  /// uniqueness constraint.
  public enum Duplicates: String, Sendable, CaseIterable, Codable {
    /// The present object stays unchanged. The values of the old object are not used.
    case keep
    /// An attribute without a value in the present object gets the value of the old object.
    case fill
    /// Each attribute that has a value in the old object gets this value in the present object.
    case replace
  }

  /// What happens to the attributes of a present object when an object of the old store has the same values in a
  /// uniqueness constraint. The present object always keeps its to-one relationships, and the attributes in its
  /// uniqueness constraints.
  public var duplicates = Duplicates.keep
  /// Whether an object of the old store and an object of the present store count as the same object if their content is
  /// equal. The content is equal if all attributes are equal and the to-one relationships lead to the same objects.
  /// Each store must have exactly one object with this content.
  public var matchesEqualContent = false

  /// Creates the default policy. Objects of the present store stay unchanged. Each object of the old store is added
  /// unless it breaks a uniqueness constraint.
  public init() {}
}
