import SQLiteFile

/// Walks b-trees, and checks each page, cell and record during the walk.
///
/// A page can be claimed only once, so the walk ends even if pages form a cycle. Each page is read once, and only
/// payloads that continue on overflow pages are collected in memory.
struct BTreeCheck: ~Copyable {
  struct Tree {
    /// The name of the table or index, for findings; empty if the b-tree has no name.
    var name: String
    /// The number of the b-tree in the page map.
    var number: UInt32
    var root: UInt32
    /// Whether the keys of the b-tree are row ids; nil if this is not known before the root page is read.
    var isTable: Bool?
    /// Whether the b-tree is that of a table, so that its records are rows.
    var hasRows: Bool
    var rules: RecordRules
  }

  var map: PageMap
  var records: RecordCheck
  var findings = FindingList()
  /// Findings about disk sectors that may be lost. They count unless the table pads its BLOBs with zeros.
  var possibleLosses = FindingList()
  private(set) var pagesDone = 0
  /// A function that is called periodically with ``pagesDone``.
  var onPages: ((Int) -> Void)?

  /// A cell whose payload continues on overflow pages.
  private struct Spill {
    var cell: Int
    var start: Int
    var local: Int
    var total: Int
    var firstPage: UInt32
    var rowID: Int64?
    var loss: PayloadLoss
  }

  /// The maximum depth, in levels, of a b-tree that SQLite reads (BTCURSOR_MAX_DEPTH).
  private static let deepest: Int32 = 20
  /// The maximum number of bytes of one payload that are collected in memory. Values beyond these bytes are not
  /// checked.
  private static let gatherLimit = 4 << 20

  private let mainPageCount: UInt32
  private let encoding: DatabaseHeader.TextEncoding
  private var stack: ContiguousArray<Pending> = []
  private var spills: ContiguousArray<Spill> = []
  private var payload: ContiguousArray<UInt8> = []
  private var space = PageSpace()
  private var isTable = true
  private var leafDepth: Int32 = -1
  /// Whether rows of the current page have lost bytes with a disk sector.
  private var loss = ZeroSectors.Loss.none

  init(mainPageCount: UInt32, encoding: DatabaseHeader.TextEncoding) {
    map = PageMap(mainPageCount: mainPageCount)
    records = RecordCheck(encoding: encoding)
    self.mainPageCount = mainPageCount
    self.encoding = encoding
  }

  /// Returns a new check of the same file with the same demands. No page is claimed in the new check.
  func another() -> BTreeCheck {
    var other = BTreeCheck(mainPageCount: mainPageCount, encoding: encoding)
    other.records.prepare(as: records)
    return other
  }

  /// Checks the root page of a b-tree and all pages below it. Damage never throws.
  mutating func run(_ tree: borrowing Tree, _ reader: inout PageReader) throws(SQLiteFileError)
    -> Counts
  {
    var counts = Counts()
    try run(start(of: tree, &reader), tree, &counts, &reader)
    return counts
  }

  /// Reads the root page of a b-tree, and returns it as the part with which the walk begins.
  private mutating func start(of tree: borrowing Tree, _ reader: inout PageReader)
    throws(SQLiteFileError) -> Part
  {
    let kind: Bool
    if let isTable = tree.isTable {
      kind = isTable
    } else {
      kind = try reader.kind(of: tree.root)?.isTable ?? true
    }
    let root = Pending(page: tree.root, parent: 0, depth: 0, lower: .min, upper: .max)
    return Part(pages: [root], isTable: kind)
  }

  mutating func run(
    _ part: borrowing Part, _ tree: borrowing Tree, _ counts: inout Counts,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    leafDepth = -1
    isTable = part.isTable
    records.start(tree.rules)
    stack.removeAll(keepingCapacity: true)
    stack.append(contentsOf: part.pages.reversed())
    while let next = stack.popLast() {
      try check(next, tree, &counts, &reader)
    }
    counts.leafDepth = leafDepth
  }

