public import Foundation

/// What the host decides about recovery. The defaults suit an app with one process.
public struct Policy: Sendable {
  /// What may be done about a store that does not open.
  public enum Mode: String, Sendable, Codable, CaseIterable {
    /// Stores may be set aside.
    case act
    /// Evidence is gathered and the verdict reported; nothing is moved, made or written.
    case reportOnly
    /// For an extension of the app: nothing is moved, made or written, and no file is read in full. The app itself
    /// decides when it runs next.
    case `extension`
  }

  /// What may be done about a store that does not open.
  public var mode = Mode.act
  /// Bytes that must be free before a store is set aside, so that the fresh one can be written.
  public var minimumFreeBytes: Int64 = 4 * 1024 * 1024
  /// How often one build of the app may set a store aside, whatever the reasons. For the same reason it does so at
  /// most twice.
  public var maximumQuarantines = 5
  /// The pauses before the opener is called again when the reason may pass by itself, such as a lock. If empty, the
  /// error is thrown at once. The synchronous form blocks its thread.
  public var retryPauses: [Duration] = [.milliseconds(100), .milliseconds(400)]
  /// How long an open may wait for another process that moves the store, or that has it open when it should be moved,
  /// in seconds, 0 to 60. A normal launch does not wait.
  public var maximumWaitSeconds = Self.usualWaitSeconds
  /// Whether the opener must fail twice before the store is set aside.
  public var triesTwice = true
  /// Opens a store as the opener does, creating it if it is missing, and closes it again. If set, nothing is moved
  /// unless a private copy of the store also fails to open and a throw-away store opens. If nil, only Lifeboat's own
  /// reader checks the store a second time.
  public var check: (@Sendable (URL) throws -> Void)?
  /// The maximum size of a set that is copied in full, in bytes; 0 for none.
  public var maximumCopyBytes: Int64 = 512 * 1024 * 1024
  /// Called when the same failure happens a second time in the same build; returning false leaves the store in place.
  /// At a third failure the store is never moved.
  public var allowsRepetition: @Sendable (RepeatedFailure) -> Bool = { _ in true }
  /// Whether to open a store whose log has a damaged header, which makes SQLite drop the newest rows. A copy of the
  /// whole set is kept first, so that these rows can be recovered. If false, such a store is not opened.
  public var keepsDamagedLogs = true
  /// Whether two small hidden files beside the store record, after each healthy open, what its log held (`.X.lifeboat`)
  /// and which version of the app opened it (`.X.opened-by-…`), so that a later launch notices a log that was deleted
  /// or replaced, or an app that is older than the store.
  public var recordsHealthyOpens = true
  /// How many bytes one launch reads, at least a file or 32 MiB, to continue the seal of a set that an earlier launch
  /// could not read completely. Such a set is set aside without a seal, which the next launches complete.
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
  /// Whether a store whose version hashes differ from the model's may be set aside when the error itself does not
  /// say that the model is the cause. A store that only waits for its migration differs too. So where Core Data
  /// migrates, the error has to name the model; elsewhere nothing migrates on opening, and the difference is enough.
  public var setsAsideOnMismatchAlone = Self.migratesNothing
  /// Whether a store may be set aside because no mapping model fits, or because its rows break a rule of
  /// the new model (134140, 134190, 134110).
  public var setsAsideFailedMigrations = true
  /// Whether a store may be set aside because of a fault in the app's own mapping (134170, 134111).
  public var setsAsideMappingFaults = false
  /// Whether a store may be set aside when only an index or a virtual table is damaged, which a repair on a
  /// copy could fix (267, 523, 779).
  public var setsAsideRepairable = false
  /// Returns SQLite's extended result code for an error of the host's own type; nil for any other error. Called for the
  /// opener's error and its underlying errors.
  public var sqliteCode: (@Sendable (any Error) -> Int32?)?
  /// Returns what an error of the host's own type means; nil for any other error. A code about the environment (locks,
  /// space, permissions, the device) takes precedence.
  public var meaning: (@Sendable (any Error) -> FailureMeaning?)?
  /// Returns what the host knows about its own state. Called after the opener has failed.
  public var hostState: (@Sendable () -> HostState)?
  /// Called with each step of the recovery, for the host's log.
  public var report: (@Sendable (RecoveryEvent) -> Void)?
  /// The words of `incident.txt`. By default they are the package's, in the user's language at the time of the call.
  public var texts: IncidentTexts {
    get { ownTexts ?? IncidentTexts() }
    set { ownTexts = newValue }
  }
  // nil unless the host has set some: asking for language and time zone would be a third of the cost of a launch.
  private var ownTexts: IncidentTexts?

  /// Creates the default policy.
  public init() {}

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
  /// The verdict this time.
  public let verdict: Verdict
  /// The incidents of the same failure, as far as they are remembered.
  public let incidents: [Incident.ID]
}
