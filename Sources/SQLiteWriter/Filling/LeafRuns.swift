/// Records the leaves of a table in the order in which they are written. If they are written in row id order, a leaf
/// takes about five bytes of memory.
///
/// Consecutively written leaves whose row ids ascend form a run.
struct LeafRuns {
  /// What an interior page stores about a leaf: the page number and the highest row id.
  struct Child {
    let page: UInt32
    /// The highest row id on the page.
    let last: Int64
  }

  private struct Leaf {
    var page: UInt32 = 0
    var first: Int64 = 0
    var last: Int64 = 0
  }

  private struct Run {
    let first: Int64
    let offset: Int
    var count: UInt32
  }

  /// A position in one of the runs, while all runs are merged in row id order. A run is a sequence of leaves whose row
  /// ids ascend. ``leaf`` is the next leaf of the run.
  private struct Cursor {
    var leaf: Leaf
    var place: Int
    /// The number of leaves of the run that come after ``leaf``.
    var left: UInt32
  }

  private var runs: [Run] = []
  /// The page numbers and row ids of all leaves. Each leaf has three varints:
  ///
  /// - its page number minus the page number of the previous leaf
  /// - its first row id minus the last row id of the previous leaf
  /// - its last row id minus its first row id
  ///
  /// For the first leaf of a run, 0 is subtracted in place of the previous leaf's numbers.
  private var steps = ContiguousArray<UInt8>()
  private var before = Leaf()

  var isEmpty: Bool { runs.isEmpty }

  var sizeBytes: Int { steps.count + runs.count * MemoryLayout<Run>.stride }

  /// Adds a leaf. Its page number must be higher than the page numbers of all leaves added before.
  mutating func add(_ page: UInt32, _ ids: ClosedRange<Int64>) {
    if let last = runs.indices.last, ids.lowerBound > before.last {
      runs[last].count += 1
    } else {
      runs.append(Run(first: ids.lowerBound, offset: steps.count, count: 1))
      before = Leaf()
    }
    steps.append(varint: UInt64(page - before.page))
    steps.append(varint: UInt64(bitPattern: ids.lowerBound &- before.last))
    steps.append(varint: UInt64(bitPattern: ids.upperBound &- ids.lowerBound))
    before = Leaf(page: page, first: ids.lowerBound, last: ids.upperBound)
  }

  /// Calls `body` with each leaf, in row id order. Returns false when the row ids of two leaves overlap; `body` has
  /// then not received all leaves.
  mutating func forEach(_ body: (Child) throws(SQLiteWriterError) -> Void)
    throws(SQLiteWriterError) -> Bool
  {
    runs.sort { $0.first < $1.first }
    // The runs that have begun, as a heap. The run whose next leaf has the lowest first row id is at the top.
    var cursors: [Cursor] = []
    var last: Int64?
    var run = 0
    while run < runs.count || !cursors.isEmpty {
      if run < runs.count, cursors.isEmpty || runs[run].first < cursors[0].leaf.first {
        begin(runs[run], &cursors)
        run += 1
      }
      let leaf = cursors[0].leaf
      if let last, leaf.first <= last { return false }
      last = leaf.last
      try body(Child(page: leaf.page, last: leaf.last))
      if cursors[0].left > 0 {
        cursors[0].left -= 1
        cursors[0].leaf = self.leaf(behind: leaf, &cursors[0].place)
      } else {
        cursors.swapAt(0, cursors.count - 1)
        cursors.removeLast()
      }
      Self.sink(&cursors)
    }
    return true
  }

  /// Adds a run to the heap `cursors`. The first leaf of the run must come before the next leaf of every run that is
  /// already in the heap.
  private func begin(_ run: Run, _ cursors: inout [Cursor]) {
    var place = run.offset
    let leaf = leaf(behind: Leaf(), &place)
    cursors.append(Cursor(leaf: leaf, place: place, left: run.count - 1))
    var child = cursors.count - 1
    while child > 0 {
      cursors.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Restores the order of the heap by moving its first cursor down.
  private static func sink(_ cursors: inout [Cursor]) {
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < cursors.count && cursors[child].leaf.first < cursors[least].leaf.first {
        least = child
      }
      guard least != place else { return }
      cursors.swapAt(place, least)
      place = least
    }
  }

  private func leaf(behind before: Leaf, _ place: inout Int) -> Leaf {
    let page = before.page + UInt32(truncatingIfNeeded: steps.varint(at: &place))
    let first = before.last &+ Int64(bitPattern: steps.varint(at: &place))
    return Leaf(
      page: page, first: first, last: first &+ Int64(bitPattern: steps.varint(at: &place)))
  }
}