  /// Checks the root page of a b-tree, and divides the children of the root page into parts that can be walked in any
  /// order.
  /// - Returns: at most `maxParts` parts. Each part except the last has at least `minPages` children.
  mutating func split(
    _ tree: borrowing Tree, minPages: Int, maxParts: Int, _ counts: inout Counts,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) -> [Part] {
    let whole = try start(of: tree, &reader)
    leafDepth = -1
    isTable = whole.isTable
    records.start(tree.rules)
    stack.removeAll(keepingCapacity: true)
    for root in whole.pages {
      try check(root, tree, &counts, &reader)
    }
    counts.leafDepth = leafDepth
    let pages = ContiguousArray(stack.reversed())
    stack.removeAll(keepingCapacity: true)
    let length = max(minPages, (pages.count + maxParts - 1) / maxParts)
    return stride(from: 0, to: pages.count, by: length).map { start in
      Part(
        pages: ContiguousArray(pages[start..<min(start + length, pages.count)]),
        isTable: whole.isTable)
    }
  }

  /// Adds `pages` to ``pagesDone``, for pages that were checked without a walk of a b-tree.
  mutating func count(pages: Int) {
    pagesDone += pages
    if let onPages { onPages(pagesDone) }
  }

  private mutating func check(
    _ pending: Pending, _ tree: borrowing Tree, _ counts: inout Counts, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    loss = .none
    try visit(pending, tree, &counts, &reader)
    try finishSpills(pending, tree, &counts, &reader)
    guard loss != .none else { return }
    let finding = Finding.zeroSector(
      pending.page, reader.location(of: pending.page), tree.name.isEmpty ? nil : tree.name)
    if loss == .certain { findings.add(finding) } else { possibleLosses.add(finding) }
  }

  private mutating func visit(
    _ pending: Pending, _ tree: borrowing Tree, _ counts: inout Counts, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    let number = pending.page
    let place = reader.location(of: number)
    let before = map.claim(
      number, as: .unreadable, owner: tree.number, parent: pending.parent)
    if let before {
      counts.isWhole = false
      report(
        .pageReferencedTwice,
        before.owner == tree.number
          ? "a b-tree leads to this page twice"
          : "a b-tree leads to this page, which is already in use as \(before.kind.words)",
        number, place, tree.name)
      return
    }
    pagesDone += 1
    if pagesDone & 0xff == 0, let onPages { onPages(pagesDone) }
    let usableSize = reader.usableSize
    let limit = reader.storedPageCount * usableSize
    let stored = reader.storedLength(of: number)
    let isCut = stored < reader.pageSize
    let defect: BTreePage.Defect
    do {
      guard let page = try reader.page(number) else {
        counts.isWhole = false
        report(
          .pageMissing,
          number == 0
            ? "a b-tree leads to page 0, which does not exist" : "the file ends before this page",
          number, place, tree.name)
        return
      }
      if isCut {
        counts.isWhole = false
        findings.add(.cutPage(number, place, tree.name.isEmpty ? nil : tree.name))
      }
      do throws(BTreePage.Defect) {
        let header = try BTreePage(parsing: page, number: number, usableSize: usableSize)
        guard header.kind.isTable == isTable else {
          counts.isWhole = false
          return report(
            .pageWrongKind,
            isTable ? "an index page is in a table's b-tree" : "a table page is in an index b-tree",
            number, place, tree.name)
        }
        guard pending.depth < Self.deepest else {
          counts.isWhole = false
          return report(
            .treeTooDeep, "the b-tree is deeper than SQLite allows", number, place, tree.name)
        }
        map.change(number, to: PageKind(header.kind))
        counts.pages += 1
        if header.kind.isLeaf {
          if leafDepth < 0 { leafDepth = pending.depth }
          if leafDepth != pending.depth {
            report(
              .treeUnevenDepth,
              "a leaf is at depth \(pending.depth) of the b-tree, but other leaves are at depth \(leafDepth)",
              number, place, tree.name)
          }
        }
        check(page, header, pending, limit, stored: stored, tree, &counts, place)
        return
      } catch {
        defect = error
      }
    }
    counts.isWhole = false
    report(defect.finding.id, defect.finding.message, number, place, tree.name)
  }

