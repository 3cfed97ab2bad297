package import SQLiteFile
import SafeText

/// The CREATE statements of a schema, masked so that they reveal no data of the app. Words of SQL and declared names
/// are shown. Literals, comments and all other words are masked, because the grammar accepts any text in expressions,
/// trigger bodies and module arguments.
///
/// In a damaged file, rows of another table may be read as schema entries by mistake. So a statement is shown only if
/// the grammar accepts it as a CREATE statement, and if it creates the object that its schema entry names.
package struct MaskedSchema {
  /// The CREATE statements with masked literals and words, in the order of the schema's entries. The statements end
  /// without a semicolon.
  package private(set) var statements: [String] = []
  /// The number of schema entries whose statements are not in ``statements``, because the grammar rejects them or they
  /// do not create the named object.
  package private(set) var refusedCount = 0

  /// Returns the string to show in place of `text`. `isName`: whether the schema declares `text` as a name. If `isName`
  /// is false, `text` may be any content.
  package typealias Naming = (_ text: String, _ isName: Bool) -> String

  /// The maximum length of a shown statement in bytes; real statements are shorter.
  private static let longestStatement = 1 << 20
  /// The maximum length in bytes of all shown statements together.
  private static let maxBytes = 16 << 20

  /// The names that the schema declares. A quoted word is a name only if it is one of them, because SQLite reads any
  /// other `"text"` as a literal.
  private var declared: Set<SQLName> = []

  /// Masks the statements of `schema`.
  ///
  /// - Parameters:
  ///   - schema: the schema; its entries are not trusted.
  ///   - name: returns the string that replaces a word of a statement: the word itself if it may be shown, otherwise a
  ///     substitute. The word and the string have no quotes.
  package init(_ schema: Schema, name: Naming) {
    var shown: [SchemaEntry] = []
    for entry in schema.entries {
      guard let sql = entry.sql, !sql.utf8.isEmpty else { continue }
      guard let names = Self.names(of: entry, sql) else {
        refusedCount += 1
        continue
      }
      declared.formUnion(names.map { SQLName($0) })
      shown.append(entry)
    }
    var left = Self.maxBytes
    for entry in shown {
      let sql = masked(Array((entry.sql ?? "").utf8), name)
      guard sql.utf8.count <= left else {
        refusedCount += 1
        continue
      }
      left -= sql.utf8.count
      statements.append(sql)
    }
  }

  /// Returns the names that a statement declares, the name of the created object first. Returns nil if `sql` is no
  /// valid CREATE statement, or if it creates another object than `entry` names.
  private static func names(of entry: SchemaEntry, _ sql: String) -> [String]? {
    let bytes = Array(sql.utf8)
    guard bytes.count <= longestStatement, SchemaLexis.defect(in: bytes) == nil else { return nil }
    let tokens = SQLToken.all(in: bytes)
    // SQLite compiles the first statement and ignores what follows it.
    if entry.type != "trigger", let end = tokens.firstIndex(where: { $0.isPunctuation(";") }),
      !tokens[end...].allSatisfy({ $0.isPunctuation(";") })
    {
      return nil
    }
    var grammar = SchemaGrammar(tokens)
    let names: [String]?
    switch entry.type {
    case "table":
      if let table = try? grammar.table() {
        names = [table.name] + table.columns
      } else {
        grammar = SchemaGrammar(tokens)
        names = (try? grammar.virtualTable()).map { [$0] + moduleColumns(tokens) }
      }
    case "index": names = (try? grammar.index()).map { [$0.name] }
    case "view": names = (try? grammar.view()).map { [$0] }
    case "trigger": names = (try? grammar.trigger()).map { [$0.name] }
    default: names = nil
    }
    guard let names, SQLName.isSame(names[0], entry.name) else { return nil }
    return names
  }

  /// Returns the columns of a virtual table: the arguments of its module that are single words. Returns an empty array
  /// for a module whose arguments are not columns.
  private static func moduleColumns(_ tokens: [SQLToken]) -> [String] {
    guard let using = tokens.firstIndex(where: { $0.isKeyword("USING") }),
      using + 2 < tokens.count, SQLWords.modules.contains(SQLName(tokens[using + 1].text)),
      tokens[using + 2].isPunctuation("(")
    else { return [] }
    var columns: [String] = []
    for index in (using + 3)..<tokens.count where index + 1 < tokens.count {
      let token = tokens[index]
      let (before, after) = (tokens[index - 1], tokens[index + 1])
      guard token.kind == .word || token.kind == .quotedIdentifier,
        before.isPunctuation("(") || before.isPunctuation(","),
        after.isPunctuation(")") || after.isPunctuation(",") || after.isKeyword("UNINDEXED")
      else { continue }
      columns.append(token.text)
    }
    return columns
  }

  private func masked(_ sql: [UInt8], _ name: Naming) -> String {
    var result = ""
    var end = 0
    var previous: SQLToken?
    for token in SQLToken.all(in: sql) {
      if token.range.lowerBound > end {
        // White space and comments become one space or one line end.
        let gap = sql[end..<token.range.lowerBound]
        if !result.isEmpty {
          result += gap.allSatisfy { $0 <= 0x20 } && gap.contains(0x0a) ? "\n" : " "
        }
      }
      result += shown(token, after: previous, name)
      end = token.range.upperBound
      previous = token
    }
    return result
  }

  private func shown(_ token: SQLToken, after previous: SQLToken?, _ name: Naming) -> String {
    let isValue = previous?.isKeyword("DEFAULT") == true
    switch token.kind {
    case .punctuation: return token.text
    case .parameter: return "?"
    case .number: return "0"
    case .blob: return "x''"
    case .word:
      if isValue, !Self.values.contains(where: token.isKeyword) { return "''" }
      let word = SQLName(token.text)
      if SQLWords.contains(word) { return token.text }
      let shown = name(token.text, declared.contains(word))
      return PathText.isSame(shown, token.text) ? shown : "\"\(shown)\""
    case .quotedIdentifier, .string:
      let isName = declared.contains(SQLName(token.text))
      // A string literal is a name if the schema declares it as one.
      if isValue || (token.kind == .string && !isName) { return "''" }
      return "\"\(name(token.text, isName))\""
    }
  }

  private static let values = [
    "NULL", "TRUE", "FALSE", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP",
  ]
}
