import SQLiteFile

extension DamagedDatabase {
  /// The leaves of one b-tree, or of the remains of a b-tree: their number, and a sample of their page numbers.
  struct Group {
    private(set) var sample: [UInt32] = []
    private var pageCount = 0

    /// Counts a leaf. ``sample`` gets the page numbers of the first 12 leaves, and then of the 16th, the 32nd, the 64th
    /// leaf and so on, so that the sample is spread over the whole b-tree.
    mutating func add(_ page: UInt32) {
      pageCount += 1
      if sample.count < DamagedDatabase.sampleCount || pageCount.nonzeroBitCount == 1 {
        sample.append(page)
      }
    }
  }

  /// The maximum number of steps from a page up to its root page. SQLite allows a depth of 20 (BTCURSOR_MAX_DEPTH).
  private static let maxDepth = 24
  private static let sampleCount = 12
  private static let maxCompared = 512
  /// A limit on ambiguous attribution. If the rows of a b-tree fit more tables than this, neither indexes nor row ids
  /// assign the b-tree to a table. If more b-trees than this have rows that fit several tables, indexes assign none of
  /// these b-trees.
  private static let maxAlike = 64
  /// The maximum number of steps from table to table in the search for a cycle of tables that have exchanged their root
  /// pages. Longer cycles are not recognised.
  private static let maxCycleSteps = 8
  /// The maximum number of b-trees whose rows fit several tables and that are assigned to one of these tables by their
  /// row ids. Further b-trees of this kind are ignored.
  private static let maxTrees = 1 << 14

  /// Returns the root page of the b-tree to which `page` belongs. If no ancestor of `page` is a known root page,
  /// returns the topmost known ancestor. The attribution is `.pointerMap` if a parent on the way up is known only from
  /// the pointer map, otherwise `.root`.
  ///
  /// `roots`: the table of each known root page.
  func root(of page: UInt32, _ roots: [UInt32: Int]) throws(SQLiteFileError) -> (
    page: UInt32, attribution: Attribution
  ) {
    var current = page
    var attribution = Attribution.root
    // A rejected page is misplaced: pointers to its page number mean the page that it has replaced.
    if census.rejected.contains(page) { return (page, .root) }
    for _ in 0..<Self.maxDepth {
      if roots[current] != nil { return (current, attribution) }
      let parent = census.parent(current)
      var entry: PointerMap.Entry?
      if parent == 0 || census.rejected.contains(parent)
        || (census.disputed.contains(current) && !census.reached.contains(current))
      {
        entry = try map.entry(of: current, &reader)
      }
      if let entry, entry.kind == .bTree {
        if entry.parent != parent { attribution = .pointerMap }
        current = entry.parent
      } else if let entry, entry.kind == .root {
        return (current, attribution)
      } else if parent != 0, !census.free.contains(parent), !census.rejected.contains(parent) {
        current = parent
      } else {
        break
      }
    }
    return (current, attribution)
  }

