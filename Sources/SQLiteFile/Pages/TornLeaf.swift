/// A table leaf that has lost a part, rebuilt from its cells that are certainly intact. These cells keep their offsets.
/// All other bytes count as free space, so that a fragment of a row, or a mixture of two pages, is never taken for a
/// value.
package struct TornLeaf: Sendable, Equatable {
  package let bytes: ContiguousArray<UInt8>
  /// The offset in the file of the leaf's first intact cell.
  package let offset: Int64

  package init(bytes: ContiguousArray<UInt8>, offset: Int64) {
    self.bytes = bytes
    self.offset = offset
  }
}
