/// Checks a whole database: header, freelist, b-trees and their records, pointer map, orphans, index counts.
///
/// Memory: 9 bytes a page for the page map, the key sets of the tables that others refer to (``KeySet``), and the
/// payload at hand.
struct StructureCheck: ~Copyable {
  /// A b-tree of the schema.
  struct Owner {
    var name: String
    /// The table that it belongs to; its own name for a table.
    var table: String
    var root: UInt32
    var isIndex: Bool
  }

  private let database: SQLiteDatabase
  private let depth: CheckDepth
  private var reader: PageReader
  private(set) var tree: BTreeCheck
  private(set) var report = CheckReport()
  /// The b-trees by the numbers that the page map has.
  private(set) var owners: [Owner] = []
  private(set) var breaches: [DemandBreach] = []
  private let demands: [ColumnDemand]
  /// Key sets by the name of the table in small letters.
  private var keySets: [String: Int] = [:]
  private var rowCounts: [String: BTreeCheck.Counts] = [:]
  private let pageLimit: UInt32

  init(
    _ database: SQLiteDatabase, depth: CheckDepth, demands: [ColumnDemand] = [],
    onPages: ((Int) -> Void)? = nil
  ) {
    self.database = database
    self.depth = depth
    self.demands = demands
    reader = database.anotherReader()
    let pageSize = Int64(database.header.pageSize)
    let mainPages = UInt32(
      min((database.sizeBytes + pageSize - 1) / pageSize, Int64(UInt32.max - 1)))
    pageLimit = min(database.pageCount, reader.pageLimit)
    tree = BTreeCheck(mainPageCount: mainPages, encoding: database.header.textEncoding)
    tree.onPages = onPages
    tree.records.demands = ContiguousArray(demands)
    for demand in demands {
      guard let target = demand.rowIDsOf?.lowercased(), keySets[target] == nil else { continue }
      keySets[target] = tree.records.keys.count
      tree.records.keys.append(KeySet())
      tree.records.references.append(KeySet())
    }
  }

  /// Runs all parts.
  /// - Throws: ``SQLiteFileError`` when the device fails; damage never throws.
  mutating func run() throws(SQLiteFileError) {
    report.pageCount = Int(database.pageCount)
    // What opening has found of pages and rows is found again by the walk.
    let families = ["file.", "wal.", "journal."]
    for finding in database.findings.kept where families.contains(where: finding.id.hasPrefix) {
      report.findings.add(finding)
    }
    for finding in try HeaderCheck.run(database, &reader) { report.findings.add(finding) }
    claimFixedPages()
    var freelist = FreelistCheck()
    try freelist.run(database.header, pageCount: pageLimit, &tree, &reader)
    report.freePageCount = freelist.pageCount
    try walkTrees()
    // Causes before what follows from them.
    report.findings.add(tree.findings)
    tree.findings = FindingList()
    checkOrphans()
    if database.header.hasPointerMap {
      try PointerMapCheck.run(upTo: pageLimit, &tree, &reader)
    }
    try checkReferences()
    report.findings.add(tree.findings)
  }

  /// The highest row id of each table that has one, by the name in small letters.
  var highestRowIDs: [String: Int64] { rowCounts.compactMapValues(\.highestRowID) }

  /// Hands on the map, for a listing of pages.
  consuming func finished() -> (map: PageMap, owners: [Owner]) { (tree.map, owners) }

  private mutating func claimFixedPages() {
    let header = database.header
    let lock = PointerMapCheck.lockBytePage(header.pageSize)
    if lock <= pageLimit {
      _ = tree.map.claim(lock, as: .lockByte, owner: PageMap.noOwner, parent: 0)
    }
    guard header.hasPointerMap else { return }
    let pages = PointerMapCheck.mapPages(
      upTo: pageLimit, usableSize: header.usableSize, pageSize: header.pageSize)
    for page in pages {
      _ = tree.map.claim(page, as: .pointerMap, owner: PageMap.noOwner, parent: 0)
    }
    tree.count(pages: pages.count)
  }

  // MARK: - B-trees

