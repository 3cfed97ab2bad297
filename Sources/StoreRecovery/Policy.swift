public import Foundation
import StoreFiles

/// The host app's settings for the recovery. The defaults suit an app with one process.
public struct Policy: Sendable {
  /// What may be done about a store that does not open.
  public enum Mode: String, Sendable, Codable, CaseIterable {
    /// Stores may be set aside.
    case act
    /// Evidence is gathered and the verdict is reported; nothing is moved, made or written.
    case reportOnly
    /// For an extension of the app: nothing is moved, made or written, and no file is read in full. The app itself
    /// decides about the store the next time it runs.
    case `extension`
  }

  /// What may be done about a store that does not open.
  public var mode = Mode.act
  /// The number of bytes that must be free before a store is set aside, so that a fresh store can be written.
  public var minimumFreeBytes: Int64 = 4 * 1024 * 1024
  /// The maximum number of times that one build of the app may set a store aside, whatever the reasons. For any one
  /// reason, a build sets the store aside at most twice.
  public var maximumQuarantines = 5
  /// The pauses before `opener` is called again after a failure that may pass by itself, for example because of a lock.
  /// If empty, the error is thrown at once. The synchronous forms of `open` block their thread during a pause.
  public var retryPauses: [Duration] = [.milliseconds(100), .milliseconds(400)]
  /// The maximum number of seconds, 0 to 60, that each step of an open waits for another process. A step waits until
  /// that process has finished moving the store, or until it has closed a store that must be examined or moved. A
  /// normal launch does not wait.
  public var maximumWaitSeconds = Self.usualWaitSeconds
  /// Whether `opener` must fail twice before the store is set aside.
  public var triesTwice = true
  /// Opens the store at the given URL as `opener` does, and closes it. Creates the store if it is missing.
  ///
  /// Lifeboat calls this closure before it sets a store aside: first for a new, throw-away store, then for a private
  /// copy of the store. The store is set aside only if the first call succeeds and the second call fails. The copy is
  /// skipped if it would exceed ``maximumCopyBytes`` or the free space. If `check` is nil, only Lifeboat's own reader
  /// examines the store.
  public var check: (@Sendable (URL) throws -> Void)?
  /// The maximum size, in bytes, of a store set that is copied in full; 0 means that no store set is copied in full.
  public var maximumCopyBytes: Int64 = 512 * 1024 * 1024
  /// Called when one build of the app meets the same failure for the second time. Returns whether the store may be set
  /// aside again. When the failure occurs a third time, the store is not moved.
  public var allowsRepetition: @Sendable (RepeatedFailure) -> Bool = { _ in true }
  /// Whether to open a store whose log has a damaged header, although SQLite then drops the newest rows. The store, or
  /// only the log of a large store, is copied first to preserve these rows. If false, the store is not opened.
  public var keepsDamagedLogs = true
  /// Whether two small hidden files beside the store `X` are updated after each healthy open. `.X.lifeboat` records the
  /// state of the main file and its log. The name of `.X.opened-by-…` contains the version of the app that opened the
  /// store. From these files, a later launch can see that the log was deleted or replaced, or that a newer version of
  /// the app has opened the store.
  public var recordsHealthyOpens = true
  /// The maximum number of bytes that one launch reads to continue an unfinished seal. A seal holds a hash of each file
  /// in a quarantine. A seal is unfinished if the launch that set the store aside ended before all files were read. At
  /// least one file, or 32 MiB of a large file, is read even if that exceeds the maximum.
  public var sealBytesPerLaunch: Int64 {
    get { sealPace.bytesPerLaunch }
    set { sealPace.bytesPerLaunch = max(0, newValue) }
  }
  package var sealPace = SealPace()
  /// The limits for removing old incidents after the store has opened; nil to remove none. See
  /// ``Incidents/prune(_:storeName:dryRun:)``, which never removes the only copy of data.
  public var retention: Retention?
  /// Whether a store that a newer build of the app wrote may be set aside. If false, the open fails, and the app should
  /// ask for an update.
  public var setsAsideNewerStores = false
  /// Whether a store may be set aside only because its version hashes differ from those of the model. If false, the
  /// error must also name the model as the cause.
  ///
  /// The default is true only on systems without Core Data. With Core Data, a store that waits for its migration has
  /// different hashes too.
  public var setsAsideOnMismatchAlone = Self.migratesNothing
  /// Whether a store may be set aside because its migration failed, or because no mapping model fits or can be inferred
  /// (Core Data errors 134110, 134140, 134190).
  public var setsAsideFailedMigrations = true
  /// Whether a store may be set aside when the app's own migration step fails or breaks a constraint (Core Data errors
  /// 134170, 134111).
  public var setsAsideMappingFaults = false
  /// Whether a store may be set aside when only an index, a virtual table or `sqlite_sequence` is damaged (SQLite's
  /// extended result codes 267, 523, 779). A repair on a copy could fix such damage.
  public var setsAsideRepairable = false
  /// Returns SQLite's extended result code for an error of the host's own type; nil for any other error. Called for the
  /// error that `opener` threw, and for each of its underlying errors.
  public var sqliteCode: (@Sendable (any Error) -> Int32?)?
  /// Returns the meaning of an error of the host's own type; nil for any other error. If an error code reports a
  /// problem of the environment, such as a lock, low disk space, a missing permission or a failing device, that problem
  /// takes precedence over the meaning.
  public var meaning: (@Sendable (any Error) -> FailureMeaning?)?
  /// Returns what the host knows about its own state. Called after `opener` has failed.
  public var hostState: (@Sendable () -> HostState)?
  /// Called with each event of the recovery, for the host's log.
  public var report: (@Sendable (RecoveryEvent) -> Void)?
  /// The words of the note `incident.txt`. The default is Lifeboat's own words in the user's current language.
  public var texts: IncidentTexts {
    get { ownTexts ?? IncidentTexts() }
    set { ownTexts = newValue }
  }
  var needsRoomForMigration = false
  // nil unless the host has set `texts`. The default texts are made only on use, because looking up the language and
  // the time zone would take a third of the time of a launch.
  private var ownTexts: IncidentTexts?

  /// Creates the default policy.
  public init() {}

  /// The number of bytes that must be free before a store is set aside. `sizes` are the sizes of the store's members.
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
  /// The verdict on the failure that has just occurred.
  public let verdict: Verdict
  /// The ids of the latest earlier incidents in which this failure caused the store to be set aside, the newest last.
  public let incidents: [Incident.ID]
}
