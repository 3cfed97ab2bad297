/// Why a returned store is not made, or not taken in. Nothing was changed then.
public struct StoreReturnError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier, the same in messages, JSON and the manual.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as it is printed, such as `return.damaged`.
    public let rawValue: String
    /// A code with this identifier; an unknown one is kept.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The file is no returned store, or not a byte of it may have changed.
    public static let damaged = Code(rawValue: "return.damaged")
    /// The store was repaired for another incident.
    public static let otherIncident = Code(rawValue: "return.otherIncident")
    /// The store does not fit the app's model, or is damaged itself.
    public static let unfit = Code(rawValue: "return.unfit")
    /// The store to send back cannot be read, or a file of it is no ordinary file.
    public static let unreadable = Code(rawValue: "return.unreadable")
    /// The file cannot be written, or its name is taken.
    public static let cannotCreate = Code(rawValue: "return.cannotCreate")
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong, in a sentence without a full stop.
  public let message: String
  /// The file concerned.
  public let path: String
  /// The system's error number; nil when no system call failed.
  public let errno: Int32?

  init(_ code: Code, _ message: String, path: String, errno: Int32? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.errno = errno
  }

  /// One line for a log.
  public var description: String { "\(message), \(path) (\(code.rawValue))" }
}
