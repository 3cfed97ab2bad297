import SafeFiles
package import StoreFiles
package import ObjectModel
import SafeText

/// Plain facts about a store and about the failed attempt to open it. A fact that is not known is nil.
public struct StoreEvidence: Sendable, Codable, Equatable {
  package struct Member: Sendable, Codable, Equatable {
    package var role: StoreSet.Role
    /// The path relative to the store's folder.
    package var name: String
    package var kind: StoreSet.Kind
    /// The size in bytes; 0 for anything but a file.
    package var sizeBytes: Int64
    /// Whether ``sizeBytes`` was rounded down to a power of two, as in a support bundle; nil when the size is exact.
    package var isSizeApproximate: Bool?
  }

  /// Facts from the first 100 bytes of the main file (SQLite file format, section 1.3).
  package struct Header: Sendable, Codable, Equatable {
    /// Whether the first 16 bytes are "SQLite format 3" and a zero byte.
    package var isMagicRight: Bool
    /// The page size in bytes, 512 to 65536; nil when the field holds no valid size.
    package var pageSize: Int?
    /// The file format read version, 1 for rollback journals and 2 for WAL. SQLite does not read a higher version.
    package var readVersion: Int?
    package var changeCounter: UInt32?
    /// The size of the database in pages; nil when the field is stale, that is, when the change counter
    /// differs from the version-valid-for number.
    package var pageCount: UInt32?
    /// The schema format number, 1 to 4 today.
    package var schemaFormat: UInt32?
  }

  package struct WAL: Sendable, Codable, Equatable {
    package var sizeBytes: Int64
    /// Whether the log's header has a valid magic number and checksum; nil when the log has fewer than 32 bytes.
    package var isHeaderSound: Bool?
    /// The number of frames of committed transactions that SQLite reads; nil when not counted.
    package var committedFrames: Int?
    /// The number of pages whose newest committed content SQLite would drop, because the log's header or an earlier
    /// frame is damaged. nil when not counted.
    package var lostFrames: Int?
    /// Committed rows that SQLite certainly does not read; nil when nothing proves a loss.
    package var loss: SilentLoss?
    /// A possible loss of committed rows, whose signs may also occur in a healthy store. nil if there are no such
    /// signs, or if ``loss`` is not nil.
    package var doubt: SilentLoss?
    /// The sources that were compared with the log and show no lost commits; nil when the log was not compared.
    package var witnesses: [SilentLoss.Witness]?
    /// The record that must be written after the store has opened normally; nil when the record on disk is up to date.
    /// This property is not encoded.
    var unrecorded: HealthyOpen?

    private enum CodingKeys: String, CodingKey {
      case sizeBytes, isHeaderSound, committedFrames, lostFrames, loss, doubt, witnesses
    }
  }

  package struct Journal: Sendable, Codable, Equatable {
    /// Whether the journal is hot: its header is valid, so SQLite must roll it back. A journal that was truncated, or
    /// whose header was zeroed (`PRAGMA journal_mode` TRUNCATE and PERSIST), is not hot. Beside an empty main file, the
    /// journal of a store's first transaction is not hot either. nil when the journal could not be read.
    package var isHot: Bool?
  }

  /// The damage that reading the whole file found.
  package struct Structure: Sendable, Codable, Equatable {
    /// The finding ids of the damage, each listed once, sorted.
    package var findings: [String]
    package var findingCount: Int
    /// Whether the header or the schema is so damaged that no program can open the file.
    package var isUnopenable: Bool
    /// Whether all tables were read; false when the time for it ran out.
    package var isComplete: Bool

    package init(
      findings: [String], findingCount: Int, isUnopenable: Bool, isComplete: Bool = true
    ) {
      self.findings = findings
      self.findingCount = findingCount
      self.isUnopenable = isUnopenable
      self.isComplete = isComplete
    }
  }

  /// One error in a chain of underlying errors, without its text, which may contain a user's data.
  package struct ErrorLink: Sendable, Codable, Equatable {
    package var domain: String
    package var code: Int
  }

