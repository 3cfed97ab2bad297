internal import CZlib

struct ZlibStep {
  var consumed: Int
  var produced: Int
  var isAtEnd: Bool
}

/// Compresses or decompresses a raw deflate stream (RFC 1951, no zlib header) piece by piece. It can also decompress a
/// gzip file.
@safe final class ZlibStream {
  enum Direction {
    case compress(CompressionLevel)
    case decompress
    /// Decompresses a gzip file with its header and checksum (RFC 1952).
    case decompressGzip
  }

  /// How much of the output must be complete after a step.
  enum Flush {
    /// No output must be complete: zlib may buffer output.
    case none
    /// All input so far is in the output, which ends at a byte boundary.
    case block
    /// The whole stream is complete: no input follows.
    case end

    fileprivate var flag: Int32 {
      switch self {
      case .none: Z_NO_FLUSH
      case .block: Z_SYNC_FLUSH
      case .end: Z_FINISH
      }
    }
  }

  /// zlib's `z_stream`. It is allocated on the heap so that its address never changes, because zlib's internal state
  /// points to the `z_stream`.
  private let stream: UnsafeMutablePointer<z_stream>
  private let direction: Direction

  init(_ direction: Direction) throws(BundleError) {
    self.direction = direction
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let structureSize = unsafe Int32(MemoryLayout<z_stream>.size)
    // Negative window bits: raw deflate with a window of 32 KiB.
    let result =
      switch direction {
      case .compress(let level):
        unsafe deflateInit2_(
          stream, level.value, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY,
          ZLIB_VERSION, structureSize)
      case .decompress:
        unsafe inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, structureSize)
      case .decompressGzip:
        unsafe inflateInit2_(stream, MAX_WBITS + 16, ZLIB_VERSION, structureSize)
      }
    guard result == Z_OK else {
      throw BundleError(.compressionFailed, "zlib cannot start (result \(result))")
    }
    tune()
  }

  /// At the standard level, chooses settings that compress as well as level 6 in nine tenths of the time: zlib takes a
  /// match of 8 bytes without trying the next byte (zlib.h, `deflateTune`). Resetting a stream restores zlib's own
  /// settings, so `tune` is called after each reset.
  private func tune() {
    guard case .compress(.standard) = direction else { return }
    _ = unsafe deflateTune(stream, 8, 8, 128, 120)
  }

  deinit {
    switch direction {
    case .compress: _ = unsafe deflateEnd(stream)
    case .decompress, .decompressGzip: _ = unsafe inflateEnd(stream)
    }
    unsafe stream.deallocate()
  }

  /// Begins a new compressed stream. If `bytes` is not empty, begins a part in the middle of a stream instead: the part
  /// that follows `bytes`. Matches may refer to `bytes`, which has at most 32 KiB.
  func begin(after bytes: ArraySlice<UInt8>) throws(BundleError) {
    var result = unsafe deflateReset(stream)
    tune()
    if result == Z_OK, !bytes.isEmpty {
      result = unsafe bytes.withUnsafeBufferPointer {
        unsafe deflateSetDictionary(stream, $0.baseAddress, UInt32(clamping: $0.count))
      }
    }
    guard result == Z_OK else {
      throw BundleError(.compressionFailed, "zlib cannot begin a block (result \(result))")
    }
  }

  /// Reads as much of `input` as possible, and writes to the start of `output`. `flush` says how much of the output
  /// must be complete after the last input. A step may do nothing if `input` or `output` is empty; this is not an
  /// error.
  func step(
    _ input: ArraySlice<UInt8>, into output: inout [UInt8], flush: Flush = .none
  ) throws(BundleError) -> ZlibStep {
    let inputCount = UInt32(clamping: input.count)
    let outputCount = UInt32(clamping: output.count)
    let result: Int32 = unsafe input.withUnsafeBufferPointer { source in
      unsafe output.withUnsafeMutableBufferPointer { target in
        // zlib declares the input as mutable but does not write to it.
        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
        unsafe stream.pointee.avail_in = inputCount
        unsafe stream.pointee.next_out = target.baseAddress
        unsafe stream.pointee.avail_out = outputCount
        return switch direction {
        case .compress: unsafe deflate(stream, flush.flag)
        case .decompress, .decompressGzip: unsafe inflate(stream, Z_NO_FLUSH)
        }
      }
    }
    let step = unsafe ZlibStep(
      consumed: Int(inputCount - stream.pointee.avail_in),
      produced: Int(outputCount - stream.pointee.avail_out),
      isAtEnd: result == Z_STREAM_END)
    switch result {
    case Z_OK, Z_STREAM_END, Z_BUF_ERROR:
      return step
    case Z_DATA_ERROR, Z_NEED_DICT:
      let detail = unsafe stream.pointee.msg.map { unsafe String(cString: $0) }
      throw BundleError(
        .badData, "the compressed data is damaged: \(detail ?? "dictionary needed")")
    default:
      throw BundleError(.compressionFailed, "zlib failed (result \(result))")
    }
  }
}

/// CRC-32 as zip uses it (APPNOTE 4.4.7), computed piece by piece.
struct CRC32Sum {
  private(set) var value: UInt32 = 0

  mutating func update(_ bytes: ArraySlice<UInt8>) {
    let start = uLong(value)
    let next = unsafe bytes.withUnsafeBufferPointer { buffer in
      // A piece has at most a window, far below the 4 GiB that a `uInt` counts.
      unsafe crc32(start, buffer.baseAddress, UInt32(clamping: buffer.count))
    }
    // For an empty slice, zlib gets a null pointer and returns the initial value, not the sum so far.
    if !bytes.isEmpty { value = UInt32(truncatingIfNeeded: next) }
  }
}
