import CoreDataStore
import Foundation
import SQLiteFile
import SafeText

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files beside a Core Data store that hold large binary values, so far as rows name them.
///
/// A store `X.sqlite` has them in `.X_SUPPORT/_EXTERNAL_DATA`; a new file under another name looks for them in a folder
/// of its own.
final class ExternalFiles {
  /// Names in live rows, and in which table each was met first.
  private var live: [String: String] = [:]
  /// Names in deleted rows: whether their files are still there is nobody's promise.
  private var dead: Set<String> = []
  private let source: String
  private var made: [String] = []
  /// False for a file that is no store of Core Data's.
  let isOn: Bool

  /// More names than this are not kept apart.
  private static let most = 5_000_000
  private static let mostTold = 20

  init(of store: DamagedStore) {
    isOn = store.kind != .sqlite
    source = Self.folder(for: store.database.path)
  }

  /// Where a store of this name has its files.
  private static func folder(for path: String) -> String {
    PathText.folder(of: path) + "/" + StoreSet.supportName(for: PathText.lastComponent(of: path))
  }

  // MARK: - Rows

  /// Notes the files that a row names.
  @inline(__always)
  func note(_ row: borrowing RecoveredRowBuffer, in table: @autoclosure () -> String) {
    guard isOn else { return }
    for value in row.values where value.kind == .blob && value.count == 38 {
      guard row.bytes[value.offset] == 2,
        let name = ExternalBlob.identifier(in: row.content(of: value))
      else { continue }
      if row.origin.state != nil {
        if dead.count < Self.most { dead.insert(name) }
      } else if live[name] == nil, live.count < Self.most {
        live[name] = table()
      }
    }
  }

  // MARK: - Looking

  /// What a rebuild would take along.
  func survey() -> (RebuildResult.ExternalFiles?, [Finding]) {
    guard !live.isEmpty || !dead.isEmpty else { return (nil, []) }
    var result = RebuildResult.ExternalFiles()
    var missing: [String] = []
    for name in names {
      if let status = status(name) {
        result.fileCount += 1
        // Sparse files may each say any size.
        let (sum, overflow) = result.sizeBytes.addingReportingOverflow(status.sizeBytes)
        result.sizeBytes = overflow ? .max : sum
      } else if live[name] != nil {
        missing.append(name)
      }
    }
    result.missingCount = missing.count
    return (result, findings(missing))
  }

  private var names: [String] { Set(live.keys).union(dead).sorted() }

  /// The status of a file that is one; nothing behind a link is looked at.
  private func status(_ name: String) -> FileStatus? {
    for folder in [source, source + "/_EXTERNAL_DATA"] {
      guard let status = try? FileStatus.of(folder), status.kind == .folder else { return nil }
    }
    guard let status = try? FileStatus.of(source + "/_EXTERNAL_DATA/" + name),
      status.kind == .file
    else { return nil }
    return status
  }

  private func findings(_ missing: [String]) -> [Finding] {
    var list = missing.prefix(Self.mostTold).map { name in
      Finding(
        "recover.externalMissing",
        "a row names the external file \(name), which is not beside the store", table: live[name])
    }
    if missing.count > Self.mostTold {
      list.append(
        Finding(
          "recover.externalMissing",
          "\(missing.count - Self.mostTold) more external files are missing"))
    }
    return list
  }

  // MARK: - Copying

  /// Refuses an output beside which files of some store are already.
  static func checkFree(_ output: String, for store: DamagedStore) throws {
    guard store.kind != .sqlite else { return }
    let target = folder(for: output)
    guard let there = try FileStatus.of(target) else { return }
    // The same folder: a new file beside the old one, of which only the extension differs.
    if let own = try FileStatus.of(folder(for: store.database.path)), own.isSameFile(as: there) {
      return
    }
    throw ExtractionError(
      .outputExists,
      "external files of a store of that name are there already; choose another name", path: target)
  }

  /// Copies the files beside the output. `created` hears of each thing before it is made.
  func copy(beside output: String, created: (String) -> Void) throws -> (
    RebuildResult.ExternalFiles?, [Finding]
  ) {
    var (result, findings) = survey()
    guard var counted = result, counted.fileCount > 0 else { return (result, findings) }
    let target = Self.folder(for: output)
    if let own = try FileStatus.of(source), let there = try FileStatus.of(target),
      own.isSameFile(as: there)
    {
      findings.append(
        Finding(
          "recover.externalShared",
          "the new file has the external files of the old one, because their names differ only in the extension",
          severity: .note))
      return (result, findings)
    }
    let folder = target + "/_EXTERNAL_DATA"
    for path in [target, folder] {
      guard unsafe mkdir(path, 0o700) == 0 else {
        throw ExtractionError(
          errno == EEXIST ? .outputExists : .cannotCreate,
          "the folder of external files cannot be made: \(unsafe String(cString: strerror(errno)))",
          path: path)
      }
      made.append(path)
      created(path)
    }
    counted.output = target
    for name in names where status(name) != nil {
      try copy(source + "/_EXTERNAL_DATA/" + name, to: folder + "/" + name, created)
    }
    result = counted
    for path in [folder, target, PathText.folder(of: target)] { try Self.synchronize(path) }
    return (result, findings)
  }

  private func copy(_ path: String, to target: String, _ created: (String) -> Void) throws {
    let input = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard input >= 0 else {
      throw SystemCallError(call: "open", path: path, errno: errno)
    }
    defer { close(input) }
    guard try FileStatus.of(descriptor: input, path: path).kind == .file else {
      throw SystemCallError(call: "open", path: path, errno: EINVAL)
    }
    let output = unsafe open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard output >= 0 else {
      throw ExtractionError(
        errno == EEXIST ? .outputExists : .cannotCreate,
        "the file cannot be made: \(unsafe String(cString: strerror(errno)))", path: target)
    }
    made.append(target)
    created(target)
    var isOpen = true
    defer { if isOpen { close(output) } }
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe read(input, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemCallError(call: "read", path: path, errno: errno) }
      guard count > 0 else { break }
      var done = 0
      while done < count {
        let written = unsafe buffer.withUnsafeBytes { bytes in
          unsafe write(output, bytes.baseAddress.map { unsafe $0 + done }, count - done)
        }
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { throw Self.writeFailed(target) }
        done += written
      }
    }
    let isSynced = fsync(output) == 0 || errno == EINVAL || errno == ENOTSUP
    isOpen = false
    guard close(output) == 0, isSynced else { throw Self.writeFailed(target) }
    guard try StoreSeal.sha256(ofFile: target) == StoreSeal.sha256(ofFile: path) else {
      throw ExtractionError(
        .writeFailed, "the copy of an external file has other bytes than the file", path: target)
    }
  }

  private static func writeFailed(_ path: String) -> ExtractionError {
    ExtractionError(
      .writeFailed,
      "the external file cannot be written: \(unsafe String(cString: strerror(errno)))", path: path)
  }

  private static func synchronize(_ folder: String) throws {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SystemCallError(call: "open", path: folder, errno: errno)
    }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
      throw writeFailed(folder)
    }
  }

  /// Takes back what was copied.
  func discard() {
    for path in made.reversed() where unsafe unlink(path) != 0 { unsafe rmdir(path) }
    made = []
  }
}
