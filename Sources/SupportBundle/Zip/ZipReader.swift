import SafeText

/// Reads a zip archive that may have been made to do harm.
///
/// Everything that the archive announces is checked when the archive is opened: the names, the sizes, and the limits.
/// No two entries may share bytes, and each local header must agree with the central directory. Reading an entry never
/// gives more bytes than the archive announces for the entry. Stored entries, deflated entries and Zip64 are supported.
/// Encrypted and split archives are not supported.
package final class ZipReader: Sendable {
  /// One entry, as the central directory announces it.
  package struct Entry: Sendable, Equatable {
    package enum Method: Sendable, Equatable {
      case stored
      case deflated
    }

    /// The name, which was checked: it is relative, contains no `..` and has at most 1,024 bytes. The name of a folder
    /// ends with `/`.
    package let name: String
    package let method: Method
    /// The uncompressed size of the entry in bytes, as the archive announces it.
    package let size: UInt64
    package let compressedSize: UInt64
    /// The CRC-32 of the entry's decompressed bytes, as the archive announces it.
    package let crc32: UInt32
    /// The offset of the local header, in bytes from the start of the archive.
    package let headerOffset: UInt64
    /// Whether the entry is a symbolic link. The bytes of a link are the path of its target.
    package let isLink: Bool
    /// The offset of the entry's compressed or stored bytes, in bytes from the start of the archive.
    let dataOffset: UInt64
    /// The offset of the central header, in bytes from the start of the archive.
    let directoryOffset: UInt64
    /// The size of the central header in bytes, including name, extra field and comment.
    let directorySize: Int

    /// Whether the entry is a folder, which has no bytes.
    package var isFolder: Bool { ZipNames.isFolder(name) }

    var dataEnd: UInt64 { dataOffset &+ compressedSize }
  }

  package let path: String
  package var size: UInt64 { file.size }
  /// The entries in the order of the central directory.
  package let entries: [Entry]
  /// The bytes of the archive comment. The zip format does not define a text encoding for the comment.
  package let comment: [UInt8]

  let file: InputFile
  let directory: ZipDirectory
  private let indexByName: [String: Int]

  /// Opens an archive, and checks everything that can be checked without decompressing entries.
  ///
  /// - Throws: `bundle.inputMissing`, `bundle.permissionDenied`, `bundle.notAFile`, `bundle.readFailed` about the file;
  ///   any error of exit class 65 about the archive.
  package convenience init(path: String, limits: ZipLimits = ZipLimits()) throws(BundleError) {
    try self.init(try InputFile(path: path, followsLink: true), limits: limits)
  }

  package convenience init(_ bundle: BundleFile) throws(BundleError) { try self.init(bundle.file) }

  /// Opens an archive in a file that is open already. `escapesNames` is true for archives that other programs made. In
  /// this case, bytes that are not allowed in names are escaped (``ZipNames/escaped(_:)``), and names are compared by
  /// their bytes (``ZipNames/isByBytes``).
  init(
    _ file: InputFile, limits: ZipLimits = ZipLimits(), escapesNames: Bool = false
  ) throws(BundleError) {
    path = file.path
    self.file = file
    do {
      directory = try ZipDirectory(parsing: file, limits: limits)
      entries = try ZipDirectory.entries(
        parsing: directory, of: file, limits: limits, escapesNames: escapesNames)
    } catch {
      throw error.inside(path: path)
    }
    comment = directory.comment
    var index: [String: Int] = [:]
    for (position, entry) in entries.enumerated() { index[entry.name] = position }
    indexByName = index
  }

  package func entry(named name: String) -> Entry? {
    // Two names that are equal as `String` may differ in their bytes.
    indexByName[name].map { entries[$0] }.flatMap { PathText.isSame($0.name, name) ? $0 : nil }
  }

  // MARK: - Bytes

  /// Decompresses an entry, and calls `sink` with pieces of at most 256 KiB. The size and the CRC-32 are checked at the
  /// end. After an error, the bytes that `sink` has received cannot be trusted.
  ///
  /// - Returns: the SHA-256 of the entry's uncompressed bytes, as lower-case hexadecimal text.
  /// - Throws: `bundle.badData`, `bundle.sizeMismatch`, `bundle.checksumMismatch`, `bundle.truncated`,
  ///   `bundle.readFailed`, and whatever `sink` throws.
  @discardableResult
  package func read(_ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void) throws -> String
  {
    let digest = DigestAlongside()
    do {
      switch entry.method {
      case .stored: try copy(entry, into: sink, digest)
      case .deflated: try inflate(entry, into: sink, digest)
      }
      guard digest.crc.value == entry.crc32 else {
        throw BundleError(
          .checksumMismatch, "the CRC-32 of the bytes differs from the CRC-32 in the archive",
          offset: entry.dataOffset)
      }
    } catch let error as BundleError {
      throw error.inside(path: path, entry: entry.name)
    }
    return digest.sha256Hex
  }

  /// Returns all bytes of an entry that has at most `limit` bytes.
  ///
  /// - Throws: `bundle.tooLarge` for a larger entry; the errors of `read(_:into:)`.
  package func bytes(of entry: Entry, limit: Int) throws(BundleError) -> [UInt8] {
    guard entry.size <= UInt64(clamping: limit) else {
      throw BundleError(
        .tooLarge, "the entry has \(entry.size) bytes, and the limit is \(limit)", path: path,
        entry: entry.name)
    }
    var bytes: [UInt8] = []
    try read(whole: entry) { bytes += $0 }
    return bytes
  }

  /// Decompresses an entry as `read(_:into:)` does, for a `sink` that throws no other error than ``BundleError``.
  @discardableResult
  func read(
    whole entry: Entry, into sink: (ArraySlice<UInt8>) throws(BundleError) -> Void
  ) throws(BundleError) -> String {
    do {
      return try read(entry) { try sink($0) }
    } catch let error as BundleError {
      throw error
    } catch {
      throw BundleError(.readFailed, "the entry cannot be read", path: path, entry: entry.name)
    }
  }

  /// Returns up to `count` bytes from the start of an entry, without reading the rest of the entry. Returns fewer bytes
  /// if the entry is shorter. May also return fewer bytes of a deflated entry.
  func lead(of entry: Entry, count: Int) throws(BundleError) -> [UInt8] {
    let count = Int(clamping: min(entry.size, UInt64(clamping: count)))
    switch entry.method {
    case .stored:
      return try file.bytes(
        at: entry.dataOffset, count: min(count, Int(clamping: entry.compressedSize)))
    case .deflated:
      // Deflated data is hardly ever longer than the uncompressed data, so this much input is usually enough. It is not
      // enough if the data begins with long code tables.
      let size = Int(clamping: min(entry.compressedSize, UInt64(clamping: 2 * count + 1024)))
      let piece = try file.bytes(at: entry.dataOffset, count: size)
      var output = [UInt8](repeating: 0, count: max(count, 1))
      let step = try ZlibStream(.decompress).step(piece[...], into: &output)
      return Array(output.prefix(min(step.produced, count)))
    }
  }

  private func copy(
    _ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void, _ digest: DigestAlongside
  ) throws {
    var input = EntryInput(file: file, entry: entry)
    while let piece = try input.next() {
      digest.update(piece)
      try sink(piece)
    }
  }

  private func inflate(
    _ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void, _ digest: DigestAlongside
  ) throws {
    let stream = try ZlibStream(.decompress)
    var input = EntryInput(file: file, entry: entry)
    var piece: ArraySlice<UInt8> = []
    var output = [UInt8](repeating: 0, count: ZipFormat.window)
    var isAtEnd = false
    while !isAtEnd {
      if piece.isEmpty { piece = try input.next() ?? [] }
      let step = try stream.step(piece, into: &output)
      piece = piece.dropFirst(step.consumed)
      isAtEnd = step.isAtEnd
      if step.produced > 0 {
        guard UInt64(step.produced) <= entry.size - digest.size else {
          throw BundleError(
            .sizeMismatch, "the data is longer than the announced \(entry.size) bytes",
            offset: entry.dataOffset)
        }
        let decoded = output[..<step.produced]
        digest.update(decoded)
        try sink(decoded)
      } else if !isAtEnd, step.consumed == 0 {
        throw BundleError(
          .badData, "the compressed data ends before its end mark", offset: entry.dataEnd)
      }
    }
    guard digest.size == entry.size else {
      throw BundleError(
        .sizeMismatch, "the entry has \(digest.size) bytes, but \(entry.size) are announced",
        offset: entry.dataOffset)
    }
    guard piece.isEmpty, try input.next() == nil else {
      throw BundleError(
        .badData, "bytes follow the end mark of the compressed data", offset: entry.dataEnd)
    }
  }
}

/// Reads the compressed or stored bytes of an entry in pieces of at most one window (256 KiB).
private struct EntryInput {
  private let file: InputFile
  private var offset: UInt64
  private let end: UInt64
  private var buffer: [UInt8]

  init(file: InputFile, entry: ZipReader.Entry) {
    self.file = file
    offset = entry.dataOffset
    end = entry.dataEnd
    let window = min(UInt64(ZipFormat.window), entry.compressedSize)
    buffer = [UInt8](repeating: 0, count: Int(clamping: window))
  }

  mutating func next() throws(BundleError) -> ArraySlice<UInt8>? {
    guard offset < end else { return nil }
    let wanted = min(buffer.count, Int(clamping: end - offset))
    let read = try file.read(at: offset, into: &buffer, count: wanted)
    guard read == wanted else {
      throw BundleError(
        .truncated, "the archive became shorter while it was read", offset: offset)
    }
    offset += UInt64(read)
    return buffer[..<read]
  }
}
