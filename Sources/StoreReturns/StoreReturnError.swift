/// An error that is thrown when a returned store cannot be packed or put into use. The error leaves everything
/// unchanged, with one exception: a move that an earlier call began may be finished.
public struct StoreReturnError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier, which messages, JSON and the manual contain unchanged.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as a string, for example `return.damaged`.
    public let rawValue: String
    /// Makes a code from an identifier. Unknown identifiers are allowed.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The file is not a returned store, or its bytes were changed.
    public static let damaged = Code(rawValue: "return.damaged")
    /// The store was repaired for another incident.
    public static let otherIncident = Code(rawValue: "return.otherIncident")
    /// The returned store does not fit the app's model, or is damaged.
    public static let unfit = Code(rawValue: "return.unfit")
    /// The repaired store cannot be packed: it cannot be read, has too many files, or has a file that is not an
    /// ordinary file.
    public static let unreadable = Code(rawValue: "return.unreadable")
    /// A file cannot be written, or a file already exists at the path of the archive.
    public static let cannotCreate = Code(rawValue: "return.cannotCreate")
    /// An earlier call has already put the returned store into use.
    package static let alreadyAccepted = Code(rawValue: "return.alreadyAccepted")
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong, in a sentence without a full stop.
  public let message: String
  /// The path of the file that could not be read, written or accepted.
  public let path: String
  /// The system's error number; nil when no system call failed.
  public let errno: Int32?

  init(_ code: Code, _ message: String, path: String, errno: Int32? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.errno = errno
  }

  /// The message, the path and the code in one line, for logs.
  public var description: String { "\(message), \(path) (\(code.rawValue))" }
}
