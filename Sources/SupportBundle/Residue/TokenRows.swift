/// Checks that all values in redacted rows are tokens. Every line is parsed by a strict grammar. A line that does not
/// match the grammar counts as a value that was not redacted. The check shares no code with the writer of the rows,
/// except the rule for names (``NameForm``).
struct TokenRows {
  /// Returns whether an allow-list permits values of attributes with this name to be written without tokens. The entity
  /// of the attribute is not checked.
  let mayShow: (_ attribute: String) -> Bool

  private var line: ArraySlice<UInt8> = []
  private var place = 0
  /// A cache of the names that `isName` has accepted. All rows of an entity have the same attribute names.
  private var rightNames: Set<ArraySlice<UInt8>> = []
  private static let maxRightNames = 4096

  init(mayShow: @escaping (String) -> Bool) { self.mayShow = mayShow }

  mutating func isClean(_ line: ArraySlice<UInt8>) -> Bool {
    self.line = line
    place = line.startIndex
    guard take("{\"table\":") || take("{\"entity\":"), takeName() else { return false }
    if take(",\"pk\":"), !takeNumber() { return false }
    guard take(",\"values\":{") else { return false }
    if !take("}") {
      repeat {
        guard let name = takeString(), isName(name), take(":"), takeValue(of: name) else {
          return false
        }
      } while take(",")
      guard take("}") else { return false }
    }
    return take("}") && place == line.endIndex
  }

  // MARK: - Values

  private mutating func takeValue(of name: ArraySlice<UInt8>) -> Bool {
    let start = place
    if take("null") || takeReference() || takeReferences() || takeToken() { return true }
    place = start
    return mayShow(String(decoding: name, as: UTF8.self)) && skipValue()
  }

  private mutating func takeReference() -> Bool {
    let start = place
    if take("{\"entity\":"), takeName(), take(",\"pk\":"), takeNumber(), take("}") { return true }
    place = start
    return false
  }

  private mutating func takeReferences() -> Bool {
    let start = place
    guard take("[") else { return false }
    if take("]") { return true }
    repeat {
      guard takeReference() else {
        place = start
        return false
      }
    } while take(",")
    if take("]") { return true }
    place = start
    return false
  }

  private mutating func takeToken() -> Bool {
    let start = place
    guard take("{"), let kind = takeString(), take(":"), let token = takeString() else {
      place = start
      return false
    }
    let isKnown: Bool
    switch String(decoding: kind, as: UTF8.self) {
    case "date": isKnown = Self.isDate(token)
    case "text":
      isKnown =
        Self.isToken(token) && take(",\"length\":") && takeClass() && take(",\"script\":")
        && takeString().map { $0.count <= 10 && $0.allSatisfy(Self.isLetter) } ?? false
    case "integer", "real":
      isKnown =
        Self.isToken(token) && (!take(",\"range\":") || takeRange())
        && (!take(",\"rank\":") || takeNumber())
    case "data", "file":
      isKnown = Self.isToken(token) && take(",\"bytes\":") && (take("null") || takeClass())
    case "boolean", "uuid": isKnown = Self.isToken(token)
    default: isKnown = false
    }
    if isKnown, take("}") { return true }
    place = start
    return false
  }

  private mutating func takeClass() -> Bool {
    takeString().map {
      (1...41).contains($0.count) && $0.allSatisfy { Self.isDigit($0) || $0 == UInt8(ascii: "-") }
    } ?? false
  }

  private mutating func takeRange() -> Bool {
    takeString().map { $0.count <= 44 && $0.allSatisfy(Self.isRange) } ?? false
  }

  // MARK: - Forms

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x61...0x7a).contains(byte | 0x20) && byte < 0x80
  }
  private static func isRange(_ byte: UInt8) -> Bool {
    isDigit(byte) || "e.-infinite".utf8.contains(byte)
  }
  private static func isToken(_ text: ArraySlice<UInt8>) -> Bool {
    text.count == 16 && text.allSatisfy { isDigit($0) || (0x61...0x66).contains($0) }
  }
  private static func isDate(_ text: ArraySlice<UInt8>) -> Bool {
    if (20...27).contains(text.count), text.last == UInt8(ascii: "Z"),
      text.allSatisfy({ isDigit($0) || "-:.TZ".utf8.contains($0) })
    {
      return true
    }
    return ["marks something", "out of range"].contains { text.elementsEqual($0.utf8) }
  }
  private mutating func isName(_ text: ArraySlice<UInt8>) -> Bool {
    if rightNames.contains(text) { return true }
    guard NameForm.isIdentifier(String(decoding: text, as: UTF8.self)) || Self.isMaskedName(text)
    else { return false }
    // The name is copied, because a slice would keep the whole array of lines in memory.
    if rightNames.count < Self.maxRightNames { rightNames.insert(Array(text)[...]) }
    return true
  }
  private static func isMaskedName(_ text: ArraySlice<UInt8>) -> Bool {
    let lead = "name-".utf8
    return text.count > lead.count && text.starts(with: lead)
      && text.dropFirst(lead.count).allSatisfy(isDigit)
  }

  // MARK: - JSON

  private mutating func take(_ text: StaticString) -> Bool {
    let end = place + text.utf8CodeUnitCount
    guard end <= line.endIndex,
      unsafe line[place..<end].elementsEqual(
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    else { return false }
    place = end
    return true
  }

  /// Reads a string without escapes, and returns the string without its quotes; nil for anything else. Names and tokens
  /// have no escapes.
  private mutating func takeString() -> ArraySlice<UInt8>? {
    guard place < line.endIndex, line[place] == 0x22,
      let end = line[(place + 1)...].firstIndex(where: { $0 == 0x22 || $0 == 0x5c }),
      line[end] == 0x22
    else { return nil }
    defer { place = end + 1 }
    return line[(place + 1)..<end]
  }

  /// Reads a valid name in quotes, or `null`. Returns false for anything else.
  private mutating func takeName() -> Bool {
    if take("null") { return true }
    guard let name = takeString() else { return false }
    return isName(name)
  }

  private mutating func takeNumber() -> Bool {
    let start = place
    if place < line.endIndex, line[place] == UInt8(ascii: "-") { place += 1 }
    while place < line.endIndex, Self.isDigit(line[place]), place - start < 20 { place += 1 }
    return place > start
  }

  /// Skips a JSON value of any form, up to the comma or closing bracket after the value. Returns false at the end of
  /// the line.
  private mutating func skipValue() -> Bool {
    var depth = 0
    var isInString = false
    while place < line.endIndex {
      let byte = line[place]
      if isInString {
        if byte == 0x5c { place += 1 }
        if byte == 0x22 { isInString = false }
      } else if byte == 0x22 {
        isInString = true
      } else if "[{".utf8.contains(byte) {
        depth += 1
      } else if "]}".utf8.contains(byte) {
        if depth == 0 { return true }
        depth -= 1
      } else if byte == UInt8(ascii: ","), depth == 0 {
        return true
      }
      place += 1
    }
    return false
  }
}
