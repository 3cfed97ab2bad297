internal import Crypto
internal import Foundation

/// Writes a zip archive that any unzip tool can open. The bytes of the archive depend only on its entries.
///
/// The archive gets its name only when `finish` succeeds. After an error, no file is left behind. Timestamps
/// (1980-01-01 00:00:00) and permissions (0600) are fixed. The memory in use does not depend on the size of the
/// entries: the writer needs a few buffers of 256 KiB for each core, and keeps the central directory in memory.
public final class ZipWriter {
  /// An entry that was written to the archive.
  public struct Entry: Sendable, Equatable {
    package let name: String
    /// The uncompressed size of the entry in bytes.
    package let size: UInt64
    package let compressedSize: UInt64
    package let crc32: UInt32
    /// The SHA-256 of the entry's uncompressed bytes, as lower-case hexadecimal text.
    package let sha256: String
  }

  /// The archive that was made.
  public struct Receipt: Sendable, Equatable {
    /// The path of the archive.
    public let path: String
    /// The size of the archive in bytes.
    public let size: UInt64
    /// The entries in the order in which they were added.
    public let entries: [Entry]
    /// The temporary path if the temporary name could not be removed; otherwise nil. The temporary name is a second
    /// hard link to the archive, and can be deleted.
    public let leftoverPath: String?
  }

  package let path: String

  private enum State { case open, ended, finished, cancelled }

  private let output: ExclusiveOutput
  let threshold: Zip64Threshold
  private let level: CompressionLevel
  private var state = State.open
  private var names = ZipNames()
  private var entries: [Entry] = []
  private var directory: [UInt8] = []

  static let maxEntryCount = 1_000_000

  /// Starts an archive that will be named `path`. `making` receives the path of the temporary file and a closure. The
  /// closure creates the file, and returns whether the file now exists. If `isUnnamed` is true, the archive never gets
  /// a name. Then the archive can be read only from the file that ``end(comment:)`` returns.
  ///
  /// - Throws: `bundle.outputExists`, `bundle.cannotCreate` or `bundle.permissionDenied`.
  init(
    path: String, isUnnamed: Bool = false, threshold: Zip64Threshold = Zip64Threshold(),
    level: CompressionLevel = .standard, calls: OutputCalls = OutputCalls(),
    making: (String, () -> Bool) -> Void = { _ = $1() }
  ) throws(BundleError) {
    self.path = path
    self.threshold = threshold
    self.level = level
    output = try ExclusiveOutput(path: path, isUnnamed: isUnnamed, calls: calls, making: making)
  }

  init(_ output: ExclusiveOutput, level: CompressionLevel) {
    path = output.path
    threshold = Zip64Threshold()
    self.level = level
    self.output = output
  }

  // MARK: - Entries

  /// Adds an entry with the given bytes. After an error, the archive is cancelled.
  ///
  /// - Throws: `bundle.badName`, `bundle.duplicateName`, `bundle.writeFailed`.
  @discardableResult
  package func add(name: String, bytes: [UInt8]) throws(BundleError) -> Entry {
    try add(name: name, from: EntrySource.bytes(bytes)) { (_) throws(BundleError) in }
  }

  /// Adds an entry with the bytes of `source`. `tick` is called with the size in bytes of each piece that is read, and
  /// may throw an error to stop. After an error the archive is cancelled.
  ///
  /// - Throws: the errors of `add(name:bytes:)`, the errors of reading, and `bundle.changedWhileReading` when the size
  ///   of a file changes while it is read.
  func add(
    name: String, from source: EntrySource, tick: (UInt64) throws(BundleError) -> Void
  ) throws(BundleError) -> Entry {
    try cancelling { () throws(BundleError) in
      try write(admitted(name), named: name, from: source, tick: tick)
    }
  }

