import CLibrary
import CoreDataStore
import StoreFiles
import SafeFiles
import Foundation
package import SQLiteFile
import SQLiteForensics
import SafeText

/// The external files that are named in the rows of a Core Data store. An external file holds a large binary value
/// outside the database.
///
/// The external files of a store `X.sqlite` are in `.X_SUPPORT/_EXTERNAL_DATA`. If the store is copied to `Y.sqlite`,
/// Core Data looks for them in `.Y_SUPPORT/_EXTERNAL_DATA`.
package final class ExternalFiles {
  static let folderName = "_EXTERNAL_DATA"

  /// The names of external files in live rows. For each name: the table or entity in which the name first occurred.
  private var live: [String: String] = [:]
  /// The file names in deleted rows. Some of these files may no longer exist.
  private var deleted: Set<String> = []
  /// Additional names for external files. A copy includes each of these files under its additional name too. The key is
  /// the additional name, and the value is the name of the file in this store's folder.
  private var fileNames: [String: String] = [:]
  /// Whether ``keep(where:)`` was called. If so, rows may refer to more files than this object knows.
  private var isFiltered = false
  private let storePath: String
  /// Whether the store is a Core Data store. For any other database, the names of external files are neither collected
  /// nor copied.
  let isOn: Bool

  /// The maximum number of external file names from live rows that are kept in memory. The same limit holds for names
  /// from deleted rows.
  private static let maxNames = 5_000_000
  private static let maxTold = 20
  /// The maximum number of entries of the folder of external files that are examined in the search for files that no
  /// row names.
  private static let maxEntries = 1_000_000

  package init(ofStore path: String, isOn: Bool) {
    self.isOn = isOn
    storePath = path
  }

  convenience init(of store: DamagedStore) {
    self.init(ofStore: store.database.path, isOn: store.kind != .sqlite)
  }

  // MARK: - Rows

  /// Notes the external files that a row names.
  @inline(__always)
  func note(_ row: borrowing RecoveredRowBuffer, in table: @autoclosure () -> String) {
    guard isOn else { return }
    for value in row.values where value.kind == .blob && value.count == 38 {
      guard row.bytes[value.offset] == 2,
        let name = ExternalBlob.identifier(in: row.content(of: value))
      else { continue }
      if row.origin.state != nil {
        if deleted.count < Self.maxNames { deleted.insert(name) }
      } else {
        note(name, in: table())
      }
    }
  }

  package func note(_ name: String, in table: String) {
    if live[name] == nil, live.count < Self.maxNames { live[name] = table }
  }

  package var liveNames: Set<String> { Set(live.keys) }

  /// Forgets the external files in live rows for whose names `isKept` returns false.
  package func keep(where isKept: (String) -> Bool) {
    live = live.filter { isKept($0.key) }
    isFiltered = true
  }

  /// Gives the external file `file` an additional name. A copy of the external files then includes the file under this
  /// name, too.
  package func add(_ name: String, forFile file: String) {
    fileNames[name] = fileNames[file] ?? file
    note(name, in: live[file] ?? "")
  }

  /// Whether this store and `other` each have a file of this name, with the same bytes.
  package func hasSameFile(_ name: String, as other: ExternalFiles) -> Bool {
    guard let one = try? source()?.externalFile(name),
      let two = try? other.source()?.externalFile(name)
    else { return false }
    return (try? one.isSame(as: two)) ?? false
  }

  // MARK: - Looking

  /// Examines the files that a copy would include.
  ///
  /// - Parameters:
  ///   - namesAll: whether all rows were noted. If not, files that no row names are not reported.
  ///   - maxBytes: the maximum size of a file whose content the output can hold; nil for no limit.
  /// - Returns: the counts of the files, which are nil if there are no files, and the findings.
  /// - Throws: an error of the file system.
  func survey(namesAll: Bool = true, maxBytes: Int64? = nil) throws -> (
    RebuildResult.ExternalFiles?, [Finding]
  ) {
    guard isOn else { return (nil, []) }
    var result = RebuildResult.ExternalFiles()
    var findings = Findings()
    let source: OpenFolder?
    do { source = try self.source() } catch { return (nil, [unreadFolder]) }
    for name in names {
      let found: ExternalFile?
      do { found = try source?.externalFile(fileNames[name] ?? name) } catch let error
        as SystemCallError
        where error.isRefusal
      {
        if let table = live[name] { findings.add(.unread, name, table) }
        continue
      }
      guard let file = found else {
        guard let table = live[name] else { continue }
        result.missingCount += 1
        let isTaken = source?.status(of: fileNames[name] ?? name) != nil
        findings.add(isTaken ? .replaced : .missing, name, table)
        continue
      }
      result.fileCount += 1
      result.sizeBytes = result.sizeBytes.addingClamped(file.size)
      guard let table = live[name] else { continue }
      if file.size == 0 {
        result.emptyCount += 1
        findings.add(.empty, name, table)
      } else if try file.isZeroed() {
        result.zeroedCount += 1
        findings.add(.zeroed, name, table)
      } else if let maxBytes, file.size > maxBytes {
        findings.add(.tooLarge, name, table)
      }
    }
    if namesAll, !isFiltered, let source {
      let present = try source.names(limit: Self.maxEntries).names
      for name in present.map({ String(decoding: $0, as: UTF8.self) }).sorted()
      where live[name] == nil && !deleted.contains(name) {
        result.strayCount += 1
        findings.add(.stray, name, nil)
      }
    }
    let isNothing = names.isEmpty && result.strayCount == 0
    return (isNothing ? nil : result, findings.list)
  }

  /// The finding that the current user may not read the folder of external files. Nothing is known of the files in this
  /// folder.
  private var unreadFolder: Finding {
    let folder = PathText.joined(Self.supportName(for: storePath), Self.folderName)
    let loss =
      live.isEmpty
      ? "; no row names an external file"
      : ", so \(counted(live.count, "external file")) that rows name \(live.count == 1 ? "is" : "are") not copied"
    return Finding(
      .recoverExternalUnread, "this user has no right to read the folder \(folder)\(loss)",
      severity: live.isEmpty ? .note : .damage)
  }

  /// Collects findings by kind. The first `maxTold` of each kind are listed one by one; the others of the kind are only
  /// counted.
  private struct Findings {
    enum Kind: CaseIterable {
      case missing, replaced, unread, empty, zeroed, tooLarge, stray

      var id: Finding.ID {
        switch self {
        case .missing, .replaced: .recoverExternalMissing
        case .unread: .recoverExternalUnread
        case .empty: .recoverExternalEmpty
        case .zeroed: .recoverExternalZeroed
        case .tooLarge: .recoverExternalTooLarge
        case .stray: .recoverExternalStray
        }
      }

      func sentence(_ name: String) -> String {
        switch self {
        case .missing: "a row names the external file \(name), which is missing"
        case .replaced:
          "a row names the external file \(name), but a folder, a link or another special file has this name"
        case .unread: "a row names the external file \(name), which this user has no right to read"
        case .empty: "a row names the external file \(name), which is empty"
        case .zeroed: "a row names the external file \(name), whose bytes are all zero"
        case .tooLarge:
          "a row names the external file \(name), which is left out: it is larger than an SQLite value can be"
        case .stray: "no row names the external file \(name)"
        }
      }

      var more: String {
        switch self {
        case .missing: "more external files are missing"
        case .replaced: "more external files are folders, links or other special files"
        case .unread: "more external files are not readable by this user"
        case .empty: "more external files are empty"
        case .zeroed: "more external files contain only zeros"
        case .tooLarge: "more external files are larger than an SQLite value can be"
        case .stray: "more external files are not named by any row"
        }
      }
    }

    private var told: [Kind: [Finding]] = [:]
    private var counts: [Kind: Int] = [:]

    mutating func add(_ kind: Kind, _ name: String, _ table: String?) {
      counts[kind, default: 0] += 1
      guard told[kind, default: []].count < maxTold else { return }
      told[kind, default: []].append(
        Finding(
          kind.id, kind.sentence(name), severity: kind == .stray ? .note : .damage, table: table))
    }

    var list: [Finding] {
      Kind.allCases.flatMap { kind in
        let all = told[kind] ?? []
        let more = (counts[kind] ?? 0) - all.count
        return more == 0
          ? all
          : all + [
            Finding(kind.id, "\(more) \(kind.more)", severity: kind == .stray ? .note : .damage)
          ]
      }
    }
  }

  private var names: [String] { Set(live.keys).union(deleted).sorted() }

  /// Opens the folder of external files; nil when it is missing. Symbolic links are not followed. Throws when the
  /// folder cannot be opened.
  private func source() throws(SystemCallError) -> OpenFolder? {
    do throws(SystemCallError) {
      return try OpenFolder(PathText.folder(of: storePath)).folder(Self.supportName(for: storePath))
        .folder(Self.folderName)
    } catch {
      // No such folder, or a link, which is not followed.
      guard [ENOENT, ENOTDIR, ELOOP].contains(error.errno) else { throw error }
      return nil
    }
  }

  /// Opens the folder of external files. Returns nil if the folder does not exist, or if the current user may not read
  /// it. In the second case, the survey reports the folder.
  private func readableSource() throws(SystemCallError) -> OpenFolder? {
    do throws(SystemCallError) { return try source() } catch {
      if error.isRefusal { return nil }
      throw error
    }
  }

  private static func supportName(for path: String) -> String {
    StoreSet.supportName(for: PathText.lastComponent(of: path))
  }

  // MARK: - Copying

  static func checkFree(_ output: String, for store: DamagedStore) throws {
    guard store.kind != .sqlite else { return }
    try checkFree(output, forStore: store.database.path)
  }

  /// Throws if the output's folder of external files already exists, unless that folder belongs to the Core Data store
  /// at `path`.
  package static func checkFree(_ output: String, forStore path: String) throws {
    // A folder that cannot be opened is not reported here, because the writer opens the same folder next and reports
    // the error.
    guard let target = try? support(of: output),
      let there = target.folder.status(of: target.name)
    else { return }
    // Two stores in one folder share the folder of external files if the stores' names differ only in the extension.
    if let own = try? support(of: path),
      own.folder.status(of: own.name)?.isSameFile(as: there) ?? false
    {
      return
    }
    throw ExtractionError(
      .outputExists,
      """
      a hidden folder for external files of a store with this name already exists, perhaps left by a run that was \
      killed; move it away, or choose another name
      """,
      path: PathText.joined(target.folder.path, target.name))
  }

  /// Opens the folder that contains a store. Returns the folder, and the name of the store's support folder in it.
  private static func support(of path: String) throws(SystemCallError) -> (
    folder: OpenFolder, name: String
  ) {
    (try OpenFolder(PathText.folder(of: path)), supportName(for: path))
  }

  /// Copies the external files into the support folder of the store at `output`. The support folder may exist already
  /// if this run has copied files of another store there.
  package func copy(beside output: String, _ made: MadeFiles) throws -> (
    RebuildResult.ExternalFiles?, [Finding]
  ) {
    var (result, findings) = try survey()
    guard let counted = result, counted.fileCount > 0 else { return (result, findings) }
    let target = try Self.support(of: output)
    let own = try Self.support(of: storePath)
    if let there = target.folder.status(of: target.name),
      own.folder.status(of: own.name)?.isSameFile(as: there) ?? false
    {
      findings.append(
        Finding(
          .recoverExternalShared,
          "the new store and the old one share their external files, because the names of the two stores differ only in the extension",
          severity: .note))
      return (result, findings)
    }
    let folder = try Self.folder(target.name, in: target.folder, made)
    try copy(into: folder, as: Self.folderName, made)
    try folder.synchronize()
    try target.folder.synchronize()
    result?.output = PathText.joined(PathText.folder(of: output), target.name)
    return (result, findings)
  }

  /// Makes a folder in `parent` and opens it. If this run has made a folder of this name before, opens that folder.
  private static func folder(_ name: String, in parent: OpenFolder, _ made: MadeFiles) throws
    -> OpenFolder
  {
    do throws(SystemCallError) {
      return made.hasMade(PathText.joined(parent.path, name))
        ? try parent.folder(name) : try made.makeFolder(name, in: parent)
    } catch {
      throw OutputFolder.cannotMake("folder of external files", error, error.path)
    }
  }

  /// Copies the files that rows name into a new folder within `parent`. If there are no such files, makes no folder.
  func copy(into parent: OpenFolder, as name: String, _ made: MadeFiles) throws {
    guard isOn, let source = try readableSource() else { return }
    var folder: OpenFolder?
    for file in names {
      let found: ExternalFile?
      do { found = try source.externalFile(fileNames[file] ?? file) } catch let error
        as SystemCallError
        where error.isRefusal
      { continue }
      guard let input = found else { continue }
      let target = try folder ?? Self.folder(name, in: parent, made)
      folder = target
      let output: Int32
      do { output = try made.makeFile(file, in: target) } catch {
        throw OutputFolder.cannotMake("file", error, error.path)
      }
      defer { close(output) }
      try input.copy(to: output, PathText.joined(target.path, file))
    }
    try folder?.synchronize()
  }
}

