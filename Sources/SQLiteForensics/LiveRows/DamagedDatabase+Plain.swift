import SQLiteFile

/// The rows that the reading of one page gave, as far as they must be told from others: whole ones by their content, those
/// with values in doubt by where they stand.
private final class GivenRows {
  private var contents: [Int: Int] = [:]
  /// By where they stand: which values are in doubt, and what the others are.
  private var doubtful: [Int64: (hasRowID: Bool, columns: Set<Int>, content: Int)] = [:]
  private var read: Set<Int64> = []

  func removeAll() {
    contents.removeAll(keepingCapacity: true)
    doubtful.removeAll(keepingCapacity: true)
    read.removeAll(keepingCapacity: true)
  }

  /// Notes a cell that the ordinary reader has read; false where it has done so before, as two pointers lead to it.
  func begin(at offset: Int64) -> Bool { read.insert(offset).inserted }

  func add(_ row: borrowing RecoveredRowBuffer) {
    if row.partial.isEmpty {
      contents[row.contentHash(), default: 0] += 1
    } else {
      let columns = Set(row.partial.map(\.column))
      let hasRowID = row.rowID != nil
      doubtful[row.origin.offset] = (
        hasRowID, columns, row.contentHash(without: columns, hasRowID: hasRowID)
      )
    }
  }

  /// Takes a row out; false where it is not among them.
  func take(_ row: borrowing RecoveredRowBuffer, at offset: Int64) -> Bool {
    if let other = doubtful[offset] {
      return row.contentHash(without: other.columns, hasRowID: other.hasRowID) == other.content
    }
    let hash = row.contentHash()
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
  /// `isForFreshFile`: whether those are, too, that the page has from an earlier state and that come with the deleted ones, and
  /// not those that are given as another table's.
  /// `give`: takes the rows that the reading of their page has not given, which something in the file speaks against; it
  /// returns false when it wants no more. Values that a lost sector has are `lost`.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  func readPlainly(
    _ wanted: Set<Int>?, comparesRows: Bool = true, isForFreshFile: Bool = false,
    give: (_ row: borrowing RecoveredRowBuffer, _ origin: RowOrigin, _ lost: [PartialValue]) -> Bool
  ) throws(SQLiteFileError) {
    guard let plain else { return }
    // A log that one of them does not lay over the file is history to the other: its rows are, and what is wrong stays wrong.
    let isSameState = plain.hasOverlays == (sides?.overlays.isEmpty == false)
    let comparesRows = comparesRows && isSameState
    let isSameLayout =
      isSameState && plain.header.pageSize == layout.pageSize
      && plain.header.usableSize == layout.usableSize
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
      let columnCount = layouts[number].isInOrder ? layouts[number].rules.count : 0
      var pageOffset: Int64 = 0
      var content = ContiguousArray<UInt8>()
      var earlier: ClosedRange<Int64>?
      var isOthers = false
      func take(_ row: borrowing RecoveredRowBuffer, _ start: Int) -> Bool {
        guard comparesRows, !isOthers else { return true }
        // Of an earlier state of the page: it comes as a deleted row unless it lives elsewhere.
        if !isForFreshFile, let own = earlier, let rowID = row.rowID, !own.contains(rowID) {
          return true
        }
        origin.offset = pageOffset + Int64(start)
        guard given.begin(at: origin.offset) else { return true }
        if !given.take(row, at: origin.offset) {
          let lost =
            layout.shift == nil
            ? Self.lostValues(content.rawSpan, at: start, layout, columnCount: columnCount)
            : Self.strayValues(row, at: origin.offset, layout)
          isDone = !give(row, origin, lost)
        }
        return !isDone
      }
      // A leaf that was read as it stands holds the same rows either way.
      let isKnown = { [sound, census, falselyKeyed] (page: UInt32) in
        guard isSameLayout, let page = self.numberHere(of: page), sound.contains(page),
          !falselyKeyed.contains(page)
        else { return false }
        return census.owner(page).map { names[$0.table] == names[number] } ?? false
      }
      if isKnown(table.rootPage) { continue }
      try withoutActuallyEscaping(take) { take throws(SQLiteFileError) in
        var sink = PlainRowSink(receive: take)
        try plain.scan(table, unless: isKnown, &sink) { page, place throws(SQLiteFileError) in
          (origin.member, pageOffset) = (place.member, place.offset)
          origin.page = page
          given.removeAll()
          earlier = nil
          content.removeAll(keepingCapacity: true)
          isOthers = false
          guard comparesRows else { return }
          let here = numberHere(of: page)
          if let here {
            // Behind the place where bytes are missing it is another page, whose rows are given as those of its own table.
            isOthers =
              isForFreshFile && here != page
              && census.owner(here).map { names[$0.table] != names[number] } ?? false
            if isSameLayout { _ = try reader.copy(here, into: &content) }
            earlier = narrowed[here]
            if earlier != nil, try rowIDs(of: here) == nil { earlier = nil }
            if !census.isLiveLeaf(here) { _ = contradicted.insert(here) }
          }
          // What is left of the pages around the place where bytes are missing may be a part of this one.
          let torn = layout.shift?.torn.keys.sorted() ?? []
          for page in (here.map { [$0] } ?? []) + torn {
            guard isSameLayout, let owner = census.owner(page)?.table,
              names[owner] == names[number]
            else { continue }
            try rows.read(page..<page + 1, nil, &ofPage)
          }
        }
      }
    }
    // With pages elsewhere than their numbers say, most of what it finds is that.
    guard layout.shift == nil else { return }
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

