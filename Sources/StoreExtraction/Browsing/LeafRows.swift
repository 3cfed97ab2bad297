package import SQLiteFile

/// A row of a table for display. Texts and blobs above a maximum length are cut.
package struct BrowsedRow: Sendable, Hashable {
  /// The row id; nil in a WITHOUT ROWID table.
  package var rowID: Int64?
  /// The page number of the leaf that holds the row; nil when the leaf is not known.
  package var page: UInt32?
  /// The value of each column. A long text or blob is cut; ``sizes`` then has its full size.
  package var values: [StoredValue]
  /// The full sizes in bytes of the values that were cut, by column position.
  package var sizes: [Int: Int] = [:]

  package init(rowID: Int64?, page: UInt32?, values: [StoredValue], sizes: [Int: Int] = [:]) {
    self.rowID = rowID
    self.page = page
    self.values = values
    self.sizes = sizes
  }

  package var stored: StoredRow { StoredRow(rowID: rowID, values: values) }

  /// Cuts a text or blob to at most `limit` bytes. Returns the value and its full size in bytes; the size is nil if the
  /// value was not cut.
  package static func cut(_ value: StoredValue, to limit: Int) -> (StoredValue, Int?) {
    switch value {
    case .text(let text) where text.utf8.count > limit:
      return (.text(StoredText(utf8: wholeText(text.utf8, limit))), text.utf8.count)
    case .blob(let bytes) where bytes.count > limit:
      return (.blob(Array(bytes.prefix(limit))), bytes.count)
    default: return (value, nil)
    }
  }

  /// Returns the first `limit` bytes of a UTF-8 text, without an incomplete scalar at the end.
  static func wholeText(_ bytes: [UInt8], _ limit: Int) -> [UInt8] {
    var end = min(limit, bytes.count)
    while end > 0, end > limit - 4, end < bytes.count, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return Array(bytes[..<end])
  }
}

