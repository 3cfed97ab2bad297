import ObjectModel

/// Decodes an archive of `NSKeyedArchiver` into a tree of values. No class is looked up and nothing is instantiated: an
/// object becomes a dictionary with the name of its class.
///
/// In such an archive, `$objects` lists all objects, and a reference is an index in this list. `$top` has the roots.
/// The `$class` of each object refers to a dictionary with `$classname`.
struct ArchiveTree {
  /// The maximum numbers of values and of levels in a tree. In a hostile archive, a few objects that refer to each
  /// other would make an endless tree.
  static let limit = (values: 20_000, depth: 40)

  private let objects: [PropertyList]
  private var left = Self.limit.values
  /// The indexes of the objects that enclose the current value, to detect cycles.
  private var open: Set<Int> = []

  /// Returns the tree of a keyed archive; nil if the property list is not a keyed archive.
  static func tree(of list: PropertyList) -> PropertyList? {
    guard case .dictionary(let members) = list,
      case .string("NSKeyedArchiver")? = members["$archiver"],
      case .array(let objects)? = members["$objects"], case .dictionary(let top)? = members["$top"]
    else { return nil }
    var tree = ArchiveTree(objects: objects)
    let values = top.mapValues { tree.value($0, depth: 0) }
    return values.count == 1 ? values.first?.value : .dictionary(values)
  }

  private init(objects: [PropertyList]) { self.objects = objects }

  private mutating func value(_ list: PropertyList, depth: Int) -> PropertyList {
    left -= 1
    guard left > 0, depth < Self.limit.depth else { return .string("…") }
    switch list {
    case .uid(let number):
      guard let place = Int(exactly: number), place < objects.count else {
        return .string("no object \(number)")
      }
      // The object with index 0 stands for nil.
      if place == 0 { return .null }
      guard open.insert(place).inserted else { return .dictionary(["$cycle": .uid(number)]) }
      defer { open.remove(place) }
      return value(objects[place], depth: depth + 1)
    case .array(let values): return .array(values.map { value($0, depth: depth + 1) })
    case .set(let values): return .set(values.map { value($0, depth: depth + 1) })
    case .dictionary(let members): return object(members, depth: depth)
    default: return list
    }
  }

  private mutating func object(_ members: [String: PropertyList], depth: Int) -> PropertyList {
    let className = name(of: members["$class"])
    if let plain = plain(members, of: className, depth: depth) { return plain }
    var values: [String: PropertyList] = [:]
    for (key, member) in members.sorted(by: { $0.key < $1.key }) where key != "$class" {
      values[key] = value(member, depth: depth + 1)
    }
    if let className { values["$class"] = .string(className) }
    return .dictionary(values)
  }

  private func name(of reference: PropertyList?) -> String? {
    guard case .uid(let number)? = reference, let place = Int(exactly: number),
      place < objects.count, case .dictionary(let described) = objects[place],
      case .string(let name)? = described["$classname"]
    else { return nil }
    return name
  }

  /// Returns the value that an object holds, if the object's class is one of Foundation's own; otherwise nil.
  private mutating func plain(
    _ members: [String: PropertyList], of className: String?, depth: Int
  ) -> PropertyList? {
    switch className {
    case "NSString"?, "NSMutableString"?: return members["NS.string"]
    case "NSData"?, "NSMutableData"?: return members["NS.data"]
    case "NSDate"?:
      if case .real(let seconds)? = members["NS.time"] { return .date(seconds) }
    case "NSUUID"?: return members["NS.uuidbytes"]
    case "NSURL"?:
      guard case .null? = members["NS.base"].map({ value($0, depth: depth + 1) }) else {
        return nil
      }
      return members["NS.relative"].map { value($0, depth: depth + 1) }
    case "NSArray"?, "NSMutableArray"?, "NSSet"?, "NSMutableSet"?, "NSOrderedSet"?,
      "NSMutableOrderedSet"?:
      guard case .array(let values)? = members["NS.objects"] else { return nil }
      return .array(values.map { value($0, depth: depth + 1) })
    case "NSDictionary"?, "NSMutableDictionary"?:
      guard case .array(let keys)? = members["NS.keys"],
        case .array(let values)? = members["NS.objects"], keys.count == values.count
      else { return nil }
      var result: [String: PropertyList] = [:]
      for (key, member) in zip(keys, values) {
        guard case .string(let name) = value(key, depth: depth + 1), result[name] == nil else {
          return nil
        }
        result[name] = value(member, depth: depth + 1)
      }
      return .dictionary(result)
    default: break
    }
    return nil
  }
}
