package import SQLCipherFiles
package import SQLiteFile
import SQLiteForensics
import SafeFiles
import SafeText
package import StoreExtraction
package import StoreFiles

/// A decrypted copy of a store that SQLCipher has encrypted. The copy is in a private folder, which is removed when
/// this object is deallocated.
package final class DecryptedStore {
  private let folder: PrivateFolder
  /// The path of the decrypted main file.
  package let storePath: String
  package var path: String { folder.path }
  /// The store set with the original files, which are encrypted.
  package let evidence: StoreSet
  package let format: CipherFormat
  /// The findings from the decryption: one for each page of the main file, the log or the journal that does not match
  /// its authentication code.
  package private(set) var findings = FindingList()

  /// Whether a file that the key does not open is an unencrypted database. The result is true for an empty file, for a
  /// file that begins like a database and does not look encrypted, and for a database whose first page is lost.
  private static func isPlain(_ path: String) throws(SQLiteFileError) -> Bool {
    let file = try ByteFile(path)
    guard file.size > 0 else { return true }
    guard try file.beginsAsDatabase() else { return SQLiteDatabase.isRuinedDatabase(path: path) }
    return try !Entropy.looksEncrypted(file)
  }

  /// Decrypts a store as ``init(_:_:making:)`` does, but returns nil for a store that is not encrypted.
  package static func ifEncrypted(
    _ path: String, _ key: CipherKey, making: @escaping (String, () -> Bool) -> Void = { _ = $1() }
  ) throws -> DecryptedStore? {
    do { return try DecryptedStore(path, key, making: making) } catch let error as CipherError {
      if try isPlain(path) { return nil }
      throw error
    }
  }

  /// Decrypts the main file, the log and the journal of the store at `path` into a private folder, and copies the
  /// store's other files. `making` is called for each new file and folder (``OutputTree/Making``).
  ///
  /// - Throws: `CipherError` when the key does not fit; ``BundleError`` about the files or the private folder.
  package init(
    _ path: String, _ key: CipherKey, making: @escaping (String, () -> Bool) -> Void = { _ = $1() }
  ) throws {
    let cipher = try PageCipher(key, opening: ByteFile(path))
    format = cipher.format
    let watch = EvidenceWatch(path)
    let set = StoreSet(at: path)
    evidence = set
    guard UInt64(set.sizeBytes) <= UnpackedArchive.byteLimit else {
      throw BundleError(
        .tooLarge, "the store has more than \(UnpackedArchive.byteLimit) bytes", path: path)
    }
    folder = try PrivateFolder(making: making)
    storePath = PathText.joined(folder.path, set.storeName)
    for member in set.members where member.kind == .file {
      try folder.makeFile(PathText.components(of: member.name), path: member.name) { write in
        switch member.role {
        case .main:
          findings.add(try cipher.decrypt(database: ByteFile(member.path)) { try write($0[...]) })
        case .wal:
          findings.add(try cipher.decrypt(log: ByteFile(member.path)) { try write($0[...]) })
        case .journal:
          findings.add(try cipher.decrypt(journal: ByteFile(member.path)) { try write($0[...]) })
        case .sharedMemory, .support, .migrationDestination:
          try InputFile(path: member.path, followsLink: false).forEachPiece(write)
        }
      }
    }
    try watch.requireUnchanged()
  }
}

extension StoreInspection {
  /// Turns the inspection of the decrypted copy `store` into an inspection of the encrypted store. Lists the encrypted
  /// files, and adds the findings from decrypting them.
  package mutating func setEncrypted(_ store: DecryptedStore, takesHashes: Bool) throws {
    try setEncrypted(
      store.evidence,
      "SQLCipher \(store.format.version), pages of \(store.format.pageSize) bytes",
      store.findings, takesHashes: takesHashes)
  }
}
