/// Reads those parts of a CREATE TABLE statement that determine how rows are stored.
struct TableParser {
  private let sql: [UInt8]
  private let tokens: [SQLToken]
  private var position = 0

  /// Creates a parser of a CREATE TABLE statement. The parser stops where SQLite would end the statement. If `isWhole`
  /// is true, the parser reads all of `sql`.
  init(_ sql: String, isWhole: Bool = false) {
    self.sql = Array(sql.utf8)
    tokens = isWhole ? SQLToken.all(in: self.sql) : SQLToken.statement(in: self.sql)
  }

  /// A column that is being parsed. A constraint that follows may still change it.
  private struct Draft {
    var name: String
    var type = ""
    var hasType = false
    /// Whether the column's declared type is a single word.
    var isOneWord = false
    var defaultTokens: [SQLToken]?
    var collation = "BINARY"
    var generation = TableDefinition.Column.Generation.none
    var isPrimaryKey = false
    var isNotNull = false
    var isDescendingKey = false

    /// Whether the type is INTEGER, regardless of case.
    var isInteger: Bool {
      isOneWord && SQLName.isSame(type, "INTEGER")
    }
  }

  private struct KeyPart {
    var column: String
    var collation: String?
    var isDescending = false
    var isExpression = false
  }

  /// A constraint for which SQLite creates an index: UNIQUE or PRIMARY KEY.
  private struct UniqueConstraint {
    var isPrimaryKey: Bool
    var isOfTable: Bool
    var parts: [KeyPart]
  }

  private var constraints: [UniqueConstraint] = []

  private static let constraintWords: Set<String> = [
    "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES",
    "AS", "ON", "DEFERRABLE",
  ]

  private static let tableConstraintWords: Set<String> = [
    "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN",
  ]

  mutating func parse() -> TableDefinition? {
    guard take("CREATE") else { return nil }
    if !take("TEMP") { _ = take("TEMPORARY") }
    guard take("TABLE") else { return nil }
    if take("IF") { _ = take("NOT") && take("EXISTS") }
    guard current != nil else { return nil }
    position += 1
    if takePunctuation(".") { position += 1 }
    guard takePunctuation("(") else { return nil }

    var drafts: [Draft] = []
    var key: [KeyPart] = []
    var isTableKey = false
    while let token = current, !token.isPunctuation(")") {
      let start = position
      if isTableConstraintWord(token) {
        tableConstraint(&key, &isTableKey)
      } else if let draft = column() {
        drafts.append(draft)
      }
      // If a part of the statement is not understood, it is skipped word by word.
      if !takePunctuation(","), position == start { position += 1 }
    }
    _ = takePunctuation(")")
    var isWithoutRowID = false
    var isStrict = false
    while current != nil {
      if take("WITHOUT") {
        isWithoutRowID = take("ROWID") || isWithoutRowID
      } else if take("STRICT") {
        isStrict = true
      } else {
        position += 1
      }
    }
    return table(drafts, key, isTableKey, isWithoutRowID, isStrict)
  }

  private func table(
    _ drafts: [Draft], _ key: [KeyPart], _ isTableKey: Bool, _ isWithoutRowID: Bool,
    _ isStrict: Bool
  ) -> TableDefinition? {
    guard !drafts.isEmpty else { return nil }
    var parts = key
    if !isTableKey, let draft = drafts.first(where: \.isPrimaryKey) {
      parts = [KeyPart(column: draft.name, isDescending: draft.isDescendingKey)]
    }
    let places = Dictionary(
      drafts.enumerated().map { (SQLName($1.name), $0) }, uniquingKeysWith: { first, _ in first })
    var seen: Set<TableDefinition.KeyPart.Stored> = []
    let keyParts = parts.compactMap { part -> TableDefinition.KeyPart? in
      guard let key = Self.part(part, drafts, places) else { return nil }
      // If the key lists a column twice, the column is stored once, unless its collations differ.
      return seen.insert(key.stored).inserted ? key : nil
    }
    let primaryKey = keyParts.map(\.column)
    var rowIDColumn: Int?
    if !isWithoutRowID, parts.count == 1, let only = primaryKey.first,
      drafts[only].isInteger, isTableKey || !drafts[only].isDescendingKey
    {
      rowIDColumn = only
    }
    return TableDefinition(
      columns: drafts.map { draft in
        // An empty type name in quotes is a declared type, although it is empty.
        let affinity =
          draft.hasType && draft.type.isEmpty
          ? .numeric : TableDefinition.Affinity(declaredType: draft.type, isStrict: isStrict)
        let value = draft.defaultTokens.map { Self.constant($0, affinity) } ?? .some(.null)
        return TableDefinition.Column(
          name: draft.name, declaredType: draft.type, affinity: affinity,
          defaultValue: value, collation: draft.collation,
          generation: draft.generation, isNotNull: draft.isNotNull)
      },
      rowIDColumn: rowIDColumn, primaryKey: primaryKey, isWithoutRowID: isWithoutRowID,
      isStrict: isStrict,
      // AUTOINCREMENT is a reserved word, so the word cannot be a name unless it is quoted.
      isAutoincrement: rowIDColumn != nil
        && tokens.contains { $0.isKeyword("AUTOINCREMENT") },
      keyParts: keyParts,
      automaticIndexes: automaticIndexes(
        drafts, places, isWithoutRowID: isWithoutRowID),
      hasChecks: tokens.contains { $0.isKeyword("CHECK") })
  }

