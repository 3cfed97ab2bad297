import SQLiteFile

extension DamagedDatabase {
  /// The root pages that the schema names, and the b-tree pages that the pointer map lists.
  var namedTrees: PageSet { roots.keys.reduce(into: mappedTreePages) { _ = $0.insert($1) } }

  /// Sends all live rows in page order. `wanted`: the indexes of the wanted tables; nil for all rows.
  func emitLive<Sink: RecoverySink & ~Copyable>(_ wanted: Set<Int>?, _ sink: inout Sink)
    throws(SQLiteFileError)
  {
    try learnBeforeMending()
    var live = RowReader(self)
    let result = Result { () throws(SQLiteFileError) in
      try live.read(2..<pageCount + 1, wanted, &sink)
    }
    take(live)
    reportUndecodable(sink.undecodableCount)
    try result.get()
  }

  /// Learns what the rows of each table look like from its sound leaves, if the file has leaves without a readable page
  /// header. Such leaves can be read only with this knowledge.
  func learnBeforeMending() throws(SQLiteFileError) {
    var page: UInt32 = 2
    while page <= pageCount, census.kind(page) != .ruinedLeaf { page = census.next(from: page + 1) }
    if page <= pageCount { _ = try learn() }
  }

  func take(_ live: borrowing RowReader) {
    findings.add(live.findings)
    claimed.formUnion(live.gatherer.claimed)
    withoutDeletedRows.formUnion(live.withoutDeletedRows)
    sound.formUnion(live.sound)
  }

  func newReading() -> LeafReading {
    LeafReading(
      usableSize: layout.usableSize, maxPayload: maxPayload, encoding: layout.textEncoding)
  }

  /// Reads a page as a leaf of an unknown table. Returns nil if the file does not contain the page.
  ///
  /// `buffer`: on return, the bytes of the page.
  func reading(of page: UInt32, _ buffer: inout ContiguousArray<UInt8>) throws(SQLiteFileError)
    -> LeafReading?
  {
    let available = try reader.copy(page, into: &buffer)
    guard available > 0 else { return nil }
    var reading = newReading()
    reading.read(buffer.rawSpan, number: page, available: available, shape: nil)
    return reading
  }
}
