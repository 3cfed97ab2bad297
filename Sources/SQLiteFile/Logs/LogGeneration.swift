/// Determines whether a write-ahead log belongs to the present content of the main file.
///
/// A log does not identify the file that it was written for: SQLite applies any log with valid checksums to the main
/// file beside it. The two files may come from different times, for example if they were copied at different times, if
/// a backup was restored beside a newer log, or if an old log was put back after a checkpoint of its content and
/// further changes. The pages of both files together are then a state that never existed.
///
/// A log that SQLite would use is taken to belong to the main file unless one of these facts contradicts this:
///
/// 1. The main file's change counter is ahead of the counter on the log's newest page 1. A checkpoint copies page 1, so
///    the main file's counter may be equal to the log's but never greater. In each of the two database headers, both
///    copies of the counter must agree, so that one flipped bit does not decide. The main file alone must not have more
///    contradictions than both files together.
/// 2. The b-trees to which pages of the log belong contradict themselves when they are read from both files together.
///    When they are read from the main file alone, they have fewer than an eighth of the contradictions. What SQLite
///    commits is consistent, and a checksum protects each frame, so a log that belongs to the main file cannot break a
///    consistent b-tree.
/// 3. Some numbers in the main file are greater than in the log although these numbers never decrease, and neither the
///    change counter nor any such number is less in the main file. The numbers are the schema cookie, the `Z_OPT`
///    values of rows, and last keys (`Z_MAX`, `sqlite_sequence`). At least two numbers must be greater, or one last key
///    that differs by more than one flipped bit. (The change counter alone does not show all changes: it stays the same
///    within one connection.)
///
/// If the main file alone cannot be read, the log is taken to belong to the main file.
package struct LogGeneration {
  package enum Verdict: Equatable {
    /// The main file was changed after the log's last commit.
    case older
    /// The main file alone is consistent, but its pages and the pages of the log contradict each other.
    case other

    /// Returns the finding about the log. `isUsed`: whether the pages of the log are read as the newest pages, as
    /// SQLite reads them.
    package func finding(isUsed: Bool) -> Finding {
      let reason =
        self == .older
        ? "the main file was changed after the log's last commit"
        : "the log contradicts the main file, and the main file alone is consistent"
      let use =
        isUsed
        ? "SQLite applies the log nevertheless, and so do the commands that read as SQLite does; lifeboat rows --all takes the newest rows from the main file alone"
        : "the newest rows are taken from the main file alone; the log gives only older versions of rows"
      return Finding(
        self == .older ? .walOlderThanMain : .walOtherGeneration, "\(reason); \(use)",
        member: .wal, offset: 0)
    }
  }

  private let main: ByteFile
  private let log: ByteFile
  private let offsets: [UInt32: Int64]
  private let pageCount: UInt32
  private let pageSize: Int
  /// The offset of page 1 in the main file, in bytes.
  private let origin: Int64

  /// The maximum number of pages in a log. A log with more pages is not compared with the main file; SQLite checkpoints
  /// a log long before it has so many.
  private static let maxPages = 1 << 18

  /// Returns the reason why a log does not belong to the main file; nil if the log belongs to the main file, or if the
  /// two files cannot be compared.
  ///
  /// `offsets`: for each page number, the offset of the page's newest committed content in the log. `pageCount`: the
  /// size of the database in pages after the last commit.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package static func verdict(
    main: ByteFile, log: ByteFile, offsets: [UInt32: Int64], pageCount: UInt32?, pageSize: Int,
    origin: Int64 = 0
  ) throws(SQLiteFileError) -> Verdict? {
    guard !offsets.isEmpty, offsets.count <= maxPages, let pageCount, pageCount > 0,
      let header = try main.databaseHeader(at: origin), header.pageSize == pageSize
    else { return nil }
    return try LogGeneration(
      main: main, log: log, offsets: offsets, pageCount: pageCount, pageSize: pageSize,
      origin: origin
    ).judge(header)
  }

  private func judge(_ header: DatabaseHeader) throws(SQLiteFileError) -> Verdict? {
    var newest = header
    if let offset = offsets[1] {
      guard let inLog = try log.databaseHeader(at: offset), inLog.pageSize == pageSize else {
        return nil
      }
      newest = inLog
    }
    let overlay = PageReader.Overlay(file: log, member: .wal, offsets: offsets)
    guard let both = try trees(newest, [overlay], pageCount) else { return nil }
    let isAhead =
      header.isPageCountValid && newest.isPageCountValid
      && Self.isGreater(header.changeCounter, newest.changeCounter)
    if !isAhead, both.contradictions == 0 {
      return try hasGrown(header, newest, both) ? .older : nil
    }
    let stored = UInt32(clamping: (main.size - origin + Int64(pageSize) - 1) / Int64(pageSize))
    let count = header.isPageCountValid ? header.pageCount : stored
    guard let alone = try trees(header, [], count) else { return nil }
    if isAhead, alone.contradictions <= both.contradictions { return .older }
    guard alone.contradictions * 8 < both.contradictions else { return nil }
    return try hasGrown(header, newest, both) ? .older : .other
  }

  /// Whether the counter `one` is ahead of the counter `other`. Counters wrap around, so the difference is signed.
  package static func isGreater(_ one: UInt32, _ other: UInt32) -> Bool {
    Int32(bitPattern: one &- other) > 0
  }

  /// Reads all interior pages of the b-trees, and the leaves that the log changed or whose parent the log changed (see
  /// ``ChangedTrees``). The pages are read from the main file and `overlays`. Returns nil if the schema is empty or the
  /// database looks encrypted.
  private func trees(
    _ header: DatabaseHeader, _ overlays: [PageReader.Overlay], _ pageCount: UInt32
  ) throws(SQLiteFileError) -> ChangedTrees? {
    let database: SQLiteDatabase
    do {
      database = try SQLiteDatabase(
        path: main.path, logView: .committed, main: main, header: header, overlays: overlays,
        pageCount: pageCount, origin: origin)
    } catch {
      guard error.code == .looksEncrypted else { throw error }
      return nil
    }
    guard !database.schema.entries.isEmpty else { return nil }
    var reader = database.anotherReader()
    var trees = ChangedTrees(Set(offsets.keys), pageCount: pageCount)
    try trees.walk(database.schema, firstTrunk: header.firstFreelistTrunk, &reader)
    return trees
  }

  // MARK: - Numbers that never decrease

  /// The maximum number of leaves of which the versions in the main file and in the log are compared.
  private static let maxLeaves = 4096

  /// Whether the main file is newer than the log, judged by numbers that never decrease (see ``LogGeneration``). Enough
  /// of these numbers must be greater in the main file, and no such number may be less.
  private func hasGrown(
    _ header: DatabaseHeader, _ newest: DatabaseHeader, _ trees: ChangedTrees
  ) throws(SQLiteFileError) -> Bool {
    if Self.isGreater(newest.changeCounter, header.changeCounter) { return false }
    if Self.isGreater(newest.schemaCookie, header.schemaCookie) { return false }
    var greater = Self.isGreater(header.schemaCookie, newest.schemaCookie) ? 1 : 0
    for (page, table) in trees.leaves.sorted(by: { $0.key < $1.key }).prefix(Self.maxLeaves) {
      guard let field = Self.growingField(of: table), let offset = offsets[page] else { continue }
      let old = ContiguousArray(
        try main.bytes(at: origin + (Int64(page) - 1) * Int64(pageSize), count: pageSize))
      let new = ContiguousArray(try log.bytes(at: offset, count: pageSize))
      if old == new { continue }
      let isLastKey = Self.growingName(in: table) != "Z_OPT"
      let here = numbers(old.rawSpan, header, field)
      let there = numbers(new.rawSpan, newest, field)
      for (rowID, number) in here {
        guard let other = there[rowID], number != other else { continue }
        if number < other { return false }
        greater += isLastKey && (number ^ other).nonzeroBitCount > 1 ? 2 : 1
      }
    }
    return greater >= 2
  }

  private static func growingField(of table: Table) -> Int? {
    guard let definition = table.definition, !definition.isWithoutRowID else { return nil }
    let name = growingName(in: table)
    return definition.storedOrder.firstIndex {
      SQLName.isSame(definition.columns[$0].name, name)
    }
  }

  /// Returns the name of the column whose value never decreases when a row of the table is updated: `seq`, `Z_MAX` or
  /// `Z_OPT`.
  private static func growingName(in table: Table) -> String {
    if SQLName.isSame(table.name, "sqlite_sequence") { return "seq" }
    return SQLName.isSame(table.name, "Z_PRIMARYKEY") ? "Z_MAX" : "Z_OPT"
  }

  /// Returns the integers that the rows of a table leaf have in one field, keyed by row id. `field`: the index of the
  /// field in each record.
  private func numbers(_ page: RawSpan, _ header: DatabaseHeader, _ field: Int) -> [Int64: Int64] {
    guard page.byteCount == pageSize,
      let leaf = try? BTreePage(parsing: page, number: 2, usableSize: header.usableSize),
      leaf.kind == .leafTable
    else { return [:] }
    var types = RecordTypes()
    types.renewBudget(usableSize: header.usableSize)
    var numbers: [Int64: Int64] = [:]
    for index in 0..<leaf.cellCount {
      guard let start = leaf.cellStart(page, index),
        let cell = LeafCell.parse(
          page, at: start, limit: header.usableSize, usableSize: header.usableSize,
          maxPayload: 1 << 31, &types), field < types.types.count
      else { continue }
      let body = cell.record + cell.payload - types.bodyLength
      let place = types.types[..<field].reduce(body) { $0 + RecordDecoder.length(ofType: $1) }
      let type = types.types[field]
      let length = RecordDecoder.length(ofType: type)
      if type == 8 || type == 9 {
        numbers[cell.rowID] = Int64(type - 8)
      } else if (1...6).contains(type), place + length <= cell.record + cell.local {
        numbers[cell.rowID] = RecordDecoder.integer(page, place, length)
      }
    }
    return numbers
  }
}

