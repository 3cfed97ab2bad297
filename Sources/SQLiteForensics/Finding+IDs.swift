package import SQLiteFile
import SafeText

/// The ids of the findings of the check and of recovery, and of the parts that the check does not examine. "Note:" in a
/// comment means that the finding has the severity `note`. "Not checked:" means that the id stands for an unexamined
/// part.
extension Finding.ID {
  /// Note: bytes follow the last page that the header counts.
  package static let fileTrailing = Self(rawValue: "file.trailing")
  /// The first bytes of the database are missing. The page numbers show how many bytes are missing.
  package static let fileHeadMissing = Self(rawValue: "file.headMissing")
  /// Bytes that do not belong to the database precede page 1.
  package static let fileHeadMoved = Self(rawValue: "file.headMoved")
  package static let fileShifted = Self(rawValue: "file.shifted")

  /// The payload fractions in the header are not 64, 32 and 32 (file format, section 1.3.5).
  package static let headerBadFractions = Self(rawValue: "header.badFractions")
  /// Note: the read version or the write version is a number that no known version of SQLite writes.
  package static let headerBadVersion = Self(rawValue: "header.badVersion")
  /// The schema format is not 1, 2, 3 or 4.
  package static let headerBadSchemaFormat = Self(rawValue: "header.badSchemaFormat")
  /// Note: the text encoding in the header is not a valid value.
  package static let headerBadEncoding = Self(rawValue: "header.badEncoding")
  /// Note: the 20 header bytes that are reserved for later versions of SQLite are not zero.
  package static let headerReservedBytes = Self(rawValue: "header.reservedBytes")
  /// According to the header, incremental vacuum is on, but the file has no pointer map.
  package static let headerBadAutoVacuum = Self(rawValue: "header.badAutoVacuum")
  /// The largest root page number in the schema differs from the largest root page number in the header.
  package static let headerBadLargestRoot = Self(rawValue: "header.badLargestRoot")
  /// Note: the last writer did not update the page count in the header, so the page count is taken from the file's
  /// size.
  package static let headerStaleCount = Self(rawValue: "header.staleCount")
  /// The header is lost or not valid, so the page size and the text encoding are deduced from the pages.
  package static let headerUnreadable = Self(rawValue: "header.unreadable")
  /// The pages do not have the size that the header names.
  package static let headerOtherPageSize = Self(rawValue: "header.otherPageSize")
  /// The text is not in the encoding that the header names.
  package static let headerOtherEncoding = Self(rawValue: "header.otherEncoding")
  /// The number of unused bytes at the end of each page differs from the number of reserved bytes in the header.
  package static let headerOtherReservedBytes = Self(rawValue: "header.otherReservedBytes")

  /// The number of free pages in the header differs from the number of pages in the freelist.
  package static let freelistBadCount = Self(rawValue: "freelist.badCount")
  /// A trunk page of the freelist states more page numbers than fit on the trunk page.
  package static let freelistBadTrunk = Self(rawValue: "freelist.badTrunk")
  /// The freelist names a trunk page or a free page outside the file.
  package static let freelistOutOfRange = Self(rawValue: "freelist.outOfRange")
  /// The freelist lists pages that are in use, or lists the same page twice.
  package static let freelistDuplicate = Self(rawValue: "freelist.duplicate")
  /// A trunk page of the freelist leads back to an earlier trunk page.
  package static let freelistCycle = Self(rawValue: "freelist.cycle")

  /// The pointer map states a wrong type or a wrong parent for a page.
  package static let ptrmapBadEntry = Self(rawValue: "ptrmap.badEntry")
  /// Note: no entry of a pointer-map page is valid.
  package static let ptrmapUnreadable = Self(rawValue: "ptrmap.unreadable")

