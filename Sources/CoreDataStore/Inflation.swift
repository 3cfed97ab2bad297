import CZlib

/// Decompresses whole DEFLATE streams in memory, with zlib.
package enum Inflation {
  package enum Form: String {
    /// No wrapper: a raw DEFLATE stream (RFC 1951).
    case deflate
    /// zlib's wrapper: a header of two bytes and a checksum (RFC 1950).
    case zlib
    /// gzip's wrapper: a header of ten bytes or more, a checksum and a length (RFC 1952).
    case gzip

    /// The value of zlib's parameter `windowBits` for this form.
    fileprivate var windowBits: Int32 {
      switch self {
      case .deflate: -15
      case .zlib: 15
      case .gzip: 15 + 16
      }
    }
  }

  /// Returns the wrapper that `bytes` begin with, zlib's or gzip's; nil for any other beginning. A raw DEFLATE stream
  /// cannot be recognized, because it has no header.
  package static func form(of bytes: [UInt8]) -> Form? {
    if bytes.starts(with: [0x1f, 0x8b, 0x08]) { return .gzip }
    // RFC 1950, 2.2: the first byte 0x78 stands for DEFLATE with a window of 32 KiB. The first two bytes, read as one
    // number, are a multiple of 31. A bit of the second byte announces a preset dictionary, which is not supported.
    guard bytes.count > 2, bytes[0] == 0x78, (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0,
      bytes[1] & 0x20 == 0
    else { return nil }
    return .zlib
  }

  package enum Failure: Error, Sendable, Equatable {
    case cannotStart
    /// The decompressed bytes are more than the limit, or the compressed stream has 4 GiB or more.
    case tooLarge
    /// The stream ends early or is damaged. `byteCount` bytes were decompressed before that point.
    case incomplete(byteCount: Int)
  }

  /// Decompresses a stream in memory.
  ///
  /// - Parameters:
  ///   - content: the compressed bytes; bytes after the end of the stream are ignored.
  ///   - form: the wrapper around the stream.
  ///   - limit: the maximum number of decompressed bytes; 16 MiB by default.
  /// - Returns: the decompressed bytes.
  /// - Throws: ``Failure``.
  package static func bytes(
    of content: [UInt8], _ form: Form, limit: Int = 16 << 20
  ) throws(Failure) -> [UInt8] {
    guard let length = UInt32(exactly: content.count) else { throw .tooLarge }
    var stream = unsafe z_stream()
    let size = unsafe Int32(MemoryLayout<z_stream>.size)
    guard unsafe inflateInit2_(&stream, form.windowBits, zlibVersion(), size) == Z_OK else {
      throw .cannotStart
    }
    defer { _ = unsafe inflateEnd(&stream) }
    var input = content
    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    var status = Z_OK
    unsafe input.withUnsafeMutableBufferPointer { source in
      unsafe stream.next_in = source.baseAddress
      unsafe stream.avail_in = length
      while status == Z_OK, output.count <= limit {
        let room = piece.count
        unsafe piece.withUnsafeMutableBufferPointer { target in
          unsafe stream.next_out = target.baseAddress
          unsafe stream.avail_out = UInt32(target.count)
          unsafe status = inflate(&stream, Z_NO_FLUSH)
        }
        let made = unsafe room - Int(stream.avail_out)
        output.append(contentsOf: piece[..<made])
        if made == 0, status == Z_OK { break }
      }
    }
    guard output.count <= limit else { throw .tooLarge }
    guard status == Z_STREAM_END else { throw .incomplete(byteCount: output.count) }
    return output
  }
}