  package struct Failure: Sendable, Codable, Equatable {
    /// The error and its underlying errors, outermost first.
    package var chain: [ErrorLink] = []
    /// SQLite's extended result code; nil when no error in ``chain`` has such a code.
    package var sqliteCode: Int32?
    /// The code of the outermost error in the Cocoa domain; nil when no error in ``chain`` is in that domain.
    package var cocoaCode: Int?
    /// The code of the outermost error in the POSIX domain; nil when no error in ``chain`` is in that domain.
    package var posixCode: Int32?
    /// Whether the text that came with SQLite's code 1 says "unsupported file format" or "malformed database schema".
    package var blamesSchema = false
    /// The meaning of the error according to ``Policy/meaning``; nil when the host gives no meaning.
    package var meaning: FailureMeaning?
  }

  /// The kind of file at the main file's path; nil when nothing exists there.
  package var mainKind: StoreSet.Kind?
  /// The main file's size in bytes; nil when its path does not name an ordinary file.
  package var mainSizeBytes: Int64?
  package var members: [Member] = []
  /// Whether a folder exists at the path of the store's folder.
  package var folderExists = true
  /// Facts from the database header; nil when the main file has fewer than 16 bytes or could not be read.
  package var header: Header?
  /// Whether the first bytes of the main file look random, as in an encrypted file; nil when they could not be read.
  package var looksEncrypted: Bool?
  /// Facts about the write-ahead log; nil when there is no log, and nothing shows that there was one.
  package var wal: WAL?
  /// Facts about the rollback journal; nil for a store without a journal.
  package var journal: Journal?
  /// The damage that the check of the whole file found; nil when the check did not run.
  package var structure: Structure?
  /// The store's UUID from its metadata; nil when unknown.
  package var storeUUID: String?
  /// The version of the framework that wrote the metadata, for example 1344; nil when unknown.
  package var frameworkVersion: Int64?
  /// The version of the rules by which the store's hashes were computed, 3 in every store seen; nil when unknown.
  package var hashesVersion: Int64?
  /// The version hashes that the store records; nil when no hash can be read.
  package var recordedHashes: [String: VersionHash]?
  /// Whether the app has named a model that the store must fit.
  package var expectsModel = false
  /// The name of the model version that the app expects; nil for a version without a name.
  package var expectedVersion: String?
  /// The model's version hashes with which the store's hashes were compared; nil when nothing was compared. These
  /// hashes are for support, and no verdict depends on them.
  package var expectedHashes: [String: VersionHash]?
  /// How the recorded hashes compare with the expected ones; nil when no model is expected or no hashes could be read.
  package var comparison: HashComparison?
  /// The entities that both the store and the model have, but whose hashes cannot be compared. For these entities, no
  /// recorded hash confirms the rules by which the model's hash is computed. ``comparison`` does not include them. Nil
  /// if nothing was compared.
  package var undecided: [String]?
  /// Whether the store shares an entity, by its current or an earlier name, with any known version of the app's model;
  /// nil when no model is expected, no hashes could be read, or a version could not be read.
  package var sharesEntities: Bool?
  /// The name of the model version that wrote the store; nil when no known version wrote it.
  package var writtenBy: String?
  /// Whether a newer build of the app wrote the store; nil when unknown. Version hashes alone do not show this.
  package var isNewerThanApp: Bool?
  /// The number of bytes that this user may still write on the store's volume; nil when unknown.
  package var freeBytes: Int64?
  /// The error number of Lifeboat's attempt to read the main file before `opener` ran; 0 when the attempt succeeded,
  /// nil when the main file's path names no ordinary file.
  package var openErrno: Int32?
  /// Whether another process holds one of SQLite's locks on the main file; nil when unknown.
  package var isUsedElsewhere: Bool?
  /// The id of a process that holds one of SQLite's locks on the main file; nil when no process holds a lock, or when
  /// the process is unknown.
  package var lockHolder: Int32?
  /// How often this build has set the store aside before; nil when the store is not to be set aside.
  package var repetition: Repetition?
  /// The result of a trial in a folder beside the store: whether a fresh store opens, and whether a private copy of
  /// this store opens. Nil without a trial. A trial is made only before a store is set aside.
  package var trial: Trial?
  package var host = HostState()
  /// The failed open; nil until `opener` has failed.
  package var failure: Failure?

