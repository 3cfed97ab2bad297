extension DamagedDatabase {
  /// Most leaves whose row ids are compared.
  private static let mostRanges = 1 << 19

  /// Gives b-trees, or what is left of them, to tables by their row ids, where the look of the rows leaves several.
  ///
  /// Row ids are unique in a table, and each of its leaves has a stretch of them to itself. So a leaf is none of a table
  /// that has other leaves in its stretch; and of tables that have room for it, it is of the one whose rows end where its
  /// own begin, or begin where they end.
  ///
  /// `undecided`: the topmost pages, each with the tables that its rows can be of.
  /// `owners`: the topmost pages of which the table is known.
  func siblings(
    of undecided: [UInt32: [Int]], _ roots: [UInt32: Int], _ owners: [UInt32: Int]
  ) throws(SQLiteFileError) -> [UInt32: Int] {
    guard !undecided.isEmpty else { return [:] }
    let candidates = Set(undecided.values.joined())
    var known: [Int: [ClosedRange<Int64>]] = [:]
    var stretches: [UInt32: [ClosedRange<Int64>]] = [:]
    var reading = newReading()
    var buffer = ContiguousArray<UInt8>()
    var count = 0
    for page in 2...max(2, pageCount) where census.isLiveLeaf(page) {
      let root = try root(of: page, roots).page
      let table = owners[root]
      guard undecided[root] != nil || table.map(candidates.contains) == true else { continue }
      let available = try reader.copy(page, into: &buffer)
      guard available > 0 else { continue }
      reading.read(buffer.rawSpan, number: page, available: available, shape: nil)
      // Row ids that are in doubt prove nothing.
      guard reading.method == .pointers, let first = reading.cells.first?.rowID,
        let last = reading.cells.last?.rowID, first <= last
      else { continue }
      count += 1
      guard count <= Self.mostRanges else { return [:] }
      if let table {
        known[table, default: []].append(first...last)
      } else {
        stretches[root, default: []].append(first...last)
      }
    }
    for table in known.keys { known[table]?.sort { $0.lowerBound < $1.lowerBound } }
    var found: [UInt32: Int] = [:]
    var left = stretches.keys.sorted {
      (stretches[$0]?.first?.lowerBound ?? 0, $0) < (stretches[$1]?.first?.lowerBound ?? 0, $1)
    }
    // What is decided may decide its neighbours, those with higher row ids in the same round.
    for _ in 0..<4 where !left.isEmpty {
      let before = left.count
      var added: [Int: [ClosedRange<Int64>]] = [:]
      left.removeAll { root in
        guard let ranges = stretches[root], let tables = undecided[root] else { return true }
        let open = tables.filter { table in
          ranges.allSatisfy {
            Self.hasRoom(for: $0, in: known[table] ?? [])
              && Self.hasRoom(for: $0, in: added[table] ?? [])
          }
        }
        let near = open.filter { table in
          ranges.contains {
            Self.touches($0, known[table] ?? []) || Self.touches($0, added[table] ?? [])
          }
        }
        guard let table = open.count == 1 ? open.first : near.count == 1 ? near.first : nil else {
          return false
        }
        found[root] = table
        added[table, default: []] += ranges
        // Nearly always the end of the list, as the pages are taken in the order of their row ids.
        if ranges.count > 1 { added[table]?.sort { $0.lowerBound < $1.lowerBound } }
        return true
      }
      for (table, ranges) in added {
        known[table, default: []] += ranges
        known[table]?.sort { $0.lowerBound < $1.lowerBound }
      }
      if left.count == before { break }
    }
    return found
  }

  /// Where a range belongs among others that are sorted and do not overlap.
  private static func place(of range: ClosedRange<Int64>, in ranges: [ClosedRange<Int64>]) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].lowerBound < range.lowerBound { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func hasRoom(for range: ClosedRange<Int64>, in ranges: [ClosedRange<Int64>])
    -> Bool
  {
    let next = place(of: range, in: ranges)
    if next > 0, ranges[next - 1].upperBound >= range.lowerBound { return false }
    return next == ranges.count || ranges[next].lowerBound > range.upperBound
  }

  /// Whether a range begins right behind one of the others, or ends right before one.
  private static func touches(_ range: ClosedRange<Int64>, _ ranges: [ClosedRange<Int64>]) -> Bool {
    let next = place(of: range, in: ranges)
    if next > 0, ranges[next - 1].upperBound < .max,
      ranges[next - 1].upperBound + 1 == range.lowerBound
    {
      return true
    }
    return next < ranges.count && range.upperBound < .max
      && range.upperBound + 1 == ranges[next].lowerBound
  }
}
