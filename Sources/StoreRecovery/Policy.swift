/// What the host decides about recovery. The defaults suit an app with one process.
public struct Policy: Sendable {
  /// Bytes that must be free before a store is set aside, so that the fresh one can be written.
  public var minimumFreeBytes: Int64 = 4 * 1024 * 1024
  /// How often one build of the app may set a store aside. A fault that strikes each fresh store would else
  /// fill the disk with them.
  public var maximumQuarantines = 5
  /// How long an open may wait for another process that moves the store, or that has it open while it is to be
  /// moved, in seconds, 0 to 60. Nobody waits on a normal launch.
  public var maximumWaitSeconds = Self.usualWaitSeconds
  /// Whether the opener must fail twice before the store is set aside.
  public var triesTwice = true
  /// Whether a store that a newer build of the app wrote may be set aside. Without it the open fails, and
  /// the app should ask for an update.
  public var setsAsideNewerStores = false
  /// Whether a store whose version hashes differ from the model's may be set aside when the error itself does not
  /// say that the model is why. A store that only waits for its migration differs too, so where Core Data
  /// migrates, the error has to speak; elsewhere nothing migrates on opening, and the difference is enough.
  public var setsAsideOnMismatchAlone = Self.migratesNothing
  /// Whether a store may be set aside because no mapping model fits, or because its rows break a rule of
  /// the new model (134140, 134190, 134110).
  public var setsAsideFailedMigrations = true
  /// Whether a store may be set aside because of a fault in the app's own mapping (134170, 134111).
  public var setsAsideMappingFaults = false
  /// Whether a store may be set aside when only an index or a virtual table is damaged, which a repair on a
  /// copy could mend (267, 523, 779).
  public var setsAsideRepairable = false
  /// SQLite's extended result code of an error of the host's own type; nil for any other error. Called for
  /// the opener's error and for those it contains.
  public var sqliteCode: (@Sendable (any Error) -> Int32?)?
  /// What the host knows about the moment. Asked after the opener has failed.
  public var hostState: (@Sendable () -> HostState)?
  /// Called with each step of the recovery, for the host's log.
  public var report: (@Sendable (RecoveryEvent) -> Void)?
  /// The words of `incident.txt`.
  public var texts = IncidentTexts()

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

/// A step of the recovery, for the host's log.
public enum RecoveryEvent: Sendable {
  /// A move that an earlier run began was finished, or undone.
  case resumed(incident: String, finished: Bool)
  /// The opener failed, and this is what the evidence says.
  case judged(Verdict)
  /// The store was set aside.
  case setAside(Incident)
  /// The store could not be set aside, and the opener's own error is thrown.
  case setAsideFailed(any Error)
  /// The fresh store could not be opened, and the set went back.
  case putBack(incident: String, any Error)
}
