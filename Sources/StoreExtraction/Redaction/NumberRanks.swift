import SQLiteForensics

/// What is written about a number, in addition to the token that replaces it.
package enum NumberForm: String, Sendable, CaseIterable {
  /// The two powers of ten between which the number lies are written beside the token. Numbers below 10 lie between 0
  /// and 10.
  case ranges
  /// The rank of the number among the distinct numbers of its column. The lowest number has rank 1.
  case ranks
}

/// The distinct numbers of each column in ascending order. They are collected before rows are written. Integers and
/// reals of the same column are ranked separately.
package struct NumberRanks: Sendable {
  private struct Column: Sendable {
    var words: [UInt64] = []
    /// The number of words at the start of the list that are sorted and distinct.
    var sortedCount = 0

    mutating func sort() {
      guard sortedCount < words.count else { return }
      words.sort()
      var kept = 0
      for word in words where kept == 0 || word != words[kept - 1] {
        words[kept] = word
        kept += 1
      }
      words.removeLast(words.count - kept)
      sortedCount = kept
    }
  }

  private let mostWords: Int
  private var columns: [[UInt8]: Column] = [:]
  private var overfull: Set<[UInt8]> = []
  private var count = 0

  /// Creates an empty collection.
  ///
  /// `limit`: how many numbers are kept at most, for all columns together; the default takes 8 MiB of memory. When the
  /// limit is reached, the column with the most numbers is dropped and gets no ranks.
  package init(limit: Int = 1 << 20) { mostWords = max(2, limit) }

  /// The number of columns that get no ranks, because they have too many distinct numbers.
  package var overfullCount: Int { Set(overfull.map { $0.dropLast() }).count }

  package mutating func note(_ number: Int64, of column: [UInt8]) {
    note(Self.word(number), Self.key(column))
  }

  package mutating func note(_ number: Double, of column: [UInt8]) {
    note(Self.word(number), Self.key(column, isReal: true))
  }

  private mutating func note(_ word: UInt64, _ key: [UInt8]) {
    guard !overfull.contains(key) else { return }
    columns[key, default: Column()].words.append(word)
    count += 1
    if count >= mostWords { makeRoom() }
  }

  /// Reduces the collected numbers to at most half of the limit. First removes duplicate numbers. Then removes whole
  /// columns, each time the column with the most numbers.
  private mutating func makeRoom() {
    sort()
    while count > mostWords / 2,
      let fullest = columns.max(by: { one, other in
        // If several columns have equally many numbers, the order of their keys decides, so that the choice is always
        // the same.
        one.value.words.count == other.value.words.count
          ? one.key.lexicographicallyPrecedes(other.key)
          : one.value.words.count < other.value.words.count
      })
    {
      columns[fullest.key] = nil
      overfull.insert(fullest.key)
      count -= fullest.value.words.count
    }
  }

  /// Sorts the collected numbers of each column, and removes duplicates. Must be called before ranks are requested.
  package mutating func sort() {
    for key in columns.keys { columns[key]?.sort() }
    count = columns.values.reduce(0) { $0 + $1.words.count }
  }

  /// Returns the rank of an integer among the integers of its column, from 1; nil if the column has no ranks.
  func rank(_ number: Int64, of column: [UInt8]) -> Int? {
    rank(Self.word(number), Self.key(column))
  }

  /// Returns the rank of a real among the reals of its column, from 1; nil if the column has no ranks.
  func rank(_ number: Double, of column: [UInt8]) -> Int? {
    rank(Self.word(number), Self.key(column, isReal: true))
  }

  private func rank(_ word: UInt64, _ key: [UInt8]) -> Int? {
    guard let words = columns[key]?.words else { return nil }
    let place = words.firstPlace { $0 >= word }
    return place < words.count && words[place] == word ? place + 1 : nil
  }

  // MARK: - Order

  private static func key(_ column: [UInt8], isReal: Bool = false) -> [UInt8] {
    column + [isReal ? 1 : 0]
  }

  /// Converts a number to an unsigned integer for sorting. A smaller number gives a smaller unsigned integer.
  private static func word(_ number: Int64) -> UInt64 { UInt64(bitPattern: number) ^ 1 << 63 }

  private static func word(_ number: Double) -> UInt64 {
    // SQLite treats the zeros of both signs as one number.
    let bits = (number == 0 ? 0 : number).bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }
}
