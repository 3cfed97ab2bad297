/// Why a property list could not be read.
public struct PropertyListError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `plist.truncated`; more may be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The stable text of the code.
    public let rawValue: String

    /// Makes a code from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes are neither a binary nor an XML property list.
    public static let notAPropertyList = Code(rawValue: "plist.notAPropertyList")
    /// The bytes end before the structure they announce.
    public static let truncated = Code(rawValue: "plist.truncated")
    /// A marker, a reference or an element that the format does not allow there.
    public static let malformed = Code(rawValue: "plist.malformed")
    /// A collection holds itself.
    public static let cyclic = Code(rawValue: "plist.cyclic")
    /// Collections are nested deeper than ``PropertyList/maximumDepth``.
    public static let tooDeep = Code(rawValue: "plist.tooDeep")
    /// More values than ``PropertyList/maximumCount``, or more bytes than allowed.
    public static let tooLarge = Code(rawValue: "plist.tooLarge")
    /// The XML declares entities of its own.
    public static let unsafeXML = Code(rawValue: "plist.unsafeXML")
    /// A keyed archive without the parts every keyed archive has.
    public static let notAnArchive = Code(rawValue: "plist.notAnArchive")
  }

  /// What went wrong.
  public let code: Code
  /// One sentence for a reader.
  public let message: String
  /// Where in the bytes, counted from 0, when known.
  public let offset: Int?
  /// Which line of the XML, counted from 1, when known.
  public let line: Int?

  /// Makes an error.
  public init(code: Code, message: String, offset: Int? = nil, line: Int? = nil) {
    self.code = code
    self.message = message
    self.offset = offset
    self.line = line
  }
}

extension PropertyListError: CustomStringConvertible {
  /// The message, where, and the code in one line.
  public var description: String {
    let place = offset.map { " at offset \($0)" } ?? line.map { " at line \($0)" } ?? ""
    return message + place + " [\(code.rawValue)]"
  }
}
