import SQLiteFile
import Dispatch

/// Walks b-trees on two threads, each with its own page map.
///
/// The b-trees of a sound file share no pages, so the maps can be merged at the end, whichever thread walked which
/// b-tree. If they cannot be merged, all b-trees are walked again on one thread, because then the findings depend on
/// the order in which pages are claimed. A b-tree whose root page has many children is split below that page, so that
/// one large table does not leave a thread idle. The results of the parts are joined in order.
struct ParallelTrees {
  /// The minimum number of pages of a database that is walked on two threads.
  static let minPageCount: UInt32 = 2048
  private static let workerCount = 2
  /// `maxParts`: the maximum number of parts into which one b-tree is split.
  /// `minChildren`: the minimum number of child pages of the root page for each part; the last part may have fewer.
  private static let maxParts = 16
  private static let minChildren = 8

  /// The work for one thread: a part of the b-tree of one job.
  private struct Unit {
    let job: Int
    let part: BTreeCheck.Part
  }

  /// The data that both threads access. Each access is a block on the serial queue ``gate``.
  private final class Queue: @unchecked Sendable {
    let gate = DispatchQueue(label: "check")
    let jobs: [TreeJob]
    let units: [Unit]
    let onPages: ((Int) -> Void)?
    var next = 0
    var results: [TreeResult?]
    var failure: SQLiteFileError?
    var pages: [Int]

    init(jobs: [TreeJob], units: [Unit], onPages: ((Int) -> Void)?, pages: Int) {
      self.jobs = jobs
      self.units = units
      self.onPages = onPages
      results = Array(repeating: nil, count: units.count)
      self.pages = [pages] + Array(repeating: 0, count: ParallelTrees.workerCount)
    }

    /// Returns the index of the next unit of work. Returns nil when no unit is left, or when a unit has failed.
    func take() -> Int? {
      gate.sync {
        guard next < units.count, failure == nil else { return nil }
        next += 1
        return next - 1
      }
    }

    func put(_ result: Result<TreeResult, SQLiteFileError>, of number: Int) {
      gate.sync {
        switch result {
        case .success(let result): results[number] = result
        case .failure(let error): failure = failure ?? error
        }
      }
    }

    func count(_ pages: Int, of worker: Int) {
      gate.sync {
        self.pages[worker + 1] = pages
        onPages?(self.pages.reduce(0, +))
      }
    }
  }

  private final class Worker: @unchecked Sendable {
    var reader: PageReader
    var tree: BTreeCheck

    init(reader: consuming PageReader, tree: consuming BTreeCheck) {
      self.reader = reader
      self.tree = tree
    }

    func work(_ queue: Queue) {
      while let number = queue.take() {
        let unit = queue.units[number]
        queue.put(
          Result { () throws(SQLiteFileError) in
            try tree.run(unit.part, of: queue.jobs[unit.job], number: unit.job, &reader)
          }, of: number)
      }
    }
  }

  /// Checks the b-trees of all jobs on several threads, and adds the results to `tree`, which already contains the
  /// claimed pages of earlier checks.
  ///
  /// - Returns: a result for each job. Nil if the b-trees share pages, or if one of them has leaves at several depths;
  ///   then `tree` is no longer valid.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  static func run(_ jobs: [TreeJob], _ tree: inout BTreeCheck, _ reader: borrowing PageReader)
    throws(SQLiteFileError) -> [TreeResult]?
  {
    var results: [TreeResult] = []
    var units: [Unit] = []
    let before = tree.findings
    tree.findings = FindingList()
    var rootReader = reader.another()
    for (number, job) in jobs.enumerated() {
      let (root, parts) = try tree.split(
        job, number: number, minPages: minChildren, maxParts: maxParts, &rootReader)
      results.append(root)
      for part in parts { units.append(Unit(job: number, part: part)) }
    }
    tree.findings = before
    let queue = Queue(jobs: jobs, units: units, onPages: tree.onPages, pages: tree.pagesDone)
    let workers = (0..<workerCount).map { index in
      var own = tree.another()
      if tree.onPages != nil { own.onPages = { queue.count($0, of: index) } }
      return Worker(reader: reader.another(), tree: own)
    }
    DispatchQueue.concurrentPerform(iterations: workers.count) { workers[$0].work(queue) }
    if let failure = queue.failure { throw failure }
    for worker in workers {
      guard tree.map.merge(worker.tree.map) else { return nil }
      tree.records.merge(worker.tree.records)
    }
    for (unit, result) in zip(units, queue.results) {
      guard let result, results[unit.job].add(result) else { return nil }
    }
    return results
  }
}
