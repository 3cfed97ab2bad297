/// Appends integers to an array of bytes, in little-endian order.
struct ZipBytes {
  var bytes: [UInt8] = []

  mutating func u16(_ value: UInt16) { append(value) }
  mutating func u32(_ value: UInt32) { append(value) }
  mutating func u64(_ value: UInt64) { append(value) }

  private mutating func append<T: FixedWidthInteger>(_ value: T) {
    for shift in stride(from: 0, to: T.bitWidth, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> T(shift)))
    }
  }
}

/// Reads little-endian integers from `bytes`, a part of a file. Throws `bundle.truncated` for a field that is not fully
/// within `bytes`.
struct ZipFields {
  let bytes: [UInt8]
  /// The offset of `bytes[0]` in the file.
  let base: UInt64

  func u16(_ offset: Int) throws(BundleError) -> UInt16 { try load(offset) }
  func u32(_ offset: Int) throws(BundleError) -> UInt32 { try load(offset) }
  func u64(_ offset: Int) throws(BundleError) -> UInt64 { try load(offset) }

  func slice(_ offset: Int, _ count: Int) throws(BundleError) -> ArraySlice<UInt8> {
    guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else {
      throw BundleError(
        .truncated, "a field of \(count) bytes reaches past the end of its structure",
        offset: place(offset))
    }
    return bytes[offset..<offset + count]
  }

  func place(_ offset: Int) -> UInt64 {
    base &+ UInt64(clamping: offset)
  }

  private func load<T: FixedWidthInteger>(_ offset: Int) throws(BundleError) -> T {
    var value: T = 0
    for byte in try slice(offset, T.bitWidth / 8).reversed() {
      value = value << 8 | T(byte)
    }
    return value
  }
}
