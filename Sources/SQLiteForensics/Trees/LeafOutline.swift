import SQLiteFile

/// What the first and the last row of a table leaf say of it, kept so that of most leaves this is read only once.
struct LeafOutline: BitwiseCopyable, Equatable {
  static let unknown = LeafOutline()

  /// The low half of the last row's id. Two leaves of one file whose row ids differ by 2³² exactly are not told apart.
  private var last: UInt32 = 0
  /// How far the first row's id is below the last one's; ``farthest`` where it is farther, or nothing is known.
  private var span = Self.farthest
  /// A hash of the storage classes of the first row's fields; 0 where nothing is known.
  private(set) var form: UInt16 = 0

  private static let farthest = UInt16.max

  private init() {}

  /// `types`: those of the first row.
  init(rowIDs first: Int64, _ last: Int64, _ types: borrowing RecordTypes) {
    self.last = UInt32(truncatingIfNeeded: last)
    if first <= last { span = UInt16(clamping: UInt64(bitPattern: last &- first)) }
    form = max(1, types.classHash)
  }

  /// Whether all row ids are known to be in a range.
  func isWithin(_ rowIDs: ClosedRange<Int64>) -> Bool {
    let width = UInt64(bitPattern: rowIDs.upperBound &- rowIDs.lowerBound)
    guard span != Self.farthest, width <= UInt64(UInt32.max) else { return false }
    let above = UInt32(truncatingIfNeeded: rowIDs.upperBound) &- last
    return UInt64(above) + UInt64(span) <= width
  }
}
