/// Sorts entries by the bytes of their first word, with a radix sort that begins with the lowest byte. Bytes that are
/// equal in all entries are skipped, so the sort is fast if the entries differ in a few bytes only. Groups of entries
/// whose first words are equal are then sorted by their second word.
@safe struct KeyEntrySort {
  private let entries: UnsafeMutableBufferPointer<KeyEntry>
  private let spare: UnsafeMutableBufferPointer<KeyEntry>
  private let rest: ContiguousArray<UInt8>
  private var counts = ContiguousArray<UInt32>(repeating: 0, count: 256)

  /// The minimum number of entries for a radix sort. Fewer entries are sorted by comparison.
  private static let fewest = 128
  /// The maximum number of bytes of each word that the radix sort looks at. Entries that are equal in these bytes are
  /// usually few, or equal in the remaining bytes, too.
  private static let maxBytes = 4

  /// Sorts `entries`.
  ///
  /// `spare`: working memory, which is enlarged if it has fewer elements than `entries`.
  /// `rest`: the bytes of the strings that are not in the entries themselves.
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

  /// Sorts the entries in `range` by their first eight bytes or, if `bySecond` is true, by their next eight bytes. In
  /// the latter case, the first eight bytes of all these entries must be equal.
  private mutating func sort(_ range: Range<Int>, bySecond: Bool) {
    guard range.count >= Self.fewest else { return compare(range) }
    let looked = bySecond ? scatter(range) { $0.second } : scatter(range) { $0.first }
    // Each group of entries that are equal in the bits used so far is sorted separately, unless it is already in order.
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

  /// Sorts the entries of `range` stably by `word`, a number for each entry. Only bytes that differ between the entries
  /// are compared: the ``maxBytes`` highest of them. Returns a mask of the bits of `word` by which the entries are now
  /// sorted; all bits are set if the entries are completely sorted by `word`.
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

  /// Copies the entries of `range` from `from` to `to`, sorted stably by the lowest byte of `digit`.
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