  private static func part(
    _ part: KeyPart, _ drafts: [Draft], _ places: [SQLName: Int]
  ) -> TableDefinition.KeyPart? {
    guard let index = places[SQLName(part.column)] else { return nil }
    return TableDefinition.KeyPart(
      column: index, collation: part.collation ?? drafts[index].collation,
      isDescending: part.isDescending)
  }

  /// Returns the indexes that SQLite creates for constraints, numbered in the order of the constraints. Equal
  /// constraints share one index (`sqlite3CreateIndex`). The primary key of a WITHOUT ROWID table counts in the
  /// numbering but has no index of its own.
  private func automaticIndexes(
    _ drafts: [Draft], _ places: [SQLName: Int], isWithoutRowID: Bool
  ) -> [TableDefinition.AutomaticIndex]? {
    var made: [(parts: [TableDefinition.KeyPart], isPrimaryKey: Bool)] = []
    var known: [[TableDefinition.KeyPart.Stored]: Int] = [:]
    for constraint in constraints {
      let parts = constraint.parts.compactMap { Self.part($0, drafts, places) }
      guard parts.count == constraint.parts.count, !constraint.parts.contains(where: \.isExpression)
      else { return nil }
      if constraint.isPrimaryKey {
        // A primary key on a single INTEGER column is the row id. In a WITHOUT ROWID table, SQLite creates the index of
        // such a key only after the whole statement has been parsed.
        let isInteger =
          parts.count == 1 && drafts[parts[0].column].isInteger
          && (constraint.isOfTable || !parts[0].isDescending)
        if isInteger { continue }
      }
      let key = parts.map(\.stored)
      if let equal = known[key] {
        if constraint.isPrimaryKey { made[equal].isPrimaryKey = true }
      } else {
        known[key] = made.count
        made.append((parts, constraint.isPrimaryKey))
      }
    }
    return made.enumerated().compactMap { number, index in
      isWithoutRowID && index.isPrimaryKey
        ? nil : TableDefinition.AutomaticIndex(number: number + 1, parts: index.parts)
    }
  }

  // MARK: - Parts

