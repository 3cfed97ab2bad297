import SQLiteFile

/// Builds a record value by value (file format, section 2.1).
package struct RecordBytes {
  /// An empty record.
  package init() {}

  /// The serial types of the header, without the header length that precedes them.
  private var types = ContiguousArray<UInt8>()
  private var body = ContiguousArray<UInt8>()

  /// Memory for records longer than this is released.
  private static let keptBytes = 1 << 20

  /// Begins another record.
  package mutating func removeAll() {
    types.removeAll(keepingCapacity: true)
    body.removeAll(keepingCapacity: body.count <= Self.keptBytes)
  }

  /// Appends NULL.
  @inline(__always)
  package mutating func appendNull() { types.append(0) }

  /// Appends a whole number.
  @inline(__always)
  package mutating func append(integer: Int64) {
    let (type, count) = SerialType.shortest(for: integer)
    types.append(type)
    if count > 0 { append(bigEndian: UInt64(bitPattern: integer), count) }
  }

  /// Appends a floating-point number.
  @inline(__always)
  package mutating func append(real: Double) {
    types.append(7)
    append(bigEndian: real.bitPattern, 8)
  }

  /// Appends text or a blob.
  @inline(__always)
  package mutating func append(_ bytes: ArraySlice<UInt8>, isText: Bool) {
    append(varint: (isText ? 13 : 12) + 2 * UInt64(bytes.count))
    body.append(contentsOf: bytes)
  }

  /// Replaces the content of `record` with the whole record.
  @inline(__always)
  package func write(to record: inout ContiguousArray<UInt8>) {
    record.removeAll(keepingCapacity: record.count <= Self.keptBytes)
    // The header length includes itself; no row has so many values that it takes more than three bytes.
    var length = types.count + 1
    if length >= 1 << 7 { length += 1 }
    if length >= 1 << 14 { length += 1 }
    if length >= 1 << 14 { record.append(0x80 | UInt8(truncatingIfNeeded: length >> 14)) }
    if length >= 1 << 7 { record.append(0x80 | UInt8(length >> 7 & 0x7f)) }
    record.append(UInt8(length & 0x7f))
    record.append(contentsOf: types)
    record.append(contentsOf: body)
  }

  @inline(__always)
  private mutating func append(bigEndian word: UInt64, _ count: Int) {
    var shift = UInt64(8 * (count - 1))
    while true {
      body.append(UInt8(truncatingIfNeeded: word >> shift))
      if shift == 0 { return }
      shift -= 8
    }
  }

  /// Appends a varint to the header (file format, section 1.6); no value is so long that it takes nine bytes.
  @inline(__always)
  private mutating func append(varint value: UInt64) {
    if value >= 0x80 {
      var shift: UInt64 = 49
      while value >> shift == 0 { shift -= 7 }
      while shift > 0 {
        types.append(0x80 | UInt8(truncatingIfNeeded: value >> shift) & 0x7f)
        shift -= 7
      }
    }
    types.append(UInt8(truncatingIfNeeded: value) & 0x7f)
  }
}
