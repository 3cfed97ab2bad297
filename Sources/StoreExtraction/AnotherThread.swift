import Dispatch

/// Work that another thread does while this one continues.
package final class AnotherThread<Value: Sendable>: @unchecked Sendable {
  private let isDone = DispatchSemaphore(value: 0)
  /// The other thread writes the result before it signals `isDone`. ``wait()`` reads the result only after that signal.
  private var result: Result<Value, any Error>?

  /// Starts `work` on a global dispatch queue.
  package init(_ work: @escaping @Sendable () throws -> Value) {
    DispatchQueue.global().async { [self] in
      result = Result(catching: work)
      isDone.signal()
    }
  }

  /// Waits until the work is done and returns its result. Call it only once.
  /// - Throws: the error that the work has thrown.
  package func wait() throws -> Value {
    isDone.wait()
    guard let result else { throw CancellationError() }
    return try result.get()
  }
}
