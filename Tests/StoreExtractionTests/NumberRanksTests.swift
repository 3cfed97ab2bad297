import Fixtures
import Testing

@testable import StoreExtraction

/// Ranks of numbers.
@Suite struct NumberRanksTests {
  /// What does not fit has no ranks, and the other columns keep theirs.
  @Test func theFullestColumnGivesWay() {
    var ranks = NumberRanks(limit: 100)
    for number in 0..<1000 {
      ranks.note(Int64(number), of: [1])
      ranks.note(Int64(number % 7), of: [2])
      ranks.note(Double(number % 5) / 2, of: [2])
    }
    ranks.sort()
    #expect(ranks.overfullCount == 1)
    #expect(ranks.rank(Int64(5), of: [1]) == nil)
    #expect((0..<7).map { ranks.rank(Int64($0), of: [2]) } == [1, 2, 3, 4, 5, 6, 7])
    #expect((0..<5).map { ranks.rank(Double($0) / 2, of: [2]) } == [1, 2, 3, 4, 5])
    #expect(ranks.rank(Int64(8), of: [2]) == nil)
  }

  /// A column whose integers and reals both have no ranks is one column.
  @Test func aColumnIsCountedOnce() {
    var ranks = NumberRanks(limit: 100)
    for number in 0..<1000 { ranks.note(Int64(number), of: [1]) }
    for number in 0..<1000 { ranks.note(Double(number) / 2, of: [1]) }
    ranks.sort()
    #expect(ranks.rank(Int64(5), of: [1]) == nil)
    #expect(ranks.rank(2.5, of: [1]) == nil)
    #expect(ranks.overfullCount == 1)
  }

  /// Random numbers, against sorting them.
  @Test(arguments: 1...20) func ranksAreThoseOfSorting(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let numbers = (0..<200).map { _ in Int64(bitPattern: random.next()) >> Int64(random.next() % 60)
    }
    let reals = numbers.map { Double($0) / 3 }
    var ranks = NumberRanks(limit: 10_000)
    for number in numbers { ranks.note(number, of: []) }
    for real in reals { ranks.note(real, of: []) }
    ranks.sort()
    let (order, realOrder) = (Set(numbers).sorted(), Set(reals).sorted())
    for number in numbers {
      #expect(ranks.rank(number, of: []) == order.firstIndex(of: number).map { $0 + 1 })
    }
    for real in reals {
      #expect(ranks.rank(real, of: []) == realOrder.firstIndex(of: real).map { $0 + 1 })
    }
  }
}
