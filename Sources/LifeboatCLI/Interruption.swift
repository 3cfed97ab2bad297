import Dispatch
import Foundation
import SQLiteFile
import StoreExtraction
import Terminal

/// Ends the process at once on Ctrl-C, SIGTERM, SIGHUP or SIGXCPU, and removes half-written outputs first. Only files
/// and folders that this run made are removed; they are recognised by their inodes.
final class Interruption {
  /// The signals that ask a program to end.
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGXCPU]
  /// How long work that cleans up after itself may take to end after a signal.
  private static let grace = DispatchTimeInterval.milliseconds(400)

  /// The files that this run makes. After an interruption has removed them, no more can be made.
  let files: MadeFiles
  private let handled: [Int32]
  private let sources: [any DispatchSourceSignal]
  private let state = State()
  /// Whether this object ignores SIGPIPE, which would otherwise end the process when the output is closed.
  private let hidesPipe: Bool

  /// What an interruption does for one piece of work.
  private struct Response {
    let files: MadeFiles
    let state: State
    let letsWorkEnd: Bool
    let gather: @Sendable (MadeFiles) -> Void
  }

  /// The responses in force, one within the other. A signal gets the newest response, which also removes the files of
  /// all others.
  private static let current = Nesting()

  private final class Nesting: @unchecked Sendable {
    // Unchecked Sendable because the lock protects the array.
    private let lock = NSLock()
    private var all: [Response] = []

    /// Adds a response, and returns whether it is the only one.
    func add(_ response: Response) -> Bool {
      lock.withLock {
        all.append(response)
        return all.count == 1
      }
    }

    func remove(_ files: MadeFiles) { lock.withLock { all.removeAll { $0.files === files } } }

    var newest: Response? { lock.withLock { all.last } }

    /// Removes the files of all responses except the one that has `files`. After that, these responses can make no more
    /// files.
    func takeBack(allBut files: MadeFiles) {
      for other in lock.withLock({ all }) where other.files !== files {
        other.files.takeBackForGood()
      }
    }
  }

  private final class State: @unchecked Sendable {
    private let lock = NSLock()
    private var hasRequest = false
    private var isOver = false

    /// Records that a signal has come, and returns whether it is the first.
    func request() -> Bool {
      lock.withLock {
        defer { hasRequest = true }
        return !hasRequest
      }
    }

    var isRequested: Bool { lock.withLock { hasRequest } }

    /// Records that the work is done, so that a signal does not end the process any more.
    func end() { lock.withLock { isOver = true } }

    var hasEnded: Bool { lock.withLock { isOver } }
  }

  /// Starts to handle the signals. An interruption removes what is in ``files``, and then the signal ends the process.
  /// With `lettingWorkEnd`, the work first gets a moment to see ``isRequested`` and to end by itself.
  ///
  /// `gather` is called before anything is removed. It can add files to ``files`` that the work has made without
  /// recording them.
  init(lettingWorkEnd: Bool = false, gather: @escaping @Sendable (MadeFiles) -> Void = { _ in }) {
    files = MadeFiles()
    // Signals belong to the process, so the outermost object handles them for all objects within it.
    guard
      Self.current.add(
        Response(files: files, state: state, letsWorkEnd: lettingWorkEnd, gather: gather))
    else {
      (handled, sources, hidesPipe) = ([], [], false)
      return
    }
    // A private queue has its own thread; a shared queue might wait until the work has ended.
    let queue = DispatchQueue(label: "lifeboat.interruption", qos: .userInteractive)
    // Without SIGXFSZ, exceeding the file size limit is an ordinary write error, and the failing work removes what it
    // made.
    signal(SIGXFSZ, SIG_IGN)
    // Without SIGPIPE, a closed output is an ordinary write error too, so `| head` leaves no unpacked files behind.
    hidesPipe = !Self.isIgnored(SIGPIPE)
    signal(SIGPIPE, SIG_IGN)
    // If nohup(1) has ignored SIGHUP, it stays ignored.
    handled = Self.signals.filter { $0 != SIGHUP || !Self.isIgnored($0) }
    sources = handled.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        guard let response = Self.current.newest else { return }
        if response.state.request(), response.letsWorkEnd {
          queue.asyncAfter(deadline: .now() + Self.grace) { Self.leave(number, response) }
        } else {
          Self.leave(number, response)
        }
      }
      source.resume()
      return source
    }
  }

  private static func leave(_ number: Int32, _ response: Response) {
    response.gather(response.files)
    response.files.takeBackForGood()
    // `end()` and the removal use the lock of `files`, so the second of them sees that the first has happened.
    if response.state.hasEnded { return }
    current.takeBack(allBut: response.files)
    // The signal itself ends the process, so that the shell sees which signal it was.
    signal(number, SIG_DFL)
    unblock([number])
    kill(getpid(), number)
  }

  /// Unblocks signals that the parent process left blocked. Otherwise a run could not be interrupted, such as one that
  /// reads a sparse file for hours.
  static func unblock(_ numbers: [Int32] = signals) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in numbers { unsafe sigaddset(&set, number) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  /// Ends the process by SIGPIPE if `error` says that the reader has closed the output. A program that does not handle
  /// the signal ends in the same way. Returns for any other error, and when SIGPIPE is ignored.
  static func leave(closedOutput error: any Error) {
    let closed = [StreamError.Code.closed.rawValue, SQLiteFileError.Code.outputClosed.rawValue]
    guard let code = Failure(error)?.code, closed.contains(code), !isIgnored(SIGPIPE) else {
      return
    }
    unblock([SIGPIPE])
    kill(getpid(), SIGPIPE)
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

  /// A closure that returns ``isRequested``, for code that should not depend on this class.
  var requested: @Sendable () -> Bool {
    let state = state
    return { state.isRequested }
  }

  /// Whether a signal has asked the process to end. Work that cleans up after itself asks this.
  var isRequested: Bool { state.isRequested }

  /// Marks the work as done, in a process that is about to exit. From then on, signals remove nothing and do not end
  /// the process.
  func end() {
    let state = state
    files.keepAll { state.end() }
  }

  deinit {
    Self.current.remove(files)
    for source in sources { source.cancel() }
    // Without the handlers, the signals would be ignored, so their defaults are set again. After `end()` they stay
    // ignored.
    if handled.isEmpty || state.hasEnded { return }
    if hidesPipe { signal(SIGPIPE, SIG_DFL) }
    for number in handled + [SIGXFSZ] { signal(number, SIG_DFL) }
  }
}
