import StoreTriage

/// A queue that gives inputs to workers, and puts the results in the order of the list. Workers may finish in any
/// order. If an entry of the list is a folder, the inputs in the folder follow the folder's entry.
///
/// An input is *held* from the call of ``next()`` that returns it until the call of ``tell()`` that returns its result.
/// Held inputs take memory, so their number is limited. While ``window`` inputs are held, ``next()`` returns only
/// inputs of the first unfinished entry, of which up to ``window`` may be held.
struct TriageOrder {
  /// An input that a worker has to read.
  struct Job: Hashable {
    /// The 0-based index in the list of inputs. If the input was found in a folder, this is the index of the folder.
    let place: Int
    /// The 0-based index of the input among the inputs that were found in its folder; nil if the input itself is in the
    /// list of inputs.
    let child: Int?
    let path: [UInt8]
    var isFound: Bool { child != nil }
  }

  /// The result of reading an input.
  enum Result {
    /// The line of output for the input, as JSON. `identity` is the identity of the input's files; nil when every run
    /// must read the input again.
    case line([UInt8], identity: String?)
    /// The lines of the stores in an archive, as JSON.
    case lines([[UInt8]])
    /// The input is an archive that was found in a folder and contains no store. The output gets no line for it.
    case nothing
    /// The inputs in a folder. If an item already has its triage line, no worker reads it.
    case inputs([TriageReader.Item])
  }

  struct Record {
    let job: Job
    let result: Result
  }

  private struct Child {
    let path: [UInt8]
    /// The result of reading the input; nil before the input was read.
    var result: Result?
  }

  /// The inputs of a folder. A class, because changing one element of a struct's array could copy all 100,000 elements.
  private final class Folder {
    var children: [Child]

    init(_ children: [Child]) { self.children = children }
  }

  private struct Entry {
    let path: [UInt8]
    var result: Result?
    /// The inputs that the folder contains; nil for an input that is not a folder or has not been read yet.
    var folder: Folder?
    var told = 0
  }

  /// Inputs that ``TriageOrder/next()`` has not handed out yet: either one entry of the list, or the remaining inputs
  /// in the folder of an entry.
  ///
  /// `place`: the index of the entry in the list.
  /// `next`: the index, in the folder, of the next input to hand out; nil for the entry itself.
  private struct Run {
    let place: Int
    var next: Int?
    let end: Int
  }

  let window: Int
  private var entries: [Entry] = []
  /// `gone`: the number of finished entries at the start of ``entries``. An entry is finished when ``tell()`` has
  /// returned all its results.
  /// `base`: the number of finished entries that were removed from ``entries``.
  /// The entry of a job has the index `job.place - base`.
  private var gone = 0
  private var base = 0
  private var runs: [Run] = []
  private var firstRun = 0
  private var heldCount = 0
  /// The number of inputs of `entries[gone]`, the first unfinished entry, that were handed out to workers and whose
  /// results ``tell()`` has not returned yet.
  private var heldOfFirst = 0

  init(window: Int) { self.window = window }

  /// Whether ``add(_:)`` may be called. At most ``window`` entries may be unfinished.
  var hasRoom: Bool { entries.count - gone < window }
  /// Whether ``tell()`` has returned the results of all inputs that were added.
  var isEmpty: Bool { entries.count == gone }

  mutating func add(_ path: [UInt8]) {
    let place = base + entries.count
    entries.append(Entry(path: path))
    runs.append(Run(place: place, next: nil, end: 0))
  }

  /// Returns the next input for a worker. Nil when all inputs are handed out, or when so many inputs wait for their
  /// results to be returned that the limit ``window`` is reached.
  mutating func next() -> Job? {
    while firstRun < runs.count {
      let run = runs[firstRun]
      let isFirst = run.place == base + gone
      guard isFirst ? heldOfFirst < window : heldCount < window else { return nil }
      guard let child = run.next else {
        dropRun()
        hold(run.place)
        return Job(place: run.place, child: nil, path: entries[run.place - base].path)
      }
      guard child < run.end else {
        dropRun()
        continue
      }
      runs[firstRun].next = child + 1
      guard let found = entries[run.place - base].folder?.children[child] else { continue }
      hold(run.place)
      if found.result != nil { continue }
      return Job(place: run.place, child: child, path: found.path)
    }
    return nil
  }

