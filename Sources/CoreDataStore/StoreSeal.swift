import Crypto

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Size, SHA-256, modification time and inode of every member of a store set, taken at one moment, so that
/// a later change of the set shows.
public struct StoreSeal: Sendable, Codable, Equatable {
  /// What the seal holds about one member.
  public struct File: Sendable, Codable, Equatable {
    /// The path relative to the store's folder.
    public let name: String
    /// What the member is for.
    public let role: StoreSet.Role
    /// What the path names.
    public let kind: StoreSet.Kind
    /// The size in bytes; 0 for anything but a file.
    public let sizeBytes: Int64
    /// SHA-256 in lower-case hex of a file's bytes or of a symbolic link's target; nil for a folder and for a
    /// device, socket or pipe.
    public let sha256: String?
    /// Nanoseconds since 1970 at which the member was last written.
    public let modifiedNanoseconds: Int64
    /// The inode number, which says whether the member is still the same file on the same volume.
    public let inode: UInt64
  }

  /// How two seals differ in one member.
  public struct Difference: Sendable, Equatable {
    /// What differs.
    public struct ID: RawRepresentable, Sendable, Hashable {
      /// For programs, for example `seal.bytes`.
      public let rawValue: String
      /// Creates an id from its text.
      public init(rawValue: String) { self.rawValue = rawValue }
      /// A sealed member is gone.
      public static let missing = ID(rawValue: "seal.missing")
      /// A member is there that was not sealed.
      public static let added = ID(rawValue: "seal.added")
      /// A member is of another kind now.
      public static let kind = ID(rawValue: "seal.kind")
      /// A file is longer or shorter now.
      public static let size = ID(rawValue: "seal.size")
      /// A file has the same size and other bytes.
      public static let bytes = ID(rawValue: "seal.bytes")
      /// A file was written at another time; its bytes are the same.
      public static let modified = ID(rawValue: "seal.modified")
    }
    /// What differs.
    public let id: ID
    /// The member's path relative to the store's folder.
    public let name: String
    /// The difference in words.
    public let text: String
    /// Whether the content differs, and not just a time.
    public var affectsContent: Bool { id != .modified }
  }

  /// The sealed members in the order of the set.
  public let files: [File]

  /// The size of one read, in bytes.
  static let window = 256 * 1024

  /// Reads every member of `set` and seals it.
  ///
  /// - Throws: ``StoreSealError`` when a member cannot be read, is no longer what the set says, or changes
  ///   while it is read.
  public init(sealing set: StoreSet) throws(StoreSealError) {
    guard set.isComplete else {
      throw StoreSealError(
        .incompleteSet, path: set.mainPath,
        message: "the store's folder could not be listed completely, so not all of it can be sealed"
      )
    }
    var files: [File] = []
    for member in set.members { files.append(try Self.seal(member)) }
    self.files = files
  }

