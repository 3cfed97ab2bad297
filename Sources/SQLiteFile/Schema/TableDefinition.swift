package struct TableDefinition: Sendable, Hashable {
  /// How SQLite converts values that are stored in a column ("Datatypes In SQLite", section 3).
  package enum Affinity: String, Sendable, Hashable {
    /// The declared type contains CHAR, CLOB or TEXT.
    case text
    /// NUMERIC affinity: the declared type of the column leads to no other affinity.
    case numeric
    /// The declared type contains INT.
    case integer
    /// The declared type contains REAL, FLOA or DOUB. Whole numbers are stored as integers and read as reals.
    case real
    /// The declared type contains BLOB, or no type is declared.
    case blob
  }

  package struct Column: Sendable, Hashable {
    /// Whether SQLite computes the values of a column and, if so, when.
    package enum Generation: String, Sendable, Hashable {
      case none
      /// SQLite computes the value when it stores the row, so the record contains it.
      case stored
      /// SQLite computes the value when it reads the row, so the record does not contain it.
      case virtual
    }

    /// The name of the column, without quotes.
    package let name: String
    /// The declared type as written; empty when no type is declared.
    package let declaredType: String
    package let affinity: Affinity
    /// The default value, with the column's affinity applied. SQLite gives this value to rows that were inserted before
    /// the column was added. Nil if the default is an expression that would have to be computed.
    package let defaultValue: StoredValue?
    /// The collating sequence; BINARY when the declaration names no collating sequence.
    package let collation: String
    package let generation: Generation
    package let isNotNull: Bool
  }

  package struct KeyPart: Sendable, Hashable {
    package var column: Int
    package var collation: String
    package var isDescending: Bool

    package init(column: Int, collation: String, isDescending: Bool) {
      self.column = column
      self.collation = collation
      self.isDescending = isDescending
    }

    /// The column and the collation of a key part. If two key parts have the same column and collation, an index stores
    /// only one of the two parts.
    package struct Stored: Hashable {
      let column: Int
      let collation: SQLName
    }
    package var stored: Stored { Stored(column: column, collation: SQLName(collation)) }
  }

  /// An index that SQLite creates automatically for a constraint.
  package struct AutomaticIndex: Sendable, Hashable {
    /// The number at the end of the index's name, for example 1 in `sqlite_autoindex_T_1`.
    package var number: Int
    package var parts: [KeyPart]
  }

  /// The columns in the order in which they are declared.
  package let columns: [Column]
  /// The index of the column that is an alias for the row id; nil when the table has no such column.
  package let rowIDColumn: Int?
  /// The indexes of the primary key's columns, in the order of the key; empty when no primary key is declared.
  package let primaryKey: [Int]
  /// The columns of ``primaryKey`` as a set, for fast lookup. A hostile key can have hundreds of thousands of columns.
  let keyColumns: Set<Int>
  /// Whether the rows are stored in the b-tree of the primary key (WITHOUT ROWID).
  package let isWithoutRowID: Bool
  /// Whether the table is STRICT, so that SQLite enforces the declared types.
  package let isStrict: Bool
  /// Whether row ids are never reused ("SQLite Autoincrement").
  package let isAutoincrement: Bool
  /// The parts of the primary key, each listed once.
  package let keyParts: [KeyPart]
  /// The indexes that SQLite creates for constraints; nil when a constraint could not be understood.
  package let automaticIndexes: [AutomaticIndex]?
  /// Whether the table has CHECK constraints, which restrict the values further.
  package let hasChecks: Bool

  /// Returns the index of the column with the given name; nil when no column has this name.
  package func place(of name: String) -> Int? {
    columns.firstIndex { SQLName.isSame($0.name, name) }
  }

  /// The indexes of the columns in the order in which a record stores them. In a WITHOUT ROWID table, the primary key
  /// comes first (file format, section 2.4 "Representation Of SQL Tables"). Virtual columns are left out.
  package var storedOrder: [Int] {
    let stored = columns.indices.filter { columns[$0].generation != .virtual }
    guard isWithoutRowID else { return stored }
    return primaryKey + stored.filter { !keyColumns.contains($0) }
  }

  /// Reads a CREATE TABLE statement. The result is nil when the statement is of another kind or declares no columns.
  package init?(sql: String) {
    // If a quote is not closed, the columns after it are lost. But a zero byte in a quoted name ends the statement too;
    // the closing quote then comes after the zero byte.
    let bytes = Array(sql.utf8)
    guard
      SchemaLexis.unfinished(SQLToken.statementBytes(of: bytes)) == nil
        || SchemaLexis.unfinished(bytes) == nil
    else { return nil }
    var parser = TableParser(sql)
    if let table = parser.parse() {
      self = table
      return
    }
    // SQLite rejects a statement that a zero byte in a name has cut off. But the full statement is clear, and describes
    // the rows.
    parser = TableParser(sql, isWhole: true)
    guard let table = parser.parse() else { return nil }
    self = table
  }

  package init(
    columns: [Column], rowIDColumn: Int?, primaryKey: [Int], isWithoutRowID: Bool, isStrict: Bool,
    isAutoincrement: Bool = false, keyParts: [KeyPart] = [],
    automaticIndexes: [AutomaticIndex]? = [], hasChecks: Bool = false
  ) {
    self.columns = columns
    self.rowIDColumn = rowIDColumn
    self.primaryKey = primaryKey
    keyColumns = Set(primaryKey)
    self.isWithoutRowID = isWithoutRowID
    self.isStrict = isStrict
    self.isAutoincrement = isAutoincrement
    self.keyParts = keyParts
    self.automaticIndexes = automaticIndexes
    self.hasChecks = hasChecks
  }
}

