import Foundation

/// Hands the steps of a recovery to the host: to closures, to asynchronous streams, or to both. Nothing leaves
/// the process by itself.
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
/// There may be any number of listeners. Each gets every event after it has begun to listen. Earlier events are not
/// repeated, so start listening before `open`. All listeners see the events of one open in the same order. A stream
/// ends when the recovery that it belongs to is released; the stream does not keep the recovery alive.
public final class RecoveryEvents: Sendable {
  /// How many events a stream keeps for a listener that falls behind. When there are more, the oldest are dropped. One
  /// open sends about ten.
  public static let bufferLimit = 256

  private let state = State()

  /// Creates a source without listeners.
  package init() {}

  deinit { state.finish() }

  /// Calls `listener` with each event, on the thread that opens the store, before the next step. `listener` should be
  /// quick, and must not open the store.
  public func listen(_ listener: @escaping @Sendable (RecoveryEvent) -> Void) {
    state.add(listener)
  }

  /// The events from now on. Each call makes a stream of its own, for one listener.
  public func stream() -> AsyncStream<RecoveryEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: RecoveryEvent.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
    state.add(continuation)
    return stream
  }

  /// Tells all listeners.
  func send(_ event: RecoveryEvent) {
    for listener in state.send(event) { listener(event) }
  }

  /// How many streams still have a listener.
  var streamCount: Int { state.streamCount }

  /// Unchecked, because the lock guards everything in it.
  private final class State: @unchecked Sendable {
    typealias Continuation = AsyncStream<RecoveryEvent>.Continuation

    private let lock = NSLock()
    private var listeners: [@Sendable (RecoveryEvent) -> Void] = []
    private var continuations: [Int: Continuation] = [:]
    private var next = 0

    func add(_ listener: @escaping @Sendable (RecoveryEvent) -> Void) {
      lock.withLock { listeners.append(listener) }
    }

    func add(_ continuation: Continuation) {
      let number = lock.withLock {
        next += 1
        continuations[next] = continuation
        return next
      }
      // A listener that stops is forgotten. After `finish` there is nothing to remove.
      continuation.onTermination = { [weak self] _ in self?.remove(number) }
    }

    private func remove(_ number: Int) {
      lock.withLock { continuations[number] = nil }
    }

    /// Sends the event to the streams, under the lock so that all of them see one order. Returns the closures, which
    /// the caller calls without the lock, because one of them may listen or send itself.
    func send(_ event: RecoveryEvent) -> [@Sendable (RecoveryEvent) -> Void] {
      lock.withLock {
        for continuation in continuations.values { continuation.yield(event) }
        return listeners
      }
    }

    func finish() {
      // Called without the lock, because each `finish` calls `remove`, which takes the lock.
      let all = lock.withLock {
        defer { continuations = [:] }
        return Array(continuations.values)
      }
      for continuation in all { continuation.finish() }
    }

    var streamCount: Int { lock.withLock { continuations.count } }
  }
}
