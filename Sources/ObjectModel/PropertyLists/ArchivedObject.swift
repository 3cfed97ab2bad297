/// An archived object of a class that this library does not decode. Its fields are kept by name.
public struct ArchivedObject: Sendable, Hashable {
  /// The names of the class and of its superclasses, the most derived first. The list is never empty.
  public let classNames: [String]
  /// The fields by name, with the values that the object's class encoded.
  public let fields: [String: ArchivedValue]

  /// Makes an object. If `classNames` is empty, then the object is given the class `NSObject`.
  public init(classNames: [String], fields: [String: ArchivedValue]) {
    self.classNames = classNames.isEmpty ? ["NSObject"] : classNames
    self.fields = fields
  }

  /// The name of the object's own class, the first of ``classNames``.
  public var className: String { classNames[0] }
}