  /// Adds an entry whose bytes were appended piece by piece. After an error the archive is cancelled.
  @discardableResult
  func add(_ packed: PackedEntry) throws(BundleError) -> Entry {
    let content = try cancelling { () throws(BundleError) in try packed.end() }
    switch content {
    case .short(let bytes): return try add(name: packed.name, bytes: bytes)
    case .deflated(let file, let digest):
      return try cancelling { () throws(BundleError) in
        var header = ZipHeader(
          name: try admitted(packed.name), method: ZipFormat.methodDeflated,
          crc32: digest.crc.value, compressedSize: file.size, size: packed.size,
          headerOffset: output.size, hasLocalZip64: false)
        header.hasLocalZip64 = max(file.size, packed.size) >= threshold.bytes
        try output.append(header.localBytes[...])
        try file.forEachPiece { (piece) throws(BundleError) in try output.append(piece) }
        return note(header, named: packed.name, digest)
      }
    }
  }

  /// Checks the name of the next entry. Returns the UTF-8 bytes of the name.
  private func admitted(_ name: String) throws(BundleError) -> [UInt8] {
    guard state == .open else {
      throw BundleError(
        .misuse, "an entry was added after the archive was finished", path: path, entry: name)
    }
    guard entries.count < Self.maxEntryCount else {
      throw BundleError(
        .tooLarge, "the archive would have more than \(Self.maxEntryCount) entries", path: path)
    }
    let bytes = Array(name.utf8)
    _ = try names.add(bytes)
    guard !ZipNames.isFolder(name) else {
      throw BundleError(.badName, "the entry name denotes a folder", path: path, entry: name)
    }
    return bytes
  }

  /// Adds a written entry to the central directory and to the list of entries.
  private func note(_ header: ZipHeader, named name: String, _ digest: EntryDigest) -> Entry {
    directory += header.centralBytes(threshold: threshold)
    let entry = Entry(
      name: name, size: header.size, compressedSize: header.compressedSize, crc32: header.crc32,
      sha256: digest.sha256Hex)
    entries.append(entry)
    return entry
  }

  private func write(
    _ nameBytes: [UInt8], named name: String, from source: EntrySource,
    tick: (UInt64) throws(BundleError) -> Void
  ) throws(BundleError) -> Entry {
    let size = source.size
    // If data cannot be compressed, deflate adds at most 5 bytes for each stored block of at least 8 KiB. This bound is
    // higher.
    let (bound, overflow) = size.addingReportingOverflow(size / 1024 + 1024)
    var header = ZipHeader(
      name: nameBytes, method: ZipFormat.methodDeflated, crc32: 0, compressedSize: 0, size: size,
      headerOffset: output.size, hasLocalZip64: overflow || bound >= threshold.bytes)
    // The local header is overwritten later, when the checksum and the compressed size are known.
    let headerBytes = header.localBytes
    try output.append(headerBytes[...])

    var pieces = EntryPieces(source)
    let digest: EntryDigest
    if size <= UInt64(ZipFormat.window) {
      let piece = try pieces.next() ?? []
      try tick(UInt64(piece.count))
      try pieces.expectEnd()
      digest = EntryDigest(of: piece)
      let packed = try deflated(piece)
      header.method = packed == nil ? ZipFormat.methodStored : ZipFormat.methodDeflated
      let bytes = packed ?? Array(piece)
      header.compressedSize = UInt64(bytes.count)
      try output.append(bytes[...])
    } else {
      let start = output.size
      digest = try deflate(&pieces, tick: tick)
      header.compressedSize = output.size - start
    }
    header.crc32 = digest.crc.value
    try output.overwrite(header.localBytes, at: header.headerOffset)
    return note(header, named: name, digest)
  }

  /// Begins an entry whose bytes come piece by piece. Several such entries may be unfinished at the same time. A
  /// complete entry is added to the archive with ``add(_:)``.
  ///
  /// - Parameters:
  ///   - name: the name within the archive.
  ///   - count: the maximum number of entries that are unfinished at the same time. These entries share a fixed amount
  ///     of memory.
  ///   - making: called with the path of the entry's temporary file and a closure, which it must call. The closure
  ///     creates the file, removes its name at once, and returns whether a file of this name is left.
  /// - Returns: the entry, to which bytes are appended.
  func begin(
    _ name: String, among count: Int, making: @escaping (String, () -> Bool) -> Void
  ) -> PackedEntry {
    PackedEntry(
      name: name, level: level, blockCount: DeflateRound.usualBlockCount / max(1, count)
    ) { [path] () throws(BundleError) in
      try ExclusiveOutput(path: path, isUnnamed: true, calls: OutputCalls(), making: making)
    }
  }

