/// Derivation expressions as text: the form typed in a model's source, and the `predicateFormat`
/// form that an archive's expression has and that the version hash takes in.
enum DerivationText {
  /// The collection operators of key paths and the functions Core Data turns them into.
  private static let functions = [
    "@count": "count:", "@sum": "sum:", "@total": "sum:", "@min": "min:", "@max": "max:",
    "@average": "average:", "@avg": "average:",
  ]

  /// The `predicateFormat` text of what was typed: `pages.@count` becomes `count:(pages)`,
  /// `pages.@sum.words` becomes `sum:(pages.words)`; anything else stays as it is.
  static func canonical(_ typed: String) -> String {
    var parts = typed.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let operators = parts.indices.filter { parts[$0].hasPrefix("@") }
    guard operators.count == 1, let index = operators.first, index > 0,
      let function = functions[parts[index]]
    else { return typed }
    parts.remove(at: index)
    guard parts.allSatisfy(isName) else { return typed }
    return "\(function)(\(parts.joined(separator: ".")))"
  }

  /// Whether recorded hashes confirm expressions of this kind: key paths, and counts of them.
  static func isConfirmed(_ text: String) -> Bool {
    if text.hasPrefix("count:("), text.hasSuffix(")") {
      return isKeyPath(String(text.dropFirst(7).dropLast()))
    }
    return isKeyPath(text)
  }

  /// Whether the text is ASCII names joined by points.
  static func isKeyPath(_ text: String) -> Bool {
    text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { isName(String($0)) }
  }

  /// The function and its argument when the text is a function of at most one key path:
  /// `count:(pages)`, `canonical:(name)`, `now()`.
  static func call(_ text: String) -> (selector: String, argument: String?)? {
    guard text.hasSuffix(")"), let open = text.firstIndex(of: "(") else { return nil }
    let selector = String(text[..<open])
    let argument = String(text[text.index(after: open)...].dropLast())
    if selector.hasSuffix(":") {
      guard isName(String(selector.dropLast())), isKeyPath(argument) else { return nil }
      return (selector, argument)
    }
    guard isName(selector), argument.isEmpty else { return nil }
    return (selector, nil)
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
    return text.utf8.allSatisfy { unit in
      switch unit {
      case 48...57, 65...90, 97...122, UInt8(ascii: "_"): true
      default: false
      }
    }
  }
}
