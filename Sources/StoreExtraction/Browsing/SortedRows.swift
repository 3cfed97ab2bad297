import SQLiteForensics

/// The rows of a ``RowIndex``, sorted by a key. The key and the number of each row are kept in memory, so at most
/// ``limit`` rows are sorted.
package struct SortedRows: Sendable {
  /// A sort key. Keys of different kinds are ordered as SQLite orders values: none (NULL), then numbers, then texts.
  package enum Key: Sendable, Hashable, Comparable {
    case none
    case integer(Int64)
    case real(Double)
    /// The UTF-8 bytes of a text, compared byte by byte.
    case text([UInt8])

    /// The maximum number of bytes of a text that are compared.
    package static let maxBytes = 64

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

  package static let limit = 200_000

  private struct Entry: Sendable {
    var section: Key
    var key: Key
    /// The number of the row in the ``RowIndex``, that is, before sorting.
    var place: Int
  }

  private var entries: [Entry] = []
  package var count: Int { entries.count }
  /// Whether ``limit`` rows were added, so that no further row may be added.
  package var isFull: Bool { entries.count >= Self.limit }
  /// For each section, the position of its first row in sorted order. Empty until ``sort(descending:)`` is called.
  package private(set) var sectionStarts: [Int] = []

  package init() {}

  /// Adds a row to be sorted. `place` is the index of the row in the table's order. Rows are sorted by `section` first,
  /// and by `key` within each section.
  package mutating func add(_ place: Int, section: Key = .none, _ key: Key) {
    entries.append(Entry(section: section, key: key, place: place))
  }

  /// Sorts the rows. Rows with equal keys stay in the order of the index. `descending` reverses the order of keys
  /// within each section; the sections themselves always ascend.
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

  /// Returns the index, in the unsorted rows, of the row at `position` in sorted order. Both are counted from 0.
  package func place(_ position: Int) -> Int { entries[position].place }

  /// Returns the positions of all rows in the section that contains `position`.
  package func section(of position: Int) -> Range<Int> {
    let next = sectionStarts.firstPlace { $0 > position }
    let start = next == 0 ? 0 : sectionStarts[next - 1]
    return start..<(next < sectionStarts.count ? sectionStarts[next] : max(count, start))
  }
}
