/// An entry of the schema table (file format, section 2.6 "Storage Of The SQL Database Schema").
package struct SchemaEntry: Sendable, Hashable {
  /// The type of the object: `table`, `index`, `view` or `trigger`.
  package let type: String
  package let name: String
  /// The name of the table that the object belongs to. For a table, this is its own name.
  package let tableName: String
  /// The root page of the object's b-tree; 0 for an object without a b-tree (a view, a trigger or a virtual table).
  package let rootPage: UInt32
  /// The CREATE statement; nil for an index that SQLite has created automatically.
  package let sql: String?

  package init(type: String, name: String, tableName: String, rootPage: UInt32, sql: String?) {
    self.type = type
    self.name = name
    self.tableName = tableName
    self.rootPage = rootPage
    self.sql = sql
  }
}

/// A table that is stored in a b-tree of the file. Virtual tables are not stored in this way.
public struct Table: Sendable, Hashable {
  /// The name of the table, without quotes.
  public let name: String
  package let rootPage: UInt32
  /// The table's definition according to its CREATE statement; nil when the statement cannot be read.
  package let definition: TableDefinition?
  /// The CREATE statement, with flipped bits repaired as far as possible; nil when the schema contains no such
  /// statement.
  public let sql: String?
  /// The index of the table in ``Schema/tables``; nil for the schema table itself.
  package var place: Int?

  package init(
    name: String, rootPage: UInt32, definition: TableDefinition?, sql: String?, place: Int? = nil
  ) {
    self.name = name
    self.rootPage = rootPage
    self.definition = definition
    self.sql = sql
    self.place = place
  }

  /// The names of the columns; empty when they are not known.
  public var columnNames: [String] { definition?.columns.map(\.name) ?? [] }
}

/// The tables of a database, and the other entries of its schema table.
public struct Schema: Sendable, Equatable {
  /// All entries as stored, in the order of the schema table.
  package let entries: [SchemaEntry]
  /// All entries of the schema table. In the entries that declare tables, flipped bits are repaired as far as possible.
  package let repairedEntries: [SchemaEntry]
  /// The tables that are stored in the file, in the order of the schema table. They include the shadow tables of
  /// virtual tables, but not the virtual tables themselves.
  public private(set) var tables: [Table]

  /// Returns the table with the given name; nil if no table has it. The case of ASCII letters is ignored, as in SQL.
  public func table(named name: String) -> Table? {
    places[SQLName(name)].map { tables[$0] }
  }

  private let places: [SQLName: Int]

  package init(rows: [StoredRow], encoding: DatabaseHeader.TextEncoding) {
    let entries = rows.compactMap { SchemaEntry(row: $0, encoding: encoding) }
    self.entries = entries
    var repair = SchemaRepair()
    repairedEntries = repair.repaired(entries)
    let stored = repairedEntries.filter { $0.type == "table" && $0.rootPage > 0 }
    let tables = stored.enumerated().map { place, entry in
      Table(
        name: entry.name, rootPage: entry.rootPage,
        definition: entry.sql.flatMap { TableDefinition(sql: $0) }, sql: entry.sql, place: place)
    }
    self.tables = tables
    places = Dictionary(
      tables.enumerated().map { (SQLName($1.name), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The tables whose CREATE statement contradicts their rows, as indexes in ``tables``. These CREATE statements are
  /// not used.
  private var ignoredStatements: Set<Int> = []

  package func isStatementIgnored(of table: Table) -> Bool {
    table.place.map(ignoredStatements.contains) ?? false
  }

  /// Drops the statement of a table because the table's rows contradict it. If `repaired` is not nil, it replaces the
  /// statement.
  package mutating func ignoreStatement(of table: Table, repaired: String? = nil) {
    guard let place = table.place else { return }
    ignoredStatements.insert(place)
    tables[place] = Table(
      name: table.name, rootPage: table.rootPage,
      definition: repaired.flatMap { TableDefinition(sql: $0) }, sql: repaired ?? table.sql,
      place: place)
  }

  /// The columns of the schema table itself.
  package static let definition = TableDefinition(
    columns: [
      ("type", "TEXT"), ("name", "TEXT"), ("tbl_name", "TEXT"), ("rootpage", "INT"),
      ("sql", "TEXT"),
    ]
    .map { name, type in
      TableDefinition.Column(
        name: name, declaredType: type, affinity: .init(declaredType: type), defaultValue: .null,
        collation: "BINARY", generation: .none, isNotNull: false)
    },
    rowIDColumn: nil, primaryKey: [], isWithoutRowID: false, isStrict: false)
}

extension SchemaEntry {
  /// Whether SQLite accepts the entry: the type must be known, and the statement, if there is one, begins with CREATE.
  package var isReadable: Bool {
    guard ["table", "index", "view", "trigger"].contains(type) else { return false }
    guard let sql, !sql.isEmpty else { return true }
    return SQLName(Substring(sql.utf8.prefix(6))) == SQLName("CREATE")
  }

  /// Whether the entry declares a table that needs a b-tree but states no root page. SQLite rejects such an entry.
  package var lacksRoot: Bool {
    guard type == "table", rootPage < 2, let sql else { return false }
    return SchemaGrammar.isTable(sql)
  }

  /// Returns the text in a column of the schema table; nil for NULL and numbers. Like SQLite, this reads a BLOB in the
  /// schema table as text in the encoding of the file.
  private static func text(_ value: StoredValue, _ encoding: DatabaseHeader.TextEncoding) -> String?
  {
    guard case .blob(let bytes) = value else {
      if case .text(let text) = value { return text.string }
      return nil
    }
    if encoding == .utf8 { return String(decoding: bytes, as: UTF8.self) }
    let high = encoding == .utf16BigEndian ? 0 : 1
    let units = stride(from: 0, to: bytes.count & ~1, by: 2).map {
      UInt16(bytes[$0 + high]) << 8 | UInt16(bytes[$0 + 1 - high])
    }
    return String(decoding: units, as: UTF16.self)
  }

  package init?(row: StoredRow, encoding: DatabaseHeader.TextEncoding) {
    guard row.values.count == 5, let type = Self.text(row.values[0], encoding),
      let name = Self.text(row.values[1], encoding),
      let tableName = Self.text(row.values[2], encoding)
    else { return nil }
    self.name = name
    self.tableName = tableName
    switch row.values[3] {
    case .integer(let page): rootPage = UInt32(exactly: page) ?? 0
    // SQLite reads the page number even if it is stored as text.
    case .text(let page): rootPage = UInt32(page.string) ?? 0
    default: rootPage = 0
    }
    sql = Self.text(row.values[4], encoding)
    // SQLite ignores case when it compares the type. If an entry has no statement, SQLite ignores the type: the entry
    // is an index.
    let known = ["table", "index", "view", "trigger"].first { SQLName.isSame($0, type) }
    let isAutomatic = sql == nil && SQLName(name).hasPrefix("sqlite_autoindex_")
    self.type = known ?? (isAutomatic ? "index" : type)
  }
}
