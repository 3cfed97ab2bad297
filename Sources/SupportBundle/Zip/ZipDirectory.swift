/// The values of the end of central directory record: the location of the central directory, the entry count and the
/// archive comment.
struct ZipDirectory: Sendable {
  let entryCount: Int
  /// The offset of the central directory, in bytes from the start of the archive.
  let offset: UInt64
  let size: Int
  let hasZip64: Bool
  /// The offset of the end of central directory record (APPNOTE 4.3.16), in bytes from the start of the archive.
  let endRecordOffset: UInt64
  let comment: [UInt8]

  init(parsing file: InputFile, limits: ZipLimits) throws(BundleError) {
    let tailSize = Int(
      clamping: min(file.size, UInt64(ZipFormat.endSize + ZipFormat.maxCommentSize)))
    let tailOffset = file.size - UInt64(tailSize)
    let tail = ZipFields(bytes: try file.bytes(at: tailOffset, count: tailSize), base: tailOffset)
    let end = try Self.findEnd(in: tail)
    endRecordOffset = tail.place(end)
    comment = Array(tail.bytes[(end + ZipFormat.endSize)...])

    guard try tail.u16(end + 4) == 0, try tail.u16(end + 6) == 0 else {
      throw BundleError(
        .unsupported, "the archive is split over several files", offset: endRecordOffset)
    }
    let short = (
      here: try tail.u16(end + 8), count: try tail.u16(end + 10), size: try tail.u32(end + 12),
      offset: try tail.u32(end + 16)
    )
    var found = ZipEnd(
      entryCount: UInt64(short.count), directoryOffset: UInt64(short.offset),
      directorySize: UInt64(short.size))
    var directoryEnd = endRecordOffset
    var here = UInt64(short.here)
    let record64 = try Self.findZip64(before: endRecordOffset, in: file)
    hasZip64 = record64 != nil
    if let record64 {
      let (offset, fields) = record64
      directoryEnd = offset
      here = try fields.u64(24)
      found = ZipEnd(
        entryCount: try fields.u64(32), directoryOffset: try fields.u64(48),
        directorySize: try fields.u64(40))
      // A field of the end record that is not saturated must have the same value in the Zip64 end record, so that all
      // programs read the same archive.
      guard short.count == ZipFormat.saturated16 || UInt64(short.count) == found.entryCount,
        short.here == short.count,
        short.size == ZipFormat.saturated32 || UInt64(short.size) == found.directorySize,
        short.offset == ZipFormat.saturated32 || UInt64(short.offset) == found.directoryOffset
      else {
        throw BundleError(
          .badDirectory, "the two end records of the archive differ", offset: endRecordOffset)
      }
    }
    guard here == found.entryCount else {
      throw BundleError(
        .badDirectory, "the end record has two different entry counts", offset: endRecordOffset)
    }
    let (sum, overflow) = found.directoryOffset.addingReportingOverflow(found.directorySize)
    guard !overflow, sum == directoryEnd else {
      throw BundleError(
        .badDirectory, "the central directory is not where the end record says",
        offset: endRecordOffset)
    }
    guard let count = Int(exactly: found.entryCount), count <= limits.entryCount else {
      throw BundleError(
        .tooLarge,
        "the archive has \(found.entryCount) entries, and the limit is \(limits.entryCount)",
        offset: endRecordOffset)
    }
    guard let size = Int(exactly: found.directorySize), size <= limits.directoryBytes else {
      throw BundleError(
        .tooLarge,
        "the central directory has \(found.directorySize) bytes, and the limit is \(limits.directoryBytes)",
        offset: endRecordOffset)
    }
    // The size is divided by the minimum header size, because multiplying the count could overflow.
    guard count <= size / ZipFormat.centralSize else {
      throw BundleError(
        .badDirectory, "\(count) entries do not fit into the central directory",
        offset: endRecordOffset)
    }
    entryCount = count
    self.size = size
    offset = found.directoryOffset
  }

  /// Returns the position in `tail` of the end of central directory record. Only a record whose comment ends at the end
  /// of the file counts. Throws when there are two such records, because two programs could then read the archive in
  /// different ways.
  private static func findEnd(in tail: ZipFields) throws(BundleError) -> Int {
    var found: Int?
    var position = tail.bytes.count - ZipFormat.endSize
    while position >= 0 {
      if tail.bytes[position] == 0x50, try tail.u32(position) == ZipFormat.endSignature,
        Int(try tail.u16(position + 20)) == tail.bytes.count - position - ZipFormat.endSize
      {
        guard found == nil else {
          throw BundleError(
            .badDirectory, "the archive has two end records", offset: tail.place(position))
        }
        found = position
      }
      position -= 1
    }
    guard let found else {
      throw BundleError(
        .notAZip, "the file has no end record: it is not a zip file, or its end was cut off",
        offset: tail.place(tail.bytes.count))
    }
    return found
  }

