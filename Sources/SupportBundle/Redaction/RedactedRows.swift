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
struct RedactedRows: ~Copyable {
  private let tokens: ValueTokens
  private let allowed: AllowList
  private let model: ManagedObjectModel?
  /// Nil when numbers have ranges instead.
  private(set) var ranks: NumberRanks?
  private var output: OutputBuffer
  private(set) var mask: RecordMask
  /// Names as they are written, in quotes.
  private var names: [String: [UInt8]] = [:]
  /// How the rows of an entity are written.
  private var forms: [String: [Part]] = [:]
  /// The entity of the last row, which is mostly that of the next one, too.
  private var last: (entity: String?, parts: [Part])?

  /// A property of an entity.
  private struct Part {
    /// What stands before the value: its name.
    let lead: [UInt8]
    /// Whether the value is allowed.
    let isShown: Bool
    /// What the numbers of the attribute have in common.
    let column: [UInt8]
  }

  /// - Parameters:
  ///   - tokens: makes the tokens.
  ///   - allowed: whose values are written as they are.
  ///   - numbers: what stands beside the token of a number.
  ///   - model: says which entities are ancestors of others; nil without one.
  ///   - mask: gives tokens to names that a user may have chosen.
  ///   - descriptor: an open file descriptor; it is not closed.
  init(
    _ tokens: ValueTokens, allowing allowed: AllowList, _ numbers: NumberForm = .ranges,
    _ model: ManagedObjectModel?,
    _ mask: RecordMask, to descriptor: Int32
  ) {
    self.tokens = tokens
    self.allowed = allowed
    self.model = model
    ranks = numbers == .ranks ? NumberRanks() : nil
    self.mask = mask
    output = OutputBuffer(descriptor: descriptor)
  }

  /// Writes all rows.
  mutating func write(_ store: CoreDataStore, of entities: Set<String>?) throws {
    if ranks != nil { try rank(store, of: entities) }
    try store.forEachRow(of: entities) { row in
      append(row)
      return !output.isBroken
    }
    let entityNames = Set(store.entityNames.values)
    for table in store.plainTables where entities?.contains(table.name) ?? true {
      // What is allowed of an entity is not meant for a table of the same name.
      let isAllowed = !entityNames.contains(table.name)
      try store.database.forEachRow(of: table) { row in
        append(row, of: table, isAllowed: isAllowed)
        return !output.isBroken
      }
    }
    try output.finish()
  }

  /// Reads all rows once before they are written: a rank takes all numbers of its column.
  private mutating func rank(_ store: CoreDataStore, of entities: Set<String>?) throws {
    try store.forEachRow(of: entities) { row in
      for (part, property) in zip(parts(of: row), row.properties) where !part.isShown {
        note(property.value, of: part.column)
      }
      return true
    }
    for table in store.plainTables where entities?.contains(table.name) ?? true {
      let columns = table.columnNames.map { Self.column($0, of: table.name) }
      try store.database.forEachRow(of: table) { row in
        for (value, column) in zip(row.values, columns) { note(PropertyValue(value), of: column) }
        return true
      }
    }
    ranks?.sort()
  }

  private mutating func note(_ value: PropertyValue, of column: [UInt8]) {
    switch value {
    case .integer(let number): ranks?.note(number, of: column)
    case .real(let number): ranks?.note(number, of: column)
    default: break
    }
  }

  // MARK: - Rows

  private mutating func append(_ row: ManagedRow) {
    output.append("{\"entity\":")
    if let entity = row.entityName { append(entity: entity) } else { output.append("null") }
    output.append(",\"pk\":")
    output.append(integer: row.primaryKey)
    output.append(",\"values\":{")
    for (part, property) in zip(parts(of: row), row.properties) {
      output.append(part.lead)
      switch property.value {
      case .toOne(let destination): append(destination)
      case .toMany(let destinations):
        output.append("[")
        for (place, destination) in destinations.enumerated() {
          if place > 0 { output.append(UInt8(ascii: ",")) }
          append(destination)
        }
        output.append("]")
      case let value: append(value, isShown: part.isShown, of: part.column)
      }
    }
    output.append("}}\n")
  }

  private mutating func append(_ row: StoredRow, of table: Table, isAllowed: Bool) {
    output.append("{\"table\":")
    append(name: table.name)
    output.append(",\"values\":{")
    let columns = table.columnNames
    for (place, value) in row.values.enumerated() {
      if place > 0 { output.append(UInt8(ascii: ",")) }
      let name = place < columns.count ? columns[place] : "c\(place)"
      append(name: name)
      output.append(UInt8(ascii: ":"))
      append(
        PropertyValue(value), isShown: isAllowed && allowed.allows(name, of: [table.name]),
        of: Self.column(name, of: table.name))
    }
    output.append("}}\n")
  }

  private mutating func append(_ value: PropertyValue, isShown: Bool, of column: [UInt8]) {
    if isShown {
      output.append(json: value, blobs: .hex)
    } else {
      tokens.append(value, of: column, ranks, to: &output)
    }
  }

  private static func column(_ name: String, of table: String) -> [UInt8] {
    Array(table.utf8) + [0] + name.utf8 + [0]
  }

  private mutating func append(_ destination: ObjectReference) {
    output.append("{\"entity\":")
    if let entity = destination.entityName { append(entity: entity) } else { output.append("null") }
    output.append(",\"pk\":")
    output.append(integer: destination.primaryKey)
    output.append("}")
  }

  // MARK: - Names

  private mutating func append(entity name: String) {
    output.append(quoted(name) { mask, name in mask.name(name, .entity, NameForm.isIdentifier) })
  }

  private mutating func append(name: String) { output.append(quoted(name)) }

  /// A name as it is written. A masked name is an identifier, which needs no escapes.
  private mutating func quoted(
    _ name: String,
    _ masked: (inout RecordMask, String) -> String = { $0.schemaName($1, isName: true) }
  ) -> [UInt8] {
    if let known = names[name] { return known }
    let text = Array("\"".utf8) + masked(&mask, name).utf8 + [UInt8(ascii: "\"")]
    names[name] = text
    return text
  }

  /// How the properties of a row are written. Values are allowed by the names of the entity or its ancestors.
  private mutating func parts(of row: ManagedRow) -> [Part] {
    if let last, last.entity == row.entityName, last.parts.count == row.properties.count {
      return last.parts
    }
    let key = row.entityName ?? ""
    let parts: [Part]
    // Rows of unknown entities can be of several tables.
    if let entity = row.entityName, let known = forms[entity], known.count == row.properties.count {
      parts = known
    } else {
      let lineage =
        row.entityName.map { [$0] + (model?.ancestors(of: $0).map(\.name) ?? []) } ?? []
      var made: [Part] = []
      for property in row.properties {
        let lead = (made.isEmpty ? [] : [UInt8(ascii: ",")]) + quoted(property.name)
        made.append(
          Part(
            lead: lead + [UInt8(ascii: ":")],
            isShown: allowed.allows(property.name, of: lineage),
            // An attribute of an ancestor is one column.
            column: Self.column(property.name, of: lineage.last ?? "")))
      }
      parts = made
      forms[key] = made
    }
    last = row.entityName == nil ? nil : (row.entityName, parts)
    return parts
  }
}

extension PropertyValue {
  /// A value of a table that is no entity's.
  fileprivate init(_ value: StoredValue) {
    self =
      switch value {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let text): .string(text)
      case .blob(let bytes): .binary(bytes)
      }
  }
}
