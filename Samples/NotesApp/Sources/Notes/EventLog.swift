import Foundation
import StoreRecovery

/// What happened at each launch, for support. Lifeboat keeps no log and sends nothing; this is the app's own.
final class EventLog: Sendable {
  private let url: URL
  private let release: Release
  // Lifeboat may report from any thread.
  private let lock = NSLock()

  init(_ url: URL, release: Release) {
    self.url = url
    self.release = release
  }

  /// Lifeboat words each event for a log: without paths, and without what the user wrote.
  func add(_ event: RecoveryEvent) { add("\(event.level.rawValue): \(event)") }

  /// One line. A log that cannot be written, as on a full disk, must not stop the app.
  func add(_ line: String) {
    let stamp = Date().formatted(.iso8601)
    let bytes = Data("\(stamp) \(release.rawValue) \(line)\n".utf8)
    lock.withLock {
      if !FileManager.default.fileExists(atPath: url.path) { try? Data().write(to: url) }
      guard let handle = try? FileHandle(forWritingTo: url) else { return }
      defer { try? handle.close() }
      _ = try? handle.seekToEnd()
      try? handle.write(contentsOf: bytes)
    }
  }
}
