import SQLiteFile

/// The sort order of the entries of a b-tree without row ids ("Datatypes In SQLite", sections 4.1 and 7).
struct KeyOrder {
  enum Collation {
    case binary, noCase, rightTrimmed

    /// The built-in collation with this name; nil if an application defines the collation.
    init?(name: String) {
      switch SQLName(name) {
      case SQLName("BINARY"): self = .binary
      case SQLName("NOCASE"): self = .noCase
      case SQLName("RTRIM"): self = .rightTrimmed
      default: return nil
      }
    }
  }

  struct Field {
    var collation: Collation
    var isDescending: Bool
  }

  /// The collation and direction of each leading field of the records, the most significant field first.
  var fields: [Field]
  /// The number of leading fields whose values must be unique together, unless one of them is NULL. Nil if the keys
  /// need not be unique.
  var uniqueCount: Int?
}

struct KeyOrderFault {
  /// The number of b-tree entries that are not greater than their predecessor.
  var misplaced = 0
  /// The number of index entries that have the same key as the previous entry, although the keys of the index must be
  /// unique.
  var repeated = 0
  /// The number of the first entry that is out of order or repeated, counted from 1; 0 if all entries are in order.
  var first = 0
  /// Whether the order of some entries is not known. This happens if two values have the same first MiB and at least
  /// one of them is longer, because only the first MiB of a value is compared.
  var isUndecided = false
}

/// Compares each entry of a b-tree with the entry before it, and counts the entries that are out of order.
struct KeyOrderSink: RowSink, ~Copyable {
  /// The maximum number of bytes of a value that are compared.
  static let maxBytes = 1 << 20

  private struct Value: BitwiseCopyable {
    enum Kind: UInt8 { case null, integer, real, text, blob }
    var kind: Kind
    var bits: UInt64 = 0
    var start = 0
    var count = 0
  }

  private struct Entry {
    var values: ContiguousArray<Value> = []
    var bytes: ContiguousArray<UInt8> = []
  }

  private let order: KeyOrder
  private let encoding: DatabaseHeader.TextEncoding
  private var before = Entry()
  private var entry = Entry()
  private var count = 0
  private(set) var fault = KeyOrderFault()
  var wantsMore: Bool { true }

  init(_ order: KeyOrder, encoding: DatabaseHeader.TextEncoding) {
    self.order = order
    self.encoding = encoding
  }

  mutating func beginRow(_ rowID: Int64?) {
    entry.values.removeAll(keepingCapacity: true)
    entry.bytes.removeAll(keepingCapacity: true)
  }

  private var takesMore: Bool { entry.values.count < order.fields.count }

  mutating func null() {
    if takesMore { entry.values.append(Value(kind: .null)) }
  }
  mutating func integer(_ value: Int64) {
    if takesMore { entry.values.append(Value(kind: .integer, bits: UInt64(bitPattern: value))) }
  }
  mutating func real(_ value: Double) {
    if takesMore { entry.values.append(Value(kind: .real, bits: value.bitPattern)) }
  }
  mutating func text(_ bytes: RawSpan) { append(bytes, .text) }
  mutating func blob(_ bytes: RawSpan) { append(bytes, .blob) }

  private mutating func append(_ bytes: RawSpan, _ kind: Value.Kind) {
    guard takesMore else { return }
    let start = entry.bytes.count
    let kept = bytes.part(0, min(bytes.byteCount, Self.maxBytes))
    let collation = order.fields[entry.values.count].collation
    if kind == .text, encoding != .utf8, collation != .binary {
      // NOCASE and RTRIM compare text as UTF-8, so UTF-16 is converted.
      UTF16Scan.appendUTF8(
        of: kept, isBigEndian: encoding == .utf16BigEndian, to: &entry.bytes)
    } else {
      unsafe kept.withUnsafeBytes { unsafe entry.bytes.append(contentsOf: $0) }
    }
    entry.values.append(
      Value(
        kind: kind, bits: bytes.byteCount > Self.maxBytes ? 1 : 0, start: start,
        count: entry.bytes.count - start))
  }