private final class ExternalFile {
  private let descriptor: Int32
  private let path: String
  private let status: FileStatus
  var size: Int64 { status.sizeBytes }

  init?(_ descriptor: Int32, _ path: String) throws {
    self.descriptor = descriptor
    self.path = path
    status = try FileStatus.of(descriptor: descriptor, path: path)
    guard status.kind == .file else { return nil }
  }

  deinit { close(descriptor) }

  func isSame(as other: ExternalFile) throws -> Bool {
    guard size == other.size else { return false }
    var offset: Int64 = 0
    while offset < size {
      let count = Int(min(size - offset, 1 << 18))
      let bytes = try FileBytes.read(descriptor, path, at: offset, count)
      guard bytes.count == count,
        bytes == (try FileBytes.read(other.descriptor, other.path, at: offset, count))
      else { return false }
      offset += Int64(count)
    }
    return true
  }

  func isZeroed() throws -> Bool {
    var isZero = true
    try forEachPart { _, bytes in
      isZero = bytes.allSatisfy { $0 == 0 }
      return isZero
    }
    return isZero
  }

  /// Copies the content of the file and verifies the copy. Holes stay holes, so that a small sparse file cannot fill a
  /// disk.
  func copy(to output: Int32, _ target: String) throws {
    guard ftruncate(output, off_t(size)) == 0 else { throw Self.writeFailed(target) }
    try forEachPart { offset, bytes in
      var done = 0
      while done < bytes.count {
        let written = unsafe bytes.withUnsafeBytes { raw in
          unsafe pwrite(
            output, raw.baseAddress.map { unsafe $0 + done }, bytes.count - done,
            off_t(offset + Int64(done)))
        }
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { throw Self.writeFailed(target) }
        done += written
      }
      return true
    }
    guard SystemCalls.synchronize(output) == nil else { throw Self.writeFailed(target) }
    var isEqual = true
    try forEachPart { offset, bytes in
      isEqual = try FileBytes.read(output, target, at: offset, bytes.count) == Array(bytes)
      return isEqual
    }
    guard isEqual, try FileStatus.of(descriptor: output, path: target).sizeBytes == size else {
      throw ExtractionError(
        .writeFailed, "the copy of an external file differs from the original", path: target)
    }
    guard try FileStatus.of(descriptor: descriptor, path: path) == status else {
      throw ExtractionError(
        .changedDuringRead, "an external file changed while it was copied", path: path)
    }
  }

