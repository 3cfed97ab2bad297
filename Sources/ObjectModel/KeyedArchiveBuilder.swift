/// Collects the objects of a keyed archive that is being written.
struct KeyedArchiveBuilder {
  /// The archive's nil.
  static let null = PropertyList.uid(0)

  private var objects: [PropertyList] = [.string("$null")]
  private var scalars: [PropertyList: PropertyList] = [:]
  private var classes: [String: PropertyList] = [:]

  /// A place for an object that is filled in later, for references that go round.
  mutating func reserve() -> PropertyList {
    objects.append(.null)
    return .uid(UInt64(objects.count - 1))
  }

  /// Fills a place that was reserved.
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

  /// A plain value as an object of its own; equal ones are stored once.
  mutating func scalar(_ value: PropertyList) -> PropertyList {
    if let known = scalars[value] { return known }
    objects.append(value)
    let reference = PropertyList.uid(UInt64(objects.count - 1))
    scalars[value] = reference
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
    var keys: [PropertyList] = []
    for entry in entries { keys.append(string(entry.0)) }
    return add(
      ["NSMutableDictionary", "NSDictionary", "NSObject"],
      ["NS.keys": .array(keys), "NS.objects": .array(entries.map(\.1))])
  }

  func bytes(root: PropertyList) -> [UInt8] {
    PropertyList.dictionary([
      "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
      "$top": .dictionary(["root": root]), "$objects": .array(objects),
    ]).binaryBytes()
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
