/// The result of an attempt to open a store.
public enum Outcome<Handle> {
  /// The store is open: the earlier one, or a fresh one.
  case opened(Opened<Handle>)
  /// No store is open. The files are as they were, or are kept for the next open to continue.
  case failed(FailedOpen)

  /// The open store.
  ///
  /// - Throws: ``FailedOpen/error`` when no store is open.
  public func get() throws -> Opened<Handle> {
    switch self {
    case .opened(let opened): return opened
    case .failed(let failed): throw failed.error
    }
  }
}

extension Outcome: Sendable where Handle: Sendable {}

/// A store that is open.
public struct Opened<Handle> {
  /// What the opener returned.
  public let handle: Handle
  /// The incident of the earlier store, which says what happened to it; nil on a normal launch. Tell the user.
  public let incident: Incident?
  /// Committed rows that SQLite silently left out, for example because the log was deleted. What is left of the log, or
  /// the record of the last healthy open, proves the loss. nil when nothing proves one, which does not exclude one.
  public let loss: SilentLoss?

  init(handle: Handle, incident: Incident?, loss: SilentLoss? = nil) {
    self.handle = handle
    self.incident = incident
    self.loss = loss
  }
}

extension Opened: Sendable where Handle: Sendable {}

/// Why no store is open, and what the host can do. The store is where it was, or is kept for the next open.
public struct FailedOpen: Sendable {
  /// What the opener threw first, untouched; a ``StoreRecoveryError`` when the opener did not run.
  public let error: any Error
  /// What the evidence says, and what to do: retry later, wait for a condition, show the failure, or go on
  /// without a store (``Action/openInMemory``).
  public let verdict: Verdict
  /// The evidence; nil when there is none, for example because a move is unfinished or a container could not be made.
  public let evidence: StoreEvidence?
}
