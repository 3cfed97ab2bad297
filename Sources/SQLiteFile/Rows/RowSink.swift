/// Receives the records of a table, one after the other.
///
/// Conformers are structs: the scan is generic over them, and the compiler specializes it for each sink of this module.
@usableFromInline package protocol RecordSink: ~Copyable {
  /// A cell is read next; `start` is its offset in its page.
  mutating func beginCell(at start: Int)
  /// Takes a record. `rowID` is nil in a WITHOUT ROWID table; `decoder` counts what is odd about the record.
  /// - Returns: nil when the row was taken, else why its record cannot be decoded.
  mutating func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect?
  /// Whether more rows are wanted; false ends the scan.
  var wantsMore: Bool { get }
}

extension RecordSink where Self: ~Copyable {
  @inline(__always)
  package mutating func beginCell(at start: Int) {}
}

/// Receives decoded rows, value by value. There is no row object, no enum and no closure in the loop.
@usableFromInline package protocol RowSink: RecordSink, ~Copyable {
  /// A row starts; `rowID` is nil in a WITHOUT ROWID table.
  mutating func beginRow(_ rowID: Int64?)
  mutating func null()
  mutating func integer(_ value: Int64)
  mutating func real(_ value: Double)
  /// Text as UTF-8. The file's text may be invalid; lone UTF-16 surrogates come in their three-byte form, so that
  /// nothing is lost.
  mutating func text(_ bytes: RawSpan)
  mutating func blob(_ bytes: RawSpan)
  /// The row is complete.
  mutating func endRow()
}

extension RowSink where Self: ~Copyable {
  @inlinable @inline(__always)
  package mutating func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    decoder.decode(record, rowID: rowID, layout: layout, into: &self)
  }
}
