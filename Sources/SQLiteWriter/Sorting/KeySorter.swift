/// Sorts byte strings that may not all fit into memory. Sorted pieces are written to an unlinked temporary file.
package struct KeySorter {
  private var held = KeyPiece()
  private var pieces: [Range<Int64>] = []
  private var longest = 0
  private let waiting: WaitingKeys
  private let maxBytes: Int

  package static let maxKeyBytes = 32 << 10
  /// The number of bytes that must follow the string in the array that is passed to ``add(_:count:)``.
  package static let spareBytes = KeyEntry.inlineBytes

  init(_ waiting: WaitingKeys, maxBytes: Int) {
    self.waiting = waiting
    self.maxBytes = max(maxBytes, 2 * Self.maxKeyBytes)
  }

  /// Adds a string: the first `count` bytes of `key`, at most ``maxKeyBytes``. In `key`, at least ``spareBytes`` more
  /// bytes must follow the string.
  /// - Throws: `full`, `inputOutput`.
  package mutating func add(_ key: borrowing ContiguousArray<UInt8>, count: Int)
    throws(SQLiteWriterError)
  {
    precondition(count <= Self.maxKeyBytes)
    longest = max(longest, count)
    held.add(key, count, maxBytes: maxBytes)
    if held.byteCount >= maxBytes { try putAside() }
  }

  /// Passes all strings to `body` in ascending order, until `body` returns false. No string may be added afterwards.
  /// - Throws: what `body` throws; `full`, `inputOutput`.
  @inline(__always)
  mutating func drain(_ body: (RawSpan) throws(SQLiteWriterError) -> Bool)
    throws(SQLiteWriterError)
  {
    var last = KeyPiece()
    swap(&last, &held)
    last.sort(waiting)
    waiting.sorting = []
    var merge = try KeyMerge(pieces, last, longest: longest, waiting)
    pieces = []
    while try merge.next() {
      guard try body(merge.key) else { return }
    }
  }

  private mutating func putAside() throws(SQLiteWriterError) {
    held.sort(waiting)
    pieces.append(try waiting.append { held.fill(&$0, 0..<$0.count) })
    held.removeAll()
  }
}
