import SQLiteFile

/// Rows that are kept in memory for later, as they came.
public struct KeptRows: ~Copyable {
  private var batch = RowBatch()

  /// None yet.
  public init() {}

  /// Bytes that they take, about.
  public var sizeBytes: Int {
    batch.size + batch.heads.count * MemoryLayout<RowBatch.Head>.stride
      + batch.values.count * MemoryLayout<RecoveredRowBuffer.Value>.stride
  }

  /// Keeps a copy of a row.
  public mutating func append(_ row: borrowing RecoveredRowBuffer) { batch.append(row) }

  /// Hands them on in the order in which they came.
  /// - Throws: what `body` throws.
  public func forEach(_ body: (borrowing RecoveredRowBuffer) throws -> Void) rethrows {
    var row = RecoveredRowBuffer()
    for index in batch.heads.indices {
      row.copy(index, of: batch)
      try body(row)
    }
  }
}
