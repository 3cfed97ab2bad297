extension Verdict {
  /// The rule that decided: an error code, or a condition with a name. Later versions may add names. Decoding keeps a
  /// name that this version does not know.
  public enum Rule: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// SQLite's extended result code, for example `sqlite.11`.
    case sqlite(Int32)
    /// A Core Data or Foundation code, for example `cocoa.134100`.
    case cocoa(Int)
    /// The system's error number, for example `posix.28`.
    case posix(Int32)
    /// Any other rule, for example `hold.shared`.
    case named(String)

    /// Creates a rule from its raw value.
    public init(rawValue: String) {
      let parts = rawValue.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1)
        .map(Substring.init)
      let code: Self? =
        switch (parts.first, parts.last) {
        case ("sqlite", let number?): Int32(number).map(Self.sqlite)
        case ("cocoa", let number?): Int(number).map(Self.cocoa)
        case ("posix", let number?): Int32(number).map(Self.posix)
        default: nil
        }
      // A number in another form, such as `sqlite.011`, is kept as it is written.
      if let code, code.rawValue == rawValue { self = code } else { self = .named(rawValue) }
    }

    /// The rule as a string for programs. JSON, logs and reports contain the same string.
    public var rawValue: String {
      switch self {
      case .sqlite(let code): "sqlite.\(code)"
      case .cocoa(let code): "cocoa.\(code)"
      case .posix(let code): "posix.\(code)"
      case .named(let name): name
      }
    }

    /// The same string as ``rawValue``.
    public var description: String { rawValue }
  }
}

// MARK: The store

extension Verdict.Rule {
  package static let open = Self.named("open")
  /// The main file is missing, and its log or journal may hold rows.
  package static let storeMainMissing = Self.named("store.mainMissing")
  /// The main file is empty, and its log or journal may hold rows.
  package static let storeMainEmpty = Self.named("store.mainEmpty")
  /// Opening the store would drop its log, which holds rows. Once the files are copied, the store may be opened.
  package static let storeWALDamaged = Self.named("store.walDamaged")
  package static let storeWALForeign = Self.named("store.walForeign")
  /// The store's folder cannot be read.
  package static let storeUnreadable = Self.named("store.unreadable")
  package static let storeMissing = Self.named(StoreRecoveryError.Code.missing.rawValue)
  package static let storeNotAFile = Self.named(StoreRecoveryError.Code.notAFile.rawValue)
  package static let storeInUse = Self.named(StoreRecoveryError.Code.inUse.rawValue)
  package static let quarantineUnfinished = Self.named(StoreRecoveryError.Code.unfinished.rawValue)
  package static let quarantineNoSpace = Self.named(StoreRecoveryError.Code.noSpace.rawValue)
}

// MARK: The file

extension Verdict.Rule {
  package static let fileUnreadable = Self.named("file.unreadable")
  /// The file could not be read to its end, or it changed while it was read.
  package static let fileUnread = Self.named("file.unread")
  package static let fileEmpty = Self.named("file.empty")
  package static let fileEncrypted = Self.named("file.encrypted")
  package static let fileNotADatabase = Self.named("file.notADatabase")
  /// The file needs a newer version of SQLite.
  package static let fileNewer = Self.named("file.newer")
  package static let fileDamaged = Self.named("file.damaged")
  /// A statement of the schema could not be read, and nothing else is wrong.
  package static let schemaUnreadable = Self.named("schema.unreadable")
}

// MARK: The model

extension Verdict.Rule {
  package static let modelMismatch = Self.named("model.mismatch")
  /// The store shares no entity with any known version of the model.
  package static let modelForeign = Self.named("model.foreign")
  package static let modelNewer = Self.named("model.newer")
  package static let modelNewerRules = Self.named("model.newerRules")
  package static let modelUnrecorded = Self.named("model.unrecorded")
}

// MARK: The error

extension Verdict.Rule {
  /// The host says that a newer version of the app wrote the store.
  package static let hostNewerStore = Self.named("host.newerStore")
  package static let hostOtherVersion = Self.named("host.otherVersion")
  package static let hostWrongKey = Self.named("host.wrongKey")
  package static let errorCancelled = Self.named("error.cancelled")
  /// No rule covers any code of the error.
  package static let errorUnknown = Self.named("error.unknown")
  /// The store was set aside, but is moved back, because no fresh store could be opened.
  package static let freshFailed = Self.named("fresh.failed")
  /// The container could not be opened, for a cause outside the stores that ``Recovery`` opens.
  package static let containerFailed = Self.named("container.failed")
  /// No judgement on the store: it was only moved away to make room for an earlier store that is restored.
  package static let restoreReplaced = Self.named("restore.replaced")
}

// MARK: Conditions that keep a store in place

extension Verdict.Rule {
  package static let holdExtension = Self.named("hold.extension")
  package static let holdBackground = Self.named("hold.background")
  package static let holdLocked = Self.named("hold.locked")
  /// Another process may use the store.
  package static let holdShared = Self.named("hold.shared")
  package static let holdSymbolicLink = Self.named("hold.symbolicLink")
  package static let holdNotAFile = Self.named("hold.notAFile")
  /// The main file could not be read before the app tried to open the store.
  package static let holdUnreadable = Self.named("hold.unreadable")
  package static let holdNoSpace = Self.named("hold.noSpace")
  /// It is unknown how often the store was set aside before, because a record cannot be read.
  package static let holdUnrecorded = Self.named("hold.unrecorded")
  /// This build has set the store aside too often.
  package static let holdRepeated = Self.named("hold.repeated")
  package static let holdHostDecides = Self.named("hold.hostDecides")
  /// The store stays in place, because a trial could not create a new store beside it.
  package static let holdFreshFails = Self.named("hold.freshFails")
  package static let holdCopyOpens = Self.named("hold.copyOpens")
  /// A private copy of the store failed because of the environment: a lock, the space or permissions.
  package static let holdCopyUnavailable = Self.named("hold.copyUnavailable")
}
