/// A flat, bounded list of the events of an XML document.
///
/// The reader knows what models and property lists use: elements, attributes, text, comments, character references and
/// the five predefined entities, in UTF-8. It refuses documents that declare entities or have an internal subset. No
/// model needs them, but attacks by expansion or by reading other files do. Foundation's `XMLParser` is not used,
/// because on Linux (Swift 6.3.1) it traps on some damaged start tags.
package struct HardenedXML {
  package enum Event {
    case start(name: String, attributes: [String: String], line: Int)
    case end
    case text(String)
    /// An `<entity>` of an `.xcdatamodel` that was read before. This one event replaces all events of the element.
    indirect case known(KnownEntities.Element, line: Int)
  }

  /// The maximum number of bytes that are read: 32 MiB. This limit and the next three, on events, levels and attributes
  /// of one element, are far above any real model.
  package static let maximumByteCount = 32 << 20
  package static let maximumEventCount = 1 << 20
  package static let maximumDepth = 100
  package static let maximumAttributeCount = 256

  package let events: [Event]
  /// The places of those `<entity>` elements of an `.xcdatamodel` that were not read before.
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

  /// Whether the first byte after a byte order mark and blanks is `<`.
  package static func looksLikeXML(_ bytes: [UInt8]) -> Bool {
    let body = bytes.starts(with: XMLScanner.byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
    return body.first { !XMLScanner.isBlank($0) } == UInt8(ascii: "<")
  }
}
