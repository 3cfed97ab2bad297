import SafeFiles
package import StoreFiles
package import ObjectModel
import SafeText

/// Plain facts about a store and about the failed attempt to open it. A fact is nil when it was not or could not be
/// established.
public struct StoreEvidence: Sendable, Codable, Equatable {
  /// One member of the store set, as found before the opener ran.
  package struct Member: Sendable, Codable, Equatable {
    /// The member's part in the set, such as the write-ahead log.
    package var role: StoreSet.Role
    /// The path relative to the store's folder.
    package var name: String
    /// Whether the member is a file, a folder, a link or something else.
    package var kind: StoreSet.Kind
    /// The size in bytes; 0 for anything but a file.
    package var sizeBytes: Int64

    /// Creates a member from its parts.
    package init(role: StoreSet.Role, name: String, kind: StoreSet.Kind, sizeBytes: Int64) {
      self.role = role
      self.name = name
      self.kind = kind
      self.sizeBytes = sizeBytes
    }
  }

  /// Facts from the first 100 bytes of the main file (SQLite file format, section 1.3).
  package struct Header: Sendable, Codable, Equatable {
    /// Whether the first 16 bytes are "SQLite format 3" and a zero byte.
    package var isMagicRight: Bool
    /// The page size in bytes, 512 to 65536; nil when the field holds no valid size.
    package var pageSize: Int?
    /// The file format read version, 1 for rollback journals and 2 for WAL. SQLite reads no file with a higher one.
    package var readVersion: Int?
    /// The file change counter.
    package var changeCounter: UInt32?
    /// The size of the database in pages; nil when the field is stale, that is, when the change counter
    /// differs from the version-valid-for number.
    package var pageCount: UInt32?
    /// The schema format number, 1 to 4 today.
    package var schemaFormat: UInt32?

    /// Creates header facts from their parts.
    package init(
      isMagicRight: Bool, pageSize: Int? = nil, readVersion: Int? = nil,
      changeCounter: UInt32? = nil, pageCount: UInt32? = nil, schemaFormat: UInt32? = nil
    ) {
      self.isMagicRight = isMagicRight
      self.pageSize = pageSize
      self.readVersion = readVersion
      self.changeCounter = changeCounter
      self.pageCount = pageCount
      self.schemaFormat = schemaFormat
    }
  }

  /// Facts about the write-ahead log.
  package struct WAL: Sendable, Codable, Equatable {
    /// The size of the log in bytes.
    package var sizeBytes: Int64
    /// Whether the header is valid: magic number and checksum; nil when there are fewer than 32 bytes.
    package var isHeaderSound: Bool?
    /// The number of frames of committed transactions that SQLite reads; nil when not counted.
    package var committedFrames: Int?
    /// The number of pages whose newest content is in committed frames that SQLite would drop, after a damaged header
    /// or frame, and is not in the main file. nil when not counted.
    package var lostFrames: Int?
    /// Committed rows that SQLite certainly does not read; nil when nothing proves a loss.
    package var loss: SilentLoss?
    /// A possible loss; a healthy store may show the same. nil when none is suspected, or when ``loss`` is set.
    package var doubt: SilentLoss?
    /// The witnesses that hold facts about an earlier state of the log and show nothing missing; nil when unchecked.
    package var witnesses: [SilentLoss.Witness]?
    /// The facts that a healthy open has to record; nil when the record is up to date. Not encoded with the evidence.
    var unrecorded: HealthyOpen?

    private enum CodingKeys: String, CodingKey {
      case sizeBytes, isHeaderSound, committedFrames, lostFrames, loss, doubt, witnesses
    }

    /// Creates log facts from their parts.
    package init(
      sizeBytes: Int64, isHeaderSound: Bool? = nil, committedFrames: Int? = nil,
      lostFrames: Int? = nil, loss: SilentLoss? = nil, doubt: SilentLoss? = nil,
      witnesses: [SilentLoss.Witness]? = nil
    ) {
      self.sizeBytes = sizeBytes
      self.isHeaderSound = isHeaderSound
      self.committedFrames = committedFrames
      self.lostFrames = lostFrames
      self.loss = loss
      self.doubt = doubt
      self.witnesses = witnesses
    }
  }

