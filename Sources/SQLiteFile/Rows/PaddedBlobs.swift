/// Counts the BLOBs that are at least one sector long, and those among them that end in zeros.
private struct PaddingSink: RowSink, ~Copyable {
  private var rowCount = 0
  private var count = 0
  private var paddedCount = 0
  var wantsMore: Bool { rowCount < 1024 }

  /// The minimum length of a BLOB that is counted, in bytes. A shorter BLOB cannot lose a whole sector.
  private static let shortest = 512
  /// The minimum number of zeros at the end of a BLOB that counts as padded. Other content rarely ends in so many.
  private static let zeros = 16
  /// The minimum number of padded BLOBs that shows padding. If there are fewer, each of them may have lost a sector.
  private static let fewest = 4

  /// Whether at least three quarters of the counted BLOBs end in zeros. So many lost sectors are not plausible, because
  /// hardly any row would then be readable.
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
  /// Creates claims for ``padsBlobs(of:_:_:)``, in which each root page belongs to its table.
  package func paddingClaims(spare: Int) -> PageClaims {
    let claims = PageClaims(pageCount: mainPageCount, spare: spare)
    try? claims.reserveRoots(of: schema.tables) { $0[0] }
    return claims
  }

  /// Whether the BLOBs of a table usually end in zeros, judged by its first readable rows. If so, zeros at the end of a
  /// BLOB are content, even if they begin at a sector boundary like the zeros of a lost sector.
  ///
  /// The test adds no findings, so it can be used while the table is being read. `reader`: a reader that only this test
  /// uses. `claims`: the pages that such tests have read. If several tables share an overflow chain, the chain is read
  /// for one of them only.
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
