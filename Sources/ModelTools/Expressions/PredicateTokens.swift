import ObjectModel

/// The tokens of a text in Apple's predicate format.
struct PredicateTokens {
  enum Kind: Equatable {
    /// A name or a selector. A selector contains colons. `isEscaped`: whether the name begins with `@` or is written
    /// with a `#` before it. An escaped name is never a reserved word.
    case name(String, isEscaped: Bool)
    case variable(String)
    case string(String)
    case integer(Int64)
    /// The integer 2^63, which fits into 64 bits only if a minus sign precedes it.
    case smallestWithoutSign
    case real(Double)
    /// An operator or a bracket.
    case sign(String)
    case end
  }

  struct Token: Equatable {
    let kind: Kind
    /// The offset of the token in bytes from the start of the text.
    let offset: Int
  }

  /// The maximum length in bytes of a text to tokenise.
  static let maximumLength = 1 << 16

  /// The operators and punctuation marks of one or two bytes. The key is the bytes as a big-endian number.
  private static let signs: [UInt16: String] = {
    let texts = [
      "**", "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "=", "<", ">", "!", "(", ")",
      "[", "]", "{", "}", ",", ".", "+", "-", "*", "/",
    ]
    var signs: [UInt16: String] = [:]
    for text in texts {
      signs[text.utf8.reduce(0) { $0 << 8 | UInt16($1) }] = text
    }
    return signs
  }()

  private let bytes: [UInt8]
  private var index = 0
  /// All tokens of the text. The last token marks the end of the text.
  private(set) var tokens: [Token] = []
  /// For each opening bracket, the index of the matching closing bracket. Key and value are indexes into ``tokens``.
  private(set) var closing: [Int: Int] = [:]

  init(_ text: String) throws(PredicateFormatError) {
    bytes = Array(text.utf8)
    guard bytes.count <= Self.maximumLength else {
      throw PredicateFormatError(
        code: .tooComplex, message: "The text is longer than \(Self.maximumLength) bytes.",
        offset: Self.maximumLength)
    }
    var open: [Int] = []
    while skipBlanks() {
      let offset = index
      let kind = try next()
      switch kind {
      case .sign("("), .sign("["), .sign("{"): open.append(tokens.count)
      case .sign(")"), .sign("]"), .sign("}"):
        // Whether the two brackets are of the same kind is checked later, by the parser.
        if let start = open.popLast() { closing[start] = tokens.count }
      default: break
      }
      tokens.append(Token(kind: kind, offset: offset))
    }
    if let bracket = open.first {
      throw PredicateFormatError(
        code: .syntax, message: "The bracket is never closed.", offset: tokens[bracket].offset)
    }
    tokens.append(Token(kind: .end, offset: bytes.count))
  }

  private mutating func skipBlanks() -> Bool {
    while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
    return index < bytes.count
  }

