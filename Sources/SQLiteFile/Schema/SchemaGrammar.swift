/// Parses a CREATE statement of the schema word by word. The parser is as strict as SQLite's own grammar (parse.y).
///
/// In expressions, queries and trigger bodies, only tokens and parentheses are checked. If the statement contains such
/// a part, ``hasUnjudged`` is true.
package struct SchemaGrammar {
  package struct Defect: Error {
    package let message: String

    package init(message: String) {
      self.message = message
    }
  }

  private let tokens: [SQLToken]
  private var position = 0
  /// The columns of the table that were parsed so far. The type is nil if no type is declared, and "other" if it is not
  /// a single word.
  private var columns: [(name: String, type: String?)] = []
  /// The column that is declared with AUTOINCREMENT.
  private var numbered: (name: String, type: String?)?
  /// Whether the grammar has skipped a part of the statement that it does not check: an expression, a query or a
  /// trigger body.
  package private(set) var hasUnjudged = false

  package init(_ tokens: [SQLToken]) { self.tokens = tokens }

  package static func isTable(_ sql: String) -> Bool {
    let tokens = SQLToken.statement(in: Array(sql.utf8))
    return tokens.count > 1 && tokens[0].isKeyword("CREATE") && tokens[1].isKeyword("TABLE")
  }

  /// Whether SQLite rejects a CREATE TABLE statement because of its words or their order.
  package static func refusesTable(_ sql: String) -> Bool {
    let bytes = Array(SQLToken.statementBytes(of: Array(sql.utf8)))
    guard SchemaLexis.defect(in: bytes) == nil else { return true }
    var grammar = SchemaGrammar(SQLToken.all(in: bytes))
    do throws(Defect) {
      _ = try grammar.table()
      return false
    } catch {
      return true
    }
  }

  /// The keywords that SQLite never takes as identifiers, unless they are quoted.
  private static let reserved: Set<String> = [
    "ADD", "ALL", "ALTER", "AND", "AS", "AUTOINCREMENT", "BETWEEN", "CASE", "CHECK", "COLLATE",
    "COMMIT", "CONSTRAINT", "CREATE", "DEFAULT", "DEFERRABLE", "DELETE", "DISTINCT", "DROP", "ELSE",
    "ESCAPE", "EXISTS", "FOREIGN", "FROM", "GROUP", "HAVING", "IN", "INDEX", "INSERT", "INTO", "IS",
    "ISNULL", "LIMIT", "NOT", "NOTNULL", "NULL", "ON", "OR", "ORDER", "PRIMARY", "REFERENCES",
    "SELECT", "SET", "TABLE", "THEN", "TO", "TRANSACTION", "UNIQUE", "UPDATE", "USING", "VALUES",
    "WHEN", "WHERE",
  ]

  // MARK: - Words

  package var current: SQLToken? { position < tokens.count ? tokens[position] : nil }

  private mutating func take(_ keyword: String) -> Bool {
    guard current?.isKeyword(keyword) == true else { return false }
    position += 1
    return true
  }

  private mutating func take(punctuation: String) -> Bool {
    guard current?.isPunctuation(punctuation) == true else { return false }
    position += 1
    return true
  }

  private func unexpected(_ wanted: String) -> Defect {
    guard let token = current else { return Defect(message: "it ends where \(wanted) is expected") }
    return Defect(message: "\"\(token.text.prefix(40))\" is found where \(wanted) is expected")
  }

  private mutating func expect(_ keywords: String...) throws(Defect) {
    for keyword in keywords where !take(keyword) { throw unexpected(keyword) }
  }

  private mutating func expect(punctuation: String) throws(Defect) {
    guard take(punctuation: punctuation) else { throw unexpected(punctuation) }
  }

  /// Parses CREATE and the kind of object. TEMP is accepted and ignored, because all objects of a schema belong to the
  /// file that contains the schema.
  private mutating func create(_ what: String) throws(Defect) {
    try expect("CREATE")
    if !take("TEMP") { _ = take("TEMPORARY") }
    try expect(what)
  }

  private func isName(_ token: SQLToken) -> Bool {
    switch token.kind {
    case .quotedIdentifier, .string: true
    case .word: !Self.reserved.contains(token.text.uppercased())
    default: false
    }
  }

  private mutating func name(_ what: String) throws(Defect) -> String {
    guard let token = current, isName(token) else { throw unexpected(what) }
    position += 1
    return token.text
  }

  private mutating func expression() throws(Defect) {
    try expect(punctuation: "(")
    hasUnjudged = true
    if current?.isPunctuation(")") == true { throw unexpected("an expression") }
    var depth = 1
    while let token = current {
      // Arguments and row values are inside further parentheses, so no comma is allowed at depth 1.
      if depth == 1, token.isPunctuation(",") { throw unexpected(")") }
      position += 1
      if token.isPunctuation("(") { depth += 1 }
      if token.isPunctuation(")") { depth -= 1 }
      if depth == 0 { return }
    }
    throw unexpected(")")
  }

  private mutating func end() throws(Defect) {
    guard current == nil || current?.isPunctuation(";") == true else {
      throw unexpected("its end")
    }
  }

  // MARK: - Tables

  package struct TableNames {
    package var name: String
    package var columns: [String] = []
  }

  package mutating func table() throws(Defect) -> TableNames {
    try create("TABLE")
    if take("IF") { try expect("NOT", "EXISTS") }
    var table = TableNames(name: try name("the name of a table"))
    try expect(punctuation: "(")
    var keys = 0
    var seen: Set<SQLName> = []
    var used: [String] = []
    var stored = 0
    repeat {
      if isTableConstraint { break }
      let column = try column(&keys)
      guard seen.insert(SQLName(column.name)).inserted else {
        throw Defect(message: "it has two columns named \(column.name)")
      }
      table.columns.append(column.name)
      if !column.isGenerated { stored += 1 }
    } while take(punctuation: ",")
    guard stored > 0 else { throw Defect(message: "it has no stored column") }
    while isTableConstraint {
      try tableConstraint(&keys, &used)
      _ = take(punctuation: ",")
    }
    try expect(punctuation: ")")
    guard keys <= 1 else { throw Defect(message: "it has two primary keys") }
    if let column = numbered {
      guard let type = column.type, SQLName.isSame(type, "INTEGER") else {
        throw Defect(message: "AUTOINCREMENT is allowed only on an INTEGER PRIMARY KEY")
      }
    }
    for name in used where !seen.contains(SQLName(name)) {
      throw Defect(message: "a constraint names the column \(name), which does not exist")
    }
    if current != nil, current?.isPunctuation(";") != true {
      // A comma may come before the first option.
      _ = take(punctuation: ",")
      repeat {
        if take("STRICT") {
          try judgeStrict()
          continue
        }
        try expect("WITHOUT", "ROWID")
        guard keys == 1 else { throw Defect(message: "it has neither row ids nor a primary key") }
      } while take(punctuation: ",")
    }
    try end()
    return table
  }

  private static let tableConstraints = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]

  private var isTableConstraint: Bool {
    Self.tableConstraints.contains { current?.isKeyword($0) == true }
  }

  /// Throws if a column has a type that is not allowed in a STRICT table ("STRICT Tables", section 2).
  private func judgeStrict() throws(Defect) {
    for column in columns where !Self.strictTypes.contains(SQLName(column.type ?? "")) {
      let type = column.type.map { "the type \($0), which is not allowed there" } ?? "no type"
      throw Defect(message: "the column \(column.name) of a STRICT table has \(type)")
    }
  }

  private static let strictTypes = Set(
    ["INT", "INTEGER", "REAL", "TEXT", "BLOB", "ANY"].map { SQLName($0) })

  private mutating func column(_ keys: inout Int) throws(Defect) -> (
    name: String, isGenerated: Bool
  ) {
    let column = try name("the name of a column")
    let typeStart = position
    try type()
    // Types of several words, or with a length, need not be distinguished here.
    let wordCount = SQLToken.endOfType(in: tokens, typeStart..<position) - typeStart
    columns.append(
      (column, wordCount == 0 ? nil : wordCount == 1 ? tokens[typeStart].text : "other"))
    var isGenerated = false
    constraints: while let token = current, token.kind == .word {
      switch token.text.uppercased() {
      case "CONSTRAINT":
        position += 1
        _ = try name("the name of a constraint")
      case "DEFAULT":
        position += 1
        try defaultValue()
      case "NULL":
        position += 1
        try conflict()
      case "NOT":
        position += 1
        if take("DEFERRABLE") {
          try initially()
        } else {
          try expect("NULL")
          try conflict()
        }
      case "PRIMARY":
        position += 1
        try expect("KEY")
        keys += 1
        let isDescending = !take("ASC") && take("DESC")
        try conflict()
        if take("AUTOINCREMENT") { numbered = isDescending ? (column, nil) : columns.last }
      case "UNIQUE":
        position += 1
        try conflict()
      case "CHECK":
        position += 1
        try expression()
      case "REFERENCES": try references()
      case "DEFERRABLE":
        position += 1
        try initially()
      case "COLLATE":
        position += 1
        _ = try name("the name of a collation")
      case "GENERATED", "AS":
        if take("GENERATED") { try expect("ALWAYS") }
        try expect("AS")
        try expression()
        isGenerated = true
        if !take("STORED") { _ = take("VIRTUAL") }
      default: break constraints
      }
    }
    return (column, isGenerated)
  }

  private mutating func type() throws(Defect) {
    var hasWords = false
    while let token = current, isName(token) {
      position += 1
      hasWords = true
    }
    guard hasWords, take(punctuation: "(") else { return }
    try signedNumber()
    if take(punctuation: ",") { try signedNumber() }
    try expect(punctuation: ")")
  }

  private mutating func signedNumber() throws(Defect) {
    if !take(punctuation: "+") { _ = take(punctuation: "-") }
    guard current?.kind == .number else { throw unexpected("a number") }
    position += 1
  }

  private mutating func defaultValue() throws(Defect) {
    if current?.isPunctuation("(") == true { return try expression() }
    let isSigned = take(punctuation: "+") || take(punctuation: "-")
    guard let token = current, token.kind != .punctuation, token.kind != .parameter,
      isName(token) || token.kind != .word || token.isKeyword("NULL")
    else { throw unexpected("a value") }
    if isSigned, token.kind == .quotedIdentifier { throw unexpected("a value") }
    position += 1
  }

  private mutating func conflict() throws(Defect) {
    guard take("ON") else { return }
    try expect("CONFLICT")
    guard ["ROLLBACK", "ABORT", "FAIL", "IGNORE", "REPLACE"].contains(where: { take($0) }) else {
      throw unexpected("a conflict action such as ABORT")
    }
  }

  private mutating func initially() throws(Defect) {
    guard take("INITIALLY") else { return }
    guard take("DEFERRED") || take("IMMEDIATE") else { throw unexpected("DEFERRED") }
  }

  private mutating func references() throws(Defect) {
    try expect("REFERENCES")
    _ = try name("the name of a table")
    if current?.isPunctuation("(") == true { _ = try names() }
    while true {
      if take("ON") {
        guard take("DELETE") || take("UPDATE") || take("INSERT") else { throw unexpected("DELETE") }
        if take("SET") {
          guard take("NULL") || take("DEFAULT") else { throw unexpected("NULL") }
        } else if take("NO") {
          try expect("ACTION")
        } else if !take("CASCADE"), !take("RESTRICT") {
          throw unexpected("what to do")
        }
      } else if take("MATCH") {
        _ = try name("a name")
      } else {
        return
      }
    }
  }

  private mutating func names() throws(Defect) -> [String] {
    try expect(punctuation: "(")
    var names: [String] = []
    repeat {
      names.append(try name("the name of a column"))
      if take("COLLATE") { _ = try name("the name of a collation") }
      if !take("ASC") { _ = take("DESC") }
    } while take(punctuation: ",")
    try expect(punctuation: ")")
    return names
  }

  /// Parses the columns of a PRIMARY KEY or UNIQUE constraint; each may be in parentheses and have several collations.
  private mutating func keyColumns() throws(Defect) -> [String] {
    try expect(punctuation: "(")
    var columns: [String] = []
    repeat {
      var depth = 0
      while take(punctuation: "(") { depth += 1 }
      columns.append(try name("the name of a column"))
      while depth > 0 || current?.isKeyword("COLLATE") == true {
        if take("COLLATE") {
          _ = try name("the name of a collation")
        } else {
          try expect(punctuation: ")")
          depth -= 1
        }
      }
      if !take("ASC") { _ = take("DESC") }
    } while take(punctuation: ",")
    _ = take("AUTOINCREMENT")
    try expect(punctuation: ")")
    return columns
  }

  private mutating func tableConstraint(_ keys: inout Int, _ used: inout [String]) throws(Defect) {
    if take("CONSTRAINT") {
      _ = try name("the name of a constraint")
    } else if take("PRIMARY") {
      try expect("KEY")
      keys += 1
      used += try keyColumns()
      try conflict()
    } else if take("UNIQUE") {
      used += try keyColumns()
      try conflict()
    } else if take("CHECK") {
      try expression()
      try conflict()
    } else {
      try expect("FOREIGN", "KEY")
      used += try names()
      try references()
      if take("NOT") {
        try expect("DEFERRABLE")
        try initially()
      } else if take("DEFERRABLE") {
        try initially()
      }
    }
  }

  // MARK: - Other statements

  /// The names in a CREATE INDEX statement. `columns` contains those parts of the index that are plain columns.
  package struct IndexNames {
    package var name: String
    package var table: String
    package var columns: [String] = []
  }

  package mutating func index() throws(Defect) -> IndexNames {
    try expect("CREATE")
    _ = take("UNIQUE")
    try expect("INDEX")
    if take("IF") { try expect("NOT", "EXISTS") }
    let own = try name("the name of an index")
    try expect("ON")
    var index = IndexNames(name: own, table: try name("the name of a table"))
    try expect(punctuation: "(")
    repeat {
      if let column = try indexedColumn() { index.columns.append(column) }
    } while take(punctuation: ",")
    try expect(punctuation: ")")
    if take("WHERE") {
      hasUnjudged = true
      guard current != nil else { throw unexpected("an expression") }
    } else {
      try end()
    }
    return index
  }

  /// Parses a part of an index. Returns the name of the column; for an expression, skips it and returns nil.
  private mutating func indexedColumn() throws(Defect) -> String? {
    let start = position
    if let token = current, isName(token) {
      position += 1
      if take("COLLATE") { _ = try name("the name of a collation") }
      if !take("ASC") { _ = take("DESC") }
      if current?.isPunctuation(",") == true || current?.isPunctuation(")") == true {
        // SQLite treats a string as a constant, and also a double-quoted word that is not the name of a column.
        return token.kind == .word ? token.text : nil
      }
    }
    position = start
    hasUnjudged = true
    var depth = 0
    while let token = current {
      if depth == 0, token.isPunctuation(",") || token.isPunctuation(")") { break }
      if token.isPunctuation("(") { depth += 1 }
      if token.isPunctuation(")") { depth -= 1 }
      position += 1
    }
    guard position > start else { throw unexpected("a column") }
    return nil
  }

  package mutating func view() throws(Defect) -> String {
    try create("VIEW")
    if take("IF") { try expect("NOT", "EXISTS") }
    let name = try name("the name of a view")
    if current?.isPunctuation("(") == true { _ = try names() }
    try expect("AS")
    guard ["SELECT", "VALUES", "WITH"].contains(where: { current?.isKeyword($0) == true }) else {
      throw unexpected("SELECT")
    }
    hasUnjudged = true
    return name
  }

  /// Parses a CREATE TRIGGER statement. Returns the name of the trigger, and the name of its table or view.
  package mutating func trigger() throws(Defect) -> (name: String, table: String) {
    try create("TRIGGER")
    if take("IF") { try expect("NOT", "EXISTS") }
    let own = try name("the name of a trigger")
    if take("INSTEAD") { try expect("OF") } else if !take("BEFORE") { _ = take("AFTER") }
    if take("UPDATE") {
      if take("OF") {
        repeat { _ = try name("the name of a column") } while take(punctuation: ",")
      }
    } else if !take("DELETE"), !take("INSERT") {
      throw unexpected("DELETE, INSERT or UPDATE")
    }
    try expect("ON")
    let table = try name("the name of a table")
    if take("FOR") { try expect("EACH", "ROW") }
    hasUnjudged = true
    guard tokens[position...].contains(where: { $0.isKeyword("BEGIN") }) else {
      throw Defect(message: "it has no BEGIN")
    }
    let last = tokens.last { !$0.isPunctuation(";") }
    guard last?.isKeyword("END") == true else { throw Defect(message: "it has no END") }
    return (own, table)
  }

  package mutating func virtualTable() throws(Defect) -> String {
    try expect("CREATE", "VIRTUAL", "TABLE")
    if take("IF") { try expect("NOT", "EXISTS") }
    let name = try name("the name of a table")
    try expect("USING")
    _ = try self.name("the name of a module")
    hasUnjudged = true
    return name
  }
}