  /// Checks the cells of a page, and the use of the page's space (file format, section 1.6).
  ///
  /// `stored`: the number of bytes of the page that the file has. If the file ends within the page, only cells that can
  /// be read are counted as rows or entries, because only these are found when the table is read.
  @inline(__always)
  private mutating func check(
    _ page: RawSpan, _ header: BTreePage, _ pending: Pending, _ limit: Int, stored: Int,
    _ tree: borrowing Tree, _ counts: inout Counts,
    _ at: (member: Finding.Member, offset: Int64)
  ) {
    let usableSize = header.usableSize
    let (headerStart, contentStart) = Self.starts(page, header)
    let pointersEnd = header.pointers &+ 2 &* header.cellCount
    var isAccountable = true
    var floor = pointersEnd
    if contentStart > usableSize || contentStart < pointersEnd {
      isAccountable = false
      report(
        .pageBadContentStart,
        "the page's header puts the start of the cell content area at byte \(contentStart); the valid range is \(pointersEnd) to \(usableSize)",
        pending.page, at, tree.name, headerStart + 5)
    } else {
      floor = contentStart
    }
    space.reset(usableSize)
    // The bits are moved out of `self`, so that findings can be reported while the bits are in use.
    var bits: ContiguousArray<UInt64> = []
    swap(&bits, &space.bits)
    var places = bits.mutableSpan
    var taken = 0
    // Whether some records are left unchecked.
    var isCut = false
    var unreadableRecords = 0
    var trouble = CellTrouble()
    let isLeaf = header.kind.isLeaf
    let mayHaveLostSector =
      tree.hasRows && (isLeaf || !isTable) && floor < usableSize
      && ZeroSectors.touch(floor..<usableSize, of: page)
    let isUTF16 = encoding != .utf8
    let stackStart = stack.count
    var lower = pending.lower
    var index = 0
    counts.cells += header.cellCount
    if isLeaf || !isTable { counts.entries += header.cellCount }
    while index < header.cellCount {
      defer { index &+= 1 }
      let start = Int(page.uint16(at: header.pointers &+ 2 &* index))
      guard start >= floor, start &+ 4 <= usableSize else {
        trouble.pointers.add(index)
        isAccountable = false
        if !isLeaf { counts.isWhole = false }
        continue
      }
      // If the file has only a part of a child's page number, this number would lead to a wrong page.
      guard isLeaf ? start < stored : start &+ 4 <= stored else {
        trouble.unstored.add(index)
        isAccountable = false
        continue
      }
      var offset = start
      if !isLeaf {
        stack.append(
          Pending(
            page: page.uint32(at: start), parent: pending.page, depth: pending.depth &+ 1,
            lower: lower, upper: pending.upper))
        offset &+= 4
      }
      var total = 0
      if isLeaf || !isTable {
        guard let length = Varint.read(page, at: offset, end: usableSize),
          length.value <= UInt64(limit)
        else {
          trouble.lengths.add(index)
          isAccountable = false
          continue
        }
        offset &+= length.length
        total = Int(length.value)
      }
      var rowID: Int64?
      if isTable {
        guard let key = Varint.read(page, at: offset, end: usableSize) else {
          trouble.ends.add(index)
          isAccountable = false
          continue
        }
        offset &+= key.length
        let value = Int64(bitPattern: key.value)
        rowID = value
        // A row id is compared with others only if all bytes of the row id are in the file.
        if offset <= stored {
          if value <= lower && lower != .min || value > pending.upper {
            trouble.keys.add(index)
          }
          lower = max(lower, value)
          if !isLeaf { stack[stack.count &- 1].upper = min(value, pending.upper) }
        }
      }
      let local =
        isLeaf || !isTable
        ? BTreePage.localLength(payload: total, usableSize: usableSize, isTableLeaf: isTable) : 0
      let end = offset &+ local &+ (local < total ? 4 : 0)
      guard end <= usableSize else {
        trouble.ends.add(index)
        isAccountable = false
        continue
      }
      // The smallest cell takes four bytes.
      let size = max(4, end &- start)
      taken &+= size
      if !PageSpace.take(start, size, of: &places) {
        trouble.overlaps.add(index)
        isAccountable = false
      }
      guard isLeaf || !isTable else { continue }
      // Together, the cells are longer than the page, so they overlap. Their records are no longer checked, because
      // thousands of cells of a crafted page may share the same bytes.
      if taken > usableSize {
        isCut = true
        if let key = rowID, tree.rules.keys >= 0 { records.keys[tree.rules.keys].insert(key) }
        continue
      }
      if local < total {
        spills.append(
          Spill(
            cell: start, start: offset, local: local, total: total,
            firstPage: page.uint32(at: offset &+ local), rowID: rowID,
            loss: mayHaveLostSector
              ? PayloadLoss(offset..<offset &+ local, of: page, usableSize: usableSize)
              : PayloadLoss()))
        continue
      }
      if mayHaveLostSector {
        loss.add(
          PayloadLoss(offset..<offset &+ local, of: page, usableSize: usableSize)
            .judged(page.part(offset, local), isUTF16: isUTF16))
      }
      if let key = rowID, tree.rules.keys >= 0 { records.keys[tree.rules.keys].insert(key) }
      if records.passes(page.part(offset, local), rowID: rowID, tree.rules) { continue }
      if let defect = records.check(
        page.part(offset, local), total: total, rowID: rowID, tree.rules,
        ValuePlace(
          member: at.member, page: pending.page, offset: at.offset + Int64(start), rowID: rowID))
      {
        if Self.isUnreadable(defect.id) { unreadableRecords &+= 1 }
        report(
          defect.id, defect.message + ", cell \(index)", pending.page, at, tree.name, start)
      }
    }
    if stored < usableSize, isLeaf || !isTable {
      counts.entries &-= trouble.unreadableCount &+ unreadableRecords
    }
    swap(&bits, &space.bits)
    space.taken = taken
    if isCut { records.incompleteSums.formUnion(tree.rules.sumNumbers) }
    if isTable, isLeaf, lower > pending.lower {
      counts.highestRowID = max(counts.highestRowID ?? lower, lower)
    }
    if !isLeaf {
      stack.append(
        Pending(
          page: header.rightChild, parent: pending.page, depth: pending.depth &+ 1, lower: lower,
          upper: pending.upper))
      stack[stackStart...].reverse()
    }
    if trouble.isAny {
      for found in trouble.findings { report(found.id, found.message, pending.page, at, tree.name) }
    }
    guard stored >= usableSize else { return }
    accountForSpace(page, header, isAccountable, pending.page, at, tree.name)
  }

