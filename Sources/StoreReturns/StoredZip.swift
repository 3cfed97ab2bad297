/// The headers and the central directory of a zip archive without compression (APPNOTE.TXT 6.3.10, sections 4.3 and
/// 4.4). The same entries always give the same header bytes, so a reader can compare the headers byte by byte.
///
/// Every header has a Zip64 extra field, so that the layout does not depend on the file's size. The field contains both
/// sizes and, in the central directory, also the offset of the local header.
struct StoredZip {
  /// A file in the archive: its name, its size in bytes and its CRC-32.
  struct Entry: Equatable {
    let name: String
    let size: Int64
    let checksum: UInt32
  }

  /// The entries in the order in which they were added, each with the offset of its local header in the archive.
  private(set) var entries: [(entry: Entry, offset: Int64)] = []
  /// The offset in the archive at which the next local header begins.
  private(set) var end: Int64 = 0

  static let maxEntries = 100_000

  /// Adds an entry, and returns its local header (section 4.3.7). In the archive, the bytes of the file follow this
  /// header.
  mutating func add(_ entry: Entry) -> [UInt8] {
    let header = Self.localHeader(entry)
    entries.append((entry, end))
    end += Int64(header.count) + entry.size
    return header
  }

  private static func localHeader(_ entry: Entry) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(little: UInt32(0x0403_4b50))
    append(fieldsOf: entry, extra: 20, to: &bytes)
    bytes += entry.name.utf8
    bytes.append(little: UInt16(0x0001))
    bytes.append(little: UInt16(16))
    bytes.append(little: UInt64(entry.size))
    bytes.append(little: UInt64(entry.size))
    return bytes
  }

  /// Appends the fields that occur in both the local header and the central directory header: version, flags, method,
  /// time, checksum, sizes and lengths.
  private static func append(fieldsOf entry: Entry, extra: UInt16, to bytes: inout [UInt8]) {
    bytes.append(little: UInt16(45))
    // General purpose bit 11: the name is UTF-8 (section 4.4.4).
    bytes.append(little: UInt16(0x0800))
    bytes.append(little: UInt16(0))
    // The time is always 1980-01-01, so that packing the same store again gives the same bytes.
    bytes.append(little: UInt16(0))
    bytes.append(little: UInt16(0x21))
    bytes.append(little: entry.checksum)
    bytes.append(little: UInt32.max)
    bytes.append(little: UInt32.max)
    bytes.append(little: UInt16(entry.name.utf8.count))
    bytes.append(little: extra)
  }

  /// The bytes of the central directory and of the Zip64 and end records after it (sections 4.3.12, 4.3.14 to 4.3.16).
  var directory: [UInt8] {
    var bytes: [UInt8] = []
    for (entry, offset) in entries {
      bytes.append(little: UInt32(0x0201_4b50))
      bytes.append(little: UInt16(3 << 8 | 45))
      Self.append(fieldsOf: entry, extra: 28, to: &bytes)
      bytes.append(little: UInt16(0))
      bytes.append(little: UInt16(0))
      bytes.append(little: UInt16(0))
      bytes.append(little: UInt32(0o100600 << 16))
      bytes.append(little: UInt32.max)
      bytes += entry.name.utf8
      bytes.append(little: UInt16(0x0001))
      bytes.append(little: UInt16(24))
      bytes.append(little: UInt64(entry.size))
      bytes.append(little: UInt64(entry.size))
      bytes.append(little: UInt64(offset))
    }
    let size = UInt64(bytes.count)
    let place = UInt64(end) + size
    bytes.append(little: UInt32(0x0606_4b50))
    bytes.append(little: UInt64(44))
    bytes.append(little: UInt16(3 << 8 | 45))
    bytes.append(little: UInt16(45))
    bytes.append(little: UInt32(0))
    bytes.append(little: UInt32(0))
    bytes.append(little: UInt64(entries.count))
    bytes.append(little: UInt64(entries.count))
    bytes.append(little: size)
    bytes.append(little: UInt64(end))
    bytes.append(little: UInt32(0x0706_4b50))
    bytes.append(little: UInt32(0))
    bytes.append(little: place)
    bytes.append(little: UInt32(1))
    bytes.append(little: UInt32(0x0605_4b50))
    bytes.append(little: UInt16(0))
    bytes.append(little: UInt16(0))
    bytes.append(little: UInt16.max)
    bytes.append(little: UInt16.max)
    bytes.append(little: UInt32.max)
    bytes.append(little: UInt32.max)
    bytes.append(little: UInt16(0))
    return bytes
  }

  static func headerLength(nameLength: Int) -> Int { 30 + nameLength + 20 }

  /// Returns the length in bytes of the name in a local header. `start` has the header's first 30 bytes. Nil when these
  /// bytes are not the beginning of a local header.
  static func nameLength(in start: [UInt8]) -> Int? {
    guard start.count >= 30, start.starts(with: [0x50, 0x4b, 0x03, 0x04]) else { return nil }
    return Int(start[26]) | Int(start[27]) << 8
  }

  /// Decodes a complete local header. Nil unless the header's bytes are equal to those that ``add(_:)`` returns for the
  /// decoded entry.
  static func entry(of header: [UInt8]) -> Entry? {
    guard let length = nameLength(in: header), header.count == headerLength(nameLength: length)
    else { return nil }
    let nameBytes = header[30..<(30 + length)]
    let name = String(decoding: nameBytes, as: UTF8.self)
    var size: UInt64 = 0
    for byte in header[(34 + length)..<(42 + length)].reversed() { size = size << 8 | UInt64(byte) }
    var checksum: UInt32 = 0
    for byte in header[14..<18].reversed() { checksum = checksum << 8 | UInt32(byte) }
    // Decoding replaces invalid UTF-8 by longer sequences, so an invalid name might not fit into a header.
    guard size < 1 << 50, name.utf8.elementsEqual(nameBytes) else { return nil }
    let entry = Entry(name: name, size: Int64(size), checksum: checksum)
    return localHeader(entry) == header ? entry : nil
  }
}

/// Computes the CRC-32 of bytes in the variant that zip archives use (APPNOTE.TXT, section 4.4.7).
struct Checksum {
  private var state: UInt32 = ~0

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1
    }
  }

  var value: UInt32 { ~state }

  mutating func update(_ bytes: [UInt8]) {
    let table = Self.table
    for byte in bytes { state = table[Int((state ^ UInt32(byte)) & 0xff)] ^ state >> 8 }
  }
}

extension [UInt8] {
  fileprivate mutating func append<Number: FixedWidthInteger>(little number: Number) {
    var rest = number
    for _ in 0..<(Number.bitWidth / 8) {
      append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }
}
