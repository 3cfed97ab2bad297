/// A value as libsqlite3 returns it, with its exact storage class.
public enum FixtureValue: Sendable, Hashable, CustomStringConvertible {
  /// SQL NULL.
  case null
  /// A 64-bit integer.
  case integer(Int64)
  /// A floating-point number. Two numbers are equal if their bits are equal, so `==` distinguishes -0.0 from 0.0.
  case real(Double)
  /// The bytes of a text.
  case text([UInt8])
  /// Bytes.
  case blob([UInt8])

  /// Creates a text from the UTF-8 bytes of a Swift string.
  public static func string(_ string: String) -> FixtureValue { .text([UInt8](string.utf8)) }

  /// Whether the two values are equal in storage class and in every bit.
  public static func == (left: FixtureValue, right: FixtureValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let a), .integer(let b)): a == b
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): a == b
    default: false
    }
  }

  /// Hashes the storage class and the bits of the value.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let number): hasher.combine(number)
    case .real(let number): hasher.combine(number.bitPattern)
    case .text(let bytes), .blob(let bytes): hasher.combine(bytes)
    }
  }

  /// A short form of the value for messages. Long values are cut.
  public var description: String {
    switch self {
    case .null: return "NULL"
    case .integer(let number): return "\(number)"
    case .real(let number): return "\(number)r"
    case .text(let bytes):
      return "'\(String(decoding: bytes.prefix(40), as: UTF8.self))'(\(bytes.count))"
    case .blob(let bytes):
      let digits = Array("0123456789abcdef")
      let hex = bytes.prefix(20).map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
      return "x'\(hex.joined())'(\(bytes.count))"
    }
  }
}
