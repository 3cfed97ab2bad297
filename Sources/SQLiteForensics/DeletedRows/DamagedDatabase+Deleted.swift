import SQLiteFile

extension DamagedDatabase {
  private enum Source: UInt8 {
    case live = 0
    case version = 1
    case shadowed = 2
  }

  /// The working memory of the search for deleted rows: the rows that were found but not sent yet, and objects that are
  /// reused.
  private struct Collection {
    var index = CarvedIndex()
    var seen = SeenRows()
    var carver: Carver
    var reading: LeafReading
    var types = RecordTypes()
  }

  /// Sends each deleted row once to `sink`. Deleted rows come from free space, free pages and older versions of pages.
  ///
  /// A deleted row that equals a live row is not sent. If the table of the deleted row is certain, it is not compared
  /// with live rows of other known tables. The table is certain in two cases: the row fits no other table, or no other
  /// table has ever used the space in which the row was found.
  ///
  /// `wanted`: the indexes of the tables whose rows are sent; nil for all rows, including rows of no known table.
  /// `withContradicted`: whether to send also rows with the state ``RowOrigin/State/contradicted``. SQLite reads these
  /// rows, although their row ids are outside the range of their leaf.
  func emitDeleted<Sink: RecoverySink & ~Copyable>(
    _ wanted: Set<Int>?, withContradicted: Bool, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    var collection = Collection(
      carver: Carver(
        usableSize: layout.usableSize, maxPayload: maxPayload, encoding: layout.textEncoding),
      reading: newReading())
    collection.carver.firstTypes = try learn()
    var buffer = ContiguousArray<UInt8>()
    var page: UInt32 = 1
    while page <= pageCount, sink.wantsMore {
      page = census.next(from: page)
      defer { page += 1 }
      guard mayHoldDeletedRows(page) else { continue }
      let available = try reader.copy(page, into: &buffer)
      if available > 0 { try look(at: page, buffer.rawSpan, available, &collection) }
      if collection.index.isFull { try flush(&collection, wanted, withContradicted, &sink) }
    }
    for (source, list) in [(Source.shadowed, sides?.shadowed), (.version, sides?.versions)] {
      guard let list else { continue }
      for place in list.indices where sink.wantsMore {
        guard try load(list[place], &buffer) else { continue }
        try look(at: list[place], UInt32(place), source, buffer.rawSpan, &collection)
        if collection.index.isFull { try flush(&collection, wanted, withContradicted, &sink) }
      }
    }
    try flush(&collection, wanted, withContradicted, &sink)
  }

  /// Reads a page version into `buffer`. Returns false if the file of the version does not exist, or ends inside the
  /// page.
  func load(_ version: PageVersion, _ buffer: inout ContiguousArray<UInt8>)
    throws(SQLiteFileError) -> Bool
  {
    guard let file = version.member == .main ? reader.main : sides?.files[version.member] else {
      return false
    }
    buffer = ContiguousArray(try file.bytes(at: version.offset, count: layout.pageSize))
    return buffer.count == layout.pageSize
  }

  /// Reads a sample of the live rows of each table. Widens the shape of the table so that these rows fit, and sets
  /// ``firstTypes``.
  ///
  /// - Returns: for each table, the six most frequent serial types of the first field in these rows, the most frequent
  ///   type first. Serial types that take two or more bytes are left out.
  func learn() throws(SQLiteFileError) -> [[UInt64]] {
    // For each table and each serial type below 128, the number of rows whose first field has this serial type.
    var counts = [Int](repeating: 0, count: tables.count * 128)
    var looked = [Int](repeating: 0, count: tables.count)
    var buffer = ContiguousArray<UInt8>()
    var reading = newReading()
    var types = RecordTypes()
    var page: UInt32 = 2
    while page <= pageCount {
      page = census.next(from: page)
      defer { page += 1 }
      guard census.isLiveLeaf(page), let owner = census.owner(page), looked[owner.table] < 200,
        try reader.copy(page, into: &buffer) == layout.pageSize
      else { continue }
      looked[owner.table] += 1
      reading.read(
        buffer.rawSpan, number: page, available: layout.pageSize, shape: shapes[owner.table])
      guard reading.method == .pointers else { continue }
      for cell in reading.cells where types.read(cell, buffer.rawSpan) {
        shapes[owner.table].learn(types)
        if let first = types.types.first, first < 128 {
          counts[owner.table * 128 + Int(first)] += 1
        }
      }
    }
    let found = tables.indices.map { table in
      let own = counts[table * 128..<(table + 1) * 128]
      return own.indices.filter { own[$0] > 0 }.sorted { (own[$0], $1) > (own[$1], $0) }
        .prefix(6).map { UInt64($0 - own.startIndex) }
    }
    firstTypes = found
    return found
  }

