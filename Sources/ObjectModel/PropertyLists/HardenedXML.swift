/// A flat, bounded list of the events of an XML document.
///
/// It reads what models and property lists consist of: elements, attributes, text, comments,
/// character references and the five predefined entities, in UTF-8. Documents that declare entities
/// or have an internal subset are refused: nothing read here needs them, and attacks by expansion
/// or by reading other files do. Foundation's `XMLParser` is not used: on Linux
/// (Swift 6.3.1) it traps on some damaged start tags.
package struct HardenedXML {
  package enum Event {
    case start(name: String, attributes: [String: String], line: Int)
    case end
    case text(String)
    /// An element that was read before, in place of its events; only in an `.xcdatamodel`.
    indirect case known(KnownEntities.Element, line: Int)
  }

  /// Limits, far above any real model: 32 MiB, a million events, 100 levels, 256 attributes of one
  /// element.
  package static let maximumByteCount = 32 << 20
  package static let maximumEventCount = 1 << 20
  package static let maximumDepth = 100
  package static let maximumAttributeCount = 256

  package let events: [Event]
  /// The positions of the unknown `<entity>` elements of an `.xcdatamodel`.
  package let entities: [XMLScanner.Place]

  package init(
    _ bytes: [UInt8], knowing known: KnownEntities? = nil
  ) throws(PropertyListError) {
    guard bytes.count <= Self.maximumByteCount else {
      throw PropertyListError(
        code: .tooLarge, message: "The XML has \(bytes.count) bytes; 32 MiB is the most.")
    }
    guard Self.looksLikeXML(bytes) else {
      throw PropertyListError(code: .notAPropertyList, message: "This is not XML.", offset: 0)
    }
    var scanner = XMLScanner(bytes: bytes, known: known)
    events = try scanner.scan()
    entities = scanner.entities
  }

  /// Whether the first bytes, after a byte order mark and blanks, open a tag.
  package static func looksLikeXML(_ bytes: [UInt8]) -> Bool {
    let body = bytes.starts(with: XMLScanner.byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
    return body.first { !XMLScanner.isBlank($0) } == UInt8(ascii: "<")
  }
}
