import CoreDataStore
import SQLiteFile

/// Finds the stores that a path leads to: the file itself, or those in a folder.
public enum StoreFinder {
  /// Folders deeper than this are not entered.
  public static let deepest = 16
  /// Entries of folders that are looked at; what is behind them is not found.
  public static let entryLimit = 100_000

  /// The stores at `path`: itself when it is no folder, else every SQLite file below it, by name.
  ///
  /// - Throws: ``ExtractionError`` with ``ExtractionError/Code/noStores`` when a folder holds none.
  public static func stores(at path: String) throws(ExtractionError) -> [String] {
    guard let status = (try? FileStatus.of(path)) ?? nil, status.kind == .folder else {
      return [path]
    }
    var found: [String] = []
    var left = entryLimit
    search(path, depth: 0, &left, &found)
    guard !found.isEmpty else {
      throw ExtractionError(.noStores, "no SQLite file is in the folder", path: path)
    }
    return found
  }

  private static func search(
    _ folder: String, depth: Int, _ left: inout Int, _ found: inout [String]
  ) {
    guard depth <= deepest, let entries = try? FolderEntries.read(folder, limit: left) else {
      return
    }
    left -= entries.names.count
    for name in entries.names.sorted() {
      let path = folder.hasSuffix("/") ? folder + name : folder + "/" + name
      guard let status = (try? FileStatus.of(path)) ?? nil else { continue }
      switch status.kind {
      case .folder: search(path, depth: depth + 1, &left, &found)
      case .file:
        let lead = try? ByteFile(path).bytes(at: 0, count: DatabaseHeader.magic.count)
        if lead == DatabaseHeader.magic { found.append(path) }
      default: break
      }
    }
  }
}
