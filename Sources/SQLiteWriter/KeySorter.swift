#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Puts byte strings in order, more of them than memory should hold: what is too many waits, sorted, in a file without
/// a name.
public struct KeySorter {
  private struct Entry {
    /// The first eight bytes, as a number that sorts like them.
    let prefix: UInt64
    let offset: UInt32
    let count: UInt32
  }

  private var bytes = ContiguousArray<UInt8>()
  private var entries = ContiguousArray<Entry>()
  private var isSorted = true
  private var pieces: [Range<Int64>] = []
  private let waiting: WaitingKeys
  private let mostBytes: Int

  /// The longest string that it takes.
  public static let mostKeyBytes = 32 << 10

  init(_ waiting: WaitingKeys, mostBytes: Int) {
    self.waiting = waiting
    self.mostBytes = max(mostBytes, 2 * Self.mostKeyBytes)
  }

  /// Adds a string of at most ``mostKeyBytes``.
  /// - Throws: `full`, `inputOutput`.
  public mutating func add(_ key: borrowing ContiguousArray<UInt8>) throws(SQLiteWriterError) {
    let prefix = Self.prefix(of: key, 0..<key.count)
    let entry = Entry(prefix: prefix, offset: UInt32(bytes.count), count: UInt32(key.count))
    bytes.append(contentsOf: key[...])
    if isSorted, let last = entries.last, Self.isLess(entry, last, bytes) { isSorted = false }
    entries.append(entry)
    if bytes.count + entries.count * MemoryLayout<Entry>.stride >= mostBytes { try putAside() }
  }

  /// Hands on all strings in order; nothing can be added any more.
  /// - Throws: what `body` throws; `inputOutput`.
  mutating func drain(_ body: (ArraySlice<UInt8>) throws(SQLiteWriterError) -> Void)
    throws(SQLiteWriterError)
  {
    sort()
    if pieces.isEmpty {
      for entry in entries {
        try body(
          ArraySlice(bytes[Int(entry.offset)..<Int(entry.offset) + Int(entry.count)]))
      }
    } else {
      try putAside()
      entries = []
      bytes = []
      try merge(body)
    }
    entries = []
    bytes = []
  }

  private mutating func sort() {
    guard !isSorted else { return }
    let bytes = bytes
    entries.sort { Self.isLess($0, $1, bytes) }
    isSorted = true
  }

  @inline(__always)
  private static func isLess(
    _ one: Entry, _ other: Entry, _ bytes: borrowing ContiguousArray<UInt8>
  ) -> Bool {
    if one.prefix != other.prefix { return one.prefix < other.prefix }
    return unsafe bytes.withUnsafeBytes { bytes in
      let a = unsafe UnsafeRawBufferPointer(
        rebasing: bytes[Int(one.offset)..<Int(one.offset) + Int(one.count)])
      let b = unsafe UnsafeRawBufferPointer(
        rebasing: bytes[Int(other.offset)..<Int(other.offset) + Int(other.count)])
      return unsafe a.lexicographicallyPrecedes(b)
    }
  }

  /// Writes what is in memory, in order.
  private mutating func putAside() throws(SQLiteWriterError) {
    guard !entries.isEmpty else { return }
    sort()
    var out = ContiguousArray<UInt8>()
    out.reserveCapacity(bytes.count + 2 * entries.count)
    for entry in entries {
      out.append(UInt8(truncatingIfNeeded: entry.count >> 8))
      out.append(UInt8(truncatingIfNeeded: entry.count))
      out.append(contentsOf: bytes[Int(entry.offset)..<Int(entry.offset) + Int(entry.count)])
    }
    pieces.append(try waiting.append(out))
    entries.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    isSorted = true
  }

  // MARK: - Merging

  /// Strings of one piece, one after the other.
  private struct Cursor {
    var rest: Range<Int64>
    var buffer = ContiguousArray<UInt8>()
    /// Where the string lies, and what lies behind it.
    var key = 0..<0
    var prefix: UInt64 = 0

    var next: Int { key.upperBound }

    /// Whether a whole string follows.
    var hasNext: Bool {
      next + 2 <= buffer.count && buffer.count - next - 2 >= count
    }

    private var count: Int { Int(buffer[next]) << 8 | Int(buffer[next + 1]) }

    mutating func takeNext() {
      key = next + 2..<next + 2 + count
      prefix = KeySorter.prefix(of: buffer, key)
    }
  }

