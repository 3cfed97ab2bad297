/// The rows that the reading of one page gave, as far as they must be told from others: whole ones by their content, those
/// with values in doubt by where they stand.
private final class GivenRows {
  private var contents: [Int: Int] = [:]
  private var doubtful: Set<Int64> = []

  func removeAll() {
    contents.removeAll(keepingCapacity: true)
    doubtful.removeAll(keepingCapacity: true)
  }

  func add(_ row: borrowing RecoveredRowBuffer) {
    if row.partial.isEmpty {
      contents[row.contentHash, default: 0] += 1
    } else {
      doubtful.insert(row.origin.offset)
    }
  }

  /// Takes a row out; false where it is not among them.
  func take(_ row: borrowing RecoveredRowBuffer, at offset: Int64) -> Bool {
    if doubtful.contains(offset) { return true }
    let hash = row.contentHash
    guard let count = contents[hash], count > 0 else { return false }
    contents[hash] = count - 1
    return true
  }
}

/// Takes rows from the ordinary reader, each with the place of its cell.
private struct PlainRowSink: RowSink, ~Copyable {
  private let receive: (_ row: borrowing RecoveredRowBuffer, _ cellStart: Int) -> Bool
  private var row = RecoveredRowBuffer()
  private var cellStart = 0
  private(set) var wantsMore = true

  init(receive: @escaping (borrowing RecoveredRowBuffer, Int) -> Bool) { self.receive = receive }

  mutating func beginCell(at start: Int) { cellStart = start }
  mutating func beginRow(_ rowID: Int64?) { row.beginRow(rowID) }
  mutating func null() { row.append(.null) }
  mutating func integer(_ value: Int64) { row.append(.integer, bits: value) }
  mutating func real(_ value: Double) {
    row.append(.real, bits: Int64(bitPattern: value.bitPattern))
  }
  mutating func text(_ bytes: RawSpan) { row.append(.text, bytes) }
  mutating func blob(_ bytes: RawSpan) { row.append(.blob, bytes) }
  mutating func endRow() { wantsMore = receive(row, cellStart) }
}

extension DamagedDatabase {
  /// Reads what the ordinary reader, and SQLite, reads on pages that are not plainly as they should be, so that its findings
  /// are here too.
  ///
  /// `comparesRows`: whether rows are wanted, not only findings.
  /// `give`: takes the rows that the reading of their page has not given, which something in the file speaks against; it
  /// returns false when it wants no more.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  func readPlainly(
    _ wanted: Set<Int>?, comparesRows: Bool = true,
    give: (_ row: borrowing RecoveredRowBuffer, _ origin: RowOrigin) -> Bool
  ) throws(SQLiteFileError) {
    // A log that one of them does not lay over the file is history to the other.
    guard let plain, plain.hasOverlays == (sides?.overlays.isEmpty == false) else { return }
    let isSameLayout =
      plain.header.pageSize == layout.pageSize && plain.header.usableSize == layout.usableSize
      && plain.header.textEncoding == layout.textEncoding
    // Of a schema that is damaged a table may have come twice.
    let names = tables.map { SQLName($0.name) }
    let places = Dictionary(
      tables.indices.filter { !tables[$0].isDropped }.map { (names[$0], $0) },
      uniquingKeysWith: { first, _ in first })
    let given = GivenRows()
    var rows = RowReader(self)
    var ofPage = BufferedRowSink { row in
      given.add(row)
      return true
    }
    var origin = RowOrigin()
    origin.state = .contradicted
    // The rest of the page speaks against it, and nothing for it.
    origin.confidence = 0
    var isDone = false
    for table in plain.schema.tables where !isDone {
      guard let number = places[SQLName(table.name)], wanted?.contains(number) ?? true else {
        continue
      }
      origin.table = number
      origin.attribution = .root
      var pageOffset: Int64 = 0
      var earlier: ClosedRange<Int64>?
      func take(_ row: borrowing RecoveredRowBuffer, _ start: Int) -> Bool {
        guard comparesRows else { return true }
        // Of an earlier state of the page: it comes as a deleted row unless it lives elsewhere.
        if let own = earlier, let rowID = row.rowID, !own.contains(rowID) { return true }
        origin.offset = pageOffset + Int64(start)
        if !given.take(row, at: origin.offset) { isDone = !give(row, origin) }
        return !isDone
      }
      // A leaf that was read as it stands holds the same rows either way.
      let isKnown = { [sound, census] (page: UInt32) in
        isSameLayout && sound.contains(page)
          && census.owner(page).map { names[$0.table] == names[number] } ?? false
      }
      if isKnown(table.rootPage) { continue }
      try withoutActuallyEscaping(take) { take throws(SQLiteFileError) in
        var sink = PlainRowSink(receive: take)
        try plain.scan(table, unless: isKnown, &sink) { page, place throws(SQLiteFileError) in
          (origin.member, pageOffset) = (place.member, place.offset)
          origin.page = page
          given.removeAll()
          guard comparesRows else { return }
          earlier = narrowed[page]
          if earlier != nil, try rowIDs(of: page) == nil { earlier = nil }
          if !census.isLiveLeaf(page) { _ = contradicted.insert(page) }
          guard isSameLayout, let owner = census.owner(page)?.table,
            names[owner] == names[number]
          else { return }
          try rows.read(page..<page + 1, nil, &ofPage)
        }
      }
    }
    // A page of which something is told needs no other words for the same.
    let told = Set(findings.kept.filter { $0.severity == .damage }.map(\.page))
    for finding in plain.findings.kept {
      if finding.severity == .note || told.isEmpty
        || finding.page.map({ !told.contains($0) }) ?? false
      {
        findings.add(finding)
      }
    }
  }
}
