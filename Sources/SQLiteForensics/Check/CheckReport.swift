public import SQLiteFile

/// How much a check looks at.
public enum CheckDepth: String, Sendable, Hashable, Codable, CaseIterable {
  /// Pages, b-trees, freelist, records, counts of index entries.
  case quick
  /// Also whether the entries of each index match the rows, and whether index entries and rows without row ids are in
  /// order.
  case full
}

/// Something that a check did not look at: a part that `PRAGMA integrity_check` checks, a Core Data rule, or a file
/// beside the store.
public struct UncheckedPart: Sendable, Hashable, Codable {
  /// Which part: `index.entries`, `index.order`, `table.checks`, `table.virtual` or `schema.expressions`; of Core
  /// Data's rules `coredata.keys`, `coredata.tables`, `coredata.hashes` or `coredata.values`; `store.filesUnread`.
  public var id: Finding.ID
  /// What was not looked at, worded to follow "not looked at:".
  public var message: String

  /// Creates a part.
  package init(id: Finding.ID, message: String) {
    self.id = id
    self.message = message
  }
}

/// What a check found and what it looked at.
public struct CheckReport: Sendable, Equatable {
  /// What is wrong or noteworthy, in the order in which it was found.
  public internal(set) var findings = FindingList()
  /// Pages of the database as of the last commit, and pages in use after its last page.
  public internal(set) var pageCount = 0
  /// Pages that were checked, free pages and pointer maps included.
  public internal(set) var checkedPageCount = 0
  /// Pages on the freelist.
  package internal(set) var freePageCount = 0
  /// Pages that hold the rest of long payloads.
  package internal(set) var overflowPageCount = 0
  /// B-trees of tables.
  package internal(set) var tableCount = 0
  /// B-trees that no schema names, and pieces of such b-trees. Only searched for when the schema is lost.
  package internal(set) var unnamedTreeCount = 0
  /// B-trees of indexes.
  package internal(set) var indexCount = 0
  /// Cells of all b-trees.
  package internal(set) var cellCount = 0
  /// Rows of all tables, the schema's included.
  public internal(set) var rowCount = 0
  /// Entries of all indexes.
  package internal(set) var indexEntryCount = 0

  /// CREATE statements with parts that only SQLite itself can judge: expressions, queries, bodies of triggers.
  package internal(set) var unjudgedStatementCount = 0

  /// What `PRAGMA integrity_check` or a Core Data rule covers and this check did not. Unless it is empty, a check
  /// without findings does not prove that the file is sound.
  public internal(set) var unchecked: [UncheckedPart] = []

  mutating func note(
    unchecked id: Finding.ID, _ names: [String], _ before: String, _ one: String, _ many: String,
    _ after: String
  ) {
    guard !names.isEmpty else { return }
    let subject = names.count == 1 ? "1 \(one)" : "\(names.count) \(many)"
    let list = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    let words = after.isEmpty ? "" : " " + after
    unchecked.append(
      UncheckedPart(id: id, message: "\(before) \(subject)\(words) (\(list))"))
  }

  /// Adds a finding of another check of the same file.
  package mutating func add(_ finding: Finding) { findings.add(finding) }

  /// Adds a part that another check did not look at.
  package mutating func add(_ part: UncheckedPart) { unchecked.append(part) }
}
