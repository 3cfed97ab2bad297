/// Receives the records of a table, for example to write them as JSON. A receiver gets one call for each row, not one
/// for each value.
package protocol RecordReceiver: AnyObject {
  /// Receives a record. Returns nil when the receiver accepts it; otherwise the reason why it cannot be decoded.
  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect?
  /// Whether more rows are wanted. If this is false, the scan ends.
  var wantsMore: Bool { get }
  /// Whether rows were lost because the output failed, or because there were too many to store.
  var isBroken: Bool { get }
  /// Whether the table may be read on several threads, with a receiver from ``another()`` on each of them.
  var takesBlocks: Bool { get }
  /// The maximum total size, in bytes, of the database pages whose rows form one block.
  var blockBytes: Int { get }
  /// Makes a receiver for another thread. Its output is stored until ``take(from:)`` passes it to this receiver.
  func another() -> any RecordReceiver
  /// Appends the output that `other` has stored to the output of this receiver, and empties `other`.
  func take(from other: any RecordReceiver)
}

// Defaults for a receiver that accepts rows only one after the other and cannot lose any.
extension RecordReceiver {
  package var isBroken: Bool { false }
  package var takesBlocks: Bool { false }
  package var blockBytes: Int { 1 << 20 }
  package func another() -> any RecordReceiver { self }
  package func take(from other: any RecordReceiver) {}
}

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
  package mutating func read(
    leaf: (page: UInt32, rowIDs: RowIDBounds), layout: RowLayout, reader: inout PageReader,
    into receiver: any RecordReceiver
  ) throws(SQLiteFileError) {
    var sink = ReceivedRecords(receiver: receiver)
    try read(leaf: leaf, layout: layout, reader: &reader, sink: &sink)
  }
}
