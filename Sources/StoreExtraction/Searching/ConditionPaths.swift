import CoreDataStore
import ObjectModel
import SQLiteFile

/// A parsed key path: its keys without a final `@count`, and whether the path ends in `@count`.
struct ConditionPath {
  let keys: [String]
  let isCount: Bool

  init(_ text: String) {
    var keys = PredicateSyntax.keys(of: text)
    isCount = keys.count > 1 && keys[keys.count - 1].utf8.elementsEqual("@count".utf8)
    if isCount { keys.removeLast() }
    self.keys = keys
  }

  var first: String { keys.first ?? "" }
}

/// Provides the values of a condition's key paths. If a key path crosses a relationship, the property's values in all
/// rows of the destination entity are read once, before any row is examined.
struct ConditionPaths {
  private struct Path {
    let place: Int
    /// For each property that the key path names after the first: the values of the property, keyed by the primary key
    /// of the row that has the value.
    let steps: [[Int64: ConditionValue]]
    let isCount: Bool
  }

  /// The maximum number of rows of a key path's destination entity whose values are kept in memory.
  static let maxRows = 2_000_000

  private var paths: [ExactText: Path] = [:]

  /// Prepares the key paths of a condition.
  ///
  /// - Throws: ``ExtractionError`` with `usage.badCondition` for a path that cannot be followed from the rows of
  ///   `source`.
  init(_ condition: RowCondition?, of source: SelectedRows.Source, in store: CoreDataStore) throws {
    let texts = condition?.keyPaths ?? []
    for (path, constant) in condition?.comparisons ?? [] {
      if let place = ExactText.place(of: path, in: source.properties, \.name) {
        try Self.check(constant, against: source.properties[place])
      }
    }
    var entities: [ExactText: DescribedEntity] = [:]
    if texts.contains(where: { ConditionPath($0).keys.count > 1 }), source.isEntity {
      for table in store.entityTables {
        for entity in try store.describedEntities(of: table) {
          entities[ExactText(entity.name)] = entity
        }
      }
    }
    for exact in Set(texts.map { ExactText($0) }) {
      let text = exact.text
      let path = ConditionPath(text)
      guard let place = ExactText.place(of: path.first, in: source.properties, \.name) else {
        throw RowCondition.refusal("\(source.name) has no \(path.first)")
      }
      var property = source.properties[place]
      var steps: [[Int64: ConditionValue]] = []
      for key in path.keys.dropFirst() {
        guard property.kind == .toOne || property.kind == .toMany,
          let destination = entities[ExactText(property.typeName)]
        else {
          throw RowCondition.refusal(
            "in \(text), \(property.name) is not a relationship that can be followed")
        }
        guard let place = ExactText.place(of: key, in: destination.properties, \.name) else {
          let refusal = RowCondition.refusal("\(destination.name) has no \(key)")
          throw ExtractionError(
            refusal.code, refusal.message, path: store.database.path,
            nearest: NearestName.of(key, among: destination.properties.map(\.name)),
            listing: SelectedRows.listing(of: destination.name, isEntity: true, in: store))
        }
        property = destination.properties[place]
        steps.append(try Self.values(of: property.name, in: destination, store))
      }
      if path.isCount, property.kind != .toMany {
        throw RowCondition.refusal(
          "@count works only for many-to-many relationships, and \(text) counts something else")
      }
      paths[exact] = Path(place: place, steps: steps, isCount: path.isCount)
    }
  }

  /// Throws if a condition compares an attribute with a constant of a type that the attribute never has. Without this
  /// check, the condition would match no row, and the user would not learn why.
  private static func check(
    _ constant: ExpressionConstant, against property: DescribedEntity.Property
  ) throws {
    guard property.kind == .attribute || property.typeName == "TIMESTAMP" else { return }
    let name = property.name
    switch (property.typeName, constant) {
    case ("Date", .string(let text)), ("TIMESTAMP", .string(let text)):
      guard DateText.seconds(in: text) == nil else { return }
      throw RowCondition.refusal(
        "\(name) is a date, but \"\(text)\" is not; write a date as 2026-11-20 or 2026-11-20T21:53")
    case ("Date", .integer), ("TIMESTAMP", .integer), ("Date", .real), ("TIMESTAMP", .real):
      throw RowCondition.refusal(
        "\(name) is a date, so write a date: \"2026-11-20\" or \"2026-11-20T21:53\"")
    case ("String", .integer(let number)):
      throw RowCondition.refusal("\(name) is a text, so write the value in quotes: \"\(number)\"")
    case ("String", .real(let number)):
      throw RowCondition.refusal("\(name) is a text, so write the value in quotes: \"\(number)\"")
    case ("Integer 16", .string(let text)), ("Integer 32", .string(let text)),
      ("Integer 64", .string(let text)), ("Double", .string(let text)),
      ("Float", .string(let text)), ("Decimal", .string(let text)),
      ("Boolean", .string(let text)):
      throw RowCondition.refusal("\(name) is a number, but \"\(text)\" is a text")
    default: break
    }
  }

  private static func values(
    of key: String, in destination: DescribedEntity, _ store: CoreDataStore
  ) throws -> [Int64: ConditionValue] {
    var values: [Int64: ConditionValue] = [:]
    // Rows of subentities are in the same table and have this property, too.
    try store.forEachRow(of: [destination.name]) { row in
      if let property = row.properties.first(where: { ExactText.isSame($0.name, key) }) {
        values[row.primaryKey] = ConditionValue(property.value)
      }
      return values.count <= maxRows
    }
    guard values.count <= maxRows else {
      throw RowCondition.refusal(
        "more than \(maxRows) rows of \(destination.name) would have to be looked up")
    }
    return values
  }

  /// Returns the value of the key path `text` in a row with these properties; null for a path without a value.
  func value(of text: String, in properties: [ManagedRow.Property]) -> ConditionValue {
    guard let path = paths[ExactText(text)], path.place < properties.count else { return .null }
    var value = ConditionValue(properties[path.place].value)
    for step in path.steps {
      func follow(_ value: ConditionValue) -> ConditionValue {
        switch value {
        case .integer(let key): step[key] ?? .null
        case .list(let keys): .list(keys.map(follow))
        default: .null
        }
      }
      value = follow(value)
    }
    guard path.isCount else { return value }
    if case .list(let elements) = value { return .integer(Int64(elements.count)) }
    return .integer(0)
  }
}
