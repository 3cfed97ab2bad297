import SafeFiles
import StoreFiles

/// The SHA-256 of each file of a store set, in lower-case hex, or why it could not be taken; by the member's name.
typealias MemberHashes = [String: Result<String, any Error>]

extension StoreSet {
  /// Takes the hashes on another thread.
  func hashing() -> AnotherThread<MemberHashes> {
    let files = members.filter { $0.kind == .file }.map { (name: $0.name, path: $0.path) }
    return AnotherThread {
      var hashes: MemberHashes = [:]
      for file in files {
        hashes[file.name] = Result { try StoreSeal.sha256(ofFile: file.path) }
      }
      return hashes
    }
  }
}
