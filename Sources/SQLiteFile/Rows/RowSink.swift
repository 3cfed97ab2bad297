/// Receives the records of a table. Conforming types are structs, so that the compiler can specialise the generic scan
/// for each sink in this target.
@usableFromInline package protocol RecordSink: ~Copyable {
  /// Called before a cell is read. `start` is the page offset of the cell.
  mutating func beginCell(at start: Int)
  /// Receives a record. `rowID` is nil in a WITHOUT ROWID table. `decoder` counts irregularities of the record. Returns
  /// nil when the sink accepts the record; otherwise the reason why it cannot be decoded.
  mutating func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect?
  /// Whether more rows are wanted. If this is false, the scan ends.
  var wantsMore: Bool { get }
}

extension RecordSink where Self: ~Copyable {
  @inline(__always)
  package mutating func beginCell(at start: Int) {}
}

/// Receives decoded rows, value by value. For speed, no row object, enum or closure is used for each row.
@usableFromInline package protocol RowSink: RecordSink, ~Copyable {
  /// Called when a row starts. `rowID` is nil in a WITHOUT ROWID table.
  mutating func beginRow(_ rowID: Int64?)
  mutating func null()
  mutating func integer(_ value: Int64)
  mutating func real(_ value: Double)
  /// Receives text as UTF-8, which may be invalid. Lone UTF-16 surrogates are given in their three-byte form, so that
  /// no information is lost.
  mutating func text(_ bytes: RawSpan)
  mutating func blob(_ bytes: RawSpan)
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
