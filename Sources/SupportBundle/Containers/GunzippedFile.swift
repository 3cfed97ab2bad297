/// Decompresses a gzip file (RFC 1952) into a temporary file without a name.
struct GunzippedFile {
  private let file: InputFile
  private var offset: UInt64 = 0
  /// Bytes that were read from the gzip file, but are not decompressed yet.
  private var piece: ArraySlice<UInt8> = []

  /// Whether a file that begins with the bytes `lead` is a gzip file with deflated content.
  static func isGzip(_ lead: some Sequence<UInt8>) -> Bool {
    lead.starts(with: [0x1f, 0x8b, 0x08])
  }

  /// Decompresses all members of a gzip file into a temporary file without a name. `left` is the number of bytes that
  /// may still be decompressed. The number of decompressed bytes is subtracted from `left`, even if an error is thrown.
  ///
  /// - Throws: `bundle.tooLarge` for more than `left` decompressed bytes; `bundle.badData` and `bundle.truncated` for
  ///   a damaged file.
  static func open(_ file: InputFile, left: inout UInt64) throws(BundleError) -> InputFile {
    let output = try ExclusiveOutput(unnamed: "archive")
    var gunzipped = GunzippedFile(file: file)
    do {
      try gunzipped.unpack(into: output, left: &left)
    } catch {
      throw error.inside(path: file.path)
    }
    return try output.input(named: file.path)
  }

  private init(file: InputFile) { self.file = file }

  private mutating func unpack(
    into output: ExclusiveOutput, left: inout UInt64
  ) throws(BundleError) {
    var buffer = [UInt8](repeating: 0, count: ZipFormat.window)
    let limit = left
    // Bytes after the last member are ignored, as gzip ignores them.
    while Self.isGzip(try lead()) {
      let stream = try ZlibStream(.decompressGzip)
      var isAtEnd = false
      while !isAtEnd {
        let isLast = try lead().isEmpty
        let step = try stream.step(piece, into: &buffer)
        piece = piece.dropFirst(step.consumed)
        guard UInt64(step.produced) <= left else {
          throw BundleError(.tooLarge, "the file would unpack to more than \(limit) bytes")
        }
        left -= UInt64(step.produced)
        try output.append(buffer[..<step.produced])
        isAtEnd = step.isAtEnd
        if isLast, !isAtEnd, step.produced == 0 {
          throw BundleError(.truncated, "the compressed data ends before its end mark")
        }
      }
    }
  }

  /// Returns the bytes to decompress next: at least three bytes, or fewer at the end of the file. Three bytes are
  /// enough to recognize a gzip file (``isGzip(_:)``).
  private mutating func lead() throws(BundleError) -> ArraySlice<UInt8> {
    while piece.count < 3, offset < file.size {
      var buffer = [UInt8](repeating: 0, count: ZipFormat.window)
      let count = try file.read(at: offset, into: &buffer, count: buffer.count)
      guard count > 0 else { break }
      piece = Array(piece + buffer[..<count])[...]
      offset += UInt64(count)
    }
    return piece
  }
}
