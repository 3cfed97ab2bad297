import Dispatch
import Foundation
import SQLiteFile
import StoreExtraction
import Terminal

/// Ends the process at once on Ctrl-C, SIGTERM, SIGHUP or SIGXCPU, and removes what is half-written: the files and
/// folders that this run made, recognised by their identity. Other files stay.
final class Interruption {
  /// Signals that ask a program to end.
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGXCPU]
  /// How long work that cleans up after itself may take to end.
  private static let grace = DispatchTimeInterval.milliseconds(400)

  /// The files that this run makes. Once an interruption removes them, no more can be made.
  let files: MadeFiles
  private let handled: [Int32]
  private let sources: [any DispatchSourceSignal]
  private let state = State()
  /// Whether a closed output ends the process but for this object.
  private let hidesPipe: Bool

  /// What an interruption does.
  private struct Response {
    let files: MadeFiles
    let state: State
    let letsWorkEnd: Bool
    let gather: @Sendable (MadeFiles) -> Void
  }

  /// The responses in force. The newest is the one that is given; it removes what the others have made, too.
  private static let current = Nesting()

  private final class Nesting: @unchecked Sendable {
    // Unchecked because the lock protects it.
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

    /// Removes what the others have made. Each can be asked once: it makes nothing more after that.
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

    /// Records a request, and returns whether it is the first.
    func request() -> Bool {
      lock.withLock {
        defer { hasRequest = true }
        return !hasRequest
      }
    }

    var isRequested: Bool { lock.withLock { hasRequest } }

    /// Records that the work is done.
    func end() { lock.withLock { isOver = true } }

    var hasEnded: Bool { lock.withLock { isOver } }
  }

  /// Starts handling the signals: an interruption removes what is in ``files``, and the signal ends the process. With
  /// `lettingWorkEnd` the work first gets a moment to see ``isRequested`` and to end by itself.
  ///
  /// `gather` is called before anything is removed, for work that does not record everything it makes.
  init(lettingWorkEnd: Bool = false, gather: @escaping @Sendable (MadeFiles) -> Void = { _ in }) {
    files = MadeFiles()
    // The signals are those of the process: the outermost handles them for all within it.
    guard
      Self.current.add(
        Response(files: files, state: state, letsWorkEnd: lettingWorkEnd, gather: gather))
    else {
      (handled, sources, hidesPipe) = ([], [], false)
      return
    }
    // A private queue has its own thread; a shared queue might wait until the work has ended.
    let queue = DispatchQueue(label: "lifeboat.interruption", qos: .userInteractive)
    // Exceeding the file size limit is then an ordinary write error, and the failing work removes what it made.
    signal(SIGXFSZ, SIG_IGN)
    // So is a reader that has closed the output: nothing that was unpacked is left behind by `| head`.
    hidesPipe = !Self.isIgnored(SIGPIPE)
    signal(SIGPIPE, SIG_IGN)
    // nohup(1) ignores SIGHUP; it stays ignored.
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
    // `end()` and the removal share the lock of `files`, so whichever comes second sees that the other came first.
    if response.state.hasEnded { return }
    current.takeBack(allBut: response.files)
    // The signal itself ends the process, so that a shell sees what happened.
    signal(number, SIG_DFL)
    unblock([number])
    kill(getpid(), number)
  }

  /// Unblocks signals that the parent process left blocked: uninterruptible work might read a sparse file for hours.
  static func unblock(_ numbers: [Int32] = signals) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in numbers { unsafe sigaddset(&set, number) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  /// Ends the process as a reader that has closed the output ends one that cleans nothing up; returns if it is to go on.
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

  /// The same as ``isRequested``, for code that should not depend on this class.
  var requested: @Sendable () -> Bool {
    let state = state
    return { state.isRequested }
  }

  /// Whether an interruption was requested, for work that cleans up after itself.
  var isRequested: Bool { state.isRequested }

  /// Marks the work as done, in a process that is about to exit: from now on signals change nothing.
  func end() {
    let state = state
    files.keepAll { state.end() }
  }

  deinit {
    Self.current.remove(files)
    for source in sources { source.cancel() }
    // Without the handlers, the signals are ignored. Once the work has ended, they stay so.
    if handled.isEmpty || state.hasEnded { return }
    if hidesPipe { signal(SIGPIPE, SIG_DFL) }
    for number in handled + [SIGXFSZ] { signal(number, SIG_DFL) }
  }
}
