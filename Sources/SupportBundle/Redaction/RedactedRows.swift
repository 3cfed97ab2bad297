import CoreDataStore
import Foundation
import ObjectModel
import RowText
import SQLiteFile
import StoreExtraction

/// How the rows of a store go into a bundle.
package enum Redaction: Sendable, Equatable {
  /// A token stands for each value that is not allowed.
  case values(except: AllowList)
  /// Rows go in as they are.
  case none
}

/// Writes rows as JSON lines, with tokens for values that are not allowed. Entities, keys and relationships of a Core Data
/// store stay: Core Data counts its keys itself. In any other file a key is a value.
struct RedactedRows {
  private let allowed: AllowList
  private let numbers: NumberForm
  private let descriptor: Int32
  private let names: WrittenNames
  /// How many columns have too many different numbers to be ranked.
  private(set) var overfullCount = 0

  /// Names as they are written: those that a user may have chosen have tokens.
  private final class WrittenNames {
    var mask: RecordMask

    init(_ mask: RecordMask) { self.mask = mask }

    func entity(_ name: String) -> String { mask.name(name, .entity, NameForm.isIdentifier) }
    func other(_ name: String) -> String { mask.schemaName(name, isName: true) }
  }

  /// - Parameters:
  ///   - allowed: whose values are written as they are.
  ///   - numbers: what stands beside the token of a number.
  ///   - mask: gives tokens to names that a user may have chosen.
  ///   - descriptor: an open file descriptor; it is not closed.
  init(
    allowing allowed: AllowList, _ numbers: NumberForm, _ mask: RecordMask, to descriptor: Int32
  ) {
    self.allowed = allowed
    self.numbers = numbers
    self.descriptor = descriptor
    names = WrittenNames(mask)
  }

  /// The mask, with the tokens of the names that were written.
  var mask: RecordMask { names.mask }

  /// Writes all rows.
  mutating func write(_ store: CoreDataStore, of entities: Set<String>?) throws {
    let tables = store.plainTables.filter { entities?.contains($0.name) ?? true }
    var ranks: NumberRanks?
    if numbers == .ranks { ranks = try self.ranks(of: store, entities, tables) }
    overfullCount = ranks?.overfullCount ?? 0
    let redaction = redaction(of: store, ValueTokens(ranks: ranks))
    try RowOutput(.init(entityNames: entities)).writeJSON(of: store, redaction, to: descriptor)
    var output = OutputBuffer(descriptor: descriptor)
    let entityNames = Set(store.entityNames.values)
    for table in tables {
      // What is allowed of an entity is not meant for a table of the same name.
      let columns = columns(of: table, isAllowed: !entityNames.contains(table.name))
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

  /// A column of a table that is no entity's.
  private struct Column {
    /// What stands before the value: its name.
    let lead: [UInt8]
    /// Nil when the values are allowed.
    let hidden: HiddenColumn?
  }

  /// The columns of a table by their places, which go beyond the names that are known.
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

  /// Reads all rows once before they are written: a rank takes all numbers of its column.
  private func ranks(of store: CoreDataStore, _ entities: Set<String>?, _ tables: [Table]) throws
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
    var known: [String?: [String: HiddenColumn?]] = [:]
    try store.forEachRow(of: entities) { row in
      for property in row.properties {
        if let column = known[row.entityName]?[property.name] {
          note(property.value, column)
        } else {
          let column = redaction.hiding(property.name, of: row.entityName)
          known[row.entityName, default: [:]][property.name] = .some(column)
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
