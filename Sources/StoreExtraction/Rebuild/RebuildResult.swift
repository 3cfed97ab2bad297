public import SQLiteFile

/// The result of rebuilding a store, or of a trial.
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
  /// Pages in use that cannot be read.
  package var unreadablePageCount: Int
  /// Pages that the header counts but the file does not have.
  package var missingPageCount = 0
  /// Files beside the store that hold values of its rows; nil when no row names any.
  package var externalFiles: ExternalFiles?
  /// The tables, in the order of the file.
  public var tables: [Table] = []
  /// Live rows in their tables.
  public var rowCount = 0
  /// Live rows with an incomplete value.
  public var partialRowCount = 0
  /// Live rows that a constraint keeps out of their table, and rows that SQLite reads but that their page contradicts;
  /// they are in separate tables.
  public var conflictCount = 0
  /// Live rows that may belong to any of several tables.
  public var unattributedCount = 0
  /// Deleted rows; nil when they were not looked for.
  public var deletedCount: Int?
  /// What was wrong or noteworthy, in the source and in rebuilding it.
  public var findings: [Finding] = []
  /// How many of the findings are damage.
  public var damageCount = 0

  /// Whether every row of the source is complete and in its table, and nothing else was lost.
  public var isLossless: Bool {
    damageCount == 0 && partialRowCount == 0 && conflictCount == 0 && unattributedCount == 0
  }

  /// Files of external binary data.
  package struct ExternalFiles: Sendable, Codable {
    /// Existing files that rows name.
    package var fileCount = 0
    /// Total size of the existing files in bytes.
    package var sizeBytes: Int64 = 0
    /// Missing files that live rows name.
    package var missingCount = 0
    /// Empty files that live rows name.
    package var emptyCount = 0
    /// Files with only zeros that live rows name.
    package var zeroedCount = 0
    /// Files in the same folder that no row names; 0 also when not all rows were read.
    package var strayCount = 0
    /// The folder that the files were copied into; nil for a trial, and when it is the store's own.
    package var output: String?

    /// Adds the counts of another store's files, which went into the same folder.
    package mutating func add(_ other: ExternalFiles) {
      fileCount += other.fileCount
      sizeBytes = sizeBytes.addingReportingOverflow(other.sizeBytes).partialValue
      missingCount += other.missingCount
      emptyCount += other.emptyCount
      zeroedCount += other.zeroedCount
      strayCount += other.strayCount
      output = output ?? other.output
    }
  }

  /// A table.
  public struct Table: Sendable, Codable {
    /// The name in the source.
    public var name: String
    /// The name in the new file, which may differ.
    public var target: String
    /// What described the table.
    package var source: DamagedStore.TableSource
    /// Rows in the table.
    public var rowCount = 0
    /// Rows in the table with an incomplete value.
    public var partialRowCount = 0
    /// Rows that a constraint keeps out of the table, or that their page contradicts.
    package var conflictCount = 0
    /// Rows that were found twice, equal in every value.
    package var repeatedCount = 0
    /// Rows that were given a new row id because theirs is lost.
    package var renumberedCount = 0
    /// Deleted rows.
    package var deletedCount = 0
    /// True for an empty table that only the `--like` example describes, not the store; nil for all others.
    package var isAssumed: Bool?
  }
}
