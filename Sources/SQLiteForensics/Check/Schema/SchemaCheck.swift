import SQLiteFile

/// Checks the CREATE statements of the schema table (file format, section 2.6) against SQLite's grammar and against
/// each other. SQLite refuses the whole file if it cannot parse one of these statements.
struct SchemaCheck {
  private(set) var findings: [Finding] = []
  /// The number of statements with parts that only SQLite can judge: expressions, queries, triggers and modules.
  /// Statements that are too long are included.
  private(set) var unjudgedCount = 0
  /// The names of the tables, indexes, views and triggers whose CREATE statements are too long to be checked.
  private(set) var tooLong: [String] = []
  /// The maximum length, in bytes, of a CREATE statement that is checked. In a hostile file, statements may be of any
  /// length.
  private static let longestStatement = 1 << 20

  private var columns: [SQLName: Set<SQLName>] = [:]
  private var names: Set<SQLName> = []
  private var triggers: Set<SQLName> = []
  /// `automaticIndexes`: the automatic indexes that the schema has.
  /// `wantedIndexes`: the automatic indexes that the constraints of the tables need.
  private var automaticIndexes: Set<SQLName> = []
  private var wantedIndexes: Set<SQLName> = []
  /// Whether ``wantedIndexes`` is complete. False if the constraints of a table are not known.
  private var knowsWantedIndexes = true

  init(_ schema: Schema) {
    for entry in schema.entries where entry.type == "index" && entry.sql == nil {
      automaticIndexes.insert(SQLName(entry.name))
    }
    // Tables are judged first, because the entry of an index may come before the entry of its table: SQLite reads
    // entries in the order of row ids.
    for entry in schema.entries where entry.type == "table" { judge(entry) }
    for entry in schema.entries where entry.type != "table" { judge(entry) }
    for table in schema.tables where schema.isStatementIgnored(of: table) {
      findings.append(.tooFewColumns(table.name))
    }
    guard knowsWantedIndexes else { return }
    for entry in schema.entries
    where entry.type == "index" && entry.sql == nil && !wantedIndexes.contains(SQLName(entry.name))
    {
      refuse(entry, "the index is automatic, but no constraint of its table needs it")
    }
  }

  private mutating func judge(_ entry: SchemaEntry) {
    guard ["table", "index", "view", "trigger"].contains(entry.type) else {
      return add(entry, .schemaBadType, "an entry of the schema has an unknown type")
    }
    guard let sql = entry.sql, !sql.isEmpty else {
      if entry.type != "index" || !SQLName(entry.name).hasPrefix("sqlite_autoindex_") {
        let id: Finding.ID =
          entry.type == "table" && entry.rootPage > 0 ? .schemaUnreadable : .schemaNoSQL
        add(entry, id, "the \(entry.type) \(entry.name) has no CREATE statement")
      }
      return leaveOpen(entry)
    }
    guard sql.utf8.count <= Self.longestStatement else {
      unjudgedCount += 1
      tooLong.append(entry.name)
      return leaveOpen(entry)
    }
    let bytes = Array(SQLToken.statementBytes(of: Array(sql.utf8)))
    // SQLite treats the text of an entry as a statement only if the text begins with the letters "cr", in either case.
    let defect =
      bytes.first.map { $0 | 0x20 } == UInt8(ascii: "c")
      ? SchemaLexis.defect(in: bytes)
      : "the statement does not begin with CREATE"
    if let defect {
      leaveOpen(entry)
      return refuse(entry, defect)
    }
    var grammar = SchemaGrammar(SQLToken.all(in: bytes))
    do throws(SchemaGrammar.Defect) {
      try compare(entry, &grammar)
    } catch {
      leaveOpen(entry)
      refuse(entry, error.message)
    }
    if grammar.hasUnjudged { unjudgedCount += 1 }
  }

