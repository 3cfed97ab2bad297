import Dispatch
import Foundation

/// Work that runs on another thread while the current thread continues.
package final class AnotherThread<Value: Sendable>: @unchecked Sendable {
  private let isDone = DispatchSemaphore(value: 0)
  /// The result of the work; nil until the work is done. The other thread sets the result and then signals `isDone`.
  /// ``wait()`` reads the result after the signal.
  private var result: Result<Value, any Error>?

  package init(_ work: @escaping @Sendable () throws -> Value) {
    DispatchQueue.global().async { [self] in
      result = Result(catching: work)
      isDone.signal()
    }
  }

  /// Waits until the work is done and returns the result of the work. Call it only once.
  /// - Throws: the error that the work has thrown.
  package func wait() throws -> Value {
    isDone.wait()
    guard let result else { throw CancellationError() }
    return try result.get()
  }
}

/// A request that another thread ends its work.
package final class CancelRequest: @unchecked Sendable {
  // The lock protects `wasMade`, so the class is `@unchecked Sendable`.
  private let lock = NSLock()
  private var wasMade = false

  package init() {}

  package var isMade: Bool { lock.withLock { wasMade } }
  package func make() { lock.withLock { wasMade = true } }
}
