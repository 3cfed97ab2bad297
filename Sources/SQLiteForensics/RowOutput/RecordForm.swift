import RowText
import SQLiteFile

/// The form of the records of a table. A record has this form if SQLite itself would store the row in exactly the same
/// bytes. Such a record can be copied into another file unchanged.
package struct RecordForm: Sendable {
  private struct Column {
    let affinity: TableDefinition.Affinity
    let takesNull: Bool
    let isRowID: Bool
  }

  private let columns: ContiguousArray<Column>
  private let namesFiles: Bool

  /// The maximum length of a record, in bytes: SQLite's default limit for a row (https://sqlite.org/limits.html), less
  /// 1 MiB for the record header.
  private static let maxBytes = 1_000_000_000 - (1 << 20)
  /// The range of the whole numbers that SQLite stores as integers in a REAL column: those that fit into six bytes.
  package static let compact: ClosedRange<Int64> = -(1 << 47)...(1 << 47) - 1
  /// The length, in bytes, of a BLOB with which Core Data refers to an external file: the byte 2, a file name of 36
  /// characters and a zero byte.
  private static let referenceBytes = 38

  /// Creates the form that a record must have so that it can be copied unchanged into the table. Precondition: the
  /// table has row ids, has no generated columns, and is not STRICT.
  ///
  /// - Parameters:
  ///   - table: the table.
  ///   - namesFiles: whether BLOBs may refer to external files. If true, a record with a BLOB that looks like such a
  ///     reference is not copied unchanged.
  package init(_ table: ExpectedTable, namesFiles: Bool) {
    let definition = table.definition
    columns = ContiguousArray(
      definition.columns.indices.map {
        Column(
          affinity: definition.columns[$0].affinity, takesNull: !table.notNull.contains($0),
          isRowID: $0 == definition.rowIDColumn)
      })
    self.namesFiles = namesFiles
  }

  // MARK: - Values

  package var columnCount: Int { columns.count }

  /// Whether the column is an INTEGER PRIMARY KEY. For such a column, records contain NULL.
  package func isRowID(_ column: Int) -> Bool { columns[column].isRowID }

  /// Whether the column is REAL. SQLite stores whole numbers in it as integers and reads them back as reals.
  package func isReal(_ column: Int) -> Bool { columns[column].affinity == .real }

  package func takesNull(_ column: Int) -> Bool { columns[column].takesNull }

  /// Whether SQLite stores `integer` as an integer in this column ("Datatypes In SQLite", section 3).
  @inline(__always)
  package func takes(_ integer: Int64, in column: Int) -> Bool {
    switch columns[column].affinity {
    case .text: false
    case .real: Self.compact.contains(integer)
    case .numeric, .integer, .blob: true
    }
  }

  /// Whether SQLite stores `real` as a real in this column; false for NaN.
  @inline(__always)
  package func takes(_ real: Double, in column: Int) -> Bool {
    guard !real.isNaN else { return false }
    switch columns[column].affinity {
    case .text: return false
    case .blob: return true
    case .real:
      guard let whole = Int64(exactly: real) else { return true }
      return !Self.compact.contains(whole)
    case .numeric, .integer: return Int64(exactly: real) == nil
    }
  }

  /// Returns the integer that SQLite stores in place of `real` if the column is REAL. SQLite reads this integer back as
  /// the same real. Nil when SQLite stores the real itself, and for a column that is not REAL.
  package func integer(for real: Double, in column: Int) -> Int64? {
    guard columns[column].affinity == .real, let whole = Int64(exactly: real),
      Self.compact.contains(whole)
    else { return nil }
    return whole
  }

  /// Returns the integer that SQLite stores when `real` is inserted; nil when SQLite stores the real itself ("Datatypes
  /// In SQLite", section 3.1). SQLite never converts a real to the largest or the smallest 64-bit integer.
  package func converted(_ real: Double, in column: Int) -> Int64? {
    switch columns[column].affinity {
    case .numeric, .integer: Int64(exactly: real).flatMap { $0 == .min || $0 == .max ? nil : $0 }
    case .real: integer(for: real, in: column)
    case .text, .blob: nil
    }
  }

  /// Returns the real that SQLite stores when `integer` is inserted; nil when SQLite stores the integer itself.
  package func converted(_ integer: Int64, in column: Int) -> Double? {
    columns[column].affinity == .real && !Self.compact.contains(integer) ? Double(integer) : nil
  }

  /// Whether SQLite certainly stores a string in this column as text, and not as a number. `first`: the first byte of
  /// the string; nil for an empty string.
  @inline(__always)
  package func takesText(_ first: UInt8?, in column: Int) -> Bool {
    switch columns[column].affinity {
    case .text, .blob: true
    // No number begins with `A` or a higher byte, so SQLite does not convert such a string.
    case .numeric, .integer, .real: first.map { $0 >= UInt8(ascii: "A") } ?? true
    }
  }

  /// Whether a record of `byteCount` bytes is within SQLite's default limit for a row.
  package static func takes(byteCount: Int) -> Bool { byteCount < maxBytes }

  // MARK: - Records

  /// Whether SQLite itself would store the row in exactly the bytes of `record` (file format, section 2.1). Varints and
  /// integers must have their shortest encodings, text must be valid UTF-8, and no bytes may be left over.
  func takes(_ record: RawSpan) -> Bool {
    let count = record.byteCount
    guard Self.takes(byteCount: count), let header = shortest(record, 0, count),
      header.value <= UInt64(count)
    else { return false }
    let end = Int(header.value)
    var offset = header.length
    var body = end
    var column = 0
    while offset < end {
      guard column < columns.count, let type = shortest(record, offset, end) else { return false }
      let length = RecordDecoder.length(ofType: type.value)
      guard length <= count &- body, takes(type.value, record, body, length, column) else {
        return false
      }
      offset &+= type.length
      body &+= length
      column &+= 1
    }
    return column == columns.count && offset == end && body == count
  }

  /// Reads a varint. Returns nil when the varint extends past `end`, or is not in its shortest encoding.
  @inline(__always)
  private func shortest(_ record: RawSpan, _ offset: Int, _ end: Int) -> Varint? {
    guard let number = Varint.read(record, at: offset, end: end),
      number.length == 1 || record.byte(at: offset) != 0x80
    else { return nil }
    return number
  }

  /// Whether a value is in the form in which SQLite stores it in `column`. `type`: the serial type of the value.
  /// `offset` and `length`: the range of the value in `record`, in bytes.
  @inline(__always)
  func takes(
    _ type: UInt64, _ record: RawSpan, _ offset: Int, _ length: Int, _ column: Int
  ) -> Bool {
    if columns[column].isRowID { return type == 0 }
    switch type {
    case 0: return columns[column].takesNull
    case 1...6:
      let value = RecordDecoder.integer(record, offset, length)
      return takes(value, in: column) && SerialType.shortest(for: value).byteCount == length
    case 7: return takes(Double(bitPattern: record.uint64(at: offset)), in: column)
    case 8, 9: return takes(Int64(type &- 8), in: column)
    case 10, 11: return false
    default:
      let value = record.part(offset, length)
      if type & 1 == 0 {
        return !namesFiles || length != Self.referenceBytes || value.byte(at: 0) != 2
      }
      return takesText(length == 0 ? nil : value.byte(at: 0), in: column) && UTF8Scan.isValid(value)
    }
  }
}
