import Dispatch

/// Writes the rows of a large table with two threads, in the same order as one thread.
///
/// The leaves are cut into blocks. Two blocks are decoded at a time, each by a worker with its own reader, scan and
/// buffer, and written in order. A block that does not fit its buffer is decoded again straight to the output, and so
/// are all that follow: with rows that large the output is the limit, not the decoding.
struct ParallelJSON {
  /// A table with fewer leaves is not worth a second thread.
  static let minLeafCount = 512
  private static let workerCount = 2
  private static let blockBytes = 1 << 20
  /// The rendered rows of a block: text and numbers take about twice their room in a page.
  private static let bufferBytes = 4 << 20

  /// What one thread works with. The rounds make sure that only one thread at a time uses it.
  private final class Worker: @unchecked Sendable {
    var reader: PageReader
    var scan: BTreeScan
    var sink: JSONRowSink
    let layout: RowLayout
    var failure: SQLiteFileError?

    init(
      reader: consuming PageReader, scan: consuming BTreeScan, sink: consuming JSONRowSink,
      layout: RowLayout
    ) {
      self.reader = reader
      self.scan = scan
      self.sink = sink
      self.layout = layout
      self.scan.readsLeavesOnly = true
      self.scan.begin()
    }

    func read(_ leaves: LeafList, _ range: Range<Int>) {
      do throws(SQLiteFileError) {
        for index in range where sink.wantsMore && !scan.hasLeftPages {
          try scan.read(leaf: leaves[index], layout: layout, reader: &reader, sink: &sink)
        }
      } catch {
        failure = error
      }
    }
  }

  private let leaves: LeafList
  private let layout: RowLayout
  private let workers: [Worker]

  /// - Parameters:
  ///   - leaves: the table's leaves in key order.
  ///   - table: the table's name.
  ///   - layout: the layout of its rows.
  ///   - makeReader: makes a reader of the same files for each worker.
  ///   - makeScan: makes a scan of the same table for each worker.
  init(
    leaves: LeafList, table: String, layout: RowLayout, makeReader: () -> PageReader,
    makeScan: () -> BTreeScan
  ) {
    self.leaves = leaves
    self.layout = layout
    workers = (0..<Self.workerCount).map { _ in
      var sink = JSONRowSink(
        output: OutputBuffer(capacity: Self.bufferBytes), form: .lines, limit: nil)
      sink.begin(table: table, columns: layout.names)
      return Worker(reader: makeReader(), scan: makeScan(), sink: sink, layout: layout)
    }
  }

  /// Writes all rows to `sink`; `scan` and `reader` serve blocks that are written straight.
  func write(to sink: inout JSONRowSink, scan: inout BTreeScan, reader: inout PageReader)
    throws(SQLiteFileError)
  {
    let blockLength = max(1, Self.blockBytes / reader.pageSize)
    var next = 0
    var straightFrom = leaves.count
    while next < straightFrom, sink.wantsMore {
      let blocks = (0..<workers.count).map { index in
        let start = min(next + index * blockLength, self.leaves.count)
        return start..<min(start + blockLength, self.leaves.count)
      }
      let (workers, leaves) = (workers, self.leaves)
      DispatchQueue.concurrentPerform(iterations: workers.count) {
        workers[$0].read(leaves, blocks[$0])
      }
      for (worker, block) in zip(workers, blocks) {
        // One scan alone must read below an interior page in a leaf's place, because pages may be referenced twice.
        guard !worker.sink.isBroken, !worker.scan.hasLeftPages else {
          straightFrom = block.lowerBound
          break
        }
        sink.take(&worker.sink)
        if let failure = worker.failure { throw failure }
      }
      next = min(next + workers.count * blockLength, leaves.count)
    }
    for index in min(straightFrom, leaves.count)..<leaves.count where sink.wantsMore {
      try scan.read(leaf: leaves[index], layout: layout, reader: &reader, sink: &sink)
    }
    for worker in workers {
      worker.scan.end()
      scan.findings.add(worker.scan.findings)
      scan.possibleLosses.add(worker.scan.possibleLosses)
    }
  }
}
