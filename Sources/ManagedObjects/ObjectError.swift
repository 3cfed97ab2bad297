/// Why an object cannot be read or changed as asked.
public struct ObjectError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier, the same in messages and in JSON.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as it is printed, such as `object.noSuchProperty`.
    public let rawValue: String
    /// A code with this identifier; an unknown one is kept.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The model has no entity of that name, or only an abstract one.
    public static let noSuchEntity = Code(rawValue: "object.noSuchEntity")
    /// The entity has no property of that name and kind.
    public static let noSuchProperty = Code(rawValue: "object.noSuchProperty")
    /// The property cannot have the value, or cannot lead to the object.
    public static let wrongType = Code(rawValue: "object.wrongType")
    /// The objects are those of the old store, which is only read.
    public static let readOnly = Code(rawValue: "object.readOnly")
    /// The table has no row with the object's key.
    public static let gone = Code(rawValue: "object.gone")
    /// A relationship whose delete rule is Deny leads to objects.
    public static let denied = Code(rawValue: "object.denied")
    /// The keys of the table are used up.
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

  /// The sentence that a log shows.
  public var description: String { "\(message) (\(code.rawValue))" }
}
