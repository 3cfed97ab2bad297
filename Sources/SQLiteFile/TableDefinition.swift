/// A table as its CREATE statement declares it.
public struct TableDefinition: Sendable, Hashable {
  /// What SQLite does to values on their way into a column ("Datatypes In SQLite", section 3).
  public enum Affinity: String, Sendable, Hashable {
    /// Declared with CHAR, CLOB or TEXT.
    case text
    /// Declared as none of the others.
    case numeric
    /// Declared with INT.
    case integer
    /// Declared with REAL, FLOA or DOUB. Whole numbers are stored as integers and read as reals.
    case real
    /// Declared with BLOB, or without a type.
    case blob
  }

  /// A column.
  public struct Column: Sendable, Hashable {
    /// Whether the value is computed.
    public enum Generation: String, Sendable, Hashable {
      /// An ordinary column.
      case none
      /// Computed and stored in the row.
      case stored
      /// Computed when read; the row does not hold it.
      case virtual
    }

    /// The name, without quotes.
    public let name: String
    /// The declared type as written, empty when there is none.
    public let declaredType: String
    /// The affinity that follows from the type.
    public let affinity: Affinity
    /// The value that rows have which are older than the column, the affinity applied.
    /// Nil when it is an expression that would have to be computed.
    public let defaultValue: StoredValue?
    /// The collating sequence, BINARY when none is named.
    public let collation: String
    /// Whether the value is computed.
    public let generation: Generation
  }

  /// The columns in order.
  public let columns: [Column]
  /// The column that stands for the row id; nil when there is none.
  public let rowIDColumn: Int?
  /// The columns of the primary key in its order, empty when none is declared.
  public let primaryKey: [Int]
  /// Whether the rows are kept in the primary key's b-tree.
  public let isWithoutRowID: Bool
  /// Whether types are enforced.
  public let isStrict: Bool

  /// The order in which a row stores the columns: of a WITHOUT ROWID table the primary key comes first
  /// (file format, section 2.4 "Representation Of SQL Tables"). Virtual columns are not among them.
  var storedOrder: [Int] {
    let stored = columns.indices.filter { columns[$0].generation != .virtual }
    guard isWithoutRowID else { return stored }
    return primaryKey + stored.filter { !primaryKey.contains($0) }
  }

  /// Reads a CREATE TABLE statement; nil when it is none, or one without columns.
  public init?(sql: String) {
    var parser = TableParser(sql)
    guard let table = parser.parse() else { return nil }
    self = table
  }

  init(
    columns: [Column], rowIDColumn: Int?, primaryKey: [Int], isWithoutRowID: Bool, isStrict: Bool
  ) {
    self.columns = columns
    self.rowIDColumn = rowIDColumn
    self.primaryKey = primaryKey
    self.isWithoutRowID = isWithoutRowID
    self.isStrict = isStrict
  }
}

extension TableDefinition.Affinity {
  /// The affinity of a declared type ("Datatypes In SQLite", section 3.1, in its order of precedence).
  public init(declaredType: String, isStrict: Bool = false) {
    let type = declaredType.uppercased()
    if type.contains("INT") {
      self = .integer
    } else if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") {
      self = .text
    } else if type.contains("BLOB") || type.isEmpty || (isStrict && type == "ANY") {
      self = .blob
    } else if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") {
      self = .real
    } else {
      self = .numeric
    }
  }

  /// A literal as a column of this affinity stores it.
  func applied(to value: StoredValue) -> StoredValue {
    switch (self, value) {
    case (.text, .integer(let number)):
      return .text(StoredText(String(number)))
    case (.text, .real(let number)):
      return .text(StoredText(number.description))
    case (.real, .integer(let number)):
      return .real(Double(number))
    case (.integer, .real(let number)), (.numeric, .real(let number)):
      return Int64(exactly: number).map { .integer($0) } ?? value
    case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
      guard let number = SQLNumber.value(of: text.string.trimmedOfSpace) else { return value }
      return applied(to: number)
    default:
      return value
    }
  }
}

/// Numbers as SQL writes them.
enum SQLNumber {
  /// The value of a decimal or hexadecimal literal; nil when the text is no number.
  static func value(of text: String) -> StoredValue? {
    let lower = text.lowercased()
    if lower.hasPrefix("0x") {
      return UInt64(lower.dropFirst(2), radix: 16).map { .integer(Int64(bitPattern: $0)) }
    }
    guard lower.allSatisfy({ "0123456789+-.e_".contains($0) }) else { return nil }
    let digits = lower.filter { $0 != "_" }
    if let integer = Int64(digits) { return .integer(integer) }
    return Double(digits).map { .real($0) }
  }
}

extension String {
  /// The text without white space at its ends.
  fileprivate var trimmedOfSpace: String {
    var part = self[...]
    while part.first?.isWhitespace == true { part.removeFirst() }
    while part.last?.isWhitespace == true { part.removeLast() }
    return String(part)
  }
}
