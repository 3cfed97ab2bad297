import ObjectModel
import CLibrary
import Crypto
package import SafeFiles
import SafeText

/// The SHA-256, size, modification time and inode number of each member of a store set at one moment. Comparing two
/// seals shows which members have changed.
package struct StoreSeal: Sendable, Codable, Equatable {
  package struct File: Sendable, Codable, Equatable {
    /// The path relative to the store's folder.
    package let name: String
    package let role: StoreSet.Role
    package let kind: StoreSet.Kind
    /// The size in bytes; 0 for anything but a file.
    package let sizeBytes: Int64
    /// True if ``sizeBytes`` is rounded down to a power of two, as in a support bundle; nil if ``sizeBytes`` is exact.
    package private(set) var isSizeApproximate: Bool?
    /// SHA-256 in lower-case hex of a file's bytes or of a symbolic link's target; nil for a folder and for a
    /// device, socket or pipe.
    package let sha256: String?
    /// The time of the last write to the member, in nanoseconds since 1970. In a support bundle, nil for a symbolic
    /// link or a member in a subfolder.
    package let modifiedNanoseconds: Int64?
    /// The inode number; nil in a support bundle. If the inode number differs between two seals from the same volume,
    /// another file has replaced the member.
    package let inode: UInt64?

    package init(
      name: String, role: StoreSet.Role, kind: StoreSet.Kind, sizeBytes: Int64, sha256: String?,
      modifiedNanoseconds: Int64, inode: UInt64
    ) {
      self.name = name
      self.role = role
      self.kind = kind
      self.sizeBytes = sizeBytes
      self.sha256 = sha256
      self.modifiedNanoseconds = modifiedNanoseconds
      self.inode = inode
    }
  }

  /// A change of one file of a store set since its seal was taken. If ``id`` is ``ID/notCompared``, the change is
  /// unknown, because a file could not be read.
  package struct Difference: Sendable, Equatable {
    package struct ID: RawRepresentable, Sendable, Hashable {
      /// The identifier as a string, for example `seal.bytes`.
      package let rawValue: String
      package init(rawValue: String) { self.rawValue = rawValue }
      package static let missing = ID(rawValue: "seal.missing")
      /// The later seal has a member that the earlier seal does not have.
      package static let added = ID(rawValue: "seal.added")
      package static let kind = ID(rawValue: "seal.kind")
      package static let size = ID(rawValue: "seal.size")
      /// The file has the same size, but its SHA-256 differs.
      package static let bytes = ID(rawValue: "seal.bytes")
      /// The file's modification time has changed, but its bytes have not.
      package static let modified = ID(rawValue: "seal.modified")
      package static let notCompared = ID(rawValue: "seal.notCompared")
    }
    package let id: ID
    /// The member's path relative to the store's folder.
    package let name: String
    package let text: String
    /// Whether the bytes or other properties of the file may differ, and not only its modification time.
    package var affectsContent: Bool { id != .modified }

    /// Returns a difference for files that could not be compared with their checksums. The reason is `error`.
    package static func notCompared(_ error: StoreSealError) -> Self {
      let name = PathText.lastComponent(of: error.path)
      return .init(
        id: .notCompared, name: name,
        text: "the files could not be compared with their checksums: \(name): \(error.message)")
    }
  }

  /// The sealed members, in the order of ``StoreSet/members``.
  package let files: [File]

  /// The number of bytes read at a time.
  package static let window = 256 * 1024

  /// The size of all sealed files together, in bytes, clamped to `Int64.max`. A seal that was decoded from a record may
  /// contain any sizes, so their sum may overflow.
  package var sizeBytes: Int64 {
    files.reduce(0) { $0.addingClamped($1.sizeBytes) }
  }

  /// Combines members that were sealed separately.
  package init(files: [File]) { self.files = files }

  /// Reads every member of `set` and seals it. Calls `isCancelled` before each read of 256 KiB.
  ///
  /// - Throws: ``StoreSealError`` when the set is incomplete, when a member cannot be read, when a member has changed
  ///   since it was listed or changes while it is read, or when `isCancelled` returns true.
  package init(
    sealing set: StoreSet, isCancelled: @Sendable () -> Bool = { false }
  ) throws(StoreSealError) {
    if let problem = set.problem { throw .incomplete(set.mainPath, problem) }
    var files: [File] = []
    for member in set.members { files.append(try Self.seal(member, isCancelled: isCancelled)) }
    self.files = files
  }

  /// The differences between this seal and the later seal `other`, sorted by the names of the members.
  package func differences(from other: StoreSeal) -> [Difference] {
    let mine = Dictionary(firstOf: files.map { (FileName($0.name), $0) })
    let theirs = Dictionary(firstOf: other.files.map { (FileName($0.name), $0) })
    return Set(mine.keys).union(theirs.keys).sorted().compactMap { key in
      let name = key.text
      guard let before = mine[key] else {
        return Difference(id: .added, name: name, text: "\(name) is not among the recorded files")
      }
      guard let after = theirs[key] else {
        return Difference(id: .missing, name: name, text: "\(name) is missing")
      }
      return Self.difference(before, after)
    }
  }

  /// Returns the first difference found between `before` and `after`, two seals of one member; nil when the member has
  /// not changed.
  package static func difference(_ before: File, _ after: File) -> Difference? {
    let name = before.name
    if before.kind != after.kind {
      return .init(
        id: .kind, name: name,
        text: "\(name) was \(before.kind.words) and is now \(after.kind.words)")
    }
    if before.sizeBytes != after.sizeBytes {
      return .init(
        id: .size, name: name,
        text: "\(name) had \(counted(before.sizeBytes, "byte")) and now has \(after.sizeBytes)")
    }
    if before.sha256 != after.sha256 {
      return .init(id: .bytes, name: name, text: "the bytes of \(name) differ from those recorded")
    }
    // A folder's modification time is ignored. It changes when entries are added or removed, and the entries are
    // compared separately.
    if before.kind == .file, let earlier = before.modifiedNanoseconds,
      let later = after.modifiedNanoseconds, earlier != later
    {
      return .init(
        id: .modified, name: name, text: "\(name) was written again with the same bytes")
    }
    return nil
  }

  package static func seal(
    _ member: StoreSet.Member, isCancelled: @Sendable () -> Bool = { false }
  ) throws(StoreSealError) -> File {
    guard let status = try status(of: member.path) else {
      throw StoreSealError(.changed, path: member.path, message: "the file is gone")
    }
    guard status.kind == member.kind else {
      throw StoreSealError(
        .changed, path: member.path, message: "the path now names another kind of file")
    }
    let digest: String? =
      switch member.kind {
      case .file: try sha256(of: member.path, status, isCancelled)
      case .symbolicLink: Digest.sha256(try target(of: member.path))
      case .folder, .other: nil
      }
    return File(
      name: member.name, role: member.role, kind: member.kind,
      sizeBytes: member.kind == .file ? status.sizeBytes : 0, sha256: digest,
      modifiedNanoseconds: status.modified, inode: status.inode)
  }

  /// Returns the SHA-256 of the bytes of the file at `path`, in lower-case hex.
  package static func sha256(ofFile path: String) throws(StoreSealError) -> String {
    guard let status = try status(of: path), status.kind == .file else {
      throw StoreSealError(.changed, path: path, message: "there is no ordinary file at the path")
    }
    return try sha256(of: path, status) { false }
  }

  private static func sha256(
    of path: String, _ status: FileStatus, _ isCancelled: @Sendable () -> Bool
  ) throws(StoreSealError) -> String {
    var hasher = SHA256()
    _ = unsafe try read(path, expecting: status, isCancelled: isCancelled) {
      unsafe hasher.update(bufferPointer: $0)
      return true
    }
    return Hex.string(hasher.finalize())
  }

  private static func status(of path: String) throws(StoreSealError) -> FileStatus? {
    do { return try FileStatus.of(path) } catch { throw StoreSealError(error) }
  }

  /// Reads the file at `path` from `offset` on in pieces of up to 256 KiB, and calls `body` with each piece until
  /// `body` returns false or the file ends. Throws `seal.changing` unless the file's status equals `listed` before and
  /// after the file is read.
  ///
  /// - Returns: The offset after the last byte that was read. If `body` always returned true, this is the file's size.
  package static func read(
    _ path: String, expecting listed: FileStatus, from offset: Int64 = 0,
    isCancelled: @Sendable () -> Bool, _ body: (UnsafeRawBufferPointer) -> Bool
  ) throws(StoreSealError) -> Int64 {
    let descriptor = SystemCalls.openForReading(path)
    guard descriptor >= 0 else {
      throw StoreSealError(SystemCallError(call: "open", path: path, errno: errno))
    }
    defer { close(descriptor) }
    guard try status(of: descriptor, path) == listed else { throw .changing(path) }
    var total = offset
    var isWanted = true
    var buffer = [UInt8](repeating: 0, count: window)
    // The loop tries to read past the file's size, to notice that the file grows.
    while isWanted, total <= listed.sizeBytes {
      if isCancelled() { throw .cancelled(path) }
      let (count, error) = unsafe buffer.withUnsafeMutableBytes {
        unsafe SystemCalls.read(descriptor, at: total, into: $0)
      }
      if let error {
        throw StoreSealError(SystemCallError(call: "read", path: path, errno: error))
      }
      if count == 0 { break }
      isWanted = unsafe buffer.withUnsafeBytes {
        unsafe body(UnsafeRawBufferPointer(rebasing: $0[..<count]))
      }
      total += Int64(count)
    }
    let isWhole = total == listed.sizeBytes || !isWanted && total < listed.sizeBytes
    guard try status(of: descriptor, path) == listed, isWhole else { throw .changing(path) }
    return total
  }

  private static func status(
    of descriptor: Int32, _ path: String
  ) throws(StoreSealError) -> FileStatus {
    do { return try FileStatus.of(descriptor: descriptor, path: path) } catch {
      throw StoreSealError(error)
    }
  }

  package static func target(of path: String) throws(StoreSealError) -> [UInt8] {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink(path, &buffer, buffer.count)
    guard count >= 0 else {
      throw StoreSealError(SystemCallError(call: "readlink", path: path, errno: errno))
    }
    return buffer.prefix(count).map { UInt8(bitPattern: $0) }
  }
}

