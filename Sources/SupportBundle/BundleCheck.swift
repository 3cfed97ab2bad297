internal import Crypto
internal import Foundation
internal import StoreFiles

/// Checks one bundle: the checksum in its archive comment (``BundleSeal``), its zip headers, its manifest and its
/// entries.
struct BundleCheck {
  typealias Problem = BundleVerification.Problem

  let file: InputFile
  let threshold: Zip64Threshold
  let progress: (UInt64, UInt64) -> Void
  let isCancelled: () -> Bool
  private var problems: [Problem] = []
  private var manifest: BundleManifest?
  private var intactCount = 0
  private var isBundle = true
  private var done: UInt64 = 0
  private var total: UInt64 = 0

  private var path: String { file.path }

  init(
    _ file: InputFile, threshold: Zip64Threshold, progress: @escaping (UInt64, UInt64) -> Void,
    isCancelled: @escaping () -> Bool
  ) {
    self.file = file
    self.threshold = threshold
    self.progress = progress
    self.isCancelled = isCancelled
  }

  mutating func run(limits: ZipLimits) throws(BundleError) -> BundleVerification {
    do throws(BundleError) {
      let reader = try ZipReader(file, limits: limits)
      total = reader.entries.reduce(reader.size) { $0.addingClamped($1.size) }
      try checkSeal(of: reader)
      try checkLayout(of: reader)
      try checkManifest(of: reader)
      try checkEntries(of: reader)
      return result(size: reader.size)
    } catch {
      try note(error)
      isBundle = startsLikeABundle()
      return result(size: nil)
    }
  }

  private func result(size: UInt64?) -> BundleVerification {
    BundleVerification(
      path: path, size: size, manifest: manifest, intactEntryCount: intactCount,
      problems: problems,
      outcome: problems.isEmpty ? .intact : isBundle ? .damaged : .notABundle)
  }

  // MARK: - Notes

  private mutating func add(
    _ id: Problem.ID, _ message: String, entry: String? = nil, offset: UInt64? = nil
  ) {
    problems.append(Problem(id: id, message: message, entry: entry, offset: offset))
  }

  /// Adds a problem to the result if the archive itself caused `error`. Rethrows any other error, such as a failed read
  /// or a cancellation.
  private mutating func note(_ error: BundleError) throws(BundleError) {
    guard error.code.isOfArchive else { throw error }
    problems.append(Problem(error))
  }

  private mutating func advance(_ count: Int) throws(BundleError) {
    if isCancelled() { throw BundleError(.cancelled, "stopped as asked", path: path) }
    done += UInt64(count)
    progress(done, max(done, total))
  }

  // MARK: - Archive

  /// Whether the file looks like the beginning of a bundle, so that it is reported as a damaged bundle even if nothing
  /// else can be read. Either the signature of a local file header is at its start, or the name `manifest.json` is
  /// where a zip archive has the name of its first entry.
  private func startsLikeABundle() -> Bool {
    let name = Array(BundleManifest.entryName.utf8)
    var start = [UInt8](repeating: 0, count: ZipFormat.localSize + name.count)
    let count = start.count
    guard let read = try? file.read(at: 0, into: &start, count: count) else { return false }
    var signature = ZipBytes()
    signature.u32(ZipFormat.localSignature)
    return read == count
      && (Array(start[..<4]) == signature.bytes || Array(start[ZipFormat.localSize...]) == name)
  }

  private mutating func checkSeal(of reader: ZipReader) throws(BundleError) {
    let sealedSize = reader.directory.endRecordOffset
    var hash = SHA256()
    var buffer = [UInt8](repeating: 0, count: ZipFormat.window)
    var offset: UInt64 = 0
    while offset < sealedSize {
      let wanted = min(buffer.count, Int(clamping: sealedSize - offset))
      let read = try reader.file.read(at: offset, into: &buffer, count: wanted)
      guard read == wanted else {
        throw BundleError(
          .truncated, "the archive became shorter while it was read", offset: offset)
      }
      hash.update(data: buffer[..<read])
      offset += UInt64(read)
      try advance(read)
    }
    if let sealed = BundleSeal.sha256(in: reader.comment) {
      if sealed != hash.finalize().hex {
        add(.sealBroken, "the bytes of the archive do not match the checksum in its comment")
      }
    } else {
      add(
        .sealMissing,
        "the archive comment has no checksum of a bundle: another program made or changed the file",
        offset: sealedSize)
    }
  }

