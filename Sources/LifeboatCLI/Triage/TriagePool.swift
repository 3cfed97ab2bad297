import CLibrary
import Dispatch
import Foundation
import SafeFiles
import SafeText
import StoreTriage

/// A pool of worker processes that read inputs in parallel. One thread of this process gives inputs to the workers. A
/// worker has one input at a time. If the worker ends or takes too long, the output line of its input states this as
/// the reason, and a new worker is started. Only workers open inputs.
final class TriagePool {
  private let setup: TriageSetup
  private let setupBytes: [UInt8]
  private let count: Int
  private let output: TriageOutput
  private let folders: WorkerFolders
  private let journal: TriageJournal?
  private let isInterrupted: () -> Bool
  private var list: InputList
  private var hasListEnded = false
  private var order: TriageOrder
  private var workers: [WorkerProcess] = []
  /// Workers that were killed but have not ended yet.
  private var leaving: [WorkerProcess] = []
  /// The number of consecutive workers that ended without any answer.
  private var uselessCount = 0
  private var isGoingOn: Bool
  /// A folder whose inputs are searched for again, because its record in the journal does not list them. `place` is the
  /// place of this record. Nil while no folder is searched again.
  private var awaited: (job: TriageOrder.Job, place: TriageJournal.Place)?
  /// The place of the first record to remove from the journal, because this record and all later ones do not match the
  /// inputs any more; nil if no record must be removed.
  private var outdated: TriageJournal.Place?
  /// Inputs that ``order`` has already returned and that still wait for a worker. Workers get them before ``order`` is
  /// asked for further inputs.
  private var again: ArraySlice<TriageOrder.Job> = []
  /// The inputs that are read again because the journal records a failure for them, and the cause of the failure may be
  /// gone. The value is the place of this record in the journal. A record cannot be replaced, so each run that
  /// continues the journal reads these inputs again.
  private var doubted: [TriageOrder.Job: TriageJournal.Place] = [:]
  private var toldCount = 0

  /// The maximum number of milliseconds between two checks for an interruption.
  private static let tick = 100
  /// The maximum number of consecutive workers that may end without an answer. After that, the run fails.
  private static let maxUseless = 8

  init(
    _ list: InputList, _ setup: TriageSetup, workers count: Int, folders: WorkerFolders,
    journal: TriageJournal?, isInterrupted: @escaping () -> Bool, _ output: TriageOutput
  ) throws {
    self.list = list
    self.setup = setup
    setupBytes = Array(try JSONText.data(setup))
    self.count = count
    self.folders = folders
    self.journal = journal
    self.isInterrupted = isInterrupted
    self.output = output
    isGoingOn = journal != nil
    order = TriageOrder(window: 1024 * count)
  }

  // MARK: - The loop

  /// Reads all inputs. Returns false when the run was interrupted. Ends all workers before it returns.
  func run() throws -> Bool {
    defer { endAll() }
    while true {
      if isInterrupted() { return false }
      var waiting: Int32?
      fill(&waiting)
      try goOn()
      try handOut()
      let hasTold = try tell()
      try journal?.flush()
      let isBusy = workers.contains { $0.work != nil }
      if hasListEnded, order.isEmpty, !isBusy { return true }
      if hasTold, !isBusy { continue }
      try output.rest()
      if isBusy || waiting != nil { try wait(waiting) }
    }
  }

  /// Adds inputs from the list to ``order`` until ``order`` has no room. If the next path of the list has not arrived
  /// yet, sets `waiting` to the descriptor from which the path will come.
  private func fill(_ waiting: inout Int32?) {
    while !hasListEnded, order.hasRoom {
      switch list.next(Self.canRead) {
      case .path(let path): order.add(path)
      case .waiting(let descriptor):
        waiting = descriptor
        return
      case .end: hasListEnded = true
      }
    }
  }