package struct StoreSealError: Error, Sendable, Equatable {
  /// The kind of failure. New kinds may be added in later versions.
  package struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as a string, for example `seal.changing`.
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
    package static let unreadable = Code(rawValue: "seal.unreadable")
    /// A member changed while it was read, so a process is still writing to the store.
    package static let changing = Code(rawValue: "seal.changing")
    /// Since the set was listed, a member was removed, or its path now names another kind of file.
    package static let changed = Code(rawValue: "seal.changed")
    /// Not all members of the set could be listed.
    package static let incompleteSet = Code(rawValue: "seal.incompleteSet")
    package static let cancelled = Code(rawValue: "seal.cancelled")
  }

  package let code: Code
  package let path: String
  /// What is wrong, and what to do next.
  package let message: String
  /// The system's error number; nil when no system call failed.
  package let errno: Int32?

  package init(_ code: Code, path: String, message: String, errno: Int32? = nil) {
    self.code = code
    self.path = path
    self.message = message
    self.errno = errno
  }

  init(_ error: SystemCallError) {
    self.init(
      .unreadable, path: error.path, message: "the file cannot be read: \(error.reason)",
      errno: error.errno)
  }

  static func cancelled(_ path: String) -> StoreSealError {
    StoreSealError(.cancelled, path: path, message: "the reading was cancelled")
  }

  package static func incomplete(_ path: String, _ problem: String) -> StoreSealError {
    StoreSealError(
      .incompleteSet, path: path,
      message: "checksums cannot be made for all files of the store: \(problem)")
  }

  package static func changing(_ path: String) -> StoreSealError {
    StoreSealError(
      .changing, path: path,
      message: "the file changes while it is read; close whatever writes to it and try again")
  }
}
