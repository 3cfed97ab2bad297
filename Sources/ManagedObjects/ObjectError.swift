/// An error that is thrown when an object cannot be read or changed as requested.
public struct ObjectError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier, which messages and JSON contain unchanged.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as a string, for example `object.noSuchProperty`.
    public let rawValue: String
    /// Makes a code from an identifier. Unknown identifiers are allowed.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The model has no entity with the given name, or the entity is abstract.
    public static let noSuchEntity = Code(rawValue: "object.noSuchEntity")
    /// The entity has no property with the given name and of the expected kind: attribute, to-one or to-many
    /// relationship.
    public static let noSuchProperty = Code(rawValue: "object.noSuchProperty")
    /// The value does not have the attribute's type, or the object cannot be a destination of the relationship.
    public static let wrongType = Code(rawValue: "object.wrongType")
    /// The caller tried to change an object of the old store, which is read-only.
    public static let readOnly = Code(rawValue: "object.readOnly")
    /// The object's row no longer exists in its table.
    public static let gone = Code(rawValue: "object.gone")
    /// The object cannot be deleted, because a relationship with the delete rule Deny leads to objects that would not
    /// be deleted.
    public static let denied = Code(rawValue: "object.denied")
    /// A new object cannot get a primary key, because the highest possible key is in use.
    public static let noRoom = Code(rawValue: "object.noRoom")
  }

  /// The kind of failure.
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
