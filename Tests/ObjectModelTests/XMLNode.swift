import Foundation

@testable import ObjectModel

/// XML as a tree, without a thought for what it means, read by Foundation's parser: another program than
/// the one under test.
struct XMLNode {
  /// How much was compared.
  struct Count {
    var elements = 0
    var attributes = 0
  }

  var name: String
  var attributes: [String: String]
  var children: [XMLNode] = []

  init(name: String, attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  init(_ bytes: [UInt8]) throws {
    // The scanner of the target gives the events; its own tests compare it with other parsers.
    var open = [XMLNode(name: "document", attributes: [:])]
    for event in try HardenedXML(bytes).events {
      switch event {
      case .start(let name, let attributes, _):
        open.append(XMLNode(name: name, attributes: attributes))
      case .end:
        let node = open.removeLast()
        open[open.count - 1].children.append(node)
      case .text: break
      }
    }
    self = open[0].children[0]
  }

  /// What tells siblings apart.
  var key: String {
    let identifying = ["name", "key", "value", "property"].compactMap { attributes[$0] }
    let inner = children.map(\.key).joined(separator: ",")
    return "\(name)[\(identifying.joined(separator: "|"))]"
      + (["constraint", "index", "uniquenessConstraint", "compoundIndex"].contains(name)
        ? "(\(inner))" : "")
  }

  /// What differs between two trees, the order of siblings and the diagram's layout apart.
  static func differences(_ left: XMLNode, _ right: XMLNode, count: inout Count) -> [String] {
    count.elements += 1
    count.attributes += left.attributes.count
    var found: [String] = []
    for name in Set(left.attributes.keys).union(right.attributes.keys).sorted()
    where left.attributes[name] != right.attributes[name] {
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