  private static func canRead(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 0) != 0
  }

  /// Takes over the results that an earlier run recorded in the journal, so that the inputs with these results need not
  /// be read again.
  private func goOn() throws {
    guard let journal else { return }
    if let place = outdated {
      outdated = nil
      try journal.drop(from: place)
    }
    while isGoingOn, awaited == nil {
      guard let job = order.next() else {
        // `order` hands out no input to compare with the next record. Passing on results that were taken up may make
        // room for further inputs.
        if try tell() { continue }
        return
      }
      guard let record = try journal.next() else {
        isGoingOn = false
        again.append(job)
        return
      }
      let place = journal.place
      guard record.path == job.path, record.isFound == job.isFound else {
        try journal.drop(from: place)
        isGoingOn = false
        again.append(job)
        return
      }
      if case .inputs = record.result {
        // The journal does not record which inputs the folder contains, so the folder is searched again.
        awaited = (job, place)
        again.append(job)
      } else if Self.mayDiffer(record.result) {
        doubted[job] = place
        again.append(job)
      } else {
        order.finish(job, record.result)
      }
    }
  }

  private static let problem = Array(#""problem":""#.utf8)

  /// Whether an input with this recorded result must be read again. True if the result has a failure whose cause may be
  /// gone, such as a missing key, or if the line of a failure cannot be decoded.
  private static func mayDiffer(_ result: TriageOrder.Result) -> Bool {
    let lines: [[UInt8]] =
      switch result {
      case .line(let json, _): [json]
      case .lines(let lines): lines
      case .nothing, .inputs: []
      }
    return lines.contains { json in
      // Each line with a failure has the JSON key `problem`. Quotes inside JSON strings are escaped, so no string can
      // contain these bytes.
      guard json.firstRange(of: problem) != nil else { return false }
      guard let line = try? TriageLine(json: json) else { return true }
      return line.isToBeReadAgain
    }
  }

  /// Gives an input to each free worker.
  private func handOut() throws {
    while hasFreeWorker, let job = again.popFirst() { try start(job) }
    guard !isGoingOn || journal == nil else { return }
    while hasFreeWorker, let job = order.next() { try start(job) }
  }

  private var hasFreeWorker: Bool {
    workers.count < count || workers.contains { $0.work == nil }
  }

  private func start(_ job: TriageOrder.Job) throws {
    if let message = Self.defect(of: job.path) {
      return finish(job, failed: .init(code: "file.missing", message: message))
    }
    let known = try output.known(job.path)
    let request = TriageRequest(path: job.path, isFound: job.isFound, known: known).bytes
    while true {
      let worker = try workers.first { $0.work == nil } ?? newWorker()
      worker.send(request)
      if !worker.isBroken {
        worker.work = (job, Self.now + UInt64(setup.timeout) * 1_000_000_000)
        return
      }
      // The worker ended while it was idle, so it has not read the request.
      lose(worker)
    }
  }

  /// Returns the reason why no file can have this path; nil when a file may have this path.
  private static func defect(of path: [UInt8]) -> String? {
    if path.isEmpty { return "the path is empty" }
    if path.contains(0) {
      return "the path contains a zero byte; if each path ends in one, add --null"
    }
    return path.count > InputList.maxPathBytes ? "the path is too long" : nil
  }

  /// Passes on results in the order of the list, up to the first result that is still missing. Returns whether any
  /// result was passed on.
  private func tell() throws -> Bool {
    var hasTold = false
    while let record = order.tell() {
      hasTold = true
      // An item with a line is not recorded, because a later run gets the item again when it searches the folder.
      if record.job.isFound, record.job.path.isEmpty {
        try output.tell(record, false)
        continue
      }
      toldCount += 1
      let isInJournal = toldCount <= journal?.takenUp ?? 0
      if !isInJournal { journal?.add(record) }
      let isReadAgain = doubted.removeValue(forKey: record.job) != nil
      try output.tell(record, isInJournal && !isReadAgain)
    }
    return hasTold
  }

  // MARK: - Workers

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  private func newWorker() throws -> WorkerProcess {
    guard uselessCount < Self.maxUseless else {
      throw Failure(
        70, "triage.noWorker", "the processes that read inputs end before they answer",
        hint: "give these processes more memory with --max-memory")
    }
    let worker = try WorkerProcess(setupBytes, folder: folders.next())
    workers.append(worker)
    return worker
  }

  /// Waits until a worker sends an answer, the time limit of an input passes, or the next path of the list can be read,
  /// but at most ``tick`` milliseconds.
  ///
  /// `list`: the descriptor from which the next path will come; nil if no path is awaited.
  private func wait(_ list: Int32?) throws {
    var entries = workers.map { worker in
      pollfd(fd: worker.answers, events: Int16(POLLIN), revents: 0)
    }
    let senders = workers.filter { !$0.unsent.isEmpty }
    entries += senders.map { pollfd(fd: $0.requests, events: Int16(POLLOUT), revents: 0) }
    if let list { entries.append(pollfd(fd: list, events: Int16(POLLIN), revents: 0)) }
    let now = Self.now
    let next = workers.compactMap { $0.work?.end }.min() ?? .max
    let left = next > now ? (next - now) / 1_000_000 + 1 : 0
    unsafe _ = poll(&entries, nfds_t(entries.count), Int32(min(left, UInt64(Self.tick))))
    for sender in senders { sender.flush() }
    for (worker, entry) in zip(workers, entries) where entry.revents != 0 { try receive(worker) }
    let late = Self.now
    for worker in workers {
      guard let work = worker.work, work.end <= late else { continue }
      // The worker may have answered while this process was stopped, so its pipe is read once more.
      try receive(worker)
      guard worker.work != nil, workers.contains(where: { $0 === worker }) else { continue }
      remove(worker)
      finish(
        work.job,
        failed: .init(
          code: "triage.timeout",
          message: "reading the input took longer than \(counted(setup.timeout, "second"))"))
    }
    leaving.removeAll { $0.ending() != nil }
  }

  private func receive(_ worker: WorkerProcess) throws {
    switch worker.receive() {
    case .waiting: return
    case .answer(let bytes):
      uselessCount = 0
      guard let (job, _) = worker.work, let answer = TriageAnswer(bytes) else {
        return lose(worker)
      }
      worker.work = nil
      switch answer {
      case .result(let result): finish(job, result)
      case .known:
        if let line = try output.line(job.path) {
          return finish(job, .line(line, identity: try output.known(job.path)))
        }
        // Another run has removed the line in the meantime, so the input is read.
        worker.work = (job, Self.now + UInt64(setup.timeout) * 1_000_000_000)
        worker.send(TriageRequest(path: job.path, isFound: job.isFound, known: nil).bytes)
      }
    case .ended: lose(worker)
    }
  }

  /// Removes a worker that has ended. The worker's input gets a line with the reason.
  private func lose(_ worker: WorkerProcess) {
    if !worker.hasAnswered { uselessCount += 1 }
    let job = worker.work?.job
    let ending = remove(worker)
    guard let job else { return }
    finish(
      job,
      failed: .init(
        code: "triage.workerEnded",
        message:
          "the process that read the input was ended: \(ending); the input may need more memory than "
          + "--max-memory allows"))
  }

  /// Ends a worker, and removes the worker's folder. Returns a description of how the worker ended.
  @discardableResult
  private func remove(_ worker: WorkerProcess) -> String {
    workers.removeAll { $0 === worker }
    // If the worker has ended by itself, it may take a moment until the system reports this. A worker whose input has
    // timed out is killed without this wait.
    var ending = worker.ending()
    for _ in 0..<50 where ending == nil && worker.work?.end ?? .max > Self.now {
      usleep(1000)
      ending = worker.ending()
    }
    // The process is killed only if `ending` is nil. Otherwise the system may have given its process id to another
    // process.
    if ending == nil { worker.kill() }
    worker.closePipes()
    for _ in 0..<100 where ending == nil {
      ending = worker.ending()
      if ending == nil { usleep(1000) }
    }
    // A process that waits for a device ends only after the device has answered, even if it was killed.
    if ending == nil { leaving.append(worker) }
    folders.remove(worker.folder)
    return ending ?? "the process does not end"
  }

  private func endAll() {
    // Workers that wait for a request would end when their pipe is closed. The others have to be killed.
    for worker in workers {
      worker.closePipes()
      worker.kill()
    }
    for worker in workers + leaving {
      for _ in 0..<100 where worker.ending() == nil { usleep(1000) }
    }
    workers = []
    leaving = []
  }

  // MARK: - Results

  private func finish(_ job: TriageOrder.Job, _ result: TriageOrder.Result) {
    order.finish(job, result)
    let isFolder = if case .inputs = result { true } else { false }
    if let folder = awaited, folder.job == job {
      awaited = nil
      // The input is no longer a folder, so the rest of the journal does not match the inputs.
      if !isFolder { stopGoingOn(at: folder.place) }
    } else if isFolder, job.child == nil, let place = doubted[job] {
      // The earlier run could not search this folder, but this run can. The records of the folder's inputs must come
      // before the later records of the journal, so the later records are removed. Their results were taken up but not
      // passed on yet, so they are recorded again.
      stopGoingOn(at: place)
    }
  }

  /// Stops using the results that an earlier run has recorded in the journal. The next call of ``goOn()`` removes the
  /// record at `place` and all later records from the journal.
  private func stopGoingOn(at place: TriageJournal.Place) {
    isGoingOn = false
    awaited = nil
    if place.takenUp < outdated?.takenUp ?? .max { outdated = place }
  }

  private func finish(_ job: TriageOrder.Job, failed: TriageLine.Failed) {
    let line = TriageLine(path: PathBytes.shown(job.path), failed: failed)
    finish(job, .line((try? line.json()) ?? [], identity: nil))
  }
}
