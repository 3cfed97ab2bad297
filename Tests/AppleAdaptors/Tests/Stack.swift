import CoreData
import Fixtures
import Foundation
import StoreRecovery

/// A folder with stores, and the two versions of an app that opens them.
final class Stack {
  let folder: TemporaryFolder
  /// How many containers or coordinators were made.
  var made = 0
  /// The last one made: while it lives, its stores may be open.
  weak var last: AnyObject?
  /// Whether one was made while the one before still lived.
  var overlapped = false

  init() throws { folder = try TemporaryFolder() }

  /// Without pauses, so that nothing is tried again that is not to be moved.
  static var policy: Policy {
    var policy = Policy()
    policy.retryPauses = []
    return policy
  }

  static let app = Recovery.App(name: "Done", version: "2.0")
  static var first: NSManagedObjectModel {
    NSManagedObjectModel(stubHashes: ["Task": hash(1), "Tag": hash(2)])
  }
  static var second: NSManagedObjectModel {
    NSManagedObjectModel(stubHashes: ["Task": hash(3), "Tag": hash(2)])
  }

  /// The model of another app.
  static var other: NSManagedObjectModel {
    NSManagedObjectModel(stubHashes: ["Track": hash(7), "Album": hash(8)])
  }
  /// A version of the app's model in which every entity has another name.
  static var renamed: NSManagedObjectModel {
    NSManagedObjectModel(
      stubHashes: ["Job": hash(3), "Label": hash(2)], stubRenamed: ["Job": "Task"])
  }

  static func hash(_ byte: UInt8) -> Data { Data(repeating: byte, count: 32) }

  func url(_ name: String) -> URL { folder.url.appendingPathComponent(name) }

  /// A store of the app's first version, with one row that tells where it came from.
  func makeStore(_ name: String, _ model: NSManagedObjectModel = Stack.first) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url(name))
    try store.stubDatabase?.run("INSERT INTO ZTASK VALUES (1, 1, 1, '\(name)')")
    try coordinator.remove(store)
  }

  func description(_ name: String) -> NSPersistentStoreDescription {
    NSPersistentStoreDescription(url: url(name))
  }

  func container(
    _ descriptions: [NSPersistentStoreDescription], _ model: NSManagedObjectModel = Stack.second
  ) -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Done", managedObjectModel: model)
    container.persistentStoreDescriptions = descriptions
    note(container)
    return container
  }

  func note(_ object: AnyObject) {
    made += 1
    overlapped = overlapped || last != nil
    last = object
  }

  /// The names of the rows that a store holds, without its log being touched; nil where no store is.
  func rows(_ url: URL) throws -> [String]? {
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    return try connection.rows("SELECT ZNAME FROM ZTASK").map { "\($0[0])" }
  }

  func rows(_ name: String) throws -> [String]? { try rows(url(name)) }

  func rows(keptIn incident: Incident?) throws -> [String]? {
    guard let incident else { return nil }
    return try rows(
      URL(fileURLWithPath: incident.folder).appendingPathComponent("store/\(incident.storeName)"))
  }

  var hasQuarantine: Bool {
    FileManager.default.fileExists(atPath: url("Incompatible").path)
  }

  /// An error in the form that Core Data gives to one of SQLite's.
  static func sqliteError(_ code: Int) -> NSError {
    NSError(
      domain: "NSCocoaErrorDomain", code: 256,
      userInfo: ["NSSQLiteErrorDomain": NSNumber(value: code), "NSFilePath": "Done.sqlite"])
  }
}
