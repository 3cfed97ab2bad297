import SQLiteFile
import SQLiteForensics

/// Encodes rows in the record format (file format, section 2.1), byte for byte as SQLite would store them.
struct EncodedRow {
  private let form: RecordForm
  /// The record that was encoded last.
  private(set) var record = ContiguousArray<UInt8>()
  private var parts = RecordBytes()

  init(_ form: RecordForm) { self.form = form }

  /// Encodes a row. Returns false if a part of the row is unknown, or if SQLite would change or refuse the row on
  /// insertion.
  mutating func encode(_ row: borrowing RecoveredRowBuffer) -> Bool {
    guard row.rowID != nil, row.values.count == form.columnCount, row.partial.isEmpty,
      !row.hasInvalidText, RecordForm.takes(byteCount: row.bytes.count)
    else { return false }
    parts.removeAll()
    var place = 0
    while place < form.columnCount {
      guard append(row, place) else { return false }
      place &+= 1
    }
    parts.write(to: &record)
    return true
  }

  /// Appends a value as SQLite would store it in its column. Returns false if SQLite would convert or refuse the value.
  private mutating func append(_ row: borrowing RecoveredRowBuffer, _ place: Int) -> Bool {
    let value = row.values[place]
    if form.isRowID(place) {
      parts.appendNull()
      return value.kind == .null || value.kind == .integer && value.bits == row.rowID
    }
    switch value.kind {
    case .null:
      parts.appendNull()
      return form.takesNull(place)
    case .integer:
      parts.append(integer: value.bits)
      return form.takes(value.bits, in: place)
    case .real:
      let real = Double(bitPattern: UInt64(bitPattern: value.bits))
      if let whole = form.integer(for: real, in: place) {
        parts.append(integer: whole)
        return true
      }
      parts.append(real: real)
      return form.takes(real, in: place)
    case .text:
      let first = value.count == 0 ? nil : row.bytes[value.offset]
      guard form.takesText(first, in: place) else { return false }
      parts.append(row.bytes[value.offset..<value.offset + value.count], isText: true)
    case .blob:
      parts.append(row.bytes[value.offset..<value.offset + value.count], isText: false)
    }
    return true
  }
}
