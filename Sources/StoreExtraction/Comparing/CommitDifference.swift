import SQLiteFile
import SafeText

/// What a commit in the write-ahead log did to the rows of one table.
package struct CommittedChange: Sendable, Equatable {
  package let table: String
  package let tableChange: TableChange
  package private(set) var added = 0
  package private(set) var changed = 0
  package private(set) var removed = 0
  /// The row ids of added rows in key order, at most ``keyLimit``.
  package private(set) var addedKeys: [Int64] = []
  /// The highest row id of all rows that the commit has added.
  private(set) var lastAddedKey: Int64?
  /// The row ids of changed rows in key order, at most ``keyLimit``.
  package private(set) var changedKeys: [Int64] = []
  /// The row ids of removed rows in key order, at most ``keyLimit``.
  package private(set) var removedKeys: [Int64] = []

  /// The maximum number of row ids that are kept. The limit holds for added, changed and removed rows separately.
  package static let keyLimit = 20

  /// What the commit did to the table itself.
  package enum TableChange: String, Sendable {
    case none
    case created
    case dropped
  }

  init(table: String, tableChange: TableChange) {
    self.table = table
    self.tableChange = tableChange
  }

  mutating func add(_ kind: RowChange.Kind, _ rowID: Int64?) {
    switch kind {
    case .added:
      added += 1
      // Rows come in key order, so the last row id is the largest.
      lastAddedKey = rowID ?? lastAddedKey
      if let rowID, addedKeys.count < Self.keyLimit { addedKeys.append(rowID) }
    case .changed:
      changed += 1
      if let rowID, changedKeys.count < Self.keyLimit { changedKeys.append(rowID) }
    case .removed:
      removed += 1
      if let rowID, removedKeys.count < Self.keyLimit { removedKeys.append(rowID) }
    }
  }

  var isEmpty: Bool { tableChange == .none && added + changed + removed == 0 }
}

/// Compares the rows of a database before and after a commit. Reads only leaf pages that differ.
struct CommitDifference {
  /// The changes, one element for each changed table, in the order of the schema after the commit. Dropped tables come
  /// last.
  private(set) var changes: [CommittedChange] = []
  /// Names of WITHOUT ROWID tables that the commit may have changed. Their rows are not compared.
  private(set) var tablesNotCompared: [String] = []
  private(set) var findings = FindingList()
  private var trees: Trees

  /// The page numbers of each table's b-tree after a commit, keyed by table name. The next commit is compared with
  /// them.
  struct Trees {
    fileprivate struct Tree {
      let root: UInt32
      let leaves: [UInt32]
      let interior: [UInt32]

      /// Whether the b-tree of `table` still has the same pages after a commit. `written`: the pages that the commit
      /// wrote. The pages are the same if the root page has the same number, and the commit wrote neither the root page
      /// nor an interior page. Leaves may have new content.
      func isTree(of table: Table, after written: Set<UInt32>) -> Bool {
        root == table.rootPage && !written.contains(root)
          && !interior.contains { written.contains($0) }
      }
    }

    fileprivate var byTable: [SQLName: Tree] = [:]

    init() {}
  }

  /// Compares the rows of a database before and after a commit. Throws when the device fails.
  ///
  /// `old`: the database before the commit; nil if no commit came before.
  /// `pages`: the pages that the commit wrote.
  /// `trees`: on entry, the known b-trees before the commit; on return, the b-trees after the commit.
  init(
    from old: SQLiteDatabase?, to new: SQLiteDatabase, pages: [UInt32], trees: inout Trees
  ) throws(SQLiteFileError) {
    let written = Set(pages)
    self.trees = trees
    for table in new.schema.tables {
      try compare(old?.schema.table(named: table.name), in: old, table, in: new, written)
    }
    for table in old?.schema.tables ?? [] where new.schema.table(named: table.name) == nil {
      try compare(table, in: old, nil, in: new, written)
      self.trees.byTable[SQLName(table.name)] = nil
    }
    trees = self.trees
  }

