/// XML as Xcode lays it out: four blanks for each level, attributes on one line, empty elements
/// closed in place, no line end after the last tag.
struct XMLOutput {
  private(set) var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
  /// How many characters could not be written: XML 1.0 has no place for most control characters
  /// (clause 2.2), not even as references.
  private(set) var droppedCount = 0
  private var open: [String] = []
  /// Whether the start tag of the innermost element still lacks its end.
  private var isUnfinished = false

  /// Opens an element; attributes that are nil are left out.
  mutating func start(_ name: String, _ attributes: [(name: String, value: String?)] = []) {
    finishStart()
    text += indentation + "<" + name
    for attribute in attributes {
      guard let value = attribute.value else { continue }
      text += " \(attribute.name)=\"\(escaped(value))\""
    }
    open.append(name)
    isUnfinished = true
  }

  /// Closes the innermost element.
  mutating func end() {
    guard let name = open.popLast() else { return }
    if isUnfinished {
      text += "/>"
    } else {
      text += indentation + "</\(name)>"
    }
    isUnfinished = false
    if !open.isEmpty { text += "\n" }
  }

  /// An element without content.
  mutating func element(_ name: String, _ attributes: [(name: String, value: String?)]) {
    start(name, attributes)
    end()
  }

  private var indentation: String { String(repeating: "    ", count: open.count) }

  private mutating func finishStart() {
    if isUnfinished { text += ">\n" }
    isUnfinished = false
  }

  /// The text of an attribute's value. Blanks other than the space are written as references, as a
  /// reader turns them into spaces otherwise (clause 3.3.3).
  private mutating func escaped(_ value: String) -> String {
    var result = ""
    result.reserveCapacity(value.utf8.count)
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n": result += "&#10;"
      case "\r": result += "&#13;"
      case "\t": result += "&#9;"
      case "\u{0}"..."\u{1F}", "\u{FFFE}"..."\u{FFFF}": droppedCount += 1
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
