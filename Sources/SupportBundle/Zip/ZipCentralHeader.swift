/// One header of the central directory (APPNOTE 4.3.12).
struct ZipCentralHeader {
  let flags: UInt16
  let method: UInt16
  let time: UInt16
  let date: UInt16
  let crc32: UInt32
  let compressedSize: UInt64
  let size: UInt64
  let headerOffset: UInt64
  /// Whether the entry is a symbolic link. The header of a link has the host system Unix (3) or macOS (19, APPNOTE
  /// 4.4.2), and a mode with the type of a link in the upper 16 bits of the external attributes (APPNOTE 4.4.15).
  let isLink: Bool
  let name: [UInt8]
  /// The length of the header in bytes, including name, extra field and comment.
  let length: Int

  init(parsing fields: ZipFields, at start: Int) throws(BundleError) {
    guard fields.bytes.count - start >= ZipFormat.centralSize,
      try fields.u32(start) == ZipFormat.centralSignature
    else {
      throw BundleError(
        .badDirectory, "the central directory lacks an entry that the end record announces",
        offset: fields.place(start))
    }
    let host = try fields.u16(start + 4) >> 8
    let mode = try fields.u32(start + 38) >> 16
    isLink = (host == 3 || host == 19) && mode & 0xf000 == 0xa000
    flags = try fields.u16(start + 8)
    method = try fields.u16(start + 10)
    time = try fields.u16(start + 12)
    date = try fields.u16(start + 14)
    crc32 = try fields.u32(start + 16)
    let shortCompressed = try fields.u32(start + 20)
    let shortSize = try fields.u32(start + 24)
    let nameSize = Int(try fields.u16(start + 28))
    let extraSize = Int(try fields.u16(start + 30))
    let commentSize = Int(try fields.u16(start + 32))
    let disk = try fields.u16(start + 34)
    let shortOffset = try fields.u32(start + 42)
    length = ZipFormat.centralSize + nameSize + extraSize + commentSize
    _ = try fields.slice(start, length)
    name = Array(try fields.slice(start + ZipFormat.centralSize, nameSize))
    guard disk == 0 else {
      throw BundleError(
        .unsupported, "the archive is split over several files", offset: fields.place(start))
    }

    var zip64 = try ZipExtra(
      parsing: fields, at: start + ZipFormat.centralSize + nameSize, size: extraSize)
    // APPNOTE 4.5.3: the Zip64 values have this order. A Zip64 value is present only if the 32-bit field is saturated.
    size = try zip64.value(for: shortSize)
    compressedSize = try zip64.value(for: shortCompressed)
    headerOffset = try zip64.value(for: shortOffset)
  }

  /// Checks the flags, the compression method and the sizes in this header. The local header is checked by
  /// ``checkLocal(in:before:)``.
  func check(isFolder: Bool, limits: ZipLimits) throws(BundleError) {
    try Self.checkFlags(flags)
    guard method == ZipFormat.methodStored || method == ZipFormat.methodDeflated else {
      throw BundleError(.unsupported, "compression method \(method) is not supported")
    }
    guard size <= limits.entryBytes else {
      throw BundleError(
        .tooLarge, "the entry has \(size) bytes, and the limit is \(limits.entryBytes)")
    }
    if method == ZipFormat.methodStored, size != compressedSize {
      throw BundleError(
        .sizeMismatch, "the entry is stored without compression but has two different sizes")
    }
    let (maxSize, overflow) = compressedSize.multipliedReportingOverflow(
      by: ZipFormat.maxDeflateRatio)
    guard overflow || size <= maxSize else {
      throw BundleError(
        .impossibleRatio, "\(compressedSize) compressed bytes cannot unpack to \(size) bytes")
    }
    guard !isFolder || size == 0 else {
      throw BundleError(.badDirectory, "the entry is a folder but has \(size) bytes")
    }
  }

