import ManagedObjects
import ObjectModel
import SQLiteWriter

/// Writes values, names and conversions as SQL text.
enum SQLText {
  /// Returns a name as a quoted SQL identifier. Throws for a name that cannot be written in SQL.
  static func quoted(_ name: String) throws -> String { try SQLIdentifier.quoted(name) }

  /// Joins SQL conditions with `word`, which is AND or OR. A long list is joined in groups, because SQLite limits the
  /// depth of an expression to 1,000 levels, and each condition of a list adds a level.
  static func joined(_ conditions: [String], by word: String) -> String {
    let most = 100
    var parts = conditions
    while parts.count > most {
      let whole = parts
      parts = stride(from: 0, to: whole.count, by: most).map { start in
        "(" + whole[start..<min(start + most, whole.count)].joined(separator: " \(word) ") + ")"
      }
    }
    return parts.joined(separator: " \(word) ")
  }

  /// Returns a string as an SQL literal. A string that contains a NUL is written as a BLOB literal with a CAST, because
  /// SQLite's parser stops at a NUL.
  static func literal(_ text: String) -> String {
    guard !text.utf8.contains(0) else { return "CAST(\(literal(Array(text.utf8))) AS TEXT)" }
    let quote = UInt8(ascii: "'")
    // The search for quotes compares bytes, because Swift treats a quote and a combining mark after it as one
    // `Character`.
    let doubled = text.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return "'" + String(decoding: doubled, as: UTF8.self) + "'"
  }

  static func literal(_ bytes: [UInt8]) -> String { "x'\(Hex.string(bytes))'" }

  /// Returns a real as an SQL expression that gives exactly the same number. NaN becomes NULL, because SQLite stores
  /// NULL for NaN.
  static func literal(_ value: Double) -> String {
    if value.isNaN { return "NULL" }
    guard value.isFinite else { return value < 0 ? "-9e999" : "9e999" }
    if value.magnitude < 0x1p53, value.rounded() == value { return value.description }
    // SQLite does not convert every decimal fraction to the nearest 64-bit float. So the number is written as an
    // integer that is multiplied or divided by powers of two. This is exact.
    var power = value.exponent - 52
    var parts = "CAST(\(Int64(value.significand * 0x1p52) * (value < 0 ? -1 : 1)) AS REAL)"
    while power != 0 {
      let step = min(62, abs(power))
      parts += " \(power < 0 ? "/" : "*") CAST(\(Int64(1) << Int64(step)) AS REAL)"
      power += power < 0 ? step : -step
    }
    return "(\(parts))"
  }

  static func literal(_ value: Int64) -> String {
    // SQLite parses a negative number as a positive number with a minus sign, but 2^63 does not fit into a 64-bit
    // integer.
    value == .min ? "(-9223372036854775807 - 1)" : String(value)
  }

  /// Returns an attribute's default value as an SQL literal for the value that Core Data stores. Returns nil if the
  /// default value is an object of one of the app's classes, or does not fit the attribute's type.
  static func literal(_ value: DefaultValue, of attribute: Attribute) -> String? {
    let constant: ExpressionConstant? =
      switch value {
      case .integer(let value): .integer(value)
      case .real(let value): .real(value)
      case .boolean(let value): .bool(value)
      case .decimal(let text): .decimal(text)
      case .string(let text): .string(text)
      case .date(let seconds): .date(seconds)
      case .data(let bytes): .data(bytes)
      case .uuid(let text): .uuid(text)
      case .uri(let text): .url(text)
      case .object, .opaque: nil
      }
    return constant.flatMap { literal($0, of: attribute) }
  }

  /// Returns a constant as an SQL literal for the value that Core Data stores for the attribute. Returns nil when the
  /// constant does not fit the attribute's type.
  static func literal(_ constant: ExpressionConstant, of attribute: Attribute) -> String? {
    switch (constant, attribute.type) {
    case (.null, _): "NULL"
    case (.bool(let value), .boolean), (.bool(let value), .integer16),
      (.bool(let value), .integer32), (.bool(let value), .integer64):
      value ? "1" : "0"
    case (.integer(let value), .integer16), (.integer(let value), .integer32),
      (.integer(let value), .integer64):
      literal(value)
    case (.integer(let value), .boolean): value == 0 ? "0" : "1"
    case (.integer(let value), .double), (.integer(let value), .float),
      (.integer(let value), .decimal):
      literal(Double(value))
    case (.real(let value), .double), (.real(let value), .float), (.real(let value), .decimal):
      literal(value)
    case (.decimal(let text), .double), (.decimal(let text), .float),
      (.decimal(let text), .decimal):
      Double(text).map { literal($0) }
    case (.string(let text), .string), (.url(let text), .uri), (.string(let text), .uri):
      literal(text)
    case (.date(let seconds), .date): literal(seconds)
    case (.data(let bytes), .binary):
      literal(attribute.allowsExternalBinaryDataStorage ? [1] + bytes : bytes)
    case (.uuid(let text), .uuid): Hex.bytes(ofUUID: text).map { literal($0) }
    default: nil
    }
  }