  mutating func endRow() {
    count += 1
    if count > 1 { compare() }
    swap(&before, &entry)
  }

  private mutating func compare() {
    let length = min(before.values.count, entry.values.count)
    var field = 0
    var difference = 0
    while field < length {
      difference = compare(field)
      if difference != 0 { break }
      // At least one of the two strings or blobs is longer than the compared bytes.
      if before.values[field].kind.rawValue >= 3,
        before.values[field].bits == 1 || entry.values[field].bits == 1
      {
        fault.isUndecided = true
        return
      }
      field += 1
    }
    if field < length, order.fields[field].isDescending { difference = -difference }
    if difference >= 0 {
      fault.misplaced += 1
    } else if let unique = order.uniqueCount, field >= unique,
      !entry.values.prefix(unique).contains(where: { $0.kind == .null })
    {
      fault.repeated += 1
    } else {
      return
    }
    if fault.first == 0 { fault.first = count }
  }

  /// Compares a field of the previous entry with the same field of the current entry. Returns less than 0 if the
  /// previous entry has the smaller value, 0 if the values are equal, and more than 0 otherwise.
  private func compare(_ field: Int) -> Int {
    let (one, other) = (before.values[field], entry.values[field])
    switch (one.kind, other.kind) {
    case (.null, .null): return 0
    case (.integer, .integer):
      return Self.compare(Int64(bitPattern: one.bits), Int64(bitPattern: other.bits))
    case (.real, .real):
      return Self.compare(Double(bitPattern: one.bits), Double(bitPattern: other.bits))
    case (.integer, .real):
      return Self.compare(Int64(bitPattern: one.bits), Double(bitPattern: other.bits))
    case (.real, .integer):
      return -Self.compare(Int64(bitPattern: other.bits), Double(bitPattern: one.bits))
    case (.text, .text): return compare(one, other, order.fields[field].collation)
    case (.blob, .blob): return compare(one, other, .binary)
    default:
      func place(_ kind: Value.Kind) -> Int { kind == .real ? 1 : Int(kind.rawValue) }
      return Self.compare(place(one.kind), place(other.kind))
    }
  }

  private func compare(_ one: Value, _ other: Value, _ collation: KeyOrder.Collation) -> Int {
    var lengths = (one.count, other.count)
    if collation == .rightTrimmed {
      while lengths.0 > 0, before.bytes[one.start + lengths.0 - 1] == 0x20 { lengths.0 -= 1 }
      while lengths.1 > 0, entry.bytes[other.start + lengths.1 - 1] == 0x20 { lengths.1 -= 1 }
    }
    let isFolded = collation == .noCase
    var place = 0
    while place < min(lengths.0, lengths.1) {
      var left = before.bytes[one.start + place]
      var right = entry.bytes[other.start + place]
      if isFolded {
        if left &- 0x41 < 26 { left |= 0x20 }
        if right &- 0x41 < 26 { right |= 0x20 }
        // SQLite's NOCASE stops at a zero byte and then compares the lengths.
        if left == right, left == 0 { break }
      }
      if left != right { return left < right ? -1 : 1 }
      place += 1
    }
    return Self.compare(lengths.0, lengths.1)
  }

  private static func compare<Number: Comparable>(_ one: Number, _ other: Number) -> Int {
    one < other ? -1 : one == other ? 0 : 1
  }

  /// Compares an integer with a real without rounding.
  private static func compare(_ integer: Int64, _ real: Double) -> Int {
    if real >= 0x1p63 { return -1 }
    if real < -0x1p63 { return 1 }
    let whole = Int64(real)
    if integer != whole { return integer < whole ? -1 : 1 }
    return compare(Double(whole), real)
  }
}