  private mutating func column() -> Draft? {
    guard let name = current, name.kind != .punctuation, name.kind != .parameter else {
      return nil
    }
    position += 1
    var draft = Draft(name: name.text)
    let typeStart = position
    while let token = current, !isEndOfPart(token), !isConstraintWord(token) {
      if token.isPunctuation("(") { skipParentheses() } else { position += 1 }
    }
    let typeEnd = SQLToken.endOfType(in: tokens, typeStart..<position)
    if typeStart < typeEnd {
      let range = tokens[typeStart].range.lowerBound..<tokens[typeEnd - 1].range.upperBound
      draft.type = String(decoding: sql[range], as: UTF8.self)
      draft.hasType = true
      // If the type begins with a quoted word, SQLite removes the quotes and drops everything after them
      // (`sqlite3Dequote`).
      draft.isOneWord = typeEnd - typeStart == 1
      if draft.isOneWord || [.string, .quotedIdentifier].contains(tokens[typeStart].kind) {
        draft.type = tokens[typeStart].text
      }
    }
    while let token = current, !isEndOfPart(token) {
      position += 1
      switch token.kind == .word ? token.text.uppercased() : "" {
      case "UNIQUE":
        constraints.append(
          UniqueConstraint(
            isPrimaryKey: false, isOfTable: false, parts: [KeyPart(column: draft.name)]))
      case "CONSTRAINT", "REFERENCES", "MATCH":
        // The name after this keyword may itself be a keyword, for example GENERATED.
        if let name = current, !isEndOfPart(name) { position += 1 }
      case "PRIMARY":
        _ = take("KEY")
        draft.isPrimaryKey = true
        if take("DESC") { draft.isDescendingKey = true }
        constraints.append(
          UniqueConstraint(
            isPrimaryKey: true, isOfTable: false,
            parts: [KeyPart(column: draft.name, isDescending: draft.isDescendingKey)]))
      case "NOT":
        if take("NULL") { draft.isNotNull = true }
      case "COLLATE":
        if let collation = current {
          draft.collation = collation.text
          position += 1
        }
      case "DEFAULT":
        draft.defaultTokens = defaultTokens()
      case "SET":
        // This skips the DEFAULT or NULL of ON DELETE SET DEFAULT and ON DELETE SET NULL.
        if current != nil, !take("DEFAULT") { _ = take("NULL") }
      case "GENERATED", "AS":
        _ = take("ALWAYS") && take("AS")
        if let token = current, token.isPunctuation("(") { skipParentheses() }
        draft.generation = .virtual
        if take("STORED") { draft.generation = .stored } else { _ = take("VIRTUAL") }
      default:
        if token.isPunctuation("(") {
          position -= 1
          skipParentheses()
        }
      }
    }
    return draft
  }

  private mutating func defaultTokens() -> [SQLToken] {
    guard let first = current else { return [] }
    let start = position
    if first.isPunctuation("(") {
      skipParentheses()
    } else {
      position += 1
      if first.isPunctuation("+") || first.isPunctuation("-"), current != nil { position += 1 }
    }
    return Array(tokens[start..<position])
  }

  private mutating func tableConstraint(_ key: inout [KeyPart], _ isTableKey: inout Bool) {
    if take("CONSTRAINT"), current != nil { position += 1 }
    if take("PRIMARY") {
      _ = take("KEY")
      isTableKey = true
      key = keyParts()
      constraints.append(UniqueConstraint(isPrimaryKey: true, isOfTable: true, parts: key))
    } else if take("UNIQUE") {
      constraints.append(
        UniqueConstraint(isPrimaryKey: false, isOfTable: true, parts: keyParts()))
    } else if let token = current, isTableConstraintWord(token) {
      position += 1
    }
    while let token = current, !isEndOfPart(token) {
      // The next constraint may follow without a comma before it.
      if isTableConstraintWord(token) { return }
      if token.isPunctuation("(") { skipParentheses() } else { position += 1 }
    }
  }

  private mutating func keyParts() -> [KeyPart] {
    guard takePunctuation("(") else { return [] }
    var parts: [KeyPart] = []
    while let token = current, !token.isPunctuation(")") {
      if !takePunctuation(",") { parts.append(keyPart()) }
    }
    _ = takePunctuation(")")
    return parts
  }

  /// Parses a part of a key. SQLite treats a column in parentheses like a column without them.
  private mutating func keyPart() -> KeyPart {
    var depth = 0
    while takePunctuation("(") { depth += 1 }
    var part = KeyPart(column: "", isExpression: true)
    if let token = current {
      part.column = token.text
      part.isExpression = [.punctuation, .number, .parameter].contains(token.kind)
      position += 1
    }
    while let token = current, depth > 0 || !isEndOfPart(token) {
      position += 1
      if token.isKeyword("COLLATE"), let collation = current {
        part.collation = collation.text
        position += 1
      } else if token.isPunctuation(")") {
        depth -= 1
      } else if token.isKeyword("DESC") {
        part.isDescending = true
      } else if !token.isKeyword("ASC"), !token.isKeyword("AUTOINCREMENT") {
        part.isExpression = true
        if token.isPunctuation("(") { depth += 1 }
      }
    }
    return part
  }

