import Dispatch

/// Rows one after the other in memory that is used again.
struct RowBatch: ~Copyable {
  /// Where a row is in the batch, and what else there is to know of it.
  struct Head {
    let origin: RowOrigin
    let rowID: Int64?
    let hasInvalidText: Bool
    let values: Range<Int>
    let bytes: Range<Int>
    /// The place of its values that are not whole; nil when all are.
    let partial: Int?
  }

  private(set) var heads: ContiguousArray<Head> = []
  private(set) var values: ContiguousArray<RecoveredRowBuffer.Value> = []
  private(set) var bytes = ContiguousArray<UInt8>()
  private(set) var partials: [[PartialValue]] = []
  /// Bytes of all values, partial ones too.
  private(set) var size = 0

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
    size = 0
  }

  /// Drops the rows from the one at `place` on.
  mutating func removeAll(behind place: Int) {
    guard place > 0 else { return removeAll() }
    guard place < heads.count else { return }
    values.removeSubrange(heads[place].values.lowerBound...)
    bytes.removeSubrange(heads[place].bytes.lowerBound...)
    heads.removeSubrange(place...)
  }
}

/// Reads live rows on one thread while another takes those that were read before, in the order of one thread.
///
/// They work in rounds of a batch each. The rows of a page that do not fit a batch are read straight by whoever takes them.
struct RowPipeline {
  private static let mostBytes = 128 << 10
  private static let mostValues = 4096
  /// Pages read in a round where they hold little.
  private static let mostPages: UInt32 = 24

  /// Gathers rows in a batch until it is full.
  private struct BatchSink: RecoverySink, ~Copyable {
    var batch = RowBatch()
    var isFull = false
    private var row = RecoveredRowBuffer()
    let undecodableCount = 0

    var wantsMore: Bool { !isFull }

    mutating func begin(_ origin: RowOrigin, partial: [PartialValue]) { row.begin(origin, partial) }
    mutating func beginRow(_ rowID: Int64?) { row.beginRow(rowID) }
    mutating func null() { row.append(.null) }
    mutating func integer(_ value: Int64) { row.append(.integer, bits: value) }
    mutating func real(_ value: Double) {
      row.append(.real, bits: Int64(bitPattern: value.bitPattern))
    }
    mutating func text(_ bytes: RawSpan) { row.append(.text, bytes) }
    mutating func blob(_ bytes: RawSpan) { row.append(.blob, bytes) }
    mutating func endRow() {
      var size = row.bytes.count
      for value in row.partial { size += value.bytes.count }
      if batch.size + size <= RowPipeline.mostBytes,
        batch.values.count + row.values.count <= RowPipeline.mostValues
      {
        batch.append(row)
      } else {
        isFull = true
      }
    }
  }

  /// What the reading thread has to itself. Only one thread at a time touches it: the rounds see to that.
  private final class Reading: @unchecked Sendable {
    var rows: RowReader
    var sink = BatchSink()
    var next: UInt32
    /// Whether the rows of the next page alone are too many.
    var isStuck = false
    var failure: SQLiteFileError?

    init(_ rows: consuming RowReader, from page: UInt32) {
      self.rows = rows
      next = page
    }

    /// Reads pages up to `end` until the batch is full.
    func read(upTo end: UInt32, _ wanted: Set<Int>?) {
      do throws(SQLiteFileError) {
        while next < end {
          let mark = sink.batch.heads.count
          let findings = rows.findings
          try rows.read(next..<next + 1, wanted, &sink)
          if sink.isFull {
            sink.batch.removeAll(behind: mark)
            sink.isFull = false
            rows.takeBack(to: findings)
            isStuck = mark == 0
            return
          }
          next += 1
        }
      } catch {
        failure = error
      }
    }
  }

  /// The same for the thread that takes the rows.
  private final class Taking: @unchecked Sendable {
    var sink: BufferedRowSink
    var batch = RowBatch()

    init(_ sink: consuming BufferedRowSink) { self.sink = sink }
  }

  /// Hands all live rows to `receive` until it returns false; returns whether it never did.
  static func read(
    _ database: DamagedDatabase, _ wanted: Set<Int>?,
    _ receive: @escaping (borrowing RecoveredRowBuffer) -> Bool
  ) throws(SQLiteFileError) -> Bool {
    try database.learnBeforeMending()
    let end = database.pageCount + 1
    let reading = Reading(RowReader(database), from: 2)
    let taking = Taking(BufferedRowSink(receive: receive))
    // Rarely needed, and its windows take memory.
    var straight: RowReader?
    while reading.next < end || !taking.batch.heads.isEmpty, taking.sink.wantsMore {
      let stop = min(end, reading.next + min(mostPages, end - reading.next))
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
          taking.sink.receive(taking.batch)
        } else {
          reading.read(upTo: stop, wanted)
        }
      }
      taking.batch.removeAll()
      swap(&taking.batch, &reading.sink.batch)
      if let failure = reading.failure { throw failure }
      if reading.isStuck, taking.batch.heads.isEmpty, taking.sink.wantsMore {
        if straight == nil { straight = RowReader(database) }
        try straight?.read(reading.next..<reading.next + 1, wanted, &taking.sink)
        reading.next += 1
        reading.isStuck = false
      }
    }
    database.take(reading.rows)
    if let straight { database.take(straight) }
    database.reportUndecodable(taking.sink.undecodableCount)
    return taking.sink.wantsMore
  }
}