  /// Whether a record with this fault cannot be read as a row.
  private static func isUnreadable(_ fault: Finding.ID) -> Bool {
    fault == .recordBadHeader || fault == .recordTruncated
  }

  /// Returns the offsets of the b-tree header and of the cell content area, from the start of the page (file format,
  /// section 1.6).
  @inline(__always)
  private static func starts(_ page: RawSpan, _ header: BTreePage) -> (header: Int, content: Int) {
    let start = header.pointers &- (header.kind.isLeaf ? 8 : 12)
    return (start, BTreePage.contentStart(page, start))
  }

  /// Checks the chain of freeblocks. Then compares the number of bytes that are in no cell and no freeblock with the
  /// number of fragmented bytes in the header. The comparison is skipped if `isAccountable` is false, which means that
  /// cells are damaged.
  private mutating func accountForSpace(
    _ page: RawSpan, _ header: BTreePage, _ isAccountable: Bool, _ number: UInt32,
    _ at: (member: Finding.Member, offset: Int64), _ name: String
  ) {
    let usableSize = header.usableSize
    let (headerStart, contentStart) = Self.starts(page, header)
    var isAccountable = isAccountable
    var chain = FreeblockChain(
      first: Int(page.uint16(at: headerStart &+ 1)), usableSize: usableSize)
    while chain.offset != 0 {
      let last = chain.last
      guard chain.offset >= contentStart, let block = chain.next(page) else {
        return report(
          .freeblockBadChain,
          chain.isBackwards && last > 0
            ? "the chain of freeblocks goes back from byte \(last) to \(chain.offset)"
            : "the chain of freeblocks leads to byte \(chain.offset), outside the cell content area",
          number, at, name, last == 0 ? headerStart + 1 : last)
      }
      guard block.size >= 4, block.end <= usableSize else {
        return report(
          .freeblockBadSize,
          "the freeblock at byte \(block.offset) has an impossible size of \(block.size) bytes",
          number, at, name, block.offset)
      }
      // SQLite joins two freeblocks if there are fewer than four bytes between them.
      guard chain.offset == 0 || chain.offset > block.end &+ 3 else {
        return report(
          .freeblockBadChain,
          "the freeblock at byte \(block.offset) has \(block.size) bytes, but the next freeblock starts at byte \(chain.offset)",
          number, at, name, block.offset)
      }
      if !space.take(block.offset, block.size) {
        report(
          .freeblockOverlap, "the freeblock at byte \(block.offset) overlaps a cell",
          number, at, name, block.offset)
        isAccountable = false
      }
    }
    guard isAccountable else { return }
    let fragments = usableSize &- contentStart &- space.taken
    let counted = Int(page.byte(at: headerStart &+ 7))
    if fragments != counted {
      report(
        .pageBadFragments,
        "the free space does not add up: \(fragments) bytes belong to no cell or freeblock, but the header counts \(counted) fragmented bytes",
        number, at, name, headerStart + 7)
    }
  }

