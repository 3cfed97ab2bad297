import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// A flat, bounded list of the events of an XML document.
///
/// Documents that declare entities or an internal subset are refused before any parser sees them:
/// no model and no property list needs them, and attacks by expansion or by reading other files do.
struct HardenedXML {
  enum Event {
    case start(name: String, attributes: [String: String], line: Int)
    case end
    case text(String)
  }

  /// Limits, far above any real model: 32 MiB, a million events, 100 levels.
  static let maximumByteCount = 32 << 20
  static let maximumEventCount = 1 << 20
  static let maximumDepth = 100

  let events: [Event]

  init(_ bytes: [UInt8]) throws(PropertyListError) {
    guard bytes.count <= Self.maximumByteCount else {
      throw PropertyListError(
        code: .tooLarge, message: "The XML has \(bytes.count) bytes; 32 MiB is the most.")
    }
    try Self.refuseDangers(bytes)
    let collector = Collector()
    let parser = XMLParser(data: Data(bytes))
    parser.shouldResolveExternalEntities = false
    parser.delegate = collector
    let isComplete = parser.parse()
    if let problem = collector.problem { throw problem }
    guard isComplete, collector.depth == 0, !collector.events.isEmpty else {
      throw PropertyListError(
        code: .malformed, message: "The XML is not well-formed, as in a truncated file.",
        line: parser.lineNumber > 0 ? parser.lineNumber : nil)
    }
    events = collector.events
  }

  /// Whether the first bytes, after a byte order mark and blanks, open a tag.
  static func looksLikeXML(_ bytes: [UInt8]) -> Bool {
    let body = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    return body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<")
  }

  /// Only UTF-8 is let through, so that the search for declarations sees what the parser sees.
  private static func refuseDangers(_ bytes: [UInt8]) throws(PropertyListError) {
    guard looksLikeXML(bytes), !bytes.contains(0) else {
      throw PropertyListError(
        code: .notAPropertyList, message: "This is no XML in UTF-8.", offset: 0)
    }
    let head = String(decoding: bytes.prefix(512), as: UTF8.self)
    if let declaration = head.range(of: "encoding") {
      let value = head[declaration.upperBound...].prefix { $0 != "?" && $0 != ">" }.lowercased()
      guard value.contains("utf-8") || value.contains("utf8") || value.contains("us-ascii") else {
        // The word may also stand in the document itself, behind the declaration.
        guard !isInXMLDeclaration(head, declaration.lowerBound) else {
          throw PropertyListError(
            code: .unsafeXML, message: "The XML is in another encoding than UTF-8.", offset: 0)
        }
        return try refuseDeclarations(bytes)
      }
    }
    try refuseDeclarations(bytes)
  }

  private static func isInXMLDeclaration(_ head: String, _ place: String.Index) -> Bool {
    guard let end = head.range(of: "?>") else { return true }
    return place < end.lowerBound
  }

  private static func refuseDeclarations(_ bytes: [UInt8]) throws(PropertyListError) {
    let opening = UInt8(ascii: "<")
    let entity = Array("<!ENTITY".utf8)
    let doctype = Array("<!DOCTYPE".utf8)
    var index = bytes.startIndex
    while let place = bytes[index...].firstIndex(of: opening) {
      index = place + 1
      guard index < bytes.count, bytes[index] == UInt8(ascii: "!") else { continue }
      let rest = bytes[place...]
      var isUnsafe = rest.starts(with: entity)
      if rest.starts(with: doctype) {
        let end = rest.firstIndex(of: UInt8(ascii: ">")) ?? bytes.endIndex
        isUnsafe = bytes[place..<end].contains(UInt8(ascii: "["))
      }
      if isUnsafe {
        throw PropertyListError(
          code: .unsafeXML,
          message: "The XML declares entities of its own; such files are not read.",
          offset: place)
      }
    }
  }
}

/// Collects the events and stops the parser at the limits.
private final class Collector: NSObject, XMLParserDelegate {
  var events: [HardenedXML.Event] = []
  var depth = 0
  var problem: PropertyListError?
  private var text = ""

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?, attributes attributeDict: [String: String] = [:]
  ) {
    guard problem == nil else { return }
    flush()
    depth += 1
    let line = parser.lineNumber
    guard depth <= HardenedXML.maximumDepth else {
      let limit = HardenedXML.maximumDepth
      return stop(parser, .tooDeep, "The XML is nested deeper than \(limit) levels.")
    }
    guard events.count < HardenedXML.maximumEventCount else {
      return stop(parser, .tooLarge, "The XML has too many elements for a model.")
    }
    events.append(.start(name: elementName, attributes: attributeDict, line: line))
  }

  func parser(
    _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?
  ) {
    guard problem == nil else { return }
    flush()
    depth -= 1
    events.append(.end)
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    guard problem == nil else { return }
    text += string
  }

  func parser(_ parser: XMLParser, foundCDATA CDATABlock: Data) {
    guard problem == nil else { return }
    text += String(decoding: CDATABlock, as: UTF8.self)
  }

  private func flush() {
    guard !text.isEmpty else { return }
    events.append(.text(text))
    text = ""
  }

  private func stop(_ parser: XMLParser, _ code: PropertyListError.Code, _ message: String) {
    problem = PropertyListError(code: code, message: message, line: parser.lineNumber)
    events = []
    parser.abortParsing()
  }
}