  /// Checks that the local header (APPNOTE 4.3.7) agrees with this header, and that the entry ends before `limit`, the
  /// offset of the central directory. Returns the offset of the entry's bytes in the file.
  func checkLocal(in file: InputFile, before limit: UInt64) throws(BundleError) -> UInt64 {
    guard headerOffset < limit, limit - headerOffset >= UInt64(ZipFormat.localSize) else {
      throw BundleError(
        .overlap, "the local header does not fit before the central directory", offset: headerOffset
      )
    }
    let fixed = ZipFields(
      bytes: try file.bytes(at: headerOffset, count: ZipFormat.localSize), base: headerOffset)
    guard try fixed.u32(0) == ZipFormat.localSignature else {
      throw mismatch("has no signature")
    }
    let nameSize = Int(try fixed.u16(26))
    let extraSize = Int(try fixed.u16(28))
    let local = ZipFields(
      bytes: try file.bytes(
        at: headerOffset, count: ZipFormat.localSize + nameSize + extraSize),
      base: headerOffset)
    guard Array(try local.slice(ZipFormat.localSize, nameSize)) == name else {
      throw mismatch("and the central directory have different names")
    }
    let localFlags = try local.u16(6)
    guard localFlags == flags else {
      throw mismatch("and the central directory have different flags")
    }
    guard try local.u16(8) == method else {
      throw mismatch("and the central directory have different methods")
    }
    guard try local.u16(10) == time, try local.u16(12) == date else {
      throw mismatch("and the central directory have different times")
    }
    var zip64 = try ZipExtra(
      parsing: local, at: ZipFormat.localSize + nameSize, size: extraSize)
    let localSize = try zip64.value(for: try local.u32(22))
    let localCompressed = try zip64.value(for: try local.u32(18))
    let localCRC = try local.u32(14)
    // APPNOTE 4.4.4: if bit 3 is set, the CRC-32 and the sizes in the local header are zero. The true values are in a
    // data descriptor after the data.
    let isDeferred =
      flags & ZipFormat.flagDataDescriptor != 0 && localCRC == 0 && localCompressed == 0
      && localSize == 0
    guard
      isDeferred
        || (localCRC == crc32 && localCompressed == compressedSize && localSize == size)
    else {
      throw mismatch("and the central directory have different sizes or checksums")
    }
    let dataOffset = headerOffset + UInt64(local.bytes.count)
    let (end, overflow) = dataOffset.addingReportingOverflow(compressedSize)
    guard !overflow, end <= limit else {
      throw BundleError(
        .overlap, "the entry runs into the central directory", offset: headerOffset)
    }
    return dataOffset
  }

  private func mismatch(_ what: String) -> BundleError {
    BundleError(.headerMismatch, "the local header \(what)", offset: headerOffset)
  }

  private static func checkFlags(_ flags: UInt16) throws(BundleError) {
    let encrypting =
      ZipFormat.flagEncrypted | ZipFormat.flagStrongEncryption | ZipFormat.flagMaskedHeaders
    if flags & encrypting != 0 {
      throw BundleError(.encrypted, "the entry is encrypted with zip encryption")
    }
    let known =
      ZipFormat.flagCompressionLevel | ZipFormat.flagDataDescriptor | ZipFormat.flagUTF8
    guard flags & ~known == 0 else {
      throw BundleError(
        .unsupported, "the zip flags \(String(flags, radix: 16)) (hexadecimal) are not supported")
    }
  }
}

/// The 64-bit values in the Zip64 extra field of a header (APPNOTE 4.5.3). If a 32-bit field of the header has its
/// maximum value, ``value(for:)`` returns the next of these values in its place.
private struct ZipExtra {
  private let fields: ZipFields
  private let start: Int
  private var values: ArraySlice<UInt64> = []

  init(parsing fields: ZipFields, at start: Int, size: Int) throws(BundleError) {
    self.fields = fields
    self.start = start
    var found: [UInt64]?
    var position = start
    let end = start + size
    // Each extra field begins with an identifier and a size, of two bytes each (APPNOTE 4.5.1). Some tools add up to
    // three bytes of padding at the end.
    while end - position >= 4 {
      let id = try fields.u16(position)
      let length = Int(try fields.u16(position + 2))
      guard length <= end - position - 4 else {
        throw BundleError(
          .badDirectory, "an extra field is longer than the space for it",
          offset: fields.place(position))
      }
      if id == ZipFormat.zip64ExtraID {
        guard found == nil else {
          throw BundleError(
            .badDirectory, "a header has two Zip64 fields", offset: fields.place(position))
        }
        var list: [UInt64] = []
        for index in 0..<min(length / 8, 3) {
          list.append(try fields.u64(position + 4 + 8 * index))
        }
        found = list
      }
      position += 4 + length
    }
    values = (found ?? [])[...]
  }

  /// Returns the true value of a header field whose 32-bit value is `short`: the next Zip64 value if `short` is
  /// saturated, otherwise `short` itself.
  mutating func value(for short: UInt32) throws(BundleError) -> UInt64 {
    guard short == ZipFormat.saturated32 else { return UInt64(short) }
    guard let value = values.popFirst() else {
      throw BundleError(
        .badDirectory, "a header announces a Zip64 value that is missing",
        offset: fields.place(start))
    }
    return value
  }
}
