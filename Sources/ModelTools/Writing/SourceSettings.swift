package import ObjectModel

/// The settings that a `contents` file holds in addition to the managed object model: the tools that saved the file,
/// and XML attributes that have no meaning for Core Data.
package struct SourceSettings: Sendable, Hashable {
  /// The XML attributes of `<model>` that are settings, by name.
  package var model: [String: String]
  /// Whether an entity that is not in ``entities`` is written as syncable, as Xcode does for new entities.
  package var newEntitiesAreSyncable = true
  /// The settings of entities, as XML attributes. The outer key is the entity name, and the inner key is the name of
  /// the XML attribute.
  package var entities: [String: [String: String]]
  /// The settings of properties, as XML attributes. The outer key is the entity name, the next key the property name,
  /// and the innermost key the name of the XML attribute.
  package var properties: [String: [String: [String: String]]]

  /// Makes the settings that Xcode 15.4 writes for a new model. ``entities`` and ``properties`` are empty.
  ///
  /// The settings of a `contents` file name the tools that saved the file. Xcode opens files with any tool names.
  package init() {
    model = [
      "documentVersion": "1.0", "lastSavedToolsVersion": "22758", "systemVersion": "23E224",
      "minimumToolsVersion": "Automatic", "sourceLanguage": "Swift",
    ]
    entities = [:]
    properties = [:]
  }

  /// The XML attributes of `<model>` that are settings.
  static let modelAttributes = [
    "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
    "sourceLanguage", "macOSVersion", "iOSVersion", "name",
  ]
  /// The XML attributes of `<entity>` that are settings.
  static let entityAttributes = ["syncable"]
  /// The XML attributes of a property element, such as `<attribute>`, that are kept as settings.
  static let propertyAttributes = ["syncable"]
}

extension SourceSettings {
  /// Reads the settings from a `contents` file.
  ///
  /// - Throws: ``ModelError`` if the bytes are not readable XML.
  package init(contentsXML bytes: [UInt8]) throws(ModelError) {
    let document: HardenedXML
    do {
      document = try HardenedXML(bytes)
    } catch {
      throw ModelError(error)
    }
    self.init()
    model = [:]
    newEntitiesAreSyncable = false
    var path: [String] = []
    var entity: String?
    for event in document.events {
      switch event {
      case .start(let name, let attributes, _):
        switch (path.last, name) {
        case (nil, "model"): model = Self.picked(attributes, Self.modelAttributes)
        case ("model", "entity"):
          entity = attributes["name"]
          guard let entity else { break }
          var settings = Self.picked(attributes, Self.entityAttributes)
          // The class `NSManagedObject` is the default, so the model is the same without its name.
          if attributes["representedClassName"] == "NSManagedObject" {
            settings["representedClassName"] = "NSManagedObject"
          }
          if !settings.isEmpty { entities[entity] = settings }
        case ("entity", "attribute"), ("entity", "relationship"), ("entity", "fetchedProperty"):
          guard let entity, let property = attributes["name"] else { break }
          let settings = Self.picked(attributes, Self.propertyAttributes)
          if !settings.isEmpty { properties[entity, default: [:]][property] = settings }
        default: break
        }
        path.append(name)
      case .end: path.removeLast()
      case .text, .known: break
      }
    }
  }

  private static func picked(_ attributes: [String: String], _ names: [String]) -> [String: String]
  {
    attributes.filter { names.contains($0.key) }
  }
}
