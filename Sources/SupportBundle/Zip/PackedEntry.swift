internal import Foundation

/// An entry that receives its bytes piece by piece, so that its size is known only at the end. A large entry is
/// deflated into a temporary file without a name. When the entry is complete, ``ZipWriter`` copies this file into the
/// archive.
final class PackedEntry {
  let name: String
  /// The appended bytes that are not deflated yet: at most one window (256 KiB).
  private var waiting: [UInt8] = []
  private let spool: () throws(BundleError) -> ExclusiveOutput
  private let level: CompressionLevel
  private let blockCount: Int
  /// The temporary file of a large entry, and the blocks that are deflated into the file. Nil for an entry of at most
  /// 256 KiB.
  private var long: (output: ExclusiveOutput, round: DeflateRound)?
  private(set) var size: UInt64 = 0

  /// Makes an empty entry. `blockCount` is the number of blocks that are deflated at the same time; each block takes
  /// 0.8 MiB of memory. `spool` creates the temporary file into which a large entry is deflated.
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
    /// The uncompressed bytes of an entry of at most one window (256 KiB).
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
