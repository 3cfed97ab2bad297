/// The serial types of one record, parsed into memory that is used again and again.
@usableFromInline package struct RecordTypes {
  /// Most fields that a record of SQLite's can have (SQLITE_MAX_COLUMN's upper limit).
  @inlinable package static var mostFields: Int { 32_767 }
  /// No value is longer than 2 GiB (SQLITE_MAX_LENGTH).
  @inlinable static var longestType: UInt64 { 0x1_0000_0000 }

  @usableFromInline package private(set) var types: ContiguousArray<UInt64> = []
  /// Bytes of all values together.
  @usableFromInline package private(set) var bodyLength = 0
  /// Bytes of all values but the first.
  @inlinable package var lengthWithoutFirst: Int {
    bodyLength - (types.first.map(RecordDecoder.length(ofType:)) ?? 0)
  }
  /// Sixteen bits that differ where records have another count of fields, or fields of other storage classes, but for few.
  @inlinable package var classHash: UInt16 {
    var hash: UInt32 = 0x811c_9dc5
    for type in types {
      hash = (hash ^ UInt32(StorageClasses(serialType: type).rawValue)) &* 0x0100_0193
    }
    return UInt16(truncatingIfNeeded: hash ^ hash >> 16)
  }
  /// Types that may still be read. A page made for it has thousands of places where a record of thousands of
  /// types seems to begin.
  @usableFromInline var budget = Int.max

  /// No types yet, and no bound.
  @inlinable package init() {}

  /// Sets the bound of what is read from one page.
  @inlinable package mutating func renewBudget(usableSize: Int) { budget = usableSize * 128 }

  /// Has bytes of values that were looked at count as well: a page may hold thousands of records over the same ones.
  @inlinable package mutating func spend(bytes: Int) { budget &-= max(0, bytes) / 4 }

  /// Reads the types in `range`; false when they do not end exactly at its end, or one is reserved.
  @inlinable package mutating func read(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
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

  /// Reads the types of a whole cell; false where they contradict its payload.
  @inlinable package mutating func read(_ cell: LeafCell, _ page: RawSpan) -> Bool {
    let limit = cell.record + cell.local
    guard let header = Varint.read(page, at: cell.record, end: limit),
      header.value <= UInt64(cell.local), header.value > UInt64(header.length)
    else { return false }
    return read(page, cell.record + header.length..<cell.record + Int(header.value))
      && bodyLength + Int(header.value) == cell.payload
  }

  /// Adds up the lengths of the types in `range` without keeping them; false as for ``read(_:_:)``.
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
    return budget > 0 && count <= Self.mostFields
  }

  /// Reads `count` types from `offset` on.
  /// - Returns: the offset behind them; nil when they run past `end`.
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

  /// Puts a type in front that the file has lost.
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
