/// Pages that cannot be where they stand: those of another store whose clusters got in between, and older versions of pages
/// that a write never reached.
///
/// A b-tree says of each of its leaves which row ids it has (file format, section 1.6), so a leaf with others was written
/// for another place. Only looked for where pages contradict each other, as it takes another look at each leaf.
struct MisplacedRows {
  /// By page, the row ids that may stand on it; nil for none.
  private var rowIDs: [UInt32: ClosedRange<Int64>?] = [:]

  var isEmpty: Bool { rowIDs.isEmpty }

  var count: Int { rowIDs.count }

  /// Says that no row of a page belongs there.
  mutating func add(_ page: UInt32) { rowIDs[page] = .some(nil) }

  /// Says which rows of a page alone can belong there.
  mutating func add(_ page: UInt32, except rowIDs: ClosedRange<Int64>) {
    self.rowIDs[page] = rowIDs
  }

  func contains(_ page: UInt32) -> Bool { rowIDs[page] != nil }

  func contains(_ page: UInt32, rowID: Int64?) -> Bool {
    guard let allowed = rowIDs[page] else { return false }
    guard let allowed, let rowID else { return allowed == nil }
    return !allowed.contains(rowID)
  }
}

extension DamagedDatabase {
  /// Finds the pages whose rows cannot be where they stand. Once for the tables that are expected.
  func checkPlaces() throws(SQLiteFileError) {
    guard misplaced == nil else { return }
    misplaced = MisplacedRows()
    guard contradictsItself() else { return }
    var check = PlaceCheck(self)
    for root in owners.keys.sorted() {
      guard let table = owners[root], hasRowIDs(table) else { continue }
      try check.walk(root, table, self)
    }
    try check.lookAtStrays(self)
    misplaced = check.misplaced
    for (page, table) in check.owners where census.owner(page)?.table != table {
      census.setOwner(of: page, table, .root)
    }
    for page in check.misplacedPages {
      if let table = try soleOwner(of: page) {
        census.setOwner(of: page, table, .shape)
      } else {
        census.forgetOwner(of: page)
      }
    }
    guard let count = misplaced?.count, count > 0 else { return }
    findings.add(
      Finding(
        "page.misplaced",
        "\(count) page\(count == 1 ? " holds" : "s hold") rows that cannot be where they stand: of another database, or older than the pages around them; they are marked",
        page: check.misplacedPages.first))
  }

  /// Whether any page contradicts those that lead to it. Asks only what the census knows already.
  private func contradictsItself() -> Bool {
    if !census.disputed.isEmpty { return true }
    let schema = Set(schemaLeaves)
    var page: UInt32 = 2
    while page <= pageCount {
      defer { page += 1 }
      let parent = census.parent(page)
      switch census.kind(page) {
      case .tableLeaf, .tableInterior:
        if parent != 0 {
          if census.kind(parent) != .tableInterior { return true }
        } else if !census.free.contains(page), roots[page] == nil, !schema.contains(page) {
          return true
        }
      case .indexLeaf, .indexInterior:
        if census.kind(parent) == .tableInterior || roots[page].map(hasRowIDs) ?? false {
          return true
        }
      case .other, .trunk:
        if parent != 0 || roots[page] != nil { return true }
      case .missing, .zero, .pointerMap, .ruinedLeaf: break
      }
    }
    return false
  }
}

/// Walks the b-trees of tables from their roots down, and holds each leaf against the keys that lead to it.
private struct PlaceCheck {
  private(set) var misplaced = MisplacedRows()
  /// Pages that are misplaced as a whole.
  private(set) var misplacedPages: [UInt32] = []
  /// The tables of leaves that stand where keys lead to them.
  private(set) var owners: [UInt32: Int] = [:]
  /// The row ids from the first to the last one of each such leaf, by table.
  private var held: [Int: [ClosedRange<Int64>]] = [:]
  /// The indexes of the table at hand; nil where they say nothing.
  private var indexes: IndexedRows?
  private var indexed: [Int: IndexedRows] = [:]
  /// Leaves from all over each table.
  private var samples: [Int: DamagedDatabase.Group] = [:]
  /// Entries of indexes that may still be read: 16 bytes each.
  private var budget = 1 << 21
  /// Rows of a leaf of which indexes are asked.
  private static let mostIndexed = 32
  private var reached: PageSet
  private var walked: PageSet
  private var reading: LeafReading
  private var types = RecordTypes()
  private var buffer = ContiguousArray<UInt8>()

  init(_ database: DamagedDatabase) {
    reached = PageSet(pageCount: database.pageCount)
    walked = PageSet(pageCount: database.pageCount)
    reading = database.newReading()
    for page in 2...max(2, database.pageCount) {
      guard let owner = database.census.owner(page)?.table,
        database.census.isSoundLeaf(page, of: owner)
      else { continue }
      samples[owner, default: DamagedDatabase.Group()].add(page)
    }
  }

