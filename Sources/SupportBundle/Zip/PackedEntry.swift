internal import Foundation

/// An entry that receives its bytes piece by piece, so its size is not known before the end. A large entry is deflated
/// into a file without a name. When the entry is complete, the content of this file is copied into the archive.
final class PackedEntry {
  let name: String
  /// The bytes that are not deflated yet: at most one window (256 KiB).
  private var waiting: [UInt8] = []
  private let spool: () throws(BundleError) -> ExclusiveOutput
  private let level: CompressionLevel
  private let blockCount: Int
  /// The unnamed file and the blocks for an entry of more than one window; nil as long as the entry fits into one
  /// window.
  private var long: (output: ExclusiveOutput, round: DeflateRound)?
  private(set) var size: UInt64 = 0

  /// Makes an empty entry. `blockCount` is the number of blocks that are deflated at the same time; each block takes
  /// 0.8 MiB of memory. `spool` creates the unnamed file for a large entry.
  init(
    name: String, level: CompressionLevel, blockCount: Int,
    spool: @escaping () throws(BundleError) -> ExclusiveOutput
  ) {
    self.name = name
    self.level = level
    self.blockCount = blockCount
    self.spool = spool
  }

  func append(_ bytes: RawSpan) throws(BundleError) {
    size += UInt64(bytes.byteCount)
    var offset = 0
    while offset < bytes.byteCount {
      // A full window is deflated only when more bytes follow, because the last block must be marked as the end of the
      // stream.
      if waiting.count == ZipFormat.window { try pack() }
      let count = min(bytes.byteCount - offset, ZipFormat.window - waiting.count)
      unsafe bytes.extracting(offset..<offset + count).withUnsafeBytes {
        unsafe waiting.append(contentsOf: $0)
      }
      offset += count
    }
  }

  private func pack() throws(BundleError) {
    let long: (output: ExclusiveOutput, round: DeflateRound)
    if let started = self.long {
      long = started
    } else {
      long = (try spool(), try DeflateRound(level: level, blockCount: blockCount))
      self.long = long
    }
    if long.round.isFull { try drain(long, isEnd: false) }
    long.round.add(waiting[...])
    waiting.removeAll(keepingCapacity: true)
  }

  private func drain(_ long: (output: ExclusiveOutput, round: DeflateRound), isEnd: Bool)
    throws(BundleError)
  {
    for packed in try long.round.pack(isEnd: isEnd) { try long.output.append(packed[...]) }
  }

  enum Packed {
    /// Bytes that are not deflated, at most one window.
    case short([UInt8])
    case deflated(InputFile, EntryDigest)
  }

  /// Ends the entry and returns its content. No bytes may be appended afterwards.
  func end() throws(BundleError) -> Packed {
    guard let started = long else { return .short(waiting) }
    if started.round.isFull { try drain(started, isEnd: false) }
    started.round.add(waiting[...])
    waiting = []
    try drain(started, isEnd: true)
    return .deflated(try started.output.input(), started.round.digest)
  }
}