  // MARK: - Overflow

  private mutating func finishSpills(
    _ pending: Pending, _ tree: borrowing Tree, _ counts: inout Counts, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    guard !spills.isEmpty else { return }
    let place = reader.location(of: pending.page)
    let isCut = reader.storedLength(of: pending.page) < reader.usableSize
    for index in spills.indices {
      let spill = spills[index]
      payload.removeAll(keepingCapacity: true)
      if let page = try reader.page(pending.page) { append(page.part(spill.start, spill.local)) }
      var loss = spill.loss
      let isWhole = try follow(spill, pending.page, tree, place, &loss, &counts, &reader)
      if let key = spill.rowID, tree.rules.keys >= 0 { records.keys[tree.rules.keys].insert(key) }
      guard isWhole else {
        if isCut { counts.entries -= 1 }
        records.incompleteSums.formUnion(tree.rules.sumNumbers)
        continue
      }
      let record = payload
      if tree.hasRows, record.count == spill.total {
        self.loss.add(loss.judged(record.rawSpan, isUTF16: encoding != .utf8))
      }
      if record.count == spill.total,
        records.passes(record.rawSpan, rowID: spill.rowID, tree.rules)
      {
        continue
      }
      if let defect = records.check(
        record.rawSpan, total: spill.total, rowID: spill.rowID, tree.rules,
        ValuePlace(
          member: place.member, page: pending.page, offset: place.offset + Int64(spill.cell),
          rowID: spill.rowID))
      {
        if isCut, Self.isUnreadable(defect.id) { counts.entries -= 1 }
        report(defect.id, defect.message, pending.page, place, tree.name, spill.cell)
      }
    }
    spills.removeAll(keepingCapacity: true)
  }

  /// Claims the pages of an overflow chain (file format, section 1.7 "Cell Payload Overflow Pages"), and collects the
  /// payload. Adds to `loss` what the pages show about lost disk sectors.
  /// - Returns: whether the chain has all bytes of the payload.
  private mutating func follow(
    _ spill: Spill, _ owner: UInt32, _ tree: borrowing Tree,
    _ place: (member: Finding.Member, offset: Int64), _ loss: inout PayloadLoss,
    _ counts: inout Counts, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Bool {
    let piece = reader.usableSize - 4
    var next = spill.firstPage
    var parent = owner
    var done = spill.local
    while next != 0 {
      if done >= spill.total {
        report(
          .overflowTooLong,
          "an overflow chain continues at page \(next), after the end of its payload", owner, place,
          tree.name, spill.cell)
        return true
      }
      let before = map.claim(next, as: .overflow, owner: tree.number, parent: parent)
      if let before {
        report(
          .pageReferencedTwice,
          "an overflow chain leads to this page, which is already in use as \(before.kind.words)",
          next, reader.location(of: next), tree.name)
        return false
      }
      let wanted = min(piece, spill.total - done)
      let isCut = reader.storedLength(of: next) < reader.pageSize
      let following: UInt32
      do {
        guard let page = try reader.page(next) else {
          map.change(next, to: .unreadable)
          break
        }
        following = page.uint32(at: 0)
        let room = Self.gatherLimit - payload.count
        if room >= wanted, !isCut {
          loss.add(overflow: page, wanted, after: payload)
        }
        if room > 0 { append(page.part(4, min(wanted, room))) }
      }
      if isCut {
        counts.isWhole = false
        findings.add(
          .cutPage(next, reader.location(of: next), tree.name.isEmpty ? nil : tree.name))
      }
      counts.overflowPages += 1
      pagesDone += 1
      if pagesDone & 0xff == 0, let onPages { onPages(pagesDone) }
      done += wanted
      parent = next
      next = following
    }
    guard done >= spill.total else {
      report(
        .overflowBroken, Finding.brokenChain(at: next, after: done, of: spill.total),
        owner, place, tree.name, spill.cell)
      return false
    }
    return true
  }

  private mutating func append(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe payload.append(contentsOf: $0) }
  }

  // MARK: - Findings

  @inline(never)
  private mutating func report(
    _ id: Finding.ID, _ message: String, _ page: UInt32,
    _ place: (member: Finding.Member, offset: Int64), _ table: String, _ offsetInPage: Int = 0
  ) {
    findings.add(
      Finding(
        id, message, member: place.member, page: page,
        offset: page == 0 ? nil : place.offset + Int64(offsetInPage),
        table: table.isEmpty ? nil : table))
  }
}
