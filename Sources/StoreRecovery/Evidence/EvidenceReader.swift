import CLibrary
import StoreFiles
import SQLiteFile
import SafeFiles
import SafeText

package enum FileEvidence {
  /// The number of bytes at the start of the main file that are read to decide whether the file looks random.
  static let sampleBytes = 4096
  /// The length of the database header together with the b-tree header of page 1, in bytes.
  static let headerBytes = 108

  package static func read(_ path: String) -> StoreEvidence {
    var evidence = beforeOpening(path)
    complete(&evidence, path)
    return evidence
  }

  /// Gathers the facts that must be known before the app opens the store. Because this runs at each launch, no folder
  /// is read, and the main file is opened only once. If `files` is nil, the status of the store's files is looked up.
  static func beforeOpening(_ path: String, _ files: DatabaseFiles? = nil) -> StoreEvidence {
    let files = files ?? DatabaseFiles(at: path)
    var evidence = StoreEvidence(mainKind: files.main?.kind)
    let name = PathText.lastComponent(of: path)
    func add(_ status: FileStatus?, _ role: StoreSet.Role, _ suffix: String) {
      guard let status else { return }
      evidence.members.append(
        .init(
          role: role, name: name + suffix, kind: status.kind,
          sizeBytes: status.kind == .file ? status.sizeBytes : 0))
    }
    add(files.main, .main, "")
    add(files.log, .wal, "-wal")
    add(files.index, .sharedMemory, "-shm")
    add(files.journal, .journal, "-journal")
    // A member that was found proves that its folder exists.
    if evidence.members.isEmpty { evidence.folderExists = isFolder(PathText.folder(of: path)) }
    if let main = files.main, main.kind == .file {
      evidence.mainSizeBytes = main.sizeBytes
      readMain(path, &evidence)
    }
    if files.journal?.kind == .file {
      let start = firstBytes(of: path + "-journal", count: journalHeaderBytes)
      let hasMain = files.main.map { $0.sizeBytes > 0 }
      evidence.journal = .init(
        isHot: start.errno == 0 ? isHot(start.bytes, hasMain: hasMain) : nil)
    }
    // A store that is not in WAL mode and has no log cannot have lost rows with a log.
    if evidence.header?.readVersion == 2 || files.log != nil {
      evidence.wal = LogSnapshot.read(path, evidence.header, files)
    }
    return evidence
  }

  /// Adds the facts that matter only after a failed open: the support folder, files of an unfinished migration, and the
  /// free space. Does not open the main file, because closing it would release SQLite's locks on it.
  static func complete(_ evidence: inout StoreEvidence, _ path: String) {
    evidence.members.removeAll { $0.role.mayBeFolder }
    evidence.members += StoreSet(at: path).members.filter { $0.role.mayBeFolder }.map {
      .init(role: $0.role, name: $0.name, kind: $0.kind, sizeBytes: $0.sizeBytes)
    }
    evidence.freeBytes = try? RealFiles.freeBytes(at: PathText.folder(of: path))
  }

  private static func readMain(_ path: String, _ evidence: inout StoreEvidence) {
    let descriptor = SystemCalls.openForReading(path)
    guard descriptor >= 0 else {
      evidence.openErrno = errno
      return
    }
    defer { close(descriptor) }
    let start = firstBytes(of: descriptor, count: headerBytes)
    evidence.openErrno = start.errno
    if start.errno == 0 {
      evidence.header = header(start.bytes)
      if isPlain(start.bytes) {
        evidence.looksEncrypted = false
      } else {
        let sample = firstBytes(of: descriptor, count: sampleBytes)
        evidence.openErrno = sample.errno
        // An encrypted file may have its first 32 bytes in plain text (SQLCipher's cipher_plaintext_header_size), so
        // that the system recognises it as an SQLite file.
        let clear = evidence.header?.isMagicRight == true ? 32 : 0
        evidence.looksEncrypted = looksRandom(sample.bytes.dropFirst(clear))
      }
    }
    let lock = lock(descriptor)
    evidence.isUsedElsewhere = lock?.isHeld
    evidence.lockHolder = lock?.holder
  }

  /// Whether the first bytes prove that the file is not encrypted: the reserved part of the database header is zero,
  /// and page 1 is a leaf or interior page of a table b-tree.
  private static func isPlain(_ bytes: [UInt8]) -> Bool {
    bytes.count == headerBytes && bytes.starts(with: DatabaseHeader.magic)
      && bytes[72..<92].allSatisfy { $0 == 0 } && (bytes[100] == 13 || bytes[100] == 5)
  }

  /// The length, in bytes, of the header fields that are read: magic number, record count, nonce and initial size.
  private static let journalHeaderBytes = 20

  /// Whether SQLite must roll back a rollback journal. `start` is the beginning of the journal file. `hasMain` says
  /// whether the main file has content; nil when the main file is missing. The journal of a store's first transaction
  /// is not rolled back into an empty main file, because SQLite creates the store again.
  private static func isHot(_ start: [UInt8], hasMain: Bool?) -> Bool {
    guard start.starts(with: RollbackJournal.magic) else { return false }
    let isOfNewStore = start.count == journalHeaderBytes && start[16...].allSatisfy { $0 == 0 }
    return !(isOfNewStore && hasMain == false)
  }

  struct Lock {
    let isHeld: Bool
    /// The id of the process that holds the lock. nil when no lock is held, or when the system does not name the
    /// process, for example because it runs in another Linux container.
    let holder: Int32?
  }

  /// Whether another process holds a lock on the database at `path`; nil when unknown. A connection in WAL mode holds a
  /// lock as long as it is open.
  static func isUsedElsewhere(_ path: String) -> Bool? {
    let descriptor = SystemCalls.openForReading(path)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return lock(descriptor)?.isHeld
  }

  private static func lock(_ descriptor: Int32) -> Lock? {
    var lock = DatabaseLock.exclusive
    guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0 else { return nil }
    let isHeld = lock.l_type != Int16(F_UNLCK)
    return Lock(isHeld: isHeld, holder: isHeld && lock.l_pid > 0 ? lock.l_pid : nil)
  }

  /// Whether `path` names a folder, even one that this process may not open. Symbolic links are followed, because the
  /// host chose the path.
  private static func isFolder(_ path: String) -> Bool {
    let descriptor = SystemCalls.openFolder(following: path)
    guard descriptor >= 0 else { return errno == EACCES }
    close(descriptor)
    return true
  }

  static func firstBytes(of path: String, count: Int) -> (bytes: [UInt8], errno: Int32) {
    let descriptor = SystemCalls.openForReading(path)
    guard descriptor >= 0 else { return ([], errno) }
    defer { close(descriptor) }
    return firstBytes(of: descriptor, count: count)
  }

  private static func firstBytes(
    of descriptor: Int32, count: Int
  ) -> (bytes: [UInt8], errno: Int32) {
    let (bytes, error) = SystemCalls.read(descriptor, at: 0, count: count)
    return (error == nil ? bytes : [], error ?? 0)
  }

  /// The fields of the database header (SQLite file format, section 1.3); nil for fewer than 16 bytes.
  static func header(_ bytes: [UInt8]) -> StoreEvidence.Header? {
    guard bytes.count >= 16 else { return nil }
    var header = StoreEvidence.Header(isMagicRight: bytes.starts(with: DatabaseHeader.magic))
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

  /// Whether the byte values are as evenly distributed as in random bytes. Fewer than 512 bytes, the smallest page, are
  /// too few to decide, so they never count as random.
  static func looksRandom(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count >= 512 else { return false }
    var counts = [Int](repeating: 0, count: 256)
    for byte in bytes { counts[Int(byte)] += 1 }
    let expected = Double(bytes.count) / 256
    let chiSquare = counts.reduce(0.0) { sum, count in
      let difference = Double(count) - expected
      return sum + difference * difference / expected
    }
    // 255 degrees of freedom: the mean is 255 and the standard deviation 22.6; the limits are six deviations either
    // way.
    return chiSquare > 120 && chiSquare < 391
  }
}
