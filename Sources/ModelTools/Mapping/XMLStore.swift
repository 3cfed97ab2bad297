import Foundation
import ObjectModel

/// A Core Data XML store (`NSXMLStoreType`), read as data. Each object has its attributes as values and its
/// relationships as lists of ids.
///
/// Names are spelled as in the file: entity names in capitals, property names in lower case.
struct XMLStore {
  struct Object {
    /// The name of the entity, in capitals.
    let entityName: String
    let id: String
    let line: Int
    /// The attributes by name. An attribute whose element has no text is null.
    fileprivate(set) var attributes: [String: ArchivedValue] = [:]
    /// The ids of the objects that the relationships lead to, in file order, keyed by relationship name.
    fileprivate(set) var relationships: [String: [String]] = [:]
  }

  /// The maximum number of references between objects that are read. The largest known mapping model has a thousand.
  static let maximumReferenceCount = 1 << 19

  /// The objects in the order of the file. Their ids are unique, and every reference leads to one of these objects.
  private(set) var objects: [Object] = []
  private var places: [String: Int] = [:]

  subscript(id: String) -> Object? { places[id].map { objects[$0] } }

  /// Reads the XML.
  ///
  /// - Throws: ``ModelError``; `model.notAMapping` if the bytes are not a Core Data XML store.
  init(_ bytes: [UInt8]) throws(ModelError) {
    let document: HardenedXML
    do {
      document = try HardenedXML(bytes)
    } catch {
      throw error.code == .notAPropertyList
        ? ModelError(code: .notAMapping, message: error.message) : ModelError(error)
    }
    var reader = Reader()
    for event in document.events { try reader.take(event) }
    guard reader.isStore else {
      throw ModelError(code: .notAMapping, message: "The XML is not a Core Data store.")
    }
    objects = reader.objects
    places = reader.places
    for object in objects {
      for (name, ids) in object.relationships {
        guard let missing = ids.first(where: { places[$0] == nil }) else { continue }
        throw ModelError(
          code: .malformed,
          message: "The object \(object.id) refers in \(name) to \(missing), which does not exist. "
            + "The file may be cut short.", line: object.line)
      }
    }
  }

  private struct Reader {
    var isStore = false
    var objects: [Object] = []
    var places: [String: Int] = [:]
    private var path: [String] = []
    private var object: Object?
    private var attribute: (name: String, type: String, line: Int)?
    private var text = ""
    private var referenceCount = 0

    mutating func take(_ event: HardenedXML.Event) throws(ModelError) {
      switch event {
      case .start(let name, let attributes, let line):
        try start(name, attributes, line)
        path.append(name)
        text = ""
      case .text(let part):
        text += part
      case .end:
        let name = path.popLast() ?? ""
        try end(name)
        text = ""
      case .known: break
      }
    }

    private mutating func start(
      _ name: String, _ attributes: [String: String], _ line: Int
    ) throws(ModelError) {
      switch (path.last, name) {
      case (nil, "database"): isStore = true
      case (nil, _):
        throw ModelError(
          code: .notAMapping,
          message: "The XML begins with <\(name)>, so it is not a Core Data store.",
          line: line)
      case ("database", "object"):
        guard let type = attributes["type"], let id = attributes["id"], !id.isEmpty else {
          throw ModelError(
            code: .malformed, message: "An object in the XML store has no type or no id.",
            line: line)
        }
        object = Object(entityName: type, id: id, line: line)
      case ("object", "attribute"):
        guard let name = attributes["name"], object?.attributes[name] == nil else {
          throw ModelError(
            code: .malformed, message: "An attribute in the XML store has no name or occurs twice.",
            line: line)
        }
        attribute = (name, attributes["type"] ?? "", line)
      case ("object", "relationship"):
        guard let name = attributes["name"], object?.relationships[name] == nil else {
          throw ModelError(
            code: .malformed,
            message: "A relationship in the XML store has no name or occurs twice.",
            line: line)
        }
        let text = attributes["idrefs"] ?? ""
        referenceCount += text.utf8.count { $0 == 0x20 } + 1
        guard referenceCount <= XMLStore.maximumReferenceCount else {
          throw ModelError(
            code: .tooLarge, message: "The store has too many references for a mapping model.",
            line: line)
        }
        object?.relationships[name] = text.utf8.split(separator: 0x20)
          .map { String(Substring($0)) }
      default: break
      }
    }

    private mutating func end(_ name: String) throws(ModelError) {
      switch (path.last, name) {
      case ("database", "object"):
        guard let object else { return }
        guard places.updateValue(objects.count, forKey: object.id) == nil else {
          throw ModelError(
            code: .duplicateName, message: "There are two objects with the id \(object.id).",
            line: object.line)
        }
        objects.append(object)
        self.object = nil
      case ("object", "attribute"):
        guard let attribute else { return }
        let value = try value(attribute)
        object?.attributes[attribute.name] = value
        self.attribute = nil
      default: break
      }
    }

    /// Converts the text of the current XML element to the attribute type that the element states. Text of an unknown
    /// type becomes a string.
    private func value(
      _ attribute: (name: String, type: String, line: Int)
    ) throws(ModelError) -> ArchivedValue {
      let damaged = ModelError(
        code: .malformed,
        message: "The value of the attribute \(attribute.name) is not of type \(attribute.type).",
        line: attribute.line)
      switch attribute.type {
      case "string": return .string(text)
      case "bool", "int16", "int32", "int64":
        guard !text.isEmpty else { return .null }
        if attribute.type == "bool", let flag = SwitchText.value(text) { return .bool(flag) }
        guard let number = Int64(text) else { throw damaged }
        return attribute.type == "bool" ? .bool(number != 0) : .integer(number)
      case "float", "double", "date":
        guard !text.isEmpty else { return .null }
        guard let number = Double(text) else { throw damaged }
        return attribute.type == "date" ? .date(number) : .real(number)
      case "binary":
        guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
          throw damaged
        }
        return .data(Array(data))
      default: return .string(text)
      }
    }
  }
}
