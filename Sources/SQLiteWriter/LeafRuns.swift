/// The leaves of a table in the order in which they were written, in about five bytes each.
///
/// A run is as many of them as have rising row ids.
struct LeafRuns {
  /// A page of a b-tree as its parent sees it.
  struct Child {
    let page: UInt32
    /// The highest row id in it.
    let last: Int64
  }

  private struct Leaf {
    var page: UInt32 = 0
    var first: Int64 = 0
    var last: Int64 = 0
  }

  private struct Run {
    let first: Int64
    var last: Int64
    let offset: Int
    var count: Int
  }

  private var runs: [Run] = []
  /// For each leaf how far its page number and its row ids are from those before it.
  private var steps = ContiguousArray<UInt8>()
  private var lastPage: UInt32 = 0
  /// The leaves one by one, where runs lie among each other.
  private var sorted: [Leaf] = []

  var isEmpty: Bool { runs.isEmpty }

  /// Adds a leaf, whose page must have a higher number than those before.
  mutating func add(_ page: UInt32, _ ids: ClosedRange<Int64>) {
    var before = Leaf()
    if let last = runs.last?.last, ids.lowerBound > last {
      before = Leaf(page: lastPage, last: last)
      runs[runs.count - 1].last = ids.upperBound
      runs[runs.count - 1].count += 1
    } else {
      runs.append(
        Run(first: ids.lowerBound, last: ids.upperBound, offset: steps.count, count: 1))
    }
    append(UInt64(page - before.page))
    append(UInt64(bitPattern: ids.lowerBound &- before.last))
    append(UInt64(bitPattern: ids.upperBound &- ids.lowerBound))
    lastPage = page
  }

  /// Puts the leaves in the order of row ids; false when two of them lie over each other.
  mutating func sort() -> Bool {
    runs.sort { $0.first < $1.first }
    if zip(runs, runs.dropFirst()).allSatisfy({ $0.last < $1.first }) { return true }
    sorted.reserveCapacity(runs.reduce(0) { $0 + $1.count })
    forEachLeaf { sorted.append($0) }
    sorted.sort { $0.first < $1.first }
    return zip(sorted, sorted.dropFirst()).allSatisfy { $0.last < $1.first }
  }

  /// Hands on the leaves in the order in which they were put.
  func forEach(_ body: (Child) throws(SQLiteWriterError) -> Void) throws(SQLiteWriterError) {
    if sorted.isEmpty {
      try forEachLeaf { leaf throws(SQLiteWriterError) in
        try body(Child(page: leaf.page, last: leaf.last))
      }
    } else {
      for leaf in sorted { try body(Child(page: leaf.page, last: leaf.last)) }
    }
  }

  private func forEachLeaf<E: Error>(_ body: (Leaf) throws(E) -> Void) throws(E) {
    for run in runs {
      var place = run.offset
      var leaf = Leaf()
      for _ in 0..<run.count {
        leaf.page += UInt32(truncatingIfNeeded: next(&place))
        leaf.first = leaf.last &+ Int64(bitPattern: next(&place))
        leaf.last = leaf.first &+ Int64(bitPattern: next(&place))
        try body(leaf)
      }
    }
  }

  // Seven bits a byte, the lowest first.

  private mutating func append(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      steps.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    steps.append(UInt8(rest))
  }

  private func next(_ place: inout Int) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = steps[place]
      place += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
  }
}
