import SafeFiles
import SafeText
import StoreFiles

/// The SHA-256 of each file of a store set in lower-case hex, or the error that kept it from being read; by file name.
typealias MemberHashes = [FileName: Result<String, any Error>]

extension MemberHashes {
  /// The hashes by file name, as reports have them. Throws the first error that kept a file from being read.
  func byName() throws -> [String: String] {
    [String: String](
      try map { ($0.key.text, try $0.value.get()) }, uniquingKeysWith: { first, _ in first })
  }
}

extension StoreSet {
  /// Starts to hash the files of the set on another thread. Folders and links are left out.
  func hashing() -> AnotherThread<MemberHashes> {
    let files = members.filter { $0.kind == .file }.map { (name: $0.name, path: $0.path) }
    return AnotherThread {
      var hashes: MemberHashes = [:]
      for file in files {
        hashes[FileName(file.name)] = Result { try StoreSeal.sha256(ofFile: file.path) }
      }
      return hashes
    }
  }
}
