/// Renders the records of a table in a higher-level target, with one call per row instead of one per value.
package protocol RecordReceiver: AnyObject {
  /// Takes a record. Returns nil when the row was taken, else why its record cannot be decoded.
  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect?
  /// Whether more rows are wanted; false ends the scan.
  var wantsMore: Bool { get }
  /// Whether rows were lost because the output failed, or because this receiver could not keep them all.
  var isBroken: Bool { get }
  /// Whether blocks of rows may be rendered in parallel.
  var takesBlocks: Bool { get }
  /// How many bytes of pages one block may have.
  var blockBytes: Int { get }
  /// A receiver for blocks, which keeps what it renders for ``take(from:)``.
  func another() -> any RecordReceiver
  /// Appends what another receiver has kept, and empties that receiver.
  func take(from other: any RecordReceiver)
}

// Defaults for receivers that take the rows one after the other and cannot lose any.
extension RecordReceiver {
  package var isBroken: Bool { false }
  package var takesBlocks: Bool { false }
  package var blockBytes: Int { 1 << 20 }
  package func another() -> any RecordReceiver { self }
  package func take(from other: any RecordReceiver) {}
}

/// Passes each record to a receiver.
struct ReceivedRecords: RecordSink {
  let receiver: any RecordReceiver

  var wantsMore: Bool { receiver.wantsMore }

  mutating func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    receiver.take(record, rowID: rowID, layout, &decoder)
  }
}

extension BTreeScan {
  /// Passes the records of one leaf to a receiver.
  package mutating func read(
    leaf: (page: UInt32, rowIDs: RowIDBounds), layout: RowLayout, reader: inout PageReader,
    into receiver: any RecordReceiver
  ) throws(SQLiteFileError) {
    var sink = ReceivedRecords(receiver: receiver)
    try read(leaf: leaf, layout: layout, reader: &reader, sink: &sink)
  }
}
