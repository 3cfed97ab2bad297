internal import Dispatch
internal import Foundation

/// Deflates several blocks of an entry in parallel. The compressed blocks, joined in order, form one deflate stream
/// (RFC 1951).
///
/// Each block is compressed separately, with the 32 KiB before the block as its dictionary. Every block except the last
/// ends with an empty stored block at a byte boundary (section 3.2.4), so the blocks can be joined into one stream.
/// Every block except the last has the same size, so the result does not depend on the number of cores.
final class DeflateRound: @unchecked Sendable {
  /// A block of the entry, and the zlib stream that deflates the block. Only one thread at a time uses an object of
  /// this class.
  private final class Block {
    let stream: ZlibStream
    var bytes: [UInt8] = []
    /// The last bytes before this block in the entry, at most 32 KiB. They are the dictionary of the block: matches in
    /// the block may refer to these bytes.
    var before: ArraySlice<UInt8> = []
    var packed: [UInt8] = []
    var failure: BundleError?

    init(level: CompressionLevel) throws(BundleError) { stream = try ZlibStream(.compress(level)) }

    func pack(isEnd: Bool) {
      packed.removeAll(keepingCapacity: true)
      do throws(BundleError) {
        try stream.begin(after: before)
        var rest = bytes[...]
        var buffer = [UInt8](repeating: 0, count: ZipFormat.window)
        var isComplete = false
        while !isComplete {
          let step = try stream.step(rest, into: &buffer, flush: isEnd ? .end : .block)
          rest = rest.dropFirst(step.consumed)
          packed += buffer[..<step.produced]
          // If zlib has not filled `buffer`, zlib has written the output for all input so far.
          isComplete = isEnd ? step.isAtEnd : step.produced < buffer.count
        }
      } catch {
        failure = error
      }
    }
  }

  private let blocks: [Block]
  private var count = 0
  private var last: ArraySlice<UInt8> = []
  private(set) var digest = EntryDigest()

  /// The number of blocks for a caller that deflates only one entry at a time: two for each processor, at least 8 and
  /// at most 32.
  static var usualBlockCount: Int {
    min(32, max(8, ProcessInfo.processInfo.activeProcessorCount * 2))
  }

  /// Allocates the memory for `blockCount` blocks: 0.8 MiB for each block.
  init(level: CompressionLevel, blockCount: Int = usualBlockCount) throws(BundleError) {
    var blocks: [Block] = []
    for _ in 0..<max(1, blockCount) { blocks.append(try Block(level: level)) }
    self.blocks = blocks
  }

  /// Whether all blocks are in use. If so, ``pack(isEnd:)`` must be called before the next ``add(_:)``.
  var isFull: Bool { count == blocks.count }

  /// Adds a block that contains a copy of `bytes`.
  func add(_ bytes: ArraySlice<UInt8>) {
    let block = blocks[count]
    block.before = last
    block.bytes.removeAll(keepingCapacity: true)
    block.bytes += bytes
    last = block.bytes.suffix(ZipFormat.dictionary)
    count += 1
  }

  /// Deflates the added blocks and returns the compressed blocks in order. At the same time, another thread hashes the
  /// uncompressed bytes. `isEnd` says whether the last added block is the last block of the entry.
  func pack(isEnd: Bool) throws(BundleError) -> [[UInt8]] {
    let count = count
    self.count = 0
    DispatchQueue.concurrentPerform(iterations: count + 1) { index in
      if index == 0 {
        for block in blocks[..<count] { digest.update(block.bytes[...]) }
      } else {
        blocks[index - 1].pack(isEnd: isEnd && index == count)
      }
    }
    // `last`, the dictionary of the next block, is copied, because it is a slice of a block's buffer, and the next
    // round overwrites this buffer.
    last = ArraySlice(Array(last))
    for block in blocks[..<count] {
      block.before = []
      if let failure = block.failure { throw failure }
    }
    return blocks[..<count].map(\.packed)
  }
}

/// The compression level of zlib, from 1 (fastest) to 9 (smallest output).
public struct CompressionLevel: Sendable, Equatable {
  let value: Int32

  /// Level 6, the default of zlib and gzip.
  public static let standard = CompressionLevel(value: 6)

  /// Creates a compression level from a number from 1 to 9. Returns nil for any other number.
  public init?(_ value: Int) {
    guard (1...9).contains(value) else { return nil }
    self.init(value: Int32(value))
  }

  private init(value: Int32) { self.value = value }
}
