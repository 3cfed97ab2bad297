/// Where bytes were lost or put in in the middle of a file: pages behind that place stand elsewhere than their numbers say.
struct PageShift: Sendable, Equatable {
  /// How many bytes behind its old place a page stands; less than 0 where bytes were lost.
  let distance: Int64
  /// Where in the main file the first byte is that is not at its old place, as near as the pages tell.
  let place: Int64
  /// The pages around the place: only those that are in ``torn`` are there, and only so much of them.
  let doubtful: Range<UInt32>
  /// What of the pages around the place is beyond doubt, as leaves that have these cells and no others.
  let torn: [UInt32: TornLeaf]

  /// How a page is read.
  enum Reading {
    case inFile(Int64)
    case torn(TornLeaf)
    case lost
  }

  /// How a page is read that would be at `offset` in a file without shift.
  func reading(of page: UInt32, at offset: Int64) -> Reading {
    if page < doubtful.lowerBound { return .inFile(offset) }
    if page >= doubtful.upperBound { return .inFile(offset + distance) }
    return torn[page].map { .torn($0) } ?? .lost
  }
}
