/// Which of several tables that the schema gives one root page to has the rows below it.
enum RootChoice {
  /// Tables whose declarations are held against the rows.
  private static let mostTables = 4096

  /// The table whose declaration the first rows fit best; of several the first in the schema.
  static func choose(
    _ tables: [Table], encoding: DatabaseHeader.TextEncoding, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Table {
    var best = tables[0]
    var bestScore = Int.min
    let root = best.rootPage
    let isTable = try reader.kind(of: root)?.isTable ?? true
    let records = isTable ? try FirstRecords.read(below: root, &reader) : []
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
      if FirstRecords.fieldCount(bytes) == rules.fields.count { score += 1 }
    }
    return score
  }
}
