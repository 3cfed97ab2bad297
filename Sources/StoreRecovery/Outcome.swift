/// The result of an attempt to open a store.
public enum Outcome<Handle> {
  /// A store is open, either the existing one or a fresh one.
  case opened(Opened<Handle>)
  /// No store is open. The store's files are at their original paths, unless a move is unfinished. Files of an
  /// unfinished move may be in a quarantine; the next open finishes or undoes the move.
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
  /// The value that the host's `opener` returned.
  public let handle: Handle
  /// The record of a store that was set aside or copied; nil on a normal launch. The app should tell the user about the
  /// incident.
  public let incident: Incident?
  /// Committed rows that SQLite silently left out, for example because the log was deleted. ``SilentLoss/witness``
  /// names the source that proves the loss. nil when no loss is proven; rows may be lost even then.
  public let loss: SilentLoss?

  init(handle: Handle, incident: Incident?, loss: SilentLoss? = nil) {
    self.handle = handle
    self.incident = incident
    self.loss = loss
  }
}

extension Opened: Sendable where Handle: Sendable {}

/// Why no store is open, and what the host can do. The store's files are at their original paths, unless a move is
/// unfinished. Files of an unfinished move may be in a quarantine; the next open finishes or undoes the move.
public struct FailedOpen: Sendable {
  /// The first error that `opener` threw, unchanged; a ``StoreRecoveryError`` when `opener` did not run, or when
  /// another process uses the store.
  public let error: any Error
  /// What the evidence says about the store, and what to do: retry later, wait for a condition, show the failure, or go
  /// on without a store (``Action/openInMemory``).
  public let verdict: Verdict
  /// The evidence for the verdict; nil when no store was examined, for example because a move is unfinished.
  public let evidence: StoreEvidence?
}