  private func merge(_ body: (ArraySlice<UInt8>) throws(SQLiteWriterError) -> Void)
    throws(SQLiteWriterError)
  {
    let part = max(8 << 10, min(64 << 10, mostBytes / pieces.count))
    var cursors = pieces.map { Cursor(rest: $0) }
    var heap: [Int] = []
    for index in cursors.indices where try advance(&cursors[index], part) { heap.append(index) }
    heap.sort { Self.isLess(cursors[$0], cursors[$1]) }
    while let first = heap.first {
      try body(cursors[first].buffer[cursors[first].key])
      if try !advance(&cursors[first], part) {
        heap[0] = heap[heap.count - 1]
        heap.removeLast()
      }
      Self.sink(&heap, cursors)
    }
  }

  /// Lets the first of the heap down to its place.
  private static func sink(_ heap: inout [Int], _ cursors: borrowing [Cursor]) {
    var place = 0
    while true {
      var least = place
      let child = 2 * place + 1
      if child < heap.count, isLess(cursors[heap[child]], cursors[heap[least]]) { least = child }
      if child + 1 < heap.count, isLess(cursors[heap[child + 1]], cursors[heap[least]]) {
        least = child + 1
      }
      guard least != place else { return }
      heap.swapAt(place, least)
      place = least
    }
  }

  @inline(__always)
  private static func isLess(_ one: borrowing Cursor, _ other: borrowing Cursor) -> Bool {
    if one.prefix != other.prefix { return one.prefix < other.prefix }
    return unsafe one.buffer.withUnsafeBytes { a in
      unsafe other.buffer.withUnsafeBytes { b in
        unsafe UnsafeRawBufferPointer(rebasing: a[one.key])
          .lexicographicallyPrecedes(UnsafeRawBufferPointer(rebasing: b[other.key]))
      }
    }
  }

  @inline(__always)
  private func advance(_ cursor: inout Cursor, _ part: Int) throws(SQLiteWriterError) -> Bool {
    if !cursor.hasNext {
      let left = cursor.buffer[cursor.next...]
      guard !cursor.rest.isEmpty || !left.isEmpty else { return false }
      // At least a whole string more.
      let count = min(Int64(part + Self.mostKeyBytes + 2), Int64(cursor.rest.count))
      cursor.buffer =
        ContiguousArray(left) + (try waiting.read(cursor.rest.lowerBound, Int(count)))
      cursor.rest = cursor.rest.lowerBound + count..<cursor.rest.upperBound
      cursor.key = 0..<0
      guard cursor.hasNext else { throw waiting.lost }
    }
    cursor.takeNext()
    return true
  }

  /// The first eight bytes, as a number that sorts like them.
  @inline(__always)
  fileprivate static func prefix(of bytes: ContiguousArray<UInt8>, _ range: Range<Int>) -> UInt64 {
    if range.count >= 8 {
      return unsafe bytes.withUnsafeBytes {
        UInt64(
          bigEndian: unsafe $0.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self))
      }
    }
    var prefix: UInt64 = 0
    for index in 0..<8 {
      prefix = prefix << 8 | (index < range.count ? UInt64(bytes[range.lowerBound + index]) : 0)
    }
    return prefix
  }
}

/// A file beside the new one that has lost its name as soon as it was made, so that nothing is left of it however the
/// process ends.
final class WaitingKeys {
  private let path: String
  private let descriptor: Int32
  private var end: Int64 = 0

  init(beside path: String) throws(SQLiteWriterError) {
    self.path = path + "-keys"
    descriptor = unsafe open(
      self.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
    guard descriptor >= 0 else {
      throw SQLiteWriterError(
        .cannotCreate, "a file for sorting cannot be made", path: self.path, systemError: errno)
    }
    _ = unsafe unlink(self.path)
  }

  deinit { _ = close(descriptor) }

  var lost: SQLiteWriterError {
    SQLiteWriterError(.inputOutput, "what was put aside for sorting cannot be read", path: path)
  }

  func append(_ bytes: ContiguousArray<UInt8>) throws(SQLiteWriterError) -> Range<Int64> {
    try NewFile.put(bytes, to: descriptor, at: end, path)
    defer { end += Int64(bytes.count) }
    return end..<end + Int64(bytes.count)
  }

  func read(_ offset: Int64, _ count: Int) throws(SQLiteWriterError) -> ContiguousArray<UInt8> {
    try NewFile.bytes(count, of: descriptor, at: offset, path)
  }
}