  private mutating func walkTrees() throws(SQLiteFileError) {
    var rules = RecordRules(Schema.definition)
    rules.mostFields = nil
    _ = try walk(
      Owner(name: "sqlite_schema", table: "sqlite_schema", root: 1, isIndex: false), true, rules)
    report.tableCount += 1
    let entries = database.schema.entries.filter {
      ($0.type == "table" || $0.type == "index") && $0.rootPage > 0
    }
    var plan = IndexPlan(database.schema)
    for entry in entries where entry.type == "table" {
      try walkTable(entry, &plan)
    }
    for entry in entries where entry.type == "index" {
      try walkIndex(entry, plan)
    }
    for entry in database.schema.entries where entry.rootPage == 0 {
      checkRootless(entry)
    }
  }

  private mutating func walkTable(_ entry: SchemaEntry, _ plan: inout IndexPlan)
    throws(SQLiteFileError)
  {
    let table = database.schema.tables.first {
      $0.name == entry.name && $0.rootPage == entry.rootPage
    }
    let definition = table?.definition
    if definition == nil {
      report.findings.add(
        Finding(
          "schema.unreadable", "the CREATE statement of \(entry.name) is not readable",
          table: entry.name))
    }
    var rules = definition.map { RecordRules($0) } ?? RecordRules()
    let name = entry.name.lowercased()
    if let set = keySets[name], definition?.isWithoutRowID != true { rules.keys = set }
    apply(demandsOn: name, to: &rules)
    if depth == .full, let definition, !definition.isWithoutRowID {
      rules.sums = plan.parts(
        of: entry.name, definition, &tree.records, database.header.textEncoding)
    }
    let counts = try walk(
      Owner(name: entry.name, table: entry.name, root: entry.rootPage, isIndex: false),
      definition.map { !$0.isWithoutRowID }, rules)
    rowCounts[name] = counts
    report.tableCount += 1
    report.rowCount += counts.entries
  }

  private mutating func apply(demandsOn table: String, to rules: inout RecordRules) {
    for (number, demand) in demands.enumerated() where demand.table.lowercased() == table {
      guard
        let field = rules.fields.firstIndex(where: { Int($0.column) == demand.column }),
        number <= Int(Int16.max)
      else { continue }
      rules.fields[field].demand = Int16(number)
      var watched = ~demand.classes.rawValue & 0x1f & ~StorageClasses.null.rawValue
      if let target = demand.rowIDsOf.flatMap({ keySets[$0.lowercased()] }) {
        rules.fields[field].target = Int16(truncatingIfNeeded: target)
        watched |= StorageClasses.integer.rawValue
      }
      if demand.numbers != nil { watched |= StorageClasses.integer.rawValue }
      if demand.blobLength != nil || demand.holds != nil {
        watched |= StorageClasses.blob.rawValue
      }
      rules.fields[field].watched = watched
    }
  }

  private mutating func walkIndex(_ entry: SchemaEntry, _ plan: IndexPlan) throws(SQLiteFileError) {
    let definition = entry.sql.flatMap { IndexDefinition(sql: $0) }
    let table = database.schema.table(named: entry.tableName)
    let isRowIDTable = table?.definition.map { !$0.isWithoutRowID } ?? false
    var rules = RecordRules(
      indexOf: definition?.columns?.count, endsWithRowID: isRowIDTable)
    let sum = depth == .full ? plan.sum(of: entry.name) : nil
    if let sum { rules.sums = [IndexSum.Part(sum: sum.entries, fields: [])] }
    let counts = try walk(
      Owner(name: entry.name, table: entry.tableName, root: entry.rootPage, isIndex: true), false,
      rules)
    report.indexCount += 1
    report.indexEntryCount += counts.entries
    guard let rows = rowCounts[entry.tableName.lowercased()], rows.isWhole, counts.isWhole,
      definition?.isPartial != true
    else { return }
    let place = reader.location(of: entry.rootPage)
    if rows.entries != counts.entries {
      report.findings.add(
        Finding(
          "index.badCount",
          "the index has \(counts.entries) entries, its table \(rows.entries) rows",
          member: place.member, page: entry.rootPage, offset: place.offset, table: entry.name))
    } else if let sum, !tree.records.incompleteSums.contains(sum.rows),
      !tree.records.incompleteSums.contains(sum.entries),
      tree.records.sums[sum.rows] != tree.records.sums[sum.entries]
    {
      report.findings.add(
        Finding(
          "index.badEntries", "the entries of the index are not those that the rows call for",
          member: place.member, page: entry.rootPage, offset: place.offset, table: entry.name))
    }
  }

