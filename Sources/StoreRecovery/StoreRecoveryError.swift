/// Why the recovery layer itself stopped. An error of the host's opener is never wrapped in one.
public struct StoreRecoveryError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure; more kinds may come.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// For programs, for example `store.refused`.
    public let rawValue: String
    /// Creates a code from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The evidence forbids what was asked for: opening would lose committed rows, or a store at rest is not
    /// one to set aside.
    public static let refused = Code(rawValue: "store.refused")
    /// Nothing of a store is at the path.
    public static let missing = Code(rawValue: "store.missing")
    /// Another process moves the store, or has it open, and did not end in time.
    public static let inUse = Code(rawValue: "store.inUse")
    /// The URL is not that of a file.
    public static let notAFile = Code(rawValue: "store.notAFile")
    /// The store set cannot be moved as it is.
    public static let unmovable = Code(rawValue: "quarantine.unmovable")
    /// Whoever asked for it called it off; the set is where it was.
    public static let cancelled = Code(rawValue: "store.cancelled")
    /// Too little space is free for a fresh store.
    public static let noSpace = Code(rawValue: "quarantine.noSpace")
    /// A file-system call of a move failed; the set is where it was.
    public static let moveFailed = Code(rawValue: "quarantine.moveFailed")
    /// A move that an earlier run began can be neither finished nor undone now.
    public static let unfinished = Code(rawValue: "quarantine.unfinished")
    /// No incident has this name.
    public static let noSuchIncident = Code(rawValue: "incident.missing")
    /// The incident's record cannot be read.
    public static let unreadableIncident = Code(rawValue: "incident.unreadable")
    /// The files kept differ from their seal.
    public static let sealBroken = Code(rawValue: "incident.sealBroken")
    /// Something stands where a file is to go back, and nothing is overwritten.
    public static let blocked = Code(rawValue: "restore.blocked")
    /// What is kept is no store: a link or a folder stands where a file should, or the main file is no database.
    public static let notAStore = Code(rawValue: "restore.notAStore")
    /// The incident holds no files any more.
    public static let nothingKept = Code(rawValue: "restore.nothingKept")
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong, and what to do next.
  public let message: String
  /// The file or folder at fault; nil when it is none in particular.
  public let path: String?
  /// The system's error number; nil when no system call failed.
  public let errno: Int32?
  /// The error that led to this one; nil when there is none.
  public let underlying: (any Error)?

  init(
    _ code: Code, _ message: String, path: String? = nil, errno: Int32? = nil,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.errno = errno
    self.underlying = underlying
  }

  /// One line for a log.
  public var description: String {
    var line = "\(code.rawValue): \(message)"
    if let path { line += " [\(path)]" }
    if let errno { line += " (errno \(errno))" }
    if let underlying { line += "; because of \(underlying)" }
    return line
  }
}
