package import SQLiteFile
import SafeText

/// The ids of findings that the check or the reading of a damaged file makes, and of the parts that the check does not
/// examine.
extension Finding.ID {
  /// Note: bytes follow the last page that the header counts.
  package static let fileTrailing = Self(rawValue: "file.trailing")
  /// The first bytes of the database are missing. The page numbers show how many.
  package static let fileHeadMissing = Self(rawValue: "file.headMissing")
  /// Bytes of something else come before the first page of the database.
  package static let fileHeadMoved = Self(rawValue: "file.headMoved")
  package static let fileShifted = Self(rawValue: "file.shifted")

  /// The payload fractions in the header are not the fractions that SQLite requires.
  package static let headerBadFractions = Self(rawValue: "header.badFractions")
  /// Note: the read version or the write version is a number that no known version of SQLite writes.
  package static let headerBadVersion = Self(rawValue: "header.badVersion")
  /// The schema format is not 1, 2, 3 or 4.
  package static let headerBadSchemaFormat = Self(rawValue: "header.badSchemaFormat")
  /// Note: the text encoding in the header is not a valid value.
  package static let headerBadEncoding = Self(rawValue: "header.badEncoding")
  /// Note: bytes that are reserved for later versions of SQLite are not zero.
  package static let headerReservedBytes = Self(rawValue: "header.reservedBytes")
  /// Incremental vacuum is on without a pointer map.
  package static let headerBadAutoVacuum = Self(rawValue: "header.badAutoVacuum")
  /// The highest root page of the schema is not the highest root page that the header states.
  package static let headerBadLargestRoot = Self(rawValue: "header.badLargestRoot")
  /// Note: the last writer did not update the page count in the header, so the page count is taken from the file's
  /// size.
  package static let headerStaleCount = Self(rawValue: "header.staleCount")
  /// The header is lost or invalid; page size and encoding are taken from the pages.
  package static let headerUnreadable = Self(rawValue: "header.unreadable")
  /// The pages do not have the size that the header names.
  package static let headerOtherPageSize = Self(rawValue: "header.otherPageSize")
  /// The text is not in the encoding that the header names.
  package static let headerOtherEncoding = Self(rawValue: "header.otherEncoding")
  /// The pages leave fewer or more bytes unused at their ends than the header states.
  package static let headerOtherReservedBytes = Self(rawValue: "header.otherReservedBytes")

  /// The header counts more or fewer free pages than the freelist has.
  package static let freelistBadCount = Self(rawValue: "freelist.badCount")
  /// A trunk page of the freelist states more page numbers than it has room for.
  package static let freelistBadTrunk = Self(rawValue: "freelist.badTrunk")
  /// The freelist leads to a page outside the file.
  package static let freelistOutOfRange = Self(rawValue: "freelist.outOfRange")
  /// The freelist lists pages that are in use, or lists the same page twice.
  package static let freelistDuplicate = Self(rawValue: "freelist.duplicate")
  /// The chain of the freelist's trunk pages leads back to an earlier trunk.
  package static let freelistCycle = Self(rawValue: "freelist.cycle")

  /// The type or the parent of a page is not the type or the parent that the pointer map states.
  package static let ptrmapBadEntry = Self(rawValue: "ptrmap.badEntry")
  /// Note: no entry of a pointer-map page is valid.
  package static let ptrmapUnreadable = Self(rawValue: "ptrmap.unreadable")

  /// Pages are orphans: no b-tree or overflow chain leads to them, and the freelist does not list them.
  package static let pageOrphan = Self(rawValue: "page.orphan")
  /// The header of a page puts the start of the cell content area outside the page, or among the cell pointers.
  package static let pageBadContentStart = Self(rawValue: "page.badContentStart")
  /// The freelist or the pointer map lists pages as free, but b-trees lead to these pages.
  package static let pageNotFree = Self(rawValue: "page.notFree")
  /// A page comes from another store or from an earlier state, or has changed places with another page.
  package static let pageMisplaced = Self(rawValue: "page.misplaced")
  /// The header of a page is damaged. The rows of the page are found by its cell pointers or by their own bytes.
  package static let pageHeaderLost = Self(rawValue: "page.headerLost")
  /// A page contradicts itself. Only rows that are valid by themselves are read from it.
  package static let pageMended = Self(rawValue: "page.mended")
  /// Rows of a page cannot be read.
  package static let pageRowsLost = Self(rawValue: "page.rowsLost")
  /// A b-tree leads to a page that is not a b-tree page, or on which no row can be read.
  package static let pageUnreadable = Self(rawValue: "page.unreadable")

  package static let treeUnevenDepth = Self(rawValue: "tree.unevenDepth")
  /// Note: so many leaves may belong to a table that they are not compared with each other.
  package static let treeNotCompared = Self(rawValue: "tree.notCompared")

  package static let cellOverlap = Self(rawValue: "cell.overlap")

  /// The chain of freeblocks on a page leads backwards or outside the page.
  package static let freeblockBadChain = Self(rawValue: "freeblock.badChain")
  /// A freeblock states a size that it cannot have.
  package static let freeblockBadSize = Self(rawValue: "freeblock.badSize")
  /// A freeblock covers bytes of a cell.
  package static let freeblockOverlap = Self(rawValue: "freeblock.overlap")

