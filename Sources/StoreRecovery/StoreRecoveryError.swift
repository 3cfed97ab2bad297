/// An error of the recovery itself. Errors that the host's `opener` throws are never wrapped in this type.
public struct StoreRecoveryError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure; more kinds may be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier of the kind of failure, for example `store.refused`.
    public let rawValue: String
    /// Creates a code from its raw value.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The evidence forbids the operation, for example because opening the store would lose committed rows, or because
    /// the store has changed since it was examined.
    public static let refused = Code(rawValue: "store.refused")
    /// No store exists at the path.
    public static let missing = Code(rawValue: "store.missing")
    /// Another process was moving the store, or had it open, and did not finish in time.
    public static let inUse = Code(rawValue: "store.inUse")
    /// The URL is not a file URL.
    public static let notAFile = Code(rawValue: "store.notAFile")
    /// The store set cannot be moved as it is, for example because something in it is not an ordinary file.
    public static let unmovable = Code(rawValue: "quarantine.unmovable")
    /// The caller cancelled the operation. The store set was not moved, or was moved back.
    public static let cancelled = Code(rawValue: "store.cancelled")
    /// Too little space is free for a fresh store, a copy or a restored store.
    public static let noSpace = Code(rawValue: "quarantine.noSpace")
    /// A file-system call of a move failed. The store set was not moved, or was moved back.
    public static let moveFailed = Code(rawValue: "quarantine.moveFailed")
    /// A move can be neither finished nor undone now. The next open of the store tries again.
    public static let unfinished = Code(rawValue: "quarantine.unfinished")
    /// No incident has the given id, or the folder of the incidents cannot be read.
    public static let noSuchIncident = Code(rawValue: "incident.missing")
    /// The incident's record cannot be read.
    public static let unreadableIncident = Code(rawValue: "incident.unreadable")
    /// The kept files differ from their seal, or cannot be compared with the seal.
    public static let sealBroken = Code(rawValue: "incident.sealBroken")
    /// A file cannot be restored, because another file has its original name. Nothing is overwritten.
    public static let blocked = Code(rawValue: "restore.blocked")
    /// The kept files are not a store: a link or a folder has the name of a file, or the main file is not a database.
    public static let notAStore = Code(rawValue: "restore.notAStore")
    /// The incident's folder no longer holds any kept files.
    public static let nothingKept = Code(rawValue: "restore.nothingKept")
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong, and what to do next.
  public let message: String
  /// The path of the file or folder that caused the error; nil when no file or folder caused it.
  public let path: String?
  /// The system's error number; nil when no system call failed.
  public let errno: Int32?
  /// The error that caused this error; nil when no other error did.
  public let underlying: (any Error)?
  /// Whether the refused restoration would be carried out if `force` were true.
  package let forceHelps: Bool

  init(
    _ code: Code, _ message: String, path: String? = nil, errno: Int32? = nil,
    underlying: (any Error)? = nil, forceHelps: Bool = false
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.errno = errno
    self.underlying = underlying
    self.forceHelps = forceHelps
  }

  /// The error as one line for a log. The line may contain a path.
  public var description: String {
    var line = "\(code.rawValue): \(message)"
    if let path { line += " [\(path)]" }
    if let errno { line += " (errno \(errno))" }
    if let underlying { line += "; because of \(underlying)" }
    return line
  }
}
