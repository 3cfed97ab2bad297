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

/// Reads inputs and makes the triage line of each.
package struct TriageReader {
  /// Extra work that a caller may ask for.
  package struct Options: Sendable, Codable, Equatable {
    /// Whether to count the rows that a recovery would save. This reads a damaged store once more.
    package var surveys = false

    /// Options that ask for nothing extra.
    package init() {}
  }

  /// What reading a path gives.
  package enum Answer: Sendable {
    /// The line of an input, and the identity of its files. The identity is nil when none can be taken cheaply or the
    /// input has to be read again.
    case line(TriageLine, identity: String?)
    /// The lines of an archive with several stores, one for each store.
    case lines([TriageLine])
    /// The inputs that a folder holds, in the order of their lines.
    case inputs([Item])
    /// The files of the input have the identity that was given as known, so the input was not read.
    case known
    /// Nothing for triage: an archive that was found in a folder and holds no store.
    case nothing
  }

  /// An input that a folder holds.
  package enum Item: Sendable, Equatable {
    /// The path of an input to be read.
    case path(String)
    /// The line of a file that is not read, which says why.
    case line(TriageLine)
  }

  /// Describes an error as a code and a message; nil for an unknown error.
  package typealias Describe = (any Error) -> TriageLine.Failed?

  let secrets: AgeSecrets
  let key: CipherKey?
  let options: Options
  let analysers: Analysers
  let describe: Describe
  /// A text that is part of each identity: the version, the options and the analysers. When it changes, all inputs are
  /// read again.
  private let salt: String

  /// Makes a reader of inputs.
  ///
  /// - Parameters:
  ///   - secrets: the keys and the passphrase that open encrypted bundles.
  ///   - key: the key of stores that SQLCipher encrypts; nil for none.
  ///   - options: the extra work to do.
  ///   - analysers: the analysers whose conditions are tested on each store.
  ///   - describe: gives code and message of an error.
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
  ///   - path: the path of the input; it may lead into an archive or a phone's backup.
  ///   - isFound: whether the path was found in a folder. An archive without a store is then passed over instead of
  ///     being reported.
  ///   - known: the identity that the files had when they were read last; nil for none. Files that still have it are
  ///     not read.
  /// - Returns: what the path leads to. For an input that cannot be read, this is a line with the reason.
  package func answer(to path: String, isFound: Bool, known: String? = nil) -> Answer {
    var line = TriageLine(path: path, kind: .unknown)
    do {
      // A path that ends in a slash names a folder.
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
        identity = FileIdentities.taken(ofSetAt: path, salt)
        if let identity, identity == known { return .known }
        let lead = try Self.lead(of: path)
        if UnpackedArchive.mayHoldStore(lead: lead) {
          line.kind = .archive
          line.isEncrypted = AgeFile.isEncrypted(lead)
          switch try read(archive: path, isFound, into: &line) {
          case .line: break
          case .nothing: return .nothing
          case .lines(let lines): return .lines(lines)
          }
        } else {
          line.kind = .store
          try read(storeAt: path, incident: nil, into: &line)
        }
      }
      return .line(finished(line), identity: line.isToBeReadAgain ? nil : identity)
    } catch {
      fail(&line, error)
      return .line(finished(line), identity: nil)
    }
  }

  /// The first bytes of an ordinary file. A link to an archive is followed, as other commands do.
  private static func lead(of path: String) throws -> [UInt8] {
    if let status = FileStatus.following(path), status.kind != .file {
      // Opening a special file may have effects, so it is refused.
      throw SQLiteFileError(.notRegular, "not an ordinary file", path: path)
    }
    do throws(BundleError) {
      return try BundleFile.lead(of: path)
    } catch {
      // As long as its kind is not known, the input is reported as a file, not as a bundle.
      switch error.code {
      case .inputMissing: throw SQLiteFileError(.missing, "no such file", path: path)
      case .permissionDenied: throw SQLiteFileError(.permission, "permission denied", path: path)
      default: throw error
      }
    }
  }

  /// The identity of files; nil when the first of them is missing.
  func identityOfFiles(_ paths: [String]) -> String? { FileIdentities.taken(paths, salt) }

  /// Puts the reason why an input could not be read into its line.
  func fail(_ line: inout TriageLine, _ error: any Error) {
    let reason =
      (error as? TriageProblem).map { TriageLine.Failed(code: $0.code, message: $0.message) }
      ?? describe(error)
      ?? TriageLine.Failed(code: "triage.failed", message: "the input cannot be read")
    line.fail(reason)
  }

  private func finished(_ line: TriageLine) -> TriageLine {
    var line = line
    line.signature = line.signature.hashed()
    return line
  }
}

/// A reason why an input cannot be read. Triage itself has found the reason, not a reader of stores or archives.
struct TriageProblem: Error {
  let code: String
  let message: String
}

/// Identities of files: hashes of their paths, sizes, times and inode numbers. If the identity of a file is the same,
/// the file was not changed, so it need not be read.
enum FileIdentities {
  /// The identity of a file and of the `-wal`, `-shm` and `-journal` beside it; nil when the file is missing.
  static func taken(ofSetAt path: String, _ salt: String) -> String? {
    taken(["", "-wal", "-shm", "-journal"].map { path + $0 }, salt)
  }

  /// The identity of files, as 32 hexadecimal digits; nil when the first file is missing. The identity changes when one
  /// of the further files appears.
  static func taken(_ paths: [String], _ salt: String) -> String? {
    var bytes = Array(salt.utf8)
    for (index, path) in paths.enumerated() {
      bytes.append(0)
      var raw = stat()
      // Links are followed, because their targets are read.
      guard unsafe stat(path, &raw) == 0, let status = (try? FileStatus.of(path)) ?? nil else {
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
