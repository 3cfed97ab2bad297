public import Foundation

/// The folder of real stores and other programs' output that tests read where it is present.
public struct Shared {
  /// The folder named by `LIFEBOAT_SHARED`, else `shared` beside the package's own folder; nil when there is none.
  public static var folder: URL? {
    let environment = ProcessInfo.processInfo.environment["LIFEBOAT_SHARED"]
    // Tests/Fixtures/Shared.swift is three levels below the package's root.
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let folder =
      environment.flatMap { $0.isEmpty ? nil : URL(fileURLWithPath: $0, isDirectory: true) }
      ?? root.deletingLastPathComponent().appendingPathComponent("shared", isDirectory: true)
    var isFolder: ObjCBool = false
    let exists = unsafe FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder)
    return exists && isFolder.boolValue ? folder : nil
  }

  /// Whether the folder is there: the condition of tests that read it, so that a run without it counts them as skipped.
  public static var isThere: Bool { folder != nil }

  /// The folder, or nil after saying that the named test was skipped.
  ///
  /// - Parameter what: what is skipped, for the message.
  /// - Returns: the folder; nil where it is absent.
  public static func require(_ what: String) -> URL? {
    guard let folder else {
      print("skipped: \(what): no shared folder")
      return nil
    }
    return folder
  }
}