  private mutating func walk(_ owner: Owner, _ isTable: Bool?, _ rules: RecordRules)
    throws(SQLiteFileError) -> BTreeCheck.Counts
  {
    let number = UInt32(owners.count)
    owners.append(owner)
    let counts = try tree.run(
      BTreeCheck.Tree(
        name: owner.name, number: number, root: owner.root, isTable: isTable, rules: rules),
      &reader)
    let found = tree.records.takeFindings(owner.name, rules.names)
    for finding in found.findings { tree.findings.add(finding) }
    breaches += found.breaches
    report.checkedPageCount += counts.pages + counts.overflowPages
    report.overflowPageCount += counts.overflowPages
    report.cellCount += counts.cells
    return counts
  }

  /// An entry without a root page: right for views, triggers and virtual tables (section 2.6).
  private mutating func checkRootless(_ entry: SchemaEntry) {
    let isVirtual =
      entry.sql.map {
        let tokens = SQLToken.all(in: Array($0.utf8.prefix(200)))
        return tokens.count > 1 && tokens[1].isKeyword("VIRTUAL")
      } ?? false
    guard entry.type == "index" || (entry.type == "table" && !isVirtual) else { return }
    report.findings.add(
      Finding(
        "schema.noRoot", "the schema names no root page for the \(entry.type) \(entry.name)",
        table: entry.name))
  }

  // MARK: - The whole

  private mutating func checkOrphans() {
    let reader = reader.another()
    var found: [Finding] = []
    tree.map.orphans(upTo: pageLimit) { pages in
      guard found.count < FindingList.limit else { return }
      let place = reader.location(of: pages.lowerBound)
      found.append(
        Finding(
          "page.orphan",
          pages.count == 1
            ? "nothing leads to this page, and it is not on the freelist"
            : "nothing leads to pages \(pages.lowerBound) to \(pages.upperBound), and they are not on the freelist",
          member: place.member, page: pages.lowerBound, offset: place.offset))
    }
    for finding in found { report.findings.add(finding) }
    report.checkedPageCount += report.freePageCount
    if PointerMapCheck.lockBytePage(database.header.pageSize) <= pageLimit {
      report.checkedPageCount += 1
    }
    if database.header.hasPointerMap {
      report.checkedPageCount +=
        PointerMapCheck.mapPages(
          upTo: pageLimit, usableSize: database.header.usableSize,
          pageSize: database.header.pageSize
        ).count
    }
  }

  /// Finds the values that refer to rows that are not there. The key sets say whether there are any; only then are
  /// the tables read once more.
  private mutating func checkReferences() throws(SQLiteFileError) {
    for (target, set) in keySets.sorted(by: { $0.value < $1.value }) {
      let keys = tree.records.keys[set]
      let isRead = rowCounts[target]?.isWhole ?? false
      guard isRead else { continue }
      guard keys.isComplete, tree.records.references[set].isComplete else {
        report.findings.add(
          Finding(
            "coredata.keysNotChecked",
            "the keys that refer to \(target) are too scattered to be checked", severity: .note,
            table: target))
        continue
      }
      guard tree.records.references[set].countMissing(in: keys) > 0 else { continue }
      for (number, demand) in demands.enumerated() where demand.rowIDsOf?.lowercased() == target {
        guard let table = database.schema.table(named: demand.table) else { continue }
        var count = 0
        var first: Int64?
        try database.forEachRow(of: table) { row in
          if demand.column < row.values.count, case .integer(let key) = row.values[demand.column],
            !keys.contains(key)
          {
            count += 1
            if first == nil { first = row.rowID }
          }
          return true
        }
        guard count > 0 else { continue }
        breaches.append(
          DemandBreach(
            demand: number, kind: .rowID, count: count,
            first: ValuePlace(member: .main, page: 0, offset: 0, rowID: first)))
      }
    }
  }
}
