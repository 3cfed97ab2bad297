import SQLiteFile

/// A list of unchanged records. After ``removeAll()``, the next records use the same memory.
package struct RecordBatch: ~Copyable {
  package struct Record: BitwiseCopyable, Sendable {
    package let rowID: Int64
    /// The index in ``RecordBatch/bytes`` at which the record starts.
    package let offset: Int
    /// The length of the record in bytes.
    package let count: Int
  }

  /// Consecutive records of one leaf, in the order of its cells.
  package struct Stretch: Sendable {
    /// The index of the table in ``DamagedDatabase/tables``.
    package let table: Int
    package let page: UInt32
    /// The range of the stretch's records in ``RecordBatch/records``.
    package fileprivate(set) var records: Range<Int>
    /// The index in ``RecordBatch/bytes`` of the first byte that was stored for these records.
    fileprivate let start: Int
  }

  /// All records in the order of the stretches.
  package private(set) var records: ContiguousArray<Record> = []
  /// The bytes of all records. Between two records there may be other bytes of the page, such as cell headers.
  package private(set) var bytes = ContiguousArray<UInt8>()
  private(set) var stretches: ContiguousArray<Stretch> = []

  /// Whether the records that were added last are from `page`, so that further records of this page can extend their
  /// stretch.
  func isOpen(_ page: UInt32) -> Bool { stretches.last?.page == page }

  mutating func begin(_ table: Int, _ page: UInt32) {
    stretches.append(
      Stretch(
        table: table, page: page, records: records.count..<records.count, start: bytes.count))
  }

  /// Adds a record to the last element of ``stretches``.
  @inline(__always)
  mutating func append(_ record: RawSpan, rowID: Int64) {
    records.append(Record(rowID: rowID, offset: bytes.count, count: record.byteCount))
    unsafe record.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    extendStretch()
  }

  /// Adds all records of a leaf to the last element of ``stretches``. Precondition: no record of the leaf continues on
  /// an overflow page.
  mutating func append(_ leaf: borrowing SoundLeaf, _ page: RawSpan) {
    let base = bytes.count - leaf.contentStart
    let content = page.part(leaf.contentStart, leaf.contentSize)
    unsafe content.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    for cell in leaf.cells {
      records.append(
        Record(rowID: cell.rowID, offset: base + Int(cell.record), count: Int(cell.payload)))
    }
    extendStretch()
  }

  /// Extends the last stretch to the last record in ``records``.
  @inline(__always)
  private mutating func extendStretch() {
    let first = stretches[stretches.count - 1].records.lowerBound
    stretches[stretches.count - 1].records = first..<records.count
  }

  mutating func removeAll() {
    records.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    stretches.removeAll(keepingCapacity: true)
  }

  /// Removes the elements of ``stretches`` from the index `place` on, together with their records.
  mutating func removeAll(behind place: Int) {
    guard place < stretches.count else { return }
    let first = stretches[place].records.lowerBound
    bytes.removeSubrange(stretches[place].start...)
    records.removeSubrange(first...)
    stretches.removeSubrange(place...)
  }

  /// Reads the first `count` values of a record that has the form of its table (``RecordForm``). For the column of the
  /// row id, the value is NULL.
  ///
  /// `record`: the range of the record in `bytes`.
  /// `values`: on return, the values of the record. The offsets of strings and blobs are indexes into `bytes`.
  package static func read(
    _ record: Range<Int>, of bytes: borrowing ContiguousArray<UInt8>, _ count: Int,
    into values: inout ContiguousArray<RecoveredRowBuffer.Value>
  ) {
    values.removeAll(keepingCapacity: true)
    let span = bytes.rawSpan.part(record.lowerBound, record.count)
    guard let header = Varint.read(span, at: 0, end: record.count) else { return }
    let end = Int(truncatingIfNeeded: header.value)
    var offset = header.length
    var body = end
    while values.count < count, let type = Varint.read(span, at: offset, end: end) {
      let length = RecordDecoder.length(ofType: type.value)
      offset &+= type.length
      let kind: RecoveredRowBuffer.Kind
      var bits: Int64 = 0
      switch type.value {
      case 0: kind = .null
      case 1...6:
        kind = .integer
        bits = RecordDecoder.integer(span, body, length)
      case 7:
        kind = .real
        bits = Int64(bitPattern: span.uint64(at: body))
      case 8, 9:
        kind = .integer
        bits = Int64(type.value &- 8)
      default: kind = type.value & 1 == 0 ? .blob : .text
      }
      let isBytes = type.value >= 12
      values.append(
        RecoveredRowBuffer.Value(
          kind: kind, isValid: true, bits: bits, offset: isBytes ? record.lowerBound &+ body : 0,
          count: isBytes ? length : 0))
      body &+= length
    }
  }
}
