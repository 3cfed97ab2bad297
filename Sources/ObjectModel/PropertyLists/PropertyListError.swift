/// The error that is thrown if a property list cannot be read.
package struct PropertyListError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `plist.truncated`. Later versions of this library may add codes.
  package struct Code: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes are neither a binary nor an XML property list.
    package static let notAPropertyList = Code(rawValue: "plist.notAPropertyList")
    /// The bytes end too early: the trailer or the offset table of a binary list is missing or does not fit into the
    /// bytes.
    package static let truncated = Code(rawValue: "plist.truncated")
    /// A marker, a reference or an XML element is in a position where the format does not allow it.
    package static let malformed = Code(rawValue: "plist.malformed")
    /// A collection contains itself.
    package static let cyclic = Code(rawValue: "plist.cyclic")
    package static let tooDeep = Code(rawValue: "plist.tooDeep")
    /// The list exceeds a limit: ``PropertyList/maximumCount``, or the limits for the size in bytes and for the
    /// elements and attributes of XML.
    package static let tooLarge = Code(rawValue: "plist.tooLarge")
    /// The XML declares entities of its own.
    package static let unsafeXML = Code(rawValue: "plist.unsafeXML")
    /// The property list lacks `$objects` or `$top`, which every keyed archive has.
    package static let notAnArchive = Code(rawValue: "plist.notAnArchive")
  }

  package let code: Code
  package let message: String
  /// The offset of the faulty byte, counted from 0; nil if it is not known.
  package let offset: Int?
  /// The line of the fault in XML, counted from 1; nil if it is not known.
  package let line: Int?

  package init(code: Code, message: String, offset: Int? = nil, line: Int? = nil) {
    self.code = code
    self.message = message
    self.offset = offset
    self.line = line
  }
}

extension PropertyListError: CustomStringConvertible {
  package var description: String {
    let place = offset.map { " at offset \($0)" } ?? line.map { " at line \($0)" } ?? ""
    return message + place + " [\(code.rawValue)]"
  }
}
