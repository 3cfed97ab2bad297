import SQLiteFile

/// Rows, either as values or as whole records, one after the other in memory that is reused.
struct RowBatch: ~Copyable {
  /// Where a row's values and bytes are in the batch, and the rest of what is known about the row.
  struct Head {
    let origin: RowOrigin
    let rowID: Int64?
    let hasInvalidText: Bool
    let values: Range<Int>
    let bytes: Range<Int>
    /// The index in ``RowBatch/partials`` of the row's incomplete values; nil when the row has none.
    let partial: Int?
  }

  private(set) var heads: ContiguousArray<Head> = []
  private(set) var values: ContiguousArray<RecoveredRowBuffer.Value> = []
  private(set) var bytes = ContiguousArray<UInt8>()
  private(set) var partials: [[PartialValue]] = []
  /// `records`: the rows kept as records instead of values. `places`: for each stretch of records, how many rows with
  /// values come before it.
  private(set) var records = RecordBatch()
  private(set) var places: ContiguousArray<Int> = []
  /// The bytes of all texts, blobs, partial values and records added since the batch was last emptied.
  private(set) var size = 0

  var isEmpty: Bool { heads.isEmpty && places.isEmpty }
  /// The number of values, with an estimate of four for each record.
  var valueCount: Int { values.count + 4 * records.records.count }

  @inline(__always)
  mutating func append(_ record: RawSpan, rowID: Int64, of table: Int, _ page: UInt32) {
    open(table, page)
    records.append(record, rowID: rowID)
    size += record.byteCount
  }

  /// Adds all records of a leaf.
  mutating func append(
    _ leaf: borrowing SoundLeaf, _ bytes: RawSpan, of table: Int, _ page: UInt32
  ) {
    open(table, page)
    records.append(leaf, bytes)
    size += leaf.contentSize
  }

  /// Makes the last stretch one of `page`: continues the stretch if nothing came in between, else begins a new one.
  @inline(__always)
  private mutating func open(_ table: Int, _ page: UInt32) {
    guard places.last != heads.count || !records.isOpen(page) else { return }
    places.append(heads.count)
    records.begin(table, page)
  }

  mutating func append(_ row: borrowing RecoveredRowBuffer) {
    if !row.partial.isEmpty {
      partials.append(row.partial)
      for value in row.partial { size += value.bytes.count }
    }
    size += row.bytes.count
    heads.append(
      Head(
        origin: row.origin, rowID: row.rowID, hasInvalidText: row.hasInvalidText,
        values: values.count..<values.count + row.values.count,
        bytes: bytes.count..<bytes.count + row.bytes.count,
        partial: row.partial.isEmpty ? nil : partials.count - 1))
    values.append(contentsOf: row.values)
    bytes.append(contentsOf: row.bytes)
  }

  mutating func removeAll() {
    heads.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    partials.removeAll(keepingCapacity: true)
    records.removeAll()
    places.removeAll(keepingCapacity: true)
    size = 0
  }

  /// How far a batch was filled at some moment, for ``takeBack(to:)``.
  struct Mark {
    fileprivate let heads: Int
    fileprivate let stretches: Int

    var isStart: Bool { heads == 0 && stretches == 0 }
  }

  var mark: Mark { Mark(heads: heads.count, stretches: places.count) }

  /// Drops all rows added since the mark was made. The rows must not be of a page that already had rows before the
  /// mark.
  mutating func takeBack(to mark: Mark) {
    if mark.heads < heads.count {
      values.removeSubrange(heads[mark.heads].values.lowerBound...)
      bytes.removeSubrange(heads[mark.heads].bytes.lowerBound...)
      heads.removeSubrange(mark.heads...)
    }
    records.removeAll(behind: mark.stretches)
    places.removeSubrange(mark.stretches...)
  }
}
