/// Renders the records of a table in a target above, with one call for each row instead of one for each value.
package protocol RecordReceiver: AnyObject {
  /// Takes a record, as ``RecordSink/take(_:rowID:_:_:)`` does.
  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect?
  /// False when no more rows are wanted.
  var wantsMore: Bool { get }
  /// Whether rows were lost because the output failed, or because this one could not keep them all.
  var isBroken: Bool { get }
  /// Whether blocks of rows may be rendered side by side.
  var takesBlocks: Bool { get }
  /// A receiver for blocks, which keeps what it renders for ``take(from:)``.
  func another() -> any RecordReceiver
  /// Appends what another one has kept, and empties that one.
  func take(from other: any RecordReceiver)
}

/// Hands each record to a receiver.
struct ReceivedRecords: BlockSink {
  let receiver: any RecordReceiver

  var wantsMore: Bool { receiver.wantsMore }
  var isBroken: Bool { receiver.isBroken }

  mutating func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    receiver.take(record, rowID: rowID, layout, &decoder)
  }

  mutating func take(_ other: inout ReceivedRecords) { receiver.take(from: other.receiver) }
}
