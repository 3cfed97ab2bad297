/// A set of page numbers, one bit each. Numbers past the main file's end, which only an overlay has, are kept in
/// ``others``, so that a hostile page number costs no memory.
@usableFromInline package struct PageSet {
  @usableFromInline var bits: PageValues<UInt64>
  @usableFromInline var others: Set<UInt32> = []

  /// A set for a file of this many pages.
  @inlinable package init(pageCount: UInt32) {
    bits = PageValues(repeating: 0, count: Int(pageCount) / 64 + 1)
  }

  /// Adds a page; returns false when it is already in the set.
  @inlinable package mutating func insert(_ page: UInt32) -> Bool {
    let word = Int(page / 64)
    guard word < bits.count else { return others.insert(page).inserted }
    let bit = UInt64(1) << UInt64(page % 64)
    guard bits[word] & bit == 0 else { return false }
    bits[word] |= bit
    return true
  }

  /// Whether a page is in the set.
  @inlinable @inline(__always)
  package func contains(_ page: UInt32) -> Bool {
    let word = Int(page / 64)
    guard word < bits.count else { return others.contains(page) }
    return bits[word] & (UInt64(1) << UInt64(page % 64)) != 0
  }

  /// Whether the set is empty.
  @inlinable @inline(__always)
  package var isEmpty: Bool { others.isEmpty && next(from: 0) == .max }

  /// Calls `receive` with each page.
  @inlinable package func forEach(_ receive: (UInt32) -> Void) {
    bits.forEachMade { index, word in
      var left = word
      while left != 0 {
        receive(UInt32(truncatingIfNeeded: index * 64 + left.trailingZeroBitCount))
        left &= left - 1
      }
    }
    others.forEach(receive)
  }

  /// Removes a page.
  @inlinable package mutating func remove(_ page: UInt32) {
    let word = Int(page / 64)
    guard word < bits.count else {
      others.remove(page)
      return
    }
    bits[word] &= ~(UInt64(1) << UInt64(page % 64))
  }

  /// The pages that are also in another set for the same file.
  @inlinable package func intersection(_ other: PageSet) -> PageSet {
    var found = self
    bits.forEachMade { index, word in
      found.bits[index] = word & (index < other.bits.count ? other.bits[index] : 0)
    }
    found.others.formIntersection(other.others)
    return found
  }

  /// The first page at or after `page`, not counting ``others``; `UInt32.max` when there is none.
  @inlinable @inline(__always)
  package func next(from page: UInt32) -> UInt32 {
    var word = Int(page / 64)
    guard word < bits.count else { return .max }
    var left = bits[word] & (UInt64.max << UInt64(page % 64))
    while left == 0 {
      word = bits.nextMade(from: word + 1)
      guard word < bits.count else { return .max }
      left = bits[word]
    }
    return UInt32(word * 64 + left.trailingZeroBitCount)
  }

  /// Adds the pages of another set for the same file.
  @inlinable package mutating func formUnion(_ other: PageSet) {
    other.bits.forEachMade { index, word in
      if index < bits.count { bits[index] |= word }
    }
    others.formUnion(other.others)
  }
}
