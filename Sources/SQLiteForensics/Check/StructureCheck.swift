import SQLiteFile
import SafeText

/// Checks a whole database.
///
/// The check keeps in memory the page map (9 bytes per page), one payload at a time, and two ``KeySet`` values for each
/// table that other tables refer to.
struct StructureCheck: ~Copyable {
  private let database: SQLiteDatabase
  private let depth: CheckDepth
  private var reader: PageReader
  private(set) var tree: BTreeCheck
  private(set) var report = CheckReport()
  /// The b-trees: that of the schema table and those that the schema names. The index of a b-tree is its number in the
  /// page map.
  private(set) var owners: [PageOwner] = []
  private(set) var breaches: [DemandBreach] = []
  private let demands: [ColumnDemand]
  /// For each table to which other tables refer, the index of its key set in ``RecordCheck/keys``.
  private var keySets: [SQLName: Int] = [:]
  private var rowCounts: [SQLName: BTreeCheck.Counts] = [:]
  /// The demands (``ColumnDemand``) on the columns of each table, as indexes into ``demands``.
  private var demandsByTable: [SQLName: [Int]] = [:]
  /// The indexes and the WITHOUT ROWID tables whose entries or rows could not all be compared for order, because some
  /// values are too long.
  private var undecided: Set<TreeJob.Subject> = []
  /// The indexes whose entries and rows differ byte by byte, but may be equal under the collation of the index. Each
  /// element is a position in the schema's entries.
  private var unsettled: Set<Int> = []
  private let pageLimit: UInt32
  /// Whether the schema is damaged and none of its entries can be read.
  private let isSchemaLost: Bool

  init(
    _ database: SQLiteDatabase, depth: CheckDepth, demands: [ColumnDemand] = [],
    onPages: ((Int) -> Void)? = nil
  ) {
    self.database = database
    self.depth = depth
    self.demands = demands
    reader = database.anotherReader()
    pageLimit = min(database.pageCount, reader.pageLimit)
    isSchemaLost =
      database.schema.entries.isEmpty
      && database.findings.kept.contains { $0.severity == .damage && $0.table == "sqlite_schema" }
    tree = BTreeCheck(
      mainPageCount: database.mainPageCount, encoding: database.header.textEncoding)
    tree.onPages = onPages
    tree.records.demands = ContiguousArray(demands)
    for (number, demand) in demands.enumerated() {
      demandsByTable[SQLName(demand.table), default: []].append(number)
      guard let target = demand.rowIDsOf.map({ SQLName($0) }), keySets[target] == nil else {
        continue
      }
      keySets[target] = tree.records.keys.count
      tree.records.keys.append(KeySet())
      tree.records.references.append(KeySet())
    }
  }

  /// Runs all parts of the structure check, and adds the findings to the report.
  /// - Throws: ``SQLiteFileError`` when the device fails; damage never throws.
  mutating func run() throws(SQLiteFileError) {
    report.pageCount = Int(database.pageCount)
    // Findings about pages and rows are not copied, because the walk of the b-trees makes them again.
    let families = ["file.", "header.", "wal.", "journal."]
    for finding in database.findings.kept
    where finding.id != .headerBadCount
      && families.contains(where: { PathText.starts(finding.id.rawValue, with: $0) })
    {
      report.findings.add(finding)
    }
    if isSchemaLost { report.findings.add(FileSurvey.schemaLost) }
    if !database.isHeaderLost {
      for finding in try HeaderCheck.run(database, &reader) { report.findings.add(finding) }
    }
    let schema = SchemaCheck(database.schema)
    for finding in schema.findings { report.findings.add(finding) }
    report.unjudgedStatementCount = schema.unjudgedCount
    report.note(
      unchecked: .schemaExpressions, schema.tooLong, "all of", "CREATE statement",
      "CREATE statements", "of more than 1 MiB")
    try claimFixedPages()
    try walkTrees()
    try checkUnreachedPages()
    checkCount()
    // Findings about causes come before findings about their consequences.
    report.findings.add(tree.findings)
    tree.findings = FindingList()
    checkOrphans()
    if database.header.hasPointerMap, !isSchemaLost {
      try PointerMapCheck.run(upTo: pageLimit, &tree, &reader)
    }
    try checkReferences()
    report.findings.add(tree.findings)
  }

