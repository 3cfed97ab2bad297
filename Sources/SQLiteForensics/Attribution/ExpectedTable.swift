package import SQLiteFile

/// A table to which recovered rows can be assigned. The table is known from the schema of the damaged file, from the
/// model that the store caches, from a model that the caller gives, or from the schema of a healthy store.
public struct ExpectedTable: Sendable, Hashable {
  /// The name of the table, as the schema or the model spells it.
  public let name: String
  /// The CREATE statement; nil when it is not known.
  public let sql: String?
  /// The columns and the primary key that the CREATE statement declares. The definition has no columns when the
  /// statement cannot be read.
  package let definition: TableDefinition
  /// The columns that are declared NOT NULL, as indexes into the columns of ``definition``.
  package var notNull: Set<Int> = []
  /// The range of integers that a column can hold, by the index of the column. Only Core Data's `Z_ENT` column (entity
  /// numbers) has such a range.
  package var integers: [Int: ClosedRange<Int64>] = [:]
  /// Whether the table is named only by a deleted row of the schema table, as after DROP TABLE.
  package internal(set) var isDropped = false
  /// The root page according to the schema; nil when the schema gives no root page for the table.
  package var rootPage: UInt32?

  /// Creates a table from its CREATE statement. Returns nil if `sql` cannot be read as a CREATE TABLE statement.
  /// `rootPage` is nil if it is not known.
  package init?(name: String, sql: String, rootPage: UInt32? = nil) {
    guard let definition = TableDefinition(sql: sql) else { return nil }
    self.name = name
    self.sql = sql
    self.definition = definition
    self.rootPage = rootPage
    notNull = Set(definition.columns.indices.filter { definition.columns[$0].isNotNull })
  }

  /// Creates a table whose CREATE statement cannot be read. The fields of its rows are returned as stored.
  init(undescribed name: String, rootPage: UInt32, isWithoutRowID: Bool) {
    self.name = name
    sql = nil
    definition = TableDefinition(
      columns: [], rowIDColumn: nil, primaryKey: [], isWithoutRowID: isWithoutRowID, isStrict: false
    )
    self.rootPage = rootPage
  }

  package var isDescribed: Bool { !definition.columns.isEmpty }
}