  // MARK: - Search

  /// Whether the page may contain deleted rows, judged by its kind in the census and by ``withoutDeletedRows``.
  private func mayHoldDeletedRows(_ page: UInt32) -> Bool {
    switch census.kind(page) {
    case .tableLeaf, .ruinedLeaf:
      page > 1 && (!withoutDeletedRows.contains(page) || narrowed[page] != nil)
    case .trunk, .tableInterior: true
    case .other: census.free.contains(page)
    case .missing, .zero, .indexLeaf, .indexInterior, .pointerMap: false
    }
  }

  private func look(
    at number: UInt32, _ page: RawSpan, _ available: Int, _ collection: inout Collection
  ) throws(SQLiteFileError) {
    let limit = min(available, layout.usableSize)
    switch census.kind(number) {
    case .tableLeaf, .ruinedLeaf:
      if census.isLiveLeaf(number) {
        let own = census.owner(number)?.table
        collection.reading.read(
          page, number: number, available: available, shape: own.map { shapes[$0] })
        guard own != nil || !shapes.isEmpty else { return }
        let ofOtherTables =
          own.map { collection.reading.cellsOfOtherTables(page, shapes[$0]) } ?? []
        let displaced = collection.reading.displaced(page)
        for (index, cell) in collection.reading.cells.enumerated() {
          let isOfOtherTable = ofOtherTables.contains(index)
          // The row id is outside the range of the leaf, so the row is older than the other rows of the leaf. If the
          // cell pointers of the leaf are damaged, the ordinary reader has already returned such a row.
          let isEarlier =
            (collection.reading.method == .pointers || plainInPlace == nil)
            && narrowed[number].map { !$0.contains(cell.rowID) } ?? false
          guard isOfOtherTable || isEarlier || displaced.contains(index) else { continue }
          add(
            Found(
              cell: cell, table: isOfOtherTable ? nil : own, confidence: 90,
              isPointed: isEarlier && !isOfOtherTable && plainInPlace != nil), page,
            Site(number: number, place: .cell), &collection)
        }
        carveGaps(page, limit, own, number, &collection)
      } else {
        let vote = vote(page, number, available, &collection.reading, &collection.types)
        let own = vote.table ?? formerOwner(number)
        let place = census.free.contains(number) ? RowOrigin.Place.freePage : .orphan
        let isAmbiguous = own.map { mayBeUnknown($0) && $0 != formerOwner(number) } ?? false
        // The ordinary reader has already returned the rows of a contradicted leaf, as contradicted rows.
        let rows = contradicted.contains(number) ? [] : collection.reading.cells
        for cell in rows {
          add(
            Found(
              cell: cell, table: own, confidence: 95, isAmbiguous: isAmbiguous,
              isOfTable: vote.isOnlyOne), page, Site(number: number, place: place), &collection)
        }
        carveGaps(page, limit, own, number, &collection)
      }
    case .trunk:
      let count = Int(page.uint32(at: 4))
      let floor = 8 + 4 * min(count, layout.usableSize / 4 - 2)
      // The file may end inside the list of the trunk page.
      guard floor < limit else { return }
      carve(
        page, floor..<limit, formerOwner(number), Site(number: number, place: .trunk), &collection)
    case .tableInterior:
      let floor = 12 + 2 * Int(page.uint16(at: 3)) + (number == 1 ? DatabaseHeader.length : 0)
      let content = Int(page.uint16(at: number == 1 ? 105 : 5))
      if number > 1, floor < content, content <= limit {
        carve(
          page, floor..<content, try owner(ofInterior: number), Site(number: number, place: .gap),
          &collection)
      }
    case .other:
      let own = formerOwner(number)
      carve(
        page, 0..<limit, own,
        Site(number: number, place: .freePage, takesWholeOnly: own == nil), &collection)
    case .missing, .zero, .indexLeaf, .indexInterior, .pointerMap: break
    }
  }