  private mutating func compare(
    _ before: Table?, in old: SQLiteDatabase?, _ after: Table?, in new: SQLiteDatabase,
    _ written: Set<UInt32>
  ) throws(SQLiteFileError) {
    guard let name = (after ?? before)?.name else { return }
    var change = CommittedChange(
      table: name, tableChange: before == nil ? .created : after == nil ? .dropped : .none)
    var oldLeaves: [UInt32] = []
    var newLeaves: [UInt32] = []
    if let before, let old {
      guard try old.hasRowIDs(before) else { return try noteWritten(before, after, new, written) }
      oldLeaves = try tree(of: before, in: old).leaves
    }
    if let after {
      guard try new.hasRowIDs(after) else { return try noteWritten(before, after, new, written) }
      newLeaves = try tree(of: after, in: new, written).leaves
    }
    if oldLeaves == newLeaves {
      // Leaves that the commit did not write are left out, because they are the same before and after the commit.
      oldLeaves = oldLeaves.filter { written.contains($0) }
      newLeaves = oldLeaves
    } else {
      let (one, other) = (Set(oldLeaves), Set(newLeaves))
      oldLeaves = oldLeaves.filter { written.contains($0) || !other.contains($0) }
      newLeaves = newLeaves.filter { written.contains($0) || !one.contains($0) }
    }
    var from: RowCursor?
    var to: RowCursor?
    if let before, let old, !oldLeaves.isEmpty {
      from = try RowCursor(of: before, in: old, onlyLeaves: oldLeaves)
    }
    if let after, !newLeaves.isEmpty {
      to = try RowCursor(of: after, in: new, onlyLeaves: newLeaves)
    }
    let isEqual = Self.equality(before, after)
    try RowChange.forEach(from: from, to: to, isEqual: isEqual) { row in
      change.add(row.kind, row.rowID)
      return true
    }
    if let to { findings.add(to.findings) }
    if !change.isEmpty { changes.append(change) }
  }

  /// Returns the pages of a table's b-tree. The pages are taken from `trees` if they are known there and were not
  /// written since. `written`: the pages that were written since `trees` was filled.
  private mutating func tree(
    of table: Table, in database: SQLiteDatabase, _ written: Set<UInt32> = []
  ) throws(SQLiteFileError) -> Trees.Tree {
    if let known = trees.byTable[SQLName(table.name)], known.isTree(of: table, after: written) {
      return known
    }
    let pages = try database.pages(of: table)
    let tree = Trees.Tree(root: table.rootPage, leaves: pages.leaves, interior: pages.interior)
    trees.byTable[SQLName(table.name)] = tree
    return tree
  }

  /// Returns a function that compares two rows in the columns that the table has both before and after the commit. A
  /// column that the commit added is ignored, because every row has the column's default value there.
  private static func equality(_ before: Table?, _ after: Table?) -> (ComparedRow, ComparedRow) ->
    Bool
  {
    let old = (before?.columnNames ?? []).map { SQLName($0) }
    let new = (after?.columnNames ?? []).map { SQLName($0) }
    guard !old.isEmpty, !new.isEmpty, old != new else { return { $0 == $1 } }
    let positions = Dictionary(firstOf: old.enumerated().map { ($1, $0) })
    let pairs = new.enumerated().compactMap { index, name in
      positions[name].map { ($0, index) }
    }
    return { one, other in
      pairs.allSatisfy { left, right in
        left < one.values.count && right < other.values.count
          && one.values[left] == other.values[right]
      }
    }
  }

  /// Notes a WITHOUT ROWID table that the commit has changed: the commit made or dropped the table, moved its root
  /// page, or wrote a page of its b-tree.
  ///
  /// Only the b-tree after the commit is searched for written pages. If the commit removed a page from the b-tree, it
  /// also wrote a page that is still in the b-tree.
  private mutating func noteWritten(
    _ before: Table?, _ after: Table?, _ new: SQLiteDatabase, _ written: Set<UInt32>
  ) throws(SQLiteFileError) {
    guard let table = after ?? before else { return }
    if let before, let after, before.rootPage == after.rootPage {
      let tree = try tree(of: after, in: new, written)
      guard (tree.leaves + tree.interior).contains(where: { written.contains($0) }) else { return }
    }
    tablesNotCompared.append(table.name)
  }
}
