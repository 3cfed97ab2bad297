/// Lost or inserted bytes in the middle of a file: later pages are not at the offsets that their numbers give.
package struct PageShift: Sendable, Equatable {
  /// How far later pages have moved, in bytes; negative when bytes were lost.
  package let distance: Int64
  /// Offset of the first displaced byte in the main file, as closely as the pages tell.
  package let place: Int64
  /// The pages around ``place``. Of these, only the cells in ``torn`` can be read.
  package let doubtful: Range<UInt32>
  /// The certainly intact cells of the ``doubtful`` pages, as leaves with only these cells.
  package let torn: [UInt32: TornLeaf]

  package init(distance: Int64, place: Int64, doubtful: Range<UInt32>, torn: [UInt32: TornLeaf]) {
    self.distance = distance
    self.place = place
    self.doubtful = doubtful
    self.torn = torn
  }

  /// Where the content of a page comes from.
  package enum Reading {
    case inFile(Int64)
    case torn(TornLeaf)
    case lost
  }

  /// How to read a page that would be at `offset` without the shift.
  package func reading(of page: UInt32, at offset: Int64) -> Reading {
    if page < doubtful.lowerBound { return .inFile(offset) }
    if page >= doubtful.upperBound { return .inFile(offset + distance) }
    return torn[page].map { .torn($0) } ?? .lost
  }
}
