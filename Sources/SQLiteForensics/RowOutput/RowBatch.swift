import SQLiteFile

/// A list of rows, each of which is stored as values or as a complete record. After ``removeAll()``, the next rows use
/// the same memory.
struct RowBatch: ~Copyable {
  /// A row that is stored as values: where its values and bytes are in the batch, its row id and its origin.
  struct Head {
    let origin: RowOrigin
    let rowID: Int64?
    let hasInvalidText: Bool
    let values: Range<Int>
    let bytes: Range<Int>
    /// The index of the row's partial values in ``RowBatch/partials``; nil for a row without partial values.
    let partial: Int?
  }

  private(set) var heads: ContiguousArray<Head> = []
  private(set) var values: ContiguousArray<RecoveredRowBuffer.Value> = []
  private(set) var bytes = ContiguousArray<UInt8>()
  private(set) var partials: [[PartialValue]] = []
  /// `records`: the rows that are stored as complete records, in stretches. A stretch has records of one page that were
  /// added one after the other.
  /// `places`: for each stretch, the number of rows in ``heads`` that come before it in the batch.
  private(set) var records = RecordBatch()
  private(set) var places: ContiguousArray<Int> = []
  /// The total length, in bytes, of all strings, blobs, partial values and records that were added since the last
  /// ``removeAll()``.
  private(set) var size = 0

  var isEmpty: Bool { heads.isEmpty && places.isEmpty }
  /// The number of values in the batch. A complete record counts as four values.
  var valueCount: Int { values.count + 4 * records.records.count }

  @inline(__always)
  mutating func append(_ record: RawSpan, rowID: Int64, of table: Int, _ page: UInt32) {
    open(table, page)
    records.append(record, rowID: rowID)
    size += record.byteCount
  }

  mutating func append(
    _ leaf: borrowing SoundLeaf, _ bytes: RawSpan, of table: Int, _ page: UInt32
  ) {
    open(table, page)
    records.append(leaf, bytes)
    size += leaf.contentSize
  }

  /// Prepares to add a record of the page `page` to ``records``. Begins a new stretch of records, unless the last
  /// stretch is of the same page and no row was added to ``heads`` after it.
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

  /// A point to which a batch can be cut back with ``takeBack(to:)``: the numbers of rows and of stretches at that
  /// moment.
  struct Mark {
    fileprivate let heads: Int
    fileprivate let stretches: Int

    var isStart: Bool { heads == 0 && stretches == 0 }
  }

  var mark: Mark { Mark(heads: heads.count, stretches: places.count) }

  /// Removes all rows that were added after `mark` was made. Precondition: these rows come from one page, and `mark`
  /// was made before the first row of that page was added.
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
