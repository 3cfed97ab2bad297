import CoreDataForensics
package import CoreDataStore
package import SQLiteFile
package import SQLiteForensics

/// The result of checking a store.
package struct StoreCheck: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.check"
  /// The version of the JSON form's schema; it only increases.
  package var version = 1
  /// The path of the store's main file, as given.
  package var path: String
  /// The kind of file: `coreData`, `coreDataShaped` or `sqlite`.
  package let kind: CoreDataStore.Kind
  /// How thorough the check was: `quick` or `full`.
  package let depth: CheckDepth
  /// Whether nothing worse than notes was found in the parts that were checked; see ``notChecked``.
  package private(set) var isSound: Bool
  /// What `PRAGMA integrity_check` or Core Data's rules cover but this check does not. Only if this is empty does the
  /// absence of findings mean that SQLite would report nothing either and that Core Data's rules are met.
  package let notChecked: [UncheckedPart]
  /// How many pages, tables, rows and other parts were checked.
  package let counts: Counts
  /// What is wrong or noteworthy, at most ``FindingList/limit`` of them.
  package private(set) var findings: [Finding]
  /// The number of all findings, including those that are not in ``findings``.
  package private(set) var findingCount: Int
  /// How many of the findings are damage.
  package private(set) var damageCount: Int
  /// What the analysers say about this result; nil when no analysers were run.
  package var analyses: [Analysis]?
  /// The members that changed while the store was read; normally empty.
  package let changedDuringRead: [String]

  /// How many pages, tables, rows and other parts a check has examined.
  package struct Counts: Sendable, Codable {
    /// The number of pages of the database: those that the last commit counts, and pages in use after the last of them.
    package let pages: Int
    /// The number of pages that were checked, free pages and pointer-map pages included.
    package let checkedPages: Int
    /// The number of pages on the freelist.
    package let freePages: Int
    /// The number of overflow pages.
    package let overflowPages: Int
    /// The number of b-trees of tables, the schema table included.
    package let tables: Int
    /// B-trees, or parts of b-trees, that no schema names; looked for only if the schema is lost.
    package let looseTrees: Int
    /// The number of b-trees of indexes.
    package let indexes: Int
    /// The number of cells in all b-trees.
    package let cells: Int
    /// The number of rows in all tables except the schema table, including rows in unnamed b-trees.
    package let rows: Int
    /// The number of entries in all indexes, including entries in unnamed b-trees.
    package let indexEntries: Int
    /// The number of CREATE statements with parts that only SQLite itself can judge: expressions, queries, trigger
    /// bodies.
    package let unjudgedStatements: Int
  }

  /// Checks the store at `path`.
  ///
  /// - Parameters:
  ///   - path: the main file of the store.
  ///   - logView: which part of the write-ahead log counts.
  ///   - depth: whether index entries are also compared with the rows.
  ///   - progress: called repeatedly with the number of pages examined so far and the number of all pages.
  /// - Throws: `SQLiteFileError` when the file cannot be opened or contains no database page. A lost header is a
  ///   finding.
  package init(
    path: String, logView: SQLiteDatabase.LogView = .committed, depth: CheckDepth = .quick,
    progress: ((_ done: Int, _ total: Int) -> Void)? = nil
  ) throws {
    let watch = EvidenceWatch(path)
    let store = try CoreDataStore(SQLiteDatabase.surveyed(path: path, logView: logView))
    let total = Int(store.database.pageCount)
    let report = try store.check(depth: depth) { done in progress?(min(done, total), total) }
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
      rows: report.rowCount, indexEntries: report.indexEntryCount,
      unjudgedStatements: report.unjudgedStatementCount)
    findings = report.findings.kept
    findingCount = report.findings.count
    damageCount = report.findings.damageCount
    changedDuringRead = watch.changes()
  }

  /// Puts findings made before the check, such as those of decryption, in front of the check's own, and updates the
  /// counts.
  package mutating func add(_ found: FindingList) {
    findings = found.kept + findings
    findingCount += found.count
    damageCount += found.damageCount
    isSound = damageCount == 0
  }
}
