public import Foundation

/// A store that Core Data itself has written. The shared folder contains these stores.
public struct RealStore: Sendable, CustomStringConvertible {
  /// The URL of the main file.
  public let url: URL
  /// The path of the main file, relative to the folder of real stores.
  public let description: String

  /// Copies the main file, the write-ahead log and the rollback journal into `folder`. Returns the URL of the copied
  /// main file.
  public func copy(into folder: URL) throws -> URL {
    try SQLiteConnection.copyStore(url, into: folder)
  }
}

/// The real stores: all files in the folder `stores/real` of the shared folder that begin as an SQLite database does.
public enum RealStores {
  /// The number of real stores in a complete shared folder.
  public static let expectedCount = 51

  /// All real stores, sorted by path; empty without the shared folder.
  public static let all: [RealStore] = {
    guard let folder = Shared.folder?.appendingPathComponent("stores/real"),
      let names = FileManager.default.enumerator(atPath: folder.path)
    else { return [] }
    return names.compactMap { $0 as? String }.sorted().compactMap { name in
      let url = folder.appendingPathComponent(name)
      guard !name.hasSuffix("-wal"), !name.hasSuffix("-shm"),
        let file = try? FileHandle(forReadingFrom: url)
      else { return nil }
      defer { try? file.close() }
      guard let lead = try? file.read(upToCount: 16), lead == Data("SQLite format 3\0".utf8) else {
        return nil
      }
      return RealStore(url: url, description: name)
    }
  }()

  /// The real store whose path ends with `ending`.
  public static func named(_ ending: String) throws -> RealStore {
    guard let store = all.first(where: { $0.description.hasSuffix(ending) }) else {
      throw FixtureError("there is no real store \(ending)")
    }
    return store
  }
}