  /// The highest row id of each table that has row ids and at least one row.
  var highestRowIDs: [SQLName: Int64] { rowCounts.compactMapValues(\.highestRowID) }

  /// Ends the check. Returns the page map and the b-trees. The index of a b-tree is its number in the page map.
  consuming func finished() -> (map: PageMap, owners: [PageOwner]) { (tree.map, owners) }

  /// Claims the pages outside the b-trees: the lock-byte page, the pointer-map pages and the freelist pages.
  private mutating func claimFixedPages() throws(SQLiteFileError) {
    let header = database.header
    let lock = PointerMapCheck.lockBytePage(header.pageSize)
    if lock <= pageLimit {
      _ = tree.map.claim(lock, as: .lockByte, owner: PageMap.noOwner, parent: 0)
    }
    if header.hasPointerMap {
      let pages = PointerMapCheck.mapPages(
        upTo: pageLimit, usableSize: header.usableSize, pageSize: header.pageSize)
      for page in pages {
        _ = tree.map.claim(page, as: .pointerMap, owner: PageMap.noOwner, parent: 0)
      }
      tree.count(pages: pages.count)
    }
    report.freePageCount = try FreelistCheck.run(header, upTo: pageLimit, &tree, &reader)
  }

  // MARK: - B-trees

  private mutating func walkTrees() throws(SQLiteFileError) {
    var plan = IndexPlan(database.schema, database.header)
    let jobs = jobs(&plan)
    owners = jobs.map(\.owner)
    var results: [TreeResult]?
    if pageLimit >= ParallelTrees.minPageCount {
      results = try ParallelTrees.run(jobs, &tree, reader)
      // Nil means that b-trees share pages, or that a b-tree has leaves at several depths. Then all b-trees are walked
      // again, one after the other.
      if results == nil {
        let onPages = tree.onPages
        tree = tree.another()
        tree.onPages = onPages
        try claimFixedPages()
      }
    }
    // A local variable, so that its arrays have only one reference and are not copied for each b-tree.
    var gathered = Gathered()
    for (number, job) in jobs.enumerated() {
      if let results, number < results.count {
        gathered.take(results[number], of: job, &report)
      } else {
        gathered.take(try tree.run(job, number: number, &reader), of: job, &report)
      }
    }
    judgeLosses(&gathered)
    for job in jobs {
      if case .index(let place) = job.subject {
        checkIndex(place, plan, &gathered)
      }
    }
    if depth == .full { try checkOrders(jobs, plan, &gathered) }
    finish(gathered)
    noteUnchecked(plan, gathered)
    for entry in database.schema.entries where entry.rootPage == 0 {
      checkRootless(entry)
    }
  }

  /// Reports disk sectors that may be lost, except those in tables that pad their BLOBs with zeros.
  private func judgeLosses(_ gathered: inout Gathered) {
    guard !gathered.possibleLosses.isEmpty else { return }
    let claims = database.paddingClaims(spare: reader.storedPageCount * reader.pageSize)
    for (name, findings) in gathered.possibleLosses {
      let pads = database.schema.tables.first { SQLName($0.name) == name }.map {
        database.padsBlobs(of: $0, reader.another(), claims)
      }
      if pads != true { gathered.findings.add(findings) }
    }
  }