  private func look(
    at version: PageVersion, _ place: UInt32, _ source: Source, _ page: RawSpan,
    _ collection: inout Collection
  ) throws(SQLiteFileError) {
    guard version.page > 1, !map.isMap(version.page),
      page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue
    else { return }
    let owner = census.owner(version.page)
    let vote = vote(
      page, version.page, layout.pageSize, former: owner?.table, &collection.reading,
      &collection.types)
    let own = vote.table
    let isAmbiguous = own.map(mayBeUnknown) ?? false
    var isOfTable = vote.isOnlyOne
    if !isOfTable, !isAmbiguous, let own, let owner, owner.table == own, owner.evidence == .root {
      isOfTable = try sharesRows(version.page, with: page, collection.reading.cells)
    }
    for cell in collection.reading.cells {
      add(
        Found(
          cell: cell, table: own, confidence: 98, isAmbiguous: isAmbiguous, isOfTable: isOfTable),
        page, Site(number: place, source: source, place: .cell), &collection)
    }
  }

  private func carveGaps(
    _ page: RawSpan, _ limit: Int, _ own: Int?, _ number: UInt32, _ collection: inout Collection
  ) {
    let floor = collection.reading.contentFloor
    let blocks = collection.reading.freeBlocks
    let isOfTable =
      collection.reading.method == .pointers && census.isLiveLeaf(number)
      && census.owner(number)?.evidence == .root
    // In an auto-vacuum database, SQLite moves a page of another table if the root page of a new table needs its page
    // number. The old rows of the moved page then remain on the new root page.
    let mayBeMoved = map.isPresent && own.map { tables[$0].rootPage == number } ?? true
    let lowest = isOfTable && !mayBeMoved ? collection.reading.cells.map(\.start).min() : nil
    let hasShortRowIDs =
      !collection.reading.cells.isEmpty
      && collection.reading.cells.allSatisfy { (0..<128).contains($0.rowID) }
    if collection.reading.isTight {
      if let gap = collection.reading.usedGap(page, limit) {
        carve(
          page, gap, own,
          Site(
            number: number, place: .gap, isTight: true, hasShortRowIDs: hasShortRowIDs,
            isBelowCells: gap.upperBound == lowest), &collection)
      }
      return
    }
    for gap in collection.reading.gaps(from: floor, to: limit, without: []) {
      let inside = blocks.filter { gap.contains($0.lowerBound) }
      carve(
        page, gap, blocks: inside, own,
        Site(
          number: number, place: inside.isEmpty ? .gap : .freeBlock, hasShortRowIDs: hasShortRowIDs,
          isOfTable: isOfTable && !inside.isEmpty && gap.lowerBound > floor,
          isBelowCells: gap.upperBound == lowest), &collection)
    }
  }

  private struct Site {
    /// The page number or, for an older version of a page, the index of this version in the list of page versions.
    let number: UInt32
    var source = Source.live
    let place: RowOrigin.Place
    /// Whether the space is the gap between the cell pointers and the cells of a page without freeblocks.
    var isTight = false
    /// Whether only complete cells are searched for, so that cells without their start are skipped.
    var takesWholeOnly = false
    /// Whether the row ids of all cells of the page take one byte each.
    var hasShortRowIDs = false
    /// Whether only the page's own table can have used the space. True for freeblocks after the first live cell, if the
    /// page is a leaf in the table's b-tree. SQLite fills an empty page from its end, so such freeblocks were cells of
    /// this table.
    var isOfTable = false
    /// Whether the page is a leaf in a table's b-tree, and the searched space ends where the lowest live cell begins.
    /// Always false for a root page in an auto-vacuum database, because SQLite may have stored a page of another table
    /// under this page number earlier. Rows of that table may remain.
    var isBelowCells = false
  }

  private struct Found {
    let cell: LeafCell
    let table: Int?
    let confidence: Int
    var isAmbiguous = false
    /// Whether a cell pointer of a live page leads to the cell. SQLite reads such a row, so the row is not a deleted
    /// one.
    var isPointed = false
    /// Whether the row is certain to belong to ``table``.
    var isOfTable = false
    /// The page offset of a newer cell that has overwritten the end of this cell; nil if no newer cell was found.
    var newer: Int?
  }

