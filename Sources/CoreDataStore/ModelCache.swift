import CZlib
package import ObjectModel

/// The model that a store caches in `Z_MODELCACHE.Z_CONTENT`. The column holds a keyed archive that is compressed into
/// a raw DEFLATE stream (RFC 1951, no header, no checksum).
package enum ModelCache {
  /// The maximum size of a decompressed archive, in bytes. Archives of real stores have 2 to 127 KB.
  package static let maximumSize = 64 << 20

  package struct Failure: Error, Sendable, Equatable {
    /// What is wrong, in a sentence without a full stop.
    package let message: String
  }

  /// Reads a cached model from the bytes of `Z_MODELCACHE.Z_CONTENT`.
  package static func model(from content: [UInt8]) throws(Failure) -> ManagedObjectModel {
    let archive = try inflate(content)
    do {
      return try ManagedObjectModel(archive: archive)
    } catch {
      throw Failure(message: error.message)
    }
  }

  /// Decompresses a raw DEFLATE stream. Throws when the compressed or the decompressed bytes are more than
  /// ``maximumSize``.
  static func inflate(_ content: [UInt8]) throws(Failure) -> [UInt8] {
    guard content.count <= maximumSize else {
      throw Failure(message: "the content is too large for a model")
    }
    do {
      return try Inflation.bytes(of: content, .deflate, limit: maximumSize)
    } catch {
      switch error {
      case .cannotStart: throw Failure(message: "zlib cannot start to decompress")
      case .tooLarge: throw Failure(message: "the content is too large for a model")
      case .incomplete(let count):
        throw Failure(message: "the DEFLATE stream is incomplete: it ends after \(count) bytes")
      }
    }
  }

  /// Compresses a keyed archive into a raw DEFLATE stream, as a store caches it. Throws if the archive has more than
  /// ``maximumSize`` bytes.
  package static func deflate(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
    guard bytes.count <= maximumSize else {
      throw Failure(message: "the content is too large for a model")
    }
    var stream = unsafe z_stream()
    let size = unsafe Int32(MemoryLayout<z_stream>.size)
    guard
      unsafe deflateInit2_(
        &stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, zlibVersion(), size) == Z_OK
    else { throw Failure(message: "zlib cannot start to compress") }
    defer { _ = unsafe deflateEnd(&stream) }
    var input = bytes
    // `deflateBound` returns the maximum number of bytes that compressing this archive in one call can give.
    var output = unsafe [UInt8](
      repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let count = unsafe input.withUnsafeMutableBufferPointer { source in
      let room = output.count
      return unsafe output.withUnsafeMutableBufferPointer { target -> Int? in
        unsafe stream.next_in = source.baseAddress
        unsafe stream.avail_in = UInt32(source.count)
        unsafe stream.next_out = target.baseAddress
        unsafe stream.avail_out = UInt32(target.count)
        guard unsafe CZlib.deflate(&stream, Z_FINISH) == Z_STREAM_END else { return nil }
        return unsafe room - Int(stream.avail_out)
      }
    }
    guard let count else { throw Failure(message: "zlib cannot compress the model") }
    output.removeLast(output.count - count)
    return output
  }
}
