internal import Foundation

/// An entry whose bytes come piece by piece and whose size is not known before the end. It is deflated into a file
/// without a name, from which it goes into the archive.
final class PackedEntry {
  let name: String
  /// The bytes that wait to be deflated, at most a window.
  private var waiting: [UInt8] = []
  private let spool: () throws(BundleError) -> ExclusiveOutput
  private let level: CompressionLevel
  private let blockCount: Int
  /// The file and the blocks for an entry that is larger than a window; nil for a smaller one.
  private var long: (output: ExclusiveOutput, round: DeflateRound)?
  private(set) var size: UInt64 = 0

  /// - Parameters:
  ///   - name: the name in the archive.
  ///   - level: how hard the entry is compressed.
  ///   - blockCount: how many blocks are deflated at a time; a block takes 0.8 MiB.
  ///   - spool: makes a file without a name.
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
      // A full window is deflated only when more bytes follow, because the last block must be marked as the last.
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

  /// The form in which the entry goes into the archive.
  enum Packed {
    /// Bytes that fit into a window, not yet deflated.
    case short([UInt8])
    /// Deflated bytes, in a file.
    case deflated(InputFile, EntryDigest)
  }

  /// Ends the entry, and returns its content.
  func end() throws(BundleError) -> Packed {
    guard let started = long else { return .short(waiting) }
    if started.round.isFull { try drain(started, isEnd: false) }
    started.round.add(waiting[...])
    waiting = []
    try drain(started, isEnd: true)
    return .deflated(try started.output.input(), started.round.digest)
  }
}