/// Reads the rows of a table in parts. Each leaf of a table with row ids is a part. Parts can be read in any order and
/// any number of times. Memory use is twelve bytes for each leaf.
///
/// A WITHOUT ROWID table is a single part, of which only the first ``maxKept`` rows are read. These rows are kept in
/// memory.
package final class LeafRows {
  package let table: Table
  /// The number of parts: the number of leaves, or 1 for a WITHOUT ROWID table. Part numbers follow the key order of
  /// the leaves.
  package var count: Int { leaves?.count ?? 1 }
  /// Whether rows at the end of the table are left out. This is done for a WITHOUT ROWID table with more than
  /// ``maxKept`` rows.
  package private(set) var isCutOff = false
  package var hasRowIDs: Bool { leaves != nil }
  package private(set) var findings = FindingList()

  private let database: SQLiteDatabase
  private let layout: RowLayout
  private let leaves: LeafList?
  private var kept: [BrowsedRow] = []
  private var reader: PageReader

  /// The maximum number of rows of a WITHOUT ROWID table that are kept in memory. Each value of such a row is cut to
  /// ``keptBytes`` bytes.
  package static let maxKept = 5_000
  private static let keptBytes = 1024

  /// Reads the interior pages of a table with row ids, or the first rows of a WITHOUT ROWID table.
  ///
  /// - Throws: `SQLiteFileError` when the device fails; damage is among the ``findings``.
  package init(_ table: Table, in database: SQLiteDatabase) throws(SQLiteFileError) {
    self.table = table
    self.database = database
    reader = database.anotherReader()
    let (layout, isRowIDTable) = try database.layout(of: table)
    self.layout = layout
    guard isRowIDTable else {
      leaves = nil
      try database.forEachRow(of: table) { row in
        isCutOff = kept.count == Self.maxKept
        guard !isCutOff else { return false }
        let whole = BrowsedRow(rowID: row.rowID, page: nil, values: row.values)
        kept.append(whole.cut(to: Self.keptBytes))
        return true
      }
      return
    }
    var scan = database.newScan(of: table, true)
    scan.begin()
    leaves = try scan.leaves(below: table.rootPage, reader: &reader)
    findings.add(scan.findings)
  }

  /// Calls `receive` with each row of the part with the index `part`, until `receive` returns false. A text or blob
  /// with more than `longest` bytes is cut. If `longest` is 0, each text and blob becomes NULL in a table with row ids,
  /// and an empty value in a WITHOUT ROWID table. Throws when the device fails.
  package func read(
    _ part: Int, longest: Int, _ receive: (BrowsedRow) -> Bool
  ) throws(SQLiteFileError) {
    guard part >= 0, part < count else { return }
    guard let leaves else {
      for row in kept {
        guard receive(longest < Self.keptBytes ? row.cut(to: longest) : row) else { return }
      }
      return
    }
    // Each call uses a new scan. A scan that reads the same leaf a second time would report the overflow pages of the
    // leaf as used twice.
    var scan = database.newScan(of: table, true)
    scan.begin()
    let leaf = leaves[part]
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      let receiver = CutRows(page: leaf.page, longest: longest, receive)
      try scan.read(leaf: leaf, layout: layout, reader: &reader, into: receiver)
    }
    findings.add(scan.findings)
  }

  /// Returns the row with this row id. Returns nil if there is no such row, or if wrong keys in a damaged table hide
  /// the row.
  package func row(_ rowID: Int64, longest: Int) throws(SQLiteFileError) -> BrowsedRow? {
    guard let part = part(of: rowID) else { return nil }
    var found: BrowsedRow?
    try read(part, longest: longest) { row in
      if row.rowID == rowID { found = row }
      return found == nil
    }
    return found
  }

  /// Returns the number of the only part of the table (its leaf) that can hold the row with this row id. Returns nil
  /// for a WITHOUT ROWID table and for a table without leaves.
  package func part(of rowID: Int64) -> Int? {
    guard let leaves, leaves.count > 0 else { return nil }
    var low = 0
    var high = leaves.count - 1
    while low < high {
      let middle = low + (high - low) / 2
      if leaves[middle].rowIDs.most < rowID { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

private final class CutRows: RecordReceiver {
  private var sink: CutRowSink

  init(page: UInt32, longest: Int, _ receive: @escaping (BrowsedRow) -> Bool) {
    sink = CutRowSink(page: page, longest: longest, receive: receive)
  }

  var wantsMore: Bool { sink.wantsMore }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    sink.take(record, rowID: rowID, layout, &decoder)
  }
}

private struct CutRowSink: RowSink, ~Copyable {
  private let page: UInt32
  private let longest: Int
  private let receive: (BrowsedRow) -> Bool
  private var row = BrowsedRow(rowID: nil, page: nil, values: [])
  private(set) var wantsMore = true

  init(page: UInt32, longest: Int, receive: @escaping (BrowsedRow) -> Bool) {
    self.page = page
    self.longest = longest
    self.receive = receive
  }

  mutating func beginRow(_ rowID: Int64?) {
    row = BrowsedRow(rowID: rowID, page: page, values: [])
  }
  mutating func null() { row.values.append(.null) }
  mutating func integer(_ value: Int64) { row.values.append(.integer(value)) }
  mutating func real(_ value: Double) { row.values.append(.real(value)) }
  mutating func text(_ bytes: RawSpan) {
    guard longest > 0 else { return null() }
    let part = cut(bytes)
    row.values.append(
      .text(
        StoredText(
          utf8: part.count < bytes.byteCount ? BrowsedRow.wholeText(part, longest) : part)))
  }
  mutating func blob(_ bytes: RawSpan) {
    guard longest > 0 else { return null() }
    row.values.append(.blob(Array(cut(bytes).prefix(longest))))
  }
  mutating func endRow() { wantsMore = receive(row) }

  /// Returns the bytes of a value that are kept for showing: the whole value if it has at most `longest` bytes,
  /// otherwise the first `longest` + 1 bytes. The last of these bytes shows whether a character ends at the limit.
  private mutating func cut(_ bytes: RawSpan) -> [UInt8] {
    guard bytes.byteCount > longest else { return bytes.array() }
    row.sizes[row.values.count] = bytes.byteCount
    return bytes.part(0, longest + 1).array()
  }
}
