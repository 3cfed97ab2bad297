import Foundation

@testable import ObjectModel

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// XML as a tree, without a thought for what it means, read by Foundation's parser: another program than
/// the one under test.
struct XMLNode {
  /// How much was compared.
  struct Count {
    var elements = 0
    var attributes = 0
    /// What was spelled otherwise, by the reason that it may be.
    var exceptions: [String: Int] = [:]
  }

  var name: String
  var attributes: [String: String]
  var children: [XMLNode] = []

  init(name: String, attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  init(_ bytes: [UInt8]) throws {
    let parser = XMLParser(data: Data(bytes))
    let builder = Builder()
    parser.delegate = builder
    guard parser.parse(), let root = builder.open[0].children.first else {
      throw CocoaError(.fileReadCorruptFile)
    }
    self = root
  }

  private final class Builder: NSObject, XMLParserDelegate {
    var open = [XMLNode(name: "document", attributes: [:])]

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
      qualifiedName: String?, attributes: [String: String]
    ) {
      open.append(XMLNode(name: name, attributes: attributes))
    }

    func parser(
      _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
      qualifiedName: String?
    ) {
      let node = open.removeLast()
      open[open.count - 1].children.append(node)
    }
  }

  /// What tells siblings apart.
  var key: String {
    let identifying = ["name", "key", "value", "property"].compactMap { attributes[$0] }
    let inner = children.map(\.key).joined(separator: ",")
    return "\(name)[\(identifying.joined(separator: "|"))]"
      + (["constraint", "index", "uniquenessConstraint", "compoundIndex"].contains(name)
        ? "(\(inner))" : "")
  }

  /// Why an attribute may differ; nil when it may not.
  private func exception(_ attribute: String, _ other: String?) -> String? {
    guard let value = attributes[attribute] else { return nil }
    if attribute == "elementID", value == attributes["name"], other == nil {
      return "a renaming identifier that is the name itself says nothing"
    }
    if attribute == "defaultValueString", let other,
      let type = AttributeType(name: attributes["attributeType"] ?? ""),
      DefaultValue(text: value, type: type) == DefaultValue(text: other, type: type)
    {
      return "a default is spelled as its type has it: 0.0 for 0, NO for 0"
    }
    return nil
  }

  /// What differs between two trees, the order of siblings and the diagram's layout apart.
  static func differences(_ left: XMLNode, _ right: XMLNode, count: inout Count) -> [String] {
    count.elements += 1
    count.attributes += left.attributes.count
    var found: [String] = []
    for name in Set(left.attributes.keys).union(right.attributes.keys).sorted()
    where left.attributes[name] != right.attributes[name] {
      if let exception = left.exception(name, right.attributes[name]) {
        count.exceptions[exception, default: 0] += 1
        continue
      }
      found.append(
        "\(left.key)@\(name): \(left.attributes[name] ?? "absent") became "
          + (right.attributes[name] ?? "absent"))
    }
    // Where things stand in Xcode's diagram; current versions of Xcode write none.
    let one = left.children.filter { $0.name != "elements" }.sorted { $0.key < $1.key }
    let other = right.children.sorted { $0.key < $1.key }
    guard one.map(\.key) == other.map(\.key) else {
      let keys = Set(one.map(\.key)).symmetricDifference(other.map(\.key)).sorted()
      return found + ["\(left.key): \(keys) on one side only"]
    }
    for (a, b) in zip(one, other) { found += differences(a, b, count: &count) }
    return found
  }
}
