/// The scanner behind ``HardenedXML``, which makes one pass over the bytes, without recursion. Each byte is read a
/// bounded number of times. The cited clauses are those of XML 1.0, fifth edition.
package struct XMLScanner {
  package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private enum Token {
    static let instruction = Array("<?".utf8)
    static let instructionEnd = Array("?>".utf8)
    static let comment = Array("<!--".utf8)
    static let commentEnd = Array("-->".utf8)
    static let cdata = Array("<![CDATA[".utf8)
    static let cdataEnd = Array("]]>".utf8)
    static let documentType = Array("<!DOCTYPE".utf8)
    static let declaration = Array("<!".utf8)
    static let endTag = Array("</".utf8)
    static let close = Array(">".utf8)
    static let emptyClose = Array("/>".utf8)
    static let equals = Array("=".utf8)
    static let xmlDeclaration = Array("<?xml ".utf8)
    static let nameStops = Array("/>=<\"'&".utf8)
  }

  /// The position in the XML of an `<entity>` element directly below the root element. ``start``, ``tagEnd`` and
  /// ``end`` are byte offsets. ``firstEvent`` and ``lastEvent`` are indexes of events.
  package struct Place {
    package let start: Int
    /// The offset of the first byte after the element's start tag.
    package let tagEnd: Int
    package fileprivate(set) var end = 0
    package let firstEvent: Int
    package fileprivate(set) var lastEvent = 0
  }

  private let bytes: [UInt8]
  private let known: KnownEntities?
  private var index = 0
  private var events: [HardenedXML.Event] = []
  /// The number of events of the document that ``events`` lacks. An `<entity>` element that ``known`` contains is a
  /// single event there. For example, such an element with 5 events adds 4 to this number.
  private var knownEventCount = 0
  /// The positions of the `<entity>` elements in the scanned text. They are recorded only if the scanner was given
  /// known entities.
  private(set) var entities: [Place] = []
  /// The names of the elements whose end tag was not reached yet.
  private var open: [String] = []
  private var hasRoot = false
  /// The line number at the offset `lineIndex`, counted from 1. ``currentLine()`` moves `lineIndex` forward and counts
  /// the lines.
  private var line = 1
  private var lineIndex = 0

  package init(bytes: [UInt8], known: KnownEntities? = nil) {
    self.bytes = bytes
    self.known = known
    if bytes.starts(with: Self.byteOrderMark) { index = Self.byteOrderMark.count }
  }

  package mutating func scan() throws(PropertyListError) -> [HardenedXML.Event] {
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "<") {
        try scanMarkup()
      } else {
        try scanText()
      }
      guard events.count + knownEventCount <= HardenedXML.maximumEventCount else {
        throw error(.tooLarge, "The XML has too many elements for a model.")
      }
    }
    guard open.isEmpty, hasRoot else {
      throw error(.malformed, "The XML ends too early, as a truncated file does.")
    }
    return events
  }

  package static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  // MARK: Markup

  private mutating func scanMarkup() throws(PropertyListError) {
    if starts(with: Token.instruction) {
      let start = index
      try skip(past: Token.instructionEnd)
      if bytes[start..<index].starts(with: Token.xmlDeclaration) {
        try checkEncoding(bytes[start..<index])
      }
    } else if starts(with: Token.comment) {
      index += 4
      try skip(past: Token.commentEnd)
    } else if starts(with: Token.cdata) {
      guard !open.isEmpty else { throw error(.malformed, "Text is outside the root element.") }
      let start = index + 9
      index = start
      try skip(past: Token.cdataEnd)
      events.append(.text(try string(bytes[start..<index - 3])))
    } else if starts(with: Token.documentType) {
      try skipDocumentType()
    } else if starts(with: Token.declaration) {
      throw error(
        .unsafeXML,
        "The XML has a markup declaration (<!…) in its content; such files are not read.")
    } else if starts(with: Token.endTag) {
      try scanEndTag()
    } else {
      try scanStartTag()
    }
  }

  /// Refuses every encoding except UTF-8 and ASCII (clause 4.3.3).
  private func checkEncoding(_ declaration: ArraySlice<UInt8>) throws(PropertyListError) {
    let separators = Array(" =\"'?<>\t\r\n".utf8)
    let words = declaration.split { separators.contains($0) }
      .map { String(decoding: $0, as: UTF8.self).lowercased() }
    guard let place = words.firstIndex(where: { $0 == "encoding" }), place + 1 < words.count else {
      return
    }
    guard ["utf-8", "utf8", "us-ascii", "ascii"].contains(words[place + 1]) else {
      throw error(.unsafeXML, "The encoding of the XML is not UTF-8.")
    }
  }

  /// Skips a document type declaration. The file that the declaration may name is not read. A declaration with an
  /// internal subset (clause 2.8) is refused.
  private mutating func skipDocumentType() throws(PropertyListError) {
    guard !hasRoot else {
      throw error(.malformed, "A document type declaration is inside the root element.")
    }
    var quote: UInt8?
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "["), quote == nil {
        throw error(.unsafeXML, "The XML declares entities of its own; such files are not read.")
      }
      index += 1
      if let mark = quote {
        if byte == mark { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: ">") {
        return
      }
    }
    throw error(.malformed, "The XML ends too early, as a truncated file does.")
  }

  private mutating func scanEndTag() throws(PropertyListError) {
    index += 2
    let name = try scanName()
    skipBlanks()
    guard take(Token.close), open.popLast() == name else {
      throw error(.malformed, "The end tag </\(name)> does not match the open tag.")
    }
    events.append(.end)
    if open.count == 1, !entities.isEmpty, entities[entities.count - 1].end == 0 {
      entities[entities.count - 1].end = index
      entities[entities.count - 1].lastEvent = events.count - 1
    }
  }

  /// Skips an `<entity>` element with the same bytes as one that was read before. Returns false if no such element
  /// starts at the current position.
  private mutating func skipKnown() -> Bool {
    guard let known, open.count == 1, starts(with: KnownEntities.opening),
      let element = known.element(at: index, of: bytes)
    else { return false }
    index += element.tagLength
    events.append(.known(element, line: currentLine()))
    knownEventCount += element.eventCount - 1
    index += element.bytes.count - element.tagLength
    return true
  }

  private mutating func scanStartTag() throws(PropertyListError) {
    guard !(hasRoot && open.isEmpty) else {
      throw error(.malformed, "There is more than one element at the top of the XML.")
    }
    if skipKnown() { return }
    let start = index
    index += 1
    let name = try scanName()
    var attributes: [String: String] = [:]
    while true {
      let hadBlank = skipBlanks()
      if take(Token.emptyClose) {
        events.append(.start(name: name, attributes: attributes, line: currentLine()))
        events.append(.end)
        break
      }
      if take(Token.close) {
        open.append(name)
        guard open.count <= HardenedXML.maximumDepth else {
          let limit = HardenedXML.maximumDepth
          throw error(.tooDeep, "The XML is nested deeper than \(limit) levels.")
        }
        if known != nil, open.count == 2, name == "entity" {
          entities.append(Place(start: start, tagEnd: index, firstEvent: events.count))
        }
        events.append(.start(name: name, attributes: attributes, line: currentLine()))
        break
      }
      guard hadBlank else { throw error(.malformed, "The tag <\(name)> is damaged.") }
      let key = try scanName()
      skipBlanks()
      guard take(Token.equals) else {
        throw error(.malformed, "The attribute \(key) has no value.")
      }
      skipBlanks()
      let value = try scanAttributeValue()
      guard attributes.count < HardenedXML.maximumAttributeCount else {
        throw error(.tooLarge, "The element <\(name)> has too many attributes for a model.")
      }
      guard attributes.updateValue(value, forKey: key) == nil else {
        throw error(.malformed, "The attribute \(key) occurs twice in <\(name)>.")
      }
    }
    hasRoot = true
  }

  private mutating func scanName() throws(PropertyListError) -> String {
    let start = index
    while index < bytes.count, bytes[index] > 0x20, !Token.nameStops.contains(bytes[index]) {
      index += 1
    }
    guard index > start else { throw error(.malformed, "A name is missing in the XML.") }
    return try string(bytes[start..<index])
  }

  private mutating func scanAttributeValue() throws(PropertyListError) -> String {
    guard index < bytes.count,
      bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'")
    else { throw error(.malformed, "An attribute value has no quotation marks.") }
    let quote = bytes[index]
    let start = index + 1
    guard let end = bytes[start...].firstIndex(of: quote) else {
      throw error(.malformed, "The XML ends too early, as a truncated file does.")
    }
    if let tag = bytes[start..<end].firstIndex(of: UInt8(ascii: "<")) {
      index = tag
      throw error(.malformed, "An attribute value in the XML contains a <.")
    }
    let value = try resolved(start..<end, isAttribute: true)
    index = end + 1
    return value
  }

  // MARK: Text

  private mutating func scanText() throws(PropertyListError) {
    let end = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
    if open.isEmpty {
      guard bytes[index..<end].allSatisfy(Self.isBlank) else {
        throw error(.malformed, "Text is outside the root element.")
      }
    } else {
      events.append(.text(try resolved(index..<end, isAttribute: false)))
    }
    index = end
  }

  /// Returns the text in a range of the bytes, with references replaced and line ends normalised (clauses 2.11, 3.3.3,
  /// 4.1).
  private func resolved(
    _ range: Range<Int>, isAttribute: Bool
  ) throws(PropertyListError) -> String {
    let raw = bytes[range]
    let isPlain = raw.allSatisfy {
      $0 != UInt8(ascii: "&") && $0 != 0x0D && !(isAttribute && ($0 == 0x09 || $0 == 0x0A))
    }
    if isPlain { return try string(raw) }
    var output: [UInt8] = []
    output.reserveCapacity(raw.count)
    var place = range.lowerBound
    while place < range.upperBound {
      let byte = bytes[place]
      place += 1
      switch byte {
      case UInt8(ascii: "&"):
        // The longest valid reference is &#1114111;
        let limit = min(range.upperBound, place + 12)
        guard let end = bytes[place..<limit].firstIndex(of: UInt8(ascii: ";")),
          let scalar = Self.scalar(String(decoding: bytes[place..<end], as: UTF8.self))
        else { throw error(.malformed, "The text has an invalid character or entity reference.") }
        output += Array(String(Character(scalar)).utf8)
        place = end + 1
      case 0x0D:
        if place < range.upperBound, bytes[place] == 0x0A { place += 1 }
        output.append(isAttribute ? 0x20 : 0x0A)
      case 0x09, 0x0A: output.append(isAttribute ? 0x20 : byte)
      default: output.append(byte)
      }
    }
    return try string(output[...])
  }

  private static func scalar(_ reference: String) -> Unicode.Scalar? {
    switch reference {
    case "lt": return "<"
    case "gt": return ">"
    case "amp": return "&"
    case "quot": return "\""
    case "apos": return "'"
    default: break
    }
    guard reference.utf8.first == UInt8(ascii: "#") else { return nil }
    var digits = reference.utf8.dropFirst()
    let radix: UInt32 = digits.first == UInt8(ascii: "x") ? 16 : 10
    if radix == 16 { digits = digits.dropFirst() }
    var value: UInt32 = 0
    for byte in digits {
      // A sign is not allowed (clause 4.1). A reference has at most twelve bytes, so the value cannot overflow.
      guard let digit = Hex.digit(byte), digit < radix else { return nil }
      value = value &* radix &+ digit
      if value > 0x10FFFF { return nil }
    }
    return value > 0 ? Unicode.Scalar(value) : nil
  }

  /// Decodes bytes as text. Throws if the bytes are not UTF-8 or contain NUL.
  private func string(_ slice: ArraySlice<UInt8>) throws(PropertyListError) -> String {
    let text = String(decoding: slice, as: UTF8.self)
    let isASCII = slice.allSatisfy { $0 < 0x80 && $0 != 0 }
    guard isASCII || (text.utf8.elementsEqual(slice) && !slice.contains(0)) else {
      throw error(.malformed, "The XML is not in UTF-8.")
    }
    return text
  }

  // MARK: Bytes

  private func starts(with token: [UInt8]) -> Bool {
    bytes[index...].starts(with: token)
  }

  private mutating func take(_ token: [UInt8]) -> Bool {
    guard starts(with: token) else { return false }
    index += token.count
    return true
  }

  @discardableResult
  private mutating func skipBlanks() -> Bool {
    let start = index
    while index < bytes.count, Self.isBlank(bytes[index]) { index += 1 }
    return index > start
  }

  private mutating func skip(past token: [UInt8]) throws(PropertyListError) {
    guard let last = token.last else { return }
    var place = index
    while let end = bytes[place...].firstIndex(of: last) {
      place = end + 1
      if place - index >= token.count, bytes[..<place].suffix(token.count).elementsEqual(token) {
        index = place
        return
      }
    }
    throw error(.malformed, "The XML ends too early, as a truncated file does.")
  }

  private mutating func currentLine() -> Int {
    line += bytes[lineIndex..<index].count { $0 == 0x0A }
    lineIndex = index
    return line
  }

  private func error(_ code: PropertyListError.Code, _ message: String) -> PropertyListError {
    let more = bytes[lineIndex..<max(lineIndex, index)].count { $0 == 0x0A }
    return PropertyListError(code: code, message: message, offset: index, line: line + more)
  }
}