  /// Returns the offset and the fields of the Zip64 end record (APPNOTE 4.3.14). `end` is the offset of the end of
  /// central directory record. Returns nil when no Zip64 locator (APPNOTE 4.3.15) is directly before `end`.
  private static func findZip64(
    before end: UInt64, in file: InputFile
  ) throws(BundleError) -> (UInt64, ZipFields)? {
    guard end >= UInt64(ZipFormat.locatorSize + ZipFormat.end64Size) else { return nil }
    let place = end - UInt64(ZipFormat.locatorSize)
    let locator = ZipFields(
      bytes: try file.bytes(at: place, count: ZipFormat.locatorSize), base: place)
    guard try locator.u32(0) == ZipFormat.locatorSignature else { return nil }
    let offset = try locator.u64(8)
    guard try locator.u32(4) == 0, try locator.u32(16) <= 1 else {
      throw BundleError(.unsupported, "the archive is split over several files", offset: place)
    }
    // The Zip64 end record is expected without an extensible data sector (APPNOTE 4.3.14.2), which no tool writes. So
    // its size is fixed.
    guard offset == place - UInt64(ZipFormat.end64Size) else {
      throw BundleError(
        .badDirectory, "the Zip64 end record is not directly before its locator", offset: place)
    }
    let fields = ZipFields(
      bytes: try file.bytes(at: offset, count: ZipFormat.end64Size), base: offset)
    guard try fields.u32(0) == ZipFormat.end64Signature,
      try fields.u64(4) == UInt64(ZipFormat.end64Size - ZipFormat.end64SizeExcludes),
      try fields.u32(16) == 0, try fields.u32(20) == 0
    else {
      throw BundleError(.badDirectory, "the Zip64 end record is damaged", offset: offset)
    }
    return (offset, fields)
  }
}

// MARK: - Entries

extension ZipDirectory {
  /// Returns all entries of the central directory. Checks that each entry is within `limits`, agrees with its local
  /// header, and shares neither its name nor any bytes with another entry.
  static func entries(
    parsing directory: ZipDirectory, of file: InputFile, limits: ZipLimits, escapesNames: Bool
  ) throws(BundleError) -> [ZipReader.Entry] {
    let fields = ZipFields(
      bytes: try file.bytes(at: directory.offset, count: directory.size), base: directory.offset)
    var names = ZipNames()
    names.isByBytes = escapesNames
    var entries: [ZipReader.Entry] = []
    entries.reserveCapacity(directory.entryCount)
    var position = 0
    var total: UInt64 = 0
    for _ in 0..<directory.entryCount {
      let central = try ZipCentralHeader(parsing: fields, at: position)
      do {
        let name = try names.add(
          escapesNames ? ZipNames.escaped(central.name) : central.name)
        try central.check(isFolder: ZipNames.isFolder(name), limits: limits)
        let dataOffset = try central.checkLocal(in: file, before: directory.offset)
        entries.append(
          ZipReader.Entry(
            name: name, method: central.method == ZipFormat.methodStored ? .stored : .deflated,
            size: central.size, compressedSize: central.compressedSize, crc32: central.crc32,
            headerOffset: central.headerOffset, isLink: central.isLink, dataOffset: dataOffset,
            directoryOffset: fields.place(position), directorySize: central.length))
      } catch {
        throw BundleError(
          error.code, error.message, entry: error.entry ?? Quoted.name(central.name),
          offset: error.offset ?? fields.place(position), systemError: error.systemError)
      }
      // Each size is at most `limits.entryBytes`, but this limit may be so large that the sum of the sizes overflows.
      let (sum, overflow) = total.addingReportingOverflow(central.size)
      guard !overflow, sum <= limits.totalBytes else {
        throw BundleError(
          .tooLarge, "the entries together have more than the allowed \(limits.totalBytes) bytes",
          offset: fields.place(position))
      }
      total = sum
      position += central.length
    }
    guard position == fields.bytes.count else {
      throw BundleError(
        .badDirectory, "bytes follow the last entry of the central directory",
        offset: fields.place(position))
    }
    try checkOverlap(entries, directoryOffset: directory.offset)
    return entries
  }

  /// Throws when two entries share bytes, because many entries of a zip bomb may share the same compressed bytes. Also
  /// throws when an entry runs into the central directory.
  private static func checkOverlap(
    _ entries: [ZipReader.Entry], directoryOffset: UInt64
  ) throws(BundleError) {
    var end: UInt64 = 0
    for entry in entries.sorted(by: { $0.headerOffset < $1.headerOffset }) {
      guard entry.headerOffset >= end, entry.dataEnd <= directoryOffset else {
        throw BundleError(
          .overlap, "the entry shares bytes with another part of the archive", entry: entry.name,
          offset: entry.headerOffset)
      }
      end = entry.dataEnd
    }
  }
}
