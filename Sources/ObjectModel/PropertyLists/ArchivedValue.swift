import SafeText

/// A value from a keyed archive, decoded if this library knows the class of the value.
public indirect enum ArchivedValue: Sendable, Hashable {
  /// The archive's nil.
  case null
  /// True or false.
  case bool(Bool)
  /// An integer.
  case integer(Int64)
  /// A floating-point number.
  case real(Double)
  /// A decimal number: the text of its digits, without an exponent.
  case decimal(String)
  /// Text.
  case string(String)
  /// Bytes.
  case data([UInt8])
  /// A date: seconds since the start of 2001, UTC.
  case date(Double)
  /// The text of a UUID: uppercase, with hyphens.
  case uuid(String)
  /// An ordered list.
  case array([ArchivedValue])
  /// A set or an ordered set, with its elements in the order of the archive.
  case set([ArchivedValue])
  /// A dictionary, with its entries in the order of the archive.
  case dictionary([Entry])
  /// The text of a URL.
  case url(String)
  /// An object of a class that this library does not decode, with its fields.
  case object(ArchivedObject)
  /// An object that was not decoded, because it is nested too deeply or has too many values. The class name is kept.
  case opaque(className: String)

  /// An entry of a dictionary: a key and its value.
  public struct Entry: Sendable, Hashable {
    /// The key of the entry. It is usually a string, but can be any value.
    public let key: ArchivedValue
    /// The value of the entry.
    public let value: ArchivedValue

    /// Makes an entry from its key and its value.
    public init(key: ArchivedValue, value: ArchivedValue) {
      self.key = key
      self.value = value
    }
  }

  /// The maximum depth of values that are decoded. A deeper value becomes ``opaque(className:)``.
  package static let maximumDepth = 32
  /// The maximum number of values that are decoded. A collection that exceeds this number becomes
  /// ``opaque(className:)``.
  package static let maximumCount = 20_000
}

extension ArchivedValue {
  /// The value as one line of text for people. For a collection, the text says how many values the collection has.
  public var text: String {
    switch self {
    case .null: "none"
    case .bool(let value): value ? "YES" : "NO"
    case .integer(let value): String(value)
    case .real(let value): value.description
    case .decimal(let value), .string(let value), .uuid(let value), .url(let value): value
    case .data(let bytes): counted(bytes.count, "byte")
    case .date(let value): "\(value) s since 2001"
    case .array(let values), .set(let values): counted(values.count, "value")
    case .dictionary(let entries): counted(entries.count, "entry", "entries")
    case .object(let object): "an object of class \(object.className)"
    case .opaque(let className): "an object of class \(className)"
    }
  }

  /// The string, if this is a ``string(_:)``; nil for any other kind of value.
  public var stringValue: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  package var integerValue: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }
}

extension ArchivedValue: ExpressibleByStringLiteral {
  /// Makes a ``string(_:)`` from a literal.
  public init(stringLiteral value: String) { self = .string(value) }
}

extension KeyedArchive {
  /// Decodes an object and all values in it, down to ``ArchivedValue/maximumDepth``. In a cyclic graph, the values
  /// beyond the limits become opaque. The archive's nil becomes ``ArchivedValue/null``. `count` is the number of values
  /// that were visited.
  package func decodedWithCount(_ value: PropertyList?) -> (value: ArchivedValue, count: Int) {
    var remaining = ArchivedValue.maximumCount
    let decoded = decode(value, depth: 0, remaining: &remaining)
    return (decoded, ArchivedValue.maximumCount - remaining)
  }

  private func decode(
    _ value: PropertyList?, depth: Int, remaining: inout Int
  ) -> ArchivedValue {
    remaining -= 1
    guard let object = resolve(value) else { return .null }
    switch object {
    case .bool(let value): return .bool(value)
    case .integer(let value): return .integer(value)
    case .real(let value): return .real(value)
    case .date(let value): return .date(value)
    case .data(let value): return .data(value)
    case .string(let value): return .string(value)
    default: break
    }
    let className = className(of: object) ?? "unknown"
    let opaque = ArchivedValue.opaque(className: className)
    guard depth < ArchivedValue.maximumDepth, remaining >= 0 else { return opaque }
    if let scalar = scalar(object, className: className) {
      // Each reference to a shared string may copy the string, so every 128 bytes of a string count as another value.
      remaining -= (scalar.stringValue?.utf8.count ?? 0) >> 7
      return scalar
    }
    let classes = classNames(of: object)
    if classes.contains("NSDictionary"), let entries = entries(object) {
      var decoded: [ArchivedValue.Entry] = []
      for entry in entries where remaining > 0 {
        decoded.append(
          .init(
            key: decode(entry.key, depth: depth + 1, remaining: &remaining),
            value: decode(entry.value, depth: depth + 1, remaining: &remaining)))
      }
      return decoded.count == entries.count ? .dictionary(decoded) : opaque
    }
    let isSet = classes.contains("NSSet") || classes.contains("NSOrderedSet")
    if isSet || classes.contains("NSArray") || classes.isEmpty, let elements = elements(object) {
      var decoded: [ArchivedValue] = []
      for element in elements where remaining > 0 {
        decoded.append(decode(element, depth: depth + 1, remaining: &remaining))
      }
      guard decoded.count == elements.count else { return opaque }
      return isSet ? .set(decoded) : .array(decoded)
    }
    guard case .dictionary(let stored) = object, !classes.isEmpty, stored.count <= remaining + 1
    else { return opaque }
    var fields: [String: ArchivedValue] = [:]
    for name in ByteOrder.sorted(stored.keys) where name != "$class" && remaining > 0 {
      fields[name] = decode(stored[name], depth: depth + 1, remaining: &remaining)
    }
    guard fields.count == stored.count - 1 else { return opaque }
    return .object(ArchivedObject(classNames: classes, fields: fields))
  }

  private func scalar(_ object: PropertyList, className: String) -> ArchivedValue? {
    switch className {
    case "NSString", "NSMutableString": string(object).map { .string($0) }
    case "NSDate": date(object).map { .date($0) }
    case "NSData", "NSMutableData": data(object).map { .data($0) }
    case "NSUUID": uuid(object).map { .uuid($0) }
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder": decimal(object).map { .decimal($0) }
    case "NSNumber":
      bool(object).map { .bool($0) } ?? integer(object).map { .integer($0) }
        ?? real(object).map { .real($0) }
    case "NSURL": string(field("NS.relative", of: object)).map { .url($0) }
    default: nil
    }
  }
}
