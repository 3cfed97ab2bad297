// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents what bears Apple's names.

public import Foundation

// A stand-in for the parts of Core Data that the adaptors use, with Apple's names and types, so that they are
// compiled and run on Linux. What it does is as little as the tests need. Nothing of it is marked Sendable,
// although newer systems mark some of it: what compiles with less compiles with more.

public let NSSQLiteStoreType = "SQLite"
public let NSBinaryStoreType = "Binary"
public let NSInMemoryStoreType = "InMemory"
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
public let NSMigratePersistentStoresAutomaticallyOption =
  "NSMigratePersistentStoresAutomaticallyOption"
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"

/// Of the Objective-C runtime, which Core Data brings along.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result {
  try body()
}

open class NSManagedObjectModel: NSObject {
  open var versionIdentifiers: Set<AnyHashable> = []
  open private(set) var entityVersionHashesByName: [String: Data]

  open private(set) var entities: [NSEntityDescription]

  /// Of the stand-in alone: a model is its hashes, and by entity what an earlier version called it.
  public init(stubHashes: [String: Data], stubRenamed: [String: String] = [:]) {
    entityVersionHashesByName = stubHashes
    entities = stubHashes.keys.sorted().map {
      NSEntityDescription(stubName: $0, renamingIdentifier: stubRenamed[$0])
    }
  }
}

open class NSEntityDescription: NSObject {
  open var name: String?
  open var renamingIdentifier: String?

  init(stubName name: String, renamingIdentifier: String?) {
    self.name = name
    self.renamingIdentifier = renamingIdentifier
  }
}

open class NSPersistentCloudKitContainerOptions: NSObject {
  open var containerIdentifier: String
  public init(containerIdentifier: String) { self.containerIdentifier = containerIdentifier }
}

open class NSPersistentStoreDescription: NSObject, NSCopying {
  open var type = NSSQLiteStoreType
  open var configuration: String?
  open var url: URL?
  open private(set) var options: [String: NSObject] = [:]
  open var isReadOnly = false
  open var shouldAddStoreAsynchronously = false
  open var shouldMigrateStoreAutomatically = true
  open var shouldInferMappingModelAutomatically = true
  open var cloudKitContainerOptions: NSPersistentCloudKitContainerOptions?

  public init(url: URL) { self.url = url }

  open func setOption(_ option: NSObject?, forKey key: String) { options[key] = option }

  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreDescription(url: url ?? URL(fileURLWithPath: "/dev/null"))
    copy.type = type
    copy.configuration = configuration
    copy.url = url
    copy.options = options
    copy.isReadOnly = isReadOnly
    copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
    copy.shouldMigrateStoreAutomatically = shouldMigrateStoreAutomatically
    copy.shouldInferMappingModelAutomatically = shouldInferMappingModelAutomatically
    copy.cloudKitContainerOptions = cloudKitContainerOptions
    return copy
  }
}
