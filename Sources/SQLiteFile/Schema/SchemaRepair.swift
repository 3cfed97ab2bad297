/// Repairs flipped bits in entries of the schema. Use the same `SchemaRepair` for all entries of a file, because its
/// budget limits the total work: a hostile file may have any number of wrong entries.
package struct SchemaRepair {
  /// The number of bytes of statements that may still be parsed.
  private var budget = 1 << 24
  /// The number of bytes of statements that may still be parsed in the search for lost commas.
  private var commaBudget = 1 << 22
  /// The number of CREATE statements that were compared with the rows of a b-tree, by the root page of the b-tree.
  private var compared: [UInt32: Int] = [:]

  package init() {}

  /// Repairs damaged entries of tables, if the schema still shows which type, name and CREATE statement SQLite wrote.
  /// Returns all entries in the same order.
  package mutating func repaired(_ entries: [SchemaEntry]) -> [SchemaEntry] {
    let automatic = Set(
      entries.lazy.filter { $0.type == "index" && $0.sql == nil }.map { SQLName($0.tableName) })
    return entries.map { $0.repaired(automatic, &budget) }
  }

  /// Restores a lost comma of a statement, so that the statement has `count` columns. Returns nil unless there is
  /// exactly one position at which a comma gives this number of columns.
  mutating func separated(_ sql: String, columns count: Int) -> String? {
    StatementRepair.separated(sql, columns: count, &commaBudget)
  }

  /// Counts a comparison of a CREATE statement with the rows below the root page `root`. Returns whether the comparison
  /// is allowed: at most 64 are allowed for each root page, because a hostile schema may list thousands of tables with
  /// the same root page.
  mutating func mayCompare(root: UInt32) -> Bool {
    compared[root, default: 0] += 1
    return compared[root, default: 0] <= 64
  }
}

extension SchemaEntry {
  /// Whether two entries are equal for SQLite: names are compared as SQLite compares names, all other fields exactly.
  package func isSame(as other: SchemaEntry) -> Bool {
    type == other.type && rootPage == other.rootPage && hasSameStatement(as: other)
      && SQLName.isSame(name, other.name) && SQLName.isSame(tableName, other.tableName)
  }

  /// Whether two entries have the same CREATE statement, byte for byte.
  package func hasSameStatement(as other: SchemaEntry) -> Bool {
    sql.map { Array($0.utf8) } == other.sql.map { Array($0.utf8) }
  }

  /// Returns the entry of a table as SQLite wrote it. Returns the entry unchanged if SQLite accepts it, or if nothing
  /// shows what SQLite wrote.
  ///
  /// SQLite rejects the whole file when an entry has an unknown type, when the two names in the entry differ from each
  /// other or from the name in the statement, or when the statement cannot be parsed.
  ///
  /// `automaticIndexes`: the names of the tables that have an index for a constraint.
  fileprivate func repaired(_ automaticIndexes: Set<SQLName>, _ budget: inout Int) -> SchemaEntry {
    guard rootPage > 0, let sql,
      type == "table" || StatementRepair.differsInOneBit(type, "table")
    else { return self }
    let statement =
      StatementRepair.repaired(
        sql, hasAutomaticIndex: automaticIndexes.contains(SQLName(tableName)), &budget)
      ?? sql
    var grammar = SchemaGrammar(SQLToken.statement(in: Array(statement.utf8)))
    guard let stated = try? grammar.table().name else { return self }
    guard let name = Self.majority(of: name, tableName, stated) else {
      return SchemaEntry(
        type: "table", name: name, tableName: tableName, rootPage: rootPage, sql: statement)
    }
    return SchemaEntry(
      type: "table", name: name, tableName: name, rootPage: rootPage,
      sql: SQLName.isSame(name, stated) ? statement : StatementRepair.renamed(statement, name))
  }

  /// Returns the name on which two of three copies agree, either as a whole or character by character. Returns nil when
  /// all three copies differ at some character.
  private static func majority(of one: String, _ two: String, _ three: String) -> String? {
    if one == two || one == three { return one }
    if two == three || SQLName.isSame(two, three) { return two }
    if SQLName.isSame(one, two) || SQLName.isSame(one, three) { return one }
    let copies = [one, two, three].map { Array($0.unicodeScalars) }
    guard copies.allSatisfy({ $0.count == copies[0].count }) else { return nil }
    var name = String.UnicodeScalarView()
    for place in copies[0].indices {
      let (a, b, c) = (copies[0][place], copies[1][place], copies[2][place])
      guard a == b || a == c || b == c else { return nil }
      name.append(a == b || a == c ? a : b)
    }
    return String(name)
  }
}

/// Repairs a CREATE TABLE statement in which single bits are flipped.
///
/// SQLite rejects a file if it cannot parse one of the file's statements. So a statement that is rejected is not as
/// SQLite wrote it. A statement that is accepted is never changed.
struct StatementRepair {
  /// The statement with all repairs made so far. U+FFFD stands for bytes that are not valid text.
  private var text: [Unicode.Scalar]
  /// Whether the schema has an automatic index for a constraint of the table.
  private let hasAutomaticIndex: Bool

