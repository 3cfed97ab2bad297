extension ModelExpression {
  /// The number of expressions in the tree, this one included. Expressions inside predicates do not count.
  package var partCount: Int {
    children.expressions.reduce(1) { $0 + $1.partCount }
  }
}

extension ArchivedValue {
  /// The number of values in this value, nested ones and itself included.
  package var count: Int {
    switch self {
    case .array(let values), .set(let values): values.reduce(1) { $0 + $1.count }
    case .dictionary(let entries): entries.reduce(1) { $0 + $1.key.count + $1.value.count }
    case .object(let object): object.fields.values.reduce(1) { $0 + $1.count }
    default: 1
    }
  }

  /// The integer of an ``integer(_:)``; nil for any other kind.
  package var integerValue: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }
}

extension PropertyList {
  /// The number of values in this value, nested ones and itself included. A shared value counts each time it occurs.
  package var valueCount: Int {
    switch self {
    case .array(let values), .set(let values): values.reduce(1) { $0 + $1.valueCount }
    case .dictionary(let entries): entries.values.reduce(1) { $0 + $1.valueCount }
    default: 1
    }
  }
}

extension KeyedArchive {
  /// The number of values in all objects together.
  package var valueCount: Int { objects.reduce(0) { $0 + $1.valueCount } }
}
