public import SQLiteFile

/// What rebuilding a store gave, or would give.
public struct RebuildResult: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.recover"
  /// The version of that schema; it only grows.
  package var version = 1
  /// The store.
  package var source: String
  /// The new file; nil for a trial.
  public var output: String?
  /// Bytes in a page of the source.
  package var pageSizeBytes: Int
  /// Pages of the source, missing ones counted.
  package var pageCount: UInt32
  /// Pages that something leads to and that cannot be read.
  package var unreadablePageCount: Int
  /// Pages that the header counts and the file does not have.
  package var missingPageCount = 0
  /// Files beside the store that hold values of its rows; nil when no row names any.
  package var externalFiles: ExternalFiles?
  /// The tables, in the order of the file.
  public var tables: [Table] = []
  /// Live rows in their tables.
  public var rowCount = 0
  /// Live rows of which a value is not whole.
  public var partialRowCount = 0
  /// Live rows that a constraint keeps out of their table, and rows that SQLite reads and their page contradicts; they are in
  /// tables of their own.
  public var conflictCount = 0
  /// Live rows that may be of any of several tables.
  public var unattributedCount = 0
  /// Deleted rows; nil when they were not looked for.
  public var deletedCount: Int?
  /// What was wrong or noteworthy, in the source and in rebuilding it.
  public var findings: [Finding] = []
  /// How many of them are damage.
  public var damageCount = 0

  /// Whether every row of the source is whole and in its table, and nothing else was lost.
  public var isLossless: Bool {
    damageCount == 0 && partialRowCount == 0 && conflictCount == 0 && unattributedCount == 0
  }

  /// Files of external binary data.
  package struct ExternalFiles: Sendable, Codable {
    /// Files that rows name and that are there.
    package var fileCount = 0
    /// Their bytes.
    package var sizeBytes: Int64 = 0
    /// Files that live rows name and that are not there.
    package var missingCount = 0
    /// Files among them that are empty although live rows name them.
    package var emptyCount = 0
    /// Files among them that have nothing but zeros although live rows name them.
    package var zeroedCount = 0
    /// Files beside them that no row names; 0 also where not all rows were read.
    package var strayCount = 0
    /// The folder that they were copied into; nil for a trial, and when it is the store's own.
    package var output: String?
  }

  /// A table.
  public struct Table: Sendable, Codable {
    /// The name in the source.
    public var name: String
    /// The name in the new file, where it is another.
    public var target: String
    /// Who described it.
    package var source: DamagedStore.TableSource
    /// Rows that are in it.
    public var rowCount = 0
    /// Rows of these of which a value is not whole.
    public var partialRowCount = 0
    /// Rows that a constraint keeps out, or their page contradicts.
    package var conflictCount = 0
    /// Rows that were met twice, equal in every value.
    package var repeatedCount = 0
    /// Rows that were given a new row id because theirs is lost.
    package var renumberedCount = 0
    /// Deleted rows.
    package var deletedCount = 0
    /// True for an empty table of which nothing in the store tells, only what `--like` named; nil for all others.
    package var isAssumed: Bool?
  }
}
