import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile

/// A key path that starts at an old row, follows to-one relationships, and ends at a column of another old row.
struct KeyPath {
  /// The index of the column with which the path starts. In the first row of the path, this column holds the key of the
  /// row to which the first step leads.
  let first: Int
  /// The steps of the path. Each step names a staged table (``StagedTable``) and the column that is read from it. The
  /// column of the last step holds the value at the end of the path. The column of any other step holds the key of the
  /// row in the next table.
  let hops: [(table: String, column: String)]
  /// The attribute at the end of the path; nil when the path ends with a relationship.
  let attribute: Attribute?
  let relationship: Relationship?

  /// Returns the keys of a key path, in order.
  static func keys(of path: String) -> [String] {
    path.utf8.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
  }

  func sql(_ row: inout RowSQL) -> String {
    var key = row.parameter(first)
    for hop in hops { key = "(SELECT \(hop.column) FROM \(hop.table) WHERE pk = \(key))" }
    return key
  }
}

// Translates the values and conditions of mapping models to SQL.
extension CopyCompiler {
  /// Resolves a key path that starts at an old entity. Returns nil in three cases: the path does not have two to nine
  /// keys, a key before the last one is not a to-one relationship, or the old store has no column for one of the keys.
  mutating func keyPath(_ path: String, of entity: String) -> KeyPath? {
    let keys = KeyPath.keys(of: path)
    guard keys.count > 1, keys.count < 10 else { return nil }
    var holder = entity
    var first: Int?
    var hops: [(table: String, column: String)] = []
    for key in keys.dropLast() {
      guard let relationship = source.relationship(key, of: holder), !relationship.isToMany,
        let column = source.column(of: holder, where: { $0 == .toOne(relationship) })
      else { return nil }
      if first == nil {
        first = column
      } else {
        guard let hop = staged(column, of: holder) else { return nil }
        hops.append(hop)
      }
      holder = relationship.destinationEntityName
    }
    let last = keys[keys.count - 1]
    let relationship = source.relationship(last, of: holder)
    let attribute = sourceAttribute(last, of: holder)
    let column = source.column(of: holder) { role in
      switch role {
      case .attribute(let found): found.name == last
      case .toOne(let found): found == relationship
      default: false
      }
    }
    guard let first, let column, let hop = staged(column, of: holder) else { return nil }
    return KeyPath(
      first: first, hops: hops + [hop], attribute: attribute,
      relationship: attribute == nil ? relationship : nil)
  }

  /// Adds a column of an entity's old table to a helper table (``StagedTable``), in which the column's values can be
  /// looked up by primary key while other rows are made. Returns the quoted name of the helper table, and the name of
  /// the column in the helper table. Returns nil when the old store has no table for the entity.
  private mutating func staged(_ column: Int, of entity: String) -> (table: String, column: String)?
  {
    guard let place = source.layout.table(of: entity),
      let (name, definition) = source.table(named: place.name),
      let keyColumn = source.column("Z_PK", in: name),
      let quoted = try? SQLText.quoted("lifeboat_" + name)
    else { return nil }
    var table =
      plan.staged[name]
      ?? StagedTable(
        table: name, definition: definition, keyColumn: keyColumn, name: quoted,
        rules: rules(of: place))
    let index =
      table.columns.firstIndex(of: column)
      ?? {
        table.columns.append(column)
        return table.columns.count - 1
      }()
    plan.staged[name] = table
    return (quoted, "c\(index)")
  }

  /// Returns an SQL expression for the value of `expression` in a row of the old entity `from`; nil when `expression`
  /// is not supported.
  mutating func sql(_ expression: ModelExpression, _ from: String, _ row: inout RowSQL) -> String? {
    switch expression {
    case .constant(let constant): return SQLText.literal(constant)
    case .keyPath(let path, of: .variable("source")), .keyPath(let path, of: .evaluatedObject):
      return attribute(at: path, of: from, &row)?.sql
    case .function(nil, let selector, let arguments):
      guard !calculatesWithOthers(expression, from) else { return nil }
      var parts: [String] = []
      for argument in arguments {
        guard let part = sql(argument, from, &row) else { return nil }
        parts.append(part)
      }
      return SQLText.call(selector, parts)
    case .ternary(let predicate, let one, let other):
      guard let condition = condition(predicate, from, &row), let one = sql(one, from, &row),
        let other = sql(other, from, &row)
      else { return nil }
      return "CASE WHEN \(condition) THEN \(one) ELSE \(other) END"
    default: return nil
    }
  }

  /// Returns the kinds of values that `expression` can give (``SQLText/Kind``); empty when `expression` is not
  /// supported.
  func kinds(of expression: ModelExpression, _ from: String) -> Set<SQLText.Kind> {
    switch expression {
    case .constant(let constant): return Set([SQLText.kind(of: constant)].compactMap { $0 })
    case .keyPath(let path, of: .variable("source")), .keyPath(let path, of: .evaluatedObject):
      guard let attribute = attribute(atEndOf: path, of: from) else { return [] }
      return Set([SQLText.kind(of: attribute.type)].compactMap { $0 })
    case .function(nil, "now", _): return [.date]
    case .function(nil, _, _): return [.number]
    case .ternary(_, let one, let other): return kinds(of: one, from).union(kinds(of: other, from))
    default: return []
    }
  }

