/// Which of several tables that the schema gives one root page to has the rows below it.
enum RootChoice {
  /// Rows that are held against the declarations, and tables that are.
  private static let mostRows = 16
  private static let mostTables = 4096

  /// The table whose declaration the first rows fit best; of several the first in the schema.
  static func choose(
    _ tables: [Table], encoding: DatabaseHeader.TextEncoding, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Table {
    var best = tables[0]
    var bestScore = Int.min
    let root = best.rootPage
    let isTable = try reader.kind(of: root)?.isTable ?? true
    let records = isTable ? try firstRecords(below: root, &reader) : []
    for table in tables.prefix(mostTables) {
      guard let definition = table.definition else { continue }
      var score = definition.isWithoutRowID == !isTable ? 1 << 16 : 0
      score += agreement(of: records, with: definition, encoding)
      if score > bestScore {
        best = table
        bestScore = score
      }
    }
    return best
  }

  /// How many rows are what a declaration allows, and of those, how many have a field for each column.
  private static func agreement(
    of records: [(rowID: Int64, payload: ContiguousArray<UInt8>)],
    with definition: TableDefinition, _ encoding: DatabaseHeader.TextEncoding
  ) -> Int {
    var rules = RecordRules(definition)
    rules.settle()
    var check = RecordCheck(encoding: encoding)
    check.start(rules)
    var score = 0
    for record in records {
      let bytes = record.payload.rawSpan
      guard check.passes(bytes, rowID: record.rowID, rules) else { continue }
      score += 256
      if fieldCount(bytes) == rules.fields.count { score += 1 }
    }
    return score
  }

  private static func fieldCount(_ record: RawSpan) -> Int {
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

  /// The first rows of the first leaf that have no overflow pages.
  private static func firstRecords(below root: UInt32, _ reader: inout PageReader)
    throws(SQLiteFileError) -> [(rowID: Int64, payload: ContiguousArray<UInt8>)]
  {
    let usableSize = reader.usableSize
    var number = root
    // No b-tree of SQLite's is deeper.
    for _ in 0..<20 {
      guard let page = try reader.page(number),
        let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize),
        header.kind.isTable
      else { return [] }
      guard header.kind.isLeaf else {
        if header.cellCount == 0 {
          number = header.rightChild
        } else if let start = header.cellStart(page, 0) {
          number = page.uint32(at: start)
        } else {
          return []
        }
        continue
      }
      return (0..<min(header.cellCount, mostRows)).compactMap { index in
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
}
