import CoreDataStore
import ObjectModel
import SafeText
import StoreExtraction
import Terminal

/// Describes the decoded content of a blob in lines of text. Nested values are indented.
enum BlobOutline {
  private static let maxLines = 2_000
  private static let maxDepth = 24

  static func lines(_ bytes: [UInt8]) -> [String] {
    guard !bytes.isEmpty else { return ["(empty)"] }
    return lines(BlobContent(bytes), size: Quantity.count(bytes.count, "byte"))
      ?? [BlobContent(bytes).summary(sizeBytes: bytes.count), "x shows the bytes"]
  }

  /// Returns the lines that describe a blob's content; nil if the one-line summary of the content is enough.
  private static func lines(_ content: BlobContent, size: String) -> [String]? {
    switch content {
    case .text(let text):
      let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      return ["text, \(size):", ""] + lines.map { String(Substring($0)) }
    case .propertyList(let list):
      var outline = ["property list, \(size):", ""]
      add(list, "", depth: 0, &outline)
      return outline
    case .keyedArchive(let classes, let tree):
      var outline = ["keyed archive of \(classes.joined(separator: ", ")), \(size):", ""]
      add(tree, "", depth: 0, &outline)
      return outline
    case .compressed(let format, let inner?):
      return lines(inner, size: "\(size) compressed by \(format)")
    default: return nil
    }
  }

  private static func add(
    _ list: PropertyList, _ lead: String, depth: Int, _ lines: inout [String]
  ) {
    let indent = String(repeating: "  ", count: depth)
    guard lines.count < maxLines else {
      if let last = lines.last, !PathText.isSame(last, "…") { lines.append("…") }
      return
    }
    guard depth < maxDepth else { return lines.append(indent + lead + "…") }
    func say(_ text: String) { lines.append(indent + lead + text) }
    switch list {
    case .null: say("null")
    case .bool(let flag): say(flag ? "true" : "false")
    case .integer(let number): say(String(number))
    case .real(let number): say(number.description)
    case .date(let seconds):
      say(ReferenceDate(seconds: seconds).iso8601 ?? "\(seconds) s since 2001")
    case .data(let bytes): say(BlobContent(bytes).summary(sizeBytes: bytes.count))
    case .string(let text): say("\"\(text)\"")
    case .uid(let number): say("object \(number)")
    case .array(let values), .set(let values):
      say(Quantity.count(values.count, "item"))
      for value in values where lines.count <= maxLines {
        add(value, "- ", depth: depth + 1, &lines)
      }
    case .dictionary(let members):
      // For an object of a keyed archive, the class name says more than the number of members.
      var name = Quantity.count(members.count, "member")
      if case .string(let text)? = members["$class"] { name = text }
      say(name)
      for (key, value) in members.sorted(by: { $0.key < $1.key })
      where lines.count <= maxLines && key != "$class" {
        add(value, key + ": ", depth: depth + 1, &lines)
      }
    }
  }
}
