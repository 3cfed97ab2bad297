/// The lowest values for which ``ZipWriter`` uses Zip64 fields: `bytes` for sizes and offsets, `entries` for entry
/// counts. Tests set lower values than the limits of the zip format.
struct Zip64Threshold: Sendable {
  var bytes = UInt64(ZipFormat.saturated32)
  var entries = UInt64(ZipFormat.saturated16)
}

/// The fields of the local file header and the central directory header of one entry.
struct ZipHeader: Equatable {
  var name: [UInt8]
  var method: UInt16
  var crc32: UInt32
  var compressedSize: UInt64
  var size: UInt64
  var headerOffset: UInt64
  /// Whether the sizes in the local header are in a Zip64 extra field.
  var hasLocalZip64: Bool

  var localBytes: [UInt8] {
    var out = ZipBytes()
    out.u32(ZipFormat.localSignature)
    out.u16(version(offsetIsLarge: false))
    appendCommon(to: &out)
    out.u32(hasLocalZip64 ? ZipFormat.saturated32 : UInt32(truncatingIfNeeded: compressedSize))
    out.u32(hasLocalZip64 ? ZipFormat.saturated32 : UInt32(truncatingIfNeeded: size))
    out.u16(UInt16(truncatingIfNeeded: name.count))
    out.u16(hasLocalZip64 ? 20 : 0)
    out.bytes += name
    if hasLocalZip64 {
      out.u16(ZipFormat.zip64ExtraID)
      out.u16(16)
      out.u64(size)
      out.u64(compressedSize)
    }
    return out.bytes
  }

  func centralBytes(threshold: Zip64Threshold) -> [UInt8] {
    var extra = ZipBytes()
    // APPNOTE 4.5.3: the Zip64 extra field has a 64-bit value for each saturated 32-bit field, in this order.
    let large = (
      size: size >= threshold.bytes, compressed: compressedSize >= threshold.bytes,
      offset: headerOffset >= threshold.bytes
    )
    if large.size { extra.u64(size) }
    if large.compressed { extra.u64(compressedSize) }
    if large.offset { extra.u64(headerOffset) }

    var out = ZipBytes()
    out.u32(ZipFormat.centralSignature)
    out.u16(ZipFormat.versionMadeBy)
    out.u16(version(offsetIsLarge: !extra.bytes.isEmpty))
    appendCommon(to: &out)
    out.u32(large.compressed ? ZipFormat.saturated32 : UInt32(truncatingIfNeeded: compressedSize))
    out.u32(large.size ? ZipFormat.saturated32 : UInt32(truncatingIfNeeded: size))
    out.u16(UInt16(truncatingIfNeeded: name.count))
    out.u16(extra.bytes.isEmpty ? 0 : UInt16(truncatingIfNeeded: extra.bytes.count + 4))
    out.u16(0)  // comment
    out.u16(0)  // disk
    out.u16(0)  // internal attributes
    out.u32(ZipFormat.fixedAttributes)
    out.u32(large.offset ? ZipFormat.saturated32 : UInt32(truncatingIfNeeded: headerOffset))
    out.bytes += name
    if !extra.bytes.isEmpty {
      out.u16(ZipFormat.zip64ExtraID)
      out.u16(UInt16(truncatingIfNeeded: extra.bytes.count))
      out.bytes += extra.bytes
    }
    return out.bytes
  }

  private func version(offsetIsLarge: Bool) -> UInt16 {
    hasLocalZip64 || offsetIsLarge ? ZipFormat.versionZip64 : ZipFormat.versionPlain
  }

  private func appendCommon(to out: inout ZipBytes) {
    out.u16(ZipFormat.flagUTF8)
    out.u16(method)
    out.u16(ZipFormat.fixedTime)
    out.u16(ZipFormat.fixedDate)
    out.u32(crc32)
  }
}

/// The fields of the end of central directory record, and of the Zip64 end record if the archive needs one.
struct ZipEnd {
  var entryCount: UInt64
  var directoryOffset: UInt64
  var directorySize: UInt64

  func needsZip64(_ threshold: Zip64Threshold) -> Bool {
    entryCount >= threshold.entries || directoryOffset >= threshold.bytes
      || directorySize >= threshold.bytes
  }

  /// Returns the Zip64 end record and its locator; empty when all values fit into the end of central directory record.
  func zip64Bytes(threshold: Zip64Threshold) -> [UInt8] {
    guard needsZip64(threshold) else { return [] }
    var out = ZipBytes()
    out.u32(ZipFormat.end64Signature)
    out.u64(UInt64(ZipFormat.end64Size - ZipFormat.end64SizeExcludes))
    out.u16(ZipFormat.versionMadeBy)
    out.u16(ZipFormat.versionZip64)
    out.u32(0)  // this disk
    out.u32(0)  // disk with the directory
    out.u64(entryCount)
    out.u64(entryCount)
    out.u64(directorySize)
    out.u64(directoryOffset)
    out.u32(ZipFormat.locatorSignature)
    out.u32(0)  // disk with the Zip64 record
    out.u64(directoryOffset &+ directorySize)
    out.u32(1)  // disks
    return out.bytes
  }

  /// Returns the end of central directory record without the archive comment. If the archive also has a Zip64 end
  /// record, the counts, the size and the offset in the returned record are saturated, so that the two records cannot
  /// contradict each other.
  func endBytes(commentSize: Int, threshold: Zip64Threshold) -> [UInt8] {
    let is64 = needsZip64(threshold)
    let count = is64 ? ZipFormat.saturated16 : UInt16(truncatingIfNeeded: entryCount)
    var out = ZipBytes()
    out.u32(ZipFormat.endSignature)
    out.u16(0)  // this disk
    out.u16(0)  // disk with the directory
    out.u16(count)
    out.u16(count)
    out.u32(is64 ? ZipFormat.saturated32 : UInt32(truncatingIfNeeded: directorySize))
    out.u32(is64 ? ZipFormat.saturated32 : UInt32(truncatingIfNeeded: directoryOffset))
    out.u16(UInt16(truncatingIfNeeded: commentSize))
    return out.bytes
  }
}
