import CLibrary
import CoreDataStore
import SafeFiles
import SafeText

/// A new folder for output. If the run fails, everything that it made in the folder is removed.
final class OutputFolder {
  let path: String
  private let folder: OpenFolder
  private let made: MadeFiles
  /// The number of files and folders in `made` before this object added its folder.
  private let count: Int
  private var names: Set<String> = []
  private var opened: Set<Int32> = []

  /// Makes the folder, or uses an existing empty one. A symbolic link to a folder is refused.
  init(_ path: String, _ made: MadeFiles) throws(ExtractionError) {
    self.path = path
    self.made = made
    count = made.count
    let bare = PathText.withoutTrailingSlashes(path)
    let name = PathText.lastComponent(of: bare)
    do {
      guard PathText.isPlainName(name) else {
        folder = try Self.empty(OpenFolder(bare), path)
        return
      }
      let parent = try OpenFolder(PathText.folder(of: bare))
      do {
        folder = try made.makeFolder(name, in: parent)
      } catch {
        guard error.errno == EEXIST else { throw error }
        folder = try Self.existing(name, in: parent, path)
      }
    } catch let error as SystemCallError {
      throw Self.cannotMake("folder", error, path)
    } catch let error as ExtractionError {
      throw error
    } catch {
      throw ExtractionError(.cannotCreate, "the folder cannot be made", path: path)
    }
  }

  private static func existing(_ name: String, in parent: OpenFolder, _ path: String)
    throws(ExtractionError) -> OpenFolder
  {
    do { return try empty(parent.folder(name), path) } catch let error as ExtractionError {
      throw error
    } catch let error as SystemCallError where error.errno != ENOTDIR && error.errno != ELOOP {
      throw ExtractionError(
        .cannotCreate,
        "the folder at the path cannot be read: \(SystemCallError.words(error.errno))",
        path: path)
    } catch {
      throw ExtractionError(
        .outputExists, "a file or a link already exists at the path", path: path)
    }
  }

  private static func empty(_ folder: OpenFolder, _ path: String) throws -> OpenFolder {
    guard try folder.names(limit: 1).names.isEmpty else {
      throw ExtractionError(.outputExists, "the folder is not empty", path: path)
    }
    return folder
  }

  static func cannotMake(_ what: String, _ error: SystemCallError, _ path: String)
    -> ExtractionError
  {
    ExtractionError(
      error.errno == EEXIST ? .outputExists : .cannotCreate,
      "the \(what) cannot be made: \(SystemCallError.words(error.errno))", path: path)
  }

  /// Returns a unique file name with the extension `ending`. The file name is made from the first 100 scalars of
  /// `name`: ASCII letters, digits, `-`, `_` and `.` are kept, and each other scalar becomes `_`.
  func fileName(for name: String, extension ending: String) -> String {
    var stem = ""
    for scalar in name.unicodeScalars.prefix(100) {
      let isPlain =
        scalar.isASCII
        && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
          || ["-", "_", "."].contains(scalar))
      stem.unicodeScalars.append(isPlain ? scalar : "_")
    }
    // A leading dot would hide the file. A command would take a leading hyphen for an option.
    if stem.utf8.first.map({ $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }) ?? true {
      stem = "_" + stem
    }
    var candidate = stem + "." + ending
    var number = 2
    // On some systems, names that differ only in case refer to the same file.
    while !names.insert(candidate.lowercased()).inserted {
      candidate = stem + "-\(number)." + ending
      number += 1
    }
    return candidate
  }

  /// Creates a file and returns its descriptor, which ``finish(_:)`` closes.
  func create(_ name: String) throws(ExtractionError) -> Int32 {
    let descriptor: Int32
    do { descriptor = try made.makeFile(name, in: folder) } catch {
      throw Self.cannotMake("file", error, error.path)
    }
    opened.insert(descriptor)
    return descriptor
  }

  /// Removes a finished file that is not wanted after all.
  func remove(_ name: String) {
    if let file = folder.status(of: name) { folder.remove(name, of: file) }
  }

  /// Copies the external files of a store into a subfolder of the output folder.
  func take(_ external: ExternalFiles) throws {
    try external.copy(into: folder, as: ExternalFiles.folderName, made)
  }

  func finish(_ descriptor: Int32) throws(ExtractionError) {
    opened.remove(descriptor)
    var error = SystemCalls.synchronize(descriptor)
    if close(descriptor) != 0, error == nil { error = errno }
    if let error {
      throw ExtractionError(
        .writeFailed, "the output cannot be written: \(SystemCallError.words(error))",
        path: path)
    }
  }

  func keep() { made.keep(to: count) {} }

  /// Cleans up after a run that failed: removes everything made in the folder, and the folder itself if this run made
  /// it.
  func discard() {
    for descriptor in opened { close(descriptor) }
    opened = []
    made.takeBack(to: count)
  }
}
