import SQLiteFile

/// A row in the record format (file format, section 2.1), byte for byte as SQLite would store it.
struct EncodedRow {
  private let affinities: ContiguousArray<TableDefinition.Affinity>
  private let notNull: ContiguousArray<Bool>
  private let rowIDColumn: Int
  /// The record of the last row.
  private(set) var record = ContiguousArray<UInt8>()
  private var parts = RecordBytes()

  /// SQLite's own limit for a row unless built otherwise (https://sqlite.org/limits.html), less a header.
  private static let mostBytes = 1_000_000_000 - (1 << 20)
  /// What a real column stores as an integer when it can: six bytes.
  static let compact: ClosedRange<Int64> = -(1 << 47)...(1 << 47) - 1

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
    parts.removeAll()
    var place = 0
    while place < affinities.count {
      guard append(row, place) else { return false }
      place &+= 1
    }
    parts.write(to: &record)
    return true
  }

  /// Appends a value as its column stores it; false when it would not be stored as it is ("Datatypes In SQLite",
  /// section 3).
  @inline(__always)
  private mutating func append(_ row: borrowing RecoveredRowBuffer, _ place: Int) -> Bool {
    let value = row.values[place]
    if place == rowIDColumn {
      parts.appendNull()
      return value.kind == .null || value.kind == .integer && value.bits == row.rowID
    }
    let affinity = affinities[place]
    switch value.kind {
    case .null:
      parts.appendNull()
      return !notNull[place]
    case .integer:
      if affinity == .text || affinity == .real && !Self.compact.contains(value.bits) {
        return false
      }
      parts.append(integer: value.bits)
    case .real:
      let real = Double(bitPattern: UInt64(bitPattern: value.bits))
      guard affinity != .text, !real.isNaN else { return false }
      if affinity != .blob, let whole = Int64(exactly: real) {
        guard affinity == .real else { return false }
        if Self.compact.contains(whole) {
          parts.append(integer: whole)
          return true
        }
      }
      parts.append(real: real)
    case .text:
      // No number begins with a letter, so none is made of it.
      guard
        affinity == .text || affinity == .blob || value.count == 0
          || row.bytes[value.offset] >= UInt8(ascii: "A")
      else { return false }
      parts.append(row.bytes[value.offset..<value.offset + value.count], isText: true)
    case .blob:
      parts.append(row.bytes[value.offset..<value.offset + value.count], isText: false)
    }
    return true
  }
}
