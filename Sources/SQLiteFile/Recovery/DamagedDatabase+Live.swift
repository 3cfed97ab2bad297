extension DamagedDatabase {
  /// Hands all live rows of tables with row ids to the sink, in the order of pages.
  ///
  /// - Parameter wanted: the places of the tables wanted; nil for all rows.
  func emitLive<Sink: RecoverySink & ~Copyable>(_ wanted: Set<Int>?, _ sink: inout Sink)
    throws(SQLiteFileError)
  {
    var reading = LeafReading(
      usableSize: layout.usableSize, mostPayload: mostPayload, encoding: layout.textEncoding)
    var decoder = RecordDecoder(encoding: layout.textEncoding)
    var buffer = ContiguousArray<UInt8>()
    let unknown = RowLayout()
    // Where cells are found by what rows look like, older rows with fewer fields must be known.
    if pageCount > 1, (2...pageCount).contains(where: { census.kind($0) == .ruinedLeaf }) {
      _ = try learn()
    }
    var page: UInt32 = 2
    while page <= pageCount, sink.wantsMore {
      defer { page += 1 }
      let kind = census.kind(page)
      let isIndex = kind == .indexLeaf || kind == .indexInterior
      guard isIndex ? census.owner(page) != nil : isLiveLeaf(page) else {
        if kind == .zero { try reportZero(page) }
        continue
      }
      let owner = census.owner(page)
      if let wanted {
        guard let owner, wanted.contains(owner.table) else { continue }
      }
      // The schema's own rows are no rows of a table.
      if owner == nil, schemaLeaves.contains(page) { continue }
      let available = try reader.copy(page, into: &buffer)
      guard available > 0 else { continue }
      if isIndex {
        reading.readIndex(buffer.rawSpan, isInterior: kind == .indexInterior)
      } else {
        reading.read(
          buffer.rawSpan, number: page, available: available, shape: owner.map { shapes[$0.table] })
      }
      report(page, reading, owner?.table)
      var origin = RowOrigin()
      origin.table = owner?.table
      origin.attribution = owner?.evidence ?? .unknown
      let place = reader.location(of: page)
      origin.page = page
      origin.member = place.member
      for cell in reading.cells where sink.wantsMore {
        origin.offset = place.offset + Int64(cell.start)
        try emit(
          cell, of: page, buffer.rawSpan, origin,
          owner.map { layouts[$0.table] } ?? unknown, isLive: true, &decoder, &sink)
      }
    }
  }

  /// Says what state a page was read in.
  private func report(_ page: UInt32, _ reading: LeafReading, _ table: Int?) {
    let name = table.map { tables[$0].name }
    let place = reader.location(of: page)
    func add(_ id: String, _ message: String) {
      findings.add(
        Finding(id, message, member: place.member, page: page, offset: place.offset, table: name))
    }
    switch reading.method {
    case .pointers: break
    case .mended:
      add("page.mended", "the page contradicts itself; its rows are those that hold by themselves")
    case .pointersAlone:
      add("page.headerLost", "the page's header is ruined; its rows were found by their pointers")
    case .cells:
      add("page.headerLost", "the page's header is ruined; its rows were found by themselves")
    case .nothing:
      add("page.unreadable", "a page of a table holds no row that can be read")
    }
    if reading.lostCount > 0 {
      add("page.rowsLost", "\(reading.lostCount) rows of the page cannot be read")
    }
  }

  /// A page of zeros is damage only where something leads to it.
  private func reportZero(_ page: UInt32) throws(SQLiteFileError) {
    guard !census.free.contains(page) else { return }
    if census.parent(page) == 0, roots[page] == nil {
      guard let entry = try map.entry(of: page, &reader), entry.kind != .free else { return }
    }
    let place = reader.location(of: page)
    findings.add(
      Finding(
        "page.unreadable", "the page is all zero, although it is in use", member: place.member,
        page: page, offset: place.offset))
  }

  /// Decodes one cell and hands its row to the sink.
  func emit<Sink: RecoverySink & ~Copyable>(
    _ cell: LeafCell, of page: UInt32, _ bytes: RawSpan, _ origin: RowOrigin, _ layout: RowLayout,
    isLive: Bool, _ decoder: inout RecordDecoder, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    let rowID = cell.hasRowID ? cell.rowID : nil
    if !cell.spills, !cell.isHeadless, !cell.isWrecked, cell.patch == nil,
      !PayloadGatherer.touchesZeroSector(bytes, cell.start..<cell.end)
    {
      sink.begin(origin, partial: [])
      _ = decoder.decode(
        bytes.part(cell.record, cell.payload), rowID: rowID, layout: layout, into: &sink)
      return
    }
    try gatherer.gather(
      cell, of: page, bytes: bytes, isLive: isLive, census: census, reader: &reader)
    var record = gatherer.payload
    if let patch = cell.patch, patch.offset < record.count { record[patch.offset] = patch.type }
    if cell.isWrecked {
      return emitWrecked(cell, bytes, origin, layout, &sink)
    }
    let partial = partialValues(cell, &record, layout)
    // With its header gone hardly a value is left that could be told from any other row's.
    if isLive, partial.count(where: { $0.of == 0 }) * 2 > layout.rules.count {
      findings.add(
        Finding(
          "page.rowsLost",
          "the record of row \(rowID.map { String($0) } ?? "?") has lost its header",
          member: origin.member, page: page, offset: origin.offset,
          table: origin.table.map { tables[$0].name }))
      return
    }
    if isLive, !partial.isEmpty {
      findings.add(
        Finding(
          "row.partial",
          "\(partial.count) value\(partial.count == 1 ? " is" : "s are") not whole in row \(rowID.map { String($0) } ?? "?")",
          member: origin.member, page: page, offset: origin.offset,
          table: origin.table.map { tables[$0].name }))
    }
    sink.begin(origin, partial: partial)
    _ = decoder.decode(record.rawSpan, rowID: rowID, layout: layout, into: &sink)
  }

  /// A row no value of which is certain: its bytes, under the first column.
  private func emitWrecked<Sink: RecoverySink & ~Copyable>(
    _ cell: LeafCell, _ bytes: RawSpan, _ origin: RowOrigin, _ layout: RowLayout, _ sink: inout Sink
  ) {
    let columns = max(1, layout.rules.count)
    let payload = bytes.part(cell.record, cell.local).array()
    var origin = origin
    origin.confidence = min(origin.confidence, 50)
    sink.begin(
      origin,
      partial: (0..<columns).map { column in
        PartialValue(
          column: column, have: column == 0 ? payload.count : 0, of: column == 0 ? payload.count : 0,
          isDoubtful: true, bytes: column == 0 ? payload : [])
      })
    sink.beginRow(cell.hasRowID ? cell.rowID : nil)
    for _ in 0..<columns { sink.null() }
    sink.endRow()
  }

  /// The values of a gathered record that are not whole. What is missing of the record is filled with zeros so
  /// that it can be decoded; none of them is ever shown.
  private func partialValues(
    _ cell: LeafCell, _ record: inout ContiguousArray<UInt8>, _ layout: RowLayout
  ) -> [PartialValue] {
    let have = gatherer.have
    let doubts = gatherer.doubts
    var types = RecordTypes()
    var header = 0
    if let length = Varint.read(record.rawSpan, at: 0, end: record.count),
      length.value <= UInt64(record.count), length.value > UInt64(length.length)
    {
      header = Int(length.value)
      guard types.read(record.rawSpan, length.length..<header) else { return [] }
    }
    if record.count < cell.payload {
      record.append(contentsOf: repeatElement(0, count: cell.payload - record.count))
    }
    guard have < cell.payload || !doubts.isEmpty || cell.isDoubtful else { return [] }
    // A doubt in the record's header makes all values from there on doubtful, NULLs too.
    let firstDoubtfulField =
      doubts.contains { $0.lowerBound < header }
      ? fieldCount(record.rawSpan, until: doubts.map(\.lowerBound).min() ?? 0, header) : Int.max
    var partial: [PartialValue] = []
    var offset = header
    for (field, type) in types.types.enumerated() {
      if field >= firstDoubtfulField {
        let column = layout.rules.firstIndex { Int($0.field) == field } ?? field
        partial.append(PartialValue(column: column, have: 0, of: 0, isDoubtful: true, bytes: []))
        continue
      }
      let length = RecordDecoder.length(ofType: type)
      let range = offset..<offset + length
      offset += length
      guard length > 0 else { continue }
      var whole = max(0, min(have, range.upperBound) - range.lowerBound)
      var isDoubtful = false
      if let doubt = doubts.first(where: { $0.overlaps(range) }) {
        isDoubtful = true
        whole = min(whole, max(0, doubt.lowerBound - range.lowerBound))
      }
      if field == 0, cell.isDoubtful {
        isDoubtful = true
      } else if whole >= length {
        continue
      }
      let column = layout.rules.firstIndex { Int($0.field) == field } ?? field
      partial.append(
        PartialValue(
          column: column, have: whole, of: length, isDoubtful: isDoubtful,
          bytes: Array(record[range.lowerBound..<range.lowerBound + whole])))
    }
    return partial
  }

  /// Fields of a record whose types stand before an offset in its header.
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
