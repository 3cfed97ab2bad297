/// Strings in memory, and their form in the file: each after its length.
struct KeyPiece {
  private var entries = ContiguousArray<KeyEntry>()
  /// The bytes that are not in the entries themselves, and how many of them are in use.
  private var rest = ContiguousArray<UInt8>()
  private var restCount = 0
  private var isSorted = true
  /// The entry that is written next.
  private var next = 0

  /// An index with more entries than this usually has many.
  private static let some = 1024
  /// The size of a length in bytes.
  static let lengthBytes = 2

  /// The memory that it takes, in bytes, approximately.
  var byteCount: Int { restCount + entries.count * MemoryLayout<KeyEntry>.stride }

  /// Adds the first `count` bytes of `key`, which must have sixteen more. `maxBytes`: the memory limit of a piece.
  @inline(__always)
  mutating func add(
    _ key: borrowing ContiguousArray<UInt8>, _ count: Int, maxBytes: Int
  ) {
    let entry = KeyEntry(key, 0..<count, offset: restCount)
    if count > KeyEntry.inlineBytes { keep(key, KeyEntry.inlineBytes..<count) }
    if isSorted, let last = entries.last, entry.isLess(last, rest, rest) { isSorted = false }
    // Repeated growth fragments the memory.
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

  /// Writes as many of the remaining strings as fit into a range; returns the number of bytes.
  mutating func fill(_ out: inout ContiguousArray<UInt8>, _ range: Range<Int>) -> Int {
    var place = range.lowerBound
    while next < entries.count {
      let entry = entries[next]
      let count = Int(entry.count)
      // Sixteen bytes are written even of a shorter string.
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
