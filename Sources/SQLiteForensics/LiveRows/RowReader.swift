import SafeText
import SQLiteFile

/// Reads live rows page by page. Two threads can use two readers at once: each has its own windows into the files and
/// its own memory.
struct RowReader: ~Copyable {
  private let layout: FileLayout
  private let census: PageCensus
  private let map: PointerMap
  private let shapes: [RowShape]
  private let layouts: [RowLayout]
  private let names: [String]
  private let schemaLeaves: Set<UInt32>
  /// The root pages that the schema names, and the b-tree pages that the pointer map lists.
  private let trees: PageSet
  private let roots: Set<UInt32>
  /// The number of the last page that `SQLiteDatabase` reads; `UInt32.max` if ``plain`` is nil.
  private let lastPage: UInt32
  /// The range of the row ids that belong on a leaf, keyed by page number. Only some leaves have such a range. They may
  /// also have rows outside the range: older rows, or rows that belong on other pages.
  private let narrowed: [UInt32: ClosedRange<Int64>]
  /// The reader that reads the file as SQLite does. Nil when `SQLiteDatabase` cannot read the file, or when pages are
  /// shifted (``PageShift``).
  private let plain: SQLiteDatabase?
  /// For each table, by its index: whether its BLOBs usually end in zeros. An entry is computed when it is first
  /// needed.
  private var padsBlobs: [Int: Bool] = [:]
  private var paddingClaims: PageClaims?
  private var reader: PageReader
  private(set) var gatherer: PayloadGatherer
  private var reading: LeafReading
  private var leaf: SoundLeaf
  private var decoder: RecordDecoder
  private var buffer = ContiguousArray<UInt8>()
  private let unknown = RowLayout()
  private(set) var findings = FindingList()
  /// Pages that have no free space in which remains of a deleted row could be.
  private(set) var withoutDeletedRows: PageSet
  /// The leaves that were read without any doubt about a row or a value.
  private(set) var sound: PageSet
  private var isInDoubt = false

  init(_ database: DamagedDatabase) {
    layout = database.layout
    census = database.census
    map = database.map
    shapes = database.shapes
    layouts = database.layouts
    names = database.tables.map(\.name)
    schemaLeaves = Set(database.schemaLeaves)
    trees = database.namedTrees
    roots = Set(database.roots.keys)
    plain = database.plainInPlace
    lastPage = plain?.pageCount ?? .max
    narrowed = database.narrowed
    reader = database.reader.another()
    gatherer = PayloadGatherer(database)
    reading = database.newReading()
    leaf = SoundLeaf(usableSize: layout.usableSize, maxPayload: database.maxPayload)
    decoder = RecordDecoder(encoding: database.layout.textEncoding)
    withoutDeletedRows = PageSet(pageCount: database.pageCount)
    sound = PageSet(pageCount: database.pageCount)
  }

  /// Returns and clears the findings.
  mutating func takeFindings() -> FindingList {
    let found = findings
    findings = FindingList()
    return found
  }

  /// Replaces the current findings by `findings`, which were saved before the pages were read. Called when these pages
  /// must be read again.
  mutating func takeBack(to findings: FindingList) { self.findings = findings }

  mutating func expect(_ pages: Range<UInt32>) { reader.expect(pages) }

  /// Finds overflow pages that belong to more than one deleted row. Call this before deleted rows are read.
  ///
  /// `chains`: the overflow chains of the deleted rows, each with its first page and the number of payload bytes that
  /// it holds.
  mutating func noteDeletedChains(_ chains: some Sequence<(first: UInt32, bytes: Int)>)
    throws(SQLiteFileError)
  {
    try gatherer.noteDeletedChains(chains, census, &reader)
  }

  /// Sends the live rows of `pages` to `sink`, in page order.
  ///
  /// `wanted`: the indexes of the wanted tables; nil for all rows.
  mutating func read<Sink: RecoverySink & ~Copyable>(
    _ pages: Range<UInt32>, _ wanted: Set<Int>?, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    var page = pages.lowerBound
    while page < pages.upperBound, sink.wantsMore {
      page = census.next(from: page, or: trees)
      guard page < pages.upperBound else { return }
      try read(page, wanted, &sink)
      page += 1
    }
  }

