public import Foundation

/// Files that somebody made to do harm. The shared folder contains them. Their names contain control characters and
/// combining characters, so they are kept in an archive that is unpacked for each test.
public struct HostileFiles {
  private let folder: TemporaryFolder

  /// Unpacks the files. If the files or `tar` are missing, prints that the test `what` was skipped, and returns nil.
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

  /// The file or folder with this name.
  public subscript(_ name: String) -> URL {
    folder.url.appendingPathComponent("hostile").appendingPathComponent(name)
  }
}
