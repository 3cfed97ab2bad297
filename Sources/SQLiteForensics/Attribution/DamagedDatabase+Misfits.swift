import SQLiteFile

extension DamagedDatabase {
  private enum Fit {
    /// At least one row of the leaf looks like a row of the table with which the leaf is compared.
    case own
    /// Nothing shows whether the leaf belongs to the table. Either no row of the leaf can be read, or the leaf has a
    /// single row, which could be in the table but does not look like a row of the table.
    case unknown
    /// No row of the leaf can be a row of the table: each has too many fields, or has values that SQLite never stores
    /// in the columns of the table.
    case never
    /// The leaf has several rows, and each of them looks unlike a row of the table. Yet the table could hold some of
    /// them.
    case odd
  }

  /// Two limits: the number of orphan leaves that are compared with tables, and the number of leaves in b-trees that
  /// are compared with other tables because their first row does not fit their own.
  private static let maxOrphans = 64
  /// Two limits: the number of b-trees whose rows are searched for on leaves outside the b-tree, and the number of
  /// tables with which one leaf is compared.
  private static let maxRoots = 64
  /// The maximum number of leaves of one b-tree for which it is tested whether they have changed places with other
  /// leaves.
  private static let maxExchangedLeaves = 4
  /// The maximum number of forms of unusual rows that are kept for each b-tree.
  private static let maxForms = 64

  /// Returns the leaves whose rows do not belong to the table of their b-tree, each with the root page of that b-tree.
  /// `roots`: the table of each root page.
  ///
  /// The row ids of such a leaf agree with the keys of its parent page, so only the values show the error. In SQLite
  /// any column can hold any value. So if no other page of the file is misplaced, some b-tree must meet two conditions:
  /// a leaf of the b-tree has only rows that its table cannot hold, and another leaf has rows of this table. A leaf of
  /// unusual rows belongs to its table if other leaves of the b-tree have rows of the same form among ordinary rows.
  func misfits(_ roots: [UInt32: Int]) throws(SQLiteFileError) -> [(page: UInt32, root: UInt32)] {
    var candidates: [(page: UInt32, root: UInt32)] = []
    // Leaves that are not free and that no b-tree leads to. The interior page that led to them may have been
    // overwritten.
    var orphans: [UInt32] = []
    try forEachLeaf(roots) { page, root, _ in
      if roots[root] != nil, !census.rejected.contains(page) { candidates.append((page, root)) }
      if roots[root] == nil, !census.free.contains(page), orphans.count < Self.maxOrphans {
        orphans.append(page)
      }
    }
    var types = RecordTypes()
    var fitting: Set<UInt32> = []
    // For each table, the forms (``LeafOutline/form``) of first rows that fit the table. A leaf with a first row of
    // such a form need not be read.
    var forms: [Int: Set<UInt16>] = [:]
    var sure: [(page: UInt32, root: UInt32)] = []
    var odd: [(page: UInt32, root: UInt32)] = []
    var strange: [(page: UInt32, root: UInt32)] = []
    // The leaves of `strange` that have rows of another table, which lacks a leaf.
    var others: Set<UInt32> = []
    for (page, root) in candidates {
      guard let table = roots[root], tables[table].isDescribed, hasRowIDs(table),
        !shapes[table].isUnconstrained
      else { continue }
      let form = census.outline(page).form
      var begins = form != 0 && forms[table]?.contains(form) == true
      if !begins {
        begins = try Self.beginsAs(shapes[table], page, layout.usableSize, &types, &reader)
      }
      if begins {
        if form != 0 { forms[table, default: []].insert(form) }
        fitting.insert(root)
        continue
      }
      if strange.count < Self.maxOrphans { strange.append((page, root)) }
      switch try fit(of: page, table) {
      case .own, .unknown: break
      case .never: sure.append((page, root))
      case .odd: odd.append((page, root))
      }
    }
    for root in Set(sure.map(\.root)).sorted().prefix(Self.maxRoots) where !fitting.contains(root) {
      guard let table = roots[root] else { continue }
      let own = sure.lazy.filter { $0.root == root }.map(\.page).prefix(Self.maxExchangedLeaves)
      var rejected: [UInt32] = []
      for page in orphans where try holdsRows(of: table, page) {
        fitting.insert(root)
        if census.rejected.contains(page) { rejected.append(page) }
      }
      if !rejected.isEmpty {
        // The leaves in `rejected` did not fit a walked b-tree because of their row ids. So the b-tree that they come
        // from lacks a leaf.
        let lacking = roots.filter { $0.value != table && walks[$0.key]?.isWhole == false }
        try noteExchange(of: own, with: rejected, lacking.sorted { $0.key < $1.key }.map(\.value))
      }
      for leaf in strange where leaf.root != root && !sure.contains(where: { $0.page == leaf.page })
      {
        guard try holdsRows(of: table, leaf.page) else { continue }
        fitting.insert(root)
        others.insert(leaf.page)
        if !odd.contains(where: { $0.page == leaf.page }) { odd.append(leaf) }
        try noteExchange(of: own, with: [leaf.page], roots[leaf.root].map { [$0] } ?? [])
      }
    }
    let isCertain = !isInPlace || sure.contains { fitting.contains($0.root) }
    guard isCertain else { return [] }
    let known = try odd.isEmpty ? [:] : unusualForms(candidates, beside: odd, roots)
    for leaf in odd {
      if !others.contains(leaf.page), try hasOnly(known[leaf.root] ?? [], leaf, roots) {
        continue
      }
      sure.append(leaf)
    }
    return sure
  }

