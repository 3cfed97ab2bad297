internal import CZlib

struct ZlibStep {
  var consumed: Int
  var produced: Int
  var isAtEnd: Bool
}

/// Compresses or decompresses a raw deflate stream (RFC 1951, no zlib header) piece by piece. Can also decompress a
/// gzip file (RFC 1952).
@safe final class ZlibStream {
  enum Direction {
    case compress(CompressionLevel)
    case decompress
    /// Decompresses a gzip file with its header and checksum (RFC 1952).
    case decompressGzip
  }

  /// Which output zlib must write before it returns from a step that has processed all its input.
  enum Flush {
    /// zlib may keep output in its buffers.
    case none
    /// zlib writes the output for all input so far, and ends the output at a byte boundary.
    case block
    /// No input follows. zlib writes all output and ends the stream.
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
    // Negative window bits mean a raw deflate stream. `MAX_WBITS` means a window of 32 KiB.
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

  /// Sets zlib's parameters for the standard level. They give the compression of level 6 in nine tenths of its time:
  /// after a match of 8 bytes, zlib does not look for a longer match at the next byte (zlib.h, `deflateTune`). Must be
  /// called after each reset of the stream, because a reset restores zlib's own parameters.
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

  /// Begins a new compressed stream. If `bytes` is not empty, `bytes` becomes the dictionary of the stream: matches may
  /// refer to these bytes. At most 32 KiB are allowed.
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

  /// Processes as much of `input` as possible, and writes the result to the start of `output`. A step that neither
  /// reads nor writes bytes, for example because `input` is empty, is not an error.
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
      // `bytes` has at most one window (256 KiB), so the count fits into a `uInt`.
      unsafe crc32(start, buffer.baseAddress, UInt32(clamping: buffer.count))
    }
    // For an empty slice, `baseAddress` may be nil. Then zlib returns the initial CRC-32, not the CRC-32 so far.
    if !bytes.isEmpty { value = UInt32(truncatingIfNeeded: next) }
  }
}