  // MARK: - Kinds

  /// A kind of value. Foundation defines an order only between values of the same kind.
  enum Kind {
    case null, number, date, text, uuid, bytes
  }

  /// Returns the kind of an attribute's values; nil when values of this type are not stored in a column, or when their
  /// kind is not known.
  static func kind(of type: AttributeType) -> Kind? {
    switch storage(type) {
    case .integer?, .real?: .number
    case .date?: .date
    case .text?: .text
    case .uuid?: .uuid
    case .bytes?: .bytes
    case nil: nil
    }
  }

  static func kind(of constant: ExpressionConstant) -> Kind? {
    switch constant {
    case .null: .null
    case .bool, .integer, .real, .decimal: .number
    case .date: .date
    case .string, .url: .text
    case .uuid: .uuid
    case .data: .bytes
    case .type: nil
    }
  }

  /// Whether `selector` is a built-in function of NSExpression that calculates with numbers.
  static func isArithmetic(_ selector: String) -> Bool {
    ["add:to:", "from:subtract:", "multiply:by:", "divide:by:", "abs:"].contains(selector)
  }

  // MARK: - Conversions

  private enum Storage {
    case integer, real, date, text, uuid, bytes
  }

  private static func storage(_ type: AttributeType) -> Storage? {
    switch type {
    case .integer16, .integer32, .integer64, .boolean: .integer
    case .decimal, .double, .float: .real
    case .date: .date
    case .string, .uri: .text
    case .uuid: .uuid
    case .binary, .transformable: .bytes
    default: nil
    }
  }

  /// Returns an SQL expression that converts the result of the SQL expression `value` to the value that Core Data
  /// stores for the attribute. For an integer attribute, fractions are cut off. The result becomes NULL if its kind is
  /// not that of the attribute, or if it is out of range. `value` must not give the name of an external file.
  static func computed(_ value: String, for attribute: Attribute) -> String {
    func checked(_ condition: String, _ result: String) -> String {
      "(SELECT CASE WHEN \(condition) THEN \(result) END FROM (SELECT \(value) AS v))"
    }
    switch storage(attribute.type) {
    case .integer?:
      let limits = range(attribute.type)
      return checked(
        "(typeof(v) = 'integer' OR typeof(v) = 'real' AND abs(v) < 9.2e18) AND CAST(v AS INTEGER) BETWEEN \(literal(limits.lowerBound)) AND \(limits.upperBound)",
        "CAST(v AS INTEGER)")
    case .real?, .date?:
      return checked(
        "typeof(v) = 'real' OR typeof(v) = 'integer' AND \(isExact("v"))", "CAST(v AS REAL)")
    case .bytes?:
      return checked(
        "typeof(v) = 'blob'",
        attribute.allowsExternalBinaryDataStorage ? "CAST(x'01' || v AS BLOB)" : "v")
    case .text?: return checked("typeof(v) = 'text'", "v")
    case .uuid?: return checked("typeof(v) = 'blob' AND length(v) = 16", "v")
    case nil: return value
    }
  }

  /// Returns an SQL condition that is true only if a 64-bit float can represent the SQL expression `integer` exactly.
  private static func isExact(_ integer: String) -> String {
    "\(integer) BETWEEN -9007199254740992 AND 9007199254740992"
  }

  private static func range(_ type: AttributeType) -> ClosedRange<Int64> {
    switch type {
    case .integer16: -32_768...32_767
    case .integer32: -2_147_483_648...2_147_483_647
    case .boolean: 0...1
    default: .min ... .max
    }
  }