  /// Pages are orphans: no b-tree or overflow chain leads to them, and the freelist does not list them.
  package static let pageOrphan = Self(rawValue: "page.orphan")
  /// The header of a page puts the start of the cell content area outside the page, or among the cell pointers.
  package static let pageBadContentStart = Self(rawValue: "page.badContentStart")
  /// Note: the freelist or the pointer map lists pages as free, but b-trees lead to these pages.
  package static let pageNotFree = Self(rawValue: "page.notFree")
  /// A page does not belong at its page number: it comes from another store, comes from an earlier state of this store,
  /// or has changed places with another page.
  package static let pageMisplaced = Self(rawValue: "page.misplaced")
  /// The header of a page is damaged. The rows of the page are found by cell pointers or by the content of cells.
  package static let pageHeaderLost = Self(rawValue: "page.headerLost")
  /// The header, the cell pointers and the cells of a page contradict each other, so only the consistent rows are read.
  package static let pageMended = Self(rawValue: "page.mended")
  /// Rows of a page cannot be read.
  package static let pageRowsLost = Self(rawValue: "page.rowsLost")
  /// A b-tree leads to a page that is not a b-tree page, or on which no row can be read.
  package static let pageUnreadable = Self(rawValue: "page.unreadable")

  package static let treeUnevenDepth = Self(rawValue: "tree.unevenDepth")
  /// Note: leaves were not compared by their row ids, because there are too many of them. So rows of earlier states may
  /// be among the live rows, or rows that fit several tables may be assigned to no table.
  package static let treeNotCompared = Self(rawValue: "tree.notCompared")

  package static let cellOverlap = Self(rawValue: "cell.overlap")

  /// The chain of freeblocks on a page leads backwards, leads outside the cell content area, or has two freeblocks with
  /// fewer than 4 bytes between them.
  package static let freeblockBadChain = Self(rawValue: "freeblock.badChain")
  /// A freeblock has fewer than 4 bytes, or extends past the usable part of the page.
  package static let freeblockBadSize = Self(rawValue: "freeblock.badSize")
  /// A freeblock covers bytes of a cell.
  package static let freeblockOverlap = Self(rawValue: "freeblock.overlap")

  /// Values in a NOT NULL column are NULL.
  package static let recordNull = Self(rawValue: "record.null")
  /// Values have a storage class that SQLite never stores in their column.
  package static let recordAffinity = Self(rawValue: "record.affinity")
  /// A record has a value in the field of an INTEGER PRIMARY KEY column, where SQLite stores NULL.
  package static let recordRowIDField = Self(rawValue: "record.rowIDField")
  /// Note: text is not valid in the file's encoding.
  package static let recordBadText = Self(rawValue: "record.badText")

  /// The header of a record is wrong, so the values of the record are deduced by comparison with other rows of the
  /// table.
  package static let rowDeduced = Self(rawValue: "row.deduced")
  /// A row has partial values: values of which some or all bytes are missing or in doubt.
  package static let rowPartial = Self(rawValue: "row.partial")

  /// Note: strings are not valid in the file's encoding. The bytes of these strings are returned instead.
  package static let textUndecodable = Self(rawValue: "text.undecodable")

  /// An index has more or fewer entries than the rows of its table require.
  package static let indexBadCount = Self(rawValue: "index.badCount")
  /// An index has entries that do not match the rows of the indexed table.
  package static let indexBadEntries = Self(rawValue: "index.badEntries")
  /// Entries of an index are out of order, so searches miss rows.
  package static let indexBadOrder = Self(rawValue: "index.badOrder")
  /// A unique index has the same entry more than once.
  package static let indexNotUnique = Self(rawValue: "index.notUnique")
  /// An entry of an index does not end with a row id.
  package static let indexNoRowID = Self(rawValue: "index.noRowID")
  /// Not checked: whether the entries of indexes match the rows of their tables. The message names up to three of these
  /// indexes.
  package static let indexEntries = Self(rawValue: "index.entries")
  /// Not checked: the order of the entries of indexes and WITHOUT ROWID tables. The message names up to three of these
  /// b-trees.
  package static let indexOrder = Self(rawValue: "index.order")

  /// Rows of a WITHOUT ROWID table are out of order, so searches miss rows.
  package static let tableBadOrder = Self(rawValue: "table.badOrder")
  /// Not checked: the CHECK constraints of tables. The message names up to three of these tables.
  package static let tableChecks = Self(rawValue: "table.checks")
  /// Not checked: the content of virtual tables. The message names up to three of these tables.
  package static let tableVirtual = Self(rawValue: "table.virtual")

  /// A link of an overflow chain is wrong, so the next page of the chain is taken from the pointer map.
  package static let overflowMended = Self(rawValue: "overflow.mended")

