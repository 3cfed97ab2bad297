extension DamagedDatabase {
  /// Walks from the root of the schema's b-tree, as SQLite would.
  func findBrokenSchemaTree() throws(SQLiteFileError) -> TreeWalk {
    var walk = TreeWalk(pageCount: pageCount, lastPage: lastCountedPage)
    try walk.run(1, "sqlite_schema", isTable: true, self)
    return walk
  }

  /// The same from the roots that the schema names. An interior page, or one of an index b-tree, is what its header says
  /// even where few of its cells hold; what leads nowhere is a finding. The cells of leaves are not looked at here.
  func findBrokenTrees(of tables: [ExpectedTable], behind schema: TreeWalk)
    throws(SQLiteFileError) -> TreeWalk
  {
    var walk = schema
    for table in tables where !table.isDropped {
      guard let root = table.rootPage else { continue }
      try walk.run(root, table.name, isTable: !table.definition.isWithoutRowID, self)
    }
    return walk
  }

  /// Takes over what a walk found, less what is told of leaves without header where their rows are read.
  func add(_ walk: TreeWalk) {
    guard layout.header != nil else { return }
    for finding in walk.findings.kept
    where finding.id != "page.badType" || finding.page.map(census.kind) != .ruinedLeaf {
      findings.add(finding)
    }
  }

  /// Where the schema gives one root to several tables, the rows below it are those of the table that the ordinary reader
  /// reads them for.
  func settleSharedRoots(of tables: inout [ExpectedTable]) throws(SQLiteFileError) {
    var places: [UInt32: [Int]] = [:]
    for (place, table) in tables.enumerated() where !table.isDropped {
      if let root = table.rootPage { places[root, default: []].append(place) }
    }
    for (root, sharing) in places.sorted(by: { $0.key < $1.key }) where sharing.count > 1 {
      let candidates = sharing.map { place in
        let table = tables[place]
        return Table(
          name: table.name, rootPage: root, definition: table.isDescribed ? table.definition : nil,
          sql: table.sql, place: place)
      }
      let chosen = try RootChoice.choose(candidates, encoding: layout.textEncoding, &reader)
      for place in sharing where place != chosen.place {
        tables[place].rootPage = nil
        let location = reader.location(of: root)
        findings.add(
          Finding(
            "page.otherTable",
            "the schema gives this page as the root of the table \(chosen.name) too; its rows are read for that one",
            member: location.member, page: root, offset: location.offset, table: tables[place].name)
        )
      }
    }
  }

  /// The last page that the database counts, where that can be told.
  private var lastCountedPage: UInt32 {
    guard let header = layout.header, header.isPageCountValid, sides?.overlays.isEmpty ?? true
    else { return .max }
    return header.pageCount
  }
}

/// Pages that b-trees lead to, each met once.
struct TreeWalk {
  private(set) var findings = FindingList()
  private var met: PageSet
  private var buffer = ContiguousArray<UInt8>()

  /// The last page that the database counts, and the pages met behind it: how many, and the first.
  private let lastPage: UInt32
  private var behind: (count: Int, first: UInt32) = (0, .max)

  init(pageCount: UInt32, lastPage: UInt32) {
    met = PageSet(pageCount: pageCount)
    self.lastPage = lastPage
  }

  mutating func run(_ root: UInt32, _ name: String, isTable: Bool, _ database: DamagedDatabase)
    throws(SQLiteFileError)
  {
    var pending = [root]
    while let number = pending.popLast() {
      guard number >= 1, number <= database.pageCount else {
        let end = number == 0 ? "page 0, which no file has" : "a page behind the file's end"
        report("page.missing", "a b-tree leads to \(end)", number, name, database)
        continue
      }
      if number > lastPage { behind = (behind.count + 1, min(behind.first, number)) }
      guard met.insert(number) else {
        report("page.referencedTwice", "b-trees lead to this page twice", number, name, database)
        continue
      }
      let kind = database.census.kind(number)
      if kind == (isTable ? .tableLeaf : .indexLeaf) { continue }
      pending += try children(of: number, kind, name, isTable, database)
    }
    guard behind.count > 0 else { return }
    findings.add(BTreeScan.badCount(behind.count, behind.first, lastPage, table: name))
    behind = (0, .max)
  }

  /// The pages that a page leads to; none where it is no interior page.
  private mutating func children(
    of number: UInt32, _ kind: PageCensus.Kind, _ name: String, _ isTable: Bool,
    _ database: DamagedDatabase
  ) throws(SQLiteFileError) -> [UInt32] {
    // Its own memory, so that findings can be noted while it is looked at.
    var content = ContiguousArray<UInt8>()
    swap(&content, &buffer)
    defer { swap(&content, &buffer) }
    let available = try database.reader.copy(number, into: &content)
    guard available == database.layout.pageSize else {
      report("page.missing", "the file ends before the end of this page", number, name, database)
      return []
    }
    let bytes = content.rawSpan
    let page: BTreePage
    do throws(BTreePage.Defect) {
      page = try BTreePage(
        parsing: bytes, number: number, usableSize: database.layout.usableSize)
    } catch {
      report(error.finding.id, error.finding.message, number, name, database)
      return []
    }
    guard page.kind.isTable == isTable else {
      report(
        "page.wrongKind",
        isTable ? "an index page in a table's b-tree" : "a table page in an index b-tree", number,
        name, database)
      return []
    }
    // A page of a table that is none by its cells is asked about again where rows are read.
    if kind == .pointerMap || (kind == .other && !isTable) {
      database.census.set(
        number,
        page.kind.isLeaf
          ? isTable ? .tableLeaf : .indexLeaf : isTable ? .tableInterior : .indexInterior)
    }
    guard !page.kind.isLeaf else { return [] }
    var children: [UInt32] = []
    for index in 0..<page.cellCount {
      guard let start = page.cellStart(bytes, index) else {
        report("cell.badPointer", "cell \(index) lies outside the page", number, name, database)
        continue
      }
      children.append(bytes.uint32(at: start))
    }
    children.append(page.rightChild)
    for child in children where child > 1 && database.census.parent(child) == 0 {
      database.census.setParent(of: child, number)
    }
    return children
  }

  private mutating func report(
    _ id: String, _ message: String, _ page: UInt32, _ name: String, _ database: DamagedDatabase
  ) {
    let place = database.reader.location(of: page)
    findings.add(
      Finding(
        id, message, member: place.member, page: page, offset: page == 0 ? nil : place.offset,
        table: name))
  }
}
