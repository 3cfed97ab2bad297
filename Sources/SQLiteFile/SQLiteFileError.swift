/// The reason why a file could not be read as an SQLite database.
///
/// Damage inside a database is not an error. It is reported as a ``Finding``, and reading continues after it.
public struct SQLiteFileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of a failure, as a stable identifier. It is the same in messages, in JSON and in the manual.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The identifier as it is printed, for example `file.missing`.
    public let rawValue: String

    /// Creates a code from its printed identifier. Any string is accepted, because other versions have other codes.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// There is nothing at the path.
    public static let missing = Code(rawValue: "file.missing")
    /// The path leads to a folder, a device, a pipe or a symbolic link.
    public static let notRegular = Code(rawValue: "file.notRegular")
    /// The system refuses to open the file.
    public static let permission = Code(rawValue: "file.permission")
    /// The device failed while reading.
    public static let io = Code(rawValue: "file.io")
    /// The file has no bytes.
    public static let empty = Code(rawValue: "file.empty")
    /// The file does not begin like a database.
    public static let notADatabase = Code(rawValue: "file.notADatabase")
    /// The file does not begin like a database, and its bytes look random, as encrypted bytes do.
    public static let looksEncrypted = Code(rawValue: "file.looksEncrypted")
    /// The file has a database header, but one of its fields has an impossible value.
    public static let badHeader = Code(rawValue: "file.badHeader")
    /// The file is a write-ahead log. Its path was given instead of the path of its database.
    public static let isLog = Code(rawValue: "file.isLog")
    /// The file is a rollback journal. Its path was given instead of the path of its database.
    public static let isJournal = Code(rawValue: "file.isJournal")
    /// Another program has changed the file while it was read.
    package static let changedDuringRead = Code(rawValue: "evidence.changedDuringRead")
    /// The output could not be written.
    public static let output = Code(rawValue: "output.io")
    /// The program that reads the output, for example `head`, has closed its end of the pipe.
    public static let outputClosed = Code(rawValue: "output.closed")
  }

  /// The kind of failure.
  public let code: Code
  /// A description of the failure: a sentence without a full stop.
  public let message: String
  /// The path of the file; nil when no path is known.
  public let path: String?
  /// The offset in the file at which the failure occurred, in bytes; nil when the failure concerns the whole file.
  public let offset: Int64?
  /// The system's error number; nil when the system reported no error.
  public let systemError: Int32?

  package init(
    _ code: Code, _ message: String, path: String? = nil, offset: Int64? = nil,
    systemError: Int32? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.offset = offset
    self.systemError = systemError
  }

  /// The error in one line, for logs: message, path, offset and code.
  public var description: String {
    var text = message
    if let path { text += ", \(path)" }
    if let offset { text += ", offset \(offset)" }
    return text + " (\(code.rawValue))"
  }
}
