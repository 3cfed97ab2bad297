import SQLiteFile

/// The rows of one page that ``RowReader`` has already sent. If `SQLiteDatabase` returns one of these rows as well, the
/// row is not sent again. A complete row is recognised by its content. A row with values in doubt is recognised by the
/// file offset of its cell.
private final class GivenRows {
  private var contents: [Int: Int] = [:]
  /// The rows that have values in doubt, keyed by the file offset of their cell. `columns`: the columns of these
  /// values. `content`: a hash of all other values of the row, which includes the row id if `hasRowID` is true.
  private var doubtful: [Int64: (hasRowID: Bool, columns: Set<Int>, content: Int)] = [:]
  private var read: Set<Int64> = []

  func removeAll() {
    contents.removeAll(keepingCapacity: true)
    doubtful.removeAll(keepingCapacity: true)
    read.removeAll(keepingCapacity: true)
  }

  /// Notes that `SQLiteDatabase` has read the cell at `offset`. Returns false if this cell was noted before, because
  /// two cell pointers lead to it.
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

  /// Whether `row` is one of the rows that ``RowReader`` has sent. Each complete row that was sent answers only one
  /// call with true, because the page may contain equal rows. `offset`: the file offset of the row's cell.
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

/// Receives rows from `SQLiteDatabase`, each with the page offset of its cell.
private struct PlainRowSink: RowGathering, ~Copyable {
  private let receive: (_ row: borrowing RecoveredRowBuffer, _ cellStart: Int) -> Bool
  var row = RecoveredRowBuffer()
  private var cellStart = 0
  private(set) var wantsMore = true

  init(receive: @escaping (borrowing RecoveredRowBuffer, Int) -> Bool) { self.receive = receive }

  mutating func beginCell(at start: Int) { cellStart = start }
  mutating func endRow() { wantsMore = receive(row, cellStart) }
}

extension DamagedDatabase {
  /// Reads the doubtful pages a second time, with `SQLiteDatabase`, which reads pages as SQLite does. Sends the rows
  /// that ``RowReader`` has not found, and adds the findings to ``findings``.
  ///
  /// `wanted`: the indexes of the wanted tables; nil for all tables.
  /// `comparesRows`: whether rows are sent; if false, only findings are added.
  /// `isForFreshFile`: whether the rows are copied to a new file. If true, rows from an earlier version of a page are
  /// sent, too. Rows that ``RowReader`` sends as rows of another table are not sent then.
  /// `give`: receives each row, which the rest of the file contradicts. `lost` lists the values of the row that are in
  /// a lost sector or may be wrong. `give` returns false to stop.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  func readPlainly(
    _ wanted: Set<Int>?, comparesRows: Bool = true, isForFreshFile: Bool = false,
    give: (_ row: borrowing RecoveredRowBuffer, _ origin: RowOrigin, _ lost: [PartialValue]) -> Bool
  ) throws(SQLiteFileError) {
    guard let plain else { return }
    // If only one of the two readers applies the log, the two readers see different versions of the file. Then rows are
    // not compared, and only the findings are added.
    let isSameState = plain.hasOverlays == (sides?.overlays.isEmpty == false)
    let comparesRows = comparesRows && isSameState
    let isSameLayout =
      isSameState && plain.header.pageSize == layout.pageSize
      && plain.header.usableSize == layout.usableSize
      && plain.header.textEncoding == layout.textEncoding
    // A damaged schema may contain the same table name twice.
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
    // The rest of the page contradicts the row, and nothing else in the file confirms the row.
    origin.confidence = 0
    var isDone = false
    for table in plain.schema.tables where !isDone {
      guard let number = places[SQLName(table.name)], wanted?.contains(number) ?? true else {
        continue
      }
      origin.table = number
      origin.attribution = .root
      var pageOffset: Int64 = 0
      var content = ContiguousArray<UInt8>()
      var available = 0
      var earlier: ClosedRange<Int64>?
      var isOthers = false
      func take(_ row: borrowing RecoveredRowBuffer, _ start: Int) -> Bool {
        guard comparesRows, !isOthers else { return true }
        // A row from an earlier version of the page is left out here. It is sent with the deleted rows, unless it is
        // live on another page.
        if !isForFreshFile, let own = earlier, let rowID = row.rowID, !own.contains(rowID) {
          return true
        }
        origin.offset = pageOffset + Int64(start)
        guard given.begin(at: origin.offset) else { return true }
        if !given.take(row, at: origin.offset) {
          let lost =
            layout.shift == nil
            ? Self.lostValues(content.rawSpan, available, at: start, layout, layouts[number])
            : Self.strayValues(row, at: origin.offset, layout)
          isDone = !give(row, origin, lost)
        }
        return !isDone
      }
      // If ``RowReader`` had no doubt about a leaf, both readers find the same rows on the leaf.
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
            // The page that `SQLiteDatabase` has read may contain the bytes of a page of another table. If so,
            // ``RowReader`` sends the rows on it as rows of the other table.
            isOthers =
              isForFreshFile && (here != page || exchanged.contains(here))
              && census.owner(here).map { names[$0.table] != names[number] } ?? false
            if isSameLayout { available = try reader.copy(here, into: &content) }
            earlier = narrowed[here]
            if earlier != nil, try rowIDs(of: here) == nil { earlier = nil }
            if !census.isLiveLeaf(here) { _ = contradicted.insert(here) }
          }
          // A torn page at the offset where bytes are missing may contain some of this page's bytes.
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
    // In a shifted file, most findings of `SQLiteDatabase` only repeat that the pages are shifted.
    guard layout.shift == nil else { return }
    // If a page already has a damage finding, a second finding for the same damage is not needed.
    let told = Set(findings.kept.filter { $0.severity == .damage }.map(\.page))
    for finding in plain.findings.kept {
      if finding.severity == .note || told.isEmpty
        || finding.page.map({ !told.contains($0) }) ?? false
      {
        findings.add(finding)
      }
    }
  }