  /// Returns a check job for each b-tree: the schema table, then the tables, then the indexes. Adds to `plan` the sums
  /// (``IndexSum``) that later show whether each index agrees with its table.
  private mutating func jobs(_ plan: inout IndexPlan) -> [TreeJob] {
    var rules = RecordRules(Schema.definition)
    rules.maxFields = .max
    let name = "sqlite_schema"
    var jobs = [
      TreeJob(
        subject: .schema, owner: PageOwner(name: name, table: name, isIndex: false, rootPage: 1),
        isTable: true, rules: rules)
    ]
    var sumCount = 0
    for table in database.schema.tables { jobs.append(job(of: table, &plan, &sumCount)) }
    tree.records.sums = ContiguousArray(repeating: 0, count: sumCount)
    for (place, entry) in database.schema.entries.enumerated()
    where entry.type == "index" && entry.rootPage > 0 {
      jobs.append(job(of: entry, place, plan))
    }
    return jobs
  }

  private mutating func job(of table: Table, _ plan: inout IndexPlan, _ sumCount: inout Int)
    -> TreeJob
  {
    let definition = table.definition
    var rules = definition.map { RecordRules($0) } ?? RecordRules()
    let name = SQLName(table.name)
    if let set = keySets[name], definition?.isWithoutRowID != true { rules.keys = set }
    apply(demandsOn: name, to: &rules)
    if depth == .full, let definition {
      plan.apply(to: &rules, of: table.name, definition, &sumCount)
    }
    return TreeJob(
      subject: .table(name),
      owner: PageOwner(
        name: table.name, table: table.name, isIndex: false, rootPage: table.rootPage),
      isTable: definition.map { !$0.isWithoutRowID }, rules: rules)
  }

  private func job(of entry: SchemaEntry, _ place: Int, _ plan: IndexPlan) -> TreeJob {
    let definition = entry.sql.flatMap { IndexDefinition(sql: $0) }
    let table = database.schema.table(named: entry.tableName)
    let isRowIDTable = table?.definition.map { !$0.isWithoutRowID } ?? false
    var rules = RecordRules(indexOf: definition?.columns?.count, endsWithRowID: isRowIDTable)
    if let sum = plan.sums[place] { rules.entrySum = sum.entries }
    return TreeJob(
      subject: .index(place),
      owner: PageOwner(
        name: entry.name, table: entry.tableName, isIndex: true, rootPage: entry.rootPage),
      isTable: false, rules: rules)
  }

  private mutating func finish(_ gathered: Gathered) {
    var findings = tree.findings
    findings.add(gathered.findings)
    tree.findings = findings
    breaches = gathered.breaches
    rowCounts = gathered.rowCounts
    report.tableCount = gathered.rowCounts.count + 1
    report.indexCount = gathered.indexCounts.count
  }

  /// Checks an index against its table. Adds a finding if the number of index entries differs from the number of rows.
  /// If the numbers are equal and `plan` has sums of hashes for the index (``IndexSum``), compares these sums.
  /// `number`: the position of the index in the schema's entries.
  private mutating func checkIndex(_ number: Int, _ plan: IndexPlan, _ gathered: inout Gathered) {
    let entry = database.schema.entries[number]
    let isPartial = entry.sql.flatMap { IndexDefinition(sql: $0) }?.isPartial ?? false
    guard let rows = gathered.rowCounts[SQLName(entry.tableName)], rows.isWhole,
      let counts = gathered.indexCounts[number], counts.isWhole, !isPartial
    else { return }
    let place = reader.location(of: entry.rootPage)
    if rows.entries != counts.entries {
      gathered.findings.add(
        Finding(
          .indexBadCount,
          "the index has \(counts.entries) entries, but its table has \(rows.entries) rows",
          member: place.member, page: entry.rootPage, offset: place.offset, table: entry.name))
    } else if let sum = plan.sums[number], !tree.records.incompleteSums.contains(sum.rows),
      !tree.records.incompleteSums.contains(sum.entries),
      tree.records.sums[sum.rows] != tree.records.sums[sum.entries]
    {
      // Under a collation, an entry may be equal to the row's value although the hashes differ.
      if plan.folding.contains(number) {
        unsettled.insert(number)
        return
      }
      gathered.findings.add(
        Finding(
          .indexBadEntries, "the index has entries that do not match the rows of its table",
          member: place.member, page: entry.rootPage, offset: place.offset, table: entry.name))
    }
  }

