import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// An index entry as a byte string that sorts as SQLite sorts the entry ("Datatypes In SQLite", section 4.1).
///
/// - A number is the eight bytes of its double. Bits are inverted so that the bytes sort as the numbers do. The first
///   twelve bits of a finite number are neither all clear nor all set.
/// - NULL is eight zero bytes.
/// - Text begins with `FFFE`, a blob with `FFFF`. In their content, each byte 0 or 1 is escaped as two bytes, so that a
///   0 byte marks the end.
/// - In a descending column, all bits of the value are inverted.
/// - The row id ends the key.
struct IndexKey {
  /// The key in the first ``count`` bytes, followed by spare bytes.
  private(set) var bytes = ContiguousArray<UInt8>()
  private(set) var count = 0
  /// An upper bound for the length, in bytes, of the record of this index entry.
  private var recordBytes = 0
  private let maxRecordBytes: Int

  /// The range in which a double represents every integer exactly ("IEEE 754").
  private static let exact: ClosedRange<Int64> = -(1 << 53)...(1 << 53)
  static let topBit: UInt64 = 1 << 63
  static let null: UInt64 = 0
  /// The lowest number that the first eight bytes of a key can form, for a text (`text`) and for a blob (`blob`).
  static let text: UInt64 = 0xfffe << 48
  static let blob: UInt64 = 0xffff << 48

  init(maxRecordBytes: Int) {
    self.maxRecordBytes = maxRecordBytes
    reserve(0)
  }

  /// Returns the mask for the XOR with the bits of a value: all bits set for a descending column, no bits set
  /// otherwise.
  @inline(__always)
  static func mask(isDescending: Bool) -> UInt64 { isDescending ? .max : 0 }

  @inline(__always)
  mutating func begin() {
    count = 0
    // Two bytes for the length field of the header, and nine for the longest row id.
    recordBytes = 2 + 9
  }

  @inline(__always)
  mutating func end(_ rowID: Int64) {
    append(UInt64(bitPattern: rowID) ^ Self.topBit)
  }

  // Each of the following methods appends a value. A method returns false if the value cannot be part of a key.

  @inline(__always)
  mutating func appendNull(isDescending: Bool) -> Bool {
    append(Self.null ^ Self.mask(isDescending: isDescending))
    return grow(9)
  }

  @inline(__always)
  mutating func append(integer: Int64, isDescending: Bool) -> Bool {
    guard Self.exact.contains(integer) else { return false }
    append(number: Double(integer), isDescending: isDescending)
    return grow(9)
  }

  // A column that does not convert 5.0 to 5 may contain both values. SQLite sorts them as equal, so their keys would be
  // equal, and the key would not show which of the two values to write.
  @inline(__always)
  mutating func append(real: Double, isDescending: Bool, mayBeWhole: Bool) -> Bool {
    guard !real.isNaN, mayBeWhole || Int64(exactly: real) == nil else { return false }
    append(number: real, isDescending: isDescending)
    return grow(9)
  }

  mutating func append(_ value: RawSpan, isText: Bool, isDescending: Bool) -> Bool {
    guard grow(9 + value.byteCount) else { return false }
    reserve(2 * value.byteCount + 3)
    let mask = Self.mask(isDescending: isDescending)
    let head = (isText ? Self.text : Self.blob) ^ mask
    bytes.set(UInt16(truncatingIfNeeded: head >> 48), at: count)
    count += 2
    let turn = UInt8(truncatingIfNeeded: mask)
    var place = 0
    while place < value.byteCount {
      if place + 8 <= value.byteCount {
        let word = value.word(at: place)
        let plain = word.bytesBeforeLow
        bytes.set((word ^ mask).byteSwapped, at: count)
        count += plain
        place += plain
        if plain == 8 { continue }
      }
      let byte = value.byte(at: place)
      place += 1
      if byte < 2 {
        bytes[count] = 1 ^ turn
        bytes[count + 1] = (byte + 1) ^ turn
        count += 2
      } else {
        bytes[count] = byte ^ turn
        count += 1
      }
    }
    bytes[count] = turn
    count += 1
    return true
  }

