/// Where bytes were lost or put in in the middle of a file: pages behind that place stand elsewhere than their numbers say.
package struct PageShift: Sendable, Equatable {
  /// How many bytes behind its old place a page stands; less than 0 where bytes were lost.
  package let distance: Int64
  /// Where in the main file the first byte is that is not at its old place, as near as the pages tell.
  package let place: Int64
  /// The pages around the place: only those that are in ``torn`` are there, and only so much of them.
  package let doubtful: Range<UInt32>
  /// What of the pages around the place is beyond doubt, as leaves that have these cells and no others.
  package let torn: [UInt32: TornLeaf]

  package init(distance: Int64, place: Int64, doubtful: Range<UInt32>, torn: [UInt32: TornLeaf]) {
    self.distance = distance
    self.place = place
    self.doubtful = doubtful
    self.torn = torn
  }

  /// How a page is read.
  package enum Reading {
    case inFile(Int64)
    case torn(TornLeaf)
    case lost
  }

  /// How a page is read that would be at `offset` in a file without shift.
  package func reading(of page: UInt32, at offset: Int64) -> Reading {
    if page < doubtful.lowerBound { return .inFile(offset) }
    if page >= doubtful.upperBound { return .inFile(offset + distance) }
    return torn[page].map { .torn($0) } ?? .lost
  }
}
