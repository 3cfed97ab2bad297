// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents what bears Apple's names.

import CSQLite
import Dispatch
public import Foundation

open class NSPersistentStore: NSObject {
  open private(set) var url: URL?
  open private(set) var type: String
  open private(set) var isReadOnly: Bool
  /// Of the stand-in alone: the connection; nil for a store that is no file.
  public let stubDatabase: StubDatabase?

  init(type: String, url: URL?, isReadOnly: Bool, database: StubDatabase?) {
    self.type = type
    self.url = url
    self.isReadOnly = isReadOnly
    stubDatabase = database
  }
}

open class NSPersistentStoreCoordinator: NSObject {
  public let managedObjectModel: NSManagedObjectModel
  open private(set) var persistentStores: [NSPersistentStore] = []
  /// Of the stand-in alone: throws a prepared error before a store is opened.
  public var stubFault: ((URL?) throws -> Void)?
  /// Of the stand-in alone: whether a store that failed stays half added.
  public var stubLeavesHalf = false

  public init(managedObjectModel model: NSManagedObjectModel) { managedObjectModel = model }

  open func persistentStore(for URL: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url == URL }
  }

  open func remove(_ store: NSPersistentStore) throws {
    persistentStores.removeAll { $0 === store }
    store.stubDatabase?.close()
  }

  @discardableResult
  open func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    let isReadOnly = options?[NSReadOnlyPersistentStoreOption] as? Bool ?? false
    var database: StubDatabase?
    if storeType == NSSQLiteStoreType, let storeURL, storeURL.path != "/dev/null" {
      database = try StubDatabase(storeURL, isReadOnly: isReadOnly)
    }
    let store = NSPersistentStore(
      type: storeType, url: storeURL, isReadOnly: isReadOnly, database: database)
    persistentStores.append(store)
    do {
      try stubFault?(storeURL)
      try database?.check(managedObjectModel.entityVersionHashesByName)
    } catch {
      if !stubLeavesHalf { try remove(store) }
      throw error
    }
    return store
  }
}

open class NSPersistentContainer: NSObject {
  open private(set) var name: String
  open private(set) var managedObjectModel: NSManagedObjectModel
  open private(set) var persistentStoreCoordinator: NSPersistentStoreCoordinator
  open var persistentStoreDescriptions: [NSPersistentStoreDescription] = []

  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    self.name = name
    managedObjectModel = model
    persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
  }

  open func loadPersistentStores(
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions {
      let job = StubJob(coordinator: persistentStoreCoordinator, description, block)
      if description.shouldAddStoreAsynchronously {
        StubJob.queue.async { job.run() }
      } else {
        job.run()
      }
    }
  }
}

/// Adds one store, on a thread of its own where asked for; the queue keeps them one after another.
private struct StubJob: @unchecked Sendable {
  static let queue = DispatchQueue(label: "stub")
  let coordinator: NSPersistentStoreCoordinator
  let description: NSPersistentStoreDescription
  let block: (NSPersistentStoreDescription, (any Error)?) -> Void

  init(
    coordinator: NSPersistentStoreCoordinator, _ description: NSPersistentStoreDescription,
    _ block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    self.coordinator = coordinator
    self.description = description
    self.block = block
  }

  func run() {
    var failure: (any Error)?
    do {
      try coordinator.addPersistentStore(
        ofType: description.type, configurationName: description.configuration, at: description.url,
        options: [NSReadOnlyPersistentStoreOption: description.isReadOnly])
    } catch {
      failure = error
    }
    block(description, failure)
  }
}
