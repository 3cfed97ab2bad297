/// A keyed archive (`NSKeyedArchiver`) read as data: a table of objects that refer to each other by index. No class
/// that the archive names is ever instantiated.
///
/// The object graph may be cyclic, so each accessor follows only one reference at a time.
package struct KeyedArchive: Sendable, Hashable {
  /// The object table (`$objects`). The object at index 0 is the archive's nil.
  package let objects: [PropertyList]
  /// The named entry points (`$top`). There is usually only the one named `root`.
  package let top: [String: PropertyList]

  /// Reads a keyed archive in the form of a binary or XML property list.
  ///
  /// - Throws: ``PropertyListError``; `plist.notAnArchive` if the bytes are a property list but not a keyed archive.
  package init(bytes: [UInt8]) throws(PropertyListError) {
    try self.init(PropertyList(bytes: bytes))
  }

  /// Reads a model file that must be a keyed archive.
  ///
  /// - Throws: ``ModelError``, which has `code` and `message` if the bytes are not a keyed archive. If the property
  ///   list is damaged, the error describes the damage.
  package init(bytes: [UInt8], orThrow code: ModelError.Code, _ message: String) throws(ModelError)
  {
    do {
      try self.init(bytes: bytes)
    } catch {
      switch error.code {
      case .notAPropertyList, .notAnArchive:
        throw ModelError(code: code, message: message, offset: error.offset)
      default: throw ModelError(error)
      }
    }
  }

  /// Makes an archive from a property list.
  ///
  /// - Throws: ``PropertyListError``; `plist.notAnArchive` if the list is not a keyed archive.
  package init(_ list: PropertyList) throws(PropertyListError) {
    guard let objects = list["$objects"]?.elements, let top = list["$top"]?.entries else {
      throw PropertyListError(
        code: .notAnArchive, message: "This property list is not a keyed archive.")
    }
    self.objects = objects
    self.top = top
  }

  /// The root object of the archive: the object under the key `root` of the archive's `$top` dictionary or, without
  /// this key, the only object in `$top`. Nil for any other archive.
  package var root: PropertyList? {
    if let root = top["root"] { return root }
    return top.count == 1 ? top.first?.value : nil
  }
}

// MARK: - Following references

extension KeyedArchive {
  /// Returns the object to which a reference leads. A value that is not a reference is returned unchanged. Nil for the
  /// archive's nil (index 0, `$null`), for a reference to an object that does not exist, and if `value` is nil.
  package func resolve(_ value: PropertyList?) -> PropertyList? {
    guard let value else { return nil }
    guard case .uid(let index) = value else { return value == .null ? nil : value }
    guard index != 0, index < UInt64(objects.count) else { return nil }
    let object = objects[Int(index)]
    // No archiver writes a reference to a reference.
    if case .uid = object { return nil }
    return object == .null ? nil : object
  }

  /// Whether the content of a field is nil, null, or a reference to the archive's nil. False for a reference to a
  /// missing object.
  package func isNull(_ value: PropertyList?) -> Bool {
    switch value {
    case nil, .null, .uid(0): true
    case .uid(let index): index < UInt64(objects.count) && objects[Int(index)] == .null
    default: false
    }
  }

  /// Returns the index of the object to which a reference leads, which identifies the object. Nil for the archive's
  /// nil, and for a value that is not a reference.
  package func index(_ value: PropertyList?) -> Int? {
    guard case .uid(let index)? = value, index != 0, index < UInt64(objects.count) else {
      return nil
    }
    return Int(index)
  }

  /// Returns the class name of an object; nil for plain values, for example strings and numbers.
  package func className(of value: PropertyList?) -> String? {
    classDescription(of: value)?["$classname"]?.stringValue
  }

  /// Returns the names of an object's class and of its superclasses, the most derived first; empty for plain values.
  package func classNames(of value: PropertyList?) -> [String] {
    guard let description = classDescription(of: value) else { return [] }
    let names = Self.classes(description).compactMap(\.stringValue)
    guard names.isEmpty, let name = description["$classname"]?.stringValue else { return names }
    return [name]
  }

  package func isKind(_ value: PropertyList?, of className: String) -> Bool {
    guard let description = classDescription(of: value) else { return false }
    if case .string(className)? = description["$classname"] { return true }
    for element in Self.classes(description) {
      if case .string(className) = element { return true }
    }
    return false
  }

  /// Returns the stored names of a class and of its superclasses, at most 64. No real class has more, and in a hostile
  /// archive many objects may share a long list.
  private static func classes(_ description: PropertyList) -> ArraySlice<PropertyList> {
    description["$classes"]?.elements?.prefix(64) ?? []
  }

  /// Returns the stored content of an object's field: a reference or an inline value; nil if the object has no such
  /// field.
  package func field(_ name: String, of value: PropertyList?) -> PropertyList? {
    resolve(value)?[name]
  }

