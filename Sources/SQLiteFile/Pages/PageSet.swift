/// A set of page numbers, with one bit for each page. Numbers past the end of the main file, which only an overlay can
/// contain, are stored in ``others``, so that a high page number in a hostile file takes no memory.
@usableFromInline package struct PageSet {
  @usableFromInline var bits: PageValues<UInt64>
  @usableFromInline var others: Set<UInt32> = []

  @inlinable package init(pageCount: UInt32) {
    bits = PageValues(repeating: 0, count: Int(pageCount) / 64 + 1)
  }

  /// Adds a page. Returns false when the page was already in the set.
  @inlinable package mutating func insert(_ page: UInt32) -> Bool {
    let word = Int(page / 64)
    guard word < bits.count else { return others.insert(page).inserted }
    let bit = UInt64(1) << UInt64(page % 64)
    guard bits[word] & bit == 0 else { return false }
    bits[word] |= bit
    return true
  }

  @inlinable @inline(__always)
  package func contains(_ page: UInt32) -> Bool {
    let word = Int(page / 64)
    guard word < bits.count else { return others.contains(page) }
    return bits[word] & (UInt64(1) << UInt64(page % 64)) != 0
  }

  @inlinable @inline(__always)
  package var isEmpty: Bool { others.isEmpty && next(from: 0) == .max }

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

  @inlinable package mutating func remove(_ page: UInt32) {
    let word = Int(page / 64)
    guard word < bits.count else {
      others.remove(page)
      return
    }
    bits[word] &= ~(UInt64(1) << UInt64(page % 64))
  }

  @inlinable package func intersection(_ other: PageSet) -> PageSet {
    var found = self
    bits.forEachMade { index, word in
      found.bits[index] = word & (index < other.bits.count ? other.bits[index] : 0)
    }
    found.others.formIntersection(other.others)
    return found
  }

  /// Returns the lowest page number in the set that is at least `page`; `UInt32.max` if there is no such page. Pages in
  /// ``others`` are ignored.
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

  @inlinable package mutating func formUnion(_ other: PageSet) {
    other.bits.forEachMade { index, word in
      if index < bits.count { bits[index] |= word }
    }
    others.formUnion(other.others)
  }
}
