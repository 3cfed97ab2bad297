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
  private var output: OutputBuffer
  private(set) var mask: RecordMask
  /// Names as they are written, in quotes.
  private var names: [String: [UInt8]] = [:]
  /// The attributes that may be shown, by entity.
  private var shown: [String: Set<String>] = [:]
  private(set) var rowCount = 0

  /// - Parameters:
  ///   - tokens: makes the tokens.
  ///   - allowed: whose values are written as they are.
  ///   - model: says which entities are ancestors of others; nil without one.
  ///   - mask: gives tokens to names that a user may have chosen.
  ///   - descriptor: an open file descriptor; it is not closed.
  init(
    _ tokens: ValueTokens, allowing allowed: AllowList, _ model: ManagedObjectModel?,
    _ mask: RecordMask, to descriptor: Int32
  ) {
    self.tokens = tokens
    self.allowed = allowed
    self.model = model
    self.mask = mask
    output = OutputBuffer(descriptor: descriptor)
  }

  /// Writes all rows.
  mutating func write(_ store: CoreDataStore, of entities: Set<String>?) throws {
    if store.kind == .sqlite {
      for table in store.database.schema.tables where entities?.contains(table.name) ?? true {
        try store.database.forEachRow(of: table) { row in
          append(row, of: table)
          return !output.isBroken
        }
      }
    } else {
      try store.forEachRow(of: entities) { row in
        append(row)
        return !output.isBroken
      }
    }
    try output.finish()
  }

  // MARK: - Rows

  private mutating func append(_ row: ManagedRow) {
    output.append("{\"entity\":")
    if let entity = row.entityName { append(entity: entity) } else { output.append("null") }
    output.append(",\"pk\":")
    output.append(integer: row.primaryKey)
    output.append(",\"values\":{")
    let shown = row.entityName.map { shownAttributes(of: $0, row) } ?? []
    for (place, property) in row.properties.enumerated() {
      if place > 0 { output.append(UInt8(ascii: ",")) }
      append(name: property.name)
      output.append(UInt8(ascii: ":"))
      switch property.value {
      case .toOne(let destination): append(destination)
      case .toMany(let destinations):
        output.append("[")
        for (place, destination) in destinations.enumerated() {
          if place > 0 { output.append(UInt8(ascii: ",")) }
          append(destination)
        }
        output.append("]")
      case let value:
        append(value, isShown: shown.contains(property.name))
      }
    }
    end()
  }

  private mutating func append(_ row: StoredRow, of table: Table) {
    output.append("{\"table\":")
    append(name: table.name)
    output.append(",\"values\":{")
    let columns = table.columnNames
    for (place, value) in row.values.enumerated() {
      if place > 0 { output.append(UInt8(ascii: ",")) }
      let name = place < columns.count ? columns[place] : "c\(place)"
      append(name: name)
      output.append(UInt8(ascii: ":"))
      append(PropertyValue(value), isShown: allowed.allows(name, of: [table.name]))
    }
    end()
  }

  private mutating func append(_ value: PropertyValue, isShown: Bool) {
    if isShown {
      output.append(json: value, blobs: .hex)
    } else {
      tokens.append(value, to: &output)
    }
  }

  private mutating func end() {
    output.append("}}\n")
    rowCount += 1
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
    append(name: name) { mask, name in mask.name(name, .entity, NameForm.isIdentifier) }
  }

  private mutating func append(
    name: String,
    _ masked: (inout RecordMask, String) -> String = { $0.schemaName($1, isName: true) }
  ) {
    if let known = names[name] { return output.append(known) }
    var text = Array("\"".utf8)
    // A masked name is an identifier, which needs no escapes.
    text += masked(&mask, name).utf8
    text.append(UInt8(ascii: "\""))
    names[name] = text
    output.append(text)
  }

  /// The attributes of a row's entity whose values are allowed, by the names of the entity or its ancestors.
  private mutating func shownAttributes(of entity: String, _ row: ManagedRow) -> Set<String> {
    if let known = shown[entity] { return known }
    let lineage = [entity] + (model?.ancestors(of: entity).map(\.name) ?? [])
    let found = Set(
      row.properties.map(\.name).filter { allowed.allows($0, of: lineage) })
    shown[entity] = found
    return found
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