  /// Assigns each live leaf of a table, and each page of a WITHOUT ROWID table, to a table of the schema. The evidence
  /// is the root page or, if it decides nothing, the rows, an index or the row ids.
  ///
  /// Sets ``roots``, ``owners`` and the owners in the census. Adds a finding for each contradiction between the file
  /// and the schema.
  func attribute() throws(SQLiteFileError) {
    census.forgetOwners()
    narrowed = narrowedByKeys
    guard !tables.isEmpty else { return }
    var roots: [UInt32: Int] = [:]
    for (index, table) in tables.enumerated() {
      guard let root = table.rootPage, !table.isDropped else { continue }
      if try isChild(root) {
        findings.add(
          Finding(
            .schemaBadRoot,
            "the schema names this page as a root page, but it is inside another b-tree",
            page: root, offset: reader.location(of: root).offset, table: table.name))
      } else if let first = roots[root], !SQLName.isSame(tables[first].name, table.name) {
        findings.add(
          Finding(
            .pageOtherTable,
            "the schema names this page as the root page of several tables; its rows are assigned to the table \(tables[first].name)",
            page: root, offset: reader.location(of: root).offset, table: table.name))
      } else {
        roots[root] = index
      }
    }
    var groups: [UInt32: Group] = [:]
    let schema = Set(schemaLeaves)
    var current = (root: UInt32(0), group: Group())
    try forEachLeaf(roots) { page, root, attribution in
      // Rows of the schema table belong to no user table.
      if root == 1 || schema.contains(page) { return }
      // Most leaves follow another leaf of the same tree.
      if root != current.root {
        groups[current.root] = current.group
        current = (root, groups[root] ?? Group())
      }
      current.group.add(page)
    }
    groups[current.root] = current.group
    groups[0] = nil
    var owners: [UInt32: (table: Int, attribution: Attribution)] = [:]
    // B-trees that the schema does not name and whose rows match no table.
    var unmatched: Set<UInt32> = []
    // B-trees that the schema names come first, because their rows show what rows of each table look like.
    var matches: [UInt32: TableMatch] = [:]
    for root in groups.keys.sorted() where roots[root] != nil {
      if let group = groups[root] { matches[root] = try tableMatch(of: group, roots[root]) }
    }
    // A table leaf cannot belong to a WITHOUT ROWID table, whatever the schema says.
    for (root, named) in roots where groups[root] != nil && hasRowIDs(named) {
      owners[root] = (named, .root)
      guard let match = matches[root], match.contradicts(named), let other = match.best else {
        continue
      }
      if owns(other, root, of: named, match, roots, matches) {
        owners[root] = (other, .shape)
      }
    }
    // A leaf without any fitting row may be misplaced, so the shapes do not learn from such a leaf here. They learn
    // from it in the second call, after the misplaced leaves have been removed.
    try learn(from: groups, owners, matches, strictly: true)
    for (page, root) in try misfits(roots.filter { owners[$0.key]?.attribution == .root }) {
      walks[root]?.lose(try place(of: page))
      census.expel(page)
      narrowedByKeys[page] = nil
      narrowed[page] = nil
      reportMisplaced(page)
      isWhole = false
      groups[page, default: Group()].add(page)
      if page == root { owners[root] = nil }
    }
    try learn(from: groups, owners, matches, strictly: false)
    for root in groups.keys.sorted()
    where roots[root].map({ !hasRowIDs($0) }) ?? true || census.rejected.contains(root) {
      guard let group = groups[root] else { continue }
      let match = try tableMatch(of: group, nil)
      matches[root] = match
      if let best = match.best { owners[root] = (best, .shape) }
      if match.rows > 0, !match.fitsAnyTable { unmatched.insert(root) }
    }
    var alike: [UInt32: [Int]] = [:]
    for root in matches.keys.sorted() where alike.count < Self.maxTrees {
      guard let match = matches[root] else { continue }
      // A table with a complete b-tree lacks no pages, so it cannot own a b-tree that the schema does not name.
      let tables = match.alike.filter {
        roots[root] != nil || self.tables[$0].rootPage.flatMap { walks[$0] }?.isWhole != true
      }
      if tables.count > 1, tables.count <= Self.maxAlike { alike[root] = tables }
      if tables.count == 1, match.alike.count > 1, roots[root] == nil {
        owners[root] = (tables[0], .shape)
      }
    }
    if alike.count <= Self.maxAlike {
      let judged = try judgedByIndexes(alike, roots)
      for (root, table) in judged.sorted(by: { $0.key < $1.key }) {
        // The table owns the b-tree of `root`, because an index agrees with that b-tree. Then the b-tree `own`, which
        // the schema assigns to the table, has no known table if the rows of `own` fit several tables.
        if let own = tables[table].rootPage, own != root, alike[own] != nil, judged[own] != table {
          owners[own] = nil
        }
        if let named = roots[root] {
          findings.add(
            Finding(
              .schemaOtherRoot,
              "the schema assigns this b-tree to \(tables[named].name), but its rows match an index of \(tables[table].name) and are read as rows of \(tables[table].name)",
              page: root, offset: reader.location(of: root).offset, table: tables[table].name))
        }
        owners[root] = (table, .shape)
      }
    }
    for (root, table) in try siblings(
      of: alike.filter { owners[$0.key] == nil }, roots, owners.mapValues(\.table))
    {
      owners[root] = (table, .sibling)
    }
    self.roots = roots
    self.owners = owners.mapValues(\.table)
    try judgeOrphans(unmatched: unmatched)
    var owner: (table: Int, attribution: Attribution)?
    current.root = 0
    try forEachLeaf(roots) { page, root, attribution in
      guard root != 1, !schema.contains(page) else { return }
      if root != current.root {
        current.root = root
        owner = self.owners[root] == nil ? nil : owners[root]
      }
      guard let owner else { return }
      let evidence = owner.attribution == .root ? attribution : owner.attribution
      census.setOwner(of: page, owner.table, evidence)
    }
    try claimHeaderless()
    try judgeByIndexes()
    guard tables.contains(where: { $0.definition.isWithoutRowID }) else { return }
    for page in 2...max(2, pageCount) where census.kind(page).isIndex && !census.free.contains(page)
    {
      let found = try root(of: page, roots)
      guard let table = roots[found.page], tables[table].definition.isWithoutRowID else { continue }
      census.setOwner(of: page, table, found.attribution)
    }
    try tellOfForeignIndexes()
  }