  /// Returns the constant that the tokens of a DEFAULT clause represent, with the affinity applied; nil when the
  /// default would have to be computed. SQLite's own rules are in `valueFromExpr` (vdbemem.c).
  private static func constant(_ tokens: [SQLToken], _ affinity: TableDefinition.Affinity)
    -> StoredValue?
  {
    var tokens = tokens[...]
    var isNegative = false
    // This is a loop instead of a recursion, because a hostile statement can have 50,000 nested parentheses.
    while let first = tokens.first, tokens.count > 1 {
      if first.isPunctuation("("), tokens.last?.isPunctuation(")") == true {
        tokens = tokens.dropFirst().dropLast()
      } else if first.isPunctuation("+") {
        tokens = tokens.dropFirst()
      } else if first.isPunctuation("-"), !isNegative {
        isNegative = true
        tokens = tokens.dropFirst()
      } else {
        break
      }
    }
    guard let token = tokens.first, tokens.count == 1, !isNegative || token.kind == .number else {
      return nil
    }
    switch token.kind {
    case .number: return number(token.text, isNegative, affinity)
    case .string, .quotedIdentifier: return affinity.applied(to: .text(StoredText(token.text)))
    case .blob: return [UInt8](hexadecimal: Array(token.text.utf8)).map { .blob($0) }
    case .parameter: return .null
    case .punctuation: return nil
    case .word:
      switch token.text.uppercased() {
      case "NULL": return .null
      // SQLite does not apply text affinity to TRUE and FALSE.
      case "TRUE": return affinity == .real ? .real(1) : .integer(1)
      case "FALSE": return affinity == .real ? .real(0) : .integer(0)
      case "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP": return nil
      default: return affinity.applied(to: .text(StoredText(token.text)))
      }
    }
  }

  /// Returns the value of a number in a DEFAULT clause. A number that is not a 32-bit integer is first taken as text,
  /// so that a text column stores it as written: the value of `TEXT DEFAULT 1.50` is '1.50'.
  private static func number(
    _ text: String, _ isNegative: Bool, _ affinity: TableDefinition.Affinity
  ) -> StoredValue {
    let digits = String(decoding: text.utf8.filter { $0 != UInt8(ascii: "_") }, as: UTF8.self)
    let value: StoredValue
    if SQLName(digits).hasPrefix("0x"),
      let bits = UInt64(Substring(digits.utf8.dropFirst(2)), radix: 16)
    {
      let number = Int64(bitPattern: bits)
      value = isNegative && number == .min ? .real(0x1p63) : .integer(isNegative ? -number : number)
    } else if let number = Int32(digits) {
      value = .integer(isNegative ? -Int64(number) : Int64(number))
    } else {
      value = .text(StoredText((isNegative ? "-" : "") + digits))
    }
    return (affinity == .blob ? .numeric : affinity).applied(to: value)
  }

  // MARK: - Tokens

  private var current: SQLToken? { position < tokens.count ? tokens[position] : nil }

  private func isEndOfPart(_ token: SQLToken) -> Bool {
    token.isPunctuation(",") || token.isPunctuation(")")
  }

  /// Whether a token ends the type of a column. GENERATED does not, because SQLite reads it as a word of the type.
  private func isConstraintWord(_ token: SQLToken) -> Bool {
    token.kind == .word && Self.constraintWords.contains(token.text.uppercased())
  }

  private func isTableConstraintWord(_ token: SQLToken) -> Bool {
    token.kind == .word && Self.tableConstraintWords.contains(token.text.uppercased())
  }

  private mutating func take(_ keyword: String) -> Bool {
    guard let token = current, token.isKeyword(keyword) else { return false }
    position += 1
    return true
  }

  private mutating func takePunctuation(_ character: String) -> Bool {
    guard let token = current, token.isPunctuation(character) else { return false }
    position += 1
    return true
  }

  /// Skips a part in parentheses, from its opening parenthesis to the matching one or to the statement's end.
  private mutating func skipParentheses() {
    var depth = 0
    while let token = current {
      position += 1
      if token.isPunctuation("(") { depth += 1 }
      if token.isPunctuation(")") {
        depth -= 1
        if depth == 0 { return }
      }
    }
  }
}

extension [UInt8] {
  /// Creates the bytes that pairs of hexadecimal digits stand for; nil if `digits` are not such pairs.
  package init?(hexadecimal digits: [UInt8]) {
    guard digits.count % 2 == 0 else { return nil }
    self = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      let pair = String(decoding: digits[place..<place + 2], as: UTF8.self)
      guard let byte = UInt8(pair, radix: 16) else { return nil }
      append(byte)
    }
  }
}