  /// Returns the page number that ``RowReader`` uses for the page that `SQLiteDatabase` reads as `page`. The two
  /// numbers may differ if bytes were lost from the file or inserted (``PageShift``). Nil when ``RowReader`` does not
  /// read this page.
  private func numberHere(of page: UInt32) -> UInt32? {
    guard let shift = layout.shift, reader.location(of: page).member == .main else { return page }
    // A damaged cell may lead to page 0, which does not exist.
    guard page > 0 else { return nil }
    let offset = (Int64(page) - 1) * Int64(layout.pageSize)
    let moved = (offset - shift.distance) / Int64(layout.pageSize) + 1
    return [page, UInt32(clamping: moved)].first { number in
      number >= 1 && number <= pageCount && !shift.doubtful.contains(number)
        && reader.location(of: number) == (.main, offset)
    }
  }

  /// The number of bytes after ``PageShift/place`` in which a cell may lack bytes, because the place is only
  /// approximate.
  private static let maxDistance: Int64 = 1024

  /// Returns the text and BLOB values of `row` that may contain wrong bytes because the file is shifted
  /// (``PageShift``).
  ///
  /// `SQLiteDatabase` reads wrong bytes in two cases. If a value continues on overflow pages, their page numbers no
  /// longer match the shifted pages. If bytes are missing in a cell, later bytes are read in their place.
  private static func strayValues(
    _ row: borrowing RecoveredRowBuffer, at offset: Int64, _ layout: FileLayout
  ) -> [PartialValue] {
    let payload = row.bytes.count + 10 * row.values.count
    let local = BTreePage.localLength(
      payload: payload, usableSize: layout.usableSize, isTableLeaf: row.rowID != nil)
    let place = layout.shift?.place ?? .max
    guard local < payload || offset >= place && offset - place < maxDistance else { return [] }
    return row.values.indices.compactMap { column in
      let value = row.values[column]
      guard value.kind == .text || value.kind == .blob, value.count > 0 else { return nil }
      return PartialValue(column: column, have: 0, of: value.count, isDoubtful: true, bytes: [])
    }
  }

  /// Returns the values of a cell that are in doubt. A value is in doubt if any byte of the value or of its serial type
  /// is in a lost sector or after the end of the file.
  ///
  /// `available`: the number of bytes of the page that the file contains. `rowLayout`: the layout of the table's rows.
  private static func lostValues(
    _ page: RawSpan, _ available: Int, at start: Int, _ layout: FileLayout, _ rowLayout: RowLayout
  ) -> [PartialValue] {
    let usable = min(layout.usableSize, page.byteCount)
    guard start < usable else { return [] }
    // Cells of a WITHOUT ROWID table have no row id. On an interior page of such a table, each cell begins with a page
    // number.
    let kind = BTreePage.Kind(rawValue: page.byte(at: 0))
    let isIndex = kind == .leafIndex || kind == .interiorIndex
    let lead = kind == .interiorIndex ? 4 : 0
    guard let payload = Varint.read(page, at: start + lead, end: usable) else { return [] }
    var record = start + lead + payload.length
    if !isIndex {
      guard let rowID = Varint.read(page, at: record, end: usable) else { return [] }
      record += rowID.length
    }
    let local = BTreePage.localLength(
      payload: Int(clamping: payload.value), usableSize: layout.usableSize, isTableLeaf: !isIndex)
    let (end, isLonger) = record.addingReportingOverflow(local)
    guard !isLonger, end <= usable, isLost(start..<end, of: page, available),
      let header = Varint.read(page, at: record, end: end),
      header.value <= UInt64(local), header.value >= UInt64(header.length)
    else { return [] }
    var lost: [PartialValue] = []
    var offset = record + header.length
    var body = record + Int(header.value)
    let headerEnd = body
    var field = 0
    while field < rowLayout.fieldCount, offset < headerEnd,
      let type = Varint.read(page, at: offset, end: headerEnd)
    {
      let length = min(RecordDecoder.length(ofType: type.value), max(0, end - body))
      let isTypeLost = isLost(offset..<offset + type.length, of: page, available)
      if isTypeLost || isLost(body..<body + length, of: page, available) {
        lost.append(
          PartialValue(
            column: rowLayout.rules.firstIndex { Int($0.field) == field } ?? field, have: 0,
            of: isTypeLost ? 0 : length, isDoubtful: true, bytes: []))
      }
      offset += type.length
      body += length
      field += 1
    }
    return lost
  }

  /// Whether any byte in the range `bytes` of a page is in a lost sector or after the end of the file.
  private static func isLost(_ bytes: Range<Int>, of page: RawSpan, _ available: Int) -> Bool {
    !bytes.isEmpty && bytes.upperBound > available || ZeroSectors.touch(bytes, of: page)
  }
}