  /// The number under which the bytes that the ordinary reader takes for a page are read here; nil where they are not.
  private func numberHere(of page: UInt32) -> UInt32? {
    guard let shift = layout.shift, reader.location(of: page).member == .main else { return page }
    // A false cell leads to page 0, which no file has.
    guard page > 0 else { return nil }
    let offset = (Int64(page) - 1) * Int64(layout.pageSize)
    let moved = (offset - shift.distance) / Int64(layout.pageSize) + 1
    return [page, UInt32(clamping: moved)].first { number in
      number >= 1 && number <= pageCount && !shift.doubtful.contains(number)
        && reader.location(of: number) == (.main, offset)
    }
  }

  /// How far behind the last cell that is whole beyond doubt the one begins, at most, that the place goes through.
  private static let mostBehind: Int64 = 1024

  /// The texts and blobs of a row, where they may go on elsewhere than the ordinary reader reads on: in overflow pages, which
  /// are others with pages elsewhere than their numbers say, or in the cell that the place goes through.
  private static func strayValues(
    _ row: borrowing RecoveredRowBuffer, at offset: Int64, _ layout: FileLayout
  ) -> [PartialValue] {
    let payload = row.bytes.count + 10 * row.values.count
    let local = BTreePage.localLength(
      payload: payload, usableSize: layout.usableSize, isTableLeaf: true)
    let place = layout.shift?.place ?? .max
    guard local < payload || offset >= place && offset - place < mostBehind else { return [] }
    return row.values.indices.compactMap { column in
      let value = row.values[column]
      guard value.kind == .text || value.kind == .blob, value.count > 0 else { return nil }
      return PartialValue(column: column, have: 0, of: value.count, isDoubtful: true, bytes: [])
    }
  }

  /// The values of a cell of which a lost sector has a part, or the type.
  ///
  /// `columnCount`: of the table; 0 where its fields are not its columns in order.
  private static func lostValues(
    _ page: RawSpan, at start: Int, _ layout: FileLayout, columnCount: Int
  ) -> [PartialValue] {
    let usable = min(layout.usableSize, page.byteCount)
    guard start < usable, let payload = Varint.read(page, at: start, end: usable),
      let rowID = Varint.read(page, at: start + payload.length, end: usable)
    else { return [] }
    let record = start + payload.length + rowID.length
    let local = BTreePage.localLength(
      payload: Int(clamping: payload.value), usableSize: layout.usableSize, isTableLeaf: true)
    let (end, isLonger) = record.addingReportingOverflow(local)
    guard !isLonger, end <= usable, ZeroSectors.touch(start..<end, of: page),
      let header = Varint.read(page, at: record, end: end),
      header.value <= UInt64(local), header.value >= UInt64(header.length)
    else { return [] }
    var lost: [PartialValue] = []
    var offset = record + header.length
    var body = record + Int(header.value)
    let headerEnd = body
    var column = 0
    while column < columnCount, offset < headerEnd,
      let type = Varint.read(page, at: offset, end: headerEnd)
    {
      let length = min(RecordDecoder.length(ofType: type.value), max(0, end - body))
      let isTypeLost = ZeroSectors.touch(offset..<offset + type.length, of: page)
      if isTypeLost || ZeroSectors.touch(body..<body + length, of: page) {
        lost.append(
          PartialValue(
            column: column, have: 0, of: isTypeLost ? 0 : length, isDoubtful: true, bytes: []))
      }
      offset += type.length
      body += length
      column += 1
    }
    return lost
  }
}
