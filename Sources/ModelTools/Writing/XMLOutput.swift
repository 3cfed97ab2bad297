import ObjectModel

/// Writes XML text in Xcode's layout: an indent of four spaces for each level, all attributes on the line of their
/// element, `/>` at the end of empty elements, and no line end after the last tag.
struct XMLOutput {
  private(set) var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
  /// The number of characters that were left out. XML 1.0 does not allow most control characters (clause 2.2), not
  /// even as character references.
  private(set) var droppedCount = 0
  private var open: [String] = []
  /// Whether the start tag of the innermost element still lacks its `>`.
  private var isUnfinished = false

  /// The attributes of an element, in order.
  struct Attributes {
    fileprivate var list: [(name: String, value: String)] = []

    mutating func add(_ name: String, _ value: String?) {
      if let value { list.append((name, value)) }
    }

    /// Adds the attribute `name` with the value `YES` if `flag` is true. Adds nothing otherwise, because an absent
    /// attribute means NO.
    mutating func add(_ name: String, _ flag: Bool) {
      if flag { list.append((name, "YES")) }
    }
  }

  mutating func start(_ name: String, _ attributes: Attributes = Attributes()) {
    finishStart()
    text += indentation + "<" + name
    for attribute in attributes.list {
      text += " \(attribute.name)=\"\(escaped(attribute.value))\""
    }
    open.append(name)
    isUnfinished = true
  }

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

  mutating func element(_ name: String, _ attribute: String, _ value: String) {
    var attributes = Attributes()
    attributes.add(attribute, value)
    element(name, attributes)
  }

  mutating func element(_ name: String, _ attributes: Attributes) {
    start(name, attributes)
    end()
  }

  private var indentation: String { String(repeating: "    ", count: open.count) }

  private mutating func finishStart() {
    if isUnfinished { text += ">\n" }
    isUnfinished = false
  }

  /// Returns the value of an attribute as XML text. White space other than the space character becomes character
  /// references, because a reader would replace the characters themselves by spaces (clause 3.3.3).
  private mutating func escaped(_ value: String) -> String {
    // Nearly all values are plain: no control characters, none of `"`, `&`, `<`, `>`, and no byte that may belong to
    // U+FFFE or U+FFFF.
    let isPlain = value.utf8.allSatisfy {
      $0 >= 0x20 && $0 != 0x22 && $0 != 0x26 && $0 != 0x3C && $0 != 0x3E && $0 != 0xEF
    }
    if isPlain { return value }
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