  /// Checks the order of index entries, and of rows in WITHOUT ROWID tables. SQLite searches by this order, so it
  /// misses entries and rows that are out of order. Reads these b-trees a second time.
  private mutating func checkOrders(
    _ jobs: [TreeJob], _ plan: IndexPlan, _ gathered: inout Gathered
  ) throws(SQLiteFileError) {
    let claims = PageClaims(
      pageCount: database.mainPageCount, spare: reader.storedPageCount * reader.pageSize)
    for job in jobs {
      let order: KeyOrder?
      let counts: BTreeCheck.Counts?
      switch job.subject {
      case .schema: continue
      case .table(let name): (order, counts) = (plan.tableOrders[name], gathered.rowCounts[name])
      case .index(let place): (order, counts) = (plan.orders[place], gathered.indexCounts[place])
      }
      guard let order, let counts, counts.isWhole, counts.entries > 1 else { continue }
      // `.utf8` means that the scan does not convert text, whatever the encoding of the database.
      var scan = BTreeScan(
        of: Table(name: job.owner.name, rootPage: job.owner.rootPage, definition: nil, sql: nil),
        isRowIDTable: false, encoding: .utf8, mainPageCount: database.mainPageCount,
        claims: claims)
      var sink = KeyOrderSink(order, encoding: database.header.textEncoding)
      try scan.run(root: job.owner.rootPage, layout: RowLayout(), reader: &reader, sink: &sink)
      let fault = sink.fault
      if fault.isUndecided { undecided.insert(job.subject) }
      report(fault, job, &gathered)
    }
  }

  private func report(_ fault: KeyOrderFault, _ job: TreeJob, _ gathered: inout Gathered) {
    let place = reader.location(of: job.owner.rootPage)
    let what = job.owner.isIndex ? "entry" : "row"
    func add(_ id: Finding.ID, _ count: Int, _ message: String) {
      guard count > 0 else { return }
      let subject =
        count == 1
        ? "1 \(what) is" : "\(count) \(job.owner.isIndex ? "entries" : "rows") are"
      gathered.findings.add(
        Finding(
          id, "\(subject) \(message) (first: \(what) \(fault.first))", member: place.member,
          page: job.owner.rootPage, offset: place.offset, table: job.owner.name))
    }
    add(
      job.owner.isIndex ? .indexBadOrder : .tableBadOrder, fault.misplaced,
      "out of order, so SQLite can miss rows")
    add(.indexNotUnique, fault.repeated, "equal to the previous entry of a unique index")
  }

  /// Adds to the report the parts of `PRAGMA integrity_check` that this check left out.
  private mutating func noteUnchecked(_ plan: IndexPlan, _ gathered: Gathered) {
    var entries: [String] = []
    var orders: [String] = []
    for (place, entry) in database.schema.entries.enumerated()
    where entry.type == "index" && entry.rootPage > 0 {
      let rows = gathered.rowCounts[SQLName(entry.tableName)]?.entries ?? 0
      guard rows > 0 || gathered.indexCounts[place]?.entries ?? 0 > 0 else { continue }
      let isCompared =
        plan.sums[place].map {
          !tree.records.incompleteSums.contains($0.rows)
            && !tree.records.incompleteSums.contains($0.entries) && !unsettled.contains(place)
        } ?? false
      if depth == .quick || !isCompared { entries.append(entry.name) }
      if depth == .quick || plan.orders[place] == nil || undecided.contains(.index(place)) {
        orders.append(entry.name)
      }
    }
    var constrained: [String] = []
    for table in database.schema.tables {
      guard let definition = table.definition,
        gathered.rowCounts[SQLName(table.name)]?.entries ?? 0 > 0
      else { continue }
      let name = SQLName(table.name)
      if definition.isWithoutRowID,
        depth == .quick || plan.tableOrders[name] == nil || undecided.contains(.table(name))
      {
        orders.append(table.name)
      }
      if definition.hasChecks { constrained.append(table.name) }
    }
    let virtual = database.schema.entries.filter { $0.type == "table" && $0.rootPage == 0 }
    report.note(
      unchecked: .indexEntries, entries, "whether the entries of", "index", "indexes",
      "match the rows")
    report.note(
      unchecked: .indexOrder, orders, "the order of the entries of", "b-tree", "b-trees",
      "without row ids")
    report.note(
      unchecked: .tableChecks, constrained, "the CHECK constraints of", "table", "tables", "")
    report.note(
      unchecked: .tableVirtual, virtual.map(\.name), "the content of", "virtual table",
      "virtual tables", "")
    if report.unjudgedStatementCount > 0 {
      let count = report.unjudgedStatementCount
      report.unchecked.append(
        UncheckedPart(
          id: .schemaExpressions,
          message:
            "expressions, queries and triggers in \(count) CREATE \(count == 1 ? "statement" : "statements")"
        ))
    }
  }

