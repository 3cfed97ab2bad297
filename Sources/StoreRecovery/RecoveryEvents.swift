import Foundation

/// Passes the events of a recovery to the host's closures and asynchronous streams. Lifeboat itself sends nothing out
/// of the process.
///
/// With swift-log:
///
/// ```swift
/// recovery.events.listen { event in
///   let level = Logger.Level(rawValue: event.level.rawValue) ?? .info
///   logger.log(level: level, "\(event)", metadata: event.metadata.mapValues { .string($0) })
/// }
/// ```
///
/// As a stream:
///
/// ```swift
/// let stream = recovery.events.stream()
/// Task { for await event in stream { telemetry.count(event.name, event.metadata) } }
/// ```
///
/// There may be any number of listeners. A listener gets the events that are sent after it was added. Earlier events
/// are not repeated, so add listeners before you call `open`. All listeners get the events of one open in the same
/// order. A stream ends when its recovery is released; the stream does not keep the recovery alive.
public final class RecoveryEvents: @unchecked Sendable {
  /// The maximum number of events that a stream buffers for a slow listener. When the buffer is full, the oldest event
  /// is dropped. One open sends about ten events.
  public static let bufferLimit = 256

  // The class is `@unchecked Sendable` because this lock guards all its properties.
  private let lock = NSLock()
  private var listeners: [@Sendable (RecoveryEvent) -> Void] = []
  private var continuations: [Int: AsyncStream<RecoveryEvent>.Continuation] = [:]
  private var next = 0

  package init() {}

  deinit {
    for continuation in continuations.values { continuation.finish() }
  }

  /// Calls `listener` with each event, on the thread that opens the store, before the recovery goes on. `listener`
  /// should be quick, and must not open the store.
  public func listen(_ listener: @escaping @Sendable (RecoveryEvent) -> Void) {
    lock.withLock { listeners.append(listener) }
  }

  /// A new stream of the events that are sent from now on. Each stream is for one listener.
  public func stream() -> AsyncStream<RecoveryEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: RecoveryEvent.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
    let number = lock.withLock {
      next += 1
      continuations[next] = continuation
      return next
    }
    // A stream whose consumer stops is removed.
    continuation.onTermination = { [weak self] _ in self?.remove(number) }
    return stream
  }

  private func remove(_ number: Int) {
    lock.withLock { continuations[number] = nil }
  }

  /// Sends the event to the streams while the lock is held, so that all streams get the events in the same order. Calls
  /// the closures that listen without the lock, because a closure may itself add a listener or send an event.
  func send(_ event: RecoveryEvent) {
    let closures = lock.withLock {
      for continuation in continuations.values { continuation.yield(event) }
      return listeners
    }
    for closure in closures { closure(event) }
  }

  var streamCount: Int { lock.withLock { continuations.count } }
}
