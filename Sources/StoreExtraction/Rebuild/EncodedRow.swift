import SQLiteFile

/// A row in the record format (file format, section 2.1), byte for byte as SQLite would store it.
struct EncodedRow {
  private let affinities: ContiguousArray<TableDefinition.Affinity>
  private let notNull: ContiguousArray<Bool>
  private let rowIDColumn: Int
  /// The record of the last row.
  private(set) var record = ContiguousArray<UInt8>()
  /// Its header, without the length that stands before it.
  private var types = ContiguousArray<UInt8>()
  /// For each of its values the serial type, of text and blobs that of the shortest.
  private var codes = ContiguousArray<UInt8>()

  private static let text: UInt8 = 13
  private static let blob: UInt8 = 12
  /// SQLite's own limit for a row unless built otherwise (https://sqlite.org/limits.html), less a header.
  private static let mostBytes = 1_000_000_000 - (1 << 20)
  /// Memory for longer rows than this is given back.
  private static let keptBytes = 1 << 20
  /// What a real column stores as an integer when it can: six bytes.
  private static let compact: ClosedRange<Int64> = -(1 << 47)...(1 << 47) - 1

  /// For rows of a table that computes nothing and enforces no types.
  init(_ table: ExpectedTable) {
    let columns = table.definition.columns
    affinities = ContiguousArray(columns.map(\.affinity))
    notNull = ContiguousArray(columns.indices.map { table.notNull.contains($0) })
    rowIDColumn = table.definition.rowIDColumn ?? -1
  }

  /// Encodes a row; false for one that SQLite would change on its way in or refuse, or of which not all is known.
  mutating func encode(_ row: borrowing RecoveredRowBuffer) -> Bool {
    guard row.rowID != nil, row.values.count == affinities.count, row.partial.isEmpty,
      !row.hasInvalidText, row.bytes.count < Self.mostBytes
    else { return false }
    types.removeAll(keepingCapacity: true)
    codes.removeAll(keepingCapacity: true)
    var place = 0
    while place < affinities.count {
      guard let code = code(of: row.values[place], at: place, row) else { return false }
      codes.append(code)
      if code >= Self.blob {
        append(varint: UInt64(code) + 2 * UInt64(row.values[place].count))
      } else {
        types.append(code)
      }
      place &+= 1
    }
    // The length counts itself.
    let length = types.count < 127 ? types.count + 1 : types.count + 2
    guard length < 1 << 14 else { return false }
    record.removeAll(keepingCapacity: record.count <= Self.keptBytes)
    if length >= 0x80 { record.append(0x80 | UInt8(length >> 7)) }
    record.append(UInt8(length & 0x7f))
    record.append(contentsOf: types)
    place = 0
    while place < codes.count {
      let value = row.values[place]
      switch codes[place] {
      case 0, 8, 9: break
      case 7: append(bigEndian: value.bits, 8)
      case 1...6:
        let number = value.kind == .real ? Int64(Self.real(value)) : value.bits
        append(bigEndian: number, codes[place] < 5 ? Int(codes[place]) : codes[place] == 5 ? 6 : 8)
      default:
        record.append(contentsOf: row.bytes[value.offset..<value.offset + value.count])
      }
      place &+= 1
    }
    return true
  }

  /// The serial type with which a column stores a value; nil when it would not be stored as it is ("Datatypes In
  /// SQLite", section 3).
  @inline(__always)
  private func code(
    of value: RecoveredRowBuffer.Value, at place: Int, _ row: borrowing RecoveredRowBuffer
  ) -> UInt8? {
    if place == rowIDColumn {
      return value.kind == .null || value.kind == .integer && value.bits == row.rowID ? 0 : nil
    }
    let affinity = affinities[place]
    switch value.kind {
    case .null: return notNull[place] ? nil : 0
    case .integer:
      if affinity == .text || affinity == .real && !Self.compact.contains(value.bits) { return nil }
      return Self.type(of: value.bits)
    case .real:
      let real = Self.real(value)
      guard affinity != .text, !real.isNaN else { return nil }
      guard affinity != .blob, let whole = Int64(exactly: real) else { return 7 }
      guard affinity == .real else { return nil }
      return Self.compact.contains(whole) ? Self.type(of: whole) : 7
    case .text:
      if affinity == .text || affinity == .blob || value.count == 0 { return Self.text }
      // No number begins with a letter, so none is made of it.
      return row.bytes[value.offset] >= UInt8(ascii: "A") ? Self.text : nil
    case .blob: return Self.blob
    }
  }

  private static func real(_ value: RecoveredRowBuffer.Value) -> Double {
    Double(bitPattern: UInt64(bitPattern: value.bits))
  }

  @inline(__always)
  private static func type(of number: Int64) -> UInt8 {
    if number == 0 || number == 1 { return 8 + UInt8(number) }
    // The bits without the sign's own.
    let bits = 64 - (number < 0 ? ~number : number).leadingZeroBitCount
    if bits < 8 { return 1 }
    if bits < 16 { return 2 }
    if bits < 24 { return 3 }
    if bits < 32 { return 4 }
    return bits < 48 ? 5 : 6
  }

  @inline(__always)
  private mutating func append(bigEndian number: Int64, _ count: Int) {
    var shift = 8 * (count - 1)
    while shift >= 0 {
      record.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
      shift -= 8
    }
  }

  /// Appends to the header (file format, section 1.6); no value is so long that it takes nine bytes.
  @inline(__always)
  private mutating func append(varint value: UInt64) {
    if value >= 0x80 {
      var shift: UInt64 = 49
      while value >> shift == 0 { shift -= 7 }
      while shift > 0 {
        types.append(0x80 | UInt8(truncatingIfNeeded: value >> shift) & 0x7f)
        shift -= 7
      }
    }
    types.append(UInt8(truncatingIfNeeded: value) & 0x7f)
  }
}
