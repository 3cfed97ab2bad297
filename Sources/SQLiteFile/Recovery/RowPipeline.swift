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
  /// Rows of which the records stand for the values, and for each stretch of them how many others come before it.
  private(set) var records = RecordBatch()
  private(set) var places: ContiguousArray<Int> = []
  /// Bytes of all values, partial ones too.
  private(set) var size = 0

  var isEmpty: Bool { heads.isEmpty && places.isEmpty }
  /// Values, and records, each of which has some.
  var valueCount: Int { values.count + 4 * records.records.count }

  @inline(__always)
  mutating func append(_ record: RawSpan, rowID: Int64, of table: Int, _ page: UInt32) {
    open(table, page)
    records.append(record, rowID: rowID)
    size += record.byteCount
  }

  /// Adds the records of a leaf.
  mutating func append(
    _ leaf: borrowing SoundLeaf, _ bytes: RawSpan, of table: Int, _ page: UInt32
  ) {
    open(table, page)
    records.append(leaf, bytes)
    size += leaf.contentSize
  }

  /// Has records of a page go on, or begins with them.
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

  /// Where a batch was at some time.
  struct Mark {
    fileprivate let heads: Int
    fileprivate let stretches: Int

    var isStart: Bool { heads == 0 && stretches == 0 }
  }

  var mark: Mark { Mark(heads: heads.count, stretches: places.count) }

  /// Drops what came since then; what was added next was of another page.
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

/// Reads live rows on one thread while another takes those that were read before, in the order of one thread.
///
/// They work in rounds of a batch each. The rows of a page that do not fit a batch are read straight by whoever takes them.
struct RowPipeline {
  private static let mostBytes = 512 << 10
  private static let mostValues = 16_384
  /// Pages read in a round where they hold little.
  private static let mostPages: UInt32 = 128

  /// Gathers rows in a batch until it is full.
  private struct BatchSink: RecoverySink, ~Copyable {
    var batch = RowBatch()
    var isFull = false
    private var row = RecoveredRowBuffer()
    private let forms: [RecordForm?]
    let undecodableCount = 0

    init(forms: [RecordForm?]) { self.forms = forms }

    var wantsMore: Bool { !isFull }

    @inline(__always)
    mutating func take(_ record: RawSpan, rowID: Int64, _ origin: RowOrigin) -> Bool {
      guard let table = origin.table, table < forms.count, origin.confidence == 100,
        forms[table]?.takes(record) ?? false
      else { return false }
      if hasRoom(record.byteCount, 4) {
        batch.append(record, rowID: rowID, of: table, origin.page)
      } else {
        isFull = true
      }
      return true
    }

    func takesLeaves(of table: Int) -> Bool { table < forms.count && forms[table] != nil }

    mutating func take(
      _ leaf: borrowing SoundLeaf, _ page: RawSpan, number: UInt32, _ layout: borrowing RowLayout,
      _ attribution: Attribution, table: Int
    ) -> Bool {
      guard let form = forms[table] else { return false }
      for cell in leaf.cells {
        guard form.takes(page.part(Int(cell.record), Int(cell.payload))) else { return false }
      }
      if hasRoom(leaf.contentSize, 4 * leaf.cells.count) {
        batch.append(leaf, page, of: table, number)
      } else {
        isFull = true
      }
      return true
    }

    @inline(__always)
    private func hasRoom(_ size: Int, _ values: Int) -> Bool {
      batch.size + size <= RowPipeline.mostBytes
        && batch.valueCount + values <= RowPipeline.mostValues
    }

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
      if hasRoom(size, row.values.count) {
        batch.append(row)
      } else {
        isFull = true
      }
    }
  }

  /// What the reading thread has to itself. Only one thread at a time touches it: the rounds see to that.
  private final class Reading: @unchecked Sendable {
    var rows: RowReader
    var sink: BatchSink
    var next: UInt32
    /// Whether the rows of the next page alone are too many.
    var isStuck = false
    var failure: SQLiteFileError?

    init(_ rows: consuming RowReader, _ forms: [RecordForm?], from page: UInt32) {
      self.rows = rows
      sink = BatchSink(forms: forms)
      next = page
    }

    /// Reads pages up to `end` until the batch is full.
    func read(upTo end: UInt32, _ wanted: Set<Int>?) {
      do throws(SQLiteFileError) {
        while next < end {
          let mark = sink.batch.mark
          let findings = rows.findings
          try rows.read(next..<next + 1, wanted, &sink)
          if sink.isFull {
            sink.batch.takeBack(to: mark)
            sink.isFull = false
            rows.takeBack(to: findings)
            isStuck = mark.isStart
            return
          }
          next += 1
        }
      } catch {
        failure = error
      }
    }
  }

  /// Takes a stretch of records; false ends all.
  typealias Records = (borrowing RecordBatch, RecordBatch.Stretch) -> Bool

  /// The same for the thread that takes the rows.
  private final class Taking: @unchecked Sendable {
    var sink: BufferedRowSink
    var batch = RowBatch()
    private let records: Records

    init(_ sink: consuming BufferedRowSink, _ records: @escaping Records) {
      self.sink = sink
      self.records = records
    }

    /// Hands on what is in the batch, in order.
    func take() {
      var next = 0
      var index = 0
      while index < batch.places.count, sink.wantsMore {
        sink.receive(batch, next..<batch.places[index])
        next = batch.places[index]
        if sink.wantsMore, !records(batch.records, batch.records.stretches[index]) { sink.stop() }
        index &+= 1
      }
      sink.receive(batch, next..<batch.heads.count)
    }
  }

  /// Hands all live rows to `receive`, and those whose records are of the form of their table as they are to `records`,
  /// until one of them returns false; returns whether none ever did.
  static func read(
    _ database: DamagedDatabase, _ wanted: Set<Int>?, as forms: [RecordForm?] = [],
    records: @escaping Records = { _, _ in true },
    _ receive: @escaping (borrowing RecoveredRowBuffer) -> Bool
  ) throws(SQLiteFileError) -> Bool {
    try database.learnBeforeMending()
    let end = database.pageCount + 1
    let reading = Reading(RowReader(database), forms, from: 2)
    let taking = Taking(BufferedRowSink(receive: receive), records)
    // Rarely needed, and its windows take memory.
    var straight: RowReader?
    while reading.next < end || !taking.batch.isEmpty, taking.sink.wantsMore {
      let stop = min(end, reading.next + min(mostPages, end - reading.next))
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
          taking.take()
        } else {
          reading.read(upTo: stop, wanted)
        }
      }
      taking.batch.removeAll()
      swap(&taking.batch, &reading.sink.batch)
      if let failure = reading.failure { throw failure }
      if reading.isStuck, taking.batch.isEmpty, taking.sink.wantsMore {
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
