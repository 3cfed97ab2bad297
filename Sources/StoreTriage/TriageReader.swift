package import AgeFiles
import CLibrary
import Foundation
package import SQLCipherFiles
import SQLiteFile
import SafeFiles
import SafeText
package import StoreExtraction
import StoreFiles
import StoreRecovery
import SupportBundle

/// Reads inputs, and makes a triage line for each input.
package struct TriageReader {
  /// Optional work of the reader, which takes additional time.
  package struct Options: Sendable, Codable, Equatable {
    /// Whether to count the rows that a recovery would save. The count needs a second reading of each damaged store.
    package var surveys = false

    package init() {}
  }

  package enum Answer: Sendable {
    /// The triage line of an input, and the identity of the input's files (see ``FileIdentities``). The identity is nil
    /// when a later run must read the input again in any case, or when the identity cannot be computed.
    case line(TriageLine, identity: String?)
    /// The triage lines of an archive that contains several stores, one line for each store.
    case lines([TriageLine])
    /// The inputs in a folder, in the order in which triage writes their output lines.
    case inputs([Item])
    /// The input was not read, because its files still have the identity that the caller passed as `known`.
    case known
    /// There is nothing to report: an archive that was found in a folder holds no store.
    case nothing
  }

  /// An item that was found in a folder.
  package enum Item: Sendable, Codable, Equatable {
    /// The path of an input that must be read.
    case path(String)
    /// The finished triage line of a file that the search has passed over. The line has the reason.
    case line(TriageLine)
  }

  /// A function that describes an error by a code and a message. It returns nil for an unknown error.
  package typealias Describe = (any Error) -> TriageLine.Failed?

  let secrets: AgeSecrets
  let key: CipherKey?
  let options: Options
  let analysers: Analysers
  let describe: Describe
  /// A string that is hashed into the identity of each input. It contains the version of Lifeboat, the options and a
  /// digest of the analysers. When one of these changes, all identities change, so all inputs are read again.
  private let salt: String

  /// Makes a reader of inputs. `key` opens stores that SQLCipher has encrypted. `describe` returns the code and the
  /// message for an error.
  package init(
    secrets: AgeSecrets = AgeSecrets(), key: CipherKey? = nil, options: Options = Options(),
    analysers: Analysers = .shipped, describe: @escaping Describe
  ) {
    self.secrets = secrets
    self.key = key
    self.options = options
    self.analysers = analysers
    self.describe = describe
    salt = "\(Tool.version) \(TriageLine.currentVersion) \(options.surveys) \(analysers.digest)"
  }

  /// Reads the input at a path.
  ///
  /// - Parameters:
  ///   - path: the path of the input. It may name a file inside an archive or inside a phone's backup.
  ///   - isFound: whether the path was found by searching a folder. If so, an archive without a store is ignored
  ///     instead of being reported.
  ///   - known: the identity that the input's files had when they were last read; nil if they were never read. If the
  ///     files still have this identity, they are not read.
  /// - Returns: the result of reading the path. For an input that cannot be read, this is a line with the reason.
  package func answer(to path: String, isFound: Bool, known: String? = nil) -> Answer {
    var line = TriageLine(path: path, kind: .unknown)
    do {
      // A path that ends in a slash stands for a folder.
      let status = FileStatus.following(path)
      if status?.kind == .folder { return try folder(path, known) }
      let identity: String?
      if let (backup, name) = status != nil ? nil : PhoneBackup.split(path), let name {
        line.kind = .store
        identity = nil
        try read(backup: backup, name, into: &line)
      } else if let (archive, name) = status != nil ? nil : UnpackedArchive.split(path) {
        identity = identityOfFiles([archive])
        if let identity, identity == known { return .known }
        line.kind = .archive
        try read(archive: archive, name, into: &line)
      } else {
        identity = identityOfFiles(FileIdentities.files(ofSetAt: path))
        if let identity, identity == known { return .known }
        let lead = try Self.lead(of: path)
        if UnpackedArchive.mayHoldStore(lead: lead) {
          line.kind = .archive
          line.isEncrypted = AgeFile.isEncrypted(lead)
          if let answer = try read(archive: path, isFound, into: &line) { return answer }
        } else {
          line.kind = .store
          try read(storeAt: path, incident: nil, into: &line)
        }
      }
      line.signature = line.signature.hashed()
      return .line(line, identity: line.isToBeReadAgain ? nil : identity)
    } catch {
      fail(&line, error)
      line.signature = line.signature.hashed()
      return .line(line, identity: nil)
    }
  }

  /// Returns the first bytes of an ordinary file. Follows a symbolic link, as the other commands do.
  private static func lead(of path: String) throws -> [UInt8] {
    if let status = FileStatus.following(path), status.kind != .file {
      // Opening a special file may have side effects, so special files are refused.
      throw SQLiteFileError(.notRegular, "not an ordinary file", path: path)
    }
    do throws(BundleError) {
      return try BundleFile.lead(of: path)
    } catch {
      // The input may not be a bundle, so the errors of a bundle are replaced by those of a file.
      switch error.code {
      case .inputMissing: throw SQLiteFileError(.missing, "no such file", path: path)
      case .permissionDenied: throw SQLiteFileError(.permission, "permission denied", path: path)
      default: throw error
      }
    }
  }

  func identityOfFiles(_ paths: [String]) -> String? { FileIdentities.taken(paths, salt) }

  func fail(_ line: inout TriageLine, _ error: any Error) {
    line.fail(
      (error as? TriageLine.Failed) ?? describe(error)
        ?? TriageLine.Failed(code: "triage.failed", message: "the input cannot be read"))
  }
}

/// Computes identities of files. An identity is a hash of the files' paths, sizes, times and inode numbers. If the
/// identity of files is unchanged, triage assumes that their contents are unchanged, and does not read them again.
enum FileIdentities {
  /// Returns `path`, and the paths of the files `-wal`, `-shm` and `-journal` next to it.
  static func files(ofSetAt path: String) -> [String] {
    ["", "-wal", "-shm", "-journal"].map { path + $0 }
  }

  /// Returns the identity of the files at `paths`, as 32 hexadecimal digits. Nil when the file at the first path is
  /// missing. Each of the other files may be missing; the identity changes when such a file appears or disappears.
  static func taken(_ paths: [String], _ salt: String) -> String? {
    var bytes = Array(salt.utf8)
    for (index, path) in paths.enumerated() {
      bytes.append(0)
      var raw = stat()
      // Both the link and its target are hashed, because readers follow symbolic links.
      guard unsafe stat(path, &raw) == 0, let status = FileStatus.found(path) else {
        if index == 0 { return nil }
        continue
      }
      bytes += "\(path) \(status.inode) \(status.changed) \(raw.st_ino) \(raw.st_size)".utf8
      #if canImport(Darwin)
        let (changed, modified) = (raw.st_ctimespec, raw.st_mtimespec)
      #else
        let (changed, modified) = (raw.st_ctim, raw.st_mtim)
      #endif
      bytes += " \(modified.tv_sec) \(modified.tv_nsec) \(changed.tv_sec) \(changed.tv_nsec)".utf8
    }
    return String(Substring(Digest.sha256(bytes).utf8.prefix(32)))
  }
}
