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

/// Reads one input after the other, and says of each what triage has to know.
package struct TriageReader {
  /// What may be asked for beside the usual.
  package struct Options: Sendable, Codable, Equatable {
    /// Whether to count what a recovery would save, which reads a damaged store once more.
    package var surveys = false

    /// The usual.
    package init() {}
  }

  /// What a path leads to.
  package enum Answer: Sendable {
    /// An input, and the identity of its files; nil where they have none that is cheap to take.
    case line(TriageLine, identity: String?)
    /// An archive with several stores, and a line for each.
    case lines([TriageLine])
    /// The inputs that a folder holds, in their order.
    case inputs([Item])
    /// An input whose files have the identity that was asked for.
    case known
    /// Nothing that triage is about: an archive of something else that was met in a folder.
    case nothing
  }

  /// An input that a folder holds.
  package enum Item: Sendable, Equatable {
    /// A path to be read.
    case path(String)
    /// A file that is no input, and what it is.
    case line(TriageLine)
  }

  /// Describes an error; nil for one that is not known.
  package typealias Describe = (any Error) -> TriageLine.Failed?

  let secrets: AgeSecrets
  let key: CipherKey?
  let options: Options
  let analysers: Analysers
  let describe: Describe
  /// Enters into the identity: what makes lines of equal files differ.
  private let salt: String

  /// A reader.
  ///
  /// - Parameters:
  ///   - secrets: what encrypted bundles are opened with.
  ///   - key: the key of stores that SQLCipher encrypts; nil for none.
  ///   - options: what is asked for.
  ///   - analysers: what is asked about each store.
  ///   - describe: how an error is told.
  package init(
    secrets: AgeSecrets = AgeSecrets(), key: CipherKey? = nil, options: Options = Options(),
    analysers: Analysers = .shipped, describe: @escaping Describe
  ) {
    self.secrets = secrets
    self.key = key
    self.options = options
    self.analysers = analysers
    self.describe = describe
    salt = "\(Tool.version) \(TriageLine.currentVersion) \(options.surveys)"
  }

  /// Reads an input.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - isFound: whether it was met in a folder, so that an archive may be anybody's.
  ///   - known: the identity of files that need not be read again; nil for none.
  /// - Returns: what the path leads to. That it cannot be read is a line, too.
  package func answer(to path: String, isFound: Bool, known: String? = nil) -> Answer {
    var line = TriageLine(path: path, kind: .unknown)
    do {
      // A name that ends in a slash is that of a folder.
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
      return .line(finished(line), identity: identity)
    } catch {
      fail(&line, error)
      return .line(finished(line), identity: nil)
    }
  }

  /// The first bytes of an ordinary file. A link is followed to an archive, as other commands do.
  private static func lead(of path: String) throws -> [UInt8] {
    if let status = FileStatus.following(path), status.kind != .file {
      // Not to be opened: that may have effects.
      throw SQLiteFileError(.notRegular, "not an ordinary file", path: path)
    }
    do throws(BundleError) {
      return try BundleFile.lead(of: path)
    } catch {
      // Before its kind is known, it is a file.
      switch error.code {
      case .inputMissing: throw SQLiteFileError(.missing, "no such file", path: path)
      case .permissionDenied: throw SQLiteFileError(.permission, "permission denied", path: path)
      default: throw error
      }
    }
  }

  /// The identity of files, the first of which must be there.
  func identityOfFiles(_ paths: [String]) -> String? { FileIdentities.taken(paths, salt) }

  /// Says why an input could not be read.
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

/// A reason of triage's own why an input cannot be read.
struct TriageProblem: Error {
  let code: String
  let message: String
}

/// What tells whether files are those that were read before, without reading them: their names, sizes, times and numbers
/// on the disk.
enum FileIdentities {
  /// The identity of a file and of those of a store that may be beside it; nil when the file is not there.
  static func taken(ofSetAt path: String, _ salt: String) -> String? {
    taken(["", "-wal", "-shm", "-journal"].map { path + $0 }, salt)
  }

  /// The identity of files; nil when the first is not there. Files that come to be beside it change it, too.
  static func taken(_ paths: [String], _ salt: String) -> String? {
    var bytes = Array(salt.utf8)
    for (index, path) in paths.enumerated() {
      bytes.append(0)
      var raw = stat()
      // A link is followed: what is read is its target.
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
