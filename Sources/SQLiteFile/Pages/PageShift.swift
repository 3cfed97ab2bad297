/// A loss or insertion of bytes in the middle of a file. The pages after this position are not at the offsets that
/// follow from their page numbers.
package struct PageShift: Sendable, Equatable {
  /// The number of bytes by which later pages have moved; negative when bytes were lost.
  package let distance: Int64
  /// The offset in the main file of the first byte that has moved. The offset is approximate, because the pages show it
  /// only to within some bytes.
  package let place: Int64
  /// The numbers of the pages near the offset ``place``, which may be damaged. Of these pages, only the cells in
  /// ``torn`` are read.
  package let doubtful: Range<UInt32>
  /// The pages of ``doubtful`` that still have certainly intact cells, by page number. Each page is rebuilt as a leaf
  /// that contains only these cells.
  package let torn: [UInt32: TornLeaf]

  package init(distance: Int64, place: Int64, doubtful: Range<UInt32>, torn: [UInt32: TornLeaf]) {
    self.distance = distance
    self.place = place
    self.doubtful = doubtful
    self.torn = torn
  }

  package enum Reading {
    case inFile(Int64)
    case torn(TornLeaf)
    case lost
  }

  /// Returns where the content of a page is: in the file, in a rebuilt leaf, or lost. `offset`: the offset that the
  /// page would have if no bytes had been lost or inserted.
  package func reading(of page: UInt32, at offset: Int64) -> Reading {
    if page < doubtful.lowerBound { return .inFile(offset) }
    if page >= doubtful.upperBound { return .inFile(offset + distance) }
    return torn[page].map { .torn($0) } ?? .lost
  }
}
