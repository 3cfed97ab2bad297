/// A window into a file, for a reader that passes through the file once from start to end.
package struct ForwardWindow {
  private static let length = 262_144

  package let file: ByteFile
  package private(set) var start: Int64 = 0
  package private(set) var bytes = ContiguousArray<UInt8>()

  package init(_ file: ByteFile) { self.file = file }

  /// Ensures that `count` bytes of the file, from `offset` on, are in ``bytes``.
  /// - Returns: the index in ``bytes`` of the first of these bytes; nil when the file ends before the last of them.
  package mutating func hold(_ offset: Int64, _ count: Int) throws(SQLiteFileError) -> Int? {
    guard offset >= 0, count >= 0, offset <= file.size, Int64(count) <= file.size - offset else {
      return nil
    }
    if offset >= start, offset - start + Int64(count) <= Int64(bytes.count) {
      return Int(offset - start)
    }
    start = offset
    bytes = ContiguousArray(try file.bytes(at: offset, count: max(count, Self.length)))
    // If another process truncates the file, fewer bytes can be read than the file's size indicated.
    return bytes.count >= count ? 0 : nil
  }
}
