import Fixtures
import Foundation
import SQLiteFile
import Testing

/// What the byte reader gives, against what SQLite itself gives on a private copy.
@Suite struct FixtureRowsTests {
  /// SQLite bends surrogates that stand alone when it makes UTF-8 of them; ours keep their three-byte form, so
  /// these two are compared by their stored bytes in another test.
  private static let fixtures = StoreFixtures.all.filter { !$0.name.hasSuffix("surrogates") }

  @Test(arguments: fixtures)
  func everyTableHasTheRowsThatSQLiteGives(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let store = try fixture.make(folder.url)
    let expected = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store, virtualColumns: true)
    let before = treeState(of: folder.url)

    if expected.isEmpty,
      fixture.name.contains("nothing") || before[store.lastPathComponent]?.size == 0
    {
      let error = #expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: store.path) }
      #expect(error?.code == .empty)
      return
    }
    let database = try SQLiteDatabase(path: store.path)
    #expect(Set(database.schema.tables.map(\.name)) == Set(expected.keys))
    for table in database.schema.tables {
      let rows = try database.rows(of: table)
      let truth = try #require(expected[table.name])
      #expect(rows.count == truth.count, "\(table.name)")
      let virtual = Set(
        (table.definition?.columns ?? []).indices.filter {
          table.definition?.columns[$0].generation == .virtual
        })
      for (row, wanted) in zip(rows, truth) {
        // A table whose columns take all names of the row id hides it from SQL.
        if wanted.rowid != nil || table.definition?.isWithoutRowID == true {
          #expect(row.rowID == wanted.rowid, "\(table.name)")
        }
        let values = row.values.enumerated().map { virtual.contains($0) ? nil : FixtureValue($1) }
        let wantedValues = wanted.values.enumerated().map { virtual.contains($0) ? nil : $1 }
        guard values != wantedValues else { continue }
        Issue.record("\(table.name) row \(row.rowID ?? -1): \(values) is not \(wantedValues)")
        break
      }
    }
    #expect(database.findings.damageCount == 0, "\(database.findings.kept)")
    #expect(treeState(of: folder.url) == before)
  }
}

/// UTF-16 that is not well formed.
@Suite struct LoneSurrogateTests {
  @Test(arguments: ["text-utf16le-surrogates", "text-utf16be-surrogates"])
  func loseNothing(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let stored = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store, text: .stored)
    let database = try SQLiteDatabase(path: store.path)
    let isBigEndian = name.contains("16be")
    var compared = 0
    for table in database.schema.tables {
      for (row, truth) in zip(try database.rows(of: table), stored[table.name] ?? []) {
        for (value, wanted) in zip(row.values, truth.values) {
          guard case .text(let text) = value, case .text(let bytes) = wanted else { continue }
          #expect(Self.units(utf8: text.utf8) == Self.units(utf16: bytes, isBigEndian))
          compared += 1
        }
      }
    }
    #expect(compared > 0)
  }

  private static func units(utf16 bytes: [UInt8], _ isBigEndian: Bool) -> [UInt16] {
    stride(from: 0, to: bytes.count - 1, by: 2).map { index in
      let (one, two) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isBigEndian ? one << 8 | two : two << 8 | one
    }
  }

  /// UTF-16 units of UTF-8 in which surrogates may stand alone.
  private static func units(utf8 bytes: [UInt8]) -> [UInt16] {
    var units: [UInt16] = []
    var index = 0
    while index < bytes.count {
      let first = UInt32(bytes[index])
      let length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
      var scalar = length == 1 ? first : first & (0x7f >> UInt32(length))
      for trail in bytes[(index + 1)..<(index + length)] {
        scalar = scalar << 6 | UInt32(trail & 0x3f)
      }
      if scalar < 0x10000 {
        units.append(UInt16(scalar))
      } else {
        units.append(UInt16(0xd800 + (scalar - 0x10000) >> 10))
        units.append(UInt16(0xdc00 + (scalar - 0x10000) & 0x3ff))
      }
      index += length
    }
    return units
  }
}
