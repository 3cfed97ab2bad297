import Dispatch

/// Writes all live rows as NDJSON on two threads, in the order of one.
///
/// Pages are cut into blocks; two blocks are read at a time, each by a reader with a buffer of its own, and written
/// in turn. A block that does not fit its buffer is read once more, straight to the output.
struct ParallelRecovery {
  /// Fewer pages are not worth a second thread.
  static let leastPageCount: UInt32 = 1024
  private static let workerCount = 2
  private static let blockBytes = 1 << 20
  private static let bufferBytes = 4 << 20

  /// One thread's own things. Only one thread at a time touches it: the rounds see to that.
  private final class Worker: @unchecked Sendable {
    var rows: RowReader
    var sink: RecoveredJSONSink
    var failure: SQLiteFileError?

    init(rows: consuming RowReader, sink: consuming RecoveredJSONSink) {
      self.rows = rows
      self.sink = sink
    }

    func read(_ pages: Range<UInt32>, _ wanted: Set<Int>?) {
      let findings = rows.findings
      do throws(SQLiteFileError) {
        try rows.read(pages, wanted, &sink)
        // A block that does not fit is read once more by another reader, which finds the same.
        if sink.isBroken { rows.takeBack(to: findings) }
      } catch {
        failure = error
      }
    }
  }

  /// Writes the rows of all pages to `sink`.
  static func write(
    _ database: DamagedDatabase, _ wanted: Set<Int>?, to sink: inout RecoveredJSONSink
  ) throws(SQLiteFileError) {
    try database.learnBeforeMending()
    let workers = (0..<workerCount).map { _ in
      Worker(rows: RowReader(database), sink: sink.another(capacity: bufferBytes))
    }
    var straight = RowReader(database)
    let blockLength = UInt32(max(1, blockBytes / database.layout.pageSize))
    let end = database.pageCount + 1
    var next: UInt32 = 2
    while next < end, sink.wantsMore {
      let blocks = (0..<UInt32(workerCount)).map { index in
        let start = min(UInt64(next) + UInt64(index) * UInt64(blockLength), UInt64(end))
        return UInt32(start)..<UInt32(min(start + UInt64(blockLength), UInt64(end)))
      }
      DispatchQueue.concurrentPerform(iterations: workerCount) {
        workers[$0].read(blocks[$0], wanted)
      }
      for (worker, block) in zip(workers, blocks) {
        if worker.sink.isBroken {
          worker.sink.forget()
          try straight.read(block, wanted, &sink)
        } else {
          sink.take(&worker.sink)
        }
        if let failure = worker.failure { throw failure }
        next = block.upperBound
      }
    }
    for worker in workers { database.take(worker.rows) }
    database.take(straight)
    database.reportUndecodable(sink.undecodableCount)
  }
}
