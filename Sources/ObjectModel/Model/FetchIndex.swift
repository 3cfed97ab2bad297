/// A fetch index of an entity (iOS 11).
package struct FetchIndex: Sendable, Hashable {
  /// One column of the index.
  package struct Element: Sendable, Hashable {
    /// How the column is indexed (`NSFetchIndexElementType`).
    package enum Kind: Int32, Sendable, Hashable, Codable {
      /// The column is part of an ordinary b-tree index.
      case binary = 0
      /// The column is part of an R-tree, with which ranges of numbers are found.
      case rTree = 1
    }

    /// The name of the indexed property; empty if the column is an expression.
    package var propertyName: String
    /// The indexed expression; nil if the column is a property.
    package var expression: ModelExpression?
    /// The type of the values of ``expression``; ``AttributeType/undefined`` if the column is a property.
    package var expressionType: AttributeType
    package var isAscending: Bool
    package var kind: Kind

    package init(propertyName: String, isAscending: Bool = true, kind: Kind = .binary) {
      self.propertyName = propertyName
      expressionType = .undefined
      self.isAscending = isAscending
      self.kind = kind
    }

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

    package var text: String { expression?.text ?? propertyName }
  }

  package var name: String
  package var elements: [Element]
  /// The predicate that selects the rows of a partial index; nil if the index covers all rows.
  package var partialPredicate: ModelPredicate?

  package init(name: String, elements: [Element], partialPredicate: ModelPredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }
}
