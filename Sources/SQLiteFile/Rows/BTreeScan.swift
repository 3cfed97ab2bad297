import SafeText

/// Walks one b-tree in key order and decodes its rows.
///
/// Damage on a page is reported as a finding, and the walk continues with the next page. Each page is visited only
/// once, so a cycle of child pointers does no harm. A page is visited for one table only (``PageClaims``).
package struct BTreeScan: ~Copyable {
  /// The name of the table, as used in findings.
  package let table: String?
  /// Whether rows have row ids. False for the b-tree of a WITHOUT ROWID table, whose rows are sorted by their content.
  package let isRowIDTable: Bool
  package var findings = FindingList()
  /// The findings about sectors of zeros, which may have lost their content. These findings are dropped if the table
  /// pads its BLOBs with zeros; see ``SQLiteDatabase/padsBlobs(of:_:_:)``.
  package var possibleLosses = FindingList()
  package private(set) var lostRowCount = 0
  /// The interior pages above the leaves that ``leaves(below:reader:)`` has returned.
  package private(set) var interiorPages: [UInt32] = []
  var decoder: RecordDecoder
  var visited: PagesMet
  var payload = ContiguousArray<UInt8>()
  /// The number of payload bytes that the scan may still read. The limit keeps a file from turning one page into
  /// gigabytes of rows by pointing to the same cell again and again.
  ///
  /// The allowance starts at ``PageClaims/spare(of:)`` bytes, which are meant for damaged files. Each page that is read
  /// adds its size, because the payloads of an intact b-tree fit into its pages. An allowance of at most a quarter of
  /// ``RecordDecoder/defaultBytes`` counts as used up.
  var allowance = 0
  private var spare = 0
  /// Whether any of the scans that were added with ``take(from:)`` had used up its allowance.
  private var hasReadTooMuch = false
  let claims: PageClaims
  /// The number that stands for the scanned table in ``claims``.
  let owner: UInt32
  /// Whether interior pages are skipped. This is set when several scans share the leaves of one table.
  package var readsLeavesOnly = false
  /// Whether the scan has skipped an interior page, because ``readsLeavesOnly`` is true.
  package private(set) var hasLeftPages = false
  var leaf = LeafTally()
  /// The last page according to the page count of the database. SQLite reads no page after it, even if the file
  /// contains more pages.
  package var lastPage = UInt32.max
  /// The visited pages with numbers above ``lastPage``: how many there are, and the lowest of their numbers.
  private var behind: (count: Int, first: UInt32) = (0, .max)

  /// The maximum depth of a b-tree. SQLite itself never goes deeper than 20 levels (BTCURSOR_MAX_DEPTH).
  private static let deepest = 20

  private struct Level {
    var page: UInt32
    var next: Int
    var count: Int
    var keys: KeyWalk
  }

  package init(
    of table: Table, isRowIDTable: Bool, encoding: DatabaseHeader.TextEncoding,
    mainPageCount: UInt32, claims: PageClaims
  ) {
    self.table = table.name
    self.isRowIDTable = isRowIDTable
    self.claims = claims
    owner = PageClaims.number(of: table)
    decoder = RecordDecoder(encoding: encoding)
    visited = PagesMet(pageCount: mainPageCount)
  }

  /// Passes all rows of the b-tree with the root page `root` to the sink.
  /// - Throws: ``SQLiteFileError`` when the device fails; damage never throws.
  package mutating func run<Sink: RecordSink & ~Copyable>(
    root: UInt32, layout: borrowing RowLayout, reader: inout PageReader, sink: inout Sink
  ) throws(SQLiteFileError) {
    begin()
    var levels: [Level] = []
    try visit(root, RowIDBounds(), &levels, layout, &reader, &sink)
    try walk(&levels, layout, &reader, &sink)
    end()
  }

  /// Prepares for the scan, and computes how many payload bytes it may read. Must be called before the first page is
  /// read.
  package mutating func begin() {
    spare = claims.spare(of: owner)
    allowance = spare
  }

  /// Records that the visited pages belong to the scan's table. No other table reads these pages then.
  package func settle() {
    claims.settle(visited, of: owner, beyond: spare - allowance + decoder.defaultBytes / 4)
  }

  /// Adds the findings and counts of `other`, a scan of other leaves of the same table, and clears them in `other`.
  package mutating func take(from other: inout BTreeScan) {
    findings.add(other.findings)
    possibleLosses.add(other.possibleLosses)
    lostRowCount += other.lostRowCount
    behind = (behind.count + other.behind.count, min(behind.first, other.behind.first))
    decoder.add(countsOf: other.decoder)
    hasReadTooMuch = hasReadTooMuch || other.isAllowanceUsed
    other.forget()
  }

  /// Drops all findings and counts. Called when another scan has taken over the findings and counts, or when the same
  /// leaves are to be read again.
  package mutating func forget() {
    findings = FindingList()
    possibleLosses = FindingList()
    lostRowCount = 0
    behind = (0, .max)
    decoder.forgetCounts()
  }

  private var isAllowanceUsed: Bool { allowance <= decoder.defaultBytes / 4 }

  /// Ends the scan: claims the visited pages, and adds the findings that concern the whole scan.
  package mutating func end() {
    settle()
    if behind.count > 0 {
      findings.add(Self.badCount(behind.count, behind.first, lastPage, table: table))
    }
    if hasReadTooMuch || isAllowanceUsed {
      report(
        .treeMoreThanFile,
        "the rows of this b-tree add up to several times the size of its pages; the rest of the b-tree is not read"
      )
    }
    if decoder.trailingCount > 0 {
      report(
        .recordTrailingBytes,
        counted(
          decoder.trailingCount, "record continues after its last value",
          "records continue after their last value"))
    }
    if decoder.surplusCount > 0 {
      report(
        .recordTooManyFields,
        counted(decoder.surplusCount, "record has", "records have")
          + " more fields than the table has columns; the extra fields are not shown")
    }
    if decoder.reservedTypeCount > 0 {
      report(
        .recordReservedType,
        counted(decoder.reservedTypeCount, "value has", "values have")
          + " a reserved serial type, shown as NULL")
    }
  }

  /// Returns the finding about pages that are in use although they are after `last`, the last page according to the
  /// page count of the database. `count`: the number of these pages. `first`: the lowest page number among them.
  package static func badCount(_ count: Int, _ first: UInt32, _ last: UInt32, table: String?)
    -> Finding
  {
    let subject = counted(count, "page is", "pages are")
    return Finding(
      .headerBadCount,
      "\(subject) in use although the page count of the database is only \(last); the first is page \(first); SQLite does not read such pages",
      page: first, table: table)
  }

  private mutating func walk<Sink: RecordSink & ~Copyable>(
    _ levels: inout [Level], _ layout: borrowing RowLayout, _ reader: inout PageReader,
    _ sink: inout Sink
  ) throws(SQLiteFileError) {
    while let level = levels.last, sink.wantsMore, !isAllowanceUsed {
      guard level.next <= level.count else {
        levels.removeLast()
        continue
      }
      levels[levels.count - 1].next += 1
      // In an index b-tree, the cells of interior pages are rows too. Each comes between two children.
      if !isRowIDTable, level.next > 0 {
        try cells(
          of: level.page, level.next - 1..<level.next, RowIDBounds(), layout, &reader, &sink)
      }
      guard
        let child = try child(
          level.next, of: level.page, &levels[levels.count - 1].keys, &reader)
      else { continue }
      try visit(child.page, child.rowIDs, &levels, layout, &reader, &sink)
    }
  }

  /// Returns the leaves of a table's b-tree in key order. The leaves themselves are not read: all leaves of a b-tree
  /// have the same depth, so the interior pages show which pages are leaves.
  package mutating func leaves(below root: UInt32, reader: inout PageReader) throws(SQLiteFileError)
    -> LeafList
  {
    var depth = 0
    var leftmost = root
    while let page = try header(of: leftmost, &reader), !page.kind.isLeaf, depth < Self.deepest {
      var keys = KeyWalk()
      guard let child = try child(0, of: leftmost, &keys, &reader) else { break }
      leftmost = child.page
      depth += 1
    }
    var leaves = LeafList()
    guard depth > 0 else {
      leaves.append(root, RowIDBounds())
      return leaves
    }
    var levels: [Level] = []
    var sink = CountSink()
    let layout = RowLayout()
    interiorPages.append(root)
    try visit(root, RowIDBounds(), &levels, layout, &reader, &sink)
    while let level = levels.last {
      guard level.next <= level.count else {
        levels.removeLast()
        continue
      }
      levels[levels.count - 1].next += 1
      guard
        let child = try child(
          level.next, of: level.page, &levels[levels.count - 1].keys, &reader)
      else { continue }
      if levels.count < depth {
        interiorPages.append(child.page)
        try visit(child.page, child.rowIDs, &levels, layout, &reader, &sink)
      } else if claim(child.page, reader) {
        leaves.append(child.page, child.rowIDs)
      }
    }
    return leaves
  }

  /// Reads the rows of a page that ``leaves(below:reader:)`` has returned. If the page is not a leaf because the b-tree
  /// is not balanced, reads the pages below it too.
  package mutating func read<Sink: RecordSink & ~Copyable>(
    leaf: (page: UInt32, rowIDs: RowIDBounds), layout: borrowing RowLayout,
    reader: inout PageReader, sink: inout Sink
  ) throws(SQLiteFileError) {
    var levels: [Level] = []
    try enter(leaf.page, leaf.rowIDs, &levels, layout, &reader, &sink)
    try walk(&levels, layout, &reader, &sink)
  }

  /// Reads the pages of a b-tree one after the other, except pages for which `isKnown` returns true. The rows of
  /// leaves, and of all pages of an index b-tree, are passed to the sink.
  ///
  /// `isKnown`: returns whether a page is a leaf whose rows the caller already has.
  /// `beginPage`: is called before the rows of each page.
  package mutating func run<Sink: RecordSink & ~Copyable>(
    root: UInt32, unless isKnown: (UInt32) -> Bool, layout: borrowing RowLayout,
    reader: inout PageReader, sink: inout Sink,
    begin beginPage: (_ page: UInt32, _ place: PageReader.Place) throws(SQLiteFileError) -> Void
  ) throws(SQLiteFileError) {
    begin()
    var pending: [(page: UInt32, rowIDs: RowIDBounds, depth: Int)] = [(root, RowIDBounds(), 0)]
    while let (number, rowIDs, depth) = pending.popLast(), sink.wantsMore, !isAllowanceUsed {
      guard claim(number, reader), !isKnown(number),
        let page = try header(of: number, of: isRowIDTable, &reader)
      else { continue }
      allowance &+= reader.pageSize
      if page.kind.isLeaf || !isRowIDTable {
        try beginPage(number, reader.location(of: number))
        try cells(of: number, 0..<page.cellCount, rowIDs, layout, &reader, &sink)
      }
      guard !page.kind.isLeaf else { continue }
      if depth >= Self.deepest {
        report(.treeTooDeep, "the b-tree is deeper than SQLite allows", number, reader)
        continue
      }
      var keys = KeyWalk(rowIDs)
      let place = pending.count
      for index in 0...page.cellCount {
        if let child = try child(index, of: number, &keys, &reader) {
          pending.append((child.page, child.rowIDs, depth + 1))
        }
      }
      // This makes the first child the next page to be read.
      pending[place...].reverse()
    }
    end()
  }

  private mutating func visit<Sink: RecordSink & ~Copyable>(
    _ number: UInt32, _ rowIDs: RowIDBounds, _ levels: inout [Level],
    _ layout: borrowing RowLayout, _ reader: inout PageReader, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    guard claim(number, reader) else { return }
    try enter(number, rowIDs, &levels, layout, &reader, &sink)
  }

  /// Records that a page is visited. Adds a finding and returns false if the page belongs to another table or was
  /// visited before.
  private mutating func claim(_ page: UInt32, _ reader: borrowing PageReader) -> Bool {
    if page > lastPage, page <= reader.pageLimit {
      behind = (behind.count + 1, min(behind.first, page))
    }
    guard !claims.isOthers(page, than: owner) else {
      report(
        .pageOtherTable,
        "a b-tree leads to this page, but the rows of this page are assigned to the table \(claims.ownerName(of: page))",
        page, reader)
      return false
    }
    guard visited.insert(page) else {
      report(.pageReferencedTwice, "a b-tree leads to this page twice", page, reader)
      return false
    }
    return true
  }

  private mutating func enter<Sink: RecordSink & ~Copyable>(
    _ number: UInt32, _ rowIDs: RowIDBounds, _ levels: inout [Level],
    _ layout: borrowing RowLayout, _ reader: inout PageReader, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    guard let page = try header(of: number, of: isRowIDTable, &reader) else { return }
    allowance &+= reader.pageSize
    if page.kind.isLeaf {
      try cells(of: number, 0..<page.cellCount, rowIDs, layout, &reader, &sink)
    } else if readsLeavesOnly {
      hasLeftPages = true
    } else if levels.count >= Self.deepest {
      report(.treeTooDeep, "the b-tree is deeper than SQLite allows", number, reader)
    } else {
      levels.append(Level(page: number, next: 0, count: page.cellCount, keys: KeyWalk(rowIDs)))
    }
  }

  /// Reads the header of a page. If the page is not of the expected kind, adds a finding and returns nil.
  private mutating func header(of number: UInt32, of isTable: Bool, _ reader: inout PageReader)
    throws(SQLiteFileError) -> BTreePage?
  {
    guard let page = try header(of: number, &reader) else { return nil }
    guard page.kind.isTable == isTable else {
      report(
        .pageWrongKind,
        isTable ? "an index page is in a table's b-tree" : "a table page is in an index b-tree",
        number, reader)
      return nil
    }
    return page
  }

  private mutating func header(of number: UInt32, _ reader: inout PageReader)
    throws(SQLiteFileError) -> BTreePage?
  {
    reportCut(number, reader)
    let usableSize = reader.usableSize
    let defect: BTreePage.Defect
    do {
      guard let page = try reader.page(number) else {
        report(
          .pageMissing,
          number == 0
            ? "a b-tree leads to page 0, which does not exist"
            : "the file ends before this page",
          number, reader)
        return nil
      }
      do throws(BTreePage.Defect) {
        return try BTreePage(parsing: page, number: number, usableSize: usableSize)
      } catch {
        defect = error
      }
    }
    report(defect.finding.id, defect.finding.message, number, reader)
    return nil
  }

  /// Returns the child page with the given index, and the row ids that the keys of the parent page allow on the child
  /// page. Returns nil if the cell of the child is outside the parent page.
  private mutating func child(
    _ index: Int, of number: UInt32, _ keys: inout KeyWalk, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> (page: UInt32, rowIDs: RowIDBounds)? {
    let usableSize = reader.usableSize
    var child: UInt32?
    var key: Varint?
    do {
      guard let page = try reader.page(number),
        let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize)
      else { return nil }
      if index == header.cellCount { return (header.rightChild, keys.rest) }
      if let start = header.cellStart(page, index) {
        child = page.uint32(at: start)
        if isRowIDTable { key = Varint.read(page, at: start + 4, end: usableSize) }
      }
    }
    guard let child else {
      report(.cellBadPointer, "cell \(index) lies outside the page", number, reader)
      return nil
    }
    guard isRowIDTable else { return (child, RowIDBounds()) }
    guard let key else {
      report(.cellPastEnd, "cell \(index) runs past the end of its page", number, reader)
      return (child, RowIDBounds())
    }
    let wasInOrder = keys.isInOrder
    let rowIDs = keys.next(Int64(bitPattern: key.value))
    if wasInOrder, !keys.isInOrder {
      report(.treeKeyOrder, "keys of this page are out of order", number, reader)
    }
    return (child, rowIDs)
  }

  /// Decodes the cells of a page whose indexes are in `range`. A payload that continues on overflow pages is completed
  /// between two cells, because the current page cannot be used while other pages are read.
  private mutating func cells<Sink: RecordSink & ~Copyable>(
    of number: UInt32, _ range: Range<Int>, _ rowIDs: RowIDBounds, _ layout: borrowing RowLayout,
    _ reader: inout PageReader, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    var index = range.lowerBound
    let usableSize = reader.usableSize
    let place = reader.location(of: number)
    let limit = reader.storedPageCount * usableSize
    leaf = LeafTally()
    let cutPage = reader.cutPage
    while index < range.upperBound, sink.wantsMore, !isAllowanceUsed {
      var spill: Spill?
      do {
        guard let page = try reader.page(number),
          let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize)
        else { return }
        if number != cutPage { leaf.expectLostSectors(page, header) }
        while index < range.upperBound, spill == nil, !isAllowanceUsed, sink.wantsMore {
          spill = cell(
            index, page, header, limit, layout, &sink, (number, place.member, place.offset))
          index &+= 1
        }
      }
      guard let spill else { continue }
      try finish(spill, number, layout, &reader, &sink)
    }
    try judgeLeaf(number, rowIDs, &reader)
  }

  /// Adds findings about a leaf whose cells can be read but contradict each other or the rest of the b-tree.
  private mutating func judgeLeaf(
    _ number: UInt32, _ rowIDs: RowIDBounds, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    if leaf.isOutOfOrder {
      report(.treeKeyOrder, "row ids of this page are out of order", number, reader)
    } else if isRowIDTable, leaf.count > 0,
      leaf.firstRowID < rowIDs.least || leaf.lastRowID > rowIDs.most
    {
      report(
        .treeKeyOrder, "row ids of this page are outside the range in its parent page", number,
        reader)
    }
    if leaf.loss != .none {
      let finding = Finding.zeroSector(number, reader.location(of: number), table)
      if leaf.loss == .certain {
        findings.add(finding)
      } else {
        possibleLosses.add(finding)
      }
    }
    if leaf.isOthers { findings.add(.otherRows(number, reader.location(of: number), table)) }
    let usableSize = reader.usableSize
    var addsUp = true
    if let page = try reader.page(number),
      let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize),
      header.kind.isLeaf, leaf.count == header.cellCount
    {
      addsUp = leaf.addsUp(page, header)
    }
    if !addsUp {
      report(
        .pageBadFragments,
        "the cells and the free space of this page do not add up to the size of the page", number,
        reader)
    }
  }

  /// Decodes one cell and sends its row to `sink`. If the payload continues on overflow pages, sends nothing, and
  /// returns a ``Spill`` with which the caller reads these pages.
  @inline(__always)
  private mutating func cell<Sink: RecordSink & ~Copyable>(
    _ index: Int, _ page: RawSpan, _ header: BTreePage, _ limit: Int, _ layout: borrowing RowLayout,
    _ sink: inout Sink, _ at: (page: UInt32, member: Finding.Member, offset: Int64)
  ) -> Spill? {
    let usableSize = header.usableSize
    guard let start = header.cellStart(page, index) else {
      lose(.cellBadPointer, "cell \(index) lies outside the page", at.page, at.member, at.offset)
      return nil
    }
    var offset = header.kind.isLeaf ? start : start &+ 4
    sink.beginCell(at: start)
    guard let length = Varint.read(page, at: offset, end: usableSize),
      length.value <= UInt64(limit)
    else {
      lose(
        .cellBadLength, "cell \(index) has a payload longer than the file", at.page, at.member,
        at.offset + Int64(start))
      return nil
    }
    offset &+= length.length
    var rowID: Int64?
    if isRowIDTable {
      guard let key = Varint.read(page, at: offset, end: usableSize) else {
        lose(
          .cellPastEnd, "cell \(index) runs past the end of its page", at.page, at.member,
          at.offset + Int64(start))
        return nil
      }
      let id = Int64(bitPattern: key.value)
      if leaf.count == 0 {
        leaf.firstRowID = id
      } else if id <= leaf.lastRowID {
        leaf.isOutOfOrder = true
      }
      leaf.lastRowID = id
      rowID = id
      offset &+= key.length
    }
    let total = Int(length.value)
    let local = BTreePage.localLength(
      payload: total, usableSize: usableSize, isTableLeaf: isRowIDTable)
    guard offset &+ local &+ (local < total ? 4 : 0) <= usableSize else {
      lose(
        .cellPastEnd, "cell \(index) runs past the end of its page", at.page, at.member,
        at.offset + Int64(start))
      return nil
    }
    if leaf.count == 0, layout.demands.contradict(page.part(offset, local)) {
      leaf.isOthers = true
    }
    leaf.add(start, offset &+ local &+ (local < total ? 4 : 0))
    allowance &-= local &+ 4
    if local < total {
      payload.removeAll(keepingCapacity: true)
      append(page.part(offset, local))
      return Spill(
        rowID: rowID, length: total, firstPage: page.uint32(at: offset &+ local),
        cellOffset: start,
        loss: leaf.mayHaveLostSector
          ? PayloadLoss(offset..<offset &+ local, of: page, usableSize: usableSize)
          : PayloadLoss())
    }
    if leaf.mayHaveLostSector {
      let loss = PayloadLoss(offset..<offset &+ local, of: page, usableSize: usableSize)
      leaf.loss.add(loss.judged(page.part(offset, local), isUTF16: decoder.encoding != .utf8))
    }
    if let defect = sink.take(page.part(offset, local), rowID: rowID, layout, &decoder) {
      lose(
        defect.finding.id, defect.finding.message + ", cell \(index)", at.page, at.member,
        at.offset + Int64(start))
    }
    return nil
  }

  private mutating func report(_ id: Finding.ID, _ message: String) {
    findings.add(Finding(id, message, table: table))
  }

  /// Adds a finding if the main file ends in the middle of the page.
  mutating func reportCut(_ page: UInt32, _ reader: borrowing PageReader) {
    guard page == reader.cutPage, page > 0 else { return }
    findings.add(.cutPage(page, reader.location(of: page), table))
  }

  @inline(never)
  mutating func lose(
    _ id: Finding.ID, _ message: String, _ page: UInt32, _ member: Finding.Member, _ offset: Int64
  ) {
    lostRowCount += 1
    findings.add(Finding(id, message, member: member, page: page, offset: offset, table: table))
  }

  @inline(never)
  private mutating func report(
    _ id: Finding.ID, _ message: String, _ page: UInt32, _ reader: borrowing PageReader
  ) {
    let place = reader.location(of: page)
    findings.add(
      Finding(
        id, message, member: place.member, page: page, offset: page == 0 ? nil : place.offset,
        table: table))
  }
}
