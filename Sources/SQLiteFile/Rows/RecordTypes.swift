/// The serial types of one record. The memory is reused for the next record.
@usableFromInline package struct RecordTypes {
  /// The maximum number of fields in a record: the upper limit of SQLITE_MAX_COLUMN.
  @inlinable package static var maxFields: Int { 32_767 }
  /// The highest serial type that is accepted. No value is longer than 2 GiB (SQLITE_MAX_LENGTH).
  @inlinable static var longestType: UInt64 { 0x1_0000_0000 }

  @usableFromInline package private(set) var types: ContiguousArray<UInt64> = []
  /// The total length of the record's values in bytes, according to the serial types.
  @usableFromInline package private(set) var bodyLength = 0
  /// The number of serial types that may still be read: a malicious page can have thousands of offsets at which a
  /// record with thousands of types seems to begin.
  @usableFromInline var budget = Int.max

  @inlinable package init() {}

  /// Sets the number of serial types that may be read from one page. `usableSize`: the usable size of the page.
  @inlinable package mutating func renewBudget(usableSize: Int) { budget = usableSize * 128 }

  /// Reduces the budget after `bytes` bytes of values were examined. Thousands of records on a page may share bytes, so
  /// examining values must cost budget, too.
  @inlinable package mutating func spend(bytes: Int) { budget &-= max(0, bytes) / 4 }

  /// Reads the serial types in `range`. Returns false when the types do not end exactly at the end of the range, or
  /// when a type is reserved.
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

  /// Reads the serial types of an intact cell. Returns false when they contradict the cell's payload length.
  @inlinable package mutating func read(_ cell: LeafCell, _ page: RawSpan) -> Bool {
    let limit = cell.record + cell.local
    guard let header = Varint.read(page, at: cell.record, end: limit),
      header.value <= UInt64(cell.local), header.value > UInt64(header.length)
    else { return false }
    return read(page, cell.record + header.length..<cell.record + Int(header.value))
      && bodyLength + Int(header.value) == cell.payload
  }

  /// Computes the total length of the values whose serial types are in `range`, without storing the types. Returns
  /// false in the same cases as ``read(_:_:)``.
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

  /// Reads `count` serial types from `offset` on. Returns the offset after them; nil when they extend past `end`.
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

  /// Inserts the serial type of a record's first field, which was lost, before the serial types that were read.
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
