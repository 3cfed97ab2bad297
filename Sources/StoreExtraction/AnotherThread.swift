import Dispatch

/// Work that another thread does while this one continues.
package final class AnotherThread<Value: Sendable>: @unchecked Sendable {
  private let isDone = DispatchSemaphore(value: 0)
  /// Only the other thread accesses it until ``isDone``.
  private var result: Result<Value, any Error>?

  /// Begins the work.
  package init(_ work: @escaping @Sendable () throws -> Value) {
    DispatchQueue.global().async { [self] in
      result = Result(catching: work)
      isDone.signal()
    }
  }

  /// Waits for the result; called once.
  /// - Throws: what the work has thrown.
  package func wait() throws -> Value {
    isDone.wait()
    guard let result else { throw CancellationError() }
    return try result.get()
  }
}
