import Dispatch

/// Reads the records of a large table on two threads, and passes them to a receiver in the order in which one thread
/// would pass them.
///
/// The leaves are divided into blocks. Two blocks are read at a time, each by a worker with its own reader, scan and
/// receiver. Their rows are passed on in order. If the receiver of a worker cannot store the rows of a block, this
/// block and all later blocks are read directly into the main receiver: with rows this large, the bottleneck is the
/// output, not the decoding.
struct ParallelRows {
  /// The minimum number of leaves for which a second thread is used.
  static var minLeafCount: Int { 512 }
  private static var workerCount: Int { 2 }

  /// The objects that one worker uses to read a block of leaves. Only one thread at a time uses a worker.
  private final class Worker: @unchecked Sendable {
    var reader: PageReader
    var scan: BTreeScan
    var sink: ReceivedRecords
    let layout: RowLayout
    var failure: SQLiteFileError?

    init(
      reader: consuming PageReader, scan: consuming BTreeScan, sink: ReceivedRecords,
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
  ///   - receiver: the receiver; it also makes a receiver for each worker.
  ///   - makeReader: makes a reader of the same files for each worker.
  ///   - makeScan: makes a scan of the same table for each worker.
  init(
    leaves: LeafList, layout: RowLayout, receiver: any RecordReceiver, makeReader: () -> PageReader,
    makeScan: () -> BTreeScan
  ) {
    self.leaves = leaves
    self.layout = layout
    workers = (0..<Self.workerCount).map { _ in
      Worker(
        reader: makeReader(), scan: makeScan(), sink: ReceivedRecords(receiver: receiver.another()),
        layout: layout)
    }
  }

  /// Writes all rows to `sink`. Worker threads read the leaves in blocks. When the result of a block cannot be used,
  /// `scan` and `reader` read the leaves of this block and all later leaves straight into `sink`.
  func write(to sink: inout ReceivedRecords, scan: inout BTreeScan, reader: inout PageReader)
    throws(SQLiteFileError)
  {
    let blockLength = max(1, sink.receiver.blockBytes / reader.pageSize)
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
        // If an interior page is in the position of a leaf, only one scan may read the pages below it, because a page
        // may be referenced twice.
        guard !worker.sink.receiver.isBroken, !worker.scan.hasLeftPages else {
          straightFrom = block.lowerBound
          break
        }
        // Findings and rows are added in the order of the blocks, so that the result is that of a single scan.
        scan.take(from: &worker.scan)
        sink.receiver.take(from: worker.sink.receiver)
        if let failure = worker.failure { throw failure }
      }
      next = min(next + workers.count * blockLength, leaves.count)
    }
    for index in min(straightFrom, leaves.count)..<leaves.count where sink.wantsMore {
      try scan.read(leaf: leaves[index], layout: layout, reader: &reader, sink: &sink)
    }
    for worker in workers { worker.scan.settle() }
  }
}