  private mutating func read<Sink: RecoverySink & ~Copyable>(
    _ page: UInt32, _ wanted: Set<Int>?, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    let kind = census.kind(page)
    let isIndex = kind.isIndex
    let owner = census.owner(page)
    guard isIndex ? owner != nil : census.isLiveLeaf(page) else {
      if kind == .zero || kind == .other { reportUnreadable(page, kind) }
      return
    }
    if let wanted {
      guard let owner, wanted.contains(owner.table) else { return }
    }
    // The rows of the schema table must not be sent as rows of an unknown table.
    if owner == nil, schemaLeaves.contains(page) { return }
    let own = narrowed[page]
    if let owner, own == nil, kind == .tableLeaf, page <= lastPage,
      sink.takesLeaves(of: owner.table), layout.textEncoding == .utf8,
      layouts[owner.table].isInOrder, !layouts[owner.table].takesAllFields
    {
      let done = try Self.take(page, layouts[owner.table], owner, &reader, &leaf, &sink)
      if done.hasNoDeletedRows { _ = withoutDeletedRows.insert(page) }
      if done.isTaken {
        _ = sound.insert(page)
        return
      }
    }
    // The page is copied, so that other pages can be read while its rows are decoded.
    var bytes = ContiguousArray<UInt8>()
    swap(&bytes, &buffer)
    defer { swap(&bytes, &buffer) }
    let available = try reader.copy(page, into: &bytes)
    guard available > 0 else { return }
    if isIndex {
      reading.readIndex(
        bytes.rawSpan, isInterior: kind == .indexInterior, shape: owner.map { shapes[$0.table] })
    } else {
      reading.read(
        bytes.rawSpan, number: page, available: available,
        shape: owner.flatMap { layouts[$0.table].takesAllFields ? nil : shapes[$0.table] })
      if reading.isTight, reading.usedGap(bytes.rawSpan, min(available, layout.usableSize)) == nil {
        _ = withoutDeletedRows.insert(page)
      }
    }
    let deduced =
      reading.hasMisfits ? try deduce(page, owner?.table, bytes.rawSpan, available) : [:]
    isInDoubt =
      !deduced.isEmpty || (isIndex && (kind == .indexInterior || !reading.addsUp))
      || page > lastPage
    if reading.method != .pointers || reading.lostCount > 0 {
      report(page, owner?.table)
      isInDoubt = true
    }
    let place = reader.location(of: page)
    var origin = RowOrigin(
      table: owner?.table, attribution: owner?.evidence ?? .unknown, member: place.member,
      page: page)
    let rowLayout = owner.map { layouts[$0.table] } ?? unknown
    if let first = reading.cells.first,
      rowLayout.demands.contradict(bytes.rawSpan.part(first.record, first.local))
    {
      isInDoubt = true
      var finding = Finding.otherRows(page, place, origin.table.map { names[$0] })
      finding.severity = severity(of: page)
      findings.add(finding)
    }
    let foreign =
      isIndex
      ? []
      : reading.displaced(bytes.rawSpan).union(
        owner.map { reading.cellsOfOtherTables(bytes.rawSpan, shapes[$0.table]) } ?? [])
    let surplusCount = decoder.surplusCount
    for index in reading.cells.indices where sink.wantsMore {
      let cell = reading.cells[index]
      // Rows that do not belong on this page are sent with the deleted rows.
      if foreign.contains(index) || own.map({ !$0.contains(cell.rowID) }) ?? false {
        isInDoubt = true
        continue
      }
      origin.offset = place.offset + Int64(cell.start)
      if let row = deduced[index] {
        emit(row, of: cell, origin, rowLayout, &sink)
        continue
      }
      try emit(cell, of: page, bytes.rawSpan, origin, rowLayout, isLive: true, &sink)
    }
    let longCount = decoder.surplusCount - surplusCount
    if longCount > 0 {
      var finding = Finding.tooManyFields(longCount, page, place, origin.table.map { names[$0] })
      finding.severity = severity(of: page)
      findings.add(finding)
    }
    if !isInDoubt, longCount == 0 { _ = sound.insert(page) }
  }