  /// What a leaf says of its place.
  private struct Look {
    var page: UInt32
    var allowed: ClosedRange<Int64>
    var rows = 0
    /// Rows whose ids belong elsewhere, and those that can be rows of the table.
    var outside = 0
    var fitting = 0
    /// Rows of which indexes say something, and those that none of them has so.
    var indexed = 0
    var refuted = 0
    var first = Int64.max
    var last = Int64.min
    var isSound = false

    /// Whether the first or the last row is the one that the keys promise.
    var isExact: Bool { first == allowed.lowerBound || last == allowed.upperBound }

    /// Whether the page is not the one that was written here. A single row with a false number is damage to that row.
    var isMisplaced: Bool {
      guard rows > 0 else { return false }
      if outside * 2 >= rows || fitting * 2 < rows { return true }
      if refuted > 1, refuted * 4 >= indexed * 3 { return true }
      return isSound && (outside > 1 || outside == 1 && !isExact)
    }
  }

  private mutating func look(
    at page: UInt32, _ allowed: ClosedRange<Int64>, _ table: Int, _ database: DamagedDatabase
  ) throws(SQLiteFileError) -> Look {
    var look = Look(page: page, allowed: allowed)
    var buffer = ContiguousArray<UInt8>()
    swap(&buffer, &self.buffer)
    defer { swap(&buffer, &self.buffer) }
    let available = try database.reader.copy(page, into: &buffer)
    guard available > 0 else { return look }
    let shape = database.shapes[table]
    reading.read(buffer.rawSpan, number: page, available: available, shape: shape)
    look.isSound = reading.method == .pointers
    for cell in reading.cells where cell.hasRowID {
      look.rows += 1
      if !allowed.contains(cell.rowID) { look.outside += 1 }
      look.first = min(look.first, cell.rowID)
      look.last = max(look.last, cell.rowID)
      // Of a header that goes on elsewhere, or that is ruined, nothing can be said.
      if !database.parse(cell, buffer.rawSpan, &types)
        || types.types.count <= shape.fields.count
          && shape.fits(types) && namesAnEntity(types, shape)
          && shape.fitsValues(
            types, buffer.rawSpan, body: cell.record + cell.payload - types.bodyLength,
            end: cell.record + cell.local, encoding: database.layout.textEncoding)
      {
        look.fitting += 1
      }
      if look.indexed < Self.mostIndexed, !cell.spills, !cell.isWrecked, let indexes,
        let isConfirmed = indexes.confirms(
          database.decode(cell, buffer.rawSpan, database.layouts[table], rowID: cell.rowID),
          cell.rowID)
      {
        look.indexed += 1
        if !isConfirmed { look.refuted += 1 }
      }
    }
    return look
  }

  /// Whether fields that hold numbers of a range, as those of entities, hold numbers; whatever else the rows of the table
  /// seem to hold may be what got in between taught.
  private func namesAnEntity(_ types: borrowing RecordTypes, _ shape: RowShape) -> Bool {
    for (index, field) in shape.fields.enumerated()
    where index < types.types.count && (field.least != .min || field.most != .max) {
      if StorageClasses(serialType: types.types[index]) != .integer { return false }
    }
    return true
  }

  private mutating func mark(_ page: UInt32) {
    guard !misplaced.contains(page) else { return }
    misplaced.add(page)
    misplacedPages.append(page)
  }

