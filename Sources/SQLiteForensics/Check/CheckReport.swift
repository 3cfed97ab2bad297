public import SQLiteFile

/// How much a check looks at.
public enum CheckDepth: String, Sendable, Hashable, Codable, CaseIterable {
  /// Looks at pages, b-trees, freelist and records, and counts the entries of indexes.
  case quick
  /// Looks at all that a quick check looks at, at whether the entries of each index match the rows, and at whether
  /// index entries and rows without row ids are in order.
  case full
}

/// Something that a check did not look at: a part that `PRAGMA integrity_check` checks, a Core Data rule, or a file
/// beside the store.
public struct UncheckedPart: Sendable, Hashable, Codable {
  /// Which part was not looked at: `index.entries`, `index.order`, `table.checks`, `table.virtual` or
  /// `schema.expressions`; for rules of Core Data `coredata.keys`, `coredata.tables`, `coredata.hashes` or
  /// `coredata.values`; for files beside the store `store.filesUnread`.
  public var id: Finding.ID
  /// What was not looked at, worded to follow "not looked at:".
  public var message: String

  /// Creates an unchecked part.
  package init(id: Finding.ID, message: String) {
    self.id = id
    self.message = message
  }
}

/// What a check found and what it looked at.
public struct CheckReport: Sendable, Equatable {
  /// What is wrong or noteworthy, in the order in which it was found.
  public internal(set) var findings = FindingList()
  /// The number of pages of the database: those that the last commit counts, and pages in use after the last of them.
  public internal(set) var pageCount = 0
  /// The number of pages that were checked, free pages and pointer-map pages included.
  public internal(set) var checkedPageCount = 0
  /// The number of pages on the freelist.
  package internal(set) var freePageCount = 0
  /// The number of overflow pages, which hold the rest of long payloads.
  package internal(set) var overflowPageCount = 0
  /// The number of b-trees of tables, the schema table's included.
  package internal(set) var tableCount = 0
  /// The number of b-trees, and of pieces of b-trees, that the schema does not name. They are only searched for when
  /// the schema is lost.
  package internal(set) var unnamedTreeCount = 0
  /// The number of b-trees of indexes.
  package internal(set) var indexCount = 0
  /// The number of cells in all b-trees.
  package internal(set) var cellCount = 0
  /// The number of rows in all tables, without the rows of the schema table.
  public internal(set) var rowCount = 0
  /// The number of entries in all indexes.
  package internal(set) var indexEntryCount = 0

  /// The number of CREATE statements with parts that only SQLite itself can judge: expressions, queries, bodies of
  /// triggers.
  package internal(set) var unjudgedStatementCount = 0

  /// What `PRAGMA integrity_check` or a rule of Core Data covers, but this check did not look at. A check without
  /// findings proves that the file is sound only if this list is empty.
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

  /// Adds a finding that a further check of the same file made.
  package mutating func add(_ finding: Finding) { findings.add(finding) }

  /// Adds a part that a further check of the same file did not look at.
  package mutating func add(_ part: UncheckedPart) { unchecked.append(part) }
}
