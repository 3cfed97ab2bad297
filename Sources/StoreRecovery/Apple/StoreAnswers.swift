import Foundation

/// Collects the results for the stores of a container. They arrive on any thread, one for each store.
final class StoreAnswers: @unchecked Sendable {
  /// What went wrong with one store.
  struct Failure: Sendable {
    /// The path of the store; nil when it has none.
    let path: String?
    let error: any Error
  }

  private let lock = NSLock()
  private var missing: Int
  private var failures: [Failure] = []
  private let whenComplete: (@Sendable ([Failure]) -> Void)?

  /// Expects `count` answers, and calls `whenComplete` with the failures, once, on the thread of the last answer.
  init(count: Int, whenComplete: (@Sendable ([Failure]) -> Void)? = nil) {
    missing = count
    self.whenComplete = whenComplete
    if count <= 0 { whenComplete?([]) }
  }

  /// Takes the result for one store. A surplus result is ignored.
  func take(path: String?, error: (any Error)?) {
    let complete: [Failure]? = lock.withLock {
      guard missing > 0 else { return nil }
      missing -= 1
      if let error { failures.append(Failure(path: path, error: error)) }
      return missing == 0 ? failures : nil
    }
    if let complete { whenComplete?(complete) }
  }

  /// All failures; nil while an answer is missing.
  var complete: [Failure]? { lock.withLock { missing > 0 ? nil : failures } }
}

extension SeveralStores.Loaded {
  /// Assigns each failure to the member that it belongs to.
  ///
  /// - Parameters:
  ///   - container: The container.
  ///   - failures: What went wrong while the container loaded its stores.
  ///   - paths: The paths of the members, in order.
  ///   - close: Closes the container when a failure belongs to no member.
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
