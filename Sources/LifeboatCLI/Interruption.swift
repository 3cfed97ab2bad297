import Dispatch
import Foundation

/// Leaves at once on Ctrl-C, SIGTERM, SIGHUP or SIGXCPU, and takes what is half-written along: the files that this run made, each by
/// its name, and the folders that it made, once they are empty. What others put there stays.
final class Interruption {
  /// Signals that ask a program to leave.
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGXCPU]
  private let handled: [Int32]
  private let sources: [any DispatchSourceSignal]
  private let state = State()

  private final class State: @unchecked Sendable {
    private let lock = NSLock()
    private var made: [String] = []
    private var requests = 0

    /// Notes a thing that was made.
    func note(_ path: String) { lock.withLock { made.append(path) } }

    /// Notes a request, and tells whether it is the first.
    func request() -> Bool {
      lock.withLock {
        requests += 1; return requests == 1
      }
    }

    var isRequested: Bool { lock.withLock { requests > 0 } }

    /// Takes back what was made, the last first.
    func takeBack() {
      lock.withLock {
        for path in made.reversed() {
          // A database that is being written has its journal beside it.
          for name in [path + "-journal", path] where unsafe unlink(name) != 0 {
            unsafe rmdir(name)
          }
        }
        made.removeAll()
      }
    }
  }

  /// From now on an interruption takes back what is noted in ``made(_:)`` and ends the process by the signal; with
  /// `lettingWorkEnd` it is only noted in ``isRequested``, and a second one ends the process.
  init(lettingWorkEnd: Bool = false) {
    let state = state
    // A file that grows beyond the limit of its size is then an error of writing like any other, and what fails
    // takes back what it made.
    signal(SIGXFSZ, SIG_IGN)
    // nohup(1) has it ignored, and that it stays.
    handled = Self.signals.filter { $0 != SIGHUP || !Self.isIgnored($0) }
    sources = handled.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        let isFirst = state.request()
        if lettingWorkEnd, isFirst { return }
        state.takeBack()
        // The signal itself ends the process, so that a shell sees what happened. Whoever started us may have
        // left it blocked.
        signal(number, SIG_DFL)
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), number)
      }
      source.resume()
      return source
    }
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

  /// Notes a file or folder that this run has made.
  var made: @Sendable (String) -> Void {
    let state = state
    return { state.note($0) }
  }

  deinit {
    for source in sources { source.cancel() }
    for number in handled + [SIGXFSZ] { signal(number, SIG_DFL) }
  }
}
