/// Why a property list could not be read.
package struct PropertyListError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `plist.truncated`; more may be added.
  package struct Code: RawRepresentable, Sendable, Hashable {
    /// The stable text of the code.
    package let rawValue: String

    /// Makes a code from its stable text.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes are neither a binary nor an XML property list.
    package static let notAPropertyList = Code(rawValue: "plist.notAPropertyList")
    /// The bytes end before the structure they announce.
    package static let truncated = Code(rawValue: "plist.truncated")
    /// A marker, a reference or an element that the format does not allow there.
    package static let malformed = Code(rawValue: "plist.malformed")
    /// A collection contains itself.
    package static let cyclic = Code(rawValue: "plist.cyclic")
    /// Collections are nested deeper than ``PropertyList/maximumDepth``.
    package static let tooDeep = Code(rawValue: "plist.tooDeep")
    /// More values than ``PropertyList/maximumCount``, or more bytes than allowed.
    package static let tooLarge = Code(rawValue: "plist.tooLarge")
    /// The XML declares entities of its own.
    package static let unsafeXML = Code(rawValue: "plist.unsafeXML")
    /// A keyed archive without the parts every keyed archive has.
    package static let notAnArchive = Code(rawValue: "plist.notAnArchive")
  }

  /// What went wrong.
  package let code: Code
  /// One sentence for a reader.
  package let message: String
  /// The offset in the bytes, counted from 0, if known.
  package let offset: Int?
  /// The line of the XML, counted from 1, if known.
  package let line: Int?

  /// Makes an error.
  package init(code: Code, message: String, offset: Int? = nil, line: Int? = nil) {
    self.code = code
    self.message = message
    self.offset = offset
    self.line = line
  }
}

extension PropertyListError: CustomStringConvertible {
  /// The message, the position and the code in one line.
  package var description: String {
    let place = offset.map { " at offset \($0)" } ?? line.map { " at line \($0)" } ?? ""
    return message + place + " [\(code.rawValue)]"
  }
}