  private func carve(
    _ page: RawSpan, _ region: Range<Int>, blocks: [Range<Int>] = [], _ own: Int?, _ site: Site,
    _ collection: inout Collection
  ) {
    guard region.count >= 6 else { return }
    collection.carver.removeAll()
    collection.carver.carve(
      page, region, freeBlocks: blocks, shapes: shapes, own: own, wholeOnly: site.takesWholeOnly,
      hasShortRowIDs: site.hasShortRowIDs)
    let finds = collection.carver.finds
    let mayBeFormer = site.isTight && mayBeFormer(region, finds, page, collection.reading)
    var firstOwn = finds.count
    if site.isBelowCells, let own {
      firstOwn = firstOwnFind(finds, of: own, collection.reading)
    }
    for (index, find) in finds.enumerated() {
      var (table, isAmbiguous) = (find.shape, find.isAmbiguous)
      if mayBeFormer, table == own {
        let isWhole = !find.cell.isStartLost && collection.types.read(find.cell, page)
        if isWhole, let former = formerOwner(site.number),
          fits(find.cell, page, former, collection.types)
        {
          table = former
        } else if mayBeUnknown(table)
          || isWhole && fitsOtherTable(find.cell, page, table, collection.types)
        {
          isAmbiguous = true
        }
      } else if own == nil, mayBeUnknown(table) {
        isAmbiguous = true
      }
      add(
        Found(
          cell: find.cell, table: table, confidence: find.confidence, isAmbiguous: isAmbiguous,
          isOfTable: (site.isOfTable || index >= firstOwn) && table == own && !isAmbiguous,
          newer: find.newer), page, site, &collection)
    }
  }

  private func add(
    _ found: Found, _ page: RawSpan, _ site: Site, _ collection: inout Collection
  ) {
    let cell = found.cell
    guard let hashes = hash(cell, page, found.table, &collection.types) else { return }
    var flags: UInt8 = 0
    if cell.hasRowID { flags |= CarvedIndex.hasRowID }
    if cell.isStartLost { flags |= CarvedIndex.isStartLost }
    if cell.lostTypes > 0 { flags |= CarvedIndex.lostFirst }
    if found.isAmbiguous { flags |= CarvedIndex.isAmbiguous }
    if found.isPointed { flags |= CarvedIndex.isPointed }
    if let table = found.table, !found.isAmbiguous,
      found.isOfTable || !hasRival(table, cell, collection.types)
    {
      flags |= CarvedIndex.isOfTable
    }
    if cell.isFirstDoubtful { flags |= CarvedIndex.isFirstDoubtful }
    if cell.isEndDoubtful { flags |= CarvedIndex.isEndDoubtful }
    let entry = CarvedIndex.Entry(
      content: cell.lostTypes > 0 ? hashes.withoutType : hashes.content,
      withoutType: hashes.withoutType, rowID: cell.rowID, page: site.number,
      start: UInt16(cell.start), record: UInt16(cell.record), length: UInt16(cell.length),
      table: found.table.map { UInt16($0 + 1) } ?? 0, payload: UInt32(cell.payload),
      firstType: UInt16(cell.firstType), confidence: UInt8(found.confidence), flags: flags,
      headerLength: UInt8(cell.headerLength), source: site.source.rawValue,
      place: UInt8(Self.places.firstIndex(of: site.place) ?? 0), newer: UInt16(found.newer ?? 0),
      overflow: cell.spills && found.newer == nil && !cell.isEndDoubtful
        ? page.uint32(at: cell.end - 4) : 0)
    collection.index.append(entry, length: collection.types.lengthWithoutFirst)
  }

  private static let places: [RowOrigin.Place] = [
    .cell, .freeBlock, .gap, .freePage, .trunk, .orphan,
  ]

  /// Returns the hashes of the serial types and values in a cell; nil if the record header cannot be read. Sets `types`
  /// to the serial types of the cell.
  private func hash(
    _ cell: LeafCell, _ page: RawSpan, _ table: Int?, _ types: inout RecordTypes
  ) -> ContentHash? {
    let end = cell.end
    var body: Int
    if cell.isStartLost {
      let length = cell.headerLength - cell.lostHeader.count
      guard length >= 0, types.read(page, cell.record..<cell.record + length) else { return nil }
      body = cell.record + length
      if cell.lostTypes > 0 { types.prepend(cell.firstType) }
    } else {
      guard types.read(cell, page) else { return nil }
      body = cell.record + cell.payload - types.bodyLength
    }
    let skipsFirst =
      (cell.lostTypes > 0 && cell.isFirstDoubtful)
      || table.map { shapes[$0].rowIDField == 0 } ?? false
    return ContentHash(types, page, body: body, end: end, skipsFirst: skipsFirst)
  }

  // MARK: - Output

