/// How a merge treats objects that are in both of its stores. A merge combines the rows of an old store, which was set
/// aside, with the rows of the present store, which the app has used since then.
public struct MergePolicy: Sendable {
  /// What happens when an object of the old store and an object of the present store have the same values in a
  /// uniqueness constraint.
  public enum Duplicates: String, Sendable, CaseIterable, Codable {
    /// The present object stays unchanged. The values of the old object are not used.
    case keep
    /// Each attribute that has no value in the present object gets the old object's value.
    case fill
    /// Each attribute that has a value in the old object gets this value in the present object.
    case replace
  }

  /// What happens when an object of the old store and an object of the present store have the same values in a
  /// uniqueness constraint. The present object always keeps its to-one relationships, and the attributes of its
  /// uniqueness constraints.
  public var duplicates = Duplicates.keep
  /// Whether an old object and a present object with equal content are treated as the same object, too. Their content
  /// is equal if all attributes are equal and the to-one relationships lead to the same objects. Such objects count as
  /// the same only if each store has exactly one object with this content.
  public var matchesEqualContent = false

  /// Creates a policy that changes no present object, and adds every old object that does not break a uniqueness
  /// constraint.
  public init() {}
}