  private mutating func apply(demandsOn table: SQLName, to rules: inout RecordRules) {
    for number in demandsByTable[table] ?? [] {
      let demand = demands[number]
      guard
        let field = rules.fields.firstIndex(where: { Int($0.column) == demand.column }),
        number <= Int(Int16.max)
      else { continue }
      rules.fields[field].demand = Int16(number)
      var watched = ~demand.classes.rawValue & 0x1f & ~StorageClasses.null.rawValue
      if let target = demand.rowIDsOf.flatMap({ keySets[SQLName($0)] }) {
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

  /// Reports a schema entry without a root page, unless it is the entry of a view, a trigger or a virtual table (file
  /// format, section 2.6).
  private mutating func checkRootless(_ entry: SchemaEntry) {
    let isVirtual =
      entry.sql.map {
        let tokens = SQLToken.all(in: Array($0.utf8.prefix(200)))
        return tokens.count > 1 && tokens[1].isKeyword("VIRTUAL")
      } ?? false
    guard entry.type == "index" || (entry.type == "table" && !isVirtual) else { return }
    report.findings.add(
      Finding(
        .schemaNoRoot, "the schema names no root page for the \(entry.type) \(entry.name)",
        table: entry.name))
  }

  // MARK: - The whole

  /// Searches for pages that cannot be reached because the database header or the schema is lost. Without the header,
  /// the freelist is searched for. Without the schema, b-trees are searched for. Pages that are missing at the start of
  /// the file are marked, so that they are not reported as orphans.
  private mutating func checkUnreachedPages() throws(SQLiteFileError) {
    guard database.isHeaderLost || isSchemaLost else { return }
    let unreached = UnreachedPages(upTo: pageLimit)
    if database.isHeaderLost {
      let map = database.votedLayout.map { PointerMap(layout: $0, pageCount: pageLimit) }
      report.freePageCount += try unreached.claimFree(map, &tree, &reader)
    }
    if isSchemaLost { try unreached.walk(&tree, &report, &reader) }
    // Pages that the file has lost at its start must not be reported as orphans.
    var page: UInt32 = 1
    while page <= pageLimit, reader.location(of: page).offset < 0 {
      _ = tree.map.claim(page, as: .unreadable, owner: PageMap.noOwner, parent: 0)
      page += 1
    }
  }

  /// Reports pages in use with numbers above the page count of the database. SQLite does not read such pages.
  private mutating func checkCount() {
    // Frames of an unfinished transaction may have page numbers above the page count of the last commit.
    guard database.votedLayout == nil, !database.isHeaderLost, database.logView != .all,
      pageLimit >= 1, pageLimit < reader.pageLimit,
      let found = tree.map.claimed(from: pageLimit + 1, to: reader.pageLimit)
    else { return }
    let place = reader.location(of: found.first)
    var finding = BTreeScan.badCount(found.count, found.first, pageLimit, table: nil)
    finding.member = place.member
    finding.offset = place.offset
    report.findings.add(finding)
    report.pageCount += found.count
  }

  private mutating func checkOrphans() {
    let reader = reader.another()
    var found: [Finding] = []
    let isFreelistLost = database.isHeaderLost
    tree.map.orphans(upTo: pageLimit) { pages in
      guard found.count < FindingList.limit else { return }
      let place = reader.location(of: pages.lowerBound)
      found.append(
        Finding(
          .pageOrphan,
          Self.orphanWords(pages, isFreelistLost: isFreelistLost),
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

  private static func orphanWords(_ pages: ClosedRange<UInt32>, isFreelistLost: Bool) -> String {
    let subject =
      pages.count == 1 ? "this page" : "pages \(pages.lowerBound) to \(pages.upperBound)"
    let pronoun = pages.count == 1 ? "it" : "they"
    let free =
      isFreelistLost
      ? "; the freelist is lost, so \(pronoun) may be free"
      : pages.count == 1
        ? ", and it is not on the freelist" : ", and they are not on the freelist"
    return "nothing leads to \(subject)\(free)"
  }

  /// Finds integers that must be row ids of another table (``ColumnDemand/rowIDsOf``), but are not. The row ids and
  /// references that the check has collected show whether such integers exist. Only if they exist, tables are read
  /// again to find them.
  ///
  /// A reference that its key set dropped is out of reach of every key, or the references are in more ranges than any
  /// complete set of keys. In both cases, some reference leads to no row if the keys are complete. If keys are missing
  /// from the set, a reference that is not among them may still lead to a row, so it is reported as not checked.
  private mutating func checkReferences() throws(SQLiteFileError) {
    var broken: Set<Int> = []
    var uncertain: [String] = []
    for (target, set) in keySets.sorted(by: { $0.value < $1.value }) {
      guard rowCounts[target]?.isWhole ?? false else { continue }
      let keys = tree.records.keys[set]
      let references = tree.records.references[set]
      if references.isComplete, references.countMissing(in: keys) == 0 { continue }
      if keys.isComplete {
        broken.insert(set)
      } else {
        uncertain.append(name(of: target))
      }
    }
    report.note(
      unchecked: .coredataKeysNotChecked, uncertain, "the references to", "table", "tables",
      "whose keys are too large or too far apart")
    guard !broken.isEmpty else { return }
    for (name, numbers) in demandsByTable.sorted(by: { $0.key < $1.key }) {
      let concerned = numbers.compactMap { number -> (number: Int, column: Int, set: Int)? in
        guard let target = demands[number].rowIDsOf, let set = keySets[SQLName(target)],
          broken.contains(set)
        else { return nil }
        return (number, demands[number].column, set)
      }
      guard !concerned.isEmpty,
        let table = database.schema.tables.first(where: { SQLName($0.name) == name })
      else { continue }
      try findBroken(concerned, in: table)
    }
  }

  private func name(of table: SQLName) -> String {
    demands.lazy.compactMap(\.rowIDsOf).first { SQLName($0) == table } ?? ""
  }

  private mutating func findBroken(
    _ concerned: [(number: Int, column: Int, set: Int)], in table: Table
  ) throws(SQLiteFileError) {
    let keys = tree.records.keys
    var counts = [Int](repeating: 0, count: concerned.count)
    var first = [Int64?](repeating: nil, count: concerned.count)
    try database.forEachRow(of: table) { row in
      for (index, demand) in concerned.enumerated() where demand.column < row.values.count {
        guard case .integer(let key) = row.values[demand.column],
          !keys[demand.set].contains(key)
        else { continue }
        counts[index] += 1
        if first[index] == nil { first[index] = row.rowID }
      }
      return true
    }
    for (index, demand) in concerned.enumerated() where counts[index] > 0 {
      breaches.append(
        DemandBreach(
          demand: demand.number, kind: .rowID, count: counts[index],
          first: ValuePlace(member: .main, page: 0, offset: 0, rowID: first[index])))
    }
  }
}
