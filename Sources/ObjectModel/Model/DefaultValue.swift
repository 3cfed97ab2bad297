import Foundation
import SafeText

/// The default value of an attribute. There is a case for each type of attribute.
public enum DefaultValue: Sendable, Hashable {
  /// The default of an integer attribute of 16, 32 or 64 bits.
  case integer(Int64)
  /// The default of a Double or Float attribute.
  case real(Double)
  /// The default of a Boolean attribute.
  case boolean(Bool)
  /// The default of a Decimal attribute: its digits, without an exponent or superfluous zeros, for example `-0.25`.
  case decimal(String)
  /// The default of a String attribute, or the text of a default that could not be read as a value of the attribute's
  /// type.
  case string(String)
  /// The default of a Date attribute: seconds since the start of 2001, UTC.
  case date(Double)
  /// The default of a Binary attribute: its bytes.
  case data([UInt8])
  /// The default of a UUID attribute: uppercase text with hyphens.
  case uuid(String)
  /// The default of a URI attribute: its text.
  case uri(String)
  /// An archived object with its fields, if this library does not decode the object's class.
  case object(ArchivedObject)
  /// An archived object whose contents are not kept, for example a collection. The class name is kept.
  case opaque(className: String)

  /// The value as one line of text for people.
  public var text: String {
    switch self {
    case .integer(let value): String(value)
    case .real(let value): value.description
    case .boolean(let value): value ? "YES" : "NO"
    case .decimal(let value), .string(let value), .uuid(let value), .uri(let value): value
    case .date(let value): "\(value) s since 2001"
    case .data(let bytes): counted(bytes.count, "byte")
    case .object(let object): "an object of class \(object.className)"
    case .opaque(let className): "an object of class \(className)"
    }
  }

  /// Reads the text of `defaultValueString` as a value of the attribute's type. Text that is not a value of this type
  /// becomes ``string(_:)``.
  package init(text: String, type: AttributeType) {
    switch type {
    case .integer16, .integer32, .integer64:
      // One known model has "NO" as the default of an integer attribute, which was a Boolean before. In its compiled
      // form, the default is 0.
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
      self = UUID(uuidString: text).map { .uuid($0.uuidString) } ?? .string(text)
    case .uri:
      self = .uri(text)
    default:
      self = .string(text)
    }
  }
}
