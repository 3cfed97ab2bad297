/// The findings about tables, the log and the journal.
extension Finding.ID {
  /// The database header counts more pages than the file contains.
  package static let fileTruncated = Self(rawValue: "file.truncated")
  /// The main file is empty, and all pages come from the log or the journal.
  package static let fileMainEmpty = Self(rawValue: "file.mainEmpty")

  /// More pages are in use than the database header counts. SQLite does not read the pages past that count.
  package static let headerBadCount = Self(rawValue: "header.badCount")

  /// A page in the b-tree of a table does not have the type of a b-tree page.
  @usableFromInline package static let pageBadType = Self(rawValue: "page.badType")
  /// The cell count in a page's header is higher than the number of cells that fit on the page.
  @usableFromInline package static let pageBadCellCount = Self(rawValue: "page.badCellCount")
  /// A b-tree or the freelist leads to a page that is not in the file, or the file lacks a page of the pointer map.
  package static let pageMissing = Self(rawValue: "page.missing")
  /// An index page is in the b-tree of a table, or a table page is in the b-tree of an index.
  package static let pageWrongKind = Self(rawValue: "page.wrongKind")
  /// Two pointers in the b-tree of a table have the same page number; the page is read once.
  package static let pageReferencedTwice = Self(rawValue: "page.referencedTwice")
  /// A b-tree or an overflow chain leads to a page that belongs to another table. The page is read only as a page of
  /// the table that it belongs to.
  package static let pageOtherTable = Self(rawValue: "page.otherTable")
  /// The first row of a page has values that SQLite never stores in the table of the page.
  package static let pageOtherRows = Self(rawValue: "page.otherRows")
  /// Values on a page are zero because the disk lost a sector of the page.
  package static let pageZeroSector = Self(rawValue: "page.zeroSector")
  /// The number of fragmented free bytes on a page differs from the number in the page's header.
  package static let pageBadFragments = Self(rawValue: "page.badFragments")

  /// Row ids are out of order.
  package static let treeKeyOrder = Self(rawValue: "tree.keyOrder")
  /// A b-tree is deeper than any that SQLite makes.
  package static let treeTooDeep = Self(rawValue: "tree.tooDeep")
  /// The payloads of a table add up to far more bytes than the table's pages contain, because rows share bytes.
  package static let treeMoreThanFile = Self(rawValue: "tree.moreThanFile")

  /// A cell pointer leads outside its page.
  package static let cellBadPointer = Self(rawValue: "cell.badPointer")
  /// A cell states a payload length that is greater than the length of the file.
  package static let cellBadLength = Self(rawValue: "cell.badLength")
  /// A cell extends past the end of its page.
  package static let cellPastEnd = Self(rawValue: "cell.pastEnd")

  package static let recordBadHeader = Self(rawValue: "record.badHeader")
  /// The values of a record need more bytes than the payload contains.
  package static let recordTruncated = Self(rawValue: "record.truncated")
  /// Values have a reserved serial type; they are shown as NULL.
  package static let recordReservedType = Self(rawValue: "record.reservedType")
  /// The values of a record end before the end of the payload.
  package static let recordTrailingBytes = Self(rawValue: "record.trailingBytes")
  /// A row has more values than its table has columns.
  package static let recordTooManyFields = Self(rawValue: "record.tooManyFields")

  /// An overflow chain ends before its payload is complete.
  package static let overflowBroken = Self(rawValue: "overflow.broken")
  /// An overflow chain continues after the end of the payload.
  package static let overflowTooLong = Self(rawValue: "overflow.tooLong")

  /// The schema lists a table or an index without a root page.
  package static let schemaNoRoot = Self(rawValue: "schema.noRoot")
  /// An entry of the schema table has flipped bits. They are corrected before the entry is read.
  package static let schemaRepaired = Self(rawValue: "schema.repaired")
  /// The CREATE statement of a table cannot be read; its rows are read without column names.
  package static let schemaUnreadable = Self(rawValue: "schema.unreadable")

  /// The header of the write-ahead log is damaged; the log is not used.
  package static let walBadHeader = Self(rawValue: "wal.badHeader")
  /// The page size of the log is not that of the database; the log is not used.
  package static let walOtherPageSize = Self(rawValue: "wal.otherPageSize")
  /// Frames of the log belong to a transaction that was never committed. This finding is only a note.
  package static let walUncommitted = Self(rawValue: "wal.uncommitted")
  /// A frame of the log does not match its checksum, and committed frames follow it.
  package static let walBrokenChain = Self(rawValue: "wal.brokenChain")
  /// A commit in the log states a number of pages that the main file and the log cannot contain.
  package static let walBadPageCount = Self(rawValue: "wal.badPageCount")
  /// The log has frames whose page numbers are far beyond what the main file and the log can contain.
  package static let walPageOutOfRange = Self(rawValue: "wal.pageOutOfRange")
  /// The main file was changed after the log's last commit.
  package static let walOlderThanMain = Self(rawValue: "wal.olderThanMain")
  /// The pages of the write-ahead log contradict those of the main file, while the main file alone is consistent.
  package static let walOtherGeneration = Self(rawValue: "wal.otherGeneration")

  /// A transaction was interrupted. Its pages are read as they were before the transaction. This finding is only a
  /// note.
  package static let journalHot = Self(rawValue: "journal.hot")
  /// The journal belongs to a finished transaction, and is not used. This finding is only a note.
  package static let journalSuperseded = Self(rawValue: "journal.superseded")
  /// The `-journal` file does not start like a rollback journal; the file is not used.
  package static let journalUnreadable = Self(rawValue: "journal.unreadable")
  /// The sector size or page size in the journal's header is impossible; the journal is not used.
  package static let journalBadHeader = Self(rawValue: "journal.badHeader")
  /// A page in the journal does not match its checksum; this page and all later ones are not used.
  package static let journalBadRecord = Self(rawValue: "journal.badRecord")
  /// The journal contains fewer pages than its header states.
  package static let journalTruncated = Self(rawValue: "journal.truncated")
  /// The page size of the journal is not that of the database; the journal is not used.
  package static let journalOtherPageSize = Self(rawValue: "journal.otherPageSize")
  /// The journal has records whose page numbers are far beyond what the main file and the journal can contain.
  package static let journalPageOutOfRange = Self(rawValue: "journal.pageOutOfRange")
}