  /// The maximum length of a statement that is repaired, in bytes. Each attempt parses the whole statement.
  private static let maxLength = 1 << 13
  /// The maximum number of flipped bits that are repaired in a statement.
  private static let maxFlips = 6

  /// Corrects one flipped bit after the other until SQLite accepts the statement. Returns nil if SQLite accepts the
  /// unchanged statement, or if no repair is found.
  static func repaired(_ sql: String, hasAutomaticIndex: Bool, _ budget: inout Int) -> String? {
    let length = sql.utf8.count
    guard length <= maxLength, budget >= 0 else { return nil }
    var repair = StatementRepair(
      text: Array(sql.unicodeScalars), hasAutomaticIndex: hasAutomaticIndex)
    budget -= length
    guard var best = repair.progress() else { return nil }
    for _ in 0..<maxFlips {
      var next: (text: [Unicode.Scalar], progress: Int)?
      for edit in repair.edits {
        var other = repair
        other.text.replaceSubrange(
          edit.place..<edit.place + edit.original.count, with: edit.original)
        budget -= length
        guard budget >= 0 else { return nil }
        guard let progress = other.progress() else { return other.string }
        if progress > next?.progress ?? best { next = (other.text, progress) }
      }
      guard let next else { return nil }
      (repair.text, best) = next
    }
    return nil
  }

  fileprivate static func separated(_ sql: String, columns count: Int, _ budget: inout Int)
    -> String?
  {
    let length = sql.utf8.count
    guard length <= maxLength else { return nil }
    let text = Array(sql.unicodeScalars)
    var found: String?
    for place in text.indices where isFlipped(text[place], from: ",") {
      budget -= length
      guard budget >= 0 else { return nil }
      var other = StatementRepair(text: text, hasAutomaticIndex: true)
      other.text[place] = ","
      guard other.progress() == nil,
        TableDefinition(sql: other.string)?.storedOrder.count == count
      else { continue }
      if found != nil { return nil }
      found = other.string
    }
    return found
  }

  static func renamed(_ sql: String, _ name: String) -> String {
    let bytes = Array(sql.utf8)
    let tokens = SQLToken.statement(in: bytes)
    guard let table = tokens.firstIndex(where: { $0.isKeyword("TABLE") }), table + 1 < tokens.count
    else { return sql }
    let place = tokens[table + 1].isKeyword("IF") ? table + 4 : table + 1
    guard place < tokens.count else { return sql }
    let quote = UInt8(ascii: "\"")
    let quoted = [quote] + name.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
    let isWord = name.unicodeScalars.allSatisfy { isPartOfName($0) && $0.value < 0x80 }
    let word = isWord ? Array(name.utf8) : quoted
    let range = tokens[place].range
    return String(
      decoding: bytes[..<range.lowerBound] + word + bytes[range.upperBound...], as: UTF8.self)
  }

  private var string: String {
    var string = String.UnicodeScalarView()
    string.append(contentsOf: text)
    return String(string)
  }

  // MARK: - Judging

  /// Returns the number of characters that SQLite reads before it rejects the statement; nil if it accepts the
  /// statement.
  private func progress() -> Int? {
    let bytes = Array(string.utf8)
    let statement = Array(SQLToken.statementBytes(of: bytes))
    let tokens = SQLToken.all(in: statement)
    var grammar = SchemaGrammar(tokens)
    let isParsed = (try? grammar.table()) != nil
    var end = grammar.current?.range.lowerBound ?? statement.count
    // A quoted word that is not closed extends to the end of the statement.
    if let last = tokens.last, SchemaLexis.unfinished(statement) != nil {
      end = min(end, last.range.lowerBound)
    }
    if isParsed, SchemaLexis.defect(in: statement) == nil, statement.count == bytes.count {
      guard let key = keyWithoutIndex(tokens) else { return nil }
      end = key
    }
    return String(decoding: bytes.prefix(end), as: UTF8.self).unicodeScalars.count
  }

  /// Finds a primary key column whose declared type was probably INTEGER before one bit flipped. The type differs from
  /// INTEGER in one bit, and the schema has no index for the primary key, which SQLite needs for any other type.
  /// Returns the byte offset, in the statement, of the name of this column; nil if there is no such column.
  private func keyWithoutIndex(_ tokens: [SQLToken]) -> Int? {
    guard !hasAutomaticIndex, let table = TableDefinition(sql: string), !table.isWithoutRowID,
      table.rowIDColumn == nil, table.primaryKey.count == 1
    else { return nil }
    let column = table.columns[table.primaryKey[0]]
    // If the space before the type is damaged, the type may have become part of the name.
    let end = SQLName(Substring(column.name.utf8.suffix(7)))
    let isFlipped =
      column.declaredType.isEmpty
      ? column.name.utf8.count > 8 && end == SQLName("INTEGER")
      : Self.differsInOneBit(column.declaredType, "INTEGER")
        || Self.differsInOneBit(column.declaredType, "integer")
    return isFlipped
      ? tokens.first { $0.kind == .word && $0.text == column.name }?.range.lowerBound : nil
  }

  // MARK: - What may have been there

