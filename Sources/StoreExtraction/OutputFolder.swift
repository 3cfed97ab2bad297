#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A new folder for output. What is in it was made by us, and goes again when the work fails.
final class OutputFolder {
  let path: String
  private let isOurs: Bool
  private var made: [String] = []
  private var names: Set<String> = []
  private var opened: Set<Int32> = []

  private let created: @Sendable (String) -> Void

  /// Makes the folder, or takes an empty one that is there. `created` hears of each thing that is made.
  init(_ path: String, created: @escaping @Sendable (String) -> Void) throws(ExtractionError) {
    self.path = path
    self.created = created
    if unsafe mkdir(path, 0o700) == 0 {
      isOurs = true
      created(path)
      return
    }
    guard errno == EEXIST else {
      throw ExtractionError(
        .cannotCreate, "the folder cannot be made: \(unsafe String(cString: strerror(errno)))",
        path: path)
    }
    isOurs = false
    guard let entries = unsafe opendir(path) else {
      throw ExtractionError(.outputExists, "something else is there already", path: path)
    }
    defer { _ = unsafe closedir(entries) }
    while let entry = unsafe readdir(entries) {
      let isHidden = unsafe entry.pointee.d_name.0 == 0x2e
      let second = unsafe entry.pointee.d_name.1
      let third = unsafe entry.pointee.d_name.2
      // "." and ".." are in every folder.
      if isHidden, second == 0 || (second == 0x2e && third == 0) { continue }
      throw ExtractionError(.outputExists, "the folder is not empty", path: path)
    }
  }

  /// A name for a file: letters, digits, `-`, `_` and `.` as they are, others as `_`, and never one twice.
  func fileName(for name: String, extension ending: String) -> String {
    var stem = String(
      name.unicodeScalars.prefix(100).map { scalar -> Character in
        let isPlain =
          scalar.isASCII
          && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            || ["-", "_", "."].contains(scalar))
        return isPlain ? Character(scalar) : "_"
      })
    if stem.isEmpty || stem.hasPrefix(".") { stem = "_" + stem }
    var candidate = stem + "." + ending
    var number = 2
    // Names that differ only in case are one file on some systems.
    while !names.insert(candidate.lowercased()).inserted {
      candidate = stem + "-\(number)." + ending
      number += 1
    }
    return candidate
  }

  /// Opens a new file in the folder for writing.
  func create(_ name: String) throws(ExtractionError) -> Int32 {
    let file = path + "/" + name
    let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw ExtractionError(
        errno == EEXIST ? .outputExists : .cannotCreate,
        "the file cannot be made: \(unsafe String(cString: strerror(errno)))", path: file)
    }
    made.append(file)
    created(file)
    opened.insert(descriptor)
    return descriptor
  }

  /// Syncs and closes a file.
  func finish(_ descriptor: Int32) throws(ExtractionError) {
    opened.remove(descriptor)
    let isSynced = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP
    let isClosed = close(descriptor) == 0
    guard isClosed, isSynced else {
      throw ExtractionError(
        .writeFailed, "the output cannot be written: \(unsafe String(cString: strerror(errno)))",
        path: path)
    }
  }

  /// Removes what was made, for a run that failed.
  func discard() {
    for descriptor in opened { close(descriptor) }
    opened = []
    for file in made { unsafe unlink(file) }
    if isOurs { unsafe rmdir(path) }
  }
}
