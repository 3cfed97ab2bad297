import SQLiteFile

/// Plans how each index is checked: by sums of hashes of its entries and of the table's rows (``IndexSum``), and by the
/// order of its entries.
struct IndexPlan {
  private typealias Part = TableDefinition.KeyPart

  /// An index on columns, not on expressions.
  private struct Index {
    /// The position of the index in the schema's entries, from 0.
    var place: Int
    var parts: [Part]
    var isPartial: Bool
    var isUnique: Bool
    /// Whether SQLite created the index for a constraint.
    var isAutomatic: Bool
  }

  /// The indexes that are not planned yet, by the name of their table. ``apply(to:of:_:_:)`` plans the indexes of a
  /// table, and removes them here.
  private var indexes: [SQLName: [Index]] = [:]
  /// For each index of the schema, the two sums that must be equal: the sum over the rows of the table, and the sum
  /// over the entries of the index. The sums are given by their positions in ``RecordCheck/sums``, and the index by its
  /// position in the schema's entries.
  private(set) var sums: [Int: (rows: Int, entries: Int)] = [:]
  /// The positions, in the schema's entries, of indexes with a collation that may treat different strings as equal.
  private(set) var folding: Set<Int> = []
  /// The order of the entries of each index, by the position of the index in the schema's entries. Indexes with a
  /// collation that an application defines are left out.
  private(set) var orders: [Int: KeyOrder] = [:]
  /// The order of the rows of each WITHOUT ROWID table. Tables with a collation that an application defines are left
  /// out.
  private(set) var tableOrders: [SQLName: KeyOrder] = [:]
  /// Whether DESC has an effect: databases with a schema format below 4 ignore it (file format, section 1.3.10).
  private let honoursDescending: Bool
  private let encoding: DatabaseHeader.TextEncoding

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
        let number = entry.name.utf8.split(separator: UInt8(ascii: "_")).last.flatMap {
          Int(Substring($0))
        }
        guard let key = definition.automaticIndexes?.first(where: { $0.number == number }),
          SQLName.isSame(entry.name, "sqlite_autoindex_\(entry.tableName)_\(key.number)")
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

  /// Returns the sort order of the index keys that consist of these parts. Nil if an application defines the collation
  /// of a part, because the order is then unknown.
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

  /// Plans the check of a table's indexes. Adds to `rules` the fields of a row that are hashed for each index, and to
  /// ``orders`` the sort order of each index.
  ///
  /// `sumCount`: the number of sums of hashes planned so far. It increases by two for each index that can be compared
  /// with the rows.
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
      // After the indexed columns, an entry has the row id or, for a WITHOUT ROWID table, the rest of the primary key.
      var parts = index.parts
      if definition.isWithoutRowID {
        var held = Set(parts.map(\.stored))
        for var key in definition.keyParts where held.insert(key.stored).inserted {
          // In this rest of the primary key, only automatic indexes ignore DESC (`bAscKeyBug`, build.c).
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

  /// Returns the hash of a column's default value; nil if the value must be computed. Rows that were stored before the
  /// column was added lack the field, and have the default value instead.
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
