/// Reads the first rows of a table. They serve as evidence about the table's CREATE statement, and take little time.
package enum FirstRecords {
  private static let maxRows = 16

  /// Returns the first rows of one leaf of a table b-tree, except rows that continue on overflow pages. The result is
  /// empty if `root` is not the root of a table b-tree, or if a page on the way to the leaf is not readable.
  ///
  /// `part` and `parts` select the leaf: part 0 is the first leaf, and part 4 of 8 is a leaf in the middle.
  package static func read(
    below root: UInt32, part: Int = 0, of parts: Int = 1, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> [(rowID: Int64, payload: ContiguousArray<UInt8>)] {
    let usableSize = reader.usableSize
    var number = root
    // No b-tree of SQLite has more than 20 levels.
    for _ in 0..<20 {
      guard let page = try reader.page(number),
        let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize),
        header.kind.isTable
      else { return [] }
      guard header.kind.isLeaf else {
        let index = header.cellCount * part / parts
        if index == header.cellCount {
          number = header.rightChild
        } else if let start = header.cellStart(page, index) {
          number = page.uint32(at: start)
        } else {
          return []
        }
        continue
      }
      return (0..<min(header.cellCount, maxRows)).compactMap { index in
        guard let start = header.cellStart(page, index),
          let length = Varint.read(page, at: start, end: usableSize),
          length.value <= UInt64(usableSize),
          let key = Varint.read(page, at: start + length.length, end: usableSize)
        else { return nil }
        let offset = start + length.length + key.length
        let total = Int(length.value)
        guard
          BTreePage.localLength(payload: total, usableSize: usableSize, isTableLeaf: true)
            == total, offset + total <= usableSize
        else { return nil }
        return (
          Int64(bitPattern: key.value), ContiguousArray(page.part(offset, total).array())
        )
      }
    }
    return []
  }

  /// Returns the number of fields in a record's header (file format, section 2.1). If `record` contains only the start
  /// of a record, only the fields in this start are counted.
  package static func fieldCount(_ record: RawSpan) -> Int {
    guard let header = Varint.read(record, at: 0, end: record.byteCount) else { return 0 }
    let end = Int(clamping: min(header.value, UInt64(record.byteCount)))
    var offset = header.length
    var count = 0
    while let type = Varint.read(record, at: offset, end: end) {
      offset += type.length
      count += 1
    }
    return count
  }
}

extension TableDefinition {
  package enum StatementEvidence {
    case agrees
    case contradicts
    /// The rows contradict the stored CREATE statement, but fit the statement in which a flipped bit is corrected. The
    /// associated value is the corrected statement.
    case repaired(String)
  }

  /// Compares a CREATE statement with the first rows of its table. The rows show whether damage has turned a comma of
  /// the statement into another character, so that the statement has one column too few.
  ///
  /// Such damage is assumed if two conditions hold. The first is that most rows have more fields than the statement has
  /// columns; SQLite writes no such records. The second is that SQLite rejects the statement, or that a column type has
  /// at least three words. Without the second condition, the statement may be right, and the root page may be a page of
  /// another table.
  ///
  /// `repair`: the schema repair, whose budget all tables of a file share.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func evidence(
    on sql: String, root: UInt32, _ repair: inout SchemaRepair, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> StatementEvidence {
    guard !isWithoutRowID, repair.mayCompare(root: root) else { return .agrees }
    let stored = storedOrder.count
    var count = 0
    var surplus = 0
    var largest = 0
    // If the first leaf is empty or damaged, other leaves are tried.
    let parts = 8
    for part in 0..<parts {
      for record in try FirstRecords.read(below: root, part: part, of: parts, &reader) {
        let fields = FirstRecords.fieldCount(record.payload.rawSpan)
        count += 1
        if fields > stored { surplus += 1 }
        largest = max(largest, fields)
      }
      if count > 0, surplus == 0 { return .agrees }
      if try reader.kind(of: root)?.isLeaf != false { break }
    }
    let isRunTogether =
      surplus * 2 > count
      && (columns.contains { $0.declaredType.utf8.split { $0 == 0x20 || 9...13 ~= $0 }.count > 2 }
        || SchemaGrammar.refusesTable(sql))
    guard isRunTogether else { return .agrees }
    return repair.separated(sql, columns: largest).map { .repaired($0) } ?? .contradicts
  }
}

extension Finding {
  package static func tooFewColumns(_ table: String) -> Finding {
    Finding(
      .schemaUnreadable,
      "the rows of \(table) have more fields than its CREATE statement has columns; the statement is not used",
      table: table)
  }

  package static func repairedEntry(_ table: String) -> Finding {
    Finding(
      .schemaRepaired,
      "the schema entry of \(table) has flipped bits; Lifeboat reads the entry with these bits corrected",
      page: 1, table: table)
  }
}