  /// Whether a page is a table leaf that belongs below the interior page that leads to it. True if a walk has reached
  /// the leaf. Otherwise the pointer map decides. If the map has no entry for the leaf, the row ids on the leaf must
  /// agree with the keys on the interior page.
  func isChild(_ page: UInt32) throws(SQLiteFileError) -> Bool {
    let parent = census.parent(page)
    guard parent != 0, !census.free.contains(parent), census.kind(page) == .tableLeaf else {
      return false
    }
    // The walk has compared the row ids of reached pages with the keys.
    if census.reached.contains(page) { return true }
    if let entry = try map.entry(of: page, &reader) { return entry.kind == .bTree }
    var buffer = ContiguousArray<UInt8>()
    guard try reader.copy(page, into: &buffer) == layout.pageSize else { return false }
    var reading = newReading()
    reading.read(buffer.rawSpan, number: page, available: layout.pageSize, shape: nil)
    guard let least = reading.cells.map(\.rowID).min(), let most = reading.cells.map(\.rowID).max(),
      try reader.copy(parent, into: &buffer) == layout.pageSize
    else { return false }
    let bytes = buffer.rawSpan
    let count = min(Int(bytes.uint16(at: 3)), (layout.usableSize - 12) / 2)
    var floor = Int64.min
    for index in 0..<count {
      let start = Int(bytes.uint16(at: 12 + 2 * index))
      guard start + 5 <= layout.usableSize,
        let key = Varint.read(bytes, at: start + 4, end: layout.usableSize)
      else { return false }
      let ceiling = Int64(bitPattern: key.value)
      if bytes.uint32(at: start) == page { return least > floor && most <= ceiling }
      floor = ceiling
    }
    return least > floor && bytes.uint32(at: 8) == page
  }

  /// Returns the index in ``tables`` of the table whose b-tree contains this interior page; nil if the table is not
  /// known.
  func owner(ofInterior page: UInt32) throws(SQLiteFileError) -> Int? {
    let root = try root(of: page, roots).page
    return owners[root] ?? roots[root]
  }