  /// Has the indexes of a table at hand.
  private mutating func askIndexes(of table: Int, _ database: DamagedDatabase)
    throws(SQLiteFileError)
  {
    if indexed[table] == nil {
      indexed[table] = try IndexedRows(
        of: table, samples[table]?.sample ?? [], database, budget: &budget)
    }
    indexes = indexed[table].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Walks one b-tree.
  mutating func walk(_ root: UInt32, _ table: Int, _ database: DamagedDatabase)
    throws(SQLiteFileError)
  {
    // A table of one leaf is named by the schema; any other topmost leaf is a stray.
    let isLeaf = database.census.kind(root) == .tableLeaf && database.roots[root] != nil
    guard isLeaf || database.census.kind(root) == .tableInterior else { return }
    try askIndexes(of: table, database)
    if isLeaf {
      _ = reached.insert(root)
      let look = try look(at: root, .min ... .max, table, database)
      if database.interiors.contains(root) || look.isMisplaced {
        mark(root)
      } else {
        hold(look, table)
      }
      return
    }
    var pending: [(page: UInt32, allowed: ClosedRange<Int64>)] = [(root, .min ... .max)]
    while let next = pending.popLast() {
      guard walked.insert(next.page),
        let children = try children(of: next.page, next.allowed, database)
      else { continue }
      var leaves: [(page: UInt32, allowed: ClosedRange<Int64>)] = []
      var inner: [(page: UInt32, allowed: ClosedRange<Int64>)] = []
      for child in children {
        switch database.census.kind(child.page) {
        case .tableLeaf, .ruinedLeaf: leaves.append(child)
        case .tableInterior: inner.append(child)
        default: break
        }
      }
      // All leaves of a b-tree are as deep.
      if inner.count > leaves.count {
        for leaf in leaves {
          _ = reached.insert(leaf.page)
          mark(leaf.page)
        }
        pending += inner.reversed()
        continue
      }
      var looks: [Look] = []
      for leaf in leaves {
        looks.append(try look(at: leaf.page, leaf.allowed, table, database))
      }
      // Where hardly a child agrees it is the page that leads to them that is wrong.
      let told = looks.count { $0.rows > 0 }
      if told > 2, looks.count(where: \.isMisplaced) * 2 > told { continue }
      for look in looks {
        _ = reached.insert(look.page)
        if look.isMisplaced {
          mark(look.page)
        } else {
          if !look.isSound, look.outside > 0 { misplaced.add(look.page, except: look.allowed) }
          hold(look, table)
          owners[look.page] = table
        }
      }
    }
  }

  private mutating func hold(_ look: Look, _ table: Int) {
    guard look.isSound, look.rows > 0, look.outside == 0 else { return }
    held[table, default: []].append(look.first...look.last)
  }

  /// The pages that an interior page leads to, and the row ids that each may have; nil when its own keys belong elsewhere.
  private mutating func children(
    of page: UInt32, _ allowed: ClosedRange<Int64>, _ database: DamagedDatabase
  ) throws(SQLiteFileError) -> [(page: UInt32, allowed: ClosedRange<Int64>)]? {
    guard try database.reader.copy(page, into: &buffer) == database.layout.pageSize else {
      return nil
    }
    let bytes = buffer.rawSpan
    let usable = database.layout.usableSize
    let base = page == 1 ? DatabaseHeader.length : 0
    let count = Int(bytes.uint16(at: base + 3))
    guard base + 12 + 2 * count <= usable else { return nil }
    var children: [(page: UInt32, allowed: ClosedRange<Int64>)] = []
    var least = allowed.lowerBound
    var strange = 0
    for index in 0..<count {
      let start = Int(bytes.uint16(at: base + 12 + 2 * index))
      guard start + 5 <= usable, let value = Varint.read(bytes, at: start + 4, end: usable) else {
        strange += 1
        continue
      }
      let key = Int64(bitPattern: value.value)
      guard key >= least, key < allowed.upperBound || allowed.upperBound == .max else {
        strange += 1
        continue
      }
      children.append((bytes.uint32(at: start), least...key))
      guard key < .max else { break }
      least = key + 1
    }
    if strange * 2 > count { return nil }
    if least <= allowed.upperBound {
      children.append((bytes.uint32(at: base + 8), least...allowed.upperBound))
    }
    return children.filter { $0.page >= 2 && $0.page <= database.pageCount && $0.page != page }
  }

  /// Looks at the leaves to which no b-tree of a table leads.
  mutating func lookAtStrays(_ database: DamagedDatabase) throws(SQLiteFileError) {
    for table in held.keys { held[table]?.sort { $0.lowerBound < $1.lowerBound } }
    let schema = Set(database.schemaLeaves)
    let hasRoot = Set(database.roots.values)
    // Where the whole schema is known, rows that are of none of its tables are not of this database.
    let hasAllRoots = database.hasAllRoots
    var page: UInt32 = 1
    while page < database.pageCount {
      page += 1
      guard database.census.kind(page) == .tableLeaf, database.census.isLiveLeaf(page),
        !reached.contains(page), !schema.contains(page)
      else { continue }
      let owner = database.census.owner(page)?.table
      if try isElsewhere(page, database) || owner == nil && hasAllRoots {
        mark(page)
      } else if let owner, hasRoot.contains(owner) {
        try askIndexes(of: owner, database)
        let look = try look(at: page, .min ... .max, owner, database)
        if look.isMisplaced || look.rows > 0 && overlaps(look.first...look.last, held[owner] ?? [])
        {
          mark(page)
        }
      }
    }
  }

  /// Whether the pointer map, or an index that leads to it, says that a leaf is no page of a table here.
  private func isElsewhere(_ page: UInt32, _ database: DamagedDatabase) throws(SQLiteFileError)
    -> Bool
  {
    if let entry = try database.map.entry(of: page, &database.reader) {
      switch entry.kind {
      case .free, .firstOverflow, .laterOverflow: return true
      case .root: return false
      case .bTree: return isIndex(entry.parent, database)
      }
    }
    return isIndex(database.census.parent(page), database)
  }

  private func isIndex(_ page: UInt32, _ database: DamagedDatabase) -> Bool {
    switch database.census.kind(page) {
    case .indexLeaf, .indexInterior: true
    default: false
    }
  }

  private func overlaps(_ range: ClosedRange<Int64>, _ ranges: [ClosedRange<Int64>]) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < range.lowerBound { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lowerBound <= range.upperBound
  }
}

extension DamagedDatabase {
  /// Whether page 1 can be read and the root of each table is a page of a table.
  fileprivate var hasAllRoots: Bool {
    guard census.kind(1) == .tableLeaf || census.kind(1) == .tableInterior, !roots.isEmpty else {
      return false
    }
    return roots.allSatisfy { root, table in
      switch census.kind(root) {
      case .tableLeaf, .tableInterior: hasRowIDs(table)
      case .indexLeaf, .indexInterior: !hasRowIDs(table)
      default: false
      }
    }
  }
}
