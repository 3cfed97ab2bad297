/// Where decoded rows go, value by value.
///
/// Conformers are structs: the scan and the decoder are generic over them, and the compiler makes a copy of each for
/// each. There is no row object, no enum and no closure in the loop. The copy of the scan is made in this module only; a
/// sink of another module has one of the decoder, which is inlinable.
@usableFromInline package protocol RowSink: ~Copyable {
  /// A cell is read next; `start` is its offset in its page.
  mutating func beginCell(at start: Int)
  /// A row starts; `rowID` is nil in a WITHOUT ROWID table.
  mutating func beginRow(_ rowID: Int64?)
  mutating func null()
  mutating func integer(_ value: Int64)
  mutating func real(_ value: Double)
  /// Text as UTF-8. What the file holds may be invalid; UTF-16 surrogates that stand alone come as their
  /// three-byte form, so that nothing is lost on the way.
  mutating func text(_ bytes: RawSpan)
  mutating func blob(_ bytes: RawSpan)
  /// The row is complete.
  mutating func endRow()
  /// False when nobody wants further rows.
  var wantsMore: Bool { get }
}

extension RowSink where Self: ~Copyable {
  @inline(__always)
  package mutating func beginCell(at start: Int) {}
}
