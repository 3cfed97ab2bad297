/// A fetch index of an entity (iOS 11).
public struct FetchIndex: Sendable, Hashable {
  /// One column of the index.
  public struct Element: Sendable, Hashable {
    /// How the column is indexed (`NSFetchIndexElementType`).
    public enum Kind: Int32, Sendable, Hashable, Codable {
      /// An ordinary b-tree.
      case binary = 0
      /// An R-tree, for ranges of numbers.
      case rTree = 1
    }

    /// The indexed property.
    public var propertyName: String
    /// Whether ascending.
    public var isAscending: Bool
    /// How it is indexed.
    public var kind: Kind

    /// Makes one column of an index.
    public init(propertyName: String, isAscending: Bool = true, kind: Kind = .binary) {
      self.propertyName = propertyName
      self.isAscending = isAscending
      self.kind = kind
    }
  }

  /// The index's name.
  public var name: String
  /// The columns, in order.
  public var elements: [Element]
  /// The predicate of a partial index as text; nil for a full one.
  public var partialPredicate: String?

  /// Makes an index.
  public init(name: String, elements: [Element], partialPredicate: String? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }
}
