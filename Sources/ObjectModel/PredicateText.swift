/// The text of archived expressions and predicates, as `predicateFormat` gives it.
///
/// Key paths and `count:` were compared with hashes that take this text in; the rest follows the
/// documented syntax and is for readers.
struct PredicateText {
  private static let maximumDepth = 32

  let archive: KeyedArchive
  /// What is left to write, in bytes: a shared part may be written many times.
  private var remaining = 20_000

  init(archive: KeyedArchive) { self.archive = archive }

  /// The text of an archived `NSExpression`; nil for nil.
  static func expression(_ value: PropertyList?, in archive: KeyedArchive) -> String? {
    guard archive.resolve(value) != nil else { return nil }
    var text = PredicateText(archive: archive)
    return text.expression(value, depth: 0)
  }

  /// The text of an archived `NSPredicate`; nil for nil.
  static func predicate(_ value: PropertyList?, in archive: KeyedArchive) -> String? {
    guard archive.resolve(value) != nil else { return nil }
    var text = PredicateText(archive: archive)
    return text.predicate(value, depth: 0)
  }

  private mutating func expression(_ value: PropertyList?, depth: Int) -> String {
    remaining -= 1
    guard depth < Self.maximumDepth, remaining > 0 else { return "…" }
    if let text = archive.string(value) { return spend(Self.quoted(text)) }
    switch archive.className(of: value) {
    case "NSSelfExpression": return "SELF"
    case "NSVariableExpression":
      return spend("$" + (archive.string(archive.field("NSVariable", of: value)) ?? ""))
    case "NSKeyPathSpecifierExpression":
      return spend(archive.string(archive.field("NSKeyPath", of: value)) ?? "")
    case "NSConstantValueExpression":
      return spend(constant(archive.field("NSConstantValue", of: value)))
    case "NSKeyPathExpression":
      let path = arguments(value, depth: depth).joined(separator: ".")
      let operand = archive.field("NSOperand", of: value)
      if archive.className(of: operand) == "NSSelfExpression" { return path }
      return expression(operand, depth: depth + 1) + "." + path
    case "NSFunctionExpression":
      let selector = spend(archive.string(archive.field("NSSelectorName", of: value)) ?? "")
      return "\(selector)(\(arguments(value, depth: depth).joined(separator: ", ")))"
    case "NSAggregateExpression":
      let parts = archive.elements(archive.field("NSCollection", of: value)) ?? []
      return "{" + texts(parts, depth: depth).joined(separator: ", ") + "}"
    case let className: return "<\(className ?? "expression")>"
    }
  }

  private mutating func spend(_ text: String) -> String {
    remaining -= text.utf8.count
    return text
  }

  private mutating func arguments(_ value: PropertyList?, depth: Int) -> [String] {
    texts(archive.elements(archive.field("NSArguments", of: value)) ?? [], depth: depth)
  }

  private mutating func texts(_ values: [PropertyList], depth: Int) -> [String] {
    var texts: [String] = []
    for value in values where remaining > 0 { texts.append(expression(value, depth: depth + 1)) }
    return texts
  }

  private func constant(_ value: PropertyList?) -> String {
    guard archive.resolve(value) != nil else { return "nil" }
    if let text = archive.string(value) { return Self.quoted(text) }
    if case .bool(let flag)? = archive.resolve(value) { return flag ? "1" : "0" }
    if let number = archive.integer(value) { return String(number) }
    if let number = archive.real(value) { return number.description }
    if let number = archive.decimal(value) { return number }
    return "<\(archive.className(of: value) ?? "value")>"
  }

  private mutating func predicate(_ value: PropertyList?, depth: Int) -> String {
    remaining -= 1
    guard depth < Self.maximumDepth, remaining > 0 else { return "…" }
    switch archive.className(of: value) {
    case "NSComparisonPredicate":
      let left = expression(archive.field("NSLeftExpression", of: value), depth: depth + 1)
      let right = expression(archive.field("NSRightExpression", of: value), depth: depth + 1)
      let sign = Self.sign(archive.field("NSPredicateOperator", of: value), in: archive)
      return "\(sign.modifier)\(left) \(sign.text) \(right)"
    case "NSCompoundPredicate":
      var parts: [String] = []
      for part in archive.elements(archive.field("NSSubpredicates", of: value)) ?? []
      where remaining > 0 {
        let text = predicate(part, depth: depth + 1)
        let isCompound = archive.className(of: part) == "NSCompoundPredicate"
        parts.append(isCompound ? "(\(text))" : text)
      }
      switch archive.integer(archive.field("NSCompoundPredicateType", of: value)) {
      case 0: return "NOT " + parts.joined(separator: " ")
      case 2: return parts.joined(separator: " OR ")
      default: return parts.joined(separator: " AND ")
      }
    case "NSTruePredicate": return "TRUEPREDICATE"
    case "NSFalsePredicate": return "FALSEPREDICATE"
    case let className: return "<\(className ?? "predicate")>"
    }
  }

  /// `NSPredicateOperatorType`, with `[c]` for case and `[d]` for diacritics.
  private static func sign(
    _ value: PropertyList?, in archive: KeyedArchive
  ) -> (modifier: String, text: String) {
    let names: [Int64: String] = [
      0: "<", 1: "<=", 2: ">", 3: ">=", 4: "==", 5: "!=", 6: "MATCHES", 7: "LIKE",
      8: "BEGINSWITH", 9: "ENDSWITH", 10: "IN", 99: "CONTAINS", 100: "BETWEEN",
    ]
    let type = archive.integer(archive.field("NSOperatorType", of: value)) ?? -1
    var text = names[type] ?? "<operator \(type)>"
    // Only text operators have options; comparisons of order keep other flags there.
    let options = archive.integer(archive.field("NSOptions", of: value)) ?? 0
    if type >= 4, type <= 9 || type == 99, options & 3 != 0 {
      text += "[" + (options & 1 != 0 ? "c" : "") + (options & 2 != 0 ? "d" : "") + "]"
    }
    switch archive.integer(archive.field("NSModifier", of: value)) {
    case 1: return ("ALL ", text)
    case 2: return ("ANY ", text)
    default: return ("", text)
    }
  }

  private static func quoted(_ text: String) -> String {
    let escaped = text.flatMap { character -> [Character] in
      character == "\"" || character == "\\" ? ["\\", character] : [character]
    }
    return "\"" + String(escaped) + "\""
  }
}
