/// The error for an object that cannot be read or changed as asked.
public struct ObjectError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier, the same in messages and in JSON.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as it is printed, such as `object.noSuchProperty`.
    public let rawValue: String
    /// Makes a code of an identifier. An unknown identifier is kept.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The model has no entity of that name, or only an abstract one.
    public static let noSuchEntity = Code(rawValue: "object.noSuchEntity")
    /// The entity has no property of that name and kind.
    public static let noSuchProperty = Code(rawValue: "object.noSuchProperty")
    /// The property cannot have the value, or the relationship cannot lead to the object.
    public static let wrongType = Code(rawValue: "object.wrongType")
    /// An object of the old store was to be changed. The old store is only read.
    public static let readOnly = Code(rawValue: "object.readOnly")
    /// The row of the object is not in its table any more.
    public static let gone = Code(rawValue: "object.gone")
    /// The object cannot be deleted: a relationship with the delete rule Deny leads to other objects.
    public static let denied = Code(rawValue: "object.denied")
    /// A new object cannot get a primary key, because the highest one is in use.
    public static let noRoom = Code(rawValue: "object.noRoom")
  }

  /// The code that says what kind of failure this is.
  public let code: Code
  /// What is wrong, in a sentence without a full stop.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message with the code in parentheses, for a log.
  public var description: String { "\(message) (\(code.rawValue))" }
}
