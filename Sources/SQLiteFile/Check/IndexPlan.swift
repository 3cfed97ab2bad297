/// Which indexes can be compared with their tables, and which sums they have.
struct IndexPlan {
  private struct Index {
    var name: String
    var columns: [String]
  }

  /// By the name of the table in small letters.
  private var indexes: [String: [Index]] = [:]
  /// The two sums of an index, by its name.
  private(set) var sums: [String: (rows: Int, entries: Int)] = [:]

  /// Takes the indexes that have every row, of columns alone.
  init(_ schema: Schema) {
    var automaticCounts: [String: Int] = [:]
    for entry in schema.entries where entry.type == "index" && entry.sql == nil {
      automaticCounts[entry.tableName, default: 0] += 1
    }
    for entry in schema.entries where entry.type == "index" && entry.rootPage > 0 {
      let columns: [String]
      if let sql = entry.sql {
        guard let definition = IndexDefinition(sql: sql), !definition.isPartial,
          let named = definition.columns
        else { continue }
        columns = named
      } else {
        // Which constraint an automatic index serves is told only where there is but one.
        guard automaticCounts[entry.tableName] == 1,
          let definition = schema.table(named: entry.tableName)?.definition,
          definition.rowIDColumn == nil, !definition.primaryKey.isEmpty
        else { continue }
        columns = definition.primaryKey.map { definition.columns[$0].name }
      }
      indexes[entry.tableName.lowercased(), default: []].append(
        Index(name: entry.name, columns: columns))
    }
  }

  /// Says in a table's rules what its rows add to the sums of its indexes. `sumCount` counts the sums given out.
  mutating func apply(
    to rules: inout RecordRules, of table: String, _ definition: TableDefinition,
    _ encoding: DatabaseHeader.TextEncoding, _ sumCount: inout Int
  ) {
    guard let own = indexes.removeValue(forKey: table.lowercased()) else { return }
    let order = definition.storedOrder
    var hasUnknownDefault: Set<Int> = []
    for (field, place) in order.enumerated() {
      let hash = Self.hash(definition.columns[place], encoding)
      if hash == nil { hasUnknownDefault.insert(field) }
      rules.absentHashes.append(hash ?? IndexSum.null)
    }
    let fieldOfPlace = Dictionary(
      order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    let placeOfName = Dictionary(
      definition.columns.enumerated().map { ($1.name.lowercased(), $0) },
      uniquingKeysWith: { first, _ in first })
    for index in own where sums[index.name] == nil {
      let fields = index.columns.compactMap { name -> Int32? in
        guard let place = placeOfName[name.lowercased()] else { return nil }
        if place == definition.rowIDColumn { return -1 }
        guard let field = fieldOfPlace[place], !hasUnknownDefault.contains(field) else {
          return nil
        }
        return Int32(field)
      }
      guard fields.count == index.columns.count else { continue }
      sums[index.name] = (sumCount, sumCount + 1)
      for field in fields where field >= 0 { rules.fields[Int(field)].isIndexed = true }
      rules.sums.append(IndexSum.Part(sum: sumCount, fields: ContiguousArray(fields)))
      sumCount += 2
    }
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