  /// Facts about the rollback journal.
  package struct Journal: Sendable, Codable, Equatable {
    /// Whether the journal is hot: its header is valid, so SQLite rolls it back into the main file. A journal that was
    /// truncated, or whose header was zeroed (`PRAGMA journal_mode` TRUNCATE and PERSIST), is not hot. Nor is the
    /// journal of the first transaction, while the main file is empty. nil when the journal could not be read.
    package var isHot: Bool?

    /// Creates journal facts from their parts.
    package init(isHot: Bool? = nil) { self.isHot = isHot }
  }

  /// The damage that reading the whole file found.
  package struct Structure: Sendable, Codable, Equatable {
    /// The ids of the damage found, each once, sorted.
    package var findings: [String]
    /// How many places are damaged.
    package var findingCount: Int
    /// Whether the header or the schema is so damaged that no program can open the file.
    package var isUnopenable: Bool
    /// Whether all tables were read; false when the time for it ran out.
    package var isComplete: Bool

    /// Creates structural facts from their parts.
    package init(
      findings: [String], findingCount: Int, isUnopenable: Bool, isComplete: Bool = true
    ) {
      self.findings = findings
      self.findingCount = findingCount
      self.isUnopenable = isUnopenable
      self.isComplete = isComplete
    }
  }

  /// One error of a chain, without its text, which may hold a user's data.
  package struct ErrorLink: Sendable, Codable, Equatable {
    /// The error's domain.
    package var domain: String
    /// The error's code in that domain.
    package var code: Int

    /// Creates a link from its parts.
    package init(domain: String, code: Int) {
      self.domain = domain
      self.code = code
    }
  }

  /// Facts about the failed open.
  package struct Failure: Sendable, Codable, Equatable {
    /// The error and its underlying errors, outermost first.
    package var chain: [ErrorLink]
    /// SQLite's extended result code; nil when the error has none.
    package var sqliteCode: Int32?
    /// The outermost code of the Cocoa domain; nil when there is none.
    package var cocoaCode: Int?
    /// The first code of the POSIX domain; nil when there is none.
    package var posixCode: Int32?
    /// Whether the text that came with SQLite's code 1 says "unsupported file format" or "malformed
    /// database schema".
    package var blamesSchema: Bool
    /// What the host says that its own error means; nil when it says nothing.
    package var meaning: FailureMeaning?

    /// Creates failure facts from their parts.
    package init(
      chain: [ErrorLink] = [], sqliteCode: Int32? = nil, cocoaCode: Int? = nil,
      posixCode: Int32? = nil, blamesSchema: Bool = false, meaning: FailureMeaning? = nil
    ) {
      self.chain = chain
      self.sqliteCode = sqliteCode
      self.cocoaCode = cocoaCode
      self.posixCode = posixCode
      self.blamesSchema = blamesSchema
      self.meaning = meaning
    }
  }

