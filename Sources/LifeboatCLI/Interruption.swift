import Dispatch
import Foundation
import SQLiteFile
import StoreExtraction
import Terminal

/// Lets SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGXCPU end the process without leaving half-written outputs. Removes only
/// files and folders that this run has made, and recognises them by their inodes.
final class Interruption {
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGXCPU]
  /// The time between a signal and the end of the process if `letsWorkEnd` is true. In this time, the work can clean up
  /// and end by itself.
  private static let grace = DispatchTimeInterval.milliseconds(400)

  /// The files that the work makes. After an interruption has removed these files, the work can make no more files.
  let files: MadeFiles
  private let handled: [Int32]
  private let sources: [any DispatchSourceSignal]
  private let state = State()
  /// Whether this object ignores SIGPIPE, which would otherwise end the process when the output is closed.
  private let hidesPipe: Bool

  /// What happens to the running work and to the files that it has made when a signal comes.
  private struct Response {
    let files: MadeFiles
    let state: State
    let letsWorkEnd: Bool
    let gather: @Sendable (MadeFiles) -> Void
  }

  /// How each object of this class responds to a signal, oldest object first. The newest object handles the signal.
  /// After that, the files of all other objects are removed, too.
  private static let current = Nesting()

  private final class Nesting: @unchecked Sendable {
    // Unchecked Sendable because the lock protects the array.
    private let lock = NSLock()
    private var all: [Response] = []

    /// Adds a response to signals. Returns true if the list contained no response before.
    func add(_ response: Response) -> Bool {
      lock.withLock {
        all.append(response)
        return all.count == 1
      }
    }

    func remove(_ files: MadeFiles) { lock.withLock { all.removeAll { $0.files === files } } }

    var newest: Response? { lock.withLock { all.last } }

    /// Removes the files of all signal responses in ``all``, except the response that has `files`. Afterwards, the
    /// other responses can make no more files.
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

    /// Records that a signal has come. Returns whether this was the first signal.
    func request() -> Bool {
      lock.withLock {
        defer { hasRequest = true }
        return !hasRequest
      }
    }

    var isRequested: Bool { lock.withLock { hasRequest } }

    /// Records that the work is done. A signal then no longer ends the process.
    func end() { lock.withLock { isOver = true } }

    var hasEnded: Bool { lock.withLock { isOver } }
  }

  /// Starts to handle the signals. When a signal comes, the files in ``files`` are removed, and then the process ends
  /// by this signal. If `lettingWorkEnd` is true, the work first gets a moment to notice ``isRequested`` and to end by
  /// itself.
  ///
  /// `gather` is called before the files are removed. If the work has made files without adding them to ``files``,
  /// `gather` can add these files.
  init(lettingWorkEnd: Bool = false, gather: @escaping @Sendable (MadeFiles) -> Void = { _ in }) {
    files = MadeFiles()
    // A signal goes to the whole process. So only the outermost object installs handlers, also on behalf of the objects
    // that are made while it exists.
    guard
      Self.current.add(
        Response(files: files, state: state, letsWorkEnd: lettingWorkEnd, gather: gather))
    else {
      (handled, sources, hidesPipe) = ([], [], false)
      return
    }
    // A queue of its own gets a thread of its own. A shared queue might wait until the work has ended.
    let queue = DispatchQueue(label: "lifeboat.interruption", qos: .userInteractive)
    // While SIGXFSZ is ignored, exceeding the file size limit is an ordinary write error, and the work that gets this
    // error removes what it made.
    signal(SIGXFSZ, SIG_IGN)
    // While SIGPIPE is ignored, writing to a closed output is an ordinary error, too, so `| head` leaves no unpacked
    // files.
    hidesPipe = !Self.isIgnored(SIGPIPE)
    signal(SIGPIPE, SIG_IGN)
    // If nohup(1) has made this process ignore SIGHUP, SIGHUP stays ignored.
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
    // `end()` and the removal of the files take the same lock. So if `end()` came first, `hasEnded` is true here.
    if response.state.hasEnded { return }
    current.takeBack(allBut: response.files)
    // The process ends by the signal itself, so that the shell sees which signal it was.
    signal(number, SIG_DFL)
    unblock([number])
    kill(getpid(), number)
  }

  /// Unblocks signals that the parent process left blocked. Otherwise a long run, such as one that reads a sparse file
  /// for hours, could not be interrupted.
  static func unblock(_ numbers: [Int32] = signals) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in numbers { unsafe sigaddset(&set, number) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  /// Whether the error means that the reader of the output has closed the output.
  static func isOfClosedOutput(_ error: any Error) -> Bool {
    let closed = [StreamError.Code.closed.rawValue, SQLiteFileError.Code.outputClosed.rawValue]
    return Failure(error).map { closed.contains($0.code) } ?? false
  }

  /// Ends the process by SIGPIPE, as the system would have done if this program did not handle SIGPIPE. Call this after
  /// the reader has closed the output. Returns only if SIGPIPE is ignored.
  static func leaveByClosedOutput() {
    guard !isIgnored(SIGPIPE) else { return }
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

  /// Whether a signal has asked the process to end. Work that ends by itself after a signal checks this property.
  var isRequested: Bool { state.isRequested }

  /// Makes signals harmless when the work is done: they no longer remove files or end the process. Call this when the
  /// process is about to exit.
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
