/// The default value of an attribute, in the form of the attribute's type.
public enum DefaultValue: Sendable, Hashable {
  /// For the three integer types.
  case integer(Int64)
  /// For Double and Float.
  case real(Double)
  /// For Boolean.
  case boolean(Bool)
  /// For Decimal: plain digits without exponent or superfluous zeros, such as `-0.25`.
  case decimal(String)
  /// For String, and for a text that could not be read as the attribute's type.
  case string(String)
  /// Seconds since the start of 2001, UTC.
  case date(Double)
  /// For Binary.
  case data([UInt8])
  /// Uppercase, with hyphens.
  case uuid(String)
  /// For URI.
  case uri(String)
  /// An archived object of a class this library does not decode, with its fields.
  case object(ArchivedObject)
  /// An archived object that is nested too deeply to be kept; the class name.
  case opaque(className: String)

  /// The value for a reader, as one line of text.
  public var text: String {
    switch self {
    case .integer(let value): String(value)
    case .real(let value): value.description
    case .boolean(let value): value ? "YES" : "NO"
    case .decimal(let value), .string(let value), .uuid(let value), .uri(let value): value
    case .date(let value): "\(value) s since 2001"
    case .data(let bytes): "\(bytes.count) bytes"
    case .object(let object): "an object of class \(object.className)"
    case .opaque(let className): "an object of class \(className)"
    }
  }

  /// Reads the text of `defaultValueString` for an attribute of the given type.
  package init(text: String, type: AttributeType) {
    switch type {
    case .integer16, .integer32, .integer64:
      // "NO" was seen in a model whose compiled form has 0: an attribute that once was a Boolean.
      let flag = text.isEmpty ? nil : SwitchText.value(text).map { Int64($0 ? 1 : 0) }
      self = (Int64(text) ?? flag).map { .integer($0) } ?? .string(text)
    case .double, .float:
      self = Double(text).map { .real($0) } ?? .string(text)
    case .boolean:
      let flag = text.isEmpty ? nil : SwitchText.value(text)
      self = flag.map { .boolean($0) } ?? .string(text)
    case .decimal:
      self = DecimalText.canonical(text).map { .decimal($0) } ?? .string(text)
    case .date:
      self = Double(text).map { .date($0) } ?? .string(text)
    case .uuid:
      self = .uuid(text.uppercased())
    case .uri:
      self = .uri(text)
    default:
      self = .string(text)
    }
  }
}
