import Foundation

/// The real files that tests read where they are present: `LIFEBOAT_SHARED`, or the folder `shared`
/// beside the package.
enum SharedFiles {
  static let root: String? = {
    let named = ProcessInfo.processInfo.environment["LIFEBOAT_SHARED"]
    let package = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let beside = package.deletingLastPathComponent().appendingPathComponent("shared").path
    return [named, beside].compactMap { $0 }.first {
      FileManager.default.fileExists(atPath: $0)
    }
  }()

  /// The path of a shared file; nil, with a note in the log, when it is absent.
  static func path(_ relative: String, test: String = #function) -> String? {
    guard let root, FileManager.default.fileExists(atPath: root + "/" + relative) else {
      print("skipped: \(test) needs the shared file \(relative)")
      return nil
    }
    return root + "/" + relative
  }

  static func bytes(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path)))
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
