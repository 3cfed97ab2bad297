import SQLiteFile

/// The parts of a CREATE INDEX statement that are needed to check the entries of the index.
struct IndexDefinition {
  struct Part {
    var column: String
    /// The collation that the statement names. Nil if the statement names no collation; then the collation of the
    /// table's column applies.
    var collation: String?
    var isDescending = false
  }

  /// The indexed columns in the order of the statement. Nil if one of them is an expression or cannot be understood.
  let parts: [Part]?
  /// Whether the index has a WHERE clause, so that it may leave out rows.
  let isPartial: Bool
  let isUnique: Bool

  var columns: [String]? { parts?.map(\.column) }

  /// Reads a CREATE INDEX statement; nil for any other statement.
  init?(sql: String) {
    let tokens = SQLToken.statement(in: Array(sql.utf8))
    var position = 0
    func word(_ keyword: String) -> Bool {
      position < tokens.count && tokens[position].isKeyword(keyword)
    }
    guard word("CREATE") else { return nil }
    position += 1
    isUnique = word("UNIQUE")
    if isUnique { position += 1 }
    guard word("INDEX") else { return nil }
    while position < tokens.count, !word("ON") { position += 1 }
    while position < tokens.count, !tokens[position].isPunctuation("(") { position += 1 }
    guard position < tokens.count else { return nil }
    let (pieces, rest) = SQLToken.arguments(tokens[position...])
    isPartial = rest.contains { $0.isKeyword("WHERE") }
    let parts = pieces.compactMap(Self.part)
    self.parts = parts.count == pieces.count ? parts : nil
  }

  /// Reads one indexed column of a CREATE INDEX statement, for example `name COLLATE BINARY DESC`. Returns nil for an
  /// expression.
  private static func part(_ tokens: [SQLToken]) -> Part? {
    guard let first = tokens.first, first.kind == .word || first.kind == .quotedIdentifier else {
      return nil
    }
    var part = Part(column: first.text)
    var rest = tokens.dropFirst()
    if rest.first?.isKeyword("COLLATE") == true {
      part.collation = rest.dropFirst().first?.text
      rest = rest.dropFirst(2)
    }
    if rest.first?.isKeyword("ASC") == true || rest.first?.isKeyword("DESC") == true {
      part.isDescending = rest.first?.isKeyword("DESC") == true
      rest = rest.dropFirst()
    }
    return rest.isEmpty ? part : nil
  }
}