  /// Sends all rows of a leaf at once. Sends no row if the leaf may be damaged, if a row continues on overflow pages,
  /// or if the sink refuses the leaf.
  ///
  /// - Returns: `isTaken`: whether the rows were sent. `hasNoDeletedRows`: whether the page has no free space in which
  ///   a deleted row could be; always false if no row was sent.
  private static func take<Sink: RecoverySink & ~Copyable>(
    _ page: UInt32, _ layout: borrowing RowLayout,
    _ owner: (table: Int, evidence: Attribution), _ reader: inout PageReader,
    _ leaf: inout SoundLeaf, _ sink: inout Sink
  ) throws(SQLiteFileError) -> (isTaken: Bool, hasNoDeletedRows: Bool) {
    guard let bytes = try reader.page(page), leaf.read(bytes), !leaf.spills,
      leaf.cells.first.map({
        !layout.demands.contradict(bytes.part(Int($0.record), Int($0.end - $0.record)))
      }) ?? true,
      !ZeroSectors.touch(leaf.contentStart..<leaf.usableSize, of: bytes),
      sink.take(leaf, bytes, number: page, layout, owner.evidence, table: owner.table)
    else { return (false, false) }
    return (true, leaf.hasNoDeletedRows(bytes))
  }

  private mutating func report(_ page: UInt32, _ table: Int?) {
    let name = table.map { names[$0] }
    let place = reader.location(of: page)
    var told: [(id: Finding.ID, message: String)] = []
    switch reading.method {
    case .pointers: break
    case .mended:
      told.append(
        (
          .pageMended,
          "parts of the page contradict each other; only rows that are valid by themselves are read"
        ))
    case .pointersAlone:
      told.append(
        (.pageHeaderLost, "the page's header is damaged; its rows are found by cell pointers"))
    case .cells:
      told.append(
        (.pageHeaderLost, "the page's header is damaged; its rows are found by cell content"))
    case .nothing:
      told.append((.pageUnreadable, "no row of this table page can be read"))
    }
    if reading.lostCount > 0 {
      told.append(
        (.pageRowsLost, "\(counted(reading.lostCount, "row")) of the page cannot be read"))
    }
    for one in told {
      findings.add(
        Finding(
          one.id, one.message, severity: severity(of: page), member: place.member, page: page,
          offset: place.offset, table: name))
    }
  }

  /// Returns the severity of a finding about a page. The severity is `damage` if a b-tree leads to the page or to its
  /// parent, if the page is a root page, or if the database header is lost. Otherwise the severity is `note`, because
  /// SQLite would not read the page.
  private func severity(of page: UInt32) -> Finding.Severity {
    census.reached.contains(page) || census.reached.contains(census.parent(page))
      || roots.contains(page) || layout.header == nil ? .damage : .note
  }

  /// Adds a finding about a page that cannot be read, but only if a b-tree leads to the page.
  private mutating func reportUnreadable(_ page: UInt32, _ kind: PageCensus.Kind) {
    // An overflow page of zeros may be the end of a value. This is decided when the value's row is read.
    guard census.parent(page) != 0 || trees.contains(page), !census.free.contains(page) else {
      return
    }
    let place = reader.location(of: page)
    findings.add(
      Finding(
        .pageUnreadable,
        kind == .zero
          ? "the page is all zeros, although a b-tree leads to it"
          : "the page is not readable as a b-tree page, although a b-tree leads to it",
        member: place.member, page: page, offset: place.offset))
  }

