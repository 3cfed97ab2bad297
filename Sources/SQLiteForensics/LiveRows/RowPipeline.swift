import SQLiteFile
import Dispatch

/// Reads live rows on one thread, while a second thread passes on the rows that were read before. The order of the rows
/// is the same as with a single thread.
///
/// In each round, one thread fills a batch and the other thread empties the previous batch. If the rows of a page do
/// not fit into a batch, they are passed on without a batch.
struct RowPipeline {
  private static let maxBytes = 512 << 10
  private static let maxValues = 16_384
  /// The maximum number of pages that are read into one batch.
  private static let maxPages: UInt32 = 128

  private struct BatchSink: RecoverySink, RowGathering, ~Copyable {
    var batch = RowBatch()
    var isFull = false
    var row = RecoveredRowBuffer()
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
      batch.size + size <= RowPipeline.maxBytes
        && batch.valueCount + values <= RowPipeline.maxValues
    }

    mutating func begin(_ origin: RowOrigin, partial: [PartialValue]) { row.begin(origin, partial) }
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

  /// The reader, the sink and the next page of the thread that reads rows. In each round, only one thread accesses this
  /// object.
  private final class Reading: @unchecked Sendable {
    var rows: RowReader
    var sink: BatchSink
    var next: UInt32
    /// Whether even an empty batch has too little room for the rows of the page ``next``.
    var isStuck = false
    var failure: SQLiteFileError?

    init(_ rows: consuming RowReader, _ forms: [RecordForm?], from page: UInt32) {
      self.rows = rows
      sink = BatchSink(forms: forms)
      next = page
    }

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

  /// Receives consecutive records. Returns false to stop.
  typealias Records = (borrowing RecordBatch, RecordBatch.Stretch) -> Bool

  /// The object that passes rows on while another thread reads: the sink and the current batch of rows. Only one thread
  /// at a time accesses this object.
  private final class Taking: @unchecked Sendable {
    var sink: BufferedRowSink
    var batch = RowBatch()
    private let records: Records

    init(_ sink: consuming BufferedRowSink, _ records: @escaping Records) {
      self.sink = sink
      self.records = records
    }

    /// Passes the rows and records of the batch to the closures, in the order in which they were read.
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

  /// Reads live rows in page order and passes them on until a closure returns false. `forms`: for each table, a record
  /// form or nil. A record that has the form of its table is passed to `records`, with its bytes unchanged. Any other
  /// row is decoded and passed to `receive`. Returns false if a closure has returned false.
  static func read(
    _ database: DamagedDatabase, _ wanted: Set<Int>?, as forms: [RecordForm?] = [],
    records: @escaping Records = { _, _ in true },
    _ receive: @escaping (borrowing RecoveredRowBuffer) -> Bool
  ) throws(SQLiteFileError) -> Bool {
    try database.learnBeforeMending()
    let end = database.pageCount + 1
    let reading = Reading(RowReader(database), forms, from: 2)
    let taking = Taking(BufferedRowSink(receive: receive), records)
    // A second reader, for pages whose rows do not fit into a batch. Such pages are rare, and a reader takes memory for
    // its windows, so this reader is only created when it is needed.
    var straight: RowReader?
    while reading.next < end || !taking.batch.isEmpty, taking.sink.wantsMore {
      let stop = min(end, reading.next + min(maxPages, end - reading.next))
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
          taking.take()
        } else {
          reading.read(upTo: stop, wanted)
        }
      }
      taking.batch.removeAll()
      swap(&taking.batch, &reading.sink.batch)
      if let failure = reading.failure {
        // The rows that were read before the failure are passed on.
        taking.take()
        throw failure
      }
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