  /// The kind of file that the main file's path names; nil when nothing has that name.
  package var mainKind: StoreSet.Kind?
  /// The main file's size in bytes; nil when it is not a file.
  package var mainSizeBytes: Int64?
  /// The members that exist.
  package var members: [Member]
  /// Whether the folder of the store exists and is a folder.
  package var folderExists: Bool
  /// Facts from the header; nil when there are fewer than 16 bytes or they could not be read.
  package var header: Header?
  /// Whether the first bytes look random, as in an encrypted file; nil when they could not be read.
  package var looksEncrypted: Bool?
  /// Facts about the write-ahead log; nil when there is none and nothing shows that there was one.
  package var wal: WAL?
  /// Facts about the rollback journal; nil when there is none.
  package var journal: Journal?
  /// What the structure check found; nil when none ran.
  package var structure: Structure?
  /// The store's UUID from its metadata; nil when unknown.
  package var storeUUID: String?
  /// The version of the framework that wrote the metadata, for example 1344; nil when unknown.
  package var frameworkVersion: Int64?
  /// The version of the rules by which hashes are compared, 3 in every store seen.
  package var hashesVersion: Int64?
  /// The version hashes that the store records; nil when there are none that can be read.
  package var recordedHashes: [String: VersionHash]?
  /// Whether the app has named a model that the store must fit.
  package var expectsModel = false
  /// The name of the model version that the app expects; nil when it has none.
  package var expectedVersion: String?
  /// The version hashes of the app's model that ``comparison`` uses (a model may have several sets); nil when nothing
  /// was compared. For support: no verdict depends on it.
  package var expectedHashes: [String: VersionHash]?
  /// How the recorded hashes compare with the expected ones; nil when no model is expected or no hashes
  /// could be read.
  package var comparison: HashComparison?
  /// Entities that store and model share but whose hashes cannot be judged, because the rule for computing them is not
  /// confirmed. ``comparison`` leaves them out. nil when nothing was compared.
  package var undecided: [String]?
  /// Whether the store shares an entity, by its current or an earlier name, with any known version of the app's model;
  /// nil when no model is expected, no hashes could be read, or a version could not be read.
  package var sharesEntities: Bool?
  /// The name of the model version that wrote the store; nil when no known version did.
  package var writtenBy: String?
  /// Whether a newer build of the app wrote the store; nil when unknown: hashes alone do not show it.
  package var isNewerThanApp: Bool?
  /// Bytes that this user may still write on the store's volume.
  package var freeBytes: Int64?
  /// The error number of an attempt to open and read the main file before the opener ran; 0 when that
  /// worked.
  package var openErrno: Int32?
  /// Whether another process holds one of SQLite's locks on the main file; nil when unknown.
  package var isUsedElsewhere: Bool?
  /// The id of a process that holds one of SQLite's locks on the main file; nil when none does, or its id is unknown.
  package var lockHolder: Int32?
  /// How often the same failure has happened before; nil when nothing was to be set aside, so it was not looked up.
  package var repetition: Repetition?
  /// What trials beside the store showed; nil when nothing was to be set aside, so none were made.
  package var trial: Trial?
  /// What the host knows about its own state.
  package var host: HostState
  /// The failed open; nil as long as the opener has not failed.
  package var failure: Failure?

  /// Creates evidence that says only what kind of file the main file's path names, and the file's size.
  package init(mainKind: StoreSet.Kind?, mainSizeBytes: Int64? = nil) {
    self.mainKind = mainKind
    self.mainSizeBytes = mainSizeBytes
    members = []
    folderExists = true
    host = HostState()
  }

  /// Whether the main file exists and holds no bytes.
  package var isMainEmpty: Bool { mainKind == .file && mainSizeBytes == 0 }

  /// Whether the main file is shorter than its header says. false when there is a log, which may hold the missing
  /// pages, or a journal, which may undo an interrupted growth.
  var isCutShort: Bool {
    guard let header, header.isMagicRight, let page = header.pageSize, let count = header.pageCount,
      let size = mainSizeBytes, (wal?.sizeBytes ?? 0) == 0, !mayHoldRows(.journal)
    else { return false }
    let (needed, overflow) = Int64(page).multipliedReportingOverflow(by: Int64(count))
    return overflow || size < needed
  }

  /// One sentence for each member that is left over without a store or from another state of the store.
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
        // One line for the main file of a left-over store is enough.
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

  /// The member with `role`; for the support folder, the folder itself.
  func member(_ role: StoreSet.Role) -> Member? { members.first { $0.role == role } }

  /// Whether a member with `role` exists and may hold rows. A symbolic link counts, because it is not followed.
  func mayHoldRows(_ role: StoreSet.Role) -> Bool {
    guard let member = member(role) else { return false }
    if role == .journal, journal?.isHot == false { return false }
    return member.kind == .file ? member.sizeBytes > 0 : true
  }
}

/// What a host's own error means. The host states it for errors without an SQLite or Core Data code.
public enum FailureMeaning: String, Sendable, Codable, CaseIterable {
  /// A newer build of the app wrote the store.
  case newerStore
  /// The store is sound, but of a version that this build does not know.
  case otherVersion
  /// The key does not fit an encrypted store.
  case wrongKey
}

/// What only the host knows about its state at a failed open. nil means unknown and prevents nothing.
public struct HostState: Sendable, Codable, Equatable {
  /// Whether this process is an extension of the app. Extensions never set a store aside.
  public var isExtension: Bool?
  /// Whether the app runs in the background. Background tasks never set a store aside.
  public var isInBackground: Bool?
  /// Whether files under data protection can be read.
  public var isProtectedDataAvailable: Bool?
  /// Whether this process is the only one that uses the store.
  public var ownsStore: Bool?

  /// Creates a state. nil means unknown.
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
