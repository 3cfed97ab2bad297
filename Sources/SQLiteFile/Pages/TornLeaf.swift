/// A table leaf that lost a part, rebuilt from the cells that are certainly intact. The cells keep their offsets, and
/// everything else is free space, so that a fragment of a row, or a mix of two pages, is never taken for a value.
package struct TornLeaf: Sendable, Equatable {
  package let bytes: ContiguousArray<UInt8>
  /// Offset in the file of the leaf's first intact cell.
  package let offset: Int64

  package init(bytes: ContiguousArray<UInt8>, offset: Int64) {
    self.bytes = bytes
    self.offset = offset
  }
}
