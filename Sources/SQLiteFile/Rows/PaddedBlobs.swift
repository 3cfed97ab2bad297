/// Counts the BLOBs of a table that are at least as long as a sector, and how many of them end in zeros.
private struct PaddingSink: RowSink, ~Copyable {
  private var rowCount = 0
  private var count = 0
  private var paddedCount = 0
  var wantsMore: Bool { rowCount < 1024 }

  /// The shortest BLOB that is counted, in bytes: a shorter one cannot lose a whole sector.
  private static let shortest = 512
  /// A BLOB that ends in this many zeros counts as padded: other content rarely does.
  private static let zeros = 16
  /// The fewest padded BLOBs that prove padding: fewer may each have lost a sector.
  private static let fewest = 4

  /// Whether at least three quarters of the counted BLOBs end in zeros: a disk that lost so much would leave hardly any
  /// readable row.
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
  /// Whether BLOBs of a table usually end in zeros, judged by its first readable rows. If so, zeros at the end of a
  /// BLOB are content, even if they begin at a sector boundary like those of a lost sector.
  ///
  /// The test adds no findings, so it may run while a table is read. `reader` is used for nothing else.
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
