import SafeFiles
import SafeText
import StoreFiles

/// For each file of a store set, by file name: its SHA-256 in lower-case hex, or the error that kept the file from
/// being read.
typealias MemberHashes = [FileName: Result<String, any Error>]

extension MemberHashes {
  /// Returns the hash of each file, with the file's name as text. Throws if a file could not be read.
  func byName() throws -> [String: String] {
    try [String: String](firstOf: map { ($0.key.text, try $0.value.get()) })
  }
}

extension StoreSet {
  /// Starts to hash the files of the store set on another thread. Folders and links are left out.
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
