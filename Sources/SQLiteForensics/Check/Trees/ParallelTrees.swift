import SQLiteFile
import Dispatch

/// Walks b-trees on two threads, each with a page map of its own.
///
/// B-trees of a sound file share no page, so the maps go together in the end and nothing depends on which thread took
/// what. Where they do not go together the whole is walked once more on one thread: then the order in which pages are
/// claimed decides what is said of them. A b-tree whose root has many children is taken apart there, so that one large
/// table does not leave a thread idle; its parts are put together in their order.
struct ParallelTrees {
  /// Fewer pages are not worth a second thread.
  static let leastPageCount: UInt32 = 2048
  private static let workerCount = 2
  /// Parts of a b-tree, at most, and the children of its root in each, at least.
  private static let mostParts = 16
  private static let leastChildren = 8

  /// A part of a b-tree to walk.
  private struct Unit {
    let job: Int
    let part: BTreeCheck.Part
  }

  /// What the threads share. Only touched within ``gate``.
  private final class Queue: @unchecked Sendable {
    let gate = DispatchQueue(label: "check")
    let jobs: [TreeJob]
    let units: [Unit]
    let onPages: ((Int) -> Void)?
    var next = 0
    var results: [PartResult?]
    var failure: SQLiteFileError?
    var pages: [Int]

    init(jobs: [TreeJob], units: [Unit], onPages: ((Int) -> Void)?, pages: Int) {
      self.jobs = jobs
      self.units = units
      self.onPages = onPages
      results = Array(repeating: nil, count: units.count)
      self.pages = [pages] + Array(repeating: 0, count: ParallelTrees.workerCount)
    }

    /// The number of the next unit; nil when there is none, or one has failed.
    func take() -> Int? {
      gate.sync {
        guard next < units.count, failure == nil else { return nil }
        next += 1
        return next - 1
      }
    }

    func put(_ result: Result<PartResult, SQLiteFileError>, of number: Int) {
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

  /// One thread's own things.
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

  /// Walks all jobs and takes what was found into `tree`.
  ///
  /// - Parameters:
  ///   - jobs: the b-trees.
  ///   - tree: has the pages that are claimed already.
  ///   - reader: a reader of the files.
  /// - Returns: a result for each job; nil when the b-trees share pages or one has leaves of several depths, and then
  ///   `tree` is of no use.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  static func run(_ jobs: [TreeJob], _ tree: inout BTreeCheck, _ reader: borrowing PageReader)
    throws(SQLiteFileError) -> [TreeResult]?
  {
    var results: [PartResult] = []
    var units: [Unit] = []
    let before = tree.findings
    tree.findings = FindingList()
    var rootReader = reader.another()
    for (number, job) in jobs.enumerated() {
      let (root, parts) = try tree.split(
        job, number: number, least: leastChildren, most: mostParts, &rootReader)
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
    return zip(results, jobs).map { $0.result($1) }
  }
}
