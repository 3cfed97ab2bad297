/// Counts the BLOBs of a table that are long enough to lose a whole sector, and those among them that end in zeros.
private struct PaddingSink: RowSink, ~Copyable {
  private var rowCount = 0
  private var count = 0
  private var paddedCount = 0
  var wantsMore: Bool { rowCount < 1024 }

  /// The minimum length, in bytes, of a BLOB that is counted: the size of a sector. A shorter BLOB cannot lose a whole
  /// sector.
  private static let shortest = 512
  /// The minimum number of zeros at the end of a BLOB that is counted as padded with zeros.
  private static let zeros = 16
  /// The minimum number of BLOBs with zeros at their end that proves padding. Fewer such BLOBs may be a coincidence:
  /// each of them may have lost a sector.
  private static let fewest = 4

  /// Whether at least three quarters of the counted BLOBs end in zeros. The zeros are then padding, not lost sectors.
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
  /// Creates the record of visited pages that ``padsBlobs(of:_:_:)`` needs. The root page of each table is reserved for
  /// this table.
  package func paddingClaims(spare: Int) -> PageClaims {
    let claims = PageClaims(pageCount: mainPageCount, spare: spare)
    try? claims.reserveRoots(of: schema.tables) { $0[0] }
    return claims
  }

  /// Whether the BLOBs of a table usually end in zeros, judged by its first readable rows. In such a table, zeros at
  /// the end of a BLOB do not indicate a lost sector.
  ///
  /// The test adds no findings.
  /// `reader`: a reader that only this test uses.
  /// `claims`: the overflow pages that such tests have read. No page is read for two tables.
  package func padsBlobs(of table: Table, _ reader: consuming PageReader, _ claims: PageClaims)
    -> Bool
  {
    guard let definition = table.definition else { return false }
    var scan = BTreeScan(
      of: table, isRowIDTable: !definition.isWithoutRowID, encoding: header.textEncoding,
      mainPageCount: mainPageCount, claims: claims)
    var sink = PaddingSink()
    try? scan.run(root: table.rootPage, layout: RowLayout(definition), reader: &reader, sink: &sink)
    return sink.isPadding
  }
}