  /// Deflates `piece`, which is a whole entry of at most one window (256 KiB). Returns nil when the deflated bytes are
  /// not fewer than the bytes of `piece`.
  private func deflated(_ piece: ArraySlice<UInt8>) throws(BundleError) -> [UInt8]? {
    guard !piece.isEmpty else { return nil }
    let stream = try ZlibStream(.compress(level))
    var buffer = [UInt8](repeating: 0, count: piece.count)
    let step = try stream.step(piece, into: &buffer, flush: .end)
    guard step.isAtEnd, step.produced < piece.count else { return nil }
    return Array(buffer[..<step.produced])
  }

  private func deflate(
    _ pieces: inout EntryPieces, tick: (UInt64) throws(BundleError) -> Void
  ) throws(BundleError) -> EntryDigest {
    let round = try DeflateRound(level: level)
    while !pieces.isAtEnd {
      while !round.isFull, let piece = try pieces.next() {
        round.add(piece)
        try tick(UInt64(piece.count))
      }
      for packed in try round.pack(isEnd: pieces.isAtEnd) { try output.append(packed[...]) }
    }
    try pieces.expectEnd()
    return round.digest
  }

  // MARK: - End

  /// Writes the central directory, syncs the archive to the disk and gives the archive its name.
  ///
  /// - Parameter comment: returns the archive's comment, at most 65,535 bytes of UTF-8. The argument is the SHA-256 of
  ///   all bytes before the end record, as lower-case hexadecimal text.
  /// - Returns: the path, the size and the entries of the archive.
  /// - Throws: `bundle.outputExists` when another file got the name in the meantime; `bundle.writeFailed`. In both
  ///   cases, no file was replaced, and the temporary file is removed. There is one exception: if only the final sync
  ///   of the folder fails, the complete archive stays under its name, and the error's message says so.
  package func finish(comment: (String) -> String = { _ in "" }) throws(BundleError) -> Receipt {
    _ = try end(comment: comment)
    return try publish()
  }

  /// Writes the central directory and the end records. Returns the archive as an open file that can be read back.
  func end(comment: (String) -> String = { _ in "" }) throws(BundleError) -> InputFile {
    try cancelling { () throws(BundleError) in
      guard state == .open else {
        throw BundleError(.misuse, "the archive was finished twice", path: path)
      }
      let end = ZipEnd(
        entryCount: UInt64(entries.count), directoryOffset: output.size,
        directorySize: UInt64(directory.count))
      try output.append(directory[...])
      try output.append(end.zip64Bytes(threshold: threshold)[...])
      let text = Array(comment(try output.digest()).utf8)
      guard text.count <= ZipFormat.maxCommentSize else {
        throw BundleError(.tooLarge, "the comment is longer than 65,535 bytes", path: path)
      }
      try output.append((end.endBytes(commentSize: text.count, threshold: threshold) + text)[...])
      state = .ended
      return try output.input()
    }
  }

  /// Gives the archive its name, after ``end(comment:)`` has completed it.
  func publish() throws(BundleError) -> Receipt {
    try cancelling { () throws(BundleError) in
      guard state == .ended else {
        throw BundleError(.misuse, "the archive was named before it was complete", path: path)
      }
      let size = output.size
      let leftover = try output.commit()
      state = .finished
      return Receipt(path: path, size: size, entries: entries, leftoverPath: leftover)
    }
  }

  /// Removes the unfinished archive. Does nothing after `finish`.
  package func cancel() {
    guard state == .open || state == .ended else { return }
    state = .cancelled
    output.discard()
  }

  private func cancelling<T>(_ body: () throws(BundleError) -> T) throws(BundleError) -> T {
    do {
      return try body()
    } catch {
      cancel()
      throw error
    }
  }
}
