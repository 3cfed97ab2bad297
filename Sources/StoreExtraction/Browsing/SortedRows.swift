/// The rows of an index in the order of a key. It holds the key and the place of each row, so there is a limit.
package struct SortedRows: Sendable {
  /// What rows are sorted by. Values of different kinds come in the order in which SQLite sorts them: nothing,
  /// numbers, text.
  package enum Key: Sendable, Hashable, Comparable {
    case none
    case integer(Int64)
    case real(Double)
    /// Text, compared by its first bytes.
    case text([UInt8])

    /// The bytes of a text that are compared.
    package static let maxBytes = 64

    /// Text as a key: without regard to case.
    package static func text(_ string: String) -> Key {
      .text(Array(string.lowercased().utf8.prefix(maxBytes)))
    }

    private var rank: Int {
      switch self {
      case .none: 0
      case .integer, .real: 1
      case .text: 2
      }
    }

    package static func < (one: Key, two: Key) -> Bool {
      switch (one, two) {
      case (.integer(let a), .integer(let b)): a < b
      case (.real(let a), .real(let b)): a < b
      case (.integer(let a), .real(let b)): Double(a) < b
      case (.real(let a), .integer(let b)): a < Double(b)
      case (.text(let a), .text(let b)): a.lexicographicallyPrecedes(b)
      default: one.rank < two.rank
      }
    }
  }

  /// The most rows that are sorted.
  package static let limit = 200_000

  private struct Entry: Sendable {
    var section: Key
    var key: Key
    /// The row's place in the index.
    var place: Int
  }

  private var entries: [Entry] = []
  /// How many rows there are.
  package var count: Int { entries.count }
  /// Whether there is no room for another row.
  package var isFull: Bool { entries.count >= Self.limit }
  /// The positions of the first row of each section, in order.
  package private(set) var sectionStarts: [Int] = []

  package init() {}

  /// Adds the row at a place of the index; rows are in order of their sections first.
  package mutating func add(_ place: Int, section: Key = .none, _ key: Key) {
    entries.append(Entry(section: section, key: key, place: place))
  }

  /// Puts the rows in order; rows with the same keys stay in the order of the index. Sections always ascend.
  package mutating func sort(descending: Bool) {
    entries.sort { one, two in
      if one.section != two.section { return one.section < two.section }
      if one.key < two.key { return !descending }
      if two.key < one.key { return descending }
      return one.place < two.place
    }
    sectionStarts = entries.indices.filter {
      $0 == 0 || entries[$0].section != entries[$0 - 1].section
    }
  }

  /// The place in the index of the row that is `position`th in order.
  package func place(_ position: Int) -> Int { entries[position].place }

  /// The positions of the section that a position is in.
  package func section(of position: Int) -> Range<Int> {
    var low = 0
    var high = sectionStarts.count
    while low < high {
      let middle = low + (high - low) / 2
      if sectionStarts[middle] <= position { low = middle + 1 } else { high = middle }
    }
    let start = low == 0 ? 0 : sectionStarts[low - 1]
    return start..<(low < sectionStarts.count ? sectionStarts[low] : max(count, start))
  }
}
