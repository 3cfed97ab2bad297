import Testing

@testable import SQLiteForensics

/// Which of the carved rows stay.
@Suite struct CarvedIndexTests {
  private static func entry(_ content: UInt64, _ rowID: Int64?, _ confidence: UInt8 = 90)
    -> CarvedIndex.Entry
  {
    CarvedIndex.Entry(
      content: content, rowID: rowID ?? 0, page: 2, start: 8, record: 10, length: 9, table: 1,
      payload: 7, firstType: 0, confidence: confidence,
      flags: rowID == nil ? 0 : CarvedIndex.hasRowID, headerLength: 3, source: 0, place: 0,
      newer: 0, overflow: 0)
  }

  @Test func ofEqualRowsTheBestKnownOneStays() {
    var index = CarvedIndex()
    for entry in [
      Self.entry(8, nil, 5), Self.entry(7, 6, 50), Self.entry(7, 5, 70), Self.entry(7, nil, 99),
      Self.entry(7, 5, 95), Self.entry(8, nil, 60),
    ] { index.append(entry, length: 1) }
    var seen = SeenRows()
    index.settle(&seen)
    #expect(index.entries.map(\.confidence) == [95, 50, 60])
    // A live row equals an entry without a row id by its content alone.
    var live = CarvedIndex.LiveEntries(index)
    index.meet(7, rowID: 6, &live)
    index.meet(7, rowID: 8, &live)
    index.meet(8, rowID: 1, &live)
    #expect(index.entries(without: [live]).map(\.confidence) == [95])
  }

  /// The rows of a table with a row id and a flag, for example, all have one content.
  @Test func manyRowsOfOneContentAreCompared() {
    var index = CarvedIndex()
    let count = Int64(CarvedIndex.limit)
    for number in 0..<count { index.append(Self.entry(7, number * 7919 % count), length: 1) }
    var seen = SeenRows()
    index.settle(&seen)
    var live = CarvedIndex.LiveEntries(index)
    for rowID in stride(from: 0, to: count, by: 2) { index.meet(7, rowID: rowID, &live) }
    let left = index.entries(without: [live])
    #expect(left.count == Int(count / 2))
    #expect(left.allSatisfy { $0.rowID % 2 == 1 })
  }
}
