import CoreDataStore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Gathers the facts about the store at a path that reading a few bytes gives. It runs before the opener.
package typealias EvidenceReader = @Sendable (_ path: String) -> StoreEvidence

/// The default ``EvidenceReader``: `lstat` of the members, `open` of the main file and its first page, and the
/// header of the log.
enum FileEvidence {
  /// How much of the main file is read to see whether it looks random, in bytes.
  static let sampleBytes = 4096

  static func read(_ path: String) -> StoreEvidence {
    let set = StoreSet(at: path)
    let main = set.first(.main)
    var evidence = StoreEvidence(mainKind: main?.kind)
    evidence.mainSizeBytes = main?.kind == .file ? main?.sizeBytes : nil
    evidence.members = set.members.map {
      .init(role: $0.role, name: $0.name, kind: $0.kind, sizeBytes: $0.sizeBytes)
    }
    let folder = StoreSet.folder(of: path)
    evidence.folderExists = isFolder(folder)
    evidence.freeBytes = try? FileSystem.freeBytes(at: folder)
    if main?.kind == .file {
      let sample = firstBytes(of: path, count: sampleBytes)
      evidence.openErrno = sample.errno
      if sample.errno == 0 {
        evidence.header = header(sample.bytes)
        // An encrypted file may have the first 32 bytes in clear (SQLCipher's cipher_plaintext_header_size), so
        // that the system knows it for an SQLite file.
        let clear = evidence.header?.isMagicRight == true ? 32 : 0
        evidence.looksEncrypted = looksRandom(sample.bytes.dropFirst(clear))
      }
      evidence.take(lock(path))
    }
    if let journal = set.first(.journal), journal.kind == .file {
      let start = firstBytes(of: journal.path, count: journalMagic.count)
      evidence.journal = .init(isHot: start.errno == 0 ? start.bytes == journalMagic : nil)
    }
    evidence.wal = LogLook.read(path, evidence.header)
    return evidence
  }

  /// The first bytes of a journal that holds a transaction (SQLite file format, section 3).
  private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

  /// What is known of the locks that other processes hold.
  struct Lock {
    let isHeld: Bool
    /// The holder's id; nil when it cannot be told, as across containers.
    let holder: Int32?
  }

  static func isUsedElsewhere(_ path: String) -> Bool? { lock(path)?.isHeld }

  /// Asks for one of SQLite's locks on a database; nil when that cannot be told. A connection in WAL mode holds
  /// one as long as it is open.
  static func lock(_ path: String) -> Lock? {
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    // The pending, reserved and shared bytes (SQLite file format, section 1.2, "The Lock-Byte Page").
    lock.l_start = 0x4000_0000
    lock.l_len = 512
    guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0 else { return nil }
    let isHeld = lock.l_type != Int16(F_UNLCK)
    return Lock(isHeld: isHeld, holder: isHeld && lock.l_pid > 0 ? lock.l_pid : nil)
  }

  /// The folder may be reached over links: the host chose its path.
  private static func isFolder(_ path: String) -> Bool {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == EACCES }
    close(descriptor)
    return true
  }

  static func firstBytes(of path: String, count: Int) -> (bytes: [UInt8], errno: Int32) {
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return ([], errno) }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe pread(
          descriptor, UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]).baseAddress,
          count - filled, off_t(filled))
      }
      if got < 0 {
        if errno == EINTR { continue }
        return ([], errno)
      }
      if got == 0 { break }
      filled += got
    }
    return (Array(buffer.prefix(filled)), 0)
  }

  /// The header's fields (SQLite file format, section 1.3); nil for fewer than 16 bytes.
  static func header(_ bytes: [UInt8]) -> StoreEvidence.Header? {
    guard bytes.count >= 16 else { return nil }
    var header = StoreEvidence.Header(
      isMagicRight: Array(bytes.prefix(16)) == Array("SQLite format 3\0".utf8))
    guard header.isMagicRight, bytes.count >= 100 else { return header }
    func word(_ offset: Int) -> UInt32 {
      bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
    let page = Int(bytes[16]) << 8 | Int(bytes[17])
    if page == 1 {
      header.pageSize = 65536
    } else if page >= 512, page <= 32768, page & (page - 1) == 0 {
      header.pageSize = page
    }
    header.readVersion = Int(bytes[19])
    header.changeCounter = word(24)
    if word(24) == word(92), word(28) > 0 { header.pageCount = word(28) }
    header.schemaFormat = word(44)
    return header
  }

  /// Whether the bytes are spread as evenly as random ones. Fewer than 512 bytes are never called random:
  /// that is the smallest page, and too few to tell.
  static func looksRandom(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count >= 512 else { return false }
    var counts = [Int](repeating: 0, count: 256)
    for byte in bytes { counts[Int(byte)] += 1 }
    let expected = Double(bytes.count) / 256
    let chiSquare = counts.reduce(0.0) { sum, count in
      let difference = Double(count) - expected
      return sum + difference * difference / expected
    }
    // 255 degrees of freedom: the mean is 255 and the standard deviation 22.6; six of them either way.
    return chiSquare > 120 && chiSquare < 391
  }
}

extension StoreEvidence {
  /// Takes over what is known of locks.
  fileprivate mutating func take(_ lock: FileEvidence.Lock?) {
    isUsedElsewhere = lock?.isHeld
    lockHolder = lock?.holder
  }
}
