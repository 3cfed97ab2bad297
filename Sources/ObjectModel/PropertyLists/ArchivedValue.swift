/// An archived object decoded as far as this library knows its class.
public indirect enum ArchivedValue: Sendable, Hashable {
  /// No object.
  case null
  /// True or false.
  case bool(Bool)
  /// An integer.
  case integer(Int64)
  /// A floating-point number.
  case real(Double)
  /// A decimal number: plain digits without exponent.
  case decimal(String)
  /// Text.
  case string(String)
  /// Bytes.
  case data([UInt8])
  /// Seconds since the start of 2001, UTC.
  case date(Double)
  /// Uppercase, with hyphens.
  case uuid(String)
  /// An ordered list.
  case array([ArchivedValue])
  /// A set, in stored order.
  case set([ArchivedValue])
  /// Keys and values, in stored order.
  case dictionary([Entry])
  /// A URL's text.
  case url(String)
  /// An object of a class that is not decoded, with its fields as they are.
  case object(ArchivedObject)
  /// A value that exceeds the limit of depth or count and is not decoded: the class name.
  case opaque(className: String)

  /// One entry of a dictionary.
  public struct Entry: Sendable, Hashable {
    /// The key, of any kind.
    public let key: ArchivedValue
    /// The value.
    public let value: ArchivedValue

    /// Makes an entry.
    public init(key: ArchivedValue, value: ArchivedValue) {
      self.key = key
      self.value = value
    }
  }

  /// The deepest nesting that is decoded; deeper values are ``opaque(className:)``.
  package static let maximumDepth = 32
  /// The most values that are decoded; the rest is ``opaque(className:)``.
  package static let maximumCount = 20_000
}

extension ArchivedValue {
  /// The value for a reader, as one line of text.
  public var text: String {
    switch self {
    case .null: "none"
    case .bool(let value): value ? "YES" : "NO"
    case .integer(let value): String(value)
    case .real(let value): value.description
    case .decimal(let value), .string(let value), .uuid(let value), .url(let value): value
    case .data(let bytes): "\(bytes.count) bytes"
    case .date(let value): "\(value) s since 2001"
    case .array(let values), .set(let values): "\(values.count) values"
    case .dictionary(let entries): "\(entries.count) entries"
    case .object(let object): "an object of class \(object.className)"
    case .opaque(let className): "an object of class \(className)"
    }
  }

  /// The text of a string; nil for any other kind.
  public var stringValue: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }
}

extension ArchivedValue: ExpressibleByStringLiteral {
  /// Text.
  public init(stringLiteral value: String) { self = .string(value) }
}

extension KeyedArchive {
  /// Decodes an object and everything in it, down to ``ArchivedValue/maximumDepth``. A cyclic or
  /// endlessly repeating graph ends in opaque values.
  package func decoded(_ value: PropertyList?) -> ArchivedValue {
    decodedWithCount(value).value
  }

  /// Like ``decoded(_:)``, with the number of values met.
  func decodedWithCount(_ value: PropertyList?) -> (value: ArchivedValue, count: Int) {
    var remaining = ArchivedValue.maximumCount
    let decoded = decode(value, depth: 0, remaining: &remaining)
    return (decoded, ArchivedValue.maximumCount - remaining)
  }

  private func decode(
    _ value: PropertyList?, depth: Int, remaining: inout Int
  ) -> ArchivedValue {
    guard let object = resolve(value) else { return .null }
    remaining -= 1
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
    guard depth < ArchivedValue.maximumDepth, remaining > 0 else {
      return .opaque(className: className)
    }
    if let scalar = scalar(object, className: className) { return scalar }
    let classes = classNames(of: object)
    if classes.contains("NSDictionary"), let entries = entries(object) {
      var decoded: [ArchivedValue.Entry] = []
      for entry in entries where remaining > 0 {
        decoded.append(
          .init(
            key: decode(entry.key, depth: depth + 1, remaining: &remaining),
            value: decode(entry.value, depth: depth + 1, remaining: &remaining)))
      }
      return .dictionary(decoded)
    }
    let isSet = classes.contains("NSSet") || classes.contains("NSOrderedSet")
    if isSet || classes.contains("NSArray") || classes.isEmpty, let elements = elements(object) {
      var decoded: [ArchivedValue] = []
      for element in elements where remaining > 0 {
        decoded.append(decode(element, depth: depth + 1, remaining: &remaining))
      }
      return isSet ? .set(decoded) : .array(decoded)
    }
    guard case .dictionary(let stored) = object, !classes.isEmpty else {
      return .opaque(className: className)
    }
    var fields: [String: ArchivedValue] = [:]
    for name in ByteOrder.sorted(stored.keys) where name != "$class" && remaining > 0 {
      fields[name] = decode(stored[name], depth: depth + 1, remaining: &remaining)
    }
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
