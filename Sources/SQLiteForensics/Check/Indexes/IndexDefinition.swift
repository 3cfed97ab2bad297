import SQLiteFile

/// The parts of a CREATE INDEX statement that a check of the index's entries needs.
struct IndexDefinition {
  /// A part of an index.
  struct Part {
    var column: String
    /// Nil for the collation of the column.
    var collation: String?
    var isDescending = false
  }

  /// What is indexed; nil when a part is an expression, or is not known.
  let parts: [Part]?
  /// Whether the index leaves rows out (WHERE).
  let isPartial: Bool
  /// Whether no two entries may have the same values.
  let isUnique: Bool

  /// The indexed columns; nil when one of them is an expression, or is not known.
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
    position += 1

    var pieces: [[SQLToken]] = [[]]
    var depth = 1
    while position < tokens.count {
      let token = tokens[position]
      position += 1
      if token.isPunctuation("(") { depth += 1 }
      if token.isPunctuation(")") {
        depth -= 1
        if depth == 0 { break }
      }
      if depth == 1, token.isPunctuation(",") {
        pieces.append([])
      } else {
        pieces[pieces.count - 1].append(token)
      }
    }
    isPartial = tokens[position...].contains { $0.isKeyword("WHERE") }
    let parts = pieces.compactMap(Self.part)
    self.parts = parts.count == pieces.count ? parts : nil
  }

  /// A part such as `name COLLATE BINARY DESC`; nil when it is an expression.
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
