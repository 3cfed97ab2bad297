import CoreDataForensics
package import CoreDataStore
package import SQLiteFile
package import SQLiteForensics

/// The result of checking a store.
package struct StoreCheck: Sendable, Codable {
  package var schema = "lifeboat.check"
  /// The version of the JSON form's schema; it only increases.
  package var version = 1
  /// The path of the store's main file, as messages show the path. The initial value is the path that was passed to the
  /// initializer.
  package var path: String
  /// The kind of file: `coreData`, `coreDataShaped` or `sqlite`.
  package let kind: CoreDataStore.Kind
  /// How thorough the check was: `quick` or `full`.
  package let depth: CheckDepth
  /// Whether no damage was found in the checked parts. The parts that were not checked are in ``notChecked``.
  package private(set) var isSound: Bool
  /// The parts that `PRAGMA integrity_check` or Core Data's rules cover but this check does not. If ``notChecked`` and
  /// ``findings`` are empty, `PRAGMA integrity_check` would report no problem, and Core Data's rules on keys, references
  /// and storage classes are met.
  package let notChecked: [UncheckedPart]
  package let counts: Counts
  /// The findings: what is wrong or noteworthy. At most ``FindingList/limit`` findings are kept.
  package private(set) var findings: [Finding]
  /// The total number of findings, including those that are not in ``findings``.
  package private(set) var findingCount: Int
  /// The number of findings that are damage, including those that are not in ``findings``.
  package private(set) var damageCount: Int
  /// The analyses that analysers made from this result; nil if no analysers were run.
  package var analyses: [Analysis]?
  /// The names of files of the store set that changed while the store was read. Normally empty.
  package let changedDuringRead: [String]

  /// The numbers of pages, tables, rows and other parts that a check has examined.
  package struct Counts: Sendable, Codable {
    /// The number of pages of the database. Pages after the page count of the last commit are included if they are in
    /// use.
    package let pages: Int
    /// The number of pages that were checked, including free pages and pointer-map pages.
    package let checkedPages: Int
    /// The number of pages on the freelist.
    package let freePages: Int
    package let overflowPages: Int
    /// The number of b-trees of tables, including the schema table.
    package let tables: Int
    /// The number of b-trees, or parts of b-trees, that the schema does not name. They are looked for only if the
    /// schema is lost.
    package let looseTrees: Int
    /// The number of b-trees of indexes.
    package let indexes: Int
    /// The number of cells in all b-trees.
    package let cells: Int
    /// The number of rows in all tables except the schema table. Rows in b-trees that the schema does not name are
    /// included.
    package let rows: Int
    /// The names of the tables of which some pages could not be checked. The rows on these pages are not in ``rows``. Nil
    /// if there are no such tables.
    package let partlyCountedTables: [String]?
    /// The number of entries in all indexes. Entries in b-trees that the schema does not name are included.
    package let indexEntries: Int
    /// The number of CREATE statements that contain expressions, queries or trigger bodies, which only SQLite itself
    /// can judge.
    package let unjudgedStatements: Int
  }

  /// Checks the store at `path`.
  ///
  /// - Parameters:
  ///   - path: the main file of the store.
  ///   - logView: which part of the write-ahead log is read.
  ///   - depth: the depth of the check. A full check also compares index entries with rows.
  ///   - progress: called repeatedly with the number of pages examined so far and the total number of pages.
  /// - Throws: `SQLiteFileError` when the file cannot be opened or contains no database page. A lost header does not
  ///   throw but is a finding.
  package init(
    path: String, logView: SQLiteDatabase.LogView = .committed, depth: CheckDepth = .quick,
    progress: ((_ done: Int, _ total: Int) -> Void)? = nil
  ) throws {
    let watch = EvidenceWatch(path)
    let store = try CoreDataStore(SQLiteDatabase.surveyed(path: path, logView: logView))
    let total = Int(store.database.pageCount)
    var report = try store.check(depth: depth) { done in progress?(min(done, total), total) }
    // An inspection reads all rows, too. Where rows are damaged, it has findings that only this reading makes.
    if report.findings.damageCount > 0 {
      for table in store.database.schema.tables { _ = try store.database.rowCount(of: table) }
    }
    report.add(findingsOf: store)
    self.path = path
    kind = store.kind
    self.depth = depth
    isSound = report.findings.damageCount == 0
    notChecked = report.unchecked
    counts = Counts(
      pages: report.pageCount, checkedPages: report.checkedPageCount,
      freePages: report.freePageCount, overflowPages: report.overflowPageCount,
      tables: report.tableCount, looseTrees: report.unnamedTreeCount, indexes: report.indexCount,
      cells: report.cellCount,
      rows: report.rowCount,
      partlyCountedTables: report.partlyCountedTables.isEmpty ? nil : report.partlyCountedTables,
      indexEntries: report.indexEntryCount,
      unjudgedStatements: report.unjudgedStatementCount)
    findings = report.findings.kept
    findingCount = report.findings.count
    damageCount = report.findings.damageCount
    changedDuringRead = watch.changes()
  }

  /// Inserts `found` before the check's own findings and updates the counts. The findings in `found` were made earlier,
  /// for example during decryption.
  package mutating func add(_ found: FindingList) {
    findings = found.kept + findings
    findingCount += found.count
    damageCount += found.damageCount
    isSound = damageCount == 0
  }
}

extension CheckReport {
  /// Adds the findings that were made when `store` was opened and its rows were read, unless the report already has a
  /// finding with the same id about the same page or, if the finding names no page, about the same table.
  mutating func add(findingsOf store: CoreDataStore) {
    let known = Set(findings.kept.map { FindingKey($0) })
    for finding in store.findings.kept where !known.contains(FindingKey(finding)) { add(finding) }
  }
}

/// Identifies a finding by its id and page, or by its id and table if it has no page. The message is not compared.
private struct FindingKey: Hashable {
  let id: Finding.ID
  let page: UInt32?
  let table: ExactText?

  init(_ finding: Finding) {
    id = finding.id
    page = finding.page
    table = finding.page == nil ? finding.table.map { ExactText($0) } : nil
  }
}