  /// Decodes one cell and sends its row to the sink. Precondition: if ``LeafCell/isMeasured`` is true, the lengths in
  /// the record header agree with `bytes`.
  ///
  /// `bytes`: the page with the cell. `newer`: the page offset of the newer cell that has overwritten the end of this
  /// cell; nil if no such cell was found.
  mutating func emit<Sink: RecoverySink & ~Copyable>(
    _ cell: LeafCell, of page: UInt32, _ bytes: RawSpan, _ origin: RowOrigin,
    _ layout: borrowing RowLayout,
    isLive: Bool, newer: Int? = nil, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    let rowID = cell.hasRowID ? cell.rowID : nil
    if !cell.spills, !cell.isStartLost, !cell.isWrecked, !cell.isEndDoubtful, newer == nil,
      !ZeroSectors.touch(cell.start..<cell.end, of: bytes)
    {
      let record = bytes.part(cell.record, cell.payload)
      if isLive, let rowID, sink.take(record, rowID: rowID, origin) { return }
      sink.begin(origin, partial: [])
      if cell.isMeasured {
        decoder.decodeMeasured(record, rowID: rowID, layout: layout, into: &sink)
      } else {
        _ = decoder.decode(record, rowID: rowID, layout: layout, into: &sink)
      }
      return
    }
    try gatherer.gather(
      cell, of: page, bytes: bytes, isLive: isLive, census: census, reader: &reader)
    if gatherer.doubtsPaddingAlone(of: cell), padsBlobs(origin.table) { gatherer.trustPadding() }
    if gatherer.mendedCount > 0 || cell.isWrecked || gatherer.highestPage > lastPage {
      isInDoubt = true
    }
    var cell = cell
    if gatherer.endsExactly { cell.isEndDoubtful = false }
    // A cell whose payload continues on overflow pages ends with the number of the first overflow page.
    if let doubtful = newer ?? (cell.isEndDoubtful && cell.spills ? cell.end - 4 : nil) {
      gatherer.doubt(cell, from: doubtful)
    }
    var record = gatherer.payload
    if cell.isWrecked {
      return emitWrecked(cell, bytes, origin, layout, &sink)
    }
    let partial = partialValues(
      cell, &record, layout, (origin.table ?? origin.guess).map { shapes[$0] })
    if !partial.isEmpty { isInDoubt = true }
    // If the header of a row is lost, hardly any value distinguishes the row from other rows.
    if isLive, partial.count(where: { $0.of == 0 }) * 2 > layout.rules.count {
      return reportLostHeader(rowID, origin)
    }
    if isLive, gatherer.mendedCount > 0 {
      report(
        .overflowMended,
        "a link of an overflow chain is wrong; the pointer map gives the right page", origin)
    }
    if isLive, partial.isEmpty, gatherer.isTooLong {
      isInDoubt = true
      findings.add(
        .chainTooLong(
          page, (origin.member, origin.offset), origin.table.map { names[$0] }))
    }
    if isLive, partial.isEmpty, let rowID, sink.take(record.rawSpan, rowID: rowID, origin) {
      return
    }
    sink.begin(origin, partial: partial)
    let defect = decoder.decode(record.rawSpan, rowID: rowID, layout: layout, into: &sink)
    if isLive, defect != nil {
      reportLostHeader(rowID, origin)
    } else if isLive, !partial.isEmpty {
      report(
        .rowPartial,
        "\(counted(partial.count, "value is", "values are")) missing or in doubt in \(Self.name(of: rowID))",
        origin)
    }
  }

  private mutating func reportLostHeader(_ rowID: Int64?, _ origin: RowOrigin) {
    report(
      .pageRowsLost,
      "the record of \(Self.name(of: rowID)) has lost its header, so the row is left out", origin)
  }

  private static func name(of rowID: Int64?) -> String { rowID.map { "row \($0)" } ?? "a row" }

  /// Adds a finding about a row.
  private mutating func report(_ id: Finding.ID, _ message: String, _ origin: RowOrigin) {
    findings.add(
      Finding(
        id, message, member: origin.member, page: origin.page, offset: origin.offset,
        table: origin.table.map { names[$0] }))
  }

  /// Whether BLOBs of the table usually end in zeros, judged by the rows that `SQLiteDatabase` finds.
  private mutating func padsBlobs(_ table: Int?) -> Bool {
    guard let table, let plain else { return false }
    if let known = padsBlobs[table] { return known }
    let claims = paddingClaims ?? plain.paddingClaims(spare: reading.maxPayload)
    paddingClaims = claims
    let pads =
      plain.schema.table(named: names[table])
      .map { plain.padsBlobs(of: $0, reader.another(), claims) } ?? false
    padsBlobs[table] = pads
    return pads
  }

  /// Sends a row whose record header contradicts itself, so that no value is certain. All values are NULL. The first
  /// partial value contains all bytes of the record that are on the page.
  private func emitWrecked<Sink: RecoverySink & ~Copyable>(
    _ cell: LeafCell, _ bytes: RawSpan, _ origin: RowOrigin, _ layout: borrowing RowLayout,
    _ sink: inout Sink
  ) {
    let columns = max(1, layout.rules.count)
    let payload = bytes.part(cell.record, cell.local).array()
    var origin = origin
    origin.confidence = min(origin.confidence, 50)
    sink.begin(
      origin,
      partial: (0..<columns).map { column in
        PartialValue(
          column: column, have: column == 0 ? payload.count : 0,
          of: column == 0 ? payload.count : 0,
          isDoubtful: true, bytes: column == 0 ? payload : [])
      })
    sink.beginRow(cell.hasRowID ? cell.rowID : nil)
    for _ in 0..<columns { sink.null() }
    sink.endRow()
  }

