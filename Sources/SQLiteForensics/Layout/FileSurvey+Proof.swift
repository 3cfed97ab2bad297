import SQLiteFile

extension FileSurvey {
  private static let maxSamples: UInt32 = 4096

  /// Whether the file is certainly a database: whether the sampled leaves have at least two records in total. A leaf is
  /// taken into account only if each of its cells is a complete record. In text, images or noise, the chance of two
  /// such records is one in many millions.
  func isProven() throws(SQLiteFileError) -> Bool {
    var reader = reader()
    var types = RecordTypes()
    let step = max(1, pageCount / Self.maxSamples)
    let (last, size) = (pageCount, layout.usableSize)
    var proofs = 0
    var number: UInt32 = 1
    while number <= last {
      if let page = try reader.page(number) {
        proofs += Self.wholeRecords(page, number, size, &types)
      }
      if proofs >= 2 { return true }
      let (next, overflow) = number.addingReportingOverflow(step)
      if overflow { break }
      number = next
    }
    return false
  }

  /// Returns the number of records on a leaf; 0 if the page is no leaf, or if any cell is not a complete record.
  private static func wholeRecords(
    _ page: RawSpan, _ number: UInt32, _ usableSize: Int, _ types: inout RecordTypes
  ) -> Int {
    guard let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize),
      header.kind.isLeaf
    else { return 0 }
    for index in 0..<header.cellCount {
      guard let start = header.cellStart(page, index) else { return 0 }
      let cell =
        header.kind == .leafTable
        ? LeafCell.parse(
          page, at: start, limit: usableSize, usableSize: usableSize, maxPayload: 1 << 31, &types)
        : LeafCell.parseIndex(
          page, at: start, isInterior: false, usableSize: usableSize, maxPayload: 1 << 31, &types)
      guard cell != nil else { return 0 }
    }
    return header.cellCount
  }
}
