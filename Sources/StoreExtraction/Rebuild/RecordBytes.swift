import SQLiteFile
import SQLiteForensics

/// Builds a record value by value (file format, section 2.1).
package struct RecordBytes {
  package init() {}

  /// The encoded serial types of the record header. The header length, which comes first in a header, is not included.
  private var types = ContiguousArray<UInt8>()
  private var body = ContiguousArray<UInt8>()

  /// The maximum size, in bytes, of a buffer that is kept for the next record. A larger buffer is released.
  private static let keptBytes = 1 << 20

  package mutating func removeAll() {
    types.removeAll(keepingCapacity: true)
    body.removeAll(keepingCapacity: body.count <= Self.keptBytes)
  }

  @inline(__always)
  package mutating func appendNull() { types.append(0) }

  @inline(__always)
  package mutating func append(integer: Int64) {
    let (type, count) = SerialType.shortest(for: integer)
    types.append(type)
    if count > 0 { append(bigEndian: UInt64(bitPattern: integer), count) }
  }

  @inline(__always)
  package mutating func append(real: Double) {
    types.append(7)
    append(bigEndian: real.bitPattern, 8)
  }

  @inline(__always)
  package mutating func append(_ bytes: ArraySlice<UInt8>, isText: Bool) {
    types.append(varint: (isText ? 13 : 12) + 2 * UInt64(bytes.count))
    body.append(contentsOf: bytes)
  }

  @inline(__always)
  package mutating func append(_ bytes: RawSpan, isText: Bool) {
    types.append(varint: (isText ? 13 : 12) + 2 * UInt64(bytes.byteCount))
    unsafe bytes.withUnsafeBytes { unsafe body.append(contentsOf: $0) }
  }

  package mutating func append(text: String) {
    types.append(varint: 13 + 2 * UInt64(text.utf8.count))
    body.append(contentsOf: text.utf8)
  }

  /// Replaces the content of `record` with the record built so far.
  @inline(__always)
  package func write(to record: inout ContiguousArray<UInt8>) {
    record.removeAll(keepingCapacity: record.count <= Self.keptBytes)
    append(to: &record)
  }

  /// Appends the record built so far to `bytes`, and returns the range of the record there.
  @inline(__always)
  @discardableResult
  package func append(to bytes: inout ContiguousArray<UInt8>) -> Range<Int> {
    let start = bytes.count
    bytes.append(varint: UInt64(ContiguousArray<UInt8>.headerLength(types.count)))
    bytes.append(contentsOf: types)
    bytes.append(contentsOf: body)
    return start..<bytes.count
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
}
