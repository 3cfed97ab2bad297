public import Foundation

/// A private folder. It is removed with everything in it when the last reference to this object is released.
public final class TemporaryFolder: Sendable {
  /// The path of the folder, without symbolic links.
  public let url: URL

  /// Makes the folder in the system's folder for temporary files.
  public init() throws {
    let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    url = base.appendingPathComponent("lifeboat-test-" + UUID().uuidString, isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }
}
