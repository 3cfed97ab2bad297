import Foundation

extension PropertyList {
  /// Reads the XML form.
  ///
  /// A dictionary whose only key is `CF$UID` becomes a reference of a keyed archive, because Apple's tools write
  /// references in this way. Documents that declare entities are refused.
  package init(xml bytes: [UInt8]) throws(PropertyListError) {
    var reader = XMLPropertyListReader()
    for event in try HardenedXML(bytes).events { try reader.take(event) }
    self = try reader.result()
  }
}

/// Builds a property list from XML events. It keeps its own stack instead of using recursion.
private struct XMLPropertyListReader {
  private enum Collection {
    case array([PropertyList])
    case dictionary([String: PropertyList], key: String?)
  }

  private var stack: [Collection] = []
  private var openScalar: (name: String, text: String, line: Int)?
  /// The number of enclosing `plist` elements, which are not values.
  private var wrapperDepth = 0
  private var root: PropertyList?

  mutating func take(_ event: HardenedXML.Event) throws(PropertyListError) {
    switch event {
    case .start(let name, _, let line): try start(name, line)
    case .text(let text): openScalar?.text += text
    case .end: try end()
    case .known: break
    }
  }

  func result() throws(PropertyListError) -> PropertyList {
    guard let root else {
      throw PropertyListError(
        code: .notAPropertyList, message: "The XML does not contain a property list.")
    }
    return root
  }

  private mutating func start(_ name: String, _ line: Int) throws(PropertyListError) {
    guard openScalar == nil, root == nil else {
      throw malformed("The property list has a <\(name)> in the wrong place.", line)
    }
    switch name {
    case "plist" where stack.isEmpty: wrapperDepth += 1
    case "array": stack.append(.array([]))
    case "dict": stack.append(.dictionary([:], key: nil))
    case "key", "string", "integer", "real", "true", "false", "date", "data":
      openScalar = (name, "", line)
    default:
      throw PropertyListError(
        code: stack.isEmpty && wrapperDepth == 0 ? .notAPropertyList : .malformed,
        message: "<\(name)> is not an element of a property list.", line: line)
    }
  }

  private mutating func end() throws(PropertyListError) {
    if let scalar = openScalar {
      openScalar = nil
      if scalar.name == "key" {
        guard case .dictionary(let entries, nil)? = stack.popLast() else {
          throw malformed("The property list has a <key> in the wrong place.", scalar.line)
        }
        stack.append(.dictionary(entries, key: scalar.text))
      } else {
        try add(try value(scalar.name, scalar.text, scalar.line), scalar.line)
      }
      return
    }
    switch stack.popLast() {
    case .array(let values): try add(.array(values), nil)
    case .dictionary(let entries, let key):
      if let key { throw malformed("The key \(key) has no value.", nil) }
      if entries.count == 1, case .integer(let index)? = entries["CF$UID"], index >= 0 {
        try add(.uid(UInt64(index)), nil)
      } else {
        try add(.dictionary(entries), nil)
      }
    case nil: wrapperDepth -= 1
    }
  }

  private mutating func add(_ value: PropertyList, _ line: Int?) throws(PropertyListError) {
    guard var top = stack.popLast() else {
      guard root == nil else { throw malformed("The property list has several root values.", line) }
      root = value
      return
    }
    switch top {
    case .array(var values):
      // The stack's copy of the array is replaced first. Otherwise the array would be copied each time an element is
      // added.
      top = .array([])
      values.append(value)
      top = .array(values)
    case .dictionary(var entries, let key):
      guard let key else { throw malformed("A value in a <dict> has no key.", line) }
      top = .dictionary([:], key: nil)
      entries[key] = value
      top = .dictionary(entries, key: nil)
    }
    stack.append(top)
  }

  private func value(
    _ name: String, _ text: String, _ line: Int
  ) throws(PropertyListError) -> PropertyList {
    switch name {
    case "true": return .bool(true)
    case "false": return .bool(false)
    case "string": return .string(text)
    case "integer":
      let digits = text.filter { !$0.isWhitespace }
      if let value = Int64(digits) { return .integer(value) }
      // As in CoreFoundation, a sign precedes `0x`.
      let sign = digits.utf8.prefix { "+-".utf8.contains($0) }
      let number = digits.utf8.dropFirst(sign.count)
      // A plus is added to a number without a sign, so that `Int64` refuses a sign after `0x`.
      if number.starts(with: "0x".utf8) || number.starts(with: "0X".utf8),
        let value = Int64(
          (sign.isEmpty ? "+" : String(Substring(sign))) + String(Substring(number.dropFirst(2))),
          radix: 16)
      {
        return .integer(value)
      }
      if let value = UInt64(digits) { return .real(Double(value)) }
    case "real":
      if let value = Double(text.filter { !$0.isWhitespace }) { return .real(value) }
    case "date":
      if let seconds = Self.seconds(text) { return .date(seconds) }
    case "data":
      let base64 = String(decoding: text.utf8.filter { $0 > 32 }, as: UTF8.self)
      if let data = Data(base64Encoded: base64) { return .data(Array(data)) }
    default: break
    }
    throw malformed("The text in <\(name)> is not a valid value for this element.", line)
  }

  private func malformed(_ message: String, _ line: Int?) -> PropertyListError {
    PropertyListError(code: .malformed, message: message, line: line)
  }

  /// Converts a date such as `2024-05-31T10:20:30Z` to seconds since the start of 2001; nil for any other text. No
  /// formatter is used, because formatters are slow and depend on locale data.
  private static func seconds(_ text: String) -> Double? {
    let parts = text.utf8.filter { $0 > 0x20 }.split { "-T:Z".utf8.contains($0) }
      .map { Int(String(decoding: $0, as: UTF8.self)) }
    guard parts.count == 6, let year = parts[0], let month = parts[1], let day = parts[2],
      let hour = parts[3], let minute = parts[4], let second = parts[5],
      (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
      (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    // The number of days since 1 March of year 0. Years start in March here, so a leap day is the last day of a year.
    let shifted = month <= 2 ? year - 1 : year
    let monthIndex = (month + 9) % 12
    let leapDays = shifted / 4 - shifted / 100 + shifted / 400
    let days = 365 * shifted + leapDays + (monthIndex * 153 + 2) / 5 + day - 1
    let daysBefore2001 = 730_791
    return Double((days - daysBefore2001) * 86_400 + hour * 3_600 + minute * 60 + second)
  }
}
