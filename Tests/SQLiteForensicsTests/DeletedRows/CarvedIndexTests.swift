import Testing

@testable import SQLiteForensics

/// Which of the carved rows stay.
@Suite struct CarvedIndexTests {
  /// `table`: the only table that the row can belong to, counted from 1; 0 if there are several.
  private static func entry(
    _ content: UInt64, _ rowID: Int64?, _ confidence: UInt8 = 90, of table: UInt16 = 0,
    withoutType: UInt64 = 0
  ) -> CarvedIndex.Entry {
    CarvedIndex.Entry(
      content: content, withoutType: withoutType, rowID: rowID ?? 0, page: 2, start: 8,
      record: 10, length: 9, table: max(1, table), payload: 7, firstType: 0, confidence: confidence,
      flags: (rowID == nil ? 0 : CarvedIndex.hasRowID)
        | (table == 0 ? 0 : CarvedIndex.isOfTable),
      headerLength: 3, source: 0, place: 0, newer: 0, overflow: 0)
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
    index.meet(7, rowID: 6, of: 1, &live)
    index.meet(7, rowID: 8, of: 1, &live)
    index.meet(8, rowID: 1, of: 0, &live)
    #expect(index.entries(without: [live]).map(\.confidence) == [95])
  }

  @Test func equalRowsOfDifferentTablesStay() {
    var index = CarvedIndex()
    for entry in [
      Self.entry(7, 5, 95, of: 1), Self.entry(7, 5, 90, of: 2), Self.entry(7, 5, 85, of: 1),
      Self.entry(7, 5, 80), Self.entry(7, nil, 70, of: 3), Self.entry(7, nil, 65, of: 2),
      Self.entry(8, nil, 60),
    ] { index.append(entry, length: 1) }
    var seen = SeenRows()
    index.settle(&seen)
    #expect(index.entries.map(\.confidence) == [95, 90, 80, 70, 60])
    // The row that can belong to several tables is one of those of which the table is certain.
    var live = CarvedIndex.LiveEntries(index)
    #expect(index.entries(without: [live]).map(\.confidence) == [95, 90, 70, 60])
    index.meet(7, rowID: 5, of: 2, &live)
    index.meet(8, rowID: 5, of: 2, &live)
    #expect(index.entries(without: [live]).map(\.confidence) == [95, 70])
    // The table of the live row is not known.
    index.meet(7, rowID: 5, of: 0, &live)
    #expect(index.entries(without: [live]).isEmpty)
  }

  /// A live row may equal a row that can belong to several tables, but not a row of which another table is certain.
  @Test func aLiveRowHidesOnlyRowsThatItMayBe() {
    var index = CarvedIndex()
    for entry in [
      Self.entry(7, 5, 98), Self.entry(7, nil, 70, of: 2), Self.entry(7, 5, 60, of: 3),
    ] { index.append(entry, length: 1) }
    var seen = SeenRows()
    index.settle(&seen)
    var live = CarvedIndex.LiveEntries(index)
    #expect(index.entries(without: [live]).map(\.confidence) == [98])
    index.meet(7, rowID: 5, of: 1, &live)
    #expect(index.entries(without: [live]).map(\.confidence) == [60, 70])
  }

  @Test func remainsWithoutTheirFirstTypeAreComparedWithoutIt() {
    var index = CarvedIndex()
    for entry in [
      Self.entry(7, nil, withoutType: 7), Self.entry(8, nil, withoutType: 8),
      Self.entry(9, nil, withoutType: 9), Self.entry(9, nil, 95, of: 4, withoutType: 9),
    ] {
      var remains = entry
      remains.flags |= CarvedIndex.lostFirst
      index.append(remains, length: 1)
    }
    index.append(Self.entry(7, 5), length: 1)
    index.append(Self.entry(17, 6, withoutType: 8), length: 1)
    index.append(Self.entry(18, 7, of: 1, withoutType: 9), length: 1)
    #expect(index.hasLostTypes)
    var seen = SeenRows()
    index.settle(&seen)
    var live = CarvedIndex.LiveEntries(index)
    #expect(index.entries(without: [live]).map(\.content) == [7, 9, 17, 18])
    #expect(index.entries(without: [live]).map(\.rowID) == [5, 0, 6, 7])
    // The whole row is live in a table that need not be that of its remains.
    index.meet(17, rowID: 6, of: 1, &live)
    #expect(index.entries(without: [live]).map(\.content) == [7, 8, 9, 18])
  }

  @Test func rowsOfDifferentTablesAreSentOnce() {
    var seen = SeenRows()
    seen.insert(7, 5, of: 1)
    seen.insert(8, nil, of: 0)
    #expect(seen.contains(7, 5, of: 1) && seen.contains(7, nil, of: 0))
    #expect(!seen.contains(7, 5, of: 2) && !seen.contains(7, 6, of: 1))
    #expect(seen.contains(8, 3, of: 2) && seen.contains(8, nil, of: 0))
  }

  /// The rows of a table with a row id and a flag, for example, all have one content.
  @Test func manyRowsOfOneContentAreCompared() {
    var index = CarvedIndex()
    let count = Int64(CarvedIndex.limit)
    for number in 0..<count { index.append(Self.entry(7, number * 7919 % count), length: 1) }
    var seen = SeenRows()
    index.settle(&seen)
    var live = CarvedIndex.LiveEntries(index)
    for rowID in stride(from: 0, to: count, by: 2) { index.meet(7, rowID: rowID, of: 1, &live) }
    let left = index.entries(without: [live])
    #expect(left.count == Int(count / 2))
    #expect(left.allSatisfy { $0.rowID % 2 == 1 })
  }
}
