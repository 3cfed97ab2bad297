/// Which indexes can be compared with their tables, and which sums they have.
struct IndexPlan {
  private struct Index {
    var name: String
    var table: String
    var columns: [String]
    var rows = -1
    var entries = -1
  }

  private var indexes: [Index] = []

  /// Takes the indexes that have every row, of columns alone.
  init(_ schema: Schema) {
    for entry in schema.entries where entry.type == "index" && entry.rootPage > 0 {
      if let sql = entry.sql {
        guard let definition = IndexDefinition(sql: sql), !definition.isPartial,
          let columns = definition.columns
        else { continue }
        indexes.append(Index(name: entry.name, table: entry.tableName, columns: columns))
        continue
      }
      // Which constraint an automatic index serves is told only where there is but one.
      let isOnly =
        schema.entries.count {
          $0.type == "index" && $0.sql == nil && $0.tableName == entry.tableName
        } == 1
      guard isOnly, let definition = schema.table(named: entry.tableName)?.definition,
        definition.rowIDColumn == nil, !definition.primaryKey.isEmpty
      else { continue }
      indexes.append(
        Index(
          name: entry.name, table: entry.tableName,
          columns: definition.primaryKey.map { definition.columns[$0].name }))
    }
  }

  /// What the rows of a table add to the sums of its indexes.
  mutating func parts(
    of table: String, _ definition: TableDefinition, _ records: inout RecordCheck,
    _ encoding: DatabaseHeader.TextEncoding
  ) -> ContiguousArray<IndexSum.Part> {
    var parts: ContiguousArray<IndexSum.Part> = []
    let order = definition.storedOrder
    records.absentHashes = []
    var hasUnknownDefault: Set<Int> = []
    for (field, place) in order.enumerated() {
      let hash = Self.hash(definition.columns[place], encoding)
      if hash == nil { hasUnknownDefault.insert(field) }
      records.absentHashes.append(hash ?? IndexSum.null)
    }
    for number in indexes.indices
    where indexes[number].table.lowercased() == table.lowercased() && indexes[number].rows < 0 {
      var fields: ContiguousArray<Int32> = []
      for name in indexes[number].columns {
        guard
          let place = definition.columns.firstIndex(where: {
            $0.name.lowercased() == name.lowercased()
          })
        else { break }
        if place == definition.rowIDColumn {
          fields.append(-1)
        } else if let field = order.firstIndex(of: place), !hasUnknownDefault.contains(field) {
          fields.append(Int32(field))
        } else {
          break
        }
      }
      guard fields.count == indexes[number].columns.count else { continue }
      indexes[number].rows = records.sums.count
      records.sums.append(0)
      indexes[number].entries = records.sums.count
      records.sums.append(0)
      parts.append(IndexSum.Part(sum: indexes[number].rows, fields: fields))
    }
    return parts
  }

  /// The two sums of an index; nil when it is not compared.
  func sum(of index: String) -> (rows: Int, entries: Int)? {
    guard let found = indexes.first(where: { $0.name == index }), found.rows >= 0 else {
      return nil
    }
    return (found.rows, found.entries)
  }

  /// What a row that is older than the column has there; nil when it would have to be computed.
  private static func hash(
    _ column: TableDefinition.Column, _ encoding: DatabaseHeader.TextEncoding
  ) -> UInt64? {
    switch column.defaultValue {
    case nil: return nil
    case .null?: return IndexSum.null
    case .integer(let value)?: return IndexSum.of(value)
    case .real(let value)?: return IndexSum.of(value)
    case .text(let text)?:
      guard encoding == .utf8 else { return nil }
      let bytes = ContiguousArray(text.utf8)
      return IndexSum.of(bytes.rawSpan, isText: true)
    case .blob(let value)?:
      let bytes = ContiguousArray(value)
      return IndexSum.of(bytes.rawSpan, isText: false)
    }
  }
}
