/// An index as far as a check of its entries needs it.
struct IndexDefinition {
  /// The indexed columns; nil when one of them is an expression, or cannot be told.
  let columns: [String]?
  /// Whether the index leaves rows out (WHERE).
  let isPartial: Bool

  /// Reads a CREATE INDEX statement; nil when it is none.
  init?(sql: String) {
    let tokens = SQLToken.all(in: Array(sql.utf8))
    var position = 0
    func word(_ keyword: String) -> Bool {
      position < tokens.count && tokens[position].isKeyword(keyword)
    }
    guard word("CREATE") else { return nil }
    position += 1
    if word("UNIQUE") { position += 1 }
    guard word("INDEX") else { return nil }
    while position < tokens.count, !word("ON") { position += 1 }
    while position < tokens.count, !tokens[position].isPunctuation("(") { position += 1 }
    guard position < tokens.count else { return nil }
    position += 1

    var parts: [[SQLToken]] = [[]]
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
        parts.append([])
      } else {
        parts[parts.count - 1].append(token)
      }
    }
    isPartial = tokens[position...].contains { $0.isKeyword("WHERE") }
    var names: [String]? = []
    for part in parts {
      guard let name = Self.column(part) else {
        names = nil
        break
      }
      names?.append(name)
    }
    columns = names
  }

  /// The column of a part such as `name COLLATE BINARY DESC`; nil when it is an expression.
  private static func column(_ tokens: [SQLToken]) -> String? {
    guard let first = tokens.first, first.kind == .word || first.kind == .quotedIdentifier else {
      return nil
    }
    var rest = tokens.dropFirst()
    if rest.first?.isKeyword("COLLATE") == true { rest = rest.dropFirst(2) }
    if rest.first?.isKeyword("ASC") == true || rest.first?.isKeyword("DESC") == true {
      rest = rest.dropFirst()
    }
    return rest.isEmpty ? first.text : nil
  }
}