/// The b-trees of a database, read as far as necessary to judge the changed pages: all interior pages, and the leaves
/// that were changed or whose parent was changed.
private struct ChangedTrees {
  /// The number of contradictions, for example page numbers outside the database, pages that are used twice, and row
  /// ids outside the bounds that the parent page gives.
  private(set) var contradictions = 0
  /// The changed pages that are leaves of tables, by page number, each with its table.
  private(set) var leaves: [UInt32: Table] = [:]

  private let changed: Set<UInt32>
  private let pageCount: UInt32
  private var claimed: PageSet

  /// A page that is to be walked, and the row ids that are allowed on it: those above `floor` and up to `ceiling`.
  private struct Branch {
    var page: UInt32
    var isTable: Bool
    var table: Table?
    var floor = Int64.min
    var ceiling = Int64.max
    var isBelowChanged = false
    var depth = 0
  }

  /// The maximum depth of a b-tree (SQLite's BTCURSOR_MAX_DEPTH).
  private static let deepest = 20

  init(_ changed: Set<UInt32>, pageCount: UInt32) {
    self.changed = changed
    self.pageCount = pageCount
    claimed = PageSet(pageCount: 0)
  }

  mutating func walk(_ schema: Schema, firstTrunk: UInt32, _ reader: inout PageReader)
    throws(SQLiteFileError)
  {
    claimed = PageSet(pageCount: min(pageCount, reader.pageLimit))
    let tables = Dictionary(schema.tables.map { ($0.rootPage, $0) }, uniquingKeysWith: { $1 })
    var roots: Set<UInt32> = []
    var branches = [Branch(page: 1, isTable: true)]
    for entry in schema.entries where entry.rootPage > 1 && roots.insert(entry.rootPage).inserted {
      let table = tables[entry.rootPage]
      let isTable = entry.type == "table" && table?.definition?.isWithoutRowID != true
      branches.append(Branch(page: entry.rootPage, isTable: isTable, table: table))
    }
    while let branch = branches.popLast() { try walk(branch, &branches, &reader) }
    try walkFreelist(from: firstTrunk, &reader)
  }

