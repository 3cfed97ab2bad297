/// Expressions and user info of mapping models, out of archives.
enum MappingExpression {
  /// The tree of an archived `NSExpression`; nil for nil.
  static func read(_ value: PropertyList?, in archive: KeyedArchive) -> Expression? {
    Expression(archived: value, in: archive)
  }

  /// The entries of an archived dictionary whose keys are text.
  static func userInfo(
    _ value: PropertyList?, in archive: KeyedArchive
  ) -> [String: ArchivedValue] {
    var found: [String: ArchivedValue] = [:]
    for entry in archive.namedEntries(value) ?? [] {
      found[entry.name] = archive.decoded(entry.value)
    }
    return found
  }
}

extension Expression {
  /// How many expressions the tree has, predicates' parts excepted.
  var partCount: Int {
    children.expressions.reduce(1) { $0 + $1.partCount }
  }
}

extension ArchivedValue {
  /// How many values there are in all.
  var count: Int {
    switch self {
    case .array(let values), .set(let values): values.reduce(1) { $0 + $1.count }
    case .dictionary(let entries): entries.reduce(1) { $0 + $1.key.count + $1.value.count }
    case .object(let object): object.fields.values.reduce(1) { $0 + $1.count }
    default: 1
    }
  }

  /// The integer; nil for any other kind.
  var integerValue: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }
}
