import SQLiteFile

extension DamagedDatabase {
  /// Finds out by row ids to which table a b-tree belongs if its rows fit several tables. Leaves that are left over
  /// from a b-tree are treated as a b-tree, too.
  ///
  /// No two leaves of one table have overlapping ranges of row ids. So a table is ruled out if it has another leaf in
  /// the same range. If several tables remain, the b-tree belongs to the table that has a leaf with adjoining row ids.
  ///
  /// `undecided`: for each b-tree without a known table, the tables that its rows fit.
  /// `owners`: for each other b-tree, its table.
  /// `maxRanges`: the maximum number of leaves that are compared. If there are more, no table is found, and a finding
  /// says so.
  /// - Returns: the table of each b-tree for which row ids decide. In all three dictionaries, the key is the topmost
  ///   page of the b-tree.
  func siblings(
    of undecided: [UInt32: [Int]], _ roots: [UInt32: Int], _ owners: [UInt32: Int],
    maxRanges: Int = 1 << 19
  ) throws(SQLiteFileError) -> [UInt32: Int] {
    guard !undecided.isEmpty else { return [:] }
    let candidates = Set(undecided.values.joined())
    var stretches: [UInt32: [ClosedRange<Int64>]] = [:]
    var count = 0
    var settled: [Int: [ClosedRange<Int64>]] = [:]
    for page in 2...max(2, pageCount) where census.isLiveLeaf(page) {
      let root = try root(of: page, roots).page
      let table = owners[root]
      guard undecided[root] != nil || table.map(candidates.contains) == true else { continue }
      // Row ids that are in doubt prove nothing.
      guard let own = try rowIDs(of: page) else { continue }
      count += 1
      guard count <= maxRanges else {
        findings.add(
          Finding(
            .treeNotCompared,
            "more than \(maxRanges) leaf pages would have to be compared by their row ids; rows that fit several tables are not assigned to any table",
            severity: .note))
        return [:]
      }
      if let table {
        settled[table, default: []].append(own)
      } else {
        stretches[root, default: []].append(own)
      }
    }
    var known = settled.mapValues { RowIDRanges($0) }
    var found: [UInt32: Int] = [:]
    var left = stretches.keys.sorted {
      (stretches[$0]?.first?.lowerBound ?? 0, $0) < (stretches[$1]?.first?.lowerBound ?? 0, $1)
    }
    // When a b-tree has been assigned, b-trees with adjoining row ids may be assigned to the same table: a b-tree with
    // higher row ids in the same round, a b-tree with lower row ids in the next round.
    for _ in 0..<4 where !left.isEmpty {
      let before = left.count
      var added: [Int: RowIDRanges] = [:]
      left.removeAll { root in
        guard let ranges = stretches[root], let tables = undecided[root] else { return true }
        let open = tables.filter { table in
          ranges.allSatisfy {
            known[table]?.haveRoom(for: $0) ?? true && added[table]?.haveRoom(for: $0) ?? true
          }
        }
        let near = open.filter { table in
          ranges.contains { known[table]?.touch($0) ?? false || added[table]?.touch($0) ?? false }
        }
        guard let table = open.count == 1 ? open.first : near.count == 1 ? near.first : nil else {
          return false
        }
        found[root] = table
        added[table, default: RowIDRanges()].add(ranges)
        return true
      }
      for (table, ranges) in added { known[table, default: RowIDRanges()].add(ranges.ranges) }
      if left.count == before { break }
    }
    return found
  }
}
