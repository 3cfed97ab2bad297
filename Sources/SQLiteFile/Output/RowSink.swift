/// Receives decoded rows, value by value.
///
/// Conformers are structs: the scan and the decoder are generic over them, and the compiler specializes both for each
/// sink. There is no row object, no enum and no closure in the loop. The scan is specialized in this module only; a
/// sink of another module gets a specialized decoder, which is inlinable.
@usableFromInline package protocol RowSink: ~Copyable {
  /// A cell is read next; `start` is its offset in its page.
  mutating func beginCell(at start: Int)
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
  /// False when no more rows are wanted.
  var wantsMore: Bool { get }
}

extension RowSink where Self: ~Copyable {
  @inline(__always)
  package mutating func beginCell(at start: Int) {}
}
