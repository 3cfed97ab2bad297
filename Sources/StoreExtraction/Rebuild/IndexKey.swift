import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// An entry of an index as a byte string, which sorts as SQLite sorts the entry ("Datatypes In SQLite", section 4.1).
///
/// A number is its double, turned so that its eight bytes sort as it does; none begins with twelve bits that are all
/// clear or, but for what is no number, all set. Eight clear bytes are NULL, text and blobs stand behind two set ones.
/// Their bytes 0 and 1 are two each, for a 0 to be their end. The bits of a column that descends are all turned. The row
/// id is last.
struct IndexKey {
  /// The key, and more.
  private(set) var bytes = ContiguousArray<UInt8>()
  /// Bytes of the key.
  private(set) var count = 0
  /// Bytes of its record, at most.
  private var recordBytes = 0
  private let maxRecordBytes: Int

  /// Integers that have a double of their own ("IEEE 754").
  private static let exact: ClosedRange<Int64> = -(1 << 53)...(1 << 53)
  static let topBit: UInt64 = 1 << 63
  static let null: UInt64 = 0
  /// Where the words of text and of blobs begin.
  static let text: UInt64 = 0xfffe << 48
  static let blob: UInt64 = 0xffff << 48

  init(maxRecordBytes: Int) {
    self.maxRecordBytes = maxRecordBytes
    reserve(0)
  }

  /// What the bits of a column are turned by.
  @inline(__always)
  static func mask(isDescending: Bool) -> UInt64 { isDescending ? .max : 0 }

  @inline(__always)
  mutating func begin() {
    count = 0
    // The header's length, and the row id at its longest.
    recordBytes = 2 + 9
  }

  /// Ends with the row id.
  @inline(__always)
  mutating func end(_ rowID: Int64) {
    append(UInt64(bitPattern: rowID) ^ Self.topBit)
  }

  // What appends a value returns false for one that a key cannot be made of.

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

  // Where a column does not make 5 of 5.0 they are two things with one place in the order.
  @inline(__always)
  mutating func append(real: Double, isDescending: Bool, mayBeWhole: Bool) -> Bool {
    guard !real.isNaN, mayBeWhole || Int64(exactly: real) == nil else { return false }
    append(number: real, isDescending: isDescending)
    return grow(9)
  }

  /// Appends text or a blob.
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
    // There is one zero only.
    let bits = (number == 0 ? 0 : number).bitPattern
    let turned = bits & Self.topBit == 0 ? bits ^ Self.topBit : ~bits
    append(turned ^ Self.mask(isDescending: isDescending))
  }

  /// The number of a word that is one.
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

  /// Makes room for so many bytes, and for a word that is written over what follows.
  private mutating func reserve(_ more: Int) {
    let needed = count + more + 8 + KeySorter.spareBytes
    guard needed > bytes.count else { return }
    let size = max(64, needed, 2 * bytes.count)
    bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
  }
}

/// The record of an index entry, made from its key (file format, section 2.6).
struct IndexRecord {
  private let columns: [FilledIndex.Column]
  private let isUnique: Bool
  /// Where types are put before it is known how many bytes they take, and where values are.
  private let typesStart: Int
  private let bodyStart: Int
  private let byteCount: Int
  /// The columns of the last key that may come once only.
  private var last = ContiguousArray<UInt8>()

  /// Bytes of a type or of the header's length at most: a record has a few thousand bytes.
  private static let maxTypeBytes = 3

  init(_ columns: [FilledIndex.Column], isUnique: Bool, maxRecordBytes: Int) {
    self.columns = columns
    self.isUnique = isUnique
    typesStart = TableFiller.recordStart + Self.maxTypeBytes
    bodyStart = typesStart + Self.maxTypeBytes * (columns.count + 1)
    byteCount = bodyStart + maxRecordBytes + 8
  }

  /// Puts the record into `bytes`, returns where; nil when the same columns stand in the one before and may not.
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

  /// Puts the header before the values.
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
    // The length counts itself.
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

  /// Copies text or a blob, and goes behind its end. There is a row id behind that, so that a word can be read anywhere.
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
    // Of a shift by 64 bits nothing is left.
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
  /// How many of its bytes, from the lowest on, come before the first that is 0 or 1.
  @inline(__always)
  fileprivate var bytesBeforeLow: Int {
    // A byte borrows of those above it only.
    let low = (self &- 0x0202_0202_0202_0202) & ~self & 0x8080_8080_8080_8080
    return low.trailingZeroBitCount / 8
  }
}

extension RawSpan {
  @inline(__always)
  fileprivate func byte(at place: Int) -> UInt8 {
    unsafe unsafeLoadUnaligned(fromByteOffset: place, as: UInt8.self)
  }

  /// Eight bytes, the first lowest.
  @inline(__always)
  fileprivate func word(at place: Int) -> UInt64 {
    unsafe UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
  }

  /// Eight bytes, the first highest.
  @inline(__always)
  fileprivate func bigEndian(at place: Int) -> UInt64 { word(at: place).byteSwapped }
}
