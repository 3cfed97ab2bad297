/// An archived object of a class that this library does not decode: its fields are kept as they are.
public struct ArchivedObject: Sendable, Hashable {
  /// The class and its superclasses, most derived first; never empty.
  public let classNames: [String]
  /// The fields by name, as the class itself encoded them.
  public let fields: [String: ArchivedValue]

  /// Makes an object.
  public init(classNames: [String], fields: [String: ArchivedValue]) {
    self.classNames = classNames.isEmpty ? ["NSObject"] : classNames
    self.fields = fields
  }

  /// The class.
  public var className: String { classNames[0] }
}
