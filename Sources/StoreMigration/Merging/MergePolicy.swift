/// How a merge treats objects that two stores have in common. A merge puts the rows of the old store, which was set
/// aside, among those of the present store, which the app has used since.
public struct MergePolicy: Sendable {
  /// What becomes of an object of the old store when the present store has one with the same unique values.
  public enum Duplicates: String, Sendable, CaseIterable, Codable {
    /// The present object stays as it is; the values of the old one are not used.
    case keep
    /// The present object gets the old value of each attribute that it has no value for.
    case fill
    /// The present object gets the old value of each attribute that the old object has a value for.
    case replace
  }

  /// What becomes of an object of the old store when the present store has one with the same unique values. The present
  /// object always keeps its to-one relationships, and the attributes that are part of a uniqueness constraint.
  public var duplicates = Duplicates.keep
  /// Whether an object of the old store is also recognised in the present store by its content: all attributes are
  /// equal, the to-one relationships lead to the same objects, and each store has only one such object.
  public var matchesEqualContent = false

  /// Creates a policy that adds every old object that breaks no uniqueness constraint, and changes no present object.
  public init() {}
}
