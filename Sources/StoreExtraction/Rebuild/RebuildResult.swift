public import SQLiteFile
import StoreFiles

/// The result of rebuilding a store, or of a trial run that writes no file.
public struct RebuildResult: Sendable, Codable {
  package var schema = "lifeboat.recover"
  /// The version of the JSON form's schema; it only increases.
  package var version = 1
  package var source: String
  /// The path of the new file; nil for a trial.
  public var output: String?
  package var pageSizeBytes: Int
  /// The number of pages in the source, including missing ones.
  package var pageCount: UInt32
  /// The number of pages in use that cannot be read.
  package var unreadablePageCount: Int
  /// The number of pages that the header counts but the file does not have.
  package var missingPageCount = 0
  /// The counts of the store's external files. Nil if no row names an external file and the folder for such files is
  /// empty.
  package var externalFiles: ExternalFiles?
  /// The tables, in the order of the source.
  public var tables: [Table] = []
  /// The number of live rows, except the rows that ``conflictCount`` counts.
  public var rowCount = 0
  /// The number of live rows with an incomplete value.
  public var partialRowCount = 0
  /// The number of live rows that are in a separate table. Such a row violates a constraint of its own table, other data
  /// on its page contradicts the row, or its row id is lost.
  public var conflictCount = 0
  /// The number of live rows that may belong to any of several tables.
  public var unattributedCount = 0
  /// The number of deleted rows; nil if deleted rows were not looked for.
  public var deletedCount: Int?
  /// The findings about the source, and those made while it was rebuilt.
  public var findings: [Finding] = []
  /// The number of findings that are damage.
  public var damageCount = 0

  /// Whether every row of the source is complete and in its table, and nothing else was lost.
  public var isLossless: Bool {
    damageCount == 0 && partialRowCount == 0 && conflictCount == 0 && unattributedCount == 0
  }

  /// Counts of the external files beside a store.
  package struct ExternalFiles: Sendable, Codable {
    /// The number of external files that rows name and that exist.
    package var fileCount = 0
    /// The total size, in bytes, of the external files that rows name and that exist.
    package var sizeBytes: Int64 = 0
    /// The number of missing files that live rows name.
    package var missingCount = 0
    /// The number of external files that live rows name and that are empty.
    package var emptyCount = 0
    /// The number of files that live rows name and that contain only zeros.
    package var zeroedCount = 0
    /// The number of files in the folder that no row names; 0 if not all rows were read.
    package var strayCount = 0
    /// The folder that the files were copied into. Nil for a trial, and when the store's own folder is used.
    package var output: String?

    package mutating func add(_ other: ExternalFiles) {
      fileCount += other.fileCount
      sizeBytes = sizeBytes.addingClamped(other.sizeBytes)
      missingCount += other.missingCount
      emptyCount += other.emptyCount
      zeroedCount += other.zeroedCount
      strayCount += other.strayCount
      output = output ?? other.output
    }
  }

  /// The recovered content of one table.
  public struct Table: Sendable, Codable {
    /// The name of the table in the source.
    public var name: String
    /// The name of the table in the new file. This name may differ from ``name``.
    public var target: String
    package var source: DamagedStore.TableSource
    /// The number of rows in the table.
    public var rowCount = 0
    /// The number of rows of the table that have an incomplete value.
    public var partialRowCount = 0
    /// The number of live rows that are in a separate table. ``contradictedCount`` and ``rowIDLostCount`` count some of
    /// them; SQLite refused the others, because they violate a constraint.
    package var conflictCount = 0
    /// The number of rows in ``conflictCount`` that the rest of their page contradicts.
    package var contradictedCount = 0
    /// The number of rows in ``conflictCount`` whose row id is lost.
    package var rowIDLostCount = 0
    /// The number of rows that were found a second time, with equal values.
    package var repeatedCount = 0
    /// The number of rows that have a new row id because their old row id is lost.
    package var renumberedCount = 0
    package var deletedCount = 0
    /// True for an empty table that is described only by the `--like` example and not by the store; nil for all other
    /// tables.
    package var isAssumed: Bool?
  }
}
