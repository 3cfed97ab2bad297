public import Foundation

/// The folder with real stores and with the output of other programs. Tests use this folder if it exists.
public struct Shared {
  /// The folder that `LIFEBOAT_SHARED` names, or else the folder `shared` beside the folder of the package; nil when
  /// neither exists.
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

  /// Whether the folder exists. This is the condition of tests that use the folder, so that a run without the folder
  /// counts these tests as skipped.
  public static var isThere: Bool { folder != nil }

  /// Returns the folder. If it does not exist, prints that a test was skipped, and returns nil.
  ///
  /// - Parameter what: the name of the test, for the message.
  /// - Returns: the folder; nil when it does not exist.
  public static func require(_ what: String) -> URL? {
    guard let folder else {
      print("skipped: \(what): no shared folder")
      return nil
    }
    return folder
  }
}