  func forEachLeaf(
    _ roots: [UInt32: Int],
    _ visit: (_ page: UInt32, _ root: UInt32, _ attribution: Attribution) -> Void
  ) throws(SQLiteFileError) {
    var page: UInt32 = 1
    var named = PageSet(pageCount: pageCount)
    for root in roots.keys { _ = named.insert(root) }
    // Most leaves follow another leaf with the same parent.
    var last: (parent: UInt32, found: (page: UInt32, attribution: Attribution))?
    while page <= pageCount {
      page = census.next(from: page)
      defer { page += 1 }
      if census.kind(page) == .other,
        census.parent(page) != 0 || mappedTreePages.contains(page) || named.contains(page),
        try isRuinedLeaf(page, roots)
      {
        census.set(page, .ruinedLeaf)
      }
      guard census.isLiveLeaf(page), page > 1 else { continue }
      let parent = census.parent(page)
      let isOrdinary =
        parent != 0 && !census.free.contains(parent) && !census.disputed.contains(page)
        && !named.contains(page)
      if isOrdinary, let last, last.parent == parent {
        visit(page, last.found.page, last.found.attribution)
        continue
      }
      let found = try root(of: page, roots)
      if isOrdinary { last = (parent, found) }
      visit(page, found.page, found.attribution)
    }
  }

  /// Whether a page without a readable header was a leaf of a table. The schema, an interior page of a table or the
  /// pointer map must show that the page belongs to a b-tree. The page must not be free, and must not have been an
  /// interior page.
  private func isRuinedLeaf(_ page: UInt32, _ roots: [UInt32: Int]) throws(SQLiteFileError) -> Bool
  {
    if census.free.contains(page) || mappedParents.contains(page) { return false }
    let parent = census.parent(page)
    let isOfTable =
      if let table = roots[page] {
        hasRowIDs(table)
      } else if parent != 0 {
        census.kind(parent) == .tableInterior
      } else {
        mappedTreePages.contains(page)
      }
    guard isOfTable else { return false }
    return try !isRuinedInterior(page)
  }

  /// Whether a page that cannot be read as a b-tree page was an interior page of a table. One of two facts is required:
  /// - The page has the header and the cell pointers of an interior page.
  /// - The last bytes of the page are a cell that leads to a child page, and the pointer map names `page` as the parent
  ///   of the child. If the map has no entry for the child, the child must be a table page without a known parent.
  ///
  /// Rows on `page` prove nothing, because they may be left over from an earlier use of the page.
  private func isRuinedInterior(_ page: UInt32) throws(SQLiteFileError) -> Bool {
    var buffer = ContiguousArray<UInt8>()
    let available = try reader.copy(page, into: &buffer)
    if available > 0, isInteriorByHeader(buffer.rawSpan, page) {
      // The search for deleted rows also looks at interior pages.
      census.set(page, .tableInterior)
      return true
    }
    // The file may end within the page.
    guard available == layout.pageSize else { return false }
    let end = layout.usableSize
    // A cell: the number of the child, and a key (file format, section 1.6).
    for length in 5...13 {
      let start = end - length
      let child = buffer.rawSpan.uint32(at: start)
      guard child >= 2, child <= pageCount, child != page,
        let key = Varint.read(buffer.rawSpan, at: start + 4, end: end), key.length == length - 4
      else { continue }
      if let entry = try map.entry(of: child, &reader) {
        if entry.kind == .bTree, entry.parent == page { return true }
        continue
      }
      guard census.parent(child) == 0, !census.free.contains(child) else { continue }
      switch census.kind(child) {
      case .tableInterior: return true
      case .tableLeaf:
        var content = ContiguousArray<UInt8>()
        let most = try reading(of: child, &content)?.cells.map(\.rowID).max()
        if let most, most <= Int64(bitPattern: key.value) { return true }
      default: continue
      }
    }
    return false
  }

  /// Whether a page has the header and the cell pointers of an interior page of a table. The cells are not checked.
  private func isInteriorByHeader(_ page: RawSpan, _ number: UInt32) -> Bool {
    let count = Int(page.uint16(at: 3))
    let right = page.uint32(at: 8)
    let floor = 12 + 2 * count
    // The right-most child, which the header names, may be past the end of a truncated file.
    let last = max(pageCount, layout.statedPageCount)
    guard page.byte(at: 0) == BTreePage.Kind.interiorTable.rawValue, count > 0,
      floor + 5 * count <= layout.usableSize, right >= 2, right <= last, right != number
    else { return false }
    return (0..<count).allSatisfy { index in
      let start = Int(page.uint16(at: 12 + 2 * index))
      return start >= floor && start + 5 <= layout.usableSize
    }
  }

