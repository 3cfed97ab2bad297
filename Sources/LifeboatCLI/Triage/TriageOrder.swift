import StoreTriage

/// The order of inputs: they are handed out as they come, finished in any order, and told in the order of the list.
///
/// An input of the list may turn out to be a folder; what it holds then takes its place. How much is held is bounded:
/// no more than ``window`` inputs are finished before the first that is not.
struct TriageOrder {
  /// An input that is to be read.
  struct Job: Hashable {
    /// Its place in the list, from 0.
    let place: Int
    /// Its place among the inputs of a folder of the list; nil when it is of the list itself.
    let child: Int?
    let path: [UInt8]
    var isFound: Bool { child != nil }
  }

  /// What became of an input.
  enum Result {
    /// A line, with the identity of its files.
    case line([UInt8], identity: String?)
    /// The lines of an archive with several stores.
    case lines([[UInt8]])
    case nothing
    /// The inputs of a folder. A line among them is finished.
    case inputs([TriageAnswer.Item])
  }

  /// What is told next.
  struct Record {
    let job: Job
    let result: Result
  }

  private enum State {
    case waiting
    case finished(Result)
  }

  private struct Child {
    let path: [UInt8]
    var state: State
  }

  /// The inputs of a folder. A class, so that telling one of 100,000 copies none of the others.
  private final class Folder {
    var children: [Child]

    init(_ children: [Child]) { self.children = children }
  }

  private struct Entry {
    let path: [UInt8]
    var state = State.waiting
    /// Nil for an input that is no folder.
    var folder: Folder?
    var told = 0
  }

  /// Inputs of one entry that were not handed out.
  private struct Run {
    let place: Int
    var next: Int?
    let end: Int
  }

  let window: Int
  private var entries: [Entry] = []
  /// Entries that were told whole and are still in the array, and their number since the start.
  private var gone = 0
  private var base = 0
  private var runs: [Run] = []
  private var firstRun = 0
  /// Inputs that were handed out and not told.
  private var heldCount = 0
  /// Those of them that are of the first entry.
  private var heldOfFirst = 0

  init(window: Int) { self.window = window }

  /// Whether another input of the list may be added.
  var hasRoom: Bool { entries.count - gone < window }
  /// Whether everything was told.
  var isEmpty: Bool { entries.count == gone }

  /// Adds an input of the list.
  mutating func add(_ path: [UInt8]) {
    let place = base + entries.count
    entries.append(Entry(path: path))
    runs.append(Run(place: place, next: nil, end: 0))
  }

  /// The next input to be read; nil when there is none, or when too much is held.
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
      if case .finished = found.state { continue }
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

  /// Notes what became of an input.
  mutating func finish(_ job: Job, _ result: Result) {
    let index = job.place - base
    guard let child = job.child else {
      entries[index].state = .finished(result)
      guard case .inputs(let items) = result else { return }
      entries[index].folder = Folder(
        items.map { item in
          if let line = item.line, let json = try? line.json() {
            return Child(path: [], state: .finished(.line(json, identity: nil)))
          }
          return Child(path: Array((item.path ?? "").utf8), state: .waiting)
        })
      // What was told is not needed twice.
      entries[index].state = .finished(.inputs([]))
      let run = Run(place: job.place, next: 0, end: items.count)
      let at = runs[firstRun...].firstIndex { $0.place > job.place } ?? runs.count
      runs.insert(run, at: at)
      return
    }
    entries[index].folder?.children[child].state = .finished(result)
  }

  /// What is to be told next; nil when it is not finished.
  mutating func tell() -> Record? {
    guard gone < entries.count else { return nil }
    let entry = entries[gone]
    let place = base + gone
    guard case .finished(let result) = entry.state else { return nil }
    guard let folder = entry.folder else {
      release()
      leave()
      return Record(job: Job(place: place, child: nil, path: entry.path), result: result)
    }
    if entry.told == 0 {
      // The folder itself comes before what it holds.
      entries[gone].told = 1
      release()
      if folder.children.isEmpty { leave() }
      return Record(job: Job(place: place, child: nil, path: entry.path), result: result)
    }
    let child = entry.told - 1
    // A finished line that `next()` has not passed yet is not counted as held.
    guard case .finished(let inner) = folder.children[child].state, isHanded(child, place) else {
      return nil
    }
    entries[gone].told += 1
    folder.children[child].state = .finished(.nothing)
    release()
    let path = folder.children[child].path
    if child + 1 == folder.children.count { leave() }
    return Record(job: Job(place: place, child: child, path: path), result: inner)
  }

  /// Whether a child was passed by ``next()``.
  private func isHanded(_ child: Int, _ place: Int) -> Bool {
    // Runs that were handed out whole may still stand before it.
    guard let run = runs[firstRun...].first(where: { $0.place >= place }), run.place == place,
      let next = run.next
    else { return true }
    return child < next
  }

  private mutating func release() {
    heldCount -= 1
    heldOfFirst -= 1
  }

  /// Goes on with the next entry.
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

  /// How many inputs of an entry were handed out and not told.
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
