import SQLiteFile
package import SQLiteForensics
package import SQLiteWriter

/// An index of a new file. The index is filled together with its table. Its entries are collected as byte strings
/// (``IndexKey``).
package final class FilledIndex {
  package struct Column {
    /// The position of the column in its table.
    package let place: Int
    let affinity: TableDefinition.Affinity
    let isDescending: Bool
  }

  package let name: String
  private let rootPage: UInt32
  private let isUnique: Bool
  private var entries: Entries

  /// Prepares to fill an index of the new file. The index must not have entries yet. Returns nil if no index has this
  /// name, or if the index has expressions, a condition or a collation other than BINARY.
  ///
  /// `target`: the table's name in the new file.
  package init?(
    _ name: String, of table: ExpectedTable, named target: String, in writer: SQLiteWriter
  ) throws(SQLiteWriterError) {
    let list = try writer.rows(
      "SELECT \"unique\", partial FROM pragma_index_list(?) WHERE name = ?",
      [.string(target), .string(name)])
    let root = try writer.rows(
      "SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND name = ?", [.string(name)])
    guard list.count == 1, list[0][1] == .integer(0), root.count == 1,
      case .integer(let page) = root[0][0], let rootPage = UInt32(exactly: page)
    else { return nil }
    var columns: [Column] = []
    let definition = table.definition
    for row in try writer.rows(
      "SELECT cid, \"desc\", coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno",
      [.string(name)])
    {
      guard case .integer(let id) = row[0], definition.columns.indices.contains(Int(id)),
        SQLName.isSame(row[2].string, "BINARY")
      else { return nil }
      columns.append(
        Column(
          place: Int(id), affinity: definition.columns[Int(id)].affinity,
          isDescending: row[1] != .integer(0)))
    }
    self.name = name
    self.rootPage = rootPage
    isUnique = list[0][0] != .integer(0)
    entries = Entries(columns: columns, rowIDColumn: definition.rowIDColumn ?? -1)
  }

  /// Whether SQLite must build the index, because the index's entries are not collected.
  package var isLeftToSQLite: Bool { entries.keys == nil }

  /// Prepares to collect the entries of the index. Whenever the entries in memory take about `maxBytes` bytes, they are
  /// written to a temporary file.
  package func begin(_ filler: inout TableFiller, maxBytes: Int) throws {
    // A key is at most twice as long as its record.
    let maxRecordBytes = min(filler.maxIndexRecordBytes, KeySorter.maxKeyBytes / 4)
    entries.key = IndexKey(maxRecordBytes: maxRecordBytes)
    entries.maxRecordBytes = maxRecordBytes
    entries.keys = try filler.sorter(maxBytes: maxBytes)
  }

  /// The columns of the table that are in the index, in the order of the index.
  package var columns: [Column] { entries.columns }

  /// Adds the index entry of a row. `bytes` contains the row's values. Each value must already be as SQLite stores it
  /// in the table; SQLite would not convert it on insertion.
  package func add(
    _ values: borrowing ContiguousArray<RecoveredRowBuffer.Value>,
    of bytes: borrowing ContiguousArray<UInt8>, rowID: Int64
  ) throws {
    try entries.add(values, bytes, rowID)
  }

  /// Writes the entries into the index. Returns false when a unique key occurs twice.
  package func fill(_ filler: inout TableFiller) throws -> Bool {
    guard var sorted = entries.keys else { return true }
    entries.keys = KeySorter?.none
    defer { entries.keys = sorted }
    var record = IndexRecord(
      entries.columns, isUnique: isUnique, maxRecordBytes: entries.maxRecordBytes)
    return try filler.fillIndex(rootPage, &sorted) { record.make($0, in: &$1) }
  }
}

private struct Entries {
  let columns: [FilledIndex.Column]
  let rowIDColumn: Int
  /// The collected keys of the index. Nil before rows are added, and after a row whose entry only SQLite can sort.
  var keys: KeySorter?
  var key = IndexKey(maxRecordBytes: 0)
  var maxRecordBytes = 0

  @inline(__always)
  mutating func add(
    _ values: borrowing ContiguousArray<RecoveredRowBuffer.Value>,
    _ bytes: borrowing ContiguousArray<UInt8>, _ rowID: Int64
  ) throws {
    guard keys != nil else { return }
    key.begin()
    for column in columns {
      guard append(values, bytes, rowID, column) else {
        keys = nil
        return
      }
    }
    key.end(rowID)
    try keys?.add(key.bytes, count: key.count)
  }

  /// Appends the value of a column to the key of an index entry. Returns false if the value cannot be part of such a
  /// key.
  @inline(__always)
  private mutating func append(
    _ values: borrowing ContiguousArray<RecoveredRowBuffer.Value>,
    _ bytes: borrowing ContiguousArray<UInt8>, _ rowID: Int64, _ column: FilledIndex.Column
  ) -> Bool {
    let isDescending = column.isDescending
    if column.place == rowIDColumn {
      return key.append(integer: rowID, isDescending: isDescending)
    }
    let value = values[column.place]
    switch value.kind {
    case .null: return key.appendNull(isDescending: isDescending)
    case .integer: return key.append(integer: value.bits, isDescending: isDescending)
    case .real:
      return key.append(
        real: Double(bitPattern: UInt64(bitPattern: value.bits)), isDescending: isDescending,
        mayBeWhole: column.affinity != .blob)
    case .text, .blob:
      let content = bytes.rawSpan.extracting(value.offset..<value.offset + value.count)
      return key.append(content, isText: value.kind == .text, isDescending: isDescending)
    }
  }
}

extension SQLiteValue {
  package var string: String {
    if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { "" }
  }
}