extension TableDefinition.Affinity {
  /// Determines the affinity that follows from a declared type, with the order of precedence that "Datatypes In SQLite"
  /// gives in section 3.1. Like SQLite, this compares types as bytes, and ignores case for ASCII letters only.
  package init(declaredType: String, isStrict: Bool = false) {
    let type = declaredType.utf8.map { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 ? $0 - 32 : $0 }
    func contains(_ word: StaticString) -> Bool {
      let word = Array(word.description.utf8)
      return type.indices.dropLast(word.count - 1).contains { type[$0...].starts(with: word) }
    }
    if contains("INT") {
      self = .integer
    } else if contains("CHAR") || contains("CLOB") || contains("TEXT") {
      self = .text
    } else if contains("BLOB") || type.isEmpty || (isStrict && type.elementsEqual("ANY".utf8)) {
      self = .blob
    } else if contains("REAL") || contains("FLOA") || contains("DOUB") {
      self = .real
    } else {
      self = .numeric
    }
  }

  /// Converts a literal to the value that a column with this affinity stores ("Datatypes In SQLite", section 3).
  package func applied(to value: StoredValue) -> StoredValue {
    switch (self, value) {
    case (.text, .integer(let number)):
      return .text(StoredText(String(number)))
    case (.text, .real(let number)):
      return .text(StoredText(number.description))
    case (.real, .integer(let number)):
      return .real(Double(number))
    case (.real, .real(0)):
      // SQLite stores this value as the integer 0, which has no sign.
      return .real(0)
    case (.integer, .real(let number)), (.numeric, .real(let number)):
      // SQLite does not convert to the lowest or the highest integer, because the real may have been rounded to it.
      guard let integer = Int64(exactly: number), integer > .min, integer < .max else {
        return value
      }
      return .integer(integer)
    case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
      guard let number = SQLNumber.value(of: text.utf8) else { return value }
      return applied(to: number)
    default:
      return value
    }
  }
}

/// Recognises numbers in text in the way SQLite does when it converts text.
package enum SQLNumber {
  /// Returns the number that `text` represents; nil if the text is not a decimal number. White space before and after
  /// the number is ignored.
  package static func value(of text: [UInt8]) -> StoredValue? {
    var rest = text[...]
    while let last = rest.last, isSpace(last) { rest.removeLast() }
    while let first = rest.first, isSpace(first) { rest.removeFirst() }
    let whole = String(decoding: rest, as: UTF8.self)
    takeSign(&rest)
    var digitCount = takeDigits(&rest)
    let isInteger = rest.isEmpty
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      digitCount += takeDigits(&rest)
    }
    guard digitCount > 0 else { return nil }
    if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
      rest.removeFirst()
      takeSign(&rest)
      guard takeDigits(&rest) > 0 else { return nil }
    }
    guard rest.isEmpty else { return nil }
    if isInteger, let integer = Int64(whole) { return .integer(integer) }
    return Double(whole).map { .real($0) }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0d).contains(byte)
  }

  private static func takeSign(_ rest: inout ArraySlice<UInt8>) {
    if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
      rest.removeFirst()
    }
  }

  private static func takeDigits(_ rest: inout ArraySlice<UInt8>) -> Int {
    let count = rest.prefix { (0x30...0x39).contains($0) }.count
    rest.removeFirst(count)
    return count
  }
}
