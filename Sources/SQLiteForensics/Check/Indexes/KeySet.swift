import SQLiteFile

/// A set of row ids, here called keys. They are stored as bitmaps of 32,768 keys each.
///
/// Core Data assigns keys from 1 on, so 2.7 million rows take 340 KB. There are at most 2,048 bitmaps (8 MB), even for
/// a hostile file. Further keys are dropped, and ``isComplete`` becomes false.
struct KeySet {
  private static let bitmapWords = 512
  private static let maxBitmaps = 2048
  private static let highest: Int64 = 1 << 31

  /// For each range of 32,768 keys, the index in ``words`` at which the bitmap of the range starts; -1 for a range
  /// without keys.
  private var places: ContiguousArray<Int32> = []
  private var words: ContiguousArray<UInt64> = []
  /// Whether all keys that were inserted are in the set. False after a key was dropped.
  private(set) var isComplete = true

  /// Adds a key. A key that is negative, or is 2^31 or more, is dropped, and ``isComplete`` becomes false.
  @inline(__always)
  mutating func insert(_ key: Int64) {
    let place = Int(truncatingIfNeeded: key >> 15)
    if key >= 0, place < places.count, places[place] >= 0 {
      set(Int(places[place]), key)
    } else {
      insertFirst(key)
    }
  }

  @inline(never)
  private mutating func insertFirst(_ key: Int64) {
    guard key >= 0, key < Self.highest, let start = bitmap(of: Int(key >> 15)) else {
      isComplete = false
      return
    }
    set(start, key)
  }

  /// Returns the index in ``words`` at which the bitmap of the range `place` starts. Adds the bitmap if it is missing;
  /// nil if there are too many bitmaps.
  private mutating func bitmap(of place: Int) -> Int? {
    while places.count <= place { places.append(-1) }
    if places[place] < 0 {
      guard words.count < Self.maxBitmaps * Self.bitmapWords else { return nil }
      places[place] = Int32(words.count)
      words.append(contentsOf: repeatElement(0, count: Self.bitmapWords))
    }
    return Int(places[place])
  }

  @inline(__always)
  private mutating func set(_ start: Int, _ key: Int64) {
    let word = start &+ Int(truncatingIfNeeded: key >> 6 & 511)
    words[word] |= UInt64(1) << UInt64(truncatingIfNeeded: key & 63)
  }

  func contains(_ key: Int64) -> Bool {
    let place = Int(truncatingIfNeeded: key >> 15)
    guard key >= 0, key < Self.highest, place < places.count, places[place] >= 0 else {
      return false
    }
    let word = Int(places[place]) + Int(key >> 6 & 511)
    return words[word] >> UInt64(key & 63) & 1 == 1
  }

  func countMissing(in other: KeySet) -> Int {
    var count = 0
    for (place, start) in places.enumerated() where start >= 0 {
      let theirs = place < other.places.count ? other.places[place] : -1
      for index in 0..<Self.bitmapWords {
        let known = theirs >= 0 ? other.words[Int(theirs) + index] : 0
        count += (words[Int(start) + index] & ~known).nonzeroBitCount
      }
    }
    return count
  }

  /// Adds the keys of `other`. Sets ``isComplete`` to false if `other` is not complete, or if the result would exceed
  /// the memory limit.
  mutating func merge(_ other: KeySet) {
    if !other.isComplete { isComplete = false }
    for (place, start) in other.places.enumerated() where start >= 0 {
      guard let own = bitmap(of: place) else {
        isComplete = false
        return
      }
      for index in 0..<Self.bitmapWords {
        words[own + index] |= other.words[Int(start) + index]
      }
    }
  }
}