  /// What differs between this seal and a later one, ordered by name.
  public func differences(from other: StoreSeal) -> [Difference] {
    let mine = Dictionary(files.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let theirs = Dictionary(other.files.map { ($0.name, $0) }, uniquingKeysWith: { a, _ in a })
    return Set(mine.keys).union(theirs.keys).sorted().compactMap { name in
      guard let before = mine[name] else {
        return Difference(id: .added, name: name, text: "\(name) was not there when sealed")
      }
      guard let after = theirs[name] else {
        return Difference(id: .missing, name: name, text: "\(name) is missing")
      }
      return Self.difference(before, after)
    }
  }

  /// How one member differs from what was sealed; nil when it does not.
  package static func difference(_ before: File, _ after: File) -> Difference? {
    let name = before.name
    if before.kind != after.kind {
      return .init(
        id: .kind, name: name,
        text: "\(name) was a \(before.kind.rawValue) and is a \(after.kind.rawValue)")
    }
    if before.sizeBytes != after.sizeBytes {
      return .init(
        id: .size, name: name,
        text: "\(name) had \(before.sizeBytes) bytes and has \(after.sizeBytes)")
    }
    if before.sha256 != after.sha256 {
      return .init(id: .bytes, name: name, text: "\(name) has other bytes than when sealed")
    }
    // A folder's time changes with its entries, which are compared one by one.
    if before.kind == .file, before.modifiedNanoseconds != after.modifiedNanoseconds {
      return .init(
        id: .modified, name: name, text: "\(name) was written again with the same bytes")
    }
    return nil
  }

  /// Reads one member and seals it.
  package static func seal(_ member: StoreSet.Member) throws(StoreSealError) -> File {
    guard let status = try status(of: member.path) else {
      throw StoreSealError(.changed, path: member.path, message: "the file is gone")
    }
    guard status.kind == member.kind else {
      throw StoreSealError(
        .changed, path: member.path, message: "the path names something else than a moment ago")
    }
    var digest: String?
    var size: Int64 = 0
    switch member.kind {
    case .file: (digest, size) = try hash(member.path, expecting: status)
    case .symbolicLink: digest = Digest.hex(SHA256.hash(data: try target(of: member.path)))
    case .folder, .other: break
    }
    return File(
      name: member.name, role: member.role, kind: member.kind, sizeBytes: size, sha256: digest,
      modifiedNanoseconds: status.modified, inode: status.inode)
  }

  /// SHA-256 of an ordinary file's bytes, in lower-case hex.
  package static func sha256(ofFile path: String) throws(StoreSealError) -> String {
    guard let status = try status(of: path), status.kind == .file else {
      throw StoreSealError(.changed, path: path, message: "the path names no file")
    }
    return try hash(path, expecting: status).0
  }

  private static func status(of path: String) throws(StoreSealError) -> FileStatus? {
    do { return try FileStatus.of(path) } catch { throw StoreSealError(error) }
  }

  private static func hash(
    _ path: String, expecting listed: FileStatus
  ) throws(StoreSealError) -> (String, Int64) {
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw StoreSealError(SystemCallError(call: "open", path: path, errno: errno))
    }
    defer { close(descriptor) }
    do {
      let before = try FileStatus.of(descriptor: descriptor, path: path)
      guard before == listed else { throw StoreSealError.changing(path) }
      var hasher = SHA256()
      var total: Int64 = 0
      var buffer = [UInt8](repeating: 0, count: window)
      // One byte more than the size says is enough to see that the file grows.
      while total <= before.sizeBytes {
        let count = unsafe buffer.withUnsafeMutableBytes {
          unsafe read(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0 {
          if errno == EINTR { continue }
          throw StoreSealError(SystemCallError(call: "read", path: path, errno: errno))
        }
        if count == 0 { break }
        unsafe buffer.withUnsafeBytes {
          unsafe hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
        total += Int64(count)
      }
      let after = try FileStatus.of(descriptor: descriptor, path: path)
      guard after == before, total == before.sizeBytes else { throw StoreSealError.changing(path) }
      return (Digest.hex(hasher.finalize()), total)
    } catch let error as SystemCallError {
      throw StoreSealError(error)
    } catch let error as StoreSealError {
      throw error
    } catch {
      throw StoreSealError(.unreadable, path: path, message: "the file could not be read")
    }
  }

  private static func target(of path: String) throws(StoreSealError) -> [UInt8] {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink(path, &buffer, buffer.count)
    guard count >= 0 else {
      throw StoreSealError(SystemCallError(call: "readlink", path: path, errno: errno))
    }
    return buffer.prefix(count).map { UInt8(bitPattern: $0) }
  }
}

/// Why a store set could not be sealed.
public struct StoreSealError: Error, Sendable, Equatable {
  /// The kind of failure; more kinds may come.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// For programs, for example `seal.changing`.
    public let rawValue: String
    /// Creates a code from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A member could not be read.
    public static let unreadable = Code(rawValue: "seal.unreadable")
    /// A member changed while it was read, so something still writes to the set.
    public static let changing = Code(rawValue: "seal.changing")
    /// A member is no longer what the listing said.
    public static let changed = Code(rawValue: "seal.changed")
    /// The set's listing is not complete.
    public static let incompleteSet = Code(rawValue: "seal.incompleteSet")
  }

  /// The kind of failure.
  public let code: Code
  /// The file at fault.
  public let path: String
  /// What is wrong, and what to do next.
  public let message: String
  /// The system's error number; nil when no call failed.
  public let errno: Int32?

  init(_ code: Code, path: String, message: String, errno: Int32? = nil) {
    self.code = code
    self.path = path
    self.message = message
    self.errno = errno
  }

  init(_ error: SystemCallError) {
    self.init(
      .unreadable, path: error.path, message: "\(error.call) failed with error \(error.errno)",
      errno: error.errno)
  }

  static func changing(_ path: String) -> StoreSealError {
    StoreSealError(
      .changing, path: path,
      message: "the file changes while it is read; close whatever writes to it and try again")
  }
}