  private func classDescription(of value: PropertyList?) -> PropertyList? {
    resolve(resolve(value)?["$class"])
  }
}

// MARK: - Decoding one object

extension KeyedArchive {
  /// Returns the text of a string object (plain, `NSString` or `NSMutableString`); nil for any other object.
  package func string(_ value: PropertyList?) -> String? {
    guard let object = resolve(value) else { return nil }
    if case .string(let text) = object { return text }
    switch resolve(object["NS.string"]) ?? resolve(object["NS.bytes"]) {
    case .string(let text): return text
    case .data(let bytes): return String(decoding: bytes, as: UTF8.self)
    default: return nil
    }
  }

  /// Returns the integer that is stored as a number object or directly as a number. Nil for a number with a fraction,
  /// and for any other value.
  package func integer(_ value: PropertyList?) -> Int64? {
    switch number(value) {
    case .integer(let value): value
    case .bool(let value): value ? 1 : 0
    case .real(let value): Int64(exactly: value)
    default: nil
    }
  }

  /// Returns the floating-point value of a number object or inline number; nil for any other value.
  package func real(_ value: PropertyList?) -> Double? {
    switch number(value) {
    case .integer(let value): Double(value)
    case .real(let value): value
    default: nil
    }
  }

  /// Returns the truth value of a number object or inline number; nil for any other value.
  package func bool(_ value: PropertyList?) -> Bool? {
    number(value)?.boolValue
  }

  private func number(_ value: PropertyList?) -> PropertyList? {
    guard let object = resolve(value) else { return nil }
    guard case .dictionary(let fields) = object else { return object }
    return fields["NS.boolval"] ?? fields["NS.intval"] ?? fields["NS.dblval"]
  }

  /// Returns the date of an `NSDate` in seconds since the start of 2001, UTC; nil for any other object.
  package func date(_ value: PropertyList?) -> Double? {
    guard let object = resolve(value) else { return nil }
    if case .date(let seconds) = object { return seconds }
    return real(object["NS.time"])
  }

  /// Returns the bytes of an `NSData` or of inline data; nil for any other object.
  package func data(_ value: PropertyList?) -> [UInt8]? {
    guard let object = resolve(value) else { return nil }
    if case .data(let bytes) = object { return bytes }
    return resolve(object["NS.data"])?.dataValue
  }

  /// Returns the text of an `NSUUID`, uppercase with hyphens; nil for any other object.
  package func uuid(_ value: PropertyList?) -> String? {
    guard let bytes = resolve(field("NS.uuidbytes", of: value))?.dataValue, bytes.count == 16
    else { return nil }
    let hex = Array(Hex.string(bytes).uppercased())
    let ranges = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
    return ranges.map { String(hex[$0]) }.joined(separator: "-")
  }

  /// Returns the text of an `NSDecimalNumber` (archived as `NSDecimalNumberPlaceholder`), without exponent. Nil for any
  /// other object.
  package func decimal(_ value: PropertyList?) -> String? {
    guard let object = resolve(value), var mantissa = resolve(object["NS.mantissa"])?.dataValue,
      let exponent = integer(object["NS.exponent"])
    else { return nil }
    // The mantissa has 16-bit units in the byte order of the writing machine: 1 is little-endian, 2 is big-endian.
    if integer(object["NS.mantissa.bo"]) == 2, mantissa.count % 2 == 0 {
      for index in stride(from: 0, to: mantissa.count, by: 2) {
        mantissa.swapAt(index, index + 1)
      }
    }
    return DecimalText.text(
      mantissa: mantissa, exponent: exponent, negative: bool(object["NS.negative"]) ?? false)
  }

  /// Returns the elements of an archived array or set as they are stored: an element may be a reference that is not
  /// resolved. Returns nil for any other object.
  package func elements(_ value: PropertyList?) -> [PropertyList]? {
    guard let object = resolve(value) else { return nil }
    if let elements = object.elements { return elements }
    guard object["NS.keys"] == nil else { return nil }
    return resolve(object["NS.objects"])?.elements
  }

  /// Returns the stored keys and values of a dictionary object, in the order of the archive, with references not
  /// followed. Nil for any other object, and if the number of keys differs from the number of values.
  ///
  /// Core Data writes `NSKnownKeysDictionary1` in cached models. The keys of such a dictionary are in a separate
  /// object, its `searchMapping`.
  package func entries(_ value: PropertyList?) -> [(key: PropertyList, value: PropertyList)]? {
    guard let object = resolve(value) else { return nil }
    if let keys = resolve(object["NS.keys"])?.elements,
      let values = resolve(object["NS.objects"])?.elements
    {
      guard keys.count == values.count else { return nil }
      return zip(keys, values).map { ($0, $1) }
    }
    if let keys = elements(field("keys", of: object["searchMapping"])),
      let values = elements(object["values"])
    {
      guard keys.count == values.count else { return nil }
      return zip(keys, values).map { ($0, $1) }
    }
    return nil
  }
}