  /// Values in a NOT NULL column are NULL.
  package static let recordNull = Self(rawValue: "record.null")
  /// Values have a storage class that SQLite never stores in their column.
  package static let recordAffinity = Self(rawValue: "record.affinity")
  /// A record has a value in the field of a column that is an alias of the row id. SQLite stores NULL in such a field.
  package static let recordRowIDField = Self(rawValue: "record.rowIDField")
  /// Note: text is not valid in the file's encoding.
  package static let recordBadText = Self(rawValue: "record.badText")

  /// The header of a record is wrong. The values of the record are deduced by comparison with other rows of the table.
  package static let rowDeduced = Self(rawValue: "row.deduced")
  /// A row has partial values: some of their bytes are missing or in doubt.
  package static let rowPartial = Self(rawValue: "row.partial")

  /// Note: strings are not valid in the file's encoding. The bytes of these strings are returned instead.
  package static let textUndecodable = Self(rawValue: "text.undecodable")

  /// An index has more or fewer entries than the rows of its table require.
  package static let indexBadCount = Self(rawValue: "index.badCount")
  /// The entries of an index do not match the rows of the indexed table.
  package static let indexBadEntries = Self(rawValue: "index.badEntries")
  /// Entries of an index are out of order, so searches miss rows.
  package static let indexBadOrder = Self(rawValue: "index.badOrder")
  /// A unique index has the same entry more than once.
  package static let indexNotUnique = Self(rawValue: "index.notUnique")
  /// An entry of an index does not end with a row id.
  package static let indexNoRowID = Self(rawValue: "index.noRowID")
  /// Not checked: whether the entries of the named indexes match the rows.
  package static let indexEntries = Self(rawValue: "index.entries")
  /// Not checked: the order of the entries of the named b-trees.
  package static let indexOrder = Self(rawValue: "index.order")

  /// Rows of a WITHOUT ROWID table are out of order, so searches miss rows.
  package static let tableBadOrder = Self(rawValue: "table.badOrder")
  /// Not checked: the CHECK constraints of the named tables.
  package static let tableChecks = Self(rawValue: "table.checks")
  /// Not checked: the content of the named virtual tables.
  package static let tableVirtual = Self(rawValue: "table.virtual")

  /// An overflow chain led to the wrong page. Other evidence shows the page on which the chain continues.
  package static let overflowMended = Self(rawValue: "overflow.mended")

  /// The schema names a page inside another b-tree as the root page of a table.
  package static let schemaBadRoot = Self(rawValue: "schema.badRoot")
  /// The schema is lost, so nothing names the tables or their root pages.
  package static let schemaLost = Self(rawValue: "schema.lost")
  /// Part of the schema table cannot be read.
  package static let schemaIncomplete = Self(rawValue: "schema.incomplete")
  /// The schema assigns a b-tree to one table, but an index of another table agrees with the rows of this b-tree.
  package static let schemaOtherRoot = Self(rawValue: "schema.otherRoot")
  /// SQLite rejects a CREATE statement of the schema, and therefore the whole file.
  package static let schemaBadSQL = Self(rawValue: "schema.badSQL")
  /// An entry of the schema has a type other than table, index, view and trigger.
  package static let schemaBadType = Self(rawValue: "schema.badType")
  /// An entry of the schema has no CREATE statement.
  package static let schemaNoSQL = Self(rawValue: "schema.noSQL")
  /// Not checked: expressions, queries and triggers in CREATE statements, and statements of more than 1 MiB.
  package static let schemaExpressions = Self(rawValue: "schema.expressions")

  /// The header of the log is lost. The frames are verified only by their own checksums.
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
  /// The header of the journal is zero, and nothing shows whether the journal's transaction was finished.
  package static let journalUndecided = Self(rawValue: "journal.undecided")

  /// Note: the primary keys of a table are too large or too far apart, so references to the table are not checked.
  package static let coredataKeysNotChecked = Self(rawValue: "coredata.keysNotChecked")

  // MARK: - Earlier states

  /// No database can be put together for an earlier state.
  package static let stateNone = Self(rawValue: "state.none")
  /// An earlier state cannot be put together, because the main file has some of its pages only in a later version.
  package static let stateMixed = Self(rawValue: "state.mixed")
  /// An earlier state dates from the middle of a transaction that was interrupted.
  package static let stateInterrupted = Self(rawValue: "state.interrupted")
  /// A state is put together from the main file and the journal of a finished transaction. It is not certain that the
  /// database was ever in this state.
  package static let stateUncertain = Self(rawValue: "state.uncertain")
  /// An earlier state has pages that are neither in the main file nor in the side files.
  package static let statePagesMissing = Self(rawValue: "state.pagesMissing")
  /// SQLite's own check finds errors in the database file that was put together for an earlier state.
  package static let stateCheckFails = Self(rawValue: "state.checkFails")
  /// Note: values of the store are in external files. These files are available only as they are now, not as they were
  /// in the earlier state.
  package static let stateExternalFiles = Self(rawValue: "state.externalFiles")
}

extension Finding {
  /// The finding that `count` records on a leaf have more fields than their table has columns.
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
