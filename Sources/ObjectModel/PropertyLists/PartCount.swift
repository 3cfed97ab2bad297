extension ModelExpression {
  /// How many expressions the tree has, predicates' parts excepted.
  package var partCount: Int {
    children.expressions.reduce(1) { $0 + $1.partCount }
  }
}

extension ArchivedValue {
  /// How many values there are in all.
  package var count: Int {
    switch self {
    case .array(let values), .set(let values): values.reduce(1) { $0 + $1.count }
    case .dictionary(let entries): entries.reduce(1) { $0 + $1.key.count + $1.value.count }
    case .object(let object): object.fields.values.reduce(1) { $0 + $1.count }
    default: 1
    }
  }

  /// The integer; nil for any other kind.
  package var integerValue: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }
}

extension PropertyList {
  /// How many values there are in all, shared ones as often as they stand.
  package var valueCount: Int {
    switch self {
    case .array(let values), .set(let values): values.reduce(1) { $0 + $1.valueCount }
    case .dictionary(let entries): entries.values.reduce(1) { $0 + $1.valueCount }
    default: 1
    }
  }
}

extension KeyedArchive {
  /// How many values all its objects have.
  package var valueCount: Int { objects.reduce(0) { $0 + $1.valueCount } }
}
