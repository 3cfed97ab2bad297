@testable import ModelTools
@testable import ObjectModel

/// Writes models as Xcode's editor does, for tests: an element is a class of UML, everything else is
/// a tagged value of a stereotype.
struct EditorArchive {
  private static let element = ["XDUMLNamedElementImp", "XDUMLElementImp", "NSObject"]

  var builder = KeyedArchiveBuilder()

  mutating func bytes(
    entities: [(String, PropertyList)], identifier: String? = nil,
    configurations: [(String, PropertyList)] = [], packages: [(String, PropertyList)] = []
  ) -> [UInt8] {
    let package = package(entities: entities, packages: packages)
    let configurations = builder.dictionary(configurations)
    let root = builder.add(
      ["XDPMModel", "XDModel", "NSObject"],
      [
        "_xd_rootPackage": package, "_configurationsByName": configurations,
        "_modelVersionIdentifier": builder.string(identifier),
      ])
    return builder.bytes(root: root)
  }

  mutating func package(
    entities: [(String, PropertyList)], packages: [(String, PropertyList)] = []
  ) -> PropertyList {
    let classes = builder.dictionary(entities)
    let packages = builder.dictionary(packages)
    return builder.add(
      ["XDModelPackage", "XDUMLPackageImp"] + Self.element,
      ["XDBucketForClassesstorage": classes, "XDBucketForPackagesstorage": packages])
  }

  /// Fills a place that was reserved, so that elements can refer to each other.
  mutating func entity(
    _ place: PropertyList, _ name: String?, properties: [(String, PropertyList)] = [],
    parent: PropertyList? = nil, tags: [(String, PropertyList)] = []
  ) {
    let generalizations = parent.map { parent in
      [builder.add(["XDUMLGeneralizationImp"] + Self.element, ["_general": parent])]
    }
    let fields: [String: PropertyList] = [
      "_name": builder.string(name),
      "XDBucketForOwnedAttributesstorage": builder.dictionary(properties),
      "XDBucketForGeneralizationsstorage": builder.mutableArray(generalizations ?? []),
      "XDBucketForStereotypesstorage": stereotypes(["XD_PStereotype": tags]),
    ]
    builder.fill(place, ["XDPMEntity", "XDUMLClassImp"] + Self.element, fields)
  }

  mutating func property(
    _ className: String, _ name: String, tags: [String: [(String, PropertyList)]],
    owner: PropertyList = KeyedArchiveBuilder.null, at place: PropertyList? = nil
  ) -> PropertyList {
    let fields: [String: PropertyList] = [
      "_name": builder.string(name), "_owner": owner,
      "XDBucketForStereotypesstorage": stereotypes(tags),
    ]
    let place = place ?? builder.reserve()
    builder.fill(place, [className, "XDPMProperty", "XDUMLPropertyImp"] + Self.element, fields)
    return place
  }

  mutating func attribute(_ name: String, _ type: AttributeType) -> PropertyList {
    property(
      "XDPMAttribute", name,
      tags: ["XD_PAtt_Stereotype": [("XD_PAttK_attributeType", .integer(Int64(type.rawValue)))]])
  }

  mutating func request(
    _ name: String, entity: PropertyList, predicate: String?,
    property: PropertyList = KeyedArchiveBuilder.null
  ) -> PropertyList {
    builder.add(
      ["XDPMFetchRequest", "NSObject"],
      [
        "_name": builder.string(name), "_entity": entity,
        "_predicateString": builder.string(predicate), "_fetchedProperty": property,
      ])
  }

  private mutating func stereotypes(
    _ stereotypes: [String: [(String, PropertyList)]]
  ) -> PropertyList {
    var entries: [(String, PropertyList)] = []
    for name in stereotypes.keys.sorted() {
      var values: [(String, PropertyList)] = []
      for (tag, value) in stereotypes[name] ?? [] {
        values.append(
          (
            tag,
            builder.add(
              ["XDUMLPropertyImp"] + Self.element,
              ["_name": builder.string(tag), "_default": value])
          ))
      }
      let storage = builder.dictionary(values)
      entries.append(
        (
          name,
          builder.add(
            ["XDUMLStereotypeImp"] + Self.element,
            [
              "_name": builder.string(name), "XDBucketForOwnedAttributesstorage": storage,
            ])
        ))
    }
    return builder.dictionary(entries)
  }
}