  /// Returns the rows whose values were deduced from other rows of the table, by the index of their cell in
  /// ``reading``.
  private mutating func deduce(_ page: UInt32, _ table: Int?, _ bytes: RawSpan, _ available: Int)
    throws(SQLiteFileError) -> [Int: PageDeduction.Row]
  {
    guard let table else { return [:] }
    var deduction = PageDeduction(
      shapes[table], layout.textEncoding, usableSize: layout.usableSize,
      pageCount: census.pageCount)
    let limit = min(available, layout.usableSize)
    var wanted = deduction.look(at: reading, bytes, limit: limit)
    var near = LeafReading(
      usableSize: layout.usableSize, maxPayload: reading.maxPayload, encoding: layout.textEncoding
    )
    var buffer = ContiguousArray<UInt8>()
    var left = PageDeduction.maxNeighbours
    // Both threads choose the same neighbouring pages, so the result does not depend on the thread.
    for distance in 1...PageDeduction.maxDistance where wanted > 0 && left > 0 {
      for other in [page &- distance, page &+ distance]
      where wanted > 0 && left > 0 && census.isSoundLeaf(other, of: table) {
        left -= 1
        let there = try reader.copy(other, into: &buffer)
        guard there == layout.pageSize else { continue }
        near.read(buffer.rawSpan, number: other, available: there, shape: nil)
        wanted = deduction.learn(from: near, buffer.rawSpan)
      }
    }
    return deduction.rows(reading, bytes)
  }

  private mutating func emit<Sink: RecoverySink & ~Copyable>(
    _ row: PageDeduction.Row, of cell: LeafCell, _ origin: RowOrigin,
    _ layout: borrowing RowLayout, _ sink: inout Sink
  ) {
    let rowID = cell.hasRowID ? cell.rowID : nil
    let name = Self.name(of: rowID)
    let certain = row.count - row.partial.count
    report(
      row.addsUp ? .rowPartial : .rowDeduced,
      row.addsUp
        ? "the record header of \(name) is possible but unlikely; \(row.partial.count) of \(row.count) values are in doubt"
        : "the record of \(name) has a wrong header; \(certain) of \(row.count) values are deduced",
      origin)
    var origin = origin
    if !row.partial.isEmpty { origin.confidence = min(origin.confidence, 50) }
    sink.begin(
      origin,
      partial: row.partial.map { value in
        var value = value
        value.column = layout.rules.firstIndex { Int($0.field) == value.column } ?? value.column
        return value
      })
    _ = decoder.decode(row.record.rawSpan, rowID: rowID, layout: layout, into: &sink)
  }

  /// The number of bytes at the end of a deleted cell that may have been overwritten if ``LeafCell/isEndDoubtful`` is
  /// true.
  private static let doubtfulEndLength = 32

