package import SQLiteFile

extension Finding.ID {
  /// Rows break a constraint of their table; they are kept in a separate table.
  package static let recoverConflict = Self(rawValue: "recover.conflict")
  /// SQLite reads rows that the rest of their pages contradicts; they are kept in a separate table.
  package static let recoverContradicted = Self(rawValue: "recover.contradicted")
  /// Rows have lost their row ids and cannot get new ones; they are kept in a separate table.
  package static let recoverRowIDLost = Self(rawValue: "recover.rowIDLost")
  /// Note: rows with equal values were found twice; the new file has each of them once.
  package static let recoverRepeated = Self(rawValue: "recover.repeated")
  /// Rows have partial values. A partial value is NULL in its row; the remaining bytes of the value are kept in a table
  /// of notes.
  package static let recoverPartial = Self(rawValue: "recover.partial")
  /// Rows may belong to any of several tables; they are kept in a separate table.
  package static let recoverUnattributed = Self(rawValue: "recover.unattributed")
  /// Rows have new row ids because their old row ids are lost.
  package static let recoverRenumbered = Self(rawValue: "recover.renumbered")
  /// The rows of a WITHOUT ROWID table cannot be found, because its root page is not known.
  package static let recoverWithoutRowID = Self(rawValue: "recover.withoutRowID")
  /// A table is made without types and constraints.
  package static let recoverTableSimplified = Self(rawValue: "recover.tableSimplified")
  /// A table cannot be made at all; its rows are kept with the rows whose table is not certain.
  package static let recoverTableNotMade = Self(rawValue: "recover.tableNotMade")
  /// A table is made without rows, because the `--like` example contains it. Nothing in the store describes the table.
  package static let recoverTableAssumed = Self(rawValue: "recover.tableAssumed")
  /// A table has another name in the new file.
  package static let recoverTableRenamed = Self(rawValue: "recover.tableRenamed")
  /// A table has more columns than SQLite allows; the surplus columns are stored as JSON in one extra column.
  package static let recoverColumnsFolded = Self(rawValue: "recover.columnsFolded")
  /// Virtual generated columns are left out; no row stores their values.
  package static let recoverComputedLeftOut = Self(rawValue: "recover.computedLeftOut")
  /// Rows in a table violate the table's CHECK constraint.
  package static let recoverCheckFails = Self(rawValue: "recover.checkFails")
  package static let recoverIndexNotBuilt = Self(rawValue: "recover.indexNotBuilt")
  package static let recoverViewNotBuilt = Self(rawValue: "recover.viewNotBuilt")
  package static let recoverTriggerNotBuilt = Self(rawValue: "recover.triggerNotBuilt")
  /// A virtual table cannot be added to the schema, or its content may not match the rows in its ordinary tables.
  package static let recoverVirtualTable = Self(rawValue: "recover.virtualTable")
  /// A row names a file of external binary data that does not exist.
  package static let recoverExternalMissing = Self(rawValue: "recover.externalMissing")
  /// The current user may not read files of external binary data, so these files are not copied.
  package static let recoverExternalUnread = Self(rawValue: "recover.externalUnread")
  /// A row names a file of external binary data that is empty.
  package static let recoverExternalEmpty = Self(rawValue: "recover.externalEmpty")
  /// A row names a file of external binary data that contains only zeros.
  package static let recoverExternalZeroed = Self(rawValue: "recover.externalZeroed")
  /// A file of external binary data is larger than a value in SQLite can be; it is left out.
  package static let recoverExternalTooLarge = Self(rawValue: "recover.externalTooLarge")
  /// A file of external binary data is not named by any row.
  package static let recoverExternalStray = Self(rawValue: "recover.externalStray")
  /// The new file and the old one share the folder of external binary data.
  package static let recoverExternalShared = Self(rawValue: "recover.externalShared")
}
