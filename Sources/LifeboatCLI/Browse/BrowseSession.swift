import Foundation
import StoreExtraction
import Terminal

/// Connects the terminal's thread, which uses the ``BrowseModel``, with the reading thread, which uses the
/// ``BrowseSource``. The threads exchange requests and answers through queues, so that keys never wait for the store.
final class BrowseSession: @unchecked Sendable {
  // Unchecked Sendable because `condition` protects all properties that change.
  private let condition = NSCondition()
  private var requests: [BrowseRequest] = []
  private var finished: [BrowseAnswer] = []
  private var answers: [BrowseAnswer] = []
  private var isOver = false
  private var cancelled = 0
  private var running: Set<ExactText> = []
  /// A function that is called when a new answer for ``received()`` has arrived. It is called on any thread.
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func start(_ place: BackgroundReading.Place, name: String) {
    let thread = Thread { [self] in read(place, name) }
    // The stack is large because schemas are parsed and b-trees are walked by recursion.
    thread.stackSize = 8 << 20
    thread.start()
  }

  /// Tells all reading threads to end. Each thread ends at its next check, not at once.
  func end() {
    condition.withLock {
      isOver = true
      cancelled += 1
      condition.broadcast()
    }
  }

  /// Queues requests for the reading thread. A request for rows replaces queued requests for rows of the same query,
  /// because a key that is held down makes requests faster than a disk can be read.
  func send(_ new: [BrowseRequest]) {
    guard !new.isEmpty else { return }
    condition.withLock {
      for request in new {
        if case .rows(let query, _) = request {
          requests.removeAll { if case .rows(query, _) = $0 { true } else { false } }
        }
        if request == .cancel { cancelled += 1 }
        requests.append(request)
      }
      condition.broadcast()
    }
  }

  /// Returns the answers that have arrived since the last call, oldest first.
  func received() -> [BrowseAnswer] {
    condition.withLock {
      defer { answers = [] }
      return answers
    }
  }

  // MARK: - The reading thread

  private func post(_ answer: BrowseAnswer) {
    condition.withLock {
      // If the newest queued answer is progress with the same `isStoppable`, the new progress replaces it.
      if case .working(_, let isStoppable) = answer, case .working(_, isStoppable)? = answers.last {
        answers.removeLast()
      }
      answers.append(answer)
    }
    wake()
  }

  private func read(_ place: BackgroundReading.Place, _ name: String) {
    let source: BrowseSource
    do {
      source = try BrowseSource(
        place, name: name, giveOut: { self.run($0) }, emit: { self.post($0) })
    } catch {
      return post(.failed(BrowseSource.sentence(error)))
    }
    while true {
      condition.lock()
      while !isOver, requests.isEmpty, finished.isEmpty, !source.hasWork { condition.wait() }
      let over = isOver
      let request = requests.isEmpty ? nil : requests.removeFirst()
      let answer = request == nil && !finished.isEmpty ? finished.removeFirst() : nil
      condition.unlock()
      if over { return }
      if let request {
        source.handle(request)
      } else if let answer {
        source.take(answer)
      } else {
        source.step()
      }
    }
  }

  /// Starts a thread for a background reading, unless an equal reading is in progress.
  private func run(_ reading: BackgroundReading) {
    // A cancelled reading may still run for a while. The name of a stoppable reading contains the number of
    // cancellations so far, so that a cancelled reading does not prevent an equal new one.
    let (name, isNew, turn) = condition.withLock {
      let name = ExactText(reading.name + (reading.isStoppable ? " \(cancelled)" : ""))
      return (name, running.insert(name).inserted, cancelled)
    }
    guard isNew else { return }
    let thread = Thread { [self] in
      reading.run {
        condition.withLock { isOver || (cancelled != turn && reading.isStoppable) }
      } emit: { [self] answer in
        if case .past = answer {
          condition.withLock {
            finished.append(answer)
            condition.broadcast()
          }
        } else {
          post(answer)
        }
      }
      condition.withLock { _ = running.remove(name) }
    }
    thread.stackSize = 8 << 20
    thread.start()
  }
}

extension BackgroundReading {
  /// A name that identifies the reading. ``BrowseSession`` uses the name to avoid running the same reading twice at
  /// once.
  var name: String {
    switch self {
    case .counts: "counts"
    case .findings: "findings"
    case .pages: "pages"
    case .page(_, let number): "page \(number)"
    case .past(_, let subject): "past \(subject.table) \(subject.isRaw)"
    }
  }

  /// Whether ``BrowseRequest/cancel`` stops this reading.
  var isStoppable: Bool {
    if case .past = self { true } else { false }
  }
}

/// The main loop on the terminal's thread. It passes keys and answers to the model, and shows the model's screens.
struct BrowseLoop {
  private let terminal: RawTerminal
  private let session: BrowseSession
  private let isColored: Bool
  private var model: BrowseModel
  private var decoder = KeyDecoder()
  /// The number of milliseconds to wait, after an Escape character, for the rest of a control sequence.
  private static let patience = 50

  init(
    _ terminal: RawTerminal, _ session: BrowseSession, _ model: BrowseModel, isColored: Bool
  ) {
    self.terminal = terminal
    self.session = session
    self.model = model
    self.isColored = isColored
  }

  mutating func run() {
    resize()
    while !model.isFinished {
      for answer in session.received() { model.take(answer) }
      session.send(model.takeRequests())
      guard terminal.show(model.screen(), isColored: isColored) else { return }
      // With a timeout, `next` does not return when an answer arrives. So answers do not delay the decision whether an
      // Escape character is a key or begins a control sequence.
      switch terminal.next(timeout: decoder.isWaiting ? Self.patience : nil) {
      case .bytes(let bytes): press(decoder.keys(bytes))
      case .timeout: press(decoder.flush())
      case .resized: resize()
      case .stop:
        terminal.stop()
        resize()
      case .woken: break
      case .closed: return
      }
    }
  }

  private mutating func press(_ keys: [Key]) {
    for key in keys where !model.isFinished { model.press(key) }
  }

  private mutating func resize() {
    let size = terminal.size
    model.resize(rows: size.rows, columns: size.columns)
  }
}