  @inline(__always)
  private mutating func append(number: Double, isDescending: Bool) {
    // -0.0 becomes 0.0.
    let bits = (number == 0 ? 0 : number).bitPattern
    let turned = bits & Self.topBit == 0 ? bits ^ Self.topBit : ~bits
    append(turned ^ Self.mask(isDescending: isDescending))
  }

  /// Decodes one 64-bit word of a sort key into the number that it stands for.
  @inline(__always)
  static func number(_ word: UInt64) -> Double {
    Double(bitPattern: word & topBit == 0 ? ~word : word ^ topBit)
  }

  @inline(__always)
  private mutating func append(_ word: UInt64) {
    if bytes.count - count < 8 + KeySorter.spareBytes { reserve(8) }
    bytes.set(word, at: count)
    count += 8
  }

  @inline(__always)
  private mutating func grow(_ size: Int) -> Bool {
    recordBytes += size
    return recordBytes <= maxRecordBytes
  }

  /// Makes room for `more` bytes and for the eight bytes of a word that may be written after them.
  private mutating func reserve(_ more: Int) {
    let needed = count + more + 8 + KeySorter.spareBytes
    guard needed > bytes.count else { return }
    let size = max(64, needed, 2 * bytes.count)
    bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
  }
}

/// Makes the record of an index entry from its key (file format, section 2.6).
struct IndexRecord {
  private let columns: [FilledIndex.Column]
  private let isUnique: Bool
  /// The offset at which serial types are collected, until their total length is known. The values begin at
  /// `bodyStart`.
  private let typesStart: Int
  private let bodyStart: Int
  private let byteCount: Int
  /// The columns of the previous key as bytes; the row id is not included. Only used for a unique index, and only for
  /// keys without NULL.
  private var last = ContiguousArray<UInt8>()

  /// The maximum length, in bytes, of the varint of a serial type or of the header's length. Records of a few thousand
  /// bytes need no more.
  private static let maxTypeBytes = 3

  init(_ columns: [FilledIndex.Column], isUnique: Bool, maxRecordBytes: Int) {
    self.columns = columns
    self.isUnique = isUnique
    typesStart = TableFiller.recordStart + Self.maxTypeBytes
    bodyStart = typesStart + Self.maxTypeBytes * (columns.count + 1)
    byteCount = bodyStart + maxRecordBytes + 8
  }

  /// Writes the record of the index entry with the key `key` to the start of `bytes`, and returns its range. Returns
  /// nil if the index is unique and the previous entry has equal values in all columns.
  mutating func make(_ key: RawSpan, in bytes: inout ContiguousArray<UInt8>) -> Range<Int>? {
    if bytes.count < byteCount {
      bytes.append(contentsOf: repeatElement(0, count: byteCount - bytes.count))
    }
    var place = 0
    var hasNull = false
    var types = typesStart
    var end = bodyStart
    for column in columns {
      let mask = IndexKey.mask(isDescending: column.isDescending)
      let word = key.bigEndian(at: place) ^ mask
      if word >= IndexKey.text {
        place += 2
        let start = end
        Self.copy(key, &place, mask, to: &bytes, &end)
        let isText = word < IndexKey.blob
        Self.append(type: (isText ? 13 : 12) + 2 * UInt64(end - start), to: &bytes, &types)
      } else if word == IndexKey.null {
        place += 8
        hasNull = true
        bytes[types] = 0
        types += 1
      } else {
        place += 8
        let real = IndexKey.number(word)
        if let whole = Int64(exactly: real),
          column.affinity != .real || RecordForm.compact.contains(whole)
        {
          Self.append(whole, to: &bytes, &types, &end)
        } else {
          bytes[types] = 7
          types += 1
          bytes.set(real.bitPattern, at: end)
          end += 8
        }
      }
    }
    if isUnique, !hasNull {
      guard last.isEmpty || !isLast(key, place) else { return nil }
      unsafe key.withUnsafeBytes { last = unsafe ContiguousArray($0.prefix(place)) }
    }
    let rowID = key.bigEndian(at: place) ^ IndexKey.topBit
    Self.append(Int64(bitPattern: rowID), to: &bytes, &types, &end)
    return putHeader(types, end, in: &bytes)
  }

