/// Strings that are collected in memory, sorted, and then written as one piece of the temporary file. In the file, each
/// string comes after its length.
struct KeyPiece {
  private var entries = ContiguousArray<KeyEntry>()
  /// The bytes of each string after the first sixteen. The first sixteen bytes of a string are in its entry.
  /// `restCount`: the number of bytes of `rest` that are in use.
  private var rest = ContiguousArray<UInt8>()
  private var restCount = 0
  private var isSorted = true
  /// The index of the entry that will be written next.
  private var next = 0

  /// The number of entries at which a piece reserves memory for its maximum size. Most indexes that reach this number
  /// have many more entries.
  private static let some = 1024
  /// The number of bytes of the length that is stored before a string in the file.
  static let lengthBytes = 2

  var byteCount: Int { restCount + entries.count * MemoryLayout<KeyEntry>.stride }

  /// Adds the string that the first `count` bytes of `key` form. `key` must have at least sixteen more bytes after the
  /// string. `maxBytes`: the memory limit of a piece.
  @inline(__always)
  mutating func add(
    _ key: borrowing ContiguousArray<UInt8>, _ count: Int, maxBytes: Int
  ) {
    let entry = KeyEntry(key, 0..<count, offset: restCount)
    if count > KeyEntry.inlineBytes { keep(key, KeyEntry.inlineBytes..<count) }
    if isSorted, let last = entries.last, entry.isLess(last, rest, rest) { isSorted = false }
    // If the memory grew again and again, it would become fragmented.
    if entries.count == Self.some {
      entries.reserveCapacity(maxBytes / MemoryLayout<KeyEntry>.stride + 1)
    }
    entries.append(entry)
  }

  private mutating func keep(_ key: borrowing ContiguousArray<UInt8>, _ range: Range<Int>) {
    let end = restCount + range.count
    if end > rest.count {
      rest.append(contentsOf: repeatElement(0, count: max(4096, end, 2 * rest.count) - rest.count))
    }
    rest.copy(key, range, to: restCount)
    restCount = end
  }

  mutating func sort(_ waiting: WaitingKeys) {
    guard !isSorted else { return }
    KeyEntrySort.sort(&entries, &waiting.sorting, rest)
    isSorted = true
  }

  /// Writes the next strings to `range` of `out`, up to the last one that fits. Returns the number of bytes written,
  /// which is 0 if all strings have been written before.
  mutating func fill(_ out: inout ContiguousArray<UInt8>, _ range: Range<Int>) -> Int {
    var place = range.lowerBound
    while next < entries.count {
      let entry = entries[next]
      let count = Int(entry.count)
      // A string shorter than sixteen bytes takes sixteen bytes while it is written, because both words of its entry
      // are written.
      guard place + Self.lengthBytes + max(count, KeyEntry.inlineBytes) <= range.upperBound else {
        break
      }
      out.set(UInt16(truncatingIfNeeded: count), at: place)
      out.set(entry.first, at: place + Self.lengthBytes)
      out.set(entry.second, at: place + Self.lengthBytes + 8)
      if count > KeyEntry.inlineBytes {
        let offset = Int(entry.offset)
        out.copy(
          rest, offset..<offset + count - KeyEntry.inlineBytes,
          to: place + Self.lengthBytes + KeyEntry.inlineBytes)
      }
      place += Self.lengthBytes + count
      next += 1
    }
    return place - range.lowerBound
  }

  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    restCount = 0
    isSorted = true
    next = 0
  }
}
