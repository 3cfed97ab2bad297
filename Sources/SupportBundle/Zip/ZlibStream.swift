internal import CZlib

/// What one call of zlib did.
struct ZlibStep {
  var consumed: Int
  var produced: Int
  /// Whether the compressed stream is complete.
  var isAtEnd: Bool
}

/// A raw deflate stream (RFC 1951, no zlib header), compressed or decompressed piece by piece; or a gzip file that is
/// decompressed.
@safe final class ZlibStream {
  enum Direction {
    case compress(CompressionLevel)
    case decompress
    /// A gzip file, with its header and checksum (RFC 1952), is decompressed.
    case decompressGzip
  }

  /// How much of the output must be complete after a step.
  enum Flush {
    /// Nothing: zlib may keep bytes back.
    case none
    /// All bytes so far are in the output, which ends at a byte boundary.
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

  /// The stream of zlib. It is on the heap, because zlib's inner state points back to it.
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

  /// At the standard level, chooses settings that find what level 6 finds in nine tenths of its time: a match of 8
  /// bytes is taken without a look at the next byte (zlib.h, `deflateTune`). Resetting a stream restores zlib's own
  /// settings.
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

  /// Begins a new compressed stream, or a part of one that follows these bytes, at most 32 KiB.
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

  /// Takes as much of `input` as fits and fills `output` from its start. `flush` says what the output must hold after
  /// the last input. A step may do nothing when either side is empty; that is not an error.
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
    // For a null pointer zlib returns the initial value, not the sum so far.
    if !bytes.isEmpty { value = UInt32(truncatingIfNeeded: next) }
  }
}