  private mutating func next() throws(PredicateFormatError) -> Kind {
    let byte = bytes[index]
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string())
    case UInt8(ascii: "$"):
      index += 1
      return .variable(try name())
    case UInt8(ascii: "#"): return try escaped()
    case UInt8(ascii: "@"):
      // A collection operator starts with `@` and always follows a dot.
      index += 1
      return .name("@" + (try name()), isEscaped: true)
    case 48...57: return try number()
    case UInt8(ascii: ".") where index + 1 < bytes.count && (48...57).contains(bytes[index + 1]):
      // A number such as `.5`. A dot before a digit always starts a number, so the text `a.5` is not a key path.
      return try number()
    default: break
    }
    if PredicateSyntax.isNameStart(byte) {
      return .name(try selector(), isEscaped: false)
    }
    if index + 1 < bytes.count,
      let sign = Self.signs[UInt16(byte) << 8 | UInt16(bytes[index + 1])]
    {
      index += 2
      return .sign(sign)
    }
    if let sign = Self.signs[UInt16(byte)] {
      index += 1
      return .sign(sign)
    }
    throw error("This character has no meaning here.")
  }

  private mutating func escaped() throws(PredicateFormatError) -> Kind {
    index += 1
    for (word, value) in [("nan", Double.nan), ("inf", .infinity), ("-inf", -.infinity)]
    where bytes[index...].starts(with: Array(word.utf8)) {
      let end = index + word.utf8.count
      if end < bytes.count, PredicateSyntax.isNamePart(bytes[end]) { continue }
      index = end
      return .real(value)
    }
    if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
      return .name(try string(), isEscaped: true)
    }
    return .name(try name(), isEscaped: true)
  }

  private mutating func name() throws(PredicateFormatError) -> String {
    let start = index
    guard index < bytes.count, PredicateSyntax.isNameStart(bytes[index]) else {
      throw error("A name is missing here.")
    }
    while index < bytes.count, PredicateSyntax.isNamePart(bytes[index]) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  /// Scans a name, or a selector with colons such as `add:to:`.
  private mutating func selector() throws(PredicateFormatError) -> String {
    var text = try name()
    while index < bytes.count, bytes[index] == UInt8(ascii: ":") {
      index += 1
      text += ":"
      guard index < bytes.count, PredicateSyntax.isNameStart(bytes[index]) else { break }
      text += try name()
    }
    return text
  }

  // MARK: Literals

  private mutating func number() throws(PredicateFormatError) -> Kind {
    let start = index
    if bytes[index] == 48, index + 1 < bytes.count {
      for (letter, radix) in [
        (UInt8(ascii: "x"), 16), (UInt8(ascii: "o"), 8), (UInt8(ascii: "b"), 2),
      ]
      where bytes[index + 1] | 0x20 == letter {
        index += 2
        let digits = take { ($0 >= 48 && $0 <= 57) || (97...102).contains($0 | 0x20) }
        guard let value = Int64(digits, radix: radix) else {
          index = start
          throw error("This number cannot be read.")
        }
        return .integer(value)
      }
    }
    var text = take { (48...57).contains($0) }
    var isReal = false
    if index + 1 < bytes.count, bytes[index] == UInt8(ascii: "."),
      (48...57).contains(bytes[index + 1])
    {
      isReal = true
      index += 1
      text += "." + take { (48...57).contains($0) }
    }
    if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
      let mark = index
      index += 1
      var exponent = "e"
      if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+")
      {
        exponent += bytes[index] == UInt8(ascii: "-") ? "-" : ""
        index += 1
      }
      let digits = take { (48...57).contains($0) }
      if digits.isEmpty {
        index = mark
      } else {
        isReal = true
        text += exponent + digits
      }
    }
    if index < bytes.count, PredicateSyntax.isNamePart(bytes[index]) {
      index = start
      throw error("A name must not begin with a digit.")
    }
    if !isReal, let value = Int64(text) { return .integer(value) }
    if !isReal, UInt64(text) == Int64.min.magnitude { return .smallestWithoutSign }
    guard isReal, let value = Double(text.utf8.first == UInt8(ascii: ".") ? "0" + text : text),
      value.isFinite
    else {
      index = start
      throw error("This number cannot be read.")
    }
    return .real(value)
  }

  private mutating func take(while isWanted: (UInt8) -> Bool) -> String {
    let start = index
    while index < bytes.count, isWanted(bytes[index]) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func string() throws(PredicateFormatError) -> String {
    let start = index
    let quote = bytes[index]
    index += 1
    var output: [UInt8] = []
    while index < bytes.count, bytes[index] != quote {
      var byte = bytes[index]
      index += 1
      if byte == UInt8(ascii: "\\"), index < bytes.count {
        byte = bytes[index]
        index += 1
        switch byte {
        case UInt8(ascii: "n"): byte = 0x0A
        case UInt8(ascii: "r"): byte = 0x0D
        case UInt8(ascii: "t"): byte = 0x09
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
          if let scalar = fourDigits() {
            output += Array(String(Character(scalar)).utf8)
            continue
          }
        default: break
        }
      }
      output.append(byte)
    }
    guard index < bytes.count else {
      index = start
      throw error("The closing quotation mark is missing.")
    }
    index += 1
    return String(decoding: output, as: UTF8.self)
  }

  /// Reads the four hexadecimal digits of an escape such as `\u0041` and returns the character with that number.
  /// Returns nil if there are not four digits, or if no character has the number.
  private mutating func fourDigits() -> Unicode.Scalar? {
    guard index + 4 <= bytes.count,
      let pair = Hex.bytes(String(decoding: bytes[index..<index + 4], as: UTF8.self)),
      let scalar = Unicode.Scalar(UInt32(pair[0]) << 8 | UInt32(pair[1]))
    else { return nil }
    index += 4
    return scalar
  }

  private func error(_ message: String) -> PredicateFormatError {
    PredicateFormatError(code: .syntax, message: message, offset: index)
  }
}