  /// How well the rows of a b-tree, or of its remains, match the expected tables.
  private struct TableMatch {
    /// The number of rows that were compared.
    var rows = 0
    /// `namedFits`: the number of compared rows that look like rows of the table that the schema names for the b-tree.
    /// `namedPossible`: the number of compared rows that this table could contain, whatever they look like.
    var namedFits = 0
    var namedPossible = 0
    /// The table that the rows of the b-tree match best; nil if they match no table, or several tables equally well.
    var best: Int?
    /// The tables whose shape fits all compared rows of the b-tree.
    var alike: [Int] = []
    /// Whether at least half of the rows of the b-tree fit the same table. Always true if there are more than
    /// ``maxCompared`` tables, because the rows are then not compared with every table.
    var fitsAnyTable = false

    /// Whether fewer than half of the rows fit the table `named`, and nearly all rows fit one other table, ``best``.
    func contradicts(_ named: Int) -> Bool {
      rows > 0 && namedFits * 2 < rows && best != nil && best != named
    }
  }

  private func tableMatch(of group: Group, _ named: Int?) throws(SQLiteFileError) -> TableMatch {
    var reading = newReading()
    var buffer = ContiguousArray<UInt8>()
    var fits = [Int](repeating: 0, count: shapes.count)
    var can = fits
    var types = RecordTypes()
    var match = TableMatch()
    // With very many tables, rows are compared only with the table that the schema names, or with the first 512 tables.
    let compared =
      (shapes.count <= Self.maxCompared
      ? Array(shapes.indices) : named.map { [$0] } ?? Array(0..<Self.maxCompared))
      .filter(hasRowIDs)
    let inPlace = group.sample.filter { !census.rejected.contains($0) }
    for page in inPlace.isEmpty ? group.sample : inPlace {
      let available = try reader.copy(page, into: &buffer)
      guard available > 0 else { continue }
      reading.read(
        buffer.rawSpan, number: page, available: available, shape: named.map { shapes[$0] })
      match.rows += tally(reading.cells, buffer.rawSpan, compared, &types, &fits)
      for cell in reading.cells where types.read(cell, buffer.rawSpan) {
        if let named {
          match.namedPossible += shapes[named].canHold(types) ? 1 : 0
        } else {
          for table in compared
          where types.types.count == shapes[table].fields.count && shapes[table].canHold(types) {
            can[table] += 1
          }
        }
      }
    }
    guard match.rows > 0 else { return match }
    if let named { match.namedFits = fits[named] }
    match.alike = fits.indices.filter { fits[$0] == match.rows }
    match.fitsAnyTable = shapes.count > Self.maxCompared || fits.contains { $0 * 2 >= match.rows }
    let good = fits.indices.filter { fits[$0] * 10 >= match.rows * (named == nil ? 8 : 9) }
    if let best = good.max(by: { weight($0, fits) < weight($1, fits) }),
      good.count(where: { weight($0, fits) == weight(best, fits) }) == 1
    {
      // Any row fits an unconstrained table. So an unconstrained table does not win over a constrained table that lacks
      // pages and could hold these rows.
      let hasRival =
        named == nil && shapes[best].isUnconstrained
        && compared.contains { other in
          can[other] * 10 >= match.rows * 9 && !shapes[other].isUnconstrained
            && tables[other].rootPage.flatMap { walks[$0] }?.isWhole == false
        }
      if !hasRival { match.best = best }
    }
    return match
  }