  private struct Edit {
    let place: Int
    let original: [Unicode.Scalar]
  }

  private static let keywords = [
    "CREATE TABLE", "INTEGER PRIMARY KEY", "PRIMARY KEY", "INTEGER", "CREATE", "TABLE", "PRIMARY",
    "KEY", "WITHOUT ROWID", "WITHOUT", "ROWID", "STRICT", "NOT NULL", "UNIQUE", "DEFAULT", "CHECK",
    "COLLATE", "REFERENCES", "FOREIGN KEY", "CONSTRAINT", "GENERATED ALWAYS AS", "AUTOINCREMENT",
    "STORED", "VIRTUAL", "VARCHAR", "TIMESTAMP", "FLOAT", "BLOB", "DECIMAL", "TEXT", "REAL",
  ].flatMap { [Array($0.unicodeScalars), Array($0.lowercased().unicodeScalars)] }

  /// The edits that may explain why SQLite rejects the statement, the most likely first. They restore a keyword, a
  /// punctuation mark or space between words, or a character of a name.
  private var edits: [Edit] {
    var words: [Edit] = []
    var marks: [Edit] = []
    var spaces: [Edit] = []
    var quotes: [Edit] = []
    var names: [Edit] = []
    // Edits that restore a mark inside a word. They are unlikely if spaces follow the commas of the statement.
    var inside: [Edit] = []
    let commasAreSpaced = !text.indices.dropLast().contains {
      text[$0] == "," && Self.isPartOfName(text[$0 + 1])
    }
    // The number of words since the last comma or parenthesis. A column has a name and usually a type.
    var wordCount = 0
    for place in text.indices {
      let lastWords = wordCount
      if text[place] == "," || text[place] == "(" {
        wordCount = 0
      } else if text[place] == " ", place > 0, Self.isPartOfName(text[place - 1]) {
        wordCount += 1
      }
      for keyword in Self.keywords where place + keyword.count <= text.count {
        let window = text[place..<place + keyword.count]
        if Self.differsInOneBit(window, keyword) {
          words.append(Edit(place: place, original: keyword))
        }
      }
      let character = text[place]
      let before: Unicode.Scalar = place > 0 ? text[place - 1] : " "
      let after: Unicode.Scalar = place + 1 < text.count ? text[place + 1] : " "
      func flipped(_ originals: [Unicode.Scalar]) -> [Edit] {
        originals.filter { Self.isFlipped(character, from: $0) }
          .map { Edit(place: place, original: [$0]) }
      }
      let likely: [Unicode.Scalar] = lastWords > 0 ? [",", "(", ")", " "] : [" ", "(", ")", ","]
      // A space is usually correct, so edits that replace spaces are tried after those of other marks.
      if character == " " {
        spaces += flipped(likely)
        continue
      }
      if [",", "(", ")"].contains(character) {
        marks += flipped(likely)
        if character != "," { quotes += flipped(Self.lower) }
        continue
      }
      let isInside = Self.isPartOfName(before) && Self.isPartOfName(after)
      if isInside, commasAreSpaced { inside += flipped(likely) } else { marks += flipped(likely) }
      quotes += flipped(["\"", "'", "`", "[", "]"])
      if !Self.isPartOfName(character)
        || (Self.digits.contains(character) && !Self.isPartOfName(before))
      {
        // If the character replaces a letter, a letter of the same case as its neighbours is more likely.
        let isLower = ("a"..."z").contains(before) || ("a"..."z").contains(after)
        names += flipped(["_"] + (isLower ? Self.lower + Self.upper : Self.upper + Self.lower))
        names += flipped(Self.digits)
      } else if Self.digits.contains(before) || Self.digits.contains(after) {
        names += flipped(Self.digits)
      }
    }
    return words + marks + spaces + names + inside + quotes
  }

  private static let upper = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".unicodeScalars)
  private static let lower = Array("abcdefghijklmnopqrstuvwxyz".unicodeScalars)
  private static let digits = Array("0123456789".unicodeScalars)

  private static func isPartOfName(_ character: Unicode.Scalar) -> Bool {
    switch character {
    case "A"..."Z", "a"..."z", "0"..."9", "_": true
    default: character.value > 0x7f
    }
  }

  /// Whether one flipped bit turns `original` into `found`. If the top bit is flipped, the character becomes invalid
  /// and is read as U+FFFD.
  private static func isFlipped(_ found: Unicode.Scalar, from original: Unicode.Scalar) -> Bool {
    found == "\u{fffd}" || (found.value ^ original.value).nonzeroBitCount == 1
  }

  static func differsInOneBit(_ found: String, _ original: String) -> Bool {
    differsInOneBit(Array(found.unicodeScalars)[...], Array(original.unicodeScalars))
  }

  private static func differsInOneBit(
    _ found: ArraySlice<Unicode.Scalar>, _ original: [Unicode.Scalar]
  ) -> Bool {
    guard found.count == original.count else { return false }
    var flips = 0
    for (one, other) in zip(found, original) where one != other {
      guard isFlipped(one, from: other) else { return false }
      flips += 1
      if flips > 1 { return false }
    }
    return flips == 1
  }
}
