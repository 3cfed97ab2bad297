import Foundation
import SafeText

/// A file or folder that a command makes. It never replaces anything, and goes again when the work fails.
final class ModelOutput {
  private let path: String
  private let created: (String) -> Void
  private var made: [String] = []

  /// `created` hears of each thing that is made.
  init(_ path: String, created: @escaping (String) -> Void) {
    self.path = PathText.withoutTrailingSlashes(path)
    self.created = created
  }

  /// Makes the output as one file.
  func write(_ bytes: [UInt8]) throws { try write(bytes, to: path) }

  /// Makes the output as a folder of files, each by its path within it.
  func write(_ files: [(path: String, bytes: [UInt8])]) throws {
    try makeFolder(path)
    for file in files {
      let parts = PathText.components(of: file.path)
      guard parts.allSatisfy(PathText.isPlainName) else {
        throw Failure(
          70, "output.unfitName", "no file of the output can be called \(file.path)")
      }
      var folder = path
      for part in parts.dropLast() {
        folder += "/" + part
        if !made.contains(folder) { try makeFolder(folder) }
      }
      try write(file.bytes, to: path + "/" + file.path)
    }
  }

  /// Removes what was made, the last first.
  func discard() {
    for path in made.reversed() where unsafe unlink(path) != 0 { unsafe rmdir(path) }
    made = []
  }

  private func makeFolder(_ path: String) throws {
    guard unsafe mkdir(path, 0o755) == 0 else { throw failure(path) }
    note(path)
  }

  private func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure(path) }
    note(path)
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try handle.write(contentsOf: Data(bytes))
      try handle.synchronize()
      try handle.close()
    } catch {
      throw Failure(
        74, "output.io", "the output cannot be written, \(path)",
        hint: "check the free space where the output goes")
    }
  }

  private func note(_ path: String) {
    made.append(path)
    created(path)
  }

  private func failure(_ path: String) -> Failure {
    errno == EEXIST
      ? Failure(
        73, "output.exists", "something is there already, \(path)",
        hint: "name an output that does not exist yet")
      : Failure(
        73, "output.cannotCreate",
        "the output cannot be made: \(unsafe String(cString: strerror(errno))), \(path)",
        hint: "check the folder that the output goes into")
  }
}
