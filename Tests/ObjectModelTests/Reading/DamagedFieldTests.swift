@testable import ModelTools
import Testing

@testable import ObjectModel

/// A field of a wrong type is an error: a default in its place would give the hashes of another
/// model.
struct DamagedFieldTests {
  private static let wrong: [PropertyList] = [
    .string("YES"), .real(0.5), .integer(7_000_000_000), .integer(-7), .data([1]),
    .uid(4_000_000),
  ]

  /// The archive with a field of all objects of a class exchanged; nil removes it.
  private static func read(
    _ className: String, _ key: String, _ value: PropertyList?
  ) throws -> ManagedObjectModel {
    let list = try PropertyList(binary: Fixture.model.archive(form: .compiled).bytes)
    let archive = try KeyedArchive(list)
    var objects = archive.objects
    for place in objects.indices where archive.className(of: objects[place]) == className {
      guard var fields = objects[place].entries else { continue }
      fields[key] = value
      objects[place] = .dictionary(fields)
    }
    var damaged = try #require(list.entries)
    damaged["$objects"] = .array(objects)
    return try ManagedObjectModel(archive: PropertyList.dictionary(damaged).binaryBytes())
  }

  private static func isMalformed(
    _ className: String, _ key: String, _ value: PropertyList?
  ) throws -> Bool {
    do {
      _ = try read(className, key, value)
      return false
    } catch let error as ModelError {
      return error.code == .malformed && error.message.contains(key)
    }
  }

  @Test(arguments: [
    ("NSEntityDescription", "NSIsAbstract"), ("NSEntityDescription", "NSProperties"),
    ("NSEntityDescription", "NSUniqueTuples"), ("NSEntityDescription", "NSUserInfo"),
    ("NSEntityDescription", "NSSuperentity"), ("NSManagedObjectModel", "NSEntities"),
    ("NSAttributeDescription", "NSIsOptional"), ("NSAttributeDescription", "NSIsTransient"),
    ("NSAttributeDescription", "NSIsReadOnly"), ("NSAttributeDescription", "NSAttributeType"),
    ("NSAttributeDescription", "NSFlagsKey"), ("NSRelationshipDescription", "NSMinCount"),
    ("NSRelationshipDescription", "NSMaxCount"), ("NSRelationshipDescription", "NSIsOrdered"),
  ])
  func wrongType(_ className: String, _ key: String) throws {
    for value in Self.wrong {
      #expect(try Self.isMalformed(className, key, value), "\(key) \(value)")
    }
  }

  @Test(arguments: [
    ("NSEntityDescription", "NSProperties"), ("NSAttributeDescription", "NSAttributeType"),
    ("NSRelationshipDescription", "NSMinCount"), ("NSRelationshipDescription", "NSMaxCount"),
  ])
  func missing(_ className: String, _ key: String) throws {
    #expect(try Self.isMalformed(className, key, nil))
  }

  @Test func wrongDictionaries() throws {
    for key in ["NS.keys", "NS.objects"] {
      let error = #expect(throws: ModelError.self) {
        _ = try Self.read("NSMutableDictionary", key, .array([]))
      }
      #expect(error?.code == .malformed)
    }
    let error = #expect(throws: ModelError.self) {
      _ = try Self.read(
        "NSMutableDictionary", "NS.keys", .array([.integer(1), .integer(2), .integer(3)]))
    }
    #expect(error?.code == .malformed)
  }

  @Test(arguments: [
    #"<entity name="A" isAbstract="TRUTH"/>"#,
    #"<entity name="A"><attribute name="b" optional="perhaps"/></entity>"#,
    #"<entity name="A"><attribute name="b" transient=" "/></entity>"#,
    #"<entity name="A"><relationship name="b" ordered="2"/></entity>"#,
  ])
  func wrongSwitch(_ entity: String) {
    let text = #"<?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel">"#
    let error = #expect(throws: ModelError.self) {
      _ = try ManagedObjectModel(contentsXML: Array((text + entity + "</model>").utf8))
    }
    #expect(error?.code == .malformed)
    #expect(error?.message.contains("must be YES or NO") == true)
  }
}
