/// A place in the middle of a file where bytes were lost or inserted: later pages are not where their numbers say.
package struct PageShift: Sendable, Equatable {
  /// How many bytes after its old place a page is; negative where bytes were lost.
  package let distance: Int64
  /// Where in the main file the first displaced byte is, as nearly as the pages tell.
  package let place: Int64
  /// The pages around the place. Only those in ``torn`` can be read, and only the cells given there.
  package let doubtful: Range<UInt32>
  /// What is certain of the pages around the place, as leaves that have only these cells.
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

  /// How a page is read that would be at `offset` without the shift.
  package func reading(of page: UInt32, at offset: Int64) -> Reading {
    if page < doubtful.lowerBound { return .inFile(offset) }
    if page >= doubtful.upperBound { return .inFile(offset + distance) }
    return torn[page].map { .torn($0) } ?? .lost
  }
}