  /// Whether a b-tree belongs to `table`, although the schema assigns the b-tree to the table `named`. In SQLite any
  /// column can hold anything, so rows that look like rows of `table` do not suffice. One of three further facts is
  /// required:
  /// - The schema names the same root page for both tables.
  /// - The root page of `table` is unusable, and `named` could hold fewer than half of the rows.
  /// - Tables have exchanged their root pages in a cycle.
  private func owns(
    _ table: Int, _ root: UInt32, of named: Int, _ match: TableMatch, _ roots: [UInt32: Int],
    _ matches: [UInt32: TableMatch]
  ) -> Bool {
    guard let own = tables[table].rootPage, !tables[table].isDropped else { return false }
    if own == root { return true }
    // From here on, the only evidence for `table` is that the rows look like rows of `table`.
    let cannotBeNamed = match.namedPossible * 2 < match.rows
    if roots[own] == nil { return cannotBeNamed }
    switch census.kind(own) {
    case .tableLeaf, .tableInterior, .ruinedLeaf: break
    default: return cannotBeNamed
    }
    var next = table
    for _ in 0..<Self.maxCycleSteps {
      guard let root = tables[next].rootPage, let match = matches[root],
        match.contradicts(next), let best = match.best
      else { return false }
      if best == named { return true }
      next = best
    }
    return false
  }

  /// Adapts the expected shape of each table to its unusual rows: rows that were stored before a column was added, and
  /// rows with unexpected storage classes.
  ///
  /// `strictly`: whether to skip leaves on which no row fits the table.
  private func learn(
    from groups: [UInt32: Group], _ owners: [UInt32: (table: Int, attribution: Attribution)],
    _ matches: [UInt32: TableMatch], strictly: Bool
  ) throws(SQLiteFileError) {
    var reading = newReading()
    var buffer = ContiguousArray<UInt8>()
    var types = RecordTypes()
    for root in matches.keys.sorted() {
      guard let owner = owners[root], owner.attribution == .root, let group = groups[root],
        let match = matches[root], match.rows == 0 || match.namedFits * 10 < match.rows * 9
      else { continue }
      let table = owner.table
      for page in group.sample where !census.rejected.contains(page) {
        guard try reader.copy(page, into: &buffer) == layout.pageSize else { continue }
        reading.read(
          buffer.rawSpan, number: page, available: layout.pageSize, shape: shapes[table])
        let isSound = reading.method == .pointers
        if !isSound {
          reading.read(buffer.rawSpan, number: page, available: layout.pageSize, shape: nil)
        }
        // On a page that contradicts itself, learn only from rows with one field per column, and only if most rows are
        // like that.
        let teachers = reading.cells.filter {
          types.read($0, buffer.rawSpan)
            && (isSound
              || types.types.count == shapes[table].fields.count && shapes[table].canHold(types))
        }
        guard isSound || teachers.count * 2 > reading.cells.count else { continue }
        if strictly, isSound,
          !teachers.contains(where: {
            types.read($0, buffer.rawSpan) && shapes[table].fits(types)
          })
        {
          continue
        }
        for cell in teachers where types.read(cell, buffer.rawSpan) {
          shapes[table].learn(types)
        }
      }
    }
  }

  /// For each table in `compared`, adds to `fits` the number of cells that look like rows of the table.
  ///
  /// - Returns: the number of cells with a valid record header, including cells that fit no table.
  func tally(
    _ cells: ContiguousArray<LeafCell>, _ page: RawSpan, _ compared: [Int],
    _ types: inout RecordTypes, _ fits: inout [Int]
  ) -> Int {
    var rows = 0
    for cell in cells where types.read(cell, page) {
      rows += 1
      let body = cell.record + cell.payload - types.bodyLength
      for index in compared where shapes[index].fits(types) {
        if shapes[index].fitsValues(
          types, page, body: body, end: cell.record + cell.local, encoding: layout.textEncoding)
        {
          fits[index] += 1
        }
      }
    }
    return rows
  }

  func hasRowIDs(_ table: Int) -> Bool { !tables[table].definition.isWithoutRowID }

  private func weight(_ table: Int, _ fits: [Int]) -> Int {
    fits[table] * 4 + shapes[table].weight
  }
}
