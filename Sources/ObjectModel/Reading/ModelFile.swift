import Foundation
import SafeText

/// Reads model files: their names, their kinds and, up to a maximum size, their contents.
package enum ModelFile {
  package enum Kind {
    case file
    case folder
    /// A symbolic link, a pipe or a device. Nothing of this kind is ever opened.
    case other
  }

  package static let maximumByteCount = PropertyList.maximumByteCount

  package static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  /// Returns the kind of file at a path, without following a symbolic link. Nil if nothing exists at the path.
  package static func kind(at path: String) -> Kind? {
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else {
      return nil
    }
    switch attributes[.type] as? FileAttributeType {
    case .typeRegular: return .file
    case .typeDirectory: return .folder
    default: return .other
    }
  }

  /// Returns the error for a path without a file or folder. The message says what is there instead, such as a socket.
  /// `given` is the path as the user gave it, with its symbolic links, for the error.
  package static func absence(at path: String, givenAs given: String) -> ModelError {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    let message =
      switch attributes.map({ $0[.type] as? FileAttributeType }) {
      case nil: "There is no file or folder at this path."
      case .typeSymbolicLink: "This is a symbolic link that leads to nothing."
      case .typeSocket: "This is a socket, not a file or folder."
      case .typeCharacterSpecial, .typeBlockSpecial: "This is a device, not a file or folder."
      default: "This is a pipe or another special file, not an ordinary file."
      }
    return ModelError(code: .unreadable, message: message, path: given)
  }

  /// Returns the names of the files in a folder, in natural order (`2` before `10`); nil if the folder cannot be read.
  package static func readNames(in folder: String) -> [String]? {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      return nil
    }
    return names.map { (key: naturalKey($0), name: $0) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.name)
  }

  package static func bytes(at path: String) throws(ModelError) -> [UInt8] {
    guard kind(at: path) == .file else {
      throw ModelError(
        code: .unreadable, message: "There is no ordinary file at this path.", path: path)
    }
    let data: Data
    do {
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? handle.close() }
      data = try handle.read(upToCount: maximumByteCount + 1) ?? Data()
    } catch {
      throw ModelError(
        code: .unreadable, message: "The file cannot be read: \(error.localizedDescription)",
        path: path)
    }
    guard data.count <= maximumByteCount else {
      throw ModelError(
        code: .tooLarge, message: "The file has more than 64 MiB; no model is that big.",
        path: path)
    }
    return Array(data)
  }

  // MARK: Names

  package static func lastComponent(_ path: String) -> String {
    let name = PathText.lastComponent(of: PathText.withoutTrailingSlashes(path))
    return name.isEmpty ? path : name
  }

  package static func pathExtension(_ path: String) -> String {
    PathText.ending(of: lastComponent(path)).lowercased()
  }

  /// Returns the last component of a path, without its extension.
  package static func baseName(_ path: String) -> String {
    let name = lastComponent(path)
    return PathText.ending(of: name).isEmpty ? name : PathText.stem(of: name)
  }

  /// Returns the sort key for natural order. In the key, each run of digits is preceded by its length.
  private static func naturalKey(_ name: String) -> [UInt8] {
    var key: [UInt8] = []
    var digits: [UInt8] = []
    func flush() {
      guard !digits.isEmpty else { return }
      let significant = digits.drop { $0 == 48 }
      key += [48, UInt8(min(significant.count, 255))] + significant
      digits = []
    }
    // The name with its extension is appended after the name without it, so that `A.mom` precedes `A 2.mom`.
    for unit in baseName(name).lowercased().utf8 {
      if (48...57).contains(unit) {
        digits.append(unit)
      } else {
        flush()
        key.append(unit)
      }
    }
    flush()
    return key + [0] + Array(name.utf8)
  }
}
