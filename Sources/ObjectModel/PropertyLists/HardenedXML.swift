/// The events of an XML document as a flat list of limited length.
///
/// The reader supports what models and property lists use: elements, attributes, text, comments, character references
/// and the five predefined entities, in UTF-8. It refuses documents that declare entities or have an internal subset.
/// No model needs these; attacks use them to expand entities or to read other files. Foundation's `XMLParser` is not
/// used, because on Linux (Swift 6.3.1) it traps on some damaged start tags.
package struct HardenedXML {
  package enum Event {
    case start(name: String, attributes: [String: String], line: Int)
    case end
    case text(String)
    /// An `<entity>` element with the same bytes as an element of a file that was read before. This event stands for
    /// all events of the element.
    indirect case known(KnownEntities.Element, line: Int)
  }

  /// The maximum size in bytes of a document: 32 MiB. The next three constants limit the number of events, the depth
  /// of nested elements, and the number of attributes of one element. No real model comes near these limits.
  package static let maximumByteCount = 32 << 20
  package static let maximumEventCount = 1 << 20
  package static let maximumDepth = 100
  package static let maximumAttributeCount = 256

  package let events: [Event]
  /// The positions of the `<entity>` elements that were parsed because the known entities do not contain them. Empty if
  /// no known entities were given.
  package let entities: [XMLScanner.Place]

  package init(
    _ bytes: [UInt8], knowing known: KnownEntities? = nil
  ) throws(PropertyListError) {
    guard bytes.count <= Self.maximumByteCount else {
      throw PropertyListError(
        code: .tooLarge, message: "The XML has \(bytes.count) bytes; at most 32 MiB are read.")
    }
    guard Self.looksLikeXML(bytes) else {
      throw PropertyListError(code: .notAPropertyList, message: "This is not XML.", offset: 0)
    }
    var scanner = XMLScanner(bytes: bytes, known: known)
    events = try scanner.scan()
    entities = scanner.entities
  }

  /// Whether the bytes begin with `<`, after a byte order mark and blanks, if there are any.
  package static func looksLikeXML(_ bytes: [UInt8]) -> Bool {
    let body = bytes.starts(with: XMLScanner.byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
    return body.first { !XMLScanner.isBlank($0) } == UInt8(ascii: "<")
  }
}
