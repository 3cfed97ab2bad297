import Fixtures
import Foundation

/// Single files of ``Shared``, which not every copy of it has.
enum SharedFiles {
  /// The path of a shared file; nil, with a note in the log, when it is absent.
  static func path(_ relative: String, test: String = #function) -> String? {
    let path = Shared.folder?.appendingPathComponent(relative).path
    guard let path, FileManager.default.fileExists(atPath: path) else {
      print("skipped: \(test) needs the shared file \(relative)")
      return nil
    }
    return path
  }

  static func bytes(_ path: String) throws -> [UInt8] {
    try Fixtures.bytes(of: URL(fileURLWithPath: path))
  }

  /// All files below a folder whose path has a suffix, sorted.
  static func files(below folder: String, suffix: String) -> [String] {
    let all = FileManager.default.enumerator(atPath: folder)
    var found: [String] = []
    while let name = all?.nextObject() as? String {
      if name.hasSuffix(suffix) { found.append(folder + "/" + name) }
    }
    return found.sorted()
  }
}
