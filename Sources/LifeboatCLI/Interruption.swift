import Dispatch
import Foundation

/// Leaves at once on Ctrl-C or SIGTERM, and takes what is half-written along.
///
/// Only what this run makes is named here: outputs that were not there, or were empty folders, when it began.
final class Interruption {
  private let sources: [any DispatchSourceSignal]
  private let request = Request()

  /// Whether an interruption was asked for, for work that cleans up by itself.
  var isRequested: Bool { request.isMade }

  private final class Request: @unchecked Sendable {
    private let lock = NSLock()
    private var made = false

    var isMade: Bool { lock.withLock { made } }
    func make() { lock.withLock { made = true } }
  }

  /// From now on an interruption is only noted in ``isRequested``; a second one ends the process.
  init() {
    let request = request
    sources = [SIGINT, SIGTERM].map { number in
      Self.source(number) {
        if request.isMade { Self.end(number) }
        request.make()
      }
    }
  }

  /// From now on an interruption removes `outputs` before the process ends by the signal.
  init(removing outputs: [String]) {
    let files = FileManager.default
    let ours = outputs.flatMap { output -> [String] in
      guard let entries = try? files.contentsOfDirectory(atPath: output) else {
        return files.fileExists(atPath: output) ? [] : [output]
      }
      return entries.isEmpty ? [output] : []
    }
    sources = [SIGINT, SIGTERM].map { number in
      Self.source(number) {
        for path in ours { try? FileManager.default.removeItem(atPath: path) }
        Self.end(number)
      }
    }
  }

  private static func source(_ number: Int32, _ handle: @escaping @Sendable () -> Void)
    -> any DispatchSourceSignal
  {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler(handler: handle)
    source.resume()
    return source
  }

  /// The signal itself ends the process, so that a shell sees what happened.
  private static func end(_ number: Int32) {
    signal(number, SIG_DFL)
    kill(getpid(), number)
  }

  deinit {
    for source in sources { source.cancel() }
    for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
  }
}
