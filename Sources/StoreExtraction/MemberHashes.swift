import CoreDataStore
import Dispatch

/// The SHA-256 of each file of a store set, computed on another thread while this one reads the rows.
final class MemberHashes: @unchecked Sendable {
  private let isDone = DispatchSemaphore(value: 0)
  /// The results by member name. Only the other thread touches them until ``isDone`` is signalled.
  private var results: [String: Result<String, any Error>] = [:]

  /// Begins to read the files of a set.
  init(of set: StoreSet) {
    let files = set.members.filter { $0.kind == .file }.map { (name: $0.name, path: $0.path) }
    DispatchQueue.global().async { [self] in
      for file in files { results[file.name] = Result { try StoreSeal.sha256(ofFile: file.path) } }
      isDone.signal()
    }
  }

  /// Waits for the hashes, in lower-case hex. Called once.
  func wait() -> [String: Result<String, any Error>] {
    isDone.wait()
    return results
  }
}
