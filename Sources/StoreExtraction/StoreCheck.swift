import CoreDataForensics
package import CoreDataStore
package import SQLiteFile
package import SQLiteForensics

/// The result of checking a store.
package struct StoreCheck: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.check"
  /// The version of that schema; it only increases.
  package var version = 1
  /// The path as given.
  package var path: String
  /// `coreData`, `coreDataShaped` or `sqlite`.
  package let kind: CoreDataStore.Kind
  /// `quick` or `full`.
  package let depth: CheckDepth
  /// Whether nothing worse than notes was found in the parts that were checked; see ``notChecked``.
  package private(set) var isSound: Bool
  /// What `PRAGMA integrity_check` or Core Data's rules cover but this check does not. Only if this is empty does the
  /// absence of findings mean that SQLite would report nothing either and that Core Data's rules are met.
  package let notChecked: [UncheckedPart]
  /// What was checked.
  package let counts: Counts
  /// What is wrong or noteworthy, at most ``FindingList/limit`` of them.
  package private(set) var findings: [Finding]
  /// How many findings there are.
  package private(set) var findingCount: Int
  /// How many of the findings are damage.
  package private(set) var damageCount: Int
  /// What analysers say of these facts; nil when none was asked.
  package var analyses: [Analysis]?
  /// The members that changed while the store was read; normally empty.
  package let changedDuringRead: [String]

  /// What a check has examined.
  package struct Counts: Sendable, Codable {
    /// Pages of the database after the last commit.
    package let pages: Int
    /// Pages that were examined.
    package let checkedPages: Int
    /// Pages on the freelist.
    package let freePages: Int
    /// Overflow pages.
    package let overflowPages: Int
    /// Tables, the schema table included.
    package let tables: Int
    /// B-trees, or parts of b-trees, that no schema names; looked for only if the schema is lost.
    package let looseTrees: Int
    /// Indexes.
    package let indexes: Int
    /// Cells of all b-trees.
    package let cells: Int
    /// Rows of all tables except the schema table, including those in unnamed b-trees.
    package let rows: Int
    /// Entries of all indexes, including those in unnamed b-trees.
    package let indexEntries: Int
    /// CREATE statements with parts that only SQLite itself can judge: expressions, queries, trigger bodies.
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

  /// Adds what was found in the file before it was checked.
  package mutating func add(_ found: FindingList) {
    findings = found.kept + findings
    findingCount += found.count
    damageCount += found.damageCount
    isSound = damageCount == 0
  }
}
