/// Holds the statements of the schema table (file format, section 2.6) against SQLite's grammar and against each
/// other. SQLite refuses the whole file for one statement that it cannot parse.
struct SchemaCheck {
  private(set) var findings: [Finding] = []
  /// Statements with parts that only SQLite can judge: expressions, queries, triggers, modules.
  private(set) var unjudgedCount = 0
  /// Statements past which the rest is said to be not judged, in bytes: a hostile file may have any.
  private static let longestStatement = 1 << 20

  private var columns: [String: Set<String>] = [:]
  private var names: Set<String> = []
  /// The number of indexes that SQLite has made for a table by itself.
  private var automaticIndexes: [String: Int] = [:]

  /// Judges all statements.
  init(_ schema: Schema) {
    for entry in schema.entries where entry.type == "index" && entry.sql == nil {
      automaticIndexes[entry.tableName.lowercased(), default: 0] += 1
    }
    // Tables first: indexes may stand before them, and SQLite reads in the order of the row ids.
    for entry in schema.entries where entry.type == "table" { judge(entry) }
    for entry in schema.entries where entry.type != "table" { judge(entry) }
  }

  private mutating func judge(_ entry: SchemaEntry) {
    guard ["table", "index", "view", "trigger"].contains(entry.type) else {
      return add(entry, "schema.badType", "an entry has a type that the schema knows not")
    }
    guard let sql = entry.sql, !sql.isEmpty else {
      if entry.type != "index" || !entry.name.lowercased().hasPrefix("sqlite_autoindex_") {
        let id = entry.type == "table" && entry.rootPage > 0 ? "schema.unreadable" : "schema.noSQL"
        add(entry, id, "the \(entry.type) \(entry.name) has no CREATE statement")
      }
      return
    }
    guard sql.utf8.count <= Self.longestStatement else {
      unjudgedCount += 1
      return
    }
    let bytes = Array(sql.utf8)
    if let defect = SchemaLexis.defect(in: bytes) {
      if entry.type == "table" { columns[entry.name.lowercased()] = [] }
      return refuse(entry, defect)
    }
    var grammar = SchemaGrammar(SQLToken.all(in: bytes))
    do throws(SchemaGrammar.Defect) {
      try compare(entry, &grammar)
    } catch {
      refuse(entry, error.message)
    }
    if grammar.hasUnjudged { unjudgedCount += 1 }
  }

  private mutating func compare(_ entry: SchemaEntry, _ grammar: inout SchemaGrammar)
    throws(SchemaGrammar.Defect)
  {
    let named: String
    var table = entry.tableName
    switch entry.type {
    case "table" where entry.rootPage == 0:
      // Its module knows the columns.
      named = try grammar.virtualTable()
    case "table":
      columns[entry.name.lowercased()] = []
      let found = try grammar.table()
      named = found.name
      columns[entry.name.lowercased()] = Set(found.columns.map { $0.lowercased() })
      try judgeAutomaticIndexes(of: entry, found)
    case "index":
      let found = try grammar.index()
      named = found.name
      table = found.table
      // An empty set is a table that cannot be judged itself.
      if let there = columns[table.lowercased()], !there.isEmpty {
        for column in found.columns where !there.contains(column.lowercased()) {
          throw SchemaGrammar.Defect(message: "its table has no column \(column)")
        }
      } else if columns[table.lowercased()] == nil {
        throw SchemaGrammar.Defect(message: "there is no table \(table)")
      }
    case "view": named = try grammar.view()
    default: (named, table) = try grammar.trigger()
    }
    guard named.lowercased() == entry.name.lowercased() else {
      throw SchemaGrammar.Defect(message: "it makes \(named)")
    }
    guard table.lowercased() == entry.tableName.lowercased() else {
      throw SchemaGrammar.Defect(message: "it is on \(table), the entry says \(entry.tableName)")
    }
    let isNew = names.insert("\(entry.type == "trigger" ? "t" : "") \(named.lowercased())").inserted
    guard isNew else { throw SchemaGrammar.Defect(message: "there are two of this name") }
  }

  /// SQLite makes an index for each constraint that needs one, and finds it by its name in the schema. Constraints
  /// that say the same share one.
  private func judgeAutomaticIndexes(of entry: SchemaEntry, _ table: SchemaGrammar.TableNames)
    throws(SchemaGrammar.Defect)
  {
    guard let definition = entry.sql.flatMap({ TableDefinition(sql: $0) }),
      !definition.isWithoutRowID
    else { return }
    let hasKeyIndex = !definition.primaryKey.isEmpty && definition.rowIDColumn == nil
    let most = table.uniqueCount + (hasKeyIndex ? 1 : 0)
    let found = automaticIndexes[entry.name.lowercased(), default: 0]
    guard found <= most else {
      throw SchemaGrammar.Defect(
        message: "its constraints call for \(most) automatic indexes, the schema has \(found)")
    }
    guard found > 0 || most == 0 else {
      throw SchemaGrammar.Defect(
        message: "its constraints call for an automatic index, and the schema has none")
    }
  }

  private mutating func refuse(_ entry: SchemaEntry, _ defect: String) {
    let isReadable = entry.type != "table" || entry.sql.flatMap { TableDefinition(sql: $0) } != nil
    guard isReadable || entry.rootPage == 0 else {
      return add(
        entry, "schema.unreadable",
        "the CREATE statement of \(entry.name) is not readable: \(defect)")
    }
    add(
      entry, "schema.badSQL",
      "SQLite refuses the CREATE statement of the \(entry.type), and the whole file with it: \(defect)"
    )
  }

  private mutating func add(_ entry: SchemaEntry, _ id: String, _ message: String) {
    guard findings.count < FindingList.limit else { return }
    findings.append(Finding(id, message, table: entry.name))
  }
}