  private mutating func hold(_ place: Int) {
    heldCount += 1
    if place == base + gone { heldOfFirst += 1 }
  }

  private mutating func dropRun() {
    firstRun += 1
    if firstRun > 1024 {
      runs.removeFirst(firstRun)
      firstRun = 0
    }
  }

  /// Records the result of an input that ``next()`` has returned.
  mutating func finish(_ job: Job, _ result: Result) {
    let index = job.place - base
    guard let child = job.child else {
      entries[index].result = result
      guard case .inputs(let items) = result else { return }
      entries[index].folder = Folder(
        items.map { item in
          switch item {
          case .path(let path): return Child(path: Array(path.utf8), result: nil)
          case .line(let line):
            let json = (try? line.json()) ?? []
            return Child(path: [], result: .line(json, identity: nil))
          }
        })
      // The items are in `folder` now, so the result need not contain them, too.
      entries[index].result = .inputs([])
      let run = Run(place: job.place, next: 0, end: items.count)
      let at = runs[firstRun...].firstIndex { $0.place > job.place } ?? runs.count
      runs.insert(run, at: at)
      return
    }
    entries[index].folder?.children[child].result = result
  }

  /// Returns the next input in the order of the list, with its result. Nil when the input has no result yet, or when no
  /// input is left.
  mutating func tell() -> Record? {
    guard gone < entries.count else { return nil }
    let entry = entries[gone]
    let place = base + gone
    guard let result = entry.result else { return nil }
    guard let folder = entry.folder else {
      release()
      leave()
      return Record(job: Job(place: place, child: nil, path: entry.path), result: result)
    }
    if entry.told == 0 {
      // The result of the folder itself comes before the results of the inputs in the folder.
      entries[gone].told = 1
      release()
      if folder.children.isEmpty { leave() }
      return Record(job: Job(place: place, child: nil, path: entry.path), result: result)
    }
    let child = entry.told - 1
    // An item with a line is finished from the start, but is counted as held only after `next()` has skipped it. Before
    // that, it must not be released.
    guard let inner = folder.children[child].result, isHanded(child, place) else {
      return nil
    }
    entries[gone].told += 1
    folder.children[child].result = .nothing
    release()
    let path = folder.children[child].path
    if child + 1 == folder.children.count { leave() }
    return Record(job: Job(place: place, child: child, path: path), result: inner)
  }

  /// Whether ``next()`` has already returned or skipped an input of a folder. It skips an input whose result is known.
  /// `child` is the index of the input in the folder, and `place` is the index of the folder in the list.
  private func isHanded(_ child: Int, _ place: Int) -> Bool {
    // Finished runs of earlier entries may still come before the run of this entry.
    guard let run = runs[firstRun...].first(where: { $0.place >= place }), run.place == place,
      let next = run.next
    else { return true }
    return child < next
  }

  private mutating func release() {
    heldCount -= 1
    heldOfFirst -= 1
  }

  /// Removes the first entry, whose results were all returned. The next entry becomes the first unfinished entry.
  private mutating func leave() {
    entries[gone] = Entry(path: [])
    gone += 1
    let isLast = gone == entries.count
    heldOfFirst = isLast ? 0 : heldCount(of: gone)
    if gone > 1024 || isLast {
      entries.removeFirst(gone)
      base += gone
      gone = 0
    }
  }

  private func heldCount(of index: Int) -> Int {
    let place = base + index
    let run = runs[firstRun...].first { $0.place >= place }
    let isOwn = run?.place == place
    let own = entries[index].told == 0 ? 1 : 0
    guard let folder = entries[index].folder else { return isOwn ? 0 : own }
    let handed = isOwn ? run?.next ?? 0 : folder.children.count
    return own + handed - max(0, entries[index].told - 1)
  }
}
