import Foundation
import StoreExtraction
import Terminal

/// Connects the two sides of the browser: the thread of the terminal, which has the model, and the thread that reads
/// the store. The threads only pass values to each other, so keys never wait for reading.
final class BrowseSession: @unchecked Sendable {
  // Unchecked Sendable because the condition protects the state.
  private let condition = NSCondition()
  private var requests: [BrowseRequest] = []
  private var finished: [BrowseAnswer] = []
  private var answers: [BrowseAnswer] = []
  private var isOver = false
  private var cancelled = 0
  private var running: Set<ExactText> = []
  /// Called from any thread when a new answer is there.
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Starts the thread that reads the store.
  func start(_ place: BackgroundReading.Place, name: String) {
    let thread = Thread { [self] in read(place, name) }
    // The stack is large because schemas are parsed and b-trees are walked by recursion.
    thread.stackSize = 8 << 20
    thread.start()
  }

  /// Tells the threads to end. Each does so when it next looks at the state.
  func end() {
    condition.withLock {
      isOver = true
      cancelled += 1
      condition.broadcast()
    }
  }

  /// Hands over requests to the reading thread. A new request for rows replaces older ones that still wait, because a
  /// key that repeats asks faster than disks read.
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

  /// Takes all answers that have come since the last call, the oldest first.
  func received() -> [BrowseAnswer] {
    condition.withLock {
      defer { answers = [] }
      return answers
    }
  }

  // MARK: - The reading thread

  private func post(_ answer: BrowseAnswer) {
    condition.withLock {
      // New progress replaces progress of the same kind that was not read yet.
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

  /// Starts a thread for background reading, unless the same reading is in progress.
  private func run(_ reading: BackgroundReading) {
    // A reading that was told to stop may still run, and will give no answer. The number of stops in the name tells a
    // new reading from the stopped one.
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
  /// A name that is the same for equal readings. The same reading is not run twice at the same time.
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

/// The loop on the terminal's thread: it takes keys and answers, and shows screens.
struct BrowseLoop {
  private let terminal: RawTerminal
  private let session: BrowseSession
  private let isColored: Bool
  private var model: BrowseModel
  private var decoder = KeyDecoder()
  /// How many milliseconds an Escape waits for the rest of a control sequence.
  private static let patience = 50

  init(
    _ terminal: RawTerminal, _ session: BrowseSession, _ model: BrowseModel, isColored: Bool
  ) {
    self.terminal = terminal
    self.session = session
    self.model = model
    self.isColored = isColored
  }

  /// Runs until the user quits or the terminal is gone.
  mutating func run() {
    resize()
    while !model.isFinished {
      for answer in session.received() { model.take(answer) }
      session.send(model.takeRequests())
      guard terminal.show(model.screen(), isColored: isColored) else { return }
      // While an Escape waits, only keys end the waiting: a stream of answers must not delay it.
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
