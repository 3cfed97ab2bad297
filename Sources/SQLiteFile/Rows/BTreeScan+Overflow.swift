extension BTreeScan {
  /// A cell whose payload continues on overflow pages. The local part of the payload is in the scan's `payload`.
  struct Spill {
    var rowID: Int64?
    var length: Int
    var firstPage: UInt32
    var cellOffset: Int
    /// What the part of the payload on the b-tree page shows about lost disk sectors.
    var loss: PayloadLoss
  }

  /// Completes the payload from its overflow chain (section 1.7, "Cell Payload Overflow Pages"), and decodes it.
  mutating func finish<Sink: RecordSink & ~Copyable>(
    _ spill: Spill, _ number: UInt32, _ layout: borrowing RowLayout,
    _ reader: inout PageReader, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    let piece = reader.usableSize - 4
    let cutPage = reader.cutPage
    let place = reader.location(of: number)
    var next = spill.firstPage
    // Brent's method detects a cycle. The page number is remembered at each step whose number is a power of two.
    var landmark: UInt32 = 0
    var steps = 0
    var loss = spill.loss
    while payload.count < spill.length {
      let wanted = min(piece, spill.length - payload.count)
      let following: UInt32
      do {
        guard next != landmark, !claims.isOthers(next, than: owner),
          let page = try reader.page(next)
        else {
          return lose(
            .overflowBroken, Finding.brokenChain(at: next, after: payload.count, of: spill.length),
            number, place.member, place.offset + Int64(spill.cellOffset))
        }
        following = page.uint32(at: 0)
        if next != cutPage { loss.add(overflow: page, wanted, after: payload) }
        append(page.part(4, wanted))
      }
      reportCut(next, reader)
      if visited.insert(next) { allowance &+= reader.pageSize }
      allowance &-= wanted
      if allowance <= 0 { return }
      if steps & (steps - 1) == 0 { landmark = next }
      steps += 1
      next = following
    }
    // A chain that ends has no cycle. A chain that continues past the end of the payload may have a cycle that was not
    // detected.
    if next != 0, try goesRound(from: spill.firstPage, count: steps, &reader) {
      return lose(
        .overflowBroken, "an overflow chain leads back to itself", number, place.member,
        place.offset + Int64(spill.cellOffset))
    }
    if next != 0 {
      findings.add(
        .chainTooLong(number, (place.member, place.offset + Int64(spill.cellOffset)), table))
    }
    let record = payload
    leaf.loss.add(loss.judged(record.rawSpan, isUTF16: decoder.encoding != .utf8))
    if let defect = sink.take(record.rawSpan, rowID: spill.rowID, layout, &decoder) {
      lose(
        defect.finding.id, defect.finding.message, number, place.member,
        place.offset + Int64(spill.cellOffset))
    }
  }

  /// Whether any page occurs twice among the first `count` pages of an overflow chain.
  private func goesRound(from first: UInt32, count: Int, _ reader: inout PageReader)
    throws(SQLiteFileError) -> Bool
  {
    var met: Set<UInt32> = []
    var next = first
    for _ in 0..<count {
      guard met.insert(next).inserted else { return true }
      guard let page = try reader.page(next) else { return false }
      next = page.uint32(at: 0)
    }
    return false
  }

  mutating func append(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe payload.append(contentsOf: $0) }
  }
}

extension Finding {
  /// Returns the message about an overflow chain that has too few pages. `next`: the page number at which the chain
  /// breaks off, because this page cannot be part of the chain; 0 if the chain ends.
  package static func brokenChain(at next: UInt32, after count: Int, of total: Int) -> String {
    let end = next == 0 ? "ends too early," : "breaks off at page \(next)"
    return "an overflow chain \(end) after \(count) of \(total) bytes"
  }
}
