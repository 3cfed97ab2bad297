/// What reading tables, the log and the journal finds.
extension Finding.ID {
  /// The header counts more pages than the file holds.
  package static let fileTruncated = Self(rawValue: "file.truncated")
  /// The main file is empty, and all pages come from the files beside it.
  package static let fileMainEmpty = Self(rawValue: "file.mainEmpty")

  /// Pages after the last one that the header counts are in use; SQLite reads none of them.
  package static let headerBadCount = Self(rawValue: "header.badCount")

  /// A page that a table leads to is not a b-tree page.
  @usableFromInline package static let pageBadType = Self(rawValue: "page.badType")
  /// A page claims more cells than it can hold.
  @usableFromInline package static let pageBadCellCount = Self(rawValue: "page.badCellCount")
  /// A table leads to a page that is not in the file.
  package static let pageMissing = Self(rawValue: "page.missing")
  /// A page of an index is in a table's b-tree, or the other way round.
  package static let pageWrongKind = Self(rawValue: "page.wrongKind")
  /// A table leads to the same page twice; the page is read once.
  package static let pageReferencedTwice = Self(rawValue: "page.referencedTwice")
  /// A page, or an overflow chain, already belongs to another table and is read for that table only.
  package static let pageOtherTable = Self(rawValue: "page.otherTable")
  /// The first row of a page has values that SQLite does not store in the table that leads to the page.
  package static let pageOtherRows = Self(rawValue: "page.otherRows")
  /// Values are zero because a sector of their page was lost.
  package static let pageZeroSector = Self(rawValue: "page.zeroSector")
  /// The number of fragmented free bytes on a page differs from the number in its header.
  package static let pageBadFragments = Self(rawValue: "page.badFragments")

  /// Row ids are out of order.
  package static let treeKeyOrder = Self(rawValue: "tree.keyOrder")
  /// A b-tree is deeper than any that SQLite makes.
  package static let treeTooDeep = Self(rawValue: "tree.tooDeep")
  /// The rows of a table overlap and claim far more bytes than the file holds.
  package static let treeMoreThanFile = Self(rawValue: "tree.moreThanFile")

  /// A cell pointer leads outside its page.
  package static let cellBadPointer = Self(rawValue: "cell.badPointer")
  /// A cell claims a payload that is longer than the file.
  package static let cellBadLength = Self(rawValue: "cell.badLength")
  /// A cell runs past the end of its page.
  package static let cellPastEnd = Self(rawValue: "cell.pastEnd")

  /// The header of a record cannot be read.
  package static let recordBadHeader = Self(rawValue: "record.badHeader")
  /// A record needs more bytes than its payload has.
  package static let recordTruncated = Self(rawValue: "record.truncated")
  /// Values have a reserved serial type; they are shown as NULL.
  package static let recordReservedType = Self(rawValue: "record.reservedType")
  /// The values of a record end before its payload does.
  package static let recordTrailingBytes = Self(rawValue: "record.trailingBytes")
  /// A row has more values than its table has columns.
  package static let recordTooManyFields = Self(rawValue: "record.tooManyFields")

  /// An overflow chain ends before its payload does.
  package static let overflowBroken = Self(rawValue: "overflow.broken")
  /// An overflow chain continues after the end of its payload.
  package static let overflowTooLong = Self(rawValue: "overflow.tooLong")

  /// The schema names a table or index without a root page.
  package static let schemaNoRoot = Self(rawValue: "schema.noRoot")
  /// An entry of the schema table has flipped bits, which are flipped back before the entry is read.
  package static let schemaRepaired = Self(rawValue: "schema.repaired")
  /// The CREATE statement of a table cannot be read; its rows are read without column names.
  package static let schemaUnreadable = Self(rawValue: "schema.unreadable")

  /// The header of the write-ahead log is damaged; the log is not used.
  package static let walBadHeader = Self(rawValue: "wal.badHeader")
  /// The log has pages of another size than the database; the log is not used.
  package static let walOtherPageSize = Self(rawValue: "wal.otherPageSize")
  /// Note: frames belong to a transaction that was never committed.
  package static let walUncommitted = Self(rawValue: "wal.uncommitted")
  /// A frame of the log does not match its checksum, and committed frames come after it.
  package static let walBrokenChain = Self(rawValue: "wal.brokenChain")
  /// A commit gives the database more pages than the main file and the log can hold.
  package static let walBadPageCount = Self(rawValue: "wal.badPageCount")
  /// Frames are for pages far beyond what the main file and the log can hold.
  package static let walPageOutOfRange = Self(rawValue: "wal.pageOutOfRange")
  /// The main file was changed after the log's last commit.
  package static let walOlderThanMain = Self(rawValue: "wal.olderThanMain")
  /// The write-ahead log belongs to a different state of the main file. The main file is consistent without the log.
  package static let walOtherGeneration = Self(rawValue: "wal.otherGeneration")

  /// Note: a transaction was interrupted; pages are read as they were before it.
  package static let journalHot = Self(rawValue: "journal.hot")
  /// Note: the journal belongs to a transaction that is finished; the journal is not used.
  package static let journalSuperseded = Self(rawValue: "journal.superseded")
  /// The file does not start like a rollback journal; the file is not used.
  package static let journalUnreadable = Self(rawValue: "journal.unreadable")
  /// The journal's header holds an impossible size.
  package static let journalBadHeader = Self(rawValue: "journal.badHeader")
  /// A page in the journal does not match its checksum; this page and all later ones are not used.
  package static let journalBadRecord = Self(rawValue: "journal.badRecord")
  /// The journal holds fewer pages than its header says.
  package static let journalTruncated = Self(rawValue: "journal.truncated")
  /// The journal has pages of another size than the database; the journal is not used.
  package static let journalOtherPageSize = Self(rawValue: "journal.otherPageSize")
  /// Records are for pages far beyond what the main file and the journal can hold.
  package static let journalPageOutOfRange = Self(rawValue: "journal.pageOutOfRange")
}
