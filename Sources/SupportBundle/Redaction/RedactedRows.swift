import CoreDataStore
import Foundation
import ObjectModel
import RowText
import SQLiteFile
import StoreExtraction

/// Whether tokens replace the values of rows in a bundle.
package enum Redaction: Sendable, Equatable {
  /// A token replaces each value that the allow-list does not name.
  case values(except: AllowList)
  /// All values are written unchanged.
  case none
}

/// Writes rows as JSON lines. A token replaces each value that the allow-list does not name. Primary keys and
/// relationships of a Core Data store are written unchanged, because Core Data itself assigns the keys. In any other
/// database, primary keys are redacted like other values.
struct RedactedRows {
  private let allowed: AllowList
  private let numbers: NumberForm
  private let descriptor: Int32
  private let names: WrittenNames
  /// The number of columns that have so many different numbers that the numbers are not ranked. The tokens of these
  /// numbers have no ranks.
  private(set) var overfullCount = 0

  /// Replaces a name with a token if a user may have chosen the name.
  private final class WrittenNames {
    var mask: RecordMask

    init(_ mask: RecordMask) { self.mask = mask }

    func entity(_ name: String) -> String { mask.name(name, .entity, NameForm.isIdentifier) }
    func other(_ name: String) -> String { mask.schemaName(name, isName: true) }
  }

  /// Prepares to write rows to `descriptor`. The descriptor must be open for writing, and the caller closes it.
  init(
    allowing allowed: AllowList, _ numbers: NumberForm, _ mask: RecordMask, to descriptor: Int32
  ) {
    self.allowed = allowed
    self.numbers = numbers
    self.descriptor = descriptor
    names = WrittenNames(mask)
  }

  var mask: RecordMask { names.mask }

  /// Writes the rows of the named entities and tables; all rows if `entities` is nil.
  mutating func write(_ store: CoreDataStore, of entities: [String]?) throws {
    let tables = ExactText.named(entities, among: store.plainTables, \.name)
    var ranks: NumberRanks?
    if numbers == .ranks { ranks = try self.ranks(of: store, entities, tables) }
    overfullCount = ranks?.overfullCount ?? 0
    let redaction = redaction(of: store, ValueTokens(ranks: ranks))
    try RowOutput(.init(entityNames: entities)).writeJSON(of: store, redaction, to: descriptor)
    var output = OutputBuffer(descriptor: descriptor)
    let entityNames = Set(store.entityNames.values.map { ExactText($0) })
    for table in tables {
      // If a table has the same name as an entity, a permission for this name applies only to the entity.
      let columns = columns(of: table, isAllowed: !entityNames.contains(ExactText(table.name)))
      let lead = Array(
        "{\"table\":\(JSONLiteral.string(names.other(table.name))),\"values\":{".utf8)
      try store.database.forEachRow(of: table) { row in
        output.append(lead)
        for (place, value) in row.values.enumerated() {
          let column = columns(place)
          if place > 0 { output.append(UInt8(ascii: ",")) }
          output.append(column.lead)
          if let hidden = column.hidden {
            redaction.tokens.append(
              PropertyValue(value, isDate: false), of: hidden.key, to: &output)
          } else {
            output.append(json: PropertyValue(value, isDate: false), blobs: .hex)
          }
        }
        output.append("}}\n")
        return !output.isBroken
      }
    }
    try output.finish()
  }

  private func redaction(of store: CoreDataStore, _ tokens: ValueTokens) -> RowRedaction {
    RowRedaction(
      tokens, entityName: names.entity, propertyName: names.other,
      ancestors: { store.model?.ancestors(of: $0).map(\.name) ?? [] }, isAllowed: allowed.allows)
  }

  // MARK: - Tables of no entity

  /// A column of a table that is not the table of an entity.
  private struct Column {
    /// The bytes before each value: the column's name as a JSON key.
    let lead: [UInt8]
    /// The column for which ``ValueTokens`` computes tokens. Nil when the allow-list names the column, because its
    /// values are then written without tokens.
    let hidden: HiddenColumn?
  }

  /// Returns a function that gives the column of the value at a position in a row. A row may have more values than the
  /// table has column names. In this case, the column at position N is called `cN`.
  private func columns(of table: Table, isAllowed: Bool) -> (Int) -> Column {
    var known: [Column] = []
    return { place in
      while known.count <= place {
        let name =
          known.count < table.columnNames.count ? table.columnNames[known.count] : "c\(known.count)"
        known.append(
          Column(
            lead: Array("\(JSONLiteral.string(names.other(name))):".utf8),
            hidden: isAllowed && allowed.allows(name, of: [table.name])
              ? nil : HiddenColumn(name, of: table.name)))
      }
      return known[place]
    }
  }

  // MARK: - Ranks

  /// Returns the rank of each number among the numbers of its column. The result needs all rows, so it is computed
  /// before the first row is written.
  private func ranks(of store: CoreDataStore, _ entities: [String]?, _ tables: [Table]) throws
    -> NumberRanks
  {
    let redaction = redaction(of: store, ValueTokens())
    var ranks = NumberRanks()
    func note(_ value: PropertyValue, _ column: HiddenColumn?) {
      guard let column else { return }
      switch value {
      case .integer(let number): ranks.note(number, of: column.key)
      case .real(let number): ranks.note(number, of: column.key)
      default: break
      }
    }
    var known: [ExactText?: [ExactText: HiddenColumn?]] = [:]
    try store.forEachRow(of: entities) { row in
      let entity = row.entityName.map { ExactText($0) }
      for property in row.properties {
        let name = ExactText(property.name)
        if let column = known[entity]?[name] {
          note(property.value, column)
        } else {
          let column = redaction.hiding(property.name, of: row.entityName)
          known[entity, default: [:]][name] = .some(column)
          note(property.value, column)
        }
      }
      return true
    }
    for table in tables {
      let columns = columns(of: table, isAllowed: false)
      try store.database.forEachRow(of: table) { row in
        for (place, value) in row.values.enumerated() {
          note(PropertyValue(value, isDate: false), columns(place).hidden)
        }
        return true
      }
    }
    ranks.sort()
    return ranks
  }
}
