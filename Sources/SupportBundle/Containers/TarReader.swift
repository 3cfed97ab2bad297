import SafeText

/// Reads a tar archive (POSIX.1-2017, pax, "ustar Interchange Format"), with the extended headers of pax and GNU.
///
/// All headers are checked when the archive is opened. The bytes of the files cannot be checked, because the tar format
/// has no checksum for them.
struct TarReader: ArchiveReader {
  struct Entry: ArchiveEntry {
    let name: String
    let size: UInt64
    let isLink: Bool
    /// The offset of the entry's bytes, in bytes from the start of the archive.
    let offset: UInt64
  }

  let path: String
  var size: UInt64 { file.size }
  let entries: [Entry]
  private let file: InputFile

  static let blockLength = 512
  /// The maximum size, in bytes, of an extended header of a tar archive: 1 MiB. An extended header usually holds only a
  /// long file name and a few numbers.
  private static let extensionLimit: UInt64 = 1 << 20
  private static let entryLimit = 100_000

  static func isTar(_ lead: [UInt8]) -> Bool {
    lead.count >= blockLength && TarHeader(lead[..<blockLength]) != nil
  }

  /// Reads all headers of an archive.
  ///
  /// - Throws: ``BundleError`` when a header is damaged or not allowed. One such header makes the whole archive
  ///   unreadable.
  init(_ file: InputFile) throws(BundleError) {
    self.file = file
    path = file.path
    do {
      entries = try Self.entries(of: file)
    } catch {
      throw error.inside(path: file.path)
    }
  }

  private static func entries(of file: InputFile) throws(BundleError) -> [Entry] {
    var entries: [Entry] = []
    var names = ZipNames()
    names.isByBytes = true
    var folders: Set<String> = []
    // The name and size for the next entry, if an extended header has given them.
    var longName: [UInt8]?
    var longSize: UInt64?
    var count = 0
    var offset: UInt64 = 0
    while file.size - offset >= UInt64(blockLength) {
      let block = try file.bytes(at: offset, count: blockLength)
      // An archive ends with blocks of zeroes.
      if block.allSatisfy({ $0 == 0 }) { return entries }
      guard let header = TarHeader(block[...]) else {
        throw BundleError(
          .badDirectory, "a header of the tar archive does not match its checksum", offset: offset)
      }
      count += 1
      guard count <= entryLimit else {
        throw BundleError(.tooLarge, "the archive has more than \(entryLimit) headers")
      }
      let start = offset + UInt64(blockLength)
      // The size in a pax header applies to the next file, even if another extended header precedes this file.
      let length =
        header.isExtension ? header.size : header.hasBytes ? longSize ?? header.size : 0
      guard length <= file.size - start else {
        throw BundleError(
          .truncated,
          "an entry of the archive announces \(length) bytes, but only \(file.size - start) follow",
          offset: offset)
      }
      // The offset cannot overflow, because `length` is at most the size of the file.
      offset =
        start + (length + UInt64(blockLength) - 1) / UInt64(blockLength) * UInt64(blockLength)
      if header.isExtension {
        guard length <= extensionLimit else {
          throw BundleError(
            .tooLarge, "an extended header is too large: it has \(length) bytes", offset: start)
        }
        let bytes = try file.bytes(at: start, count: Int(length))
        switch header.kind {
        case UInt8(ascii: "L"): longName = Array(bytes.prefix { $0 != 0 })
        case UInt8(ascii: "x"):
          let records = try PaxRecords(bytes[...], at: start)
          longName = records.path ?? longName
          longSize = records.size ?? longSize
        default: break
        }
      } else {
        let bytes = plain(longName ?? header.name, isFolder: header.isFolder)
        (longName, longSize) = (nil, nil)
        if !bytes.isEmpty, !header.isLabel, header.hasBytes || header.isFolder || header.isLink {
          let name = try name(bytes, &names, &folders)
          if let name {
            entries.append(
              Entry(name: name, size: length, isLink: header.isLink, offset: start))
          }
        }
      }
      if offset > file.size { break }
    }
    return entries
  }

  /// Checks the name of an entry and returns it as a string. Returns nil for a folder that already has an entry:
  /// programs that append to an archive may write the entry of a folder again.
  private static func name(
    _ bytes: [UInt8], _ names: inout ZipNames, _ folders: inout Set<String>
  ) throws(BundleError) -> String? {
    let bytes = ZipNames.escaped(bytes)
    let name = try ZipNames.check(bytes)
    if ZipNames.isFolder(name), !folders.insert(name).inserted { return nil }
    return try names.add(bytes)
  }

  /// Returns the name of an entry without a leading `./`, which most programs write. For a folder, the result ends with
  /// one slash. For the root folder of the archive, the result is empty.
  private static func plain(_ name: [UInt8], isFolder: Bool) -> [UInt8] {
    var rest = name[...]
    while rest.starts(with: Array("./".utf8)) { rest = rest.dropFirst(2) }
    while rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
    if rest.isEmpty || rest.elementsEqual([UInt8(ascii: ".")]) {
      // This is the root folder of the archive. The absolute name `/` is returned unchanged, because the check of names
      // refuses it.
      return name.first == UInt8(ascii: "/") ? name : []
    }
    return Array(rest) + (isFolder ? [UInt8(ascii: "/")] : [])
  }

  func lead(of entry: Entry, count: Int) throws(BundleError) -> [UInt8] {
    try file.bytes(at: entry.offset, count: Int(clamping: min(entry.size, UInt64(clamping: count))))
  }