  private mutating func walk(
    _ branch: Branch, _ branches: inout [Branch], _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    let isConcerned = branch.isBelowChanged || changed.contains(branch.page)
    guard branch.page >= 1, branch.page <= pageCount, branch.depth <= Self.deepest else {
      contradictions += 1
      return
    }
    guard claimed.insert(branch.page) else {
      contradictions += 1
      return
    }
    let usableSize = reader.usableSize
    var children: [(page: UInt32, key: Int64?)] = []
    do {
      guard let page = try reader.page(branch.page),
        let header = try? BTreePage(parsing: page, number: branch.page, usableSize: usableSize),
        header.kind.isTable == branch.isTable
      else {
        if isConcerned { contradictions += 1 }
        return
      }
      if header.kind.isLeaf {
        if isConcerned { look(at: header, page, branch) }
        return
      }
      for index in 0..<header.cellCount {
        guard let start = header.cellStart(page, index) else { continue }
        let key =
          branch.isTable ? Varint.read(page, at: start + 4, end: usableSize)?.value : nil
        children.append((page.uint32(at: start), key.map { Int64(bitPattern: $0) }))
      }
      children.append((header.rightChild, nil))
    }
    // All children of a page are of the same kind. Leaves are read only if they or their parent were changed.
    let areLeaves = try reader.kind(of: children[0].page)?.isLeaf ?? false
    let isChanged = changed.contains(branch.page)
    var below = Branch(
      page: 0, isTable: branch.isTable, table: branch.table, isBelowChanged: isChanged,
      depth: branch.depth + 1)
    var floor = branch.floor
    for child in children {
      below.page = child.page
      below.floor = floor
      below.ceiling = min(child.key ?? branch.ceiling, branch.ceiling)
      if below.ceiling < floor, isConcerned { contradictions += 1 }
      floor = max(floor, below.ceiling)
      if !areLeaves || isChanged || changed.contains(child.page) {
        branches.append(below)
      } else if child.page < 1 || child.page > pageCount || !claimed.insert(child.page) {
        contradictions += 1
      }
    }
  }

