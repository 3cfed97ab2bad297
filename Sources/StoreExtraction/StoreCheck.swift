import CoreDataForensics
public import CoreDataStore
public import SQLiteFile
public import SQLiteForensics

/// The result of checking a store.
public struct StoreCheck: Sendable, Codable {
  /// The name of the schema of the JSON form.
  public var schema = "lifeboat.check"
  /// The version of that schema; it only increases.
  public var version = 1
  /// The path as given.
  public let path: String
  /// `coreData`, `coreDataShaped` or `sqlite`.
  public let kind: CoreDataStore.Kind
  /// `quick` or `full`.
  public let depth: CheckDepth
  /// Whether nothing worse than notes was found in the parts that were checked; see ``notChecked``.
  public let isSound: Bool
  /// What SQLite's `PRAGMA integrity_check` or a rule of Core Data's checks and this check did not. Only where this is
  /// empty, no finding means that SQLite has nothing to report either and that Core Data's rules hold.
  public let notChecked: [UncheckedPart]
  /// What was checked.
  public let counts: Counts
  /// What is wrong or noteworthy, at most ``FindingList/limit`` of them.
  public let findings: [Finding]
  /// How many findings there are.
  public let findingCount: Int
  /// How many of them are damage.
  public let damageCount: Int
  /// The members that changed while the store was read; normally empty.
  public let changedDuringRead: [String]

  /// What a check has examined.
  public struct Counts: Sendable, Codable {
    /// Pages of the database after the last commit.
    public let pages: Int
    /// Pages that were examined.
    public let checkedPages: Int
    /// Pages on the freelist.
    public let freePages: Int
    /// Overflow pages.
    public let overflowPages: Int
    /// Tables, the schema table included.
    public let tables: Int
    /// B-trees, or parts of b-trees, that no schema names. They are looked for only where the schema is lost.
    public let looseTrees: Int
    /// Indexes.
    public let indexes: Int
    /// Cells of all b-trees.
    public let cells: Int
    /// Rows of all tables except the schema table, those in b-trees without a name included.
    public let rows: Int
    /// Entries of all indexes, those in b-trees without a name included.
    public let indexEntries: Int
    /// CREATE statements with parts that only SQLite itself can judge: expressions, queries, trigger bodies.
    public let unjudgedStatements: Int
  }

  /// Checks the store at `path`.
  ///
  /// - Parameters:
  ///   - path: the main file of the store.
  ///   - logView: which part of the write-ahead log counts.
  ///   - depth: whether index entries are also compared with the rows.
  ///   - progress: called now and then with the number of pages that were examined, and of all pages.
  /// - Throws: `SQLiteFileError` when the file cannot be opened, or nothing in it is a page of a database. A lost
  ///   header is a finding.
  public init(
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
}
