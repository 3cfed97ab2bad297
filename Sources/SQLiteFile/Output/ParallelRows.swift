import Dispatch

/// A sink whose rows another one can take over.
protocol BlockSink: RecordSink, SendableMetatype, ~Copyable {
  /// Whether rows were lost because the output failed, or because the sink could not keep them all.
  var isBroken: Bool { get }
  /// Appends the rows that another sink has kept, and empties that one.
  mutating func take(_ other: inout Self)
}

extension OutputBuffer {
  /// A buffer for the rendered rows of a block: text and numbers take about twice their room in a page.
  package static func ofBlock() -> OutputBuffer { OutputBuffer(capacity: 4 << 20) }
}

/// Writes the rows of a large table with two threads, in the same order as one thread.
///
/// The leaves are cut into blocks. Two blocks are decoded at a time, each by a worker with its own reader, scan and
/// buffer, and written in order. A block that does not fit its buffer is decoded again straight to the output, and so
/// are all that follow: with rows that large the output is the limit, not the decoding.
struct ParallelRows<Sink: BlockSink & ~Copyable> {
  /// A table with fewer leaves is not worth a second thread.
  static var minLeafCount: Int { 512 }
  private static var workerCount: Int { 2 }
  private static var blockBytes: Int { 1 << 20 }

  /// What one thread works with. The rounds make sure that only one thread at a time uses it.
  private final class Worker: @unchecked Sendable {
    var reader: PageReader
    var scan: BTreeScan
    var sink: Sink
    let layout: RowLayout
    var failure: SQLiteFileError?

    init(
      reader: consuming PageReader, scan: consuming BTreeScan, sink: consuming Sink,
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
  ///   - layout: the layout of the table's rows.
  ///   - makeSink: makes a sink for each worker, which keeps its rows.
  ///   - makeReader: makes a reader of the same files for each worker.
  ///   - makeScan: makes a scan of the same table for each worker.
  init(
    leaves: LeafList, layout: RowLayout, makeSink: () -> Sink, makeReader: () -> PageReader,
    makeScan: () -> BTreeScan
  ) {
    self.leaves = leaves
    self.layout = layout
    workers = (0..<Self.workerCount).map { _ in
      Worker(reader: makeReader(), scan: makeScan(), sink: makeSink(), layout: layout)
    }
  }

  /// Writes all rows to `sink`; `scan` and `reader` serve blocks that are written straight.
  func write(to sink: inout Sink, scan: inout BTreeScan, reader: inout PageReader)
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
