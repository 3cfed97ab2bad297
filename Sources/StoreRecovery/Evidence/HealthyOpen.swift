import CLibrary
import SafeFiles
import StoreFiles
import SafeText

/// The state of a store's main file and log just before its last healthy open. At a later launch, this record can show
/// that committed rows were lost with the log. Rows written after that open are not covered.
struct HealthyOpen: Sendable, Equatable {
  /// Facts about the main file. A checkpoint changes them.
  struct Main: Sendable, Equatable {
    var inode: UInt64
    /// The size of the main file, in bytes.
    var size: Int64
    /// The modification time, in nanoseconds since 1970.
    var modified: Int64
    var changeCounter: UInt32
    /// Whether the file's last change was so long ago that any later change must give the file another modification
    /// time.
    var isSettled: Bool
  }

  /// Facts about the log. A restart of the log or a new commit changes them.
  struct Log: Sendable, Equatable {
    var inode: UInt64
    /// The two salts in the log's header (8 bytes), which change each time SQLite restarts the log.
    var salts: UInt64
    /// The number of frames up to the log's last commit; 0 when unknown.
    var frames: UInt32
    /// Of ``frames``, the number whose content was only in the log, and not in the main file.
    var unsaved: UInt32
  }

  var main: Main
  var log: Log

  /// A file's modification time is trusted only if it is older than this, in nanoseconds. The value is the coarsest
  /// resolution of file times, two seconds (FAT).
  static let settlingTime: Int64 = 2_000_000_000

  /// The path of the record, `.X.lifeboat` beside the store `X`. A move of the store set does not move the record.
  static func path(for store: String) -> String {
    PathText.folder(of: store) + "/." + PathText.lastComponent(of: store) + ".lifeboat"
  }

  /// Reads the record of the store at `path`; nil when the record is missing, incomplete or in another format.
  static func read(for path: String) -> HealthyOpen? {
    let start = FileEvidence.firstBytes(of: Self.path(for: path), count: length + 1)
    return start.errno == 0 ? HealthyOpen(bytes: start.bytes) : nil
  }

  /// Replaces the record in one write that is not synced. ``read(for:)`` ignores a record that was written only in
  /// part. The record is optional, so failures are ignored.
  func write(for path: String) {
    let record = Self.path(for: path)
    let descriptor = SystemCalls.open(record, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var status = stat()
    // Only an empty file, or one with the length of a record, is overwritten.
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_nlink == 1, status.st_size == 0 || status.st_size == off_t(Self.length)
    else { return }
    unsafe _ = bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }
}

// MARK: - The format

extension HealthyOpen {
  static let length = 80
  private static let magic: UInt64 = 0x4c42_4f61_744f_7001

  /// The record as it is stored. All numbers are little-endian; the checksum comes last.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    func put(_ number: some FixedWidthInteger) {
      for index in 0..<number.bitWidth / 8 {
        bytes.append(UInt8(truncatingIfNeeded: number >> (index * 8)))
      }
    }
    put(Self.magic)
    put(main.inode)
    put(main.size)
    put(main.modified)
    put(main.changeCounter)
    put(UInt32(main.isSettled ? 1 : 0))
    put(log.inode)
    put(log.salts)
    put(log.frames)
    put(log.unsaved)
    put(UInt64(0))
    put(Self.checksum(bytes[...]))
    return bytes
  }

  init?(bytes: [UInt8]) {
    guard bytes.count == Self.length else { return nil }
    func word(_ index: Int) -> UInt64 {
      bytes[index * 8..<index * 8 + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard word(0) == Self.magic, word(9) == Self.checksum(bytes[..<72]) else { return nil }
    main = Main(
      inode: word(1), size: Int64(bitPattern: word(2)), modified: Int64(bitPattern: word(3)),
      changeCounter: UInt32(truncatingIfNeeded: word(4)), isSettled: word(4) >> 32 == 1)
    log = Log(
      inode: word(5), salts: word(6), frames: UInt32(truncatingIfNeeded: word(7)),
      unsaved: UInt32(truncatingIfNeeded: word(7) >> 32))
    guard main.size >= 0, log.unsaved <= log.frames else { return nil }
  }

  /// The FNV-1a hash of `bytes`.
  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
