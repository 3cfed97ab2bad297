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

    /// The indexed property; empty when the column is an expression.
    public var propertyName: String
    /// The indexed expression; nil when the column is a property.
    public var expression: ModelExpression?
    /// The type of the expression's values; undefined when the column is a property.
    public var expressionType: AttributeType
    /// Whether ascending.
    public var isAscending: Bool
    /// How it is indexed.
    public var kind: Kind

    /// Makes one column of an index.
    public init(propertyName: String, isAscending: Bool = true, kind: Kind = .binary) {
      self.propertyName = propertyName
      expressionType = .undefined
      self.isAscending = isAscending
      self.kind = kind
    }

    /// Makes one column of an index that holds an expression's values.
    public init(
      expression: ModelExpression, type: AttributeType = .undefined, isAscending: Bool = true,
      kind: Kind = .binary
    ) {
      propertyName = ""
      self.expression = expression
      expressionType = type
      self.isAscending = isAscending
      self.kind = kind
    }

    /// The property, or the expression as text.
    public var text: String { expression?.text ?? propertyName }
  }

  /// The index's name.
  public var name: String
  /// The columns, in order.
  public var elements: [Element]
  /// The predicate of a partial index; nil for a full one.
  public var partialPredicate: ModelPredicate?

  /// Makes an index.
  public init(name: String, elements: [Element], partialPredicate: ModelPredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }
}
