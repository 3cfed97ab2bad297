/// Chooses the table that owns a root page, if several tables in the schema have that root page.
package enum RootChoice {
  /// The maximum number of tables with the same root page that are compared. The declaration of each is compared with
  /// the rows below the root page.
  private static let maxTables = 4096

  /// Returns the table to which a b-tree belongs. `tables`: the possible tables, which all have the same root page. The
  /// table is chosen whose declaration agrees best with the first rows of the b-tree. If several agree equally well,
  /// the first of them is chosen.
  package static func choose(
    _ tables: [Table], encoding: DatabaseHeader.TextEncoding, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Table {
    var best = tables[0]
    var bestScore = Int.min
    let root = best.rootPage
    let isTable = try reader.kind(of: root)?.isTable ?? true
    let records = isTable ? try FirstRecords.read(below: root, &reader) : []
    var types = RecordTypes()
    for table in tables.prefix(maxTables) {
      guard let definition = table.definition else { continue }
      var score = definition.isWithoutRowID == !isTable ? 1 << 16 : 0
      let demands = FieldDemands(definition)
      // The score counts the rows that the declaration allows. A row with a field for each column weighs slightly more.
      for record in records
      where allows(record.payload.rawSpan, demands, encoding, &types) {
        score += types.types.count == demands.fields.count ? 257 : 256
      }
      if score > bestScore {
        best = table
        bestScore = score
      }
    }
    return best
  }

  private static func allows(
    _ record: RawSpan, _ demands: FieldDemands, _ encoding: DatabaseHeader.TextEncoding,
    _ types: inout RecordTypes
  ) -> Bool {
    let count = record.byteCount
    guard let header = Varint.read(record, at: 0, end: count), header.value <= UInt64(count),
      header.value >= UInt64(header.length),
      types.read(record, header.length..<Int(header.value)),
      Int(header.value) + types.bodyLength == count, demands.allow(types)
    else { return false }
    var body = Int(header.value)
    for (type, field) in zip(types.types, demands.fields) {
      let length = RecordDecoder.length(ofType: type)
      if StorageClasses(serialType: type) == .text, field.refusesNumericText,
        isNumber(record.part(body, length), encoding)
      {
        return false
      }
      body += length
    }
    return true
  }

  /// Whether `text` has the form of a number. A column of numeric affinity would have stored such text as a number.
  private static func isNumber(_ text: RawSpan, _ encoding: DatabaseHeader.TextEncoding) -> Bool {
    var bytes = text.array()
    if encoding != .utf8 {
      // In UTF-16, each character of a number has a zero byte beside it.
      let low = encoding == .utf16BigEndian ? 1 : 0
      guard bytes.count % 2 == 0,
        stride(from: 1 - low, to: bytes.count, by: 2).allSatisfy({ bytes[$0] == 0 })
      else { return false }
      bytes = stride(from: low, to: bytes.count, by: 2).map { bytes[$0] }
    }
    return SQLNumber.value(of: bytes) != nil
  }
}
