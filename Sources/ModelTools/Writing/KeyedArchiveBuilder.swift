import ObjectModel

/// Collects the objects of a keyed archive that is being written. Each function that adds an object returns a
/// reference to it.
struct KeyedArchiveBuilder {
  static let null = PropertyList.uid(0)

  private var objects: [PropertyList] = [.string("$null")]
  private var scalars: [PropertyList.ScalarKey: PropertyList] = [:]
  private var classes: [String: PropertyList] = [:]

  /// Reserves a position in the object table for an object that is filled in later. In this way, objects can refer to
  /// each other.
  mutating func reserve() -> PropertyList {
    objects.append(.null)
    return .uid(UInt64(objects.count - 1))
  }

  /// Stores an object at a reserved position. `classNames` starts with the object's own class; its superclasses follow.
  mutating func fill(
    _ place: PropertyList, _ classNames: [String], _ fields: [String: PropertyList]
  ) {
    guard case .uid(let index) = place, index < UInt64(objects.count) else { return }
    var fields = fields
    fields["$class"] = classReference(classNames)
    objects[Int(index)] = .dictionary(fields)
  }

  mutating func add(_ classNames: [String], _ fields: [String: PropertyList]) -> PropertyList {
    let place = reserve()
    fill(place, classNames, fields)
    return place
  }

  /// Adds a value that is not a collection. Values with equal bits become one object.
  mutating func scalar(_ value: PropertyList) -> PropertyList {
    let key = value.scalarKey
    if let known = key.flatMap({ scalars[$0] }) { return known }
    objects.append(value)
    let reference = PropertyList.uid(UInt64(objects.count - 1))
    if let key { scalars[key] = reference }
    return reference
  }

  mutating func string(_ text: String?) -> PropertyList {
    text.map { scalar(.string($0)) } ?? Self.null
  }

  mutating func array(_ elements: [PropertyList]) -> PropertyList {
    add(["NSArray", "NSObject"], ["NS.objects": .array(elements)])
  }

  mutating func mutableArray(_ elements: [PropertyList]) -> PropertyList {
    add(["NSMutableArray", "NSArray", "NSObject"], ["NS.objects": .array(elements)])
  }

  mutating func set(_ elements: [PropertyList]) -> PropertyList {
    add(["NSSet", "NSObject"], ["NS.objects": .array(elements)])
  }

  mutating func dictionary(_ entries: [(String, PropertyList)]) -> PropertyList {
    let keys = entries.map { string($0.0) }
    return add(
      ["NSMutableDictionary", "NSDictionary", "NSObject"],
      ["NS.keys": .array(keys), "NS.objects": .array(entries.map(\.1))])
  }

  mutating func date(_ seconds: Double) -> PropertyList {
    add(["NSDate", "NSObject"], ["NS.time": .real(seconds)])
  }

  /// Adds a UUID. A string that is not a UUID is added as a string.
  mutating func uuid(_ text: String) -> PropertyList {
    guard let bytes = Hex.bytes(text.filter { $0 != "-" }), bytes.count == 16 else {
      return string(text)
    }
    return add(["NSUUID", "NSObject"], ["NS.uuidbytes": .data(bytes)])
  }

  mutating func url(_ text: String) -> PropertyList {
    add(["NSURL", "NSObject"], ["NS.base": Self.null, "NS.relative": string(text)])
  }

  /// Adds a decimal number. A string that is not a decimal number is added as a string.
  mutating func decimal(_ text: String) -> PropertyList {
    guard let parts = DecimalText.parts(text) else { return string(text) }
    let used = parts.mantissa.lastIndex { $0 != 0 } ?? -1
    return add(
      ["NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue", "NSObject"],
      [
        "NS.mantissa": .data(parts.mantissa), "NS.mantissa.bo": .integer(1),
        "NS.exponent": .integer(parts.exponent), "NS.negative": .bool(parts.negative),
        "NS.length": .integer(Int64((used + 2) / 2)), "NS.compact": .bool(true),
      ])
  }

  /// Adds a value, and everything inside the value, to the archive. A part that was not decoded is written as `$null`.
  mutating func value(_ value: ArchivedValue) -> PropertyList {
    switch value {
    case .null, .opaque: return Self.null
    case .bool(let flag): return scalar(.bool(flag))
    case .integer(let number): return scalar(.integer(number))
    case .real(let number): return scalar(.real(number))
    case .decimal(let digits): return decimal(digits)
    case .string(let text): return string(text)
    case .data(let bytes): return scalar(.data(bytes))
    case .date(let seconds): return date(seconds)
    case .uuid(let text): return uuid(text)
    case .url(let text): return url(text)
    case .array(let values): return array(list(values))
    case .set(let values): return set(list(values))
    case .dictionary(let entries):
      return add(
        ["NSDictionary", "NSObject"],
        [
          "NS.keys": .array(list(entries.map(\.key))),
          "NS.objects": .array(list(entries.map(\.value))),
        ])
    case .object(let object):
      var fields: [String: PropertyList] = [:]
      for name in ByteOrder.sorted(object.fields.keys) where name != "$class" {
        fields[name] = inline(object.fields[name] ?? .null)
      }
      return add(object.classNames, fields)
    }
  }

  private mutating func list(_ values: [ArchivedValue]) -> [PropertyList] {
    values.map { value($0) }
  }

  /// Returns what archivers store in a field of an object: a number or flag is stored in the field itself, any other
  /// value as a reference.
  private mutating func inline(_ value: ArchivedValue) -> PropertyList {
    switch value {
    case .bool(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    default: self.value(value)
    }
  }

  func bytes(root: PropertyList) -> [UInt8] { list(root: root).binaryBytes() }

  func list(root: PropertyList) -> PropertyList {
    .dictionary([
      "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
      "$top": .dictionary(["root": root]), "$objects": .array(objects),
    ])
  }

  private mutating func classReference(_ names: [String]) -> PropertyList {
    let name = names.first ?? "NSObject"
    if let known = classes[name] { return known }
    objects.append(
      .dictionary([
        "$classname": .string(name), "$classes": .array(names.map { .string($0) }),
      ]))
    let reference = PropertyList.uid(UInt64(objects.count - 1))
    classes[name] = reference
    return reference
  }
}
