import SQLiteFile

/// The range of a table leaf's row ids, and a hash of the storage classes of the leaf's first row, in eight bytes.
///
/// The ``PageCensus`` stores the outlines of leaves, so that most leaves need to be read only once.
struct LeafOutline: BitwiseCopyable, Equatable {
  static let unknown = LeafOutline()

  /// The low 32 bits of the leaf's last row id. So row ids that differ by a multiple of 2³² look equal.
  private var last: UInt32 = 0
  /// The leaf's last row id minus its first row id; ``maxSpan`` if this difference is larger or is not known.
  private var span = Self.maxSpan
  /// A hash of the storage classes in the leaf's first row; 0 if the classes are not known.
  private(set) var form: UInt16 = 0

  private static let maxSpan = UInt16.max

  private init() {}

  init(rowIDs first: Int64, _ last: Int64, _ types: borrowing RecordTypes) {
    self.last = UInt32(truncatingIfNeeded: last)
    if first <= last { span = UInt16(clamping: UInt64(bitPattern: last &- first)) }
    form = max(1, types.classHash)
  }

  /// Whether all row ids of the leaf are in `rowIDs`. False if this is not certain, for example if `rowIDs` contains
  /// more than 2³² row ids.
  func isWithin(_ rowIDs: ClosedRange<Int64>) -> Bool {
    let width = UInt64(bitPattern: rowIDs.upperBound &- rowIDs.lowerBound)
    guard span != Self.maxSpan, width <= UInt64(UInt32.max) else { return false }
    let above = UInt32(truncatingIfNeeded: rowIDs.upperBound) &- last
    return UInt64(above) + UInt64(span) <= width
  }
}

extension RecordTypes {
  /// A hash of the storage classes of all fields. Two records whose numbers of fields or storage classes differ almost
  /// always have different hashes.
  fileprivate var classHash: UInt16 {
    var hash: UInt32 = 0x811c_9dc5
    for type in types {
      hash = (hash ^ UInt32(StorageClasses(serialType: type).rawValue)) &* 0x0100_0193
    }
    return UInt16(truncatingIfNeeded: hash ^ hash >> 16)
  }
}
