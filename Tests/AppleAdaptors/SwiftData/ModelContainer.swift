// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents what bears Apple's names.

public import CoreData
public import Foundation

// A stand-in for the parts of SwiftData that the adaptors use, as for Core Data.

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
public protocol PersistentModel: AnyObject {
  /// Of the stand-in alone.
  static var stubHash: Data { get }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
public struct ModelConfiguration: Sendable {
  public let url: URL
  public init(url: URL) { self.url = url }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
public struct SwiftDataError: Error, Equatable {
  private let number = 1
  public static let loadIssueModelContainer = SwiftDataError()
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
public final class ModelContainer: @unchecked Sendable {
  /// Of the stand-in alone.
  public let stubCoordinator: NSPersistentStoreCoordinator

  public init(
    for forTypes: any PersistentModel.Type..., configurations: ModelConfiguration...
  ) throws {
    guard let model = NSManagedObjectModel.makeManagedObjectModel(for: forTypes) else {
      throw SwiftDataError.loadIssueModelContainer
    }
    stubCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    do {
      for one in configurations {
        try stubCoordinator.addPersistentStore(
          ofType: NSSQLiteStoreType, configurationName: nil, at: one.url)
      }
    } catch {
      throw SwiftDataError.loadIssueModelContainer
    }
  }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
extension NSManagedObjectModel {
  public static func makeManagedObjectModel(
    for types: [any PersistentModel.Type],
    mergedWith managedObjectModel: NSManagedObjectModel? = nil
  ) -> NSManagedObjectModel? {
    NSManagedObjectModel(
      stubHashes: Dictionary(
        types.map { (String(describing: $0), $0.stubHash) }, uniquingKeysWith: { $1 }))
  }
}
