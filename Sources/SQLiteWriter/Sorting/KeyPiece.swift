/// Strings in memory, which are sorted and then written as one piece of the file. In the file, a string comes after its
/// length.
struct KeyPiece {
  private var entries = ContiguousArray<KeyEntry>()
  /// The bytes of the strings that are not in the entries themselves. `restCount`: how many of these bytes are in use.
  private var rest = ContiguousArray<UInt8>()
  private var restCount = 0
  private var isSorted = true
  /// The index of the entry that is written next.
  private var next = 0

  /// When a piece has this many entries, memory is reserved for as many as it can have: an index with more than a few
  /// entries usually has many.
  private static let some = 1024
  /// How many bytes the length before a string takes in the file.
  static let lengthBytes = 2

  /// About how many bytes of memory the piece takes.
  var byteCount: Int { restCount + entries.count * MemoryLayout<KeyEntry>.stride }

  /// Adds a string, the first `count` bytes of `key`. At least sixteen more bytes must follow in `key`. `maxBytes`: the
  /// memory limit of a piece.
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

  /// Writes as many of the strings not written yet as fit into `range` of `out`; returns the number of bytes, 0 at the
  /// end.
  mutating func fill(_ out: inout ContiguousArray<UInt8>, _ range: Range<Int>) -> Int {
    var place = range.lowerBound
    while next < entries.count {
      let entry = entries[next]
      let count = Int(entry.count)
      // A shorter string takes sixteen bytes while it is written, because its entry is written whole.
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
