import Foundation
import SafeFiles
import SafeText
import SupportBundle

/// A file or folder that a command makes. Nothing that exists is replaced. After a failure, ``discard()`` removes
/// everything that was made.
final class ModelOutput {
  private let path: String
  private let making: OutputTree.Making
  private var tree: OutputTree?

  /// Creates an output at `path`. Each file or folder is made through a call of `making`, so that an interruption knows
  /// what must be removed.
  init(_ path: String, making: @escaping OutputTree.Making) {
    self.path = PathText.withoutTrailingSlashes(path)
    self.making = making
  }

  func write(_ bytes: [UInt8]) throws {
    try write(bytes, to: [PathText.lastComponent(of: path)])
  }

  /// Makes the output as a folder of files. Each path is relative to this folder.
  func write(_ files: [(path: String, bytes: [UInt8])]) throws {
    let root = [PathText.lastComponent(of: path)]
    try making { try $0.makeFolder(root, mode: 0o755) }
    for file in files {
      let inner = PathText.components(of: file.path)
      guard inner.allSatisfy({ PathText.isPlainName($0) }) else {
        throw Failure(
          70, "output.unfitName", "no output file can have the name \(file.path)")
      }
      let parts = root + inner
      try making { try $0.makeFolders(above: parts, mode: 0o755) }
      try write(file.bytes, to: parts)
    }
  }

  func discard() {
    tree?.discard()
    tree = nil
  }

  private func write(_ bytes: [UInt8], to parts: [String]) throws {
    let descriptor = try making { try $0.makeFile(parts, mode: 0o644) }
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

  private func making<T>(_ make: (OutputTree) throws -> T) throws -> T {
    do {
      let tree = try self.tree ?? OutputTree(in: PathText.folder(of: path), making: making)
      self.tree = tree
      return try make(tree)
    } catch let error as BundleError {
      let place = error.path ?? path
      throw error.code == .outputExists
        ? Failure(
          73, "output.exists", "the output already exists, \(place)",
          hint: "name an output that does not exist yet")
        : Failure(
          73, "output.cannotCreate",
          "the output cannot be made: \(error.systemError.map(SystemCallError.words) ?? error.message), \(place)",
          hint: "check the folder that the output goes into")
    }
  }
}