  /// Counts a contradiction if the row ids of a leaf are outside the bounds that its parent page sets. If the log
  /// changed the leaf, the leaf is added to ``leaves``.
  private mutating func look(at leaf: BTreePage, _ page: RawSpan, _ branch: Branch) {
    if changed.contains(branch.page), let table = branch.table, branch.isTable {
      leaves[branch.page] = table
    }
    guard branch.isTable, leaf.cellCount > 0 else { return }
    let keys = [0, leaf.cellCount - 1].map { key(of: leaf, page, $0) }
    guard let first = keys[0], let last = keys[1] else { return }
    if first <= branch.floor && branch.floor > .min || last > branch.ceiling { contradictions += 1 }
  }

  private func key(of leaf: BTreePage, _ page: RawSpan, _ index: Int) -> Int64? {
    guard let start = leaf.cellStart(page, index),
      let payload = Varint.read(page, at: start, end: leaf.usableSize),
      let key = Varint.read(page, at: start + payload.length, end: leaf.usableSize)
    else { return nil }
    return Int64(bitPattern: key.value)
  }

  /// Walks the freelist and counts each free page that is also in a b-tree as a contradiction.
  private mutating func walkFreelist(from first: UInt32, _ reader: inout PageReader)
    throws(SQLiteFileError)
  {
    var trunk = first
    let most = reader.usableSize / 4 - 2
    while trunk != 0 {
      guard trunk <= pageCount, claimed.insert(trunk) else {
        contradictions += 1
        return
      }
      guard let page = try reader.page(trunk) else { return }
      trunk = page.uint32(at: 0)
      let count = min(Int(clamping: page.uint32(at: 4)), most)
      for index in 0..<count {
        let free = page.uint32(at: 8 + 4 * index)
        if free < 1 || free > pageCount || !claimed.insert(free) { contradictions += 1 }
      }
    }
  }
}
