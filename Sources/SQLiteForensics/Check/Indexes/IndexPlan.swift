import SQLiteFile

/// How each index can be compared with its table: its sums (``IndexSum``), and the order of its entries.
struct IndexPlan {
  /// A part of an index or of a primary key: the column's position, and how its values are ordered.
  private typealias Part = TableDefinition.KeyPart

  /// An index on columns only.
  private struct Index {
    /// The position of the index among the schema's entries.
    var place: Int
    var parts: [Part]
    var isPartial: Bool
    var isUnique: Bool
    /// Whether SQLite created the index for a constraint.
    var isAutomatic: Bool
  }

  /// The indexes of each table that ``apply(to:of:_:_:)`` has not taken yet.
  private var indexes: [SQLName: [Index]] = [:]
  /// For each index whose entries can be compared: the number of the sum of its rows, and the number of the sum of its
  /// entries. The key is the position of the index among the schema's entries.
  private(set) var sums: [Int: (rows: Int, entries: Int)] = [:]
  /// Indexes in which different texts may be equal by collation, as positions among the schema's entries.
  private(set) var folding: Set<Int> = []
  /// The order of the entries of each index, by the position of the index among the schema's entries. Indexes with a
  /// collation that an application defines are missing.
  private(set) var orders: [Int: KeyOrder] = [:]
  /// The order of the rows of each WITHOUT ROWID table. Tables with a collation that an application defines are
  /// missing.
  private(set) var tableOrders: [SQLName: KeyOrder] = [:]
  /// Whether DESC counts. Databases with a schema format below 4 ignore DESC (file format, section 1.3.10).
  private let honoursDescending: Bool
  private let encoding: DatabaseHeader.TextEncoding

  /// Plans for all indexes that have only columns, no expressions.
  init(_ schema: Schema, _ header: DatabaseHeader) {
    honoursDescending = header.schemaFormat & 0xff >= 4
    encoding = header.textEncoding
    for (place, entry) in schema.entries.enumerated()
    where entry.type == "index" && entry.rootPage > 0 {
      guard let definition = schema.table(named: entry.tableName)?.definition else { continue }
      var index = Index(
        place: place, parts: [], isPartial: false, isUnique: true, isAutomatic: entry.sql == nil)
      if let sql = entry.sql {
        guard let statement = IndexDefinition(sql: sql), let named = statement.parts,
          let parts = Self.parts(named, of: definition)
        else { continue }
        index.parts = parts
        index.isPartial = statement.isPartial
        index.isUnique = statement.isUnique
      } else {
        guard
          let key = definition.automaticIndexes?.first(where: { key in
            SQLName.isSame(entry.name, "sqlite_autoindex_\(entry.tableName)_\(key.number)")
          })
        else { continue }
        index.parts = key.parts
      }
      indexes[SQLName(entry.tableName), default: []].append(index)
    }
    for table in schema.tables {
      guard let definition = table.definition, definition.isWithoutRowID else { continue }
      let key = definition.keyParts
      guard !key.isEmpty, let order = order(of: key, uniqueCount: nil) else { continue }
      tableOrders[SQLName(table.name)] = order
    }
  }

  private static func parts(
    _ named: [IndexDefinition.Part], of table: TableDefinition
  ) -> [Part]? {
    var parts: [Part] = []
    for part in named {
      guard let place = table.place(of: part.column) else { return nil }
      parts.append(
        Part(
          column: place, collation: part.collation ?? table.columns[place].collation,
          isDescending: part.isDescending))
    }
    return parts
  }

  /// The order of a key; nil when one of its collations is defined by an application.
  private func order(of parts: [Part], uniqueCount: Int?) -> KeyOrder? {
    var fields: [KeyOrder.Field] = []
    for part in parts {
      guard let collation = KeyOrder.Collation(name: part.collation) else { return nil }
      fields.append(
        KeyOrder.Field(
          collation: collation, isDescending: part.isDescending && honoursDescending))
    }
    return KeyOrder(fields: fields, uniqueCount: uniqueCount)
  }

  /// Adds to a table's rules what its rows contribute to the sums of its indexes. Plans the order of the entries of
  /// these indexes too. `sumCount`: the number of sums so far; each index that can be compared adds two.
  mutating func apply(
    to rules: inout RecordRules, of table: String, _ definition: TableDefinition,
    _ sumCount: inout Int
  ) {
    guard let own = indexes.removeValue(forKey: SQLName(table)) else { return }
    let stored = definition.storedOrder
    var hasUnknownDefault: Set<Int> = []
    for (field, place) in stored.enumerated() {
      let hash = Self.hash(definition.columns[place], encoding)
      if hash == nil { hasUnknownDefault.insert(field) }
      rules.absentHashes.append(hash ?? IndexSum.null)
    }
    let fieldOfPlace = Dictionary(
      stored.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    for index in own {
      // After the indexed columns, an entry has what leads to the row: the row id, or the other columns of the primary
      // key.
      var parts = index.parts
      if definition.isWithoutRowID {
        for var key in definition.keyParts where !parts.contains(where: { $0.isStored(as: key) }) {
          // Only automatic indexes ignore DESC here (`bAscKeyBug`, build.c).
          if index.isAutomatic { key.isDescending = false }
          parts.append(key)
        }
      }
      let unique = index.isUnique ? index.parts.count : nil
      if var order = order(of: parts, uniqueCount: unique) {
        if !definition.isWithoutRowID {
          order.fields.append(KeyOrder.Field(collation: .binary, isDescending: false))
        }
        orders[index.place] = order
      }
      guard !index.isPartial else { continue }
      var fields: ContiguousArray<Int32> = []
      for part in parts {
        if part.column == definition.rowIDColumn {
          fields.append(-1)
        } else if let field = fieldOfPlace[part.column], !hasUnknownDefault.contains(field) {
          fields.append(Int32(field))
        }
      }
      guard fields.count == parts.count else { continue }
      if !definition.isWithoutRowID { fields.append(-1) }
      sums[index.place] = (sumCount, sumCount + 1)
      if parts.contains(where: { !SQLName.isSame($0.collation, "BINARY") }) {
        folding.insert(index.place)
      }
      for field in fields where field >= 0 { rules.fields[Int(field)].isIndexed = true }
      rules.sums.append(IndexSum.Part(sum: sumCount, fields: fields))
      sumCount += 2
    }
  }

  /// The hash of the default value of a column, which rows older than the column have; nil when the value would have to
  /// be computed.
  private static func hash(
    _ column: TableDefinition.Column, _ encoding: DatabaseHeader.TextEncoding
  ) -> UInt64? {
    switch column.defaultValue {
    case nil: return nil
    case .null?: return IndexSum.null
    case .integer(let value)?: return IndexSum.of(value)
    case .real(let value)?: return IndexSum.of(value)
    case .text(let text)?:
      var bytes = ContiguousArray(text.utf8)
      if encoding != .utf8 {
        bytes = []
        for unit in String(decoding: text.utf8, as: UTF8.self).utf16 {
          let halves = [UInt8(unit >> 8), UInt8(unit & 0xff)]
          bytes.append(contentsOf: encoding == .utf16BigEndian ? halves : halves.reversed())
        }
      }
      return IndexSum.of(bytes.rawSpan, isText: true)
    case .blob(let value)?:
      let bytes = ContiguousArray(value)
      return IndexSum.of(bytes.rawSpan, isText: false)
    }
  }
}
