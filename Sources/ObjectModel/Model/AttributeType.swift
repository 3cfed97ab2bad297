/// The type of an attribute, identified by the number that Core Data stores for it (`NSAttributeType`).
///
/// Any number can be read. The known types have constants and names.
public struct AttributeType: RawRepresentable, Sendable, Hashable, Codable {
  /// The number of the type in the archived model and in the version hash.
  public let rawValue: Int32

  /// Makes a type from its number, which may be unknown.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// No type. Core Data allows a missing type only for transient attributes.
  public static let undefined = AttributeType(rawValue: 0)
  /// An integer of 16 bits.
  public static let integer16 = AttributeType(rawValue: 100)
  /// An integer of 32 bits.
  public static let integer32 = AttributeType(rawValue: 200)
  /// An integer of 64 bits.
  public static let integer64 = AttributeType(rawValue: 300)
  /// A decimal number. SQLite stores keep decimal numbers as floating-point values.
  public static let decimal = AttributeType(rawValue: 400)
  /// A floating-point number of 64 bits.
  public static let double = AttributeType(rawValue: 500)
  /// A floating-point number of 32 bits.
  public static let float = AttributeType(rawValue: 600)
  /// Text.
  public static let string = AttributeType(rawValue: 700)
  /// True or false.
  public static let boolean = AttributeType(rawValue: 800)
  /// A date, stored as seconds since the start of 2001, UTC.
  public static let date = AttributeType(rawValue: 900)
  /// Bytes.
  public static let binary = AttributeType(rawValue: 1000)
  /// A UUID, stored as 16 bytes.
  public static let uuid = AttributeType(rawValue: 1100)
  /// The text of a URI.
  public static let uri = AttributeType(rawValue: 1200)
  /// An object that a value transformer converts to bytes.
  public static let transformable = AttributeType(rawValue: 1800)
  /// The ID of a managed object. Such an ID is never stored.
  public static let objectID = AttributeType(rawValue: 2000)
  /// A composite of several elements, which are attributes themselves (iOS 17).
  public static let composite = AttributeType(rawValue: 2100)

  /// The known types, in ascending order of their numbers.
  public static let known: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean,
    .date, .binary, .uuid, .uri, .transformable, .objectID, .composite,
  ]

  /// Apple's name for the type, as in an `.xcdatamodel`: "Integer 16". An unknown number gives text such as "Type 17".
  public var name: String {
    switch self {
    case .undefined: "Undefined"
    case .integer16: "Integer 16"
    case .integer32: "Integer 32"
    case .integer64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binary: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .objectID: "Object ID"
    case .composite: "Composite"
    default: "Type \(rawValue)"
    }
  }

  /// Makes a type from its name in an `.xcdatamodel` (`attributeType`); nil for an unknown name.
  public init?(name: String) {
    guard let type = Self.known.first(where: { $0.name == name }) else {
      // Xcode writes "Object ID". Older documentation writes it as one word.
      guard name == "ObjectID" else { return nil }
      self = .objectID
      return
    }
    self = type
  }

  /// The class name that Xcode's compiler writes as `NSAttributeValueClassName` if the model names no class; nil if the
  /// compiler writes null for this type.
  package var standardValueClassName: String? {
    switch self {
    case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
    case .decimal: "NSDecimalNumber"
    case .string: "NSString"
    case .date: "NSDate"
    case .binary: "NSData"
    case .uuid: "NSUUID"
    case .uri: "NSURL"
    default: nil
    }
  }
}

extension AttributeType: CustomStringConvertible {
  /// The same as ``name``.
  public var description: String { name }
}
