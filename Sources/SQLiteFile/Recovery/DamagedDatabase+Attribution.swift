extension DamagedDatabase {
  /// A b-tree, or what is left of one: pages that the same root leads to.
  struct Group {
    var sample: [UInt32] = []
    var pageCount = 0
    var attribution = Attribution.root
  }

  /// How deep b-trees can be (BTCURSOR_MAX_DEPTH of SQLite's is 20).
  private static let deepest = 24
  private static let sampleCount = 12

  /// The root that leads to a page, as far up as anything leads.
  func root(of page: UInt32, _ roots: [UInt32: Int]) throws(SQLiteFileError) -> (
    page: UInt32, attribution: Attribution
  ) {
    var current = page
    var attribution = Attribution.root
    for _ in 0..<Self.deepest {
      if roots[current] != nil { return (current, attribution) }
      let parent = census.parent(current)
      var entry: PointerMap.Entry?
      if parent == 0 || census.disputed.contains(current) {
        entry = try map.entry(of: current, &reader)
      }
      if let entry, entry.kind == .bTree {
        if entry.parent != parent { attribution = .pointerMap }
        current = entry.parent
      } else if let entry, entry.kind == .root {
        return (current, attribution)
      } else if parent != 0, !census.free.contains(parent) {
        current = parent
      } else {
        break
      }
    }
    return (current, attribution)
  }

  /// Gives each leaf to a table.
  func attribute() throws(SQLiteFileError) {
    census.forgetOwners()
    guard !tables.isEmpty else { return }
    var roots: [UInt32: Int] = [:]
    for (index, table) in tables.enumerated() {
      if let root = table.rootPage, !table.isDropped { roots[root] = index }
    }
    var groups: [UInt32: Group] = [:]
    try forEachLeaf(roots) { page, root, attribution in
      var group = groups[root] ?? Group()
      group.pageCount += 1
      // The first pages, then ever fewer: from all over the tree.
      if group.sample.count < Self.sampleCount || group.pageCount.nonzeroBitCount == 1 {
        group.sample.append(page)
      }
      groups[root] = group
    }
    var owners: [UInt32: (table: Int, attribution: Attribution)] = [:]
    for root in groups.keys.sorted() {
      guard let group = groups[root] else { continue }
      if let owner = try owner(of: group, root, roots[root]) { owners[root] = owner }
    }
    self.roots = roots
    self.owners = owners.mapValues(\.table)
    try forEachLeaf(roots) { page, root, attribution in
      guard let owner = owners[root] else { return }
      let evidence = owner.attribution == .root ? attribution : owner.attribution
      census.setOwner(of: page, owner.table, evidence)
    }
    guard tables.contains(where: { $0.definition.isWithoutRowID }) else { return }
    for page in 2...max(2, pageCount) where isIndex(page) && !census.free.contains(page) {
      let found = try root(of: page, roots)
      guard let table = roots[found.page], tables[table].definition.isWithoutRowID else { continue }
      census.setOwner(of: page, table, found.attribution)
    }
  }

  private func isIndex(_ page: UInt32) -> Bool {
    [.indexLeaf, .indexInterior].contains(census.kind(page))
  }

  /// The table whose b-tree an interior page is of; nil when that is not known.
  func owner(ofInterior page: UInt32) throws(SQLiteFileError) -> Int? {
    owners[try root(of: page, roots).page]
  }

  /// Whether a page is read as a leaf of a live table.
  func isLiveLeaf(_ page: UInt32) -> Bool {
    switch census.kind(page) {
    case .tableLeaf, .ruinedLeaf: !census.free.contains(page) || census.parent(page) != 0
    default: false
    }
  }

  private func forEachLeaf(
    _ roots: [UInt32: Int],
    _ visit: (_ page: UInt32, _ root: UInt32, _ attribution: Attribution) -> Void
  ) throws(SQLiteFileError) {
    var page: UInt32 = 1
    while page <= pageCount {
      defer { page += 1 }
      if census.kind(page) == .other, try isRuinedLeaf(page, roots) {
        census.set(page, .ruinedLeaf)
      }
      guard isLiveLeaf(page), page > 1 else { continue }
      let found = try root(of: page, roots)
      visit(page, found.page, found.attribution)
    }
  }

  /// Whether all that leads to a page says that it is a b-tree page, although its header does not.
  private func isRuinedLeaf(_ page: UInt32, _ roots: [UInt32: Int]) throws(SQLiteFileError) -> Bool {
    if census.free.contains(page) { return false }
    if let table = roots[page] { return !tables[table].definition.isWithoutRowID }
    let parent = census.parent(page)
    if parent != 0 { return census.kind(parent) == .tableInterior }
    guard let entry = try map.entry(of: page, &reader), entry.kind == .bTree || entry.kind == .root
    else { return false }
    return true
  }

  /// The table that a b-tree's rows are of.
  private func owner(of group: Group, _ root: UInt32, _ named: Int?) throws(SQLiteFileError) -> (
    table: Int, attribution: Attribution
  )? {
    var reading = LeafReading(
      usableSize: layout.usableSize, mostPayload: mostPayload, encoding: layout.textEncoding)
    var buffer = ContiguousArray<UInt8>()
    var fits = [Int](repeating: 0, count: shapes.count)
    var rows = 0
    for page in group.sample {
      let available = try reader.copy(page, into: &buffer)
      guard available > 0 else { continue }
      reading.read(
        buffer.rawSpan, number: page, available: available, shape: named.map { shapes[$0] })
      for cell in reading.cells {
        var types = RecordTypes()
        guard parse(cell, buffer.rawSpan, &types) else { continue }
        rows += 1
        let body = cell.record + cell.payload - types.bodyLength
        for (index, shape) in shapes.enumerated() where shape.fits(types) {
          if shape.rowIDs.contains(cell.rowID),
            shape.fitsValues(
              types, buffer.rawSpan, body: body, end: cell.record + cell.local,
              encoding: layout.textEncoding)
          {
            fits[index] += 1
          }
        }
      }
    }
    if let named {
      if rows == 0 || fits[named] * 2 >= rows { return (named, .root) }
      // The schema leads to rows that are not this table's: another's root, or columns that hold anything.
      if !fits.contains(where: { $0 * 10 >= rows * 9 }) { return (named, .root) }
    }
    guard rows > 0 else { return nil }
    let good = fits.indices.filter { fits[$0] * 10 >= rows * 8 }
    guard let best = good.max(by: { weight($0, fits) < weight($1, fits) }) else { return nil }
    let rivals = good.filter { weight($0, fits) == weight(best, fits) }
    guard rivals.count == 1 else { return nil }
    return (best, .shape)
  }

  private func weight(_ table: Int, _ fits: [Int]) -> Int {
    fits[table] * 4 + shapes[table].weight
  }

  /// The types of a whole cell.
  func parse(_ cell: LeafCell, _ page: RawSpan, _ types: inout RecordTypes) -> Bool {
    let limit = cell.record + cell.local
    guard let header = Varint.read(page, at: cell.record, end: limit),
      header.value <= UInt64(cell.local), header.value > UInt64(header.length)
    else { return false }
    return types.read(page, cell.record + header.length..<cell.record + Int(header.value))
  }
}