  func unpack(_ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void) throws {
    var buffer = [UInt8](repeating: 0, count: ZipFormat.window)
    var done: UInt64 = 0
    while done < entry.size {
      let count = try file.read(
        at: entry.offset + done, into: &buffer,
        count: Int(min(UInt64(buffer.count), entry.size - done)))
      guard count > 0 else {
        throw BundleError(
          .truncated, "the file became shorter while it was read", path: path, entry: entry.name)
      }
      try sink(buffer[..<count])
      done += UInt64(count)
    }
  }
}

private struct TarHeader {
  let name: [UInt8]
  let size: UInt64
  /// The kind of the entry (`typeflag`).
  let kind: UInt8

  /// Whether the entry is a folder. An incremental archive of GNU tar has the kind `D` for folders. In archives from
  /// before POSIX, only a slash at the end of the name marks a folder.
  var isFolder: Bool {
    kind == UInt8(ascii: "5") || kind == UInt8(ascii: "D")
      || (kind == 0 || kind == UInt8(ascii: "0")) && name.last == UInt8(ascii: "/")
  }
  /// Whether the entry is a hard link or a symbolic link, or, in an archive of GNU tar, a sparse file (`S`) or a part
  /// of a file (`M`). The bytes of such an entry are not the content of a file.
  var isLink: Bool {
    [UInt8(ascii: "1"), UInt8(ascii: "2"), UInt8(ascii: "S"), UInt8(ascii: "M")].contains(kind)
  }
  /// Whether this is a volume header of GNU tar: its name is the label of the archive, not the name of a file.
  var isLabel: Bool { kind == UInt8(ascii: "V") }
  /// Whether this is an extended header, which describes the next entries and is not an entry itself.
  var isExtension: Bool {
    [UInt8(ascii: "x"), UInt8(ascii: "g"), UInt8(ascii: "L"), UInt8(ascii: "K")].contains(kind)
  }
  /// Whether bytes follow the header. No bytes follow the header of a link, a folder or a device, even if its size
  /// field is not 0.
  var hasBytes: Bool { !(UInt8(ascii: "1")...UInt8(ascii: "6")).contains(kind) }

  /// Reads the header of a tar entry. Returns nil when the block has an unknown magic number, or does not match its
  /// checksum. The magic number may be missing, as in headers from before POSIX and in volume headers of GNU tar.
  init?(_ block: ArraySlice<UInt8>) {
    func field(_ start: Int, _ length: Int) -> ArraySlice<UInt8> {
      block[(block.startIndex + start)..<(block.startIndex + start + length)]
    }
    let isPOSIX = field(257, 6).elementsEqual(Array("ustar".utf8) + [0])
    guard
      isPOSIX || field(257, 6).elementsEqual(Array("ustar ".utf8))
        || field(257, 6).allSatisfy({ $0 == 0 }),
      let sum = Self.number(field(148, 8)), let size = Self.number(field(124, 12))
    else { return nil }
    // The checksum is the sum of all bytes, with spaces in place of the checksum field.
    let counted =
      block.reduce(UInt64(0)) { $0 + UInt64($1) } - field(148, 8).reduce(0) { $0 + UInt64($1) }
      + 8 * 0x20
    guard sum == counted else { return nil }
    self.size = size
    kind = block[block.startIndex + 156]
    let prefix = isPOSIX ? field(345, 155).prefix { $0 != 0 } : []
    let name = field(0, 100).prefix { $0 != 0 }
    self.name = Array(prefix) + (prefix.isEmpty ? [] : [UInt8(ascii: "/")]) + Array(name)
  }

  /// Reads a number, which consists of octal digits. For large numbers, GNU tar writes the byte 0x80 and then a
  /// big-endian binary number. Returns nil for any other form.
  private static func number(_ field: ArraySlice<UInt8>) -> UInt64? {
    if field.first == 0x80 {
      let bytes = field.dropFirst()
      guard bytes.dropLast(8).allSatisfy({ $0 == 0 }) else { return nil }
      let value = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return value <= UInt64(Int64.max) ? value : nil
    }
    let digits = field.drop { $0 == 0x20 }.prefix { $0 != 0x20 && $0 != 0 }
    guard digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
    // The number cannot overflow, because the field has at most 12 digits of three bits.
    return digits.reduce(UInt64(0)) { $0 << 3 | UInt64($1 - 0x30) }
  }
}

/// The path and the size that a pax extended header gives for the next entry. Each line of the header has the form
/// `length key=value`.
private struct PaxRecords {
  private(set) var path: [UInt8]?
  private(set) var size: UInt64?

  init(_ bytes: ArraySlice<UInt8>, at offset: UInt64) throws(BundleError) {
    var rest = bytes
    while let first = rest.first, first != 0 {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      // `length` is the length of the whole line, including the digits of `length` and the line feed.
      guard let length = Int(String(decoding: digits, as: UTF8.self)), digits.count < 9,
        length > digits.count + 1, length <= rest.count,
        rest[rest.startIndex + length - 1] == 0x0a,
        rest[rest.startIndex + digits.count] == 0x20
      else {
        throw BundleError(.badDirectory, "a pax extended header is damaged", offset: offset)
      }
      let line = rest[(rest.startIndex + digits.count + 1)..<(rest.startIndex + length - 1)]
      let key = line.prefix { $0 != UInt8(ascii: "=") }
      let value = Array(line.dropFirst(key.count + 1))
      switch String(decoding: key, as: UTF8.self) {
      case "path": path = value
      case "size":
        guard let number = UInt64(String(decoding: value, as: UTF8.self)),
          number <= UInt64(Int64.max)
        else {
          throw BundleError(.badDirectory, "a size in a pax header is not a number", offset: offset)
        }
        size = number
      case "GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.size":
        throw BundleError(
          .unsupported, "the archive holds sparse files; pack it again without --sparse",
          offset: offset)
      default: break
      }
      rest = rest.dropFirst(length)
    }
  }
}