  /// Returns the values that are incomplete or in doubt; an empty array for an intact record. Missing bytes at the end
  /// of `record` are filled with zeros, so that the record can be decoded. These zeros never appear in a value.
  private func partialValues(
    _ cell: LeafCell, _ record: inout ContiguousArray<UInt8>, _ layout: borrowing RowLayout,
    _ shape: RowShape?
  ) -> [PartialValue] {
    let have = gatherer.have
    let doubts = gatherer.doubts
    let length = Varint.read(record.rawSpan, at: 0, end: record.count)
    let header = Int(clamping: length?.value ?? 0)
    // If a record header continues on overflow pages, its lengths have not been compared with the payload length
    // before.
    let isMeasured = header <= cell.local
    if isMeasured, have >= cell.payload, doubts.isEmpty, !cell.isFirstDoubtful,
      !cell.isEndDoubtful, cell.lostTypes == 0
    {
      return []
    }
    if record.count < cell.payload {
      record.append(contentsOf: repeatElement(0, count: cell.payload - record.count))
    }
    var types = RecordTypes()
    // A doubtful byte in the record header puts all values from there on in doubt, even NULL.
    let end = min(doubts.map(\.lowerBound).min() ?? have, have)
    var firstDoubtfulField = Int.max
    if let length, header > length.length, header <= record.count,
      types.read(record.rawSpan, length.length..<header)
    {
      if end < header {
        firstDoubtfulField = fieldCount(record.rawSpan, until: end, header)
      } else if !isMeasured, types.bodyLength + header != cell.payload {
        firstDoubtfulField = 0
      }
    } else {
      firstDoubtfulField = 0
    }
    func column(of field: Int) -> Int {
      layout.rules.firstIndex { Int($0.field) == field } ?? field
    }
    var partial: [PartialValue] = []
    // If no cell directly follows a deleted cell, a newer cell may have overwritten the end of the deleted cell.
    let doubtfulEnd =
      cell.isEndDoubtful
      ? types.types.lastIndex { RecordDecoder.length(ofType: $0) > 0 } : nil
    let certainEnd = cell.isEndDoubtful ? cell.payload - Self.doubtfulEndLength : .max
    var isFirstDoubtful = cell.isFirstDoubtful
    let lostLength = RecordDecoder.length(ofType: cell.firstType)
    if cell.lostTypes > 0, cell.firstType < 128, let shape, header + lostLength <= record.count {
      // The lost type was deduced from the length of the value. A type of more than one byte is lost only in part, and
      // its last byte distinguishes TEXT from BLOB.
      let value = record.rawSpan.part(header, lostLength)
      if shape.mayBeOther(than: cell.firstType, value, reading.encoding) { isFirstDoubtful = true }
    }
    var offset = header
    // If the header is in doubt, its number of serial types may be wrong, so the number of fields of the layout is
    // used.
    let isCounted = firstDoubtfulField == .max || layout.rules.isEmpty
    for field in 0..<(isCounted ? min(types.types.count, layout.fieldCount) : layout.fieldCount) {
      if field >= firstDoubtfulField {
        partial.append(
          PartialValue(column: column(of: field), have: 0, of: 0, isDoubtful: true, bytes: []))
        continue
      }
      let length = RecordDecoder.length(ofType: types.types[field])
      let range = offset..<offset + length
      offset += length
      guard length > 0 || field == 0 && isFirstDoubtful else { continue }
      var whole = max(0, min(have, range.upperBound) - range.lowerBound)
      var isDoubtful = false
      if let doubt = doubts.first(where: { $0.overlaps(range) }),
        !(types.types[field] >= 12 && types.types[field] & 1 == 0
          && Self.isAllZero(range, record, doubt))
      {
        isDoubtful = true
        whole = min(whole, max(0, doubt.lowerBound - range.lowerBound))
      }
      if field == 0 && isFirstDoubtful || field == doubtfulEnd
        || range.upperBound > certainEnd
      {
        isDoubtful = true
      } else if whole >= length {
        continue
      }
      // If a header is incomplete, its lengths may add up to more than the length of the record.
      let bytes = whole > 0 ? Array(record[range.lowerBound..<range.lowerBound + whole]) : []
      partial.append(
        PartialValue(
          column: column(of: field), have: whole, of: length, isDoubtful: isDoubtful, bytes: bytes))
    }
    return partial
  }

  /// Whether a BLOB contains only zeros and ends in the doubtful range `doubt`, with at least eight bytes before
  /// `doubt`. The zeros of such a BLOB are probably its content.
  private static func isAllZero(
    _ value: Range<Int>, _ record: borrowing ContiguousArray<UInt8>, _ doubt: Range<Int>
  ) -> Bool {
    guard doubt.lowerBound >= value.lowerBound + 8, doubt.upperBound >= value.upperBound else {
      return false
    }
    for place in value where record[place] != 0 { return false }
    return true
  }

  /// Returns the number of fields whose serial types are entirely before the offset `end` in the record header.
  /// `header`: the length of the record header in bytes.
  private func fieldCount(_ record: RawSpan, until end: Int, _ header: Int) -> Int {
    guard var offset = Varint.read(record, at: 0, end: header)?.length else { return 0 }
    var count = 0
    while offset < header, let type = Varint.read(record, at: offset, end: header),
      offset + type.length <= end
    {
      offset += type.length
      count += 1
    }
    return count
  }
}
