/// The serial types of one record, parsed into memory that is reused.
@usableFromInline package struct RecordTypes {
  /// How many fields an SQLite record can have (upper limit of SQLITE_MAX_COLUMN).
  @inlinable package static var maxFields: Int { 32_767 }
  /// The highest serial type that is read: no value is longer than 2 GiB (SQLITE_MAX_LENGTH).
  @inlinable static var longestType: UInt64 { 0x1_0000_0000 }

  @usableFromInline package private(set) var types: ContiguousArray<UInt64> = []
  /// Bytes of the record's values together, as the types give them.
  @usableFromInline package private(set) var bodyLength = 0
  /// How many types may still be read. A crafted page can have thousands of offsets at which a record of thousands of
  /// types seems to begin.
  @usableFromInline var budget = Int.max

  /// Creates a value without types, and without a limit.
  @inlinable package init() {}

  /// Sets how many types may be read from one page of this usable size.
  @inlinable package mutating func renewBudget(usableSize: Int) { budget = usableSize * 128 }

  /// Charges examined bytes of values to the budget: thousands of records on a page may share the same values.
  @inlinable package mutating func spend(bytes: Int) { budget &-= max(0, bytes) / 4 }

  /// Reads the types in `range`; returns false when they do not end exactly at its end, or when one is reserved.
  @inlinable package mutating func read(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
    types.removeAll(keepingCapacity: true)
    bodyLength = 0
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard types.count < Self.maxFields, append(bytes, &offset, end: range.upperBound) else {
        return false
      }
    }
    return true
  }

  /// Reads the types of an intact cell; returns false when they contradict its payload.
  @inlinable package mutating func read(_ cell: LeafCell, _ page: RawSpan) -> Bool {
    let limit = cell.record + cell.local
    guard let header = Varint.read(page, at: cell.record, end: limit),
      header.value <= UInt64(cell.local), header.value > UInt64(header.length)
    else { return false }
    return read(page, cell.record + header.length..<cell.record + Int(header.value))
      && bodyLength + Int(header.value) == cell.payload
  }

  /// Adds up the lengths of the types in `range` without keeping them; returns false in the same cases as
  /// ``read(_:_:)``.
  @inlinable @inline(__always)
  package mutating func measure(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
    var sum = 0
    var count = 0
    var offset = range.lowerBound
    while offset < range.upperBound {
      var type = UInt64(bytes.byte(at: offset))
      var length = 1
      if type >= 0x80 {
        guard let long = Varint.read(bytes, at: offset, end: range.upperBound),
          long.value <= Self.longestType
        else { return false }
        type = long.value
        length = long.length
      }
      guard type &- 10 > 1 else { return false }
      sum &+= RecordDecoder.length(ofType: type)
      count &+= 1
      offset &+= length
    }
    budget &-= count
    bodyLength = sum
    return budget > 0 && count <= Self.maxFields
  }

  /// Reads `count` types at `offset`.
  /// - Returns: the offset after them; nil when they run past `end`.
  @inlinable package mutating func read(_ bytes: RawSpan, at offset: Int, count: Int, end: Int)
    -> Int?
  {
    types.removeAll(keepingCapacity: true)
    bodyLength = 0
    var offset = offset
    for _ in 0..<count {
      guard append(bytes, &offset, end: end) else { return nil }
    }
    return offset
  }

  /// Inserts a lost type before the first type.
  @inlinable package mutating func prepend(_ type: UInt64) {
    types.insert(type, at: 0)
    bodyLength += RecordDecoder.length(ofType: type)
  }

  @inlinable @inline(__always)
  mutating func append(_ bytes: RawSpan, _ offset: inout Int, end: Int) -> Bool {
    guard let type = Varint.read(bytes, at: offset, end: end), type.value != 10, type.value != 11,
      type.value <= Self.longestType
    else { return false }
    offset &+= type.length
    bodyLength &+= RecordDecoder.length(ofType: type.value)
    types.append(type.value)
    budget &-= 1
    return budget > 0
  }
}