  private func flush<Sink: RecoverySink & ~Copyable>(
    _ collection: inout Collection, _ wanted: Set<Int>?, _ withContradicted: Bool,
    _ sink: inout Sink
  ) throws(SQLiteFileError) {
    guard !collection.index.entries.isEmpty else { return }
    collection.index.settle(&collection.seen)
    var entries = try entriesWithoutLiveRow(collection.index)
    entries.sort { ($0.source, $0.page, $0.start) < ($1.source, $1.page, $1.start) }
    var buffer = ContiguousArray<UInt8>()
    let unknown = RowLayout()
    var rowReader = RowReader(self)
    try rowReader.noteDeletedChains(
      entries.lazy.filter { $0.overflow > 0 }.map {
        ($0.overflow, Int($0.payload) - self.localLength($0))
      })
    var loaded: (source: UInt8, page: UInt32)?
    for entry in entries where sink.wantsMore {
      let hasRowID = entry.knowsRowID
      collection.seen.insert(
        entry.content, hasRowID ? entry.rowID : nil, of: entry.certainTable)
      if !withContradicted, entry.flags & CarvedIndex.isPointed != 0 { continue }
      let table = entry.table > 0 ? Int(entry.table) - 1 : nil
      if let wanted {
        guard let table, wanted.contains(table) else { continue }
      }
      var origin = RowOrigin()
      if loaded?.source != entry.source || loaded?.page != entry.page {
        guard try load(entry, &buffer) else { continue }
        loaded = (entry.source, entry.page)
      }
      place(entry, table, &origin)
      let cell = LeafCell(
        start: Int(entry.start), length: Int(entry.length), rowID: entry.rowID,
        record: Int(entry.record), payload: Int(entry.payload), local: localLength(entry),
        hasRowID: hasRowID, lostTypes: entry.hasFirstType ? 0 : 1,
        firstType: UInt64(entry.firstType),
        isStartLost: entry.flags & CarvedIndex.isStartLost != 0,
        headerLength: Int(entry.headerLength),
        isFirstDoubtful: entry.flags & CarvedIndex.isFirstDoubtful != 0,
        isEndDoubtful: entry.flags & CarvedIndex.isEndDoubtful != 0)
      try rowReader.emit(
        cell, of: origin.page, buffer.rawSpan, origin, table.map { layouts[$0] } ?? unknown,
        isLive: false, newer: entry.newer > 0 ? Int(entry.newer) : nil, &sink)
    }
    collection.index.removeAll()
  }

  private func localLength(_ entry: CarvedIndex.Entry) -> Int {
    BTreePage.localLength(
      payload: Int(entry.payload), usableSize: layout.usableSize, isTableLeaf: true)
  }

  private func load(_ entry: CarvedIndex.Entry, _ buffer: inout ContiguousArray<UInt8>)
    throws(SQLiteFileError) -> Bool
  {
    guard let version = version(of: entry) else {
      return try reader.copy(entry.page, into: &buffer) > 0
    }
    return try load(version, &buffer)
  }

  private func version(of entry: CarvedIndex.Entry) -> PageVersion? {
    switch Source(rawValue: entry.source) {
    case .version: sides?.versions[Int(entry.page)]
    case .shadowed: sides?.shadowed[Int(entry.page)]
    default: nil
    }
  }

  private func place(_ entry: CarvedIndex.Entry, _ table: Int?, _ origin: inout RowOrigin) {
    if entry.flags & CarvedIndex.isAmbiguous != 0 {
      origin.guess = table
    } else {
      origin.table = table
    }
    origin.place = Self.places[Int(entry.place)]
    origin.confidence = Int(entry.confidence)
    if let version = version(of: entry) {
      origin.page = version.page
      origin.member = version.member
      origin.offset = version.offset + Int64(entry.start)
      switch version.origin {
      case .superseded: origin.state = .superseded
      case .uncommitted: origin.state = .uncommitted
      case .stale: origin.state = .stale
      case .beforeImage: origin.state = .beforeImage
      }
    } else {
      let location = reader.location(of: entry.page)
      origin.page = entry.page
      origin.member = location.member
      origin.offset = location.offset + Int64(entry.start)
      origin.state = entry.flags & CarvedIndex.isPointed != 0 ? .contradicted : .deleted
    }
    if origin.table == nil {
      origin.attribution = .unknown
    } else if let owner = census.owner(origin.page), owner.table == table {
      origin.attribution = owner.evidence
    } else {
      origin.attribution = .shape
    }
  }
}

extension RecordTypes {
  fileprivate var lengthWithoutFirst: Int {
    bodyLength - (types.first.map(RecordDecoder.length(ofType:)) ?? 0)
  }
}
