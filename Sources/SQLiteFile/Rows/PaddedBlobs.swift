/// Counts the BLOBs of a table that end in zeros, and those that could.
private struct PaddingSink: RowSink, ~Copyable {
  private var rowCount = 0
  private var count = 0
  private var paddedCount = 0
  var wantsMore: Bool { rowCount < 1024 }

  /// Nothing else is shorter than a sector and long enough to lose one.
  private static let shortest = 512
  /// Content that happens to end in zeros rarely ends in so many.
  private static let zeros = 16
  /// So few may have lost a sector each.
  private static let fewest = 4

  /// Whether three quarters of them do: a disk that has lost so much leaves hardly a row that can be read.
  var isPadding: Bool { paddedCount >= Self.fewest && paddedCount * 4 >= count * 3 }

  mutating func beginRow(_ rowID: Int64?) {}
  mutating func null() {}
  mutating func integer(_ value: Int64) {}
  mutating func real(_ value: Double) {}
  mutating func text(_ bytes: RawSpan) {}
  mutating func blob(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.shortest else { return }
    count += 1
    let end = bytes.byteCount
    if (end - Self.zeros..<end).allSatisfy({ bytes.byte(at: $0) == 0 }) { paddedCount += 1 }
  }
  mutating func endRow() { rowCount += 1 }
}

extension SQLiteDatabase {
  /// Whether BLOBs of a table end in zeros as a rule, by its first rows that can be read. Then zeros at the end of one are
  /// content, even where they begin at the border of a sector, as those of a lost sector do.
  ///
  /// It adds no findings, so that it can be asked while a table is read. `reader` is used for nothing else.
  package func padsBlobs(of table: Table, _ reader: consuming PageReader) -> Bool {
    guard let definition = table.definition else { return false }
    let layout = RowLayout(definition)
    var scan = BTreeScan(
      of: table, isRowIDTable: !definition.isWithoutRowID, encoding: header.textEncoding,
      mainPageCount: mainPageCount,
      claims: PageClaims(
        pageCount: mainPageCount, spare: reader.storedPageCount * reader.pageSize))
    var sink = PaddingSink()
    try? scan.run(root: table.rootPage, layout: layout, reader: &reader, sink: &sink)
    return sink.isPadding
  }
}
