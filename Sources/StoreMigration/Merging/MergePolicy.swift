/// What becomes of objects that two stores have in common, when the rows of a store that was set aside are put among
/// those of the store that the app has used since.
public struct MergePolicy: Sendable {
  /// What becomes of an object of the old store when the present store has one with the same unique values.
  public enum Duplicates: String, Sendable, CaseIterable, Codable {
    /// The present object stays as it is.
    case keep
    /// The present object gets the old values of attributes that it has no value for.
    case fill
    /// The present object gets the old values.
    case replace
  }

  /// What becomes of an object of the old store when the present store has one with the same unique values. Attributes
  /// that are part of a uniqueness constraint stay, and so do relationships to one object.
  public var duplicates = Duplicates.keep
  /// Whether an object of the old store is also taken for one of the present store when all their attributes are equal,
  /// their relationships to one object lead to the same, and neither store has another such object.
  public var matchesEqualContent = false

  /// A policy that adds every object that breaks no uniqueness constraint, and changes nothing.
  public init() {}
}