  /// Notes that the table of `entry` exists, without judging its CREATE statement. Otherwise the indexes of the table
  /// would be refused, because their table would seem to be missing. Does nothing for an entry that is not a table.
  private mutating func leaveOpen(_ entry: SchemaEntry) {
    guard entry.type == "table" else { return }
    if columns[SQLName(entry.name)] == nil { columns[SQLName(entry.name)] = [] }
    knowsWantedIndexes = false
  }

  private mutating func compare(_ entry: SchemaEntry, _ grammar: inout SchemaGrammar)
    throws(SchemaGrammar.Defect)
  {
    let named: String
    var table = entry.tableName
    switch entry.type {
    case "table" where entry.rootPage == 0:
      // Only the module knows the columns of a virtual table.
      named = try grammar.virtualTable()
    case "table":
      columns[SQLName(entry.name)] = []
      let found = try grammar.table()
      named = found.name
      columns[SQLName(entry.name)] = Set(found.columns.map { SQLName($0) })
      try judgeAutomaticIndexes(of: entry)
    case "index":
      let found = try grammar.index()
      named = found.name
      table = found.table
      // An empty set means that the statement of the table is not judged.
      if let there = columns[SQLName(table)], !there.isEmpty {
        for column in found.columns where !there.contains(SQLName(column)) {
          throw SchemaGrammar.Defect(message: "the indexed table has no column \(column)")
        }
      } else if columns[SQLName(table)] == nil {
        throw SchemaGrammar.Defect(message: "there is no table \(table)")
      }
    case "view": named = try grammar.view()
    default: (named, table) = try grammar.trigger()
    }
    if entry.type == "table" || entry.type == "view" { table = named }
    guard SQLName.isSame(named, entry.name) else {
      throw SchemaGrammar.Defect(
        message: "the statement creates \(named), but its schema entry names \(entry.name)")
    }
    guard SQLName.isSame(table, entry.tableName) else {
      throw SchemaGrammar.Defect(
        message: "the statement is for the table \(table), "
          + "but its schema entry names \(entry.tableName)"
      )
    }
    let isNew =
      entry.type == "trigger"
      ? triggers.insert(SQLName(named)).inserted : names.insert(SQLName(named)).inserted
    guard isNew else {
      throw SchemaGrammar.Defect(message: "the schema has two entries with this name")
    }
  }

  /// Checks that the schema has the automatic indexes that the constraints of a table need. SQLite creates an automatic
  /// index for each constraint that needs one, and looks the index up by its name. Equal constraints share one index.
  private mutating func judgeAutomaticIndexes(of entry: SchemaEntry) throws(SchemaGrammar.Defect) {
    guard let wanted = entry.sql.flatMap({ TableDefinition(sql: $0) })?.automaticIndexes else {
      knowsWantedIndexes = false
      return
    }
    var missing = 0
    for index in wanted {
      let name = SQLName("sqlite_autoindex_\(entry.name)_\(index.number)")
      wantedIndexes.insert(name)
      if !automaticIndexes.contains(name) { missing += 1 }
    }
    guard missing == 0 else {
      throw SchemaGrammar.Defect(
        message:
          "the constraints of the table need \(wanted.count) automatic indexes, but the schema lacks \(missing) of them"
      )
    }
  }

  private mutating func refuse(_ entry: SchemaEntry, _ defect: String) {
    let isReadable = entry.type != "table" || entry.sql.flatMap { TableDefinition(sql: $0) } != nil
    guard isReadable || entry.rootPage == 0 else {
      return add(
        entry, .schemaUnreadable,
        "the CREATE statement of \(entry.name) is not readable: \(defect)")
    }
    add(
      entry, .schemaBadSQL,
      "SQLite refuses the CREATE statement of the \(entry.type), and the whole file with it: \(defect)"
    )
  }

  private mutating func add(_ entry: SchemaEntry, _ id: Finding.ID, _ message: String) {
    guard findings.count < FindingList.limit else { return }
    findings.append(Finding(id, message, table: entry.name))
  }
}
