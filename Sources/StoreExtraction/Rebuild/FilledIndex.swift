import SQLiteFile
import SQLiteWriter

/// An index of a table that is filled. Its entries wait as byte strings that sort as SQLite sorts the entries, and from
/// which their records can be made.
final class FilledIndex {
  struct Column {
    /// The place of the column in its table.
    let place: Int
    let affinity: TableDefinition.Affinity
    let isDescending: Bool
  }

  let name: String
  /// Its statement; nil for one that came with its table.
  var sql: String?
  let rootPage: UInt32
  let isUnique: Bool
  let columns: [Column]
  private let rowIDColumn: Int
  /// Nil before the filling begins, and once an entry came that only SQLite can put in its place.
  private var keys: KeySorter?
  private var mostRecordBytes = 0
  private var key = ContiguousArray<UInt8>()

  /// Integers that have a double of their own ("IEEE 754").
  private static let exact: ClosedRange<Int64> = -(1 << 53)...(1 << 53)
  private static let null: UInt8 = 1
  private static let number: UInt8 = 2
  private static let text: UInt8 = 3
  private static let blob: UInt8 = 4
  private static let topBit: UInt64 = 1 << 63

  init(
    _ name: String, rootPage: UInt32, isUnique: Bool, _ columns: [Column], of table: ExpectedTable
  ) {
    self.name = name
    self.rootPage = rootPage
    self.isUnique = isUnique
    self.columns = columns
    rowIDColumn = table.definition.rowIDColumn ?? -1
  }

  /// Whether it has been given up.
  var isLeftToSQLite: Bool { keys == nil }

  func begin(_ filler: inout TableFiller, mostBytes: Int) throws {
    keys = try filler.sorter(mostBytes: mostBytes)
    // A key is twice as long at most.
    mostRecordBytes = min(filler.mostIndexRecordBytes, KeySorter.mostKeyBytes / 4)
  }

  /// Adds the entry of a row whose record is of its table's form. `bytes`: what its values are parts of.
  func add(
    _ values: borrowing ContiguousArray<RecoveredRowBuffer.Value>,
    of bytes: borrowing ContiguousArray<UInt8>, rowID: Int64
  ) throws {
    guard keys != nil else { return }
    // Nobody else looks at the key meanwhile.
    var key = ContiguousArray<UInt8>()
    swap(&key, &self.key)
    defer { swap(&key, &self.key) }
    key.removeAll(keepingCapacity: true)
    // The header's length, and the row id at its longest.
    var size = 2 + 9
    for column in columns {
      guard append(values, bytes, rowID, column, &size, to: &key), size <= mostRecordBytes else {
        keys = nil
        return
      }
    }
    Self.append(UInt64(bitPattern: rowID) ^ Self.topBit, to: &key)
    try keys?.add(key)
  }

  /// Writes the index; false when a key came twice that may come once only.
  func fill(_ filler: inout TableFiller) throws -> Bool {
    guard var sorted = keys else { return true }
    keys = KeySorter?.none
    defer { keys = sorted }
    var last = ContiguousArray<UInt8>()
    var parts = RecordBytes()
    return try filler.fillIndex(rootPage, &sorted) { key, record in
      takeApart(key, &parts, &last) { $0.write(to: &record) }
    }
  }

  // MARK: - Keys

  /// Appends a column; false for a value of which a key cannot be made. `size`: bytes of the record so far, at most.
  @inline(__always)
  private func append(
    _ values: borrowing ContiguousArray<RecoveredRowBuffer.Value>,
    _ bytes: borrowing ContiguousArray<UInt8>, _ rowID: Int64, _ column: Column, _ size: inout Int,
    to key: inout ContiguousArray<UInt8>
  ) -> Bool {
    let value = values[column.place]
    let start = key.count
    size += 9
    if column.place == rowIDColumn {
      guard Self.exact.contains(rowID) else { return false }
      Self.append(number: Double(rowID), to: &key)
    } else {
      switch value.kind {
      case .null: key.append(Self.null)
      case .integer:
        guard Self.exact.contains(value.bits) else { return false }
        Self.append(number: Double(value.bits), to: &key)
      case .real:
        let real = Double(bitPattern: UInt64(bitPattern: value.bits))
        // In a column without affinity 5.0 and 5 are two things with one place in the order.
        guard column.affinity != .blob || Int64(exactly: real) == nil else { return false }
        Self.append(number: real, to: &key)
      case .text, .blob:
        size += value.count
        guard size <= mostRecordBytes else { return false }
        key.append(value.kind == .text ? Self.text : Self.blob)
        for byte in bytes[value.offset..<value.offset + value.count] {
          key.append(byte)
          if byte == 0 { key.append(0xff) }
        }
        key.append(0)
        key.append(0)
      }
    }
    if column.isDescending {
      for index in start..<key.count { key[index] = ~key[index] }
    }
    return true
  }

  /// A number, so that its bytes sort as it does.
  @inline(__always)
  private static func append(number: Double, to key: inout ContiguousArray<UInt8>) {
    key.append(Self.number)
    // There is one zero only.
    let bits = (number == 0 ? 0 : number).bitPattern
    append(bits & topBit == 0 ? bits ^ topBit : ~bits, to: &key)
  }

  @inline(__always)
  private static func append(_ word: UInt64, to key: inout ContiguousArray<UInt8>) {
    unsafe withUnsafeBytes(of: word.bigEndian) { unsafe key.append(contentsOf: $0) }
  }

  // MARK: - Records

  /// Puts the record of an entry together (file format, section 2.6); false when the same columns stand in the one before
  /// and may not.
  @inline(__always)
  private func takeApart(
    _ key: ArraySlice<UInt8>, _ record: inout RecordBytes, _ last: inout ContiguousArray<UInt8>,
    _ write: (borrowing RecordBytes) -> Void
  ) -> Bool {
    record.removeAll()
    var place = key.startIndex
    var hasNull = false
    for column in columns {
      let mask: UInt8 = column.isDescending ? 0xff : 0
      let tag = key[place] ^ mask
      place += 1
      switch tag {
      case Self.null:
        hasNull = true
        record.appendNull()
      case Self.number:
        let bits = Self.word(key, &place) ^ (column.isDescending ? .max : 0)
        let real = Double(bitPattern: bits & Self.topBit == 0 ? ~bits : bits ^ Self.topBit)
        if let whole = Int64(exactly: real),
          column.affinity != .real || RecordForm.compact.contains(whole)
        {
          record.append(integer: whole)
        } else {
          record.append(real: real)
        }
      default:
        var bytes: [UInt8] = []
        while true {
          let byte = key[place] ^ mask
          place += 1
          if byte == 0 {
            let next = key[place] ^ mask
            place += 1
            if next == 0 { break }
          }
          bytes.append(byte)
        }
        record.append(bytes[...], isText: tag == Self.text)
      }
    }
    if isUnique, !hasNull {
      guard last.isEmpty || !last.elementsEqual(key[..<place]) else { return false }
      last = ContiguousArray(key[..<place])
    }
    record.append(integer: Int64(bitPattern: Self.word(key, &place) ^ Self.topBit))
    write(record)
    return true
  }

  @inline(__always)
  private static func word(_ key: ArraySlice<UInt8>, _ place: inout Int) -> UInt64 {
    let offset = place - key.startIndex
    place += 8
    return unsafe key.withUnsafeBytes {
      UInt64(bigEndian: unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
  }
}
