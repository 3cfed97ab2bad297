public import Foundation

/// A store that Core Data itself has written, from the shared folder.
public struct RealStore: Sendable, CustomStringConvertible {
  /// The main file.
  public let url: URL
  /// Its path relative to the folder of real stores.
  public let description: String

  /// A private copy of the main file, its log and its journal.
  public func copy(into folder: URL) throws -> URL {
    try SQLiteConnection.copyStore(url, into: folder)
  }
}

/// The real stores: every file of the shared folder `stores/real` that starts as an SQLite database does.
public enum RealStores {
  /// How many there are where the shared folder is complete.
  public static let expectedCount = 51

  /// All of them by path; empty without the shared folder.
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

  /// The one whose path ends like this.
  public static func named(_ ending: String) throws -> RealStore {
    guard let store = all.first(where: { $0.description.hasSuffix(ending) }) else {
      throw FixtureError("there is no real store \(ending)")
    }
    return store
  }
}
