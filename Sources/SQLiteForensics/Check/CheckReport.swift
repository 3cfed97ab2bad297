import SafeText
public import SQLiteFile

/// How thorough a check is.
public enum CheckDepth: String, Sendable, Hashable, Codable, CaseIterable {
  /// Checks pages, b-trees, freelist and records, and compares the number of entries of each index with the number of
  /// rows.
  case quick
  /// Checks everything that a quick check does. Also checks that the entries of each index match the rows, and that the
  /// entries of indexes and the rows of WITHOUT ROWID tables are in order.
  case full
}

/// A part of a complete examination that a check left out: a part of SQLite's `PRAGMA integrity_check`, a rule of Core
/// Data, or the reading of files beside the store.
public struct UncheckedPart: Sendable, Hashable, Codable {
  /// The id of the part that was left out. For a part of SQLite's check: `index.entries`, `index.order`,
  /// `table.checks`, `table.virtual` or `schema.expressions`. For a rule of Core Data: `coredata.keys`,
  /// `coredata.keysNotChecked`, `coredata.tables`, `coredata.hashes` or `coredata.values`. For files beside the store:
  /// `store.filesUnread`.
  public var id: Finding.ID
  /// A noun phrase that describes the part, to be printed after "not looked at:".
  public var message: String

  package init(id: Finding.ID, message: String) {
    self.id = id
    self.message = message
  }
}

/// The findings of a check, and the numbers of pages, b-trees and rows that were checked.
public struct CheckReport: Sendable, Equatable {
  /// The findings, both damage and notes, in the order in which the check made them.
  public internal(set) var findings = FindingList()
  /// The number of pages of the database: the page count that the last commit states, plus the number of later pages to
  /// which a b-tree, an overflow chain or the freelist leads.
  public internal(set) var pageCount = 0
  /// The number of pages that were checked, including free pages and pointer-map pages.
  public internal(set) var checkedPageCount = 0
  package internal(set) var freePageCount = 0
  package internal(set) var overflowPageCount = 0
  /// The number of b-trees of tables, including the b-tree of the schema table.
  package internal(set) var tableCount = 0
  /// The number of b-trees, and of parts of b-trees, that a search through all pages has found. The search is made only
  /// if the schema is lost; otherwise this number is 0.
  package internal(set) var unnamedTreeCount = 0
  package internal(set) var indexCount = 0
  package internal(set) var cellCount = 0
  /// The number of rows in all tables. The rows of the schema table are not counted.
  public internal(set) var rowCount = 0
  package internal(set) var indexEntryCount = 0
  /// The names of the tables of which some pages could not be checked, in the order of the schema. The rows on these
  /// pages are not in ``rowCount``.
  package internal(set) var partlyCountedTables: [String] = []

  /// The number of CREATE statements with parts that only SQLite itself can judge: expressions, queries and bodies of
  /// triggers.
  package internal(set) var unjudgedStatementCount = 0

  /// The parts of SQLite's `PRAGMA integrity_check`, and the rules of Core Data, that this check left out. If there are
  /// no findings, the file is proven sound only if this list is empty.
  public internal(set) var unchecked: [UncheckedPart] = []

  mutating func note(
    unchecked id: Finding.ID, _ names: [String], _ before: String, _ one: String, _ many: String,
    _ after: String
  ) {
    guard !names.isEmpty else { return }
    let subject = counted(names.count, one, many)
    let list = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    let words = after.isEmpty ? "" : " " + after
    unchecked.append(
      UncheckedPart(id: id, message: "\(before) \(subject)\(words) (\(list))"))
  }

  /// Adds the counts of a b-tree, except the number of its rows or index entries.
  mutating func add(_ counts: BTreeCheck.Counts) {
    checkedPageCount += counts.pages + counts.overflowPages
    overflowPageCount += counts.overflowPages
    cellCount += counts.cells
  }

  package mutating func add(_ finding: Finding) { findings.add(finding) }

  package mutating func add(_ part: UncheckedPart) { unchecked.append(part) }
}