  #if canImport(Darwin)
    private static let seekData: Int32 = 4
    private static let seekHole: Int32 = 3
  #else
    private static let seekData: Int32 = 3
    private static let seekHole: Int32 = 4
  #endif

  /// Calls `body` with each block of the file's data and the offset of the block, until `body` returns false. Skips the
  /// holes of a sparse file.
  private func forEachPart(_ body: (Int64, [UInt8]) throws -> Bool) throws {
    var offset: Int64 = 0
    while offset < size {
      let data = Int64(lseek(descriptor, off_t(offset), Self.seekData))
      if data < 0, errno == ENXIO { return }
      // On a file system that does not report holes, the whole file counts as data.
      let start = data < offset ? offset : data
      let hole = data < offset ? size : Int64(lseek(descriptor, off_t(start), Self.seekHole))
      let end = hole <= start ? size : min(hole, size)
      offset = start
      while offset < end {
        let bytes = try FileBytes.read(
          descriptor, path, at: offset, Int(min(end - offset, 1 << 18)))
        guard !bytes.isEmpty else {
          throw ExtractionError(
            .changedDuringRead, "an external file changed while it was read", path: path)
        }
        guard try body(offset, bytes) else { return }
        offset += Int64(bytes.count)
      }
    }
  }

  private static func writeFailed(_ path: String) -> ExtractionError {
    ExtractionError(
      .writeFailed,
      "the external file cannot be written: \(SystemCallError.words(errno))", path: path)
  }
}

extension SystemCallError {
  fileprivate var isRefusal: Bool { errno == EACCES || errno == EPERM }
}

extension OpenFolder {
  /// Opens the file with this name. Returns nil if the file does not exist or is not regular.
  fileprivate func externalFile(_ name: String) throws -> ExternalFile? {
    guard try status(named: Array(name.utf8))?.kind == .file else { return nil }
    return try ExternalFile(file(name), PathText.joined(path, name))
  }
}