  /// Whether `attribute` can store the values of `expression`. Some values must be able to have the kind that the
  /// attribute needs (``SQLText/Kind``). No value may have a different kind that SQLite stores in the same way, such as
  /// a date where a number is needed. Values of all other kinds become NULL when rows are copied
  /// (``SQLText/computed(_:for:)``).
  func fits(_ expression: ModelExpression, _ attribute: Attribute, _ from: String) -> Bool {
    guard let wanted = SQLText.kind(of: attribute.type) else { return true }
    let kinds = kinds(of: expression, from).subtracting([.null])
    let lookalike: SQLText.Kind? =
      switch wanted {
      case .number: .date
      case .date: .number
      case .uuid: .bytes
      case .bytes: .uuid
      case .text, .null: nil
      }
    return kinds.isEmpty
      || kinds.contains(wanted) && !(lookalike.map { kinds.contains($0) } ?? false)
  }

  /// Whether an arithmetic function in `expression` has an argument that can be something else than a number or NULL.
  /// Foundation defines arithmetic only for numbers (NSExpression.h), whereas SQLite converts a string to the number at
  /// its beginning.
  func calculatesWithOthers(_ expression: ModelExpression, _ from: String) -> Bool {
    switch expression {
    case .function(nil, let selector, let arguments):
      return arguments.contains { argument in
        SQLText.isArithmetic(selector)
          && !kinds(of: argument, from).isSubset(of: [.number, .null])
          || calculatesWithOthers(argument, from)
      }
    case .ternary(_, let one, let other):
      return calculatesWithOthers(one, from) || calculatesWithOthers(other, from)
    default: return false
    }
  }

  /// Returns the attribute at the end of the key path `path`, which starts at the old entity `entity`; nil when `path`
  /// does not end with an attribute.
  private func attribute(atEndOf path: String, of entity: String) -> Attribute? {
    if let attribute = sourceAttribute(path, of: entity) { return attribute }
    let keys = KeyPath.keys(of: path)
    var holder = entity
    for key in keys.dropLast() {
      guard let relationship = source.relationship(key, of: holder) else { return nil }
      holder = relationship.destinationEntityName
    }
    return keys.last.flatMap { sourceAttribute($0, of: holder) }
  }

  /// Whether the value of an expression may come from an old attribute that allows external storage. Such a value may
  /// be the name of an external file instead of the data.
  mutating func mayNameFile(_ expression: ModelExpression, _ from: String) -> Bool {
    switch expression {
    case .keyPath(let path, of: .variable("source")), .keyPath(let path, of: .evaluatedObject):
      var row = RowSQL(keyColumn: 0)
      return attribute(at: path, of: from, &row)?.attribute.allowsExternalBinaryDataStorage ?? false
    case .ternary(_, let one, let other): return mayNameFile(one, from) || mayNameFile(other, from)
    default: return false
    }
  }

  /// Returns the attribute at the end of the key path `path`, which starts at the old entity `entity`, and an SQL
  /// expression for its value; nil when `path` does not end with an attribute.
  mutating func attribute(at path: String, of entity: String, _ row: inout RowSQL) -> (
    sql: String, attribute: Attribute
  )? {
    if let (attribute, column) = storedAttribute(path, of: entity) {
      return (row.parameter(column), attribute)
    }
    guard let path = keyPath(path, of: entity), let attribute = path.attribute else { return nil }
    return (path.sql(&row), attribute)
  }

  /// Returns an SQL condition for a predicate on a row of the old entity `from`; nil when the predicate is not
  /// supported. The value of the condition is always 0 or 1, and never NULL.
  mutating func condition(_ predicate: ModelPredicate, _ from: String, _ row: inout RowSQL)
    -> String?
  {
    switch predicate {
    case .constant(let holds): return holds ? "1" : "0"
    case .not(let part): return condition(part, from, &row).map { "(NOT \($0))" }
    case .and(let parts), .or(let parts):
      var isOr = false
      if case .or = predicate { isOr = true }
      var conditions: [String] = []
      for part in parts {
        guard let condition = condition(part, from, &row) else { return nil }
        conditions.append(condition)
      }
      guard !conditions.isEmpty else { return isOr ? "0" : "1" }
      return "(" + SQLText.joined(conditions, by: isOr ? "OR" : "AND") + ")"
    case .comparison(let comparison):
      guard comparison.modifier == .direct, comparison.options.isEmpty,
        isComparable(comparison, from), let left = sql(comparison.left, from, &row),
        let right = sql(comparison.right, from, &row)
      else { return nil }
      switch comparison.operator {
      // In a predicate, nil equals nil. In SQL, `NULL = NULL` gives NULL, so the SQL uses IS.
      case .equal: return "(\(left) IS \(right))"
      case .notEqual: return "(\(left) IS NOT \(right))"
      case .lessThan: return "IFNULL(\(left) < \(right), 0)"
      case .lessThanOrEqual: return "IFNULL(\(left) <= \(right), 0)"
      case .greaterThan: return "IFNULL(\(left) > \(right), 0)"
      case .greaterThanOrEqual: return "IFNULL(\(left) >= \(right), 0)"
      default: return nil
      }
    case .opaque, .unparsed: return nil
    }
  }

  /// Whether SQLite compares the two sides of a comparison as Foundation does. For `<`, `<=`, `>` and `>=`, both sides
  /// must have values of the same kind, because Foundation defines no order between values of different kinds, whereas
  /// SQLite does.
  private func isComparable(_ comparison: ModelPredicate.Comparison, _ from: String) -> Bool {
    switch comparison.operator {
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      return kinds(of: comparison.left, from).union(kinds(of: comparison.right, from))
        .subtracting([.null]).count < 2
    default: return true
    }
  }
}
