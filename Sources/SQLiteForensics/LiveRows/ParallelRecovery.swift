import RowText
import SQLiteFile
import Dispatch

/// Writes all live rows as NDJSON on two threads, in the order in which a single thread would write them.
///
/// The pages are divided into blocks, and each thread repeatedly takes the next block. Each thread has its own reader
/// and output buffer. The rows of a block are written after the rows of the previous block. If the rows do not fit into
/// the buffer, the thread waits until the previous block has been written, and then continues.
struct ParallelRecovery {
  /// The minimum number of pages of a database that is read on two threads.
  static let minPageCount: UInt32 = 1024
  private static let workerCount = 2
  /// The total size, in bytes, of the pages of a block. It is so small that the rows of a block stay in the processor's
  /// cache until the rows are written.
  private static let blockBytes = 256 << 10
  private static let bufferBytes = 1 << 20
  /// The number of finished blocks that may wait until the blocks before them have been written.
  private static let spareCount = 2

  /// What both reading threads report. Only the thread whose block is written next accesses this object.
  private final class Results: @unchecked Sendable {
    var findings = FindingList()
    var failure: SQLiteFileError?
  }

  private final class Worker: @unchecked Sendable {
    let turn: OutputTurn
    var rows: RowReader
    var sink: RecoveredJSONSink

    init(turn: OutputTurn, rows: consuming RowReader, sink: consuming RecoveredJSONSink) {
      self.turn = turn
      self.rows = rows
      self.sink = sink
    }

    func work(_ blocks: [Range<UInt32>], _ wanted: Set<Int>?, _ results: Results) {
      while let block = turn.take() {
        rows.expect(blocks[block])
        var failure: SQLiteFileError?
        do throws(SQLiteFileError) {
          try rows.read(blocks[block], wanted, &sink)
        } catch {
          failure = error
        }
        turn.end(&sink.output, rows.takeFindings(), failure) { findings, failure in
          results.findings.add(findings)
          results.failure = failure
        }
      }
    }
  }

  /// Divides the pages of the database into blocks for the threads. Returns the blocks in ascending order, without long
  /// ranges of pages that contain only zeros.
  private static func blocks(of database: DamagedDatabase) -> [Range<UInt32>] {
    let end = database.pageCount + 1
    let length = UInt32(max(1, blockBytes / database.layout.pageSize))
    let trees = database.namedTrees
    var blocks: [Range<UInt32>] = []
    var page = database.census.next(from: 2, or: trees)
    while page < end {
      blocks.append(page..<page + min(length, end - page))
      guard end - page > length else { break }
      page = database.census.next(from: page + length, or: trees)
    }
    return blocks
  }

  /// Writes the live rows of the tables whose indexes are in `wanted`; all live rows if `wanted` is nil.
  static func write(
    _ database: DamagedDatabase, _ wanted: Set<Int>?, to sink: inout RecoveredJSONSink
  ) throws(SQLiteFileError) {
    try database.learnBeforeMending()
    sink.flush()
    let blocks = Self.blocks(of: database)
    let spares = (0..<spareCount).map { _ in
      BlockOutput(output: sink.output.another(capacity: bufferBytes, turn: nil))
    }
    let turns = OrderedOutput(blockCount: blocks.count, spares: spares)
    let results = Results()
    let workers = (0..<workerCount).map { _ in
      let turn = OutputTurn(turns)
      return Worker(
        turn: turn, rows: RowReader(database),
        sink: sink.another(capacity: bufferBytes, turn: turn))
    }
    DispatchQueue.concurrentPerform(iterations: workerCount) {
      workers[$0].work(blocks, wanted, results)
    }
    database.findings.add(results.findings)
    var undecodableCount = 0
    for worker in workers {
      database.take(worker.rows)
      undecodableCount += worker.sink.undecodableCount
    }
    database.reportUndecodable(undecodableCount)
    if let failure = results.failure { throw failure }
    for worker in workers { try worker.sink.finish() }
    for spare in spares { try spare.output.finish() }
  }
}
