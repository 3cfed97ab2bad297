/// The first 136 bytes of the wal-index, `-shm` (https://www.sqlite.org/walformat.html, section 2). The wal-index may
/// be left over from an earlier session; the first connection of any process then clears it.
struct LogIndexHeader: Equatable {
  static let length = 136

  /// The page size, in bytes.
  let pageSize: Int
  /// The number of frames up to the last commit.
  let frames: Int
  /// The checksum of the last committed frame, 8 bytes as in the log.
  let checksum: [UInt8]
  /// The two salts of the log that the wal-index belongs to, 8 bytes.
  let salts: [UInt8]
  /// The number of frames that a checkpoint has copied to the main file (`nBackfill`).
  let saved: Int
  /// The number of frames, from the start of the log, whose pages may already be in the main file. This is
  /// `nBackfillAttempted`, the number of frames that a checkpoint has begun to copy, or ``saved`` if that is higher.
  let perhapsSaved: Int

  /// The number of frames of the log whose content is certainly not in the main file.
  var unsaved: Int { frames - perhapsSaved }

  /// Reads the header from `bytes`; nil when `bytes` is not a valid wal-index header, or when a connection was changing
  /// the header.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.length, bytes[0..<48] == bytes[48..<96] else { return nil }
    // SQLite uses the native byte order here.
    let words = (0..<34).map { Self.number(bytes, $0 * 4, UInt32.self) }
    var sum: (UInt32, UInt32) = (0, 0)
    for index in stride(from: 0, to: 10, by: 2) {
      sum.0 = sum.0 &+ words[index] &+ sum.1
      sum.1 = sum.1 &+ words[index + 1] &+ sum.0
    }
    guard words[0] == 3_007_000, bytes[12] == 1, sum == (words[10], words[11]) else { return nil }
    let size = Int(Self.number(bytes, 14, UInt16.self))
    pageSize = size & 0xfe00 | (size & 1) << 16
    frames = Int(words[4])
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
    checksum = [words[6], words[7]].flatMap { number in
      stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }
    salts = Array(bytes[32..<40])
    saved = Int(words[24])
    perhapsSaved = max(saved, Int(words[32]))
    guard perhapsSaved <= frames else { return nil }
  }

  private static func number<Number: BitwiseCopyable>(
    _ bytes: [UInt8], _ offset: Int, _ type: Number.Type
  ) -> Number {
    unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
  }
}
