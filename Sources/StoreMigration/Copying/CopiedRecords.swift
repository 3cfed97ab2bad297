import SQLiteFile
import SQLiteForensics
import StoreExtraction

/// Makes the records of a new table from the records of an old table, without decoding the values. There is one
/// `RecordCopy` for each entity.
///
/// The `target` of a new row is the entity number of the old row. It is nil if no new record could be made.
final class CopiedRecords: RecordMaker {
  private let copies: [Int64: RecordCopy]
  private let entityColumn: Int?
  /// The entity number of the last row, and the `RecordCopy` of this entity. Both are cached because the next row
  /// usually has the same entity.
  private var last: (number: Int64, copy: RecordCopy)?

  let takesBlocks = true

  /// Creates a maker of records. `copies` contains the `RecordCopy` of each entity, keyed by entity number.
  /// `entityColumn` is the index of the column with the entity number; nil when the table has no such column.
  init(_ copies: [Int64: RecordCopy], entityColumn: Int?) {
    self.copies = copies
    self.entityColumn = entityColumn
  }

  func another() -> any RecordMaker { CopiedRecords(copies, entityColumn: entityColumn) }

  func make(
    _ record: RawSpan, _ rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder, into batch: inout MadeRecords.Batch
  ) {
    let old = batch.bytes.count..<batch.bytes.count + record.byteCount
    unsafe record.withUnsafeBytes { unsafe batch.bytes.append(contentsOf: $0) }
    var number = entityColumn.flatMap {
      decoder.integer($0, of: record, rowID: rowID, layout: layout)
    }
    var new = old
    if let entityNumber = number {
      if last?.number != entityNumber {
        last = copies[entityNumber].map { (entityNumber, $0) }
      }
      switch last?.copy.append(record, decoder.fields, to: &batch.bytes) {
      case .same?: break
      case .made?: new = old.upperBound..<batch.bytes.count
      case .undecided?, nil: number = nil
      }
    }
    batch.rows.append(.init(rowID: rowID ?? 0, target: number, old: old, new: new))
  }
}
