/// Why a file could not be read as an SQLite database.
///
/// Damage inside a database is not an error but a ``Finding``, and reading continues past it.
public struct SQLiteFileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A stable identifier, the same in messages, JSON and the manual.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The identifier as it is printed, such as `file.missing`.
    public let rawValue: String

    /// Creates a code from its printed identifier. Any text is accepted, for the codes of other versions.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing is at the path.
    public static let missing = Code(rawValue: "file.missing")
    /// The path leads to a folder, a device, a pipe or a symbolic link.
    public static let notRegular = Code(rawValue: "file.notRegular")
    /// The system refuses to open the file.
    public static let permission = Code(rawValue: "file.permission")
    /// The device failed while reading.
    public static let io = Code(rawValue: "file.io")
    /// The file has no bytes.
    public static let empty = Code(rawValue: "file.empty")
    /// The file does not start like a database.
    public static let notADatabase = Code(rawValue: "file.notADatabase")
    /// The file does not start like a database, and its bytes look random, like encrypted ones.
    public static let looksEncrypted = Code(rawValue: "file.looksEncrypted")
    /// The file has a database header, but one of its fields has an impossible value.
    public static let badHeader = Code(rawValue: "file.badHeader")
    /// The file is a write-ahead log, named instead of its database.
    public static let isLog = Code(rawValue: "file.isLog")
    /// The file is a rollback journal, named instead of its database.
    public static let isJournal = Code(rawValue: "file.isJournal")
    /// The output could not be written.
    public static let output = Code(rawValue: "output.io")
    /// The program that reads the output, such as `head`, has closed its end of the pipe.
    public static let outputClosed = Code(rawValue: "output.closed")
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, in a sentence without a full stop.
  public let message: String
  /// The path of the file; nil when no path is known.
  public let path: String?
  /// Offset of the failure in the file, in bytes; nil when the failure concerns the whole file.
  public let offset: Int64?
  /// The system's error number; nil when the system reported none.
  public let systemError: Int32?

  /// Creates an error. Facts that are not known are nil.
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

  /// One line for logs: message, path, offset and code.
  public var description: String {
    var text = message
    if let path { text += ", \(path)" }
    if let offset { text += ", offset \(offset)" }
    return text + " (\(code.rawValue))"
  }
}