  package init(mainKind: StoreSet.Kind?, mainSizeBytes: Int64? = nil) {
    self.mainKind = mainKind
    self.mainSizeBytes = mainSizeBytes
  }

  package var isMainEmpty: Bool { mainKind == .file && mainSizeBytes == 0 }

  /// Whether the main file is shorter than its header says. False when there is a log, which may hold the missing
  /// pages, or a journal, which may undo an interrupted growth.
  var isCutShort: Bool {
    guard let header, header.isMagicRight, let page = header.pageSize, let count = header.pageCount,
      let size = mainSizeBytes, (wal?.sizeBytes ?? 0) == 0, !mayHoldRows(.journal)
    else { return false }
    let (needed, overflow) = Int64(page).multipliedReportingOverflow(by: Int64(count))
    return overflow || size < needed
  }

  /// A sentence for each member that does not fit the rest of the set, for example a log without a main file.
  package var strays: [String] {
    var strays: [String] = []
    let isMainThere = mainKind == .file && !isMainEmpty
    for member in members {
      switch member.role {
      case .wal, .journal:
        if member.kind != .file {
          strays.append("\(member.name) is \(member.kind.words)")
        } else if !isMainThere, mayHoldRows(member.role) {
          strays.append("\(member.name) has no main file")
        } else if member.role == .journal, journal?.isHot == true {
          strays.append("\(member.name) holds an unfinished transaction")
        }
      case .sharedMemory:
        if !isMainThere {
          strays.append("\(member.name) has no main file")
        } else if self.member(.wal) == nil {
          strays.append("\(member.name) has no write-ahead log")
        }
      case .migrationDestination:
        // A left-over migration store gets one sentence, for its main file.
        if member.kind == .file,
          !["-wal", "-shm", "-journal"].contains(where: { PathText.ends(member.name, with: $0) })
        {
          strays.append("\(member.name) is left over from an unfinished migration")
        }
      case .support:
        if member.kind == .symbolicLink, PathText.isPlainName(member.name) {
          strays.append("\(member.name) is a symbolic link")
        }
      case .main: break
      }
    }
    return strays
  }

  /// The first member with `role`; for `support`, this is the support folder itself.
  func member(_ role: StoreSet.Role) -> Member? { members.first { $0.role == role } }

  /// Whether a member with `role` exists and may hold rows. A symbolic link counts, because it is not followed.
  func mayHoldRows(_ role: StoreSet.Role) -> Bool {
    guard let member = member(role) else { return false }
    if role == .journal, journal?.isHot == false { return false }
    return member.kind == .file ? member.sizeBytes > 0 : true
  }
}

/// The meaning of an error of the host's own type. ``Policy/meaning`` returns it for an error that contains no SQLite
/// or Core Data code.
public enum FailureMeaning: String, Sendable, Codable, CaseIterable {
  /// A newer build of the app wrote the store.
  case newerStore
  /// The store is sound, but of a version that this build does not know.
  case otherVersion
  /// The store is encrypted, and the key does not fit.
  case wrongKey
}

/// What only the host knows about its process when an open has failed. A value that is nil is unknown, and does not
/// keep the store from being set aside.
public struct HostState: Sendable, Codable, Equatable {
  /// Whether this process is an extension of the app. Extensions never set a store aside.
  public var isExtension: Bool?
  /// Whether the app runs in the background. Background tasks never set a store aside.
  public var isInBackground: Bool?
  /// Whether files under data protection can be read.
  public var isProtectedDataAvailable: Bool?
  /// Whether this process is the only one that uses the store.
  public var ownsStore: Bool?

  /// Creates a description of the process. A value of nil means that the host does not know it.
  public init(
    isExtension: Bool? = nil, isInBackground: Bool? = nil, isProtectedDataAvailable: Bool? = nil,
    ownsStore: Bool? = nil
  ) {
    self.isExtension = isExtension
    self.isInBackground = isInBackground
    self.isProtectedDataAvailable = isProtectedDataAvailable
    self.ownsStore = ownsStore
  }
}