  /// For each b-tree of `odd`, returns the forms of its unusual rows that stand among ordinary rows of the table. A form
  /// is the storage class of each field.
  ///
  /// Only a sound leaf on which most rows are ordinary shows such forms, because another leaf may itself be misplaced.
  /// `candidates`: the leaves of all b-trees. `odd`: the leaves among them that are in doubt.
  private func unusualForms(
    _ candidates: [(page: UInt32, root: UInt32)], beside odd: [(page: UInt32, root: UInt32)],
    _ roots: [UInt32: Int]
  ) throws(SQLiteFileError) -> [UInt32: [[UInt8]]] {
    var forms: [UInt32: [[UInt8]]] = [:]
    let trees = Set(Set(odd.map(\.root)).sorted().prefix(Self.maxRoots))
    let doubted = Set(odd.map(\.page))
    var types = RecordTypes()
    var buffer = ContiguousArray<UInt8>()
    for (page, root) in candidates where trees.contains(root) && !doubted.contains(page) {
      guard let table = roots[root], let reading = try reading(of: page, &buffer),
        reading.method == .pointers
      else { continue }
      var rows = 0
      var ordinary = 0
      var unusual = forms[root] ?? []
      for cell in reading.cells where types.read(cell, buffer.rawSpan) {
        rows += 1
        if shapes[table].fits(types) {
          ordinary += 1
        } else if unusual.count < Self.maxForms {
          let form = Self.form(of: types)
          if !unusual.contains(form) { unusual.append(form) }
        }
      }
      if ordinary * 2 > rows { forms[root] = unusual }
    }
    return forms
  }

  /// Whether each row of a leaf has one of `forms` or looks like a row of the table.
  private func hasOnly(
    _ forms: [[UInt8]], _ leaf: (page: UInt32, root: UInt32), _ roots: [UInt32: Int]
  ) throws(SQLiteFileError) -> Bool {
    var buffer = ContiguousArray<UInt8>()
    guard !forms.isEmpty, let table = roots[leaf.root],
      let reading = try reading(of: leaf.page, &buffer), reading.method == .pointers
    else { return false }
    var types = RecordTypes()
    for cell in reading.cells {
      guard types.read(cell, buffer.rawSpan),
        shapes[table].fits(types) || forms.contains(Self.form(of: types))
      else { return false }
    }
    return true
  }

  private static func form(of types: RecordTypes) -> [UInt8] {
    types.types.map { StorageClasses(serialType: $0).rawValue }
  }

  /// Adds leaves that may have changed places to ``exchanged``: each leaf in `leaves` that has rows of one of `tables`.
  /// If there is such a leaf, the pages in `others` are added too, because the leaf may have changed places with any of
  /// them.
  private func noteExchange(
    of leaves: some Sequence<UInt32>, with others: [UInt32], _ tables: [Int]
  ) throws(SQLiteFileError) {
    for leaf in leaves {
      for table in tables.prefix(Self.maxRoots) where try holdsRows(of: table, leaf) {
        exchanged.formUnion(others + [leaf])
        break
      }
    }
  }

  /// Whether the first row of a leaf looks like a row of a table, or cannot be read. This check is cheap and most
  /// leaves pass it, so it comes before all other checks.
  private static func beginsAs(
    _ shape: RowShape, _ page: UInt32, _ usable: Int, _ types: inout RecordTypes,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Bool {
    // A page that cannot be read proves nothing here.
    guard let bytes = try reader.page(page) else { return true }
    let start = Int(bytes.uint16(at: 8))
    guard start >= 8, start + 4 <= usable,
      let payload = Varint.read(bytes, at: start, end: usable),
      let rowID = Varint.read(bytes, at: start + payload.length, end: usable)
    else { return true }
    let record = start + payload.length + rowID.length
    guard let header = Varint.read(bytes, at: record, end: usable),
      header.value > UInt64(header.length), header.value <= UInt64(usable - record),
      types.read(bytes, record + header.length..<record + Int(header.value))
    else { return true }
    return shape.fits(types)
  }

  func holdsRows(of table: Int, _ page: UInt32) throws(SQLiteFileError) -> Bool {
    try fit(of: page, table) == .own
  }

  func mayHoldRows(of table: Int, _ page: UInt32) throws(SQLiteFileError) -> Bool {
    let fit = try fit(of: page, table)
    return fit == .own || fit == .unknown
  }

  private func fit(of page: UInt32, _ table: Int) throws(SQLiteFileError) -> Fit {
    var buffer = ContiguousArray<UInt8>()
    guard let reading = try reading(of: page, &buffer) else { return .unknown }
    var types = RecordTypes()
    var rows = 0
    var impossible = 0
    for cell in reading.cells where types.read(cell, buffer.rawSpan) {
      rows += 1
      if shapes[table].fits(types) { return .own }
      if !shapes[table].demands.allow(types) { impossible += 1 }
    }
    guard rows > 0 else { return .unknown }
    if impossible == rows { return .never }
    return rows == 1 ? .unknown : .odd
  }
}
