public import Foundation

/// Files that were made to do harm, from the shared folder. Their names hold control and combining characters, so
/// they come in an archive and are unpacked for each test.
public struct HostileFiles {
  private let folder: TemporaryFolder

  /// Unpacks them; nil after saying that the named test was skipped, where they or `tar` are absent.
  public init?(_ what: String) throws {
    let archive = Shared.folder?.appendingPathComponent("stores/found/hostile.tar.xz").path
    guard let archive, FileManager.default.fileExists(atPath: archive), let tar = findTool("tar")
    else {
      print("skipped: \(what): no hostile files")
      return nil
    }
    folder = try TemporaryFolder()
    let result = try run(tar, ["-xJf", archive, "-C", folder.url.path])
    guard result.status == 0 else {
      throw FixtureError("tar: \(String(decoding: result.stderr, as: UTF8.self))")
    }
  }

  /// The file or folder of this name.
  public subscript(_ name: String) -> URL {
    folder.url.appendingPathComponent("hostile").appendingPathComponent(name)
  }
}