  /// Writes the header directly before the values.
  @inline(__always)
  private func putHeader(
    _ types: Int, _ end: Int, in bytes: inout ContiguousArray<UInt8>
  ) -> Range<Int> {
    var start = bodyStart
    var place = types
    while place > typesStart {
      start -= 1
      place -= 1
      bytes[start] = bytes[place]
    }
    // The length that is stored in the header includes its own bytes.
    var length = types - typesStart + 1
    if length >= 1 << 7 { length += 1 }
    if length >= 1 << 14 { length += 1 }
    start -= 1
    bytes[start] = UInt8(length & 0x7f)
    while length >= 1 << 7 {
      length >>= 7
      start -= 1
      bytes[start] = 0x80 | UInt8(length & 0x7f)
    }
    return start..<end
  }

  private func isLast(_ key: RawSpan, _ count: Int) -> Bool {
    guard last.count == count else { return false }
    for place in 0..<count where last[place] != key.byte(at: place) { return false }
    return true
  }

  /// Copies the content of a text or blob out of an index key, and advances `place` and `end` past the content. At
  /// least the eight bytes of the row id follow the content in the key, so eight bytes can be read at any position of
  /// the content.
  @inline(__always)
  private static func copy(
    _ key: RawSpan, _ place: inout Int, _ mask: UInt64, to bytes: inout ContiguousArray<UInt8>,
    _ end: inout Int
  ) {
    while true {
      let word = key.word(at: place) ^ mask
      let plain = word.bytesBeforeLow
      bytes.set(word.byteSwapped, at: end)
      place += plain
      end += plain
      if plain == 8 { continue }
      let isEnd = key.byte(at: place) ^ UInt8(truncatingIfNeeded: mask) == 0
      place += 1
      if isEnd { return }
      bytes[end] = (key.byte(at: place) ^ UInt8(truncatingIfNeeded: mask)) &- 1
      place += 1
      end += 1
    }
  }

  @inline(__always)
  private static func append(
    _ integer: Int64, to bytes: inout ContiguousArray<UInt8>, _ types: inout Int, _ end: inout Int
  ) {
    let (type, count) = SerialType.shortest(for: integer)
    bytes[types] = type
    types += 1
    // A shift by 64 bits gives 0.
    bytes.set(UInt64(bitPattern: integer) << UInt64(64 - 8 * count), at: end)
    end += count
  }

  @inline(__always)
  private static func append(
    type: UInt64, to bytes: inout ContiguousArray<UInt8>, _ types: inout Int
  ) {
    var shift: UInt64 = type >= 1 << 14 ? 14 : type >= 1 << 7 ? 7 : 0
    while shift > 0 {
      bytes[types] = 0x80 | UInt8(truncatingIfNeeded: type >> shift) & 0x7f
      types += 1
      shift -= 7
    }
    bytes[types] = UInt8(truncatingIfNeeded: type) & 0x7f
    types += 1
  }
}

extension UInt64 {
  /// The number of bytes below the lowest byte that is 0 or 1, counted from the lowest byte of the word.
  @inline(__always)
  fileprivate var bytesBeforeLow: Int {
    // The subtraction borrows only from higher bytes, so the lowest byte that is marked is correct.
    let low = (self &- 0x0202_0202_0202_0202) & ~self & 0x8080_8080_8080_8080
    return low.trailingZeroBitCount / 8
  }
}

extension RawSpan {
  @inline(__always)
  fileprivate func byte(at place: Int) -> UInt8 {
    unsafe unsafeLoadUnaligned(fromByteOffset: place, as: UInt8.self)
  }

  @inline(__always)
  fileprivate func word(at place: Int) -> UInt64 {
    unsafe UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
  }

  @inline(__always)
  fileprivate func bigEndian(at place: Int) -> UInt64 { word(at: place).byteSwapped }
}
