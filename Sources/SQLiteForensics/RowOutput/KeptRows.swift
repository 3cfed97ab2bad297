import SQLiteFile

/// Copies of rows, kept in memory in the order in which they were added.
package struct KeptRows: ~Copyable {
  private var batch = RowBatch()

  package init() {}

  /// The approximate amount of memory that the rows take, in bytes.
  package var sizeBytes: Int {
    batch.size + batch.heads.count * MemoryLayout<RowBatch.Head>.stride
      + batch.values.count * MemoryLayout<RecoveredRowBuffer.Value>.stride
  }

  package mutating func append(_ row: borrowing RecoveredRowBuffer) { batch.append(row) }

  /// Calls `body` with each row, in the order in which the rows were added. The row is only valid during the call.
  /// - Throws: what `body` throws.
  package func forEach(_ body: (borrowing RecoveredRowBuffer) throws -> Void) rethrows {
    var row = RecoveredRowBuffer()
    for index in batch.heads.indices {
      row.copy(index, of: batch)
      try body(row)
    }
  }
}
