/// Decodes records (file format, section 2.1 "Record Format") and passes their values to a sink.
///
/// The whole record is checked before its first value is passed on, so that a sink never receives a part of a row.
@usableFromInline package struct RecordDecoder: ~Copyable {
  @usableFromInline package enum Defect {
    case header
    case body(needed: Int, have: Int)

    package var finding: (id: Finding.ID, message: String) {
      switch self {
      case .header: (.recordBadHeader, "a record's header is not readable")
      case .body(let needed, let have):
        (.recordTruncated, "a record's values need \(needed) bytes, but only \(have) are there")
      }
    }
  }

  @usableFromInline let encoding: DatabaseHeader.TextEncoding
  /// The serial type and the offset of each field of the last record; empty when the fields were not requested.
  @usableFromInline package var fields: ContiguousArray<(type: UInt64, offset: Int)> = []
  @usableFromInline var utf8 = ContiguousArray<UInt8>()
  /// The number of values with a serial type that no version of SQLite writes into a file (10 and 11).
  @usableFromInline package private(set) var reservedTypeCount = 0
  /// The number of records that continued after their last value.
  @usableFromInline package private(set) var trailingCount = 0
  /// The number of records that had more fields than the table has columns.
  @usableFromInline package private(set) var surplusCount = 0
  /// The total length of the texts and BLOBs, in bytes, that were returned as default values of columns. A column gets
  /// its default value when a record has no field for it.
  package private(set) var defaultBytes = 0

  package init(encoding: DatabaseHeader.TextEncoding) { self.encoding = encoding }

  mutating func add(countsOf other: borrowing RecordDecoder) {
    reservedTypeCount &+= other.reservedTypeCount
    trailingCount &+= other.trailingCount
    surplusCount &+= other.surplusCount
  }

  mutating func forgetCounts() {
    reservedTypeCount = 0
    trailingCount = 0
    surplusCount = 0
  }

  /// Decodes a record and passes its row to the sink. Returns nil when the row was passed on; otherwise the reason why
  /// it was not.
  @inlinable @inline(__always)
  package mutating func decode<Sink: RowSink & ~Copyable>(
    _ payload: RawSpan, rowID: Int64?, layout: borrowing RowLayout, into sink: inout Sink
  ) -> Defect? {
    var header = 0..<0
    if let defect = measure(payload, keepsFields: !layout.isInOrder, &header) { return defect }
    sink.beginRow(rowID)
    if layout.isInOrder {
      emitInOrder(payload, header.lowerBound, header.upperBound, rowID, layout, &sink)
    } else {
      emitByField(payload, rowID, layout, &sink)
    }
    sink.endRow()
    return nil
  }

  /// Locates the fields of a record, as ``emit(_:rowID:layout:into:)`` and ``integer(_:of:rowID:layout:)`` require.
  /// Returns nil for a consistent record; otherwise the reason why it cannot be decoded.
  @inlinable @inline(__always)
  package mutating func open(_ payload: RawSpan) -> Defect? {
    var header = 0..<0
    return measure(payload, keepsFields: true, &header)
  }

  /// Passes the values of the record that was opened last to a sink, in the order of the layout's columns.
  @inlinable @inline(__always)
  package mutating func emit<Sink: RowSink & ~Copyable>(
    _ payload: RawSpan, rowID: Int64?, layout: borrowing RowLayout, into sink: inout Sink
  ) {
    sink.beginRow(rowID)
    emitByField(payload, rowID, layout, &sink)
    sink.endRow()
  }

  /// Returns the integer in a column of the record that was opened last; nil if the value is not an integer.
  package func integer(
    _ column: Int, of payload: RawSpan, rowID: Int64?, layout: borrowing RowLayout
  ) -> Int64? {
    let rule = layout.rules[column]
    let index = Int(rule.field)
    guard !rule.isRowID, index >= 0, index < fields.count else {
      if rule.isRowID, let rowID { return rowID }
      guard rule.field >= 0, case .integer(let value)? = layout.defaults[column] else { return nil }
      return value
    }
    guard !rule.isReal else { return nil }
    let (type, offset) = fields[index]
    switch type {
    case 1...6: return Self.integer(payload, offset, Self.length(ofType: type))
    case 8, 9: return Int64(type - 8)
    default: return nil
    }
  }

  /// Reads the serial types of a record, and checks that the record is long enough for the values of these types.
  @inlinable @inline(__always)
  mutating func measure(
    _ payload: RawSpan, keepsFields: Bool, _ types: inout Range<Int>
  ) -> Defect? {
    let count = payload.byteCount
    guard let header = Varint.read(payload, at: 0, end: count), header.value <= UInt64(count),
      header.value >= UInt64(header.length)
    else { return .header }
    let headerEnd = Int(header.value)

    fields.removeAll(keepingCapacity: true)
    var offset = header.length
    var body = headerEnd
    while offset < headerEnd {
      guard let type = Varint.read(payload, at: offset, end: headerEnd) else { return .header }
      offset &+= type.length
      let length = Self.length(ofType: type.value)
      if keepsFields { fields.append((type.value, body)) }
      // The first length that exceeds the record decides, because adding it to the other lengths could overflow.
      guard length <= count else { return .body(needed: length, have: count &- headerEnd) }
      body &+= length
      if body > count &* 2 { break }
    }
    guard body <= count else { return .body(needed: body &- headerEnd, have: count &- headerEnd) }
    if body < count { trailingCount &+= 1 }
    types = header.length..<headerEnd
    return nil
  }

  /// Decodes a record whose lengths are known to be consistent: the serial types end at the end of the header, and the
  /// values end at the end of the record.
  @inlinable @inline(__always)
  package mutating func decodeMeasured<Sink: RowSink & ~Copyable>(
    _ payload: RawSpan, rowID: Int64?, layout: borrowing RowLayout, into sink: inout Sink
  ) {
    guard layout.isInOrder,
      let header = Varint.read(payload, at: 0, end: payload.byteCount),
      header.value <= UInt64(payload.byteCount)
    else {
      _ = decode(payload, rowID: rowID, layout: layout, into: &sink)
      return
    }
    sink.beginRow(rowID)
    emitInOrder(payload, header.length, Int(header.value), rowID, layout, &sink)
    sink.endRow()
  }

  @inlinable @inline(__always)
  mutating func emitInOrder<Sink: RowSink & ~Copyable>(
    _ payload: RawSpan, _ headerStart: Int, _ headerEnd: Int, _ rowID: Int64?,
    _ layout: borrowing RowLayout, _ sink: inout Sink
  ) {
    var offset = headerStart
    var body = headerEnd
    let rules = layout.rules.span
    var column = 0
    while column < rules.count {
      guard offset < headerEnd, let type = Varint.read(payload, at: offset, end: headerEnd) else {
        while column < rules.count {
          emitDefault(layout, column, rowID, &sink)
          column &+= 1
        }
        return
      }
      offset &+= type.length
      let length = Self.length(ofType: type.value)
      let rule = rules[column]
      if rule.isRowID, let rowID {
        sink.integer(rowID)
      } else {
        emit(payload, type.value, body, length, rule.isReal, &sink)
      }
      body &+= length
      column &+= 1
    }
    if offset < headerEnd, !layout.takesAllFields { surplusCount &+= 1 }
    while layout.takesAllFields, let type = Varint.read(payload, at: offset, end: headerEnd) {
      let length = Self.length(ofType: type.value)
      emit(payload, type.value, body, length, false, &sink)
      offset &+= type.length
      body &+= length
    }
  }

  @inlinable mutating func emitByField<Sink: RowSink & ~Copyable>(
    _ payload: RawSpan, _ rowID: Int64?, _ layout: borrowing RowLayout, _ sink: inout Sink
  ) {
    if fields.count > layout.fieldCount { surplusCount &+= 1 }
    for (column, rule) in layout.rules.enumerated() {
      let index = Int(rule.field)
      if index >= 0, index < fields.count, !rule.isRowID {
        let (type, offset) = fields[index]
        emit(payload, type, offset, Self.length(ofType: type), rule.isReal, &sink)
      } else {
        emitDefault(layout, column, rowID, &sink)
      }
    }
    for field in fields.dropFirst(layout.takesAllFields ? layout.rules.count : fields.count) {
      emit(payload, field.type, field.offset, Self.length(ofType: field.type), false, &sink)
    }
  }

  /// Passes a value to the sink for a column for which the record has no field: the row id, NULL, or the column's
  /// default value.
  @inline(never)
  @usableFromInline mutating func emitDefault<Sink: RowSink & ~Copyable>(
    _ layout: borrowing RowLayout, _ column: Int, _ rowID: Int64?, _ sink: inout Sink
  ) {
    let rule = layout.rules[column]
    if rule.isRowID, let rowID { return sink.integer(rowID) }
    // SQLite computes the value of a virtual column when the column is read with SQL.
    guard rule.field >= 0 else { return sink.null() }
    switch layout.defaults[column] {
    case nil, .null?: sink.null()
    case .integer(let value)?: sink.integer(value)
    case .real(let value)?: sink.real(value)
    case .text(let text)?:
      let bytes = ContiguousArray(text.utf8)
      defaultBytes &+= bytes.count
      sink.text(bytes.rawSpan)
    case .blob(let value)?:
      let bytes = ContiguousArray(value)
      defaultBytes &+= bytes.count
      sink.blob(bytes.rawSpan)
    }
  }

  /// Returns the number of bytes that a value of this serial type takes in the body of a record; `Int.max` for a length
  /// that no record can have.
  @inlinable @inline(__always)
  package static func length(ofType type: UInt64) -> Int {
    if type >= 12 { return Int(truncatingIfNeeded: min((type &- 12) >> 1, UInt64(Int.max))) }
    // Types 0 to 11 have the lengths 0 1 2 3 4 6 8 8 0 0 0 0, stored here in four bits each.
    return Int(truncatingIfNeeded: (0x8864_3210 as UInt64) >> (type &* 4) & 0xf)
  }

  @inlinable @inline(__always)
  mutating func emit<Sink: RowSink & ~Copyable>(
    _ payload: RawSpan, _ type: UInt64, _ offset: Int, _ length: Int, _ isReal: Bool,
    _ sink: inout Sink
  ) {
    switch type {
    case 0: sink.null()
    case 1...6:
      let value = Self.integer(payload, offset, length)
      if isReal { sink.real(Double(value)) } else { sink.integer(value) }
    case 7:
      let value = Double(bitPattern: payload.uint64(at: offset))
      if value.isNaN { sink.null() } else { sink.real(value) }
    case 8, 9:
      let value = Int64(type &- 8)
      if isReal { sink.real(Double(value)) } else { sink.integer(value) }
    case 10, 11:
      reservedTypeCount &+= 1
      sink.null()
    default:
      if type & 1 == 0 {
        sink.blob(payload.part(offset, length))
      } else if encoding == .utf8 {
        sink.text(payload.part(offset, length))
      } else {
        transcode(payload, offset, length)
        sink.text(utf8.rawSpan)
      }
    }
  }

  /// Reads a big-endian two's-complement integer of 1, 2, 3, 4, 6 or 8 bytes. If eight bytes can be loaded, one load
  /// and one shift suffice.
  @inlinable @inline(__always)
  package static func integer(_ payload: RawSpan, _ offset: Int, _ length: Int) -> Int64 {
    if offset &+ 8 <= payload.byteCount {
      return Int64(bitPattern: payload.uint64(at: offset)) >> Int64(64 &- 8 &* length)
    }
    var value = Int64(Int8(bitPattern: payload.byte(at: offset)))
    var index = 1
    while index < length {
      value = value << 8 | Int64(payload.byte(at: offset &+ index))
      index &+= 1
    }
    return value
  }

  /// Converts UTF-16 to UTF-8. An odd last byte is dropped. A lone surrogate becomes three bytes of invalid UTF-8.
  @usableFromInline mutating func transcode(_ payload: RawSpan, _ offset: Int, _ length: Int) {
    utf8.removeAll(keepingCapacity: true)
    let isBigEndian = encoding == .utf16BigEndian
    let end = offset + length & ~1
    func unit(_ position: Int) -> UInt32 {
      let stored = payload.uint16(at: position)
      return UInt32(isBigEndian ? stored : stored.byteSwapped)
    }
    var position = offset
    while position < end {
      var scalar = unit(position)
      position += 2
      if scalar & 0xfc00 == 0xd800, position < end {
        let low = unit(position)
        if low & 0xfc00 == 0xdc00 {
          scalar = 0x10000 + (scalar & 0x3ff) << 10 + low & 0x3ff
          position += 2
        }
      }
      utf8.append(scalar: scalar)
    }
  }
}

extension ContiguousArray<UInt8> {
  /// Appends the UTF-8 form of a code point, or the three bytes of the same form for a lone surrogate. Precondition:
  /// `scalar` is at most 0x10FFFF.
  @inline(__always)
  package mutating func append(scalar: UInt32) {
    switch scalar {
    case ..<0x80:
      append(UInt8(scalar))
    case ..<0x800:
      append(UInt8(0xc0 | scalar >> 6))
      append(UInt8(0x80 | scalar & 0x3f))
    case ..<0x10000:
      append(UInt8(0xe0 | scalar >> 12))
      append(UInt8(0x80 | scalar >> 6 & 0x3f))
      append(UInt8(0x80 | scalar & 0x3f))
    default:
      append(UInt8(0xf0 | scalar >> 18))
      append(UInt8(0x80 | scalar >> 12 & 0x3f))
      append(UInt8(0x80 | scalar >> 6 & 0x3f))
      append(UInt8(0x80 | scalar & 0x3f))
    }
  }
}
