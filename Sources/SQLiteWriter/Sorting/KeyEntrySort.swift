/// Sorts entries with a radix sort: by those bytes of their first word that are not the same in all entries, the lowest
/// byte first. Groups of entries that are still equal are then sorted by their second word. When the entries differ in
/// a few bytes only, this is cheap.
@safe struct KeyEntrySort {
  private let entries: UnsafeMutableBufferPointer<KeyEntry>
  private let spare: UnsafeMutableBufferPointer<KeyEntry>
  private let rest: ContiguousArray<UInt8>
  private var counts = ContiguousArray<UInt32>(repeating: 0, count: 256)

  /// Ranges with fewer entries than this are sorted by comparison.
  private static let fewest = 128
  /// The most bytes of a word to sort by. Entries that are equal in these bytes are few, or are equal in the remaining
  /// bytes, too.
  private static let maxBytes = 4

  /// Sorts `entries`. `spare`: working memory, enlarged when it has room for fewer entries. `rest`: the bytes of the
  /// strings that are not in the entries themselves.
  static func sort(
    _ entries: inout ContiguousArray<KeyEntry>, _ spare: inout ContiguousArray<KeyEntry>,
    _ rest: ContiguousArray<UInt8>
  ) {
    if spare.count < entries.count {
      spare = []
      spare = ContiguousArray(repeating: .none, count: entries.count)
    }
    unsafe entries.withUnsafeMutableBufferPointer { entries in
      unsafe spare.withUnsafeMutableBufferPointer { spare in
        var sort = unsafe KeyEntrySort(entries: entries, spare: spare, rest)
        sort.sort(0..<entries.count, bySecond: false)
      }
    }
  }

  private init(
    entries: UnsafeMutableBufferPointer<KeyEntry>, spare: UnsafeMutableBufferPointer<KeyEntry>,
    _ rest: ContiguousArray<UInt8>
  ) {
    unsafe self.entries = entries
    unsafe self.spare = spare
    self.rest = rest
  }

  /// Sorts a range of entries: by first word, or with `bySecond` by second word, and then the first words must be
  /// equal.
  private mutating func sort(_ range: Range<Int>, bySecond: Bool) {
    guard range.count >= Self.fewest else { return compare(range) }
    let looked = bySecond ? scatter(range) { $0.second } : scatter(range) { $0.first }
    // Each group of entries that are equal in the bits sorted so far is sorted by itself, if it is not in order.
    var start = range.lowerBound
    while start < range.upperBound {
      let one = unsafe entries[start]
      let word = (bySecond ? one.second : one.first) & looked
      var end = start + 1
      var isOrdered = true
      var last = one
      while end < range.upperBound {
        let next = unsafe entries[end]
        guard (bySecond ? next.second : next.first) & looked == word else { break }
        if isOrdered, next.isLess(last, rest, rest) { isOrdered = false }
        last = next
        end += 1
      }
      if !isOrdered {
        if bySecond || looked != .max {
          compare(start..<end)
        } else {
          sort(start..<end, bySecond: true)
        }
      }
      start = end
    }
  }

  /// Sorts entries, stably, by the highest bytes in which `word` is not the same in all of them, at most ``maxBytes``
  /// bytes. Returns a mask of the bits of `word` by which the entries are in order: all bits if the lower bits do not
  /// differ.
  @inline(__always)
  private mutating func scatter(_ range: Range<Int>, _ word: (KeyEntry) -> UInt64) -> UInt64 {
    let one = unsafe word(entries[range.lowerBound])
    var differing: UInt64 = 0
    for index in range { unsafe differing |= word(entries[index]) ^ one }
    var shifts: [UInt64] = []
    for shift in stride(from: 56 as UInt64, through: 0, by: -8)
    where differing >> shift & 0xff != 0 && shifts.count < Self.maxBytes {
      shifts.append(shift)
    }
    var isSpare = false
    for shift in shifts.reversed() {
      if isSpare {
        unsafe Self.scatter(spare, entries, range, &counts) { word($0) >> shift }
      } else {
        unsafe Self.scatter(entries, spare, range, &counts) { word($0) >> shift }
      }
      isSpare.toggle()
    }
    if isSpare {
      for index in range { unsafe entries[index] = spare[index] }
    }
    guard let lowest = shifts.last else { return .max }
    let behind: UInt64 = 1 << lowest - 1
    return differing & behind == 0 ? .max : ~behind
  }

  /// Moves the entries of a range to their positions by one byte: the lowest byte of `digit`.
  @inline(__always)
  private static func scatter(
    _ from: UnsafeMutableBufferPointer<KeyEntry>, _ to: UnsafeMutableBufferPointer<KeyEntry>,
    _ range: Range<Int>, _ counts: inout ContiguousArray<UInt32>, _ digit: (KeyEntry) -> UInt64
  ) {
    unsafe counts.withUnsafeMutableBufferPointer { counts in
      for value in 0..<256 { unsafe counts[value] = 0 }
      for index in range { unsafe counts[Int(digit(from[index]) & 0xff)] &+= 1 }
      var place = UInt32(range.lowerBound)
      for value in 0..<256 {
        let count = unsafe counts[value]
        unsafe counts[value] = place
        place &+= count
      }
      for index in range {
        let entry = unsafe from[index]
        let value = Int(digit(entry) & 0xff)
        unsafe to[Int(counts[value])] = entry
        unsafe counts[value] &+= 1
      }
    }
  }

  private func compare(_ range: Range<Int>) {
    var part = unsafe UnsafeMutableBufferPointer(rebasing: entries[range])
    unsafe part.sort { $0.isLess($1, rest, rest) }
  }
}