  /// The schema names a page inside another b-tree as the root page of a table.
  package static let schemaBadRoot = Self(rawValue: "schema.badRoot")
  /// The schema is lost, so nothing names the tables or their root pages.
  package static let schemaLost = Self(rawValue: "schema.lost")
  /// Part of the schema table cannot be read.
  package static let schemaIncomplete = Self(rawValue: "schema.incomplete")
  /// The root page in the schema belongs to a b-tree with the rows of another table: an index of that other table
  /// agrees with these rows.
  package static let schemaOtherRoot = Self(rawValue: "schema.otherRoot")
  /// SQLite rejects a CREATE statement of the schema, so SQLite cannot open the file.
  package static let schemaBadSQL = Self(rawValue: "schema.badSQL")
  /// An entry of the schema has an unknown type: a type other than table, index, view or trigger.
  package static let schemaBadType = Self(rawValue: "schema.badType")
  /// An entry of the schema lacks the CREATE statement that SQLite writes for it. Automatic indexes have no such
  /// statement, and a table with a root page is reported as ``schemaUnreadable``.
  package static let schemaNoSQL = Self(rawValue: "schema.noSQL")
  /// Not checked: expressions, queries and triggers in CREATE statements, and statements of more than 1 MiB.
  package static let schemaExpressions = Self(rawValue: "schema.expressions")

  /// The header of the log is lost, so the frames of the log are verified only by the frames' own checksums.
  package static let walHeaderLost = Self(rawValue: "wal.headerLost")
  /// The header of the log and the first frames after it are damaged.
  package static let walFramesLost = Self(rawValue: "wal.framesLost")
  /// The beginning of the log is missing, so the frames of the log are used only as older versions of pages.
  package static let walHeadLost = Self(rawValue: "wal.headLost")
  /// No frame of the log can be recognised.
  package static let walNoFrames = Self(rawValue: "wal.noFrames")
  /// Note: the store is in WAL mode and has no log beside it.
  package static let walNone = Self(rawValue: "wal.none")

  /// The header of the journal is lost, and the journal's transaction was not finished.
  package static let journalHeaderLost = Self(rawValue: "journal.headerLost")
  /// The header of the journal consists of zeros, and nothing shows whether the transaction of the journal was
  /// finished.
  package static let journalUndecided = Self(rawValue: "journal.undecided")

  /// Not checked: references to a table whose primary keys are too large or too far apart.
  package static let coredataKeysNotChecked = Self(rawValue: "coredata.keysNotChecked")

  // MARK: - Earlier states

  /// Note: the requested earlier state contains no database.
  package static let stateNone = Self(rawValue: "state.none")
  /// Pages of an earlier state have, or may have, the content of a later commit, because a checkpoint has copied this
  /// content into the main file.
  package static let stateMixed = Self(rawValue: "state.mixed")
  /// The requested earlier state of the database is in the middle of a transaction. SQLite would roll this transaction
  /// back.
  package static let stateInterrupted = Self(rawValue: "state.interrupted")
  /// An earlier state combines the main file with pages of the journal. The main file and these pages may belong to
  /// different states, so the database may never have been in the combined state.
  package static let stateUncertain = Self(rawValue: "state.uncertain")
  /// Pages of an earlier state are missing: they are neither in the main file nor in the log or the journal.
  package static let statePagesMissing = Self(rawValue: "state.pagesMissing")
  /// SQLite's own check finds errors in the new database file that was written for an earlier state.
  package static let stateCheckFails = Self(rawValue: "state.checkFails")
  /// Note: values of an earlier state are in external files. These files have no earlier versions, and are not part of
  /// the new database file.
  package static let stateExternalFiles = Self(rawValue: "state.externalFiles")
}

extension Finding {
  /// Returns the finding that `count` records of a leaf have more fields than the table has columns.
  static func tooManyFields(
    _ count: Int, _ page: UInt32, _ place: PageReader.Place, _ table: String?
  ) -> Finding {
    Finding(
      .recordTooManyFields,
      counted(count, "record has", "records have")
        + " more fields than the table has columns; the extra fields are not shown",
      member: place.member, page: page, offset: place.offset, table: table)
  }
}
