/// Why a returned store is not made, or not taken in. When this error is thrown, nothing was changed.
public struct StoreReturnError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier, the same in messages, JSON and the manual.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as it is printed, such as `return.damaged`.
    public let rawValue: String
    /// Makes a code of an identifier. An unknown identifier is kept.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The file is not a returned store, or its bytes were changed.
    public static let damaged = Code(rawValue: "return.damaged")
    /// The store was repaired for another incident.
    public static let otherIncident = Code(rawValue: "return.otherIncident")
    /// The store does not fit the app's model, or is damaged itself.
    public static let unfit = Code(rawValue: "return.unfit")
    /// The store to send back cannot be read or has too many files, or one of its files is not an ordinary file.
    public static let unreadable = Code(rawValue: "return.unreadable")
    /// A file cannot be written, or the name of the archive is taken.
    public static let cannotCreate = Code(rawValue: "return.cannotCreate")
  }

  /// The code that says what kind of failure this is.
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

  /// Message, path and code in one line, for a log.
  public var description: String { "\(message), \(path) (\(code.rawValue))" }
}
