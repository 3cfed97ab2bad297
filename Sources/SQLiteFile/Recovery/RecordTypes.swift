/// The serial types of one record, parsed into memory that is used again and again.
struct RecordTypes {
  /// Most fields that a record of SQLite's can have (SQLITE_MAX_COLUMN's upper limit).
  static let mostFields = 32_767

  private(set) var types: ContiguousArray<UInt64> = []
  /// Bytes of all values together.
  private(set) var bodyLength = 0
  /// Types that may still be read. A page made for it has thousands of places where a record of thousands of
  /// types seems to begin.
  private var budget = Int.max

  /// Sets the bound of what is read from one page.
  mutating func renewBudget(usableSize: Int) { budget = usableSize * 128 }

  /// Reads the types in `range`; false when they do not end exactly at its end, or one is reserved.
  mutating func read(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
    types.removeAll(keepingCapacity: true)
    bodyLength = 0
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard types.count < Self.mostFields, append(bytes, &offset, end: range.upperBound) else {
        return false
      }
    }
    return true
  }

  /// Reads `count` types from `offset` on.
  /// - Returns: the offset behind them; nil when they run past `end`.
  mutating func read(_ bytes: RawSpan, at offset: Int, count: Int, end: Int) -> Int? {
    types.removeAll(keepingCapacity: true)
    bodyLength = 0
    var offset = offset
    for _ in 0..<count {
      guard append(bytes, &offset, end: end) else { return nil }
    }
    return offset
  }

  /// Puts a type in front that the file has lost.
  mutating func prepend(_ type: UInt64) {
    types.insert(type, at: 0)
    bodyLength += RecordDecoder.length(ofType: type)
  }

  @inline(__always)
  private mutating func append(_ bytes: RawSpan, _ offset: inout Int, end: Int) -> Bool {
    guard let type = Varint.read(bytes, at: offset, end: end), type.value != 10, type.value != 11,
      type.value <= 0x1_0000_0000
    else { return false }
    offset &+= type.length
    bodyLength &+= RecordDecoder.length(ofType: type.value)
    types.append(type.value)
    budget &-= 1
    return budget > 0
  }
}
