import Foundation

/// Collects the result of loading each store of a container. The results may arrive on any thread.
final class StoreAnswers: @unchecked Sendable {
  struct Failure: Sendable {
    /// The path of the store; nil for a store without a file.
    let path: String?
    let error: any Error
  }

  private let lock = NSLock()
  private var missing: Int
  private var failures: [Failure] = []
  private let whenComplete: (@Sendable ([Failure]) -> Void)?

  /// Expects `count` results, and then calls `whenComplete` once with all failures, on the thread of the last result.
  init(count: Int, whenComplete: (@Sendable ([Failure]) -> Void)? = nil) {
    missing = count
    self.whenComplete = whenComplete
    if count <= 0 { whenComplete?([]) }
  }

  /// Records the result of loading one store; `error` is nil if the store was loaded. After the last expected result, a
  /// further result is ignored.
  func take(path: String?, error: (any Error)?) {
    let complete: [Failure]? = lock.withLock {
      guard missing > 0 else { return nil }
      missing -= 1
      if let error { failures.append(Failure(path: path, error: error)) }
      return missing == 0 ? failures : nil
    }
    if let complete { whenComplete?(complete) }
  }

  /// All failures; nil until every result has arrived.
  var complete: [Failure]? { lock.withLock { missing > 0 ? nil : failures } }
}

extension SeveralStores.Loaded {
  /// Assigns each failure to the member whose store failed.
  ///
  /// - Parameters:
  ///   - container: The container that loaded the stores.
  ///   - failures: The stores that failed to load.
  ///   - paths: The paths of the members, in order.
  ///   - close: Closes the container. Called when a failure belongs to no member.
  /// - Throws: The first failure that belongs to no member.
  init(
    _ container: Container, failures: [StoreAnswers.Failure], paths: [String],
    close: (Container) -> Void
  ) throws {
    var own: [Int: any Error] = [:]
    for failure in failures {
      guard let index = paths.firstIndex(where: { $0 == failure.path }) else {
        close(container)
        throw failure.error
      }
      own[index] = failure.error
    }
    self.init(container: container, failures: own)
  }
}
