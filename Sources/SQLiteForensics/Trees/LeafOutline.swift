import SQLiteFile

/// A short summary of a table leaf: the range of its row ids, and a hash of the storage classes of its first row. With
/// it, most leaves need to be read only once.
struct LeafOutline: BitwiseCopyable, Equatable {
  static let unknown = LeafOutline()

  /// The low 32 bits of the last row id. Row ids that differ by a multiple of 2³² are not distinguished.
  private var last: UInt32 = 0
  /// The last row id minus the first; ``maxSpan`` if that is larger or not known.
  private var span = Self.maxSpan
  /// A hash of the first row's storage classes; 0 when they are not known.
  private(set) var form: UInt16 = 0

  private static let maxSpan = UInt16.max

  private init() {}

  init(rowIDs first: Int64, _ last: Int64, _ types: borrowing RecordTypes) {
    self.last = UInt32(truncatingIfNeeded: last)
    if first <= last { span = UInt16(clamping: UInt64(bitPattern: last &- first)) }
    form = max(1, types.classHash)
  }

  /// Whether all row ids of the leaf are certainly in `rowIDs`. Always false for a range of more than 2³² row ids.
  func isWithin(_ rowIDs: ClosedRange<Int64>) -> Bool {
    let width = UInt64(bitPattern: rowIDs.upperBound &- rowIDs.lowerBound)
    guard span != Self.maxSpan, width <= UInt64(UInt32.max) else { return false }
    let above = UInt32(truncatingIfNeeded: rowIDs.upperBound) &- last
    return UInt64(above) + UInt64(span) <= width
  }
}

extension RecordTypes {
  /// A hash that almost always differs for different numbers of fields or different storage classes.
  fileprivate var classHash: UInt16 {
    var hash: UInt32 = 0x811c_9dc5
    for type in types {
      hash = (hash ^ UInt32(StorageClasses(serialType: type).rawValue)) &* 0x0100_0193
    }
    return UInt16(truncatingIfNeeded: hash ^ hash >> 16)
  }
}
