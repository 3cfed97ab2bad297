/// Whether a write-ahead log belongs to the content that the main file has now.
///
/// A log does not name the file that it was written for: SQLite applies any log with valid checksums to the main file
/// beside it. Log and main file can come from different times: a copy was put together from two, a backup was restored
/// beside a newer log, or a log came back after its content had been checkpointed and the main file had been changed.
/// Their pages together then make a state that never existed.
///
/// A log that SQLite would use counts unless one of these facts speaks against it:
///
/// 1. The main file's change counter is ahead of the one in the log's newest page 1. A checkpoint copies page 1, so the
///    main file's counter may be equal but never greater. Both copies of the counter in the main file's header must
///    agree, so that one flipped bit does not decide, and the main file alone must not have more contradictions than
///    both files together.
/// 2. Around the log's pages, the b-trees of both files together contradict themselves, while those of the main file
///    alone do not, or do so in fewer than an eighth as many places. What SQLite commits is consistent, and a checksum
///    protects each frame, so a log that belongs here cannot break a consistent b-tree.
/// 3. Numbers that only grow are greater in the main file, and none is less. (Within one connection the change counter
///    stays the same.) Of the `Z_OPT` values of rows and the schema cookie, two must be greater. One greater last key
///    (`Z_MAX`, `sqlite_sequence`) is enough when it differs by more than one flipped bit.
///
/// Nothing speaks against the log if the main file alone cannot be read.
package struct LogGeneration {
  /// Why a log is judged not to belong to the main file.
  package enum Verdict: Equatable {
    /// The main file was changed after the log's last commit.
    case older
    /// Both files together make a state that never existed, while the main file alone is consistent.
    case other

    /// The finding about the log. `isUsed`: whether the log's pages are still read as the newest, as SQLite reads them.
    package func finding(isUsed: Bool) -> Finding {
      let reason =
        self == .older
        ? "the main file was changed after the log's last commit"
        : "the log contradicts the main file, and the main file alone is consistent"
      let use =
        isUsed
        ? "SQLite reads both together, and so does Lifeboat here (rows --all reads the main file alone as the newest state, the log as older versions)"
        : "the main file alone is read as the newest state, and the log as older versions"
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

  /// The most pages of a log that is judged: SQLite checkpoints a log long before it has so many.
  private static let maxPages = 1 << 18

  /// What speaks against a log; nil when nothing does, or when the files allow no judgement.
  ///
  /// `offsets`: the offset of each page's newest committed content in the log.
  /// `pageCount`: the size of the database after the last commit.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package static func verdict(
    main: ByteFile, log: ByteFile, offsets: [UInt32: Int64], pageCount: UInt32?, pageSize: Int
  ) throws(SQLiteFileError) -> Verdict? {
    guard !offsets.isEmpty, offsets.count <= maxPages, let pageCount, pageCount > 0,
      let header = try header(main, 0), header.pageSize == pageSize
    else { return nil }
    return try LogGeneration(main, log, offsets, pageCount, pageSize).judge(header)
  }

  private init(
    _ main: ByteFile, _ log: ByteFile, _ offsets: [UInt32: Int64], _ pageCount: UInt32,
    _ pageSize: Int
  ) {
    self.main = main
    self.log = log
    self.offsets = offsets
    self.pageCount = pageCount
    self.pageSize = pageSize
  }

  private static func header(_ file: ByteFile, _ offset: Int64) throws(SQLiteFileError)
    -> DatabaseHeader?
  {
    let bytes = ContiguousArray(try file.bytes(at: offset, count: DatabaseHeader.length))
    return try? DatabaseHeader(parsing: bytes.rawSpan)
  }

  private func judge(_ header: DatabaseHeader) throws(SQLiteFileError) -> Verdict? {
    var newest = header
    if let offset = offsets[1] {
      guard let inLog = try Self.header(log, offset), inLog.pageSize == pageSize else { return nil }
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
    let stored = UInt32(clamping: (main.size + Int64(pageSize) - 1) / Int64(pageSize))
    let count = header.isPageCountValid ? header.pageCount : stored
    guard let alone = try trees(header, [], count) else { return nil }
    if isAhead, alone.contradictions <= both.contradictions { return .older }
    guard alone.contradictions * 8 < both.contradictions else { return nil }
    return try hasGrown(header, newest, both) ? .older : .other
  }

  /// Whether counter `one` is ahead of counter `other`. Counters wrap around, so the shorter distance decides.
  package static func isGreater(_ one: UInt32, _ other: UInt32) -> Bool {
    Int32(bitPattern: one &- other) > 0
  }

  /// The b-trees of the database with these overlays, walked where the log changed them; nil when no schema can be
  /// read.
  private func trees(
    _ header: DatabaseHeader, _ overlays: [PageReader.Overlay], _ pageCount: UInt32
  ) throws(SQLiteFileError) -> ChangedTrees? {
    let database: SQLiteDatabase
    do {
      database = try SQLiteDatabase(
        SQLiteDatabase.Parts(
          path: main.path, logView: .committed, main: main, header: header, overlays: overlays,
          pageCount: pageCount, log: nil, journal: nil, findings: FindingList()))
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

  // MARK: - Numbers that only grow

  /// The most leaves that are compared. If none of these leaves differs, the whole log was checkpointed.
  private static let maxLeaves = 4096

  /// Whether numbers that only grow are greater in the main file, and none is less.
  private func hasGrown(
    _ header: DatabaseHeader, _ newest: DatabaseHeader, _ trees: ChangedTrees
  ) throws(SQLiteFileError) -> Bool {
    if Self.isGreater(newest.changeCounter, header.changeCounter) { return false }
    if Self.isGreater(newest.schemaCookie, header.schemaCookie) { return false }
    var greater = Self.isGreater(header.schemaCookie, newest.schemaCookie) ? 1 : 0
    for (page, table) in trees.leaves.sorted(by: { $0.key < $1.key }).prefix(Self.maxLeaves) {
      guard let field = Self.growingField(of: table), let offset = offsets[page] else { continue }
      let old = ContiguousArray(
        try main.bytes(at: (Int64(page) - 1) * Int64(pageSize), count: pageSize))
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

  /// The column whose values only grow as long as a row keeps its row id.
  private static func growingName(in table: Table) -> String {
    if SQLName.isSame(table.name, "sqlite_sequence") { return "seq" }
    return SQLName.isSame(table.name, "Z_PRIMARYKEY") ? "Z_MAX" : "Z_OPT"
  }

  /// The integers that the rows of a leaf have in a field, by row id.
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

/// The b-trees of a database around the changed pages: all interior pages, and the leaves that were changed or are
/// below a changed page.
private struct ChangedTrees {
  /// How often b-trees contradict themselves or each other.
  private(set) var contradictions = 0
  /// Changed pages that are leaves of a table, with their table.
  private(set) var leaves: [UInt32: Table] = [:]

  private let changed: Set<UInt32>
  private let pageCount: UInt32
  private var claimed: PageSet

  /// A page to be walked, and the bounds of its row ids.
  private struct Branch {
    var page: UInt32
    var isTable: Bool
    var table: Table?
    var floor = Int64.min
    var ceiling = Int64.max
    /// Whether the parent of the page is one of the changed pages.
    var isBelowChanged = false
    var depth = 0
  }

  /// How deep b-trees can be: SQLite's BTCURSOR_MAX_DEPTH is 20.
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
    // All children of a page are of one kind. Leaves are read only if they or their parent were changed.
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

  /// Checks a leaf: its row ids must be between those of its neighbours.
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

  /// Walks the freelist: a page of a b-tree must not be free.
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
