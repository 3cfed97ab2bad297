import SQLiteFile

/// The faults of the cells of one page. Each type of fault gives one finding, however many cells have it.
struct CellTrouble {
  struct Tally {
    var count = 0
    var first = 0

    mutating func add(_ index: Int) {
      if count == 0 { first = index }
      count &+= 1
    }
  }

  var pointers = Tally()
  /// The cells that are not in the file, because the file ends within their page.
  var unstored = Tally()
  var lengths = Tally()
  var ends = Tally()
  var overlaps = Tally()
  var keys = Tally()

  var isAny: Bool {
    pointers.count | unstored.count | lengths.count | ends.count | overlaps.count | keys.count != 0
  }

  /// The number of cells of the page that cannot be read as rows. Cells that overlap other cells, or are out of order,
  /// can be read, and are not counted.
  var unreadableCount: Int { pointers.count &+ unstored.count &+ lengths.count &+ ends.count }

  /// A finding for each type of fault that the cells have. The caller adds the page and the offset.
  var findings: [(id: Finding.ID, message: String)] {
    var all: [(id: Finding.ID, message: String)] = []
    func add(_ tally: Tally, _ id: Finding.ID, _ one: String, _ many: String) {
      guard tally.count > 0 else { return }
      all.append(
        (
          id,
          tally.count == 1
            ? "cell \(tally.first) \(one)"
            : "\(tally.count) cells \(many); the first is cell \(tally.first)"
        ))
    }
    add(
      pointers, .cellBadPointer, "lies outside the cell content area of its page",
      "lie outside the cell content area of their page")
    add(
      unstored, .cellPastEnd, "lies behind the end of the file", "lie behind the end of the file")
    add(
      lengths, .cellBadLength, "has a payload longer than the file",
      "have payloads longer than the file")
    add(ends, .cellPastEnd, "runs past the end of its page", "run past the end of their page")
    add(overlaps, .cellOverlap, "overlaps another cell", "overlap other cells")
    add(keys, .treeKeyOrder, "has a row id out of order", "have row ids out of order")
    return all
  }
}
