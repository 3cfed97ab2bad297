/// A part of a file in memory, for readers that go through the file once from start to end.
package struct ForwardWindow {
  private static let length = 262_144

  package let file: ByteFile
  package private(set) var start: Int64 = 0
  package private(set) var bytes = ContiguousArray<UInt8>()

  package init(_ file: ByteFile) { self.file = file }

  /// Makes sure that `count` bytes from `offset` on are in ``bytes``.
  /// - Returns: the offset of these bytes in ``bytes``; nil when the file ends before the last of them.
  package mutating func hold(_ offset: Int64, _ count: Int) throws(SQLiteFileError) -> Int? {
    guard offset >= 0, count >= 0, offset <= file.size, Int64(count) <= file.size - offset else {
      return nil
    }
    if offset >= start, offset - start + Int64(count) <= Int64(bytes.count) {
      return Int(offset - start)
    }
    start = offset
    bytes = ContiguousArray(try file.bytes(at: offset, count: max(count, Self.length)))
    // A file that another process truncates returns fewer bytes than its size promised.
    return bytes.count >= count ? 0 : nil
  }
}
