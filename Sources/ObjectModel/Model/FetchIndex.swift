/// A fetch index of an entity (iOS 11).
package struct FetchIndex: Sendable, Hashable {
  /// One column of the index.
  package struct Element: Sendable, Hashable {
    /// How the column is indexed (`NSFetchIndexElementType`).
    package enum Kind: Int32, Sendable, Hashable, Codable {
      /// An ordinary b-tree.
      case binary = 0
      /// An R-tree, for ranges of numbers.
      case rTree = 1
    }

    /// The indexed property; empty when the column is an expression.
    package var propertyName: String
    /// The indexed expression; nil when the column is a property.
    package var expression: ModelExpression?
    /// The type of the expression's values; undefined when the column is a property.
    package var expressionType: AttributeType
    /// Whether ascending.
    package var isAscending: Bool
    /// How it is indexed.
    package var kind: Kind

    /// Makes one column of an index.
    package init(propertyName: String, isAscending: Bool = true, kind: Kind = .binary) {
      self.propertyName = propertyName
      expressionType = .undefined
      self.isAscending = isAscending
      self.kind = kind
    }

    /// Makes one column of an index that holds an expression's values.
    package init(
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
    package var text: String { expression?.text ?? propertyName }
  }

  /// The index's name.
  package var name: String
  /// The columns, in order.
  package var elements: [Element]
  /// The predicate of a partial index; nil for a full one.
  package var partialPredicate: ModelPredicate?

  /// Makes an index.
  package init(name: String, elements: [Element], partialPredicate: ModelPredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }
}