  /// Adds a problem for each header that differs from the header that Lifeboat writes for the same entry, and for each
  /// gap between two entries. Also adds a problem if the end of the archive differs from the end that Lifeboat writes.
  private mutating func checkLayout(of reader: ZipReader) throws(BundleError) {
    var offset: UInt64 = 0
    for entry in reader.entries {
      let local = Int(clamping: entry.dataOffset - entry.headerOffset)
      let name = Array(entry.name.utf8)
      let header = ZipHeader(
        name: name,
        method: entry.method == .stored ? ZipFormat.methodStored : ZipFormat.methodDeflated,
        crc32: entry.crc32, compressedSize: entry.compressedSize, size: entry.size,
        headerOffset: entry.headerOffset,
        hasLocalZip64: local > ZipFormat.localSize + name.count)
      let localBytes = try reader.file.bytes(at: entry.headerOffset, count: local)
      let centralBytes = try reader.file.bytes(
        at: entry.directoryOffset, count: entry.directorySize)
      let isExpected =
        entry.headerOffset == offset && localBytes == header.localBytes
        && centralBytes == header.centralBytes(threshold: threshold)
      if !isExpected {
        add(
          .headerChanged, "a header is not in the form that Lifeboat writes", entry: entry.name,
          offset: entry.headerOffset)
      }
      offset = entry.dataEnd
    }
    let directory = reader.directory
    let end = ZipEnd(
      entryCount: UInt64(directory.entryCount), directoryOffset: directory.offset,
      directorySize: UInt64(directory.size))
    let tail =
      end.zip64Bytes(threshold: threshold)
      + end.endBytes(commentSize: reader.comment.count, threshold: threshold)
    let tailOffset = directory.offset + UInt64(directory.size)
    let tailSize = Int(clamping: reader.size - tailOffset) - reader.comment.count
    let found = try reader.file.bytes(at: tailOffset, count: tailSize)
    let isExpected = offset == directory.offset && found == tail
    if !isExpected {
      add(
        .headerChanged, "the end of the archive is not in the form that Lifeboat writes",
        offset: tailOffset)
    }
  }

  // MARK: - Manifest and entries

  private mutating func checkManifest(of reader: ZipReader) throws(BundleError) {
    guard let entry = reader.entry(named: BundleManifest.entryName) else {
      isBundle = false
      add(.manifestMissing, "the archive holds no manifest.json: it is not a bundle")
      return
    }
    if entry.headerOffset != 0 || reader.entries.first != entry {
      add(
        .manifestNotFirst, "manifest.json is not the first entry", entry: entry.name,
        offset: entry.headerOffset)
    }
    do throws(BundleError) {
      let json = try reader.bytes(of: entry, limit: BundleManifest.maxBytes)
      try advance(json.count)
      manifest = try BundleManifest(json: json)
    } catch {
      // The headers of a returned store are right, although they are not those of a bundle.
      if error.code == .isReturn { problems = [] }
      try note(error.inside(path: path, entry: entry.name))
      // If the archive was changed after Lifeboat wrote it, a manifest that cannot be read is damage. Otherwise, the
      // file is not a bundle, or is a bundle of an unknown version.
      isBundle = problems.contains { $0.id == .sealBroken || $0.id == .headerChanged }
    }
  }

  private mutating func checkEntries(of reader: ZipReader) throws(BundleError) {
    // Without a manifest, the file is not known to be a bundle, so its entries are not decompressed.
    guard let manifest else { return }
    let pairs = BundlePairs(manifest, reader.entries)
    for (entry, listed) in pairs.found {
      // If the central directory and the manifest give different sizes for an entry, the bytes of the entry need not be
      // read.
      guard let listed, listed.sizeBytes == entry.size else {
        problems.append(BundlePairs.problem(entry, listed))
        continue
      }
      do throws(BundleError) {
        let sha256 = try reader.read(whole: entry) { (piece) throws(BundleError) in
          try advance(piece.count)
        }
        if sha256 == listed.sha256 {
          intactCount += 1
        } else {
          problems.append(BundlePairs.change(of: entry))
        }
      } catch {
        try note(error.inside(path: path, entry: entry.name))
      }
    }
    problems += pairs.missing.map(BundlePairs.problem)
    if problems.isEmpty, !pairs.isInOrder {
      add(.orderChanged, "the order of the entries differs from the order in the manifest")
    }
  }
}
