public import Foundation

/// The host's decisions about recovery. The defaults suit an app with one process.
public struct Policy: Sendable {
  /// What may be done about a store that does not open.
  public enum Mode: String, Sendable, Codable, CaseIterable {
    /// Stores may be set aside.
    case act
    /// Evidence is gathered and the verdict is reported; nothing is moved, made or written.
    case reportOnly
    /// For an extension of the app: nothing is moved, made or written, and no file is read in full. The app itself
    /// decides the next time it runs.
    case `extension`
  }

  /// What may be done about a store that does not open.
  public var mode = Mode.act
  /// Bytes that must be free before a store is set aside, so that the fresh one can be written.
  public var minimumFreeBytes: Int64 = 4 * 1024 * 1024
  /// How often one build of the app may set a store aside, whatever the reasons. For one and the same reason a build
  /// does so at most twice.
  public var maximumQuarantines = 5
  /// The pauses before the opener is called again when the reason may pass by itself, such as a lock. If empty, the
  /// error is thrown at once. The synchronous form of `open` blocks its thread during a pause.
  public var retryPauses: [Duration] = [.milliseconds(100), .milliseconds(400)]
  /// How long an open may wait, in seconds, 0 to 60, for another process that moves the store, or that has a store open
  /// that should be moved. A normal launch does not wait.
  public var maximumWaitSeconds = Self.usualWaitSeconds
  /// Whether the opener must fail twice before the store is set aside.
  public var triesTwice = true
  /// Opens a store as the opener does, creating it if it is missing, and closes it again. If set, a store is moved only
  /// if a throw-away store opens and a private copy, where space and ``maximumCopyBytes`` allow one, fails to open. If
  /// nil, only Lifeboat's own reader checks the store a second time.
  public var check: (@Sendable (URL) throws -> Void)?
  /// The maximum size of a set that is copied in full, in bytes; 0 means that no set is.
  public var maximumCopyBytes: Int64 = 512 * 1024 * 1024
  /// Called when the same failure happens a second time in one build; returning false leaves the store in place. From
  /// the third time on the store is never moved.
  public var allowsRepetition: @Sendable (RepeatedFailure) -> Bool = { _ in true }
  /// Whether to open a store whose log has a damaged header, which makes SQLite drop the newest rows. The set, or only
  /// the log of a large one, is copied first, so that these rows can be recovered. If false, the store stays closed.
  public var keepsDamagedLogs = true
  /// Whether two small hidden files beside the store are kept up to date after each healthy open. `.X.lifeboat` records
  /// what the log held, `.X.opened-by-…` which version of the app opened the store. So a later launch notices a log
  /// that was deleted or replaced, or an app that is older than the store.
  public var recordsHealthyOpens = true
  /// How many bytes one launch reads, at least one file or 32 MiB, to continue the seal of a set that an earlier launch
  /// could not read completely. Such a set is set aside without a seal; the next launches complete the seal.
  public var sealBytesPerLaunch: Int64 {
    get { sealPace.bytesPerLaunch }
    set { sealPace.bytesPerLaunch = max(0, newValue) }
  }
  package var sealPace = SealPace()
  /// The limits for pruning records and second copies after the store has opened; nil for no pruning. See
  /// ``Incidents/prune(_:storeName:dryRun:)``, which never removes the only copy of anything.
  public var retention: Retention?
  /// Whether a store that a newer build of the app wrote may be set aside. If false, the open fails, and the app should
  /// ask for an update.
  public var setsAsideNewerStores = false
  /// Whether a store whose version hashes differ from the model's may be set aside although the error does not name the
  /// model as the cause. By default true only on systems without Core Data, where nothing migrates on opening. Where
  /// Core Data migrates, a store that only waits for its migration differs too, so the error has to name the model.
  public var setsAsideOnMismatchAlone = Self.migratesNothing
  /// Whether a store may be set aside because its migration failed, or because no mapping model fits or can be inferred
  /// (134110, 134140, 134190).
  public var setsAsideFailedMigrations = true
  /// Whether a store may be set aside when the app's own migration step fails or breaks a constraint (134170, 134111).
  public var setsAsideMappingFaults = false
  /// Whether a store may be set aside when only an index, a virtual table or `sqlite_sequence` is damaged, which a
  /// repair on a copy could fix (267, 523, 779).
  public var setsAsideRepairable = false
  /// Returns SQLite's extended result code for an error of the host's own type; nil for any other error. Called for the
  /// opener's error and for each of its underlying errors.
  public var sqliteCode: (@Sendable (any Error) -> Int32?)?
  /// Returns what an error of the host's own type means; nil for any other error. A code about the environment (locks,
  /// space, permissions, the device) takes precedence.
  public var meaning: (@Sendable (any Error) -> FailureMeaning?)?
  /// Returns what the host knows about its own state. Called after the opener has failed.
  public var hostState: (@Sendable () -> HostState)?
  /// Called with each step of the recovery, for the host's log.
  public var report: (@Sendable (RecoveryEvent) -> Void)?
  /// The words of `incident.txt`. By default they are Lifeboat's, in the user's language at the time of the call.
  public var texts: IncidentTexts {
    get { ownTexts ?? IncidentTexts() }
    set { ownTexts = newValue }
  }
  /// Whether as many bytes as the store has must be free besides ``minimumFreeBytes``; a migration needs them.
  var needsRoomForMigration = false
  // nil unless the host has set its texts: asking for language and time zone would be a third of the cost of a launch.
  private var ownTexts: IncidentTexts?

  /// Creates the default policy.
  public init() {}

  /// Bytes that must be free before a store with members of these sizes is set aside.
  func neededFreeBytes(_ sizes: [Int64]) -> Int64 {
    (needsRoomForMigration ? sizes : []).reduce(minimumFreeBytes) { $0.addingClamped($1) }
  }

  static let usualWaitSeconds = 3.0

  private static var migratesNothing: Bool {
    #if canImport(CoreData)
      false
    #else
      true
    #endif
  }
}

/// A failure for which this build of the app has set the store aside once before.
public struct RepeatedFailure: Sendable {
  /// The verdict on the failure, this time.
  public let verdict: Verdict
  /// The ids of this failure's earlier incidents, as far as they are remembered.
  public let incidents: [Incident.ID]
}
