import Dispatch
import Foundation
import StoreExtraction

/// Leaves at once on Ctrl-C, SIGTERM, SIGHUP or SIGXCPU, and takes what is half-written along: the files and folders that this
/// run made, known by who they are. What others put there stays.
final class Interruption {
  /// Signals that ask a program to leave.
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGXCPU]
  /// How long work that cleans up by itself has to end.
  private static let grace = DispatchTimeInterval.milliseconds(400)

  /// What this run makes. Nothing more can be made once an interruption takes it back.
  let files: MadeFiles
  private let handled: [Int32]
  private let sources: [any DispatchSourceSignal]
  private let state = State()

  private final class State: @unchecked Sendable {
    private let lock = NSLock()
    private var hasRequest = false
    private var isOver = false

    /// Notes a request, and tells whether it is the first.
    func request() -> Bool {
      lock.withLock {
        defer { hasRequest = true }
        return !hasRequest
      }
    }

    var isRequested: Bool { lock.withLock { hasRequest } }

    /// Notes that the work is done.
    func end() { lock.withLock { isOver = true } }

    var hasEnded: Bool { lock.withLock { isOver } }
  }

  /// From now on an interruption takes back what is in ``files`` and ends the process by the signal. With
  /// `lettingWorkEnd` the work first has a moment to see ``isRequested`` and to end by itself.
  ///
  /// `gather` is called before anything is taken back, for work that makes things that it does not note.
  init(lettingWorkEnd: Bool = false, gather: @escaping @Sendable (MadeFiles) -> Void = { _ in }) {
    let state = state
    let files = MadeFiles()
    self.files = files
    // A queue of its own has a thread of its own: one that is shared may wait until the work has ended.
    let queue = DispatchQueue(label: "lifeboat.interruption", qos: .userInteractive)
    // A file that grows beyond the limit of its size is then an error of writing like any other, and what fails
    // takes back what it made.
    signal(SIGXFSZ, SIG_IGN)
    // nohup(1) has it ignored, and that it stays.
    handled = Self.signals.filter { $0 != SIGHUP || !Self.isIgnored($0) }
    sources = handled.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        if state.request(), lettingWorkEnd {
          queue.asyncAfter(deadline: .now() + Self.grace) {
            Self.leave(number, files, state, gather)
          }
        } else {
          Self.leave(number, files, state, gather)
        }
      }
      source.resume()
      return source
    }
  }

  private static func leave(
    _ number: Int32, _ files: MadeFiles, _ state: State, _ gather: (MadeFiles) -> Void
  ) {
    gather(files)
    files.takeBackForGood()
    // The end and the taking back share the lock of the files: whichever came first, the other finds it.
    if state.hasEnded { return }
    // The signal itself ends the process, so that a shell sees what happened.
    signal(number, SIG_DFL)
    unblock([number])
    kill(getpid(), number)
  }

  /// Lets signals through that whoever started us has left blocked: work that nobody can interrupt would read a file
  /// of holes for hours.
  static func unblock(_ numbers: [Int32] = signals) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in numbers { unsafe sigaddset(&set, number) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var old = sigaction()
    guard unsafe sigaction(number, nil, &old) == 0 else { return false }
    #if canImport(Darwin)
      let handler = unsafe old.__sigaction_u.__sa_handler
    #elseif canImport(Musl)
      let handler = unsafe old.__sa_handler.sa_handler
    #else
      let handler = unsafe old.__sigaction_handler.sa_handler
    #endif
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// The same as ``isRequested``, for whoever is not to know of signals.
  var requested: @Sendable () -> Bool {
    let state = state
    return { state.isRequested }
  }

  /// Whether an interruption was asked for, for work that cleans up by itself.
  var isRequested: Bool { state.isRequested }

  /// The work is done and stays done: from now on signals change nothing, for a process that is about to exit.
  func end() {
    let state = state
    files.keepAll { state.end() }
  }

  deinit {
    for source in sources { source.cancel() }
    // Their handlers have gone, and without one the signals are ignored.
    if state.hasEnded { return }
    for number in handled + [SIGXFSZ] { signal(number, SIG_DFL) }
  }
}