  /// Returns an SQL expression that converts the value of an old attribute to the type of the new attribute; nil when
  /// no value can be converted. The expression gives NULL for a value that would have to be rounded or shortened.
  /// `isPartial` says whether such values are possible.
  ///
  /// `value`: the SQL expression of the value.
  /// `isElsewhere`: whether the value comes from another row than the old row. If so, and if the new attribute does not
  /// allow external storage, a value that names an external file becomes NULL.
  static func converted(
    _ value: String, from old: Attribute, to new: Attribute, isElsewhere: Bool = false
  ) -> (sql: String, isPartial: Bool)? {
    switch (storage(old.type), storage(new.type)) {
    case (.integer?, .integer?):
      let (before, after) = (range(old.type), range(new.type))
      guard !after.contains(before.lowerBound) || !after.contains(before.upperBound) else {
        return (value, false)
      }
      return (
        "CASE WHEN \(value) BETWEEN \(literal(after.lowerBound)) AND \(after.upperBound) THEN \(value) END",
        true
      )
    case (.integer?, .real?):
      return ("CASE WHEN \(isExact(value)) THEN CAST(\(value) AS REAL) END", true)
    case (.real?, .integer?):
      let limits = range(new.type)
      // A cast turns a real beyond the range of 64-bit integers into the nearest such integer, so only reals below
      // 9.2e18 are taken. Integers are not passed to abs(), because abs() fails for the smallest integer.
      return (
        "CASE WHEN \(value) = CAST(\(value) AS INTEGER) AND \(value) >= \(literal(limits.lowerBound)) AND \(value) <= \(limits.upperBound) AND (typeof(\(value)) = 'integer' OR abs(\(value)) < 9.2e18) THEN CAST(\(value) AS INTEGER) END",
        true
      )
    case (.real?, .real?) where old.type == .decimal && new.type != .decimal:
      // A whole decimal is stored as an integer, which the column of a float would round.
      return (
        "CASE WHEN typeof(\(value)) <> 'integer' OR \(isExact(value)) THEN \(value) END", true
      )
    case (.bytes?, .bytes?):
      guard old.type == new.type else { return nil }
      let sql = marked(value, from: old, to: new)
      guard isElsewhere, old.allowsExternalBinaryDataStorage, !new.allowsExternalBinaryDataStorage
      else { return (sql, false) }
      return ("CASE WHEN NOT \(StoreMerge.namesFile(value)) THEN \(sql) END", true)
    case (let one?, let other?): return one == other ? (value, false) : nil
    default: return old.type == new.type ? (value, false) : nil
    }
  }

  /// Returns an SQL expression for `value` with or without the marker byte 1, as the new attribute needs it. Core Data
  /// writes this byte before data in a row if the attribute allows external storage. The byte is added if only the new
  /// attribute allows external storage, and removed if only the old attribute does.
  private static func marked(_ value: String, from old: Attribute, to new: Attribute) -> String {
    switch (old.allowsExternalBinaryDataStorage, new.allowsExternalBinaryDataStorage) {
    // NULL stays NULL, because `x || NULL` is NULL.
    case (false, true): "CAST(x'01' || \(value) AS BLOB)"
    // For a value in an external file, the content of the file is bound to the parameter instead of the file's name.
    case (true, false):
      "CASE WHEN substr(\(value), 1, 1) = x'01' THEN substr(\(value), 2) ELSE \(value) END"
    default: value
    }
  }

  /// Returns a constant of an expression as an SQL literal; nil when SQL has no value for the constant.
  static func literal(_ constant: ExpressionConstant) -> String? {
    switch constant {
    case .null: "NULL"
    case .bool(let value): value ? "1" : "0"
    case .integer(let value): literal(value)
    case .real(let value), .date(let value): literal(value)
    case .decimal(let text): Double(text).map { literal($0) }
    case .string(let text), .url(let text): literal(text)
    case .data(let bytes): literal(bytes)
    case .uuid(let text): Hex.bytes(ofUUID: text).map { literal($0) }
    case .type: nil
    }
  }

  /// Returns an SQL expression for a call of one of NSExpression's built-in functions (NSExpression.h); nil when the
  /// function is not supported.
  static func call(_ selector: String, _ arguments: [String]) -> String? {
    switch (selector, arguments.count) {
    case ("add:to:", 2): "(\(arguments[0]) + \(arguments[1]))"
    case ("from:subtract:", 2): "(\(arguments[0]) - \(arguments[1]))"
    case ("multiply:by:", 2): "(\(arguments[0]) * \(arguments[1]))"
    // The division uses reals instead of integers, so 1 / 2 gives 0.5.
    case ("divide:by:", 2): "(CAST(\(arguments[0]) AS REAL) / \(arguments[1]))"
    // The absolute value of the smallest 64-bit integer is not a 64-bit integer, so a real is used. The length of the
    // argument is limited, because its SQL is written twice, and each nested call doubles it again.
    case ("abs:", 1) where arguments[0].utf8.count < 1 << 16:
      "abs(CASE \(arguments[0]) WHEN \(literal(Int64.min)) THEN -9223372036854775808.0 ELSE \(arguments[0]) END)"
    // The time at which the statement runs, as the number of seconds since 2001-01-01.
    case ("now", 0): "((julianday('now') - 2451910.5) * 86400.0)"
    default: nil
    }
  }
}
