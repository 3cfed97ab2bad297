import Fixtures
import Foundation
import SQLiteFile
import Testing

/// What the byte reader gives of stores that Core Data has written, against SQLite on a private copy.
@Suite struct RealStoresTests {
  @Test(.enabled(if: Shared.isThere)) func allOfThemAreThere() {
    guard Shared.require("real stores") != nil else { return }
    #expect(RealStores.all.count == RealStores.expectedCount)
  }

  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 2))
  func everyTableHasTheRowsThatSQLiteGives(_ store: RealStore) throws {
    let folder = store.url.deletingLastPathComponent()
    let before = treeState(of: folder)
    let expected = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store.url)
    let database = try SQLiteDatabase(path: store.url.path)
    #expect(Set(database.schema.tables.map(\.name)) == Set(expected.keys))
    for table in database.schema.tables {
      let rows = try database.rows(of: table)
      let truth = try #require(expected[table.name])
      let isSame = rows.elementsEqual(truth) { row, wanted in
        (wanted.rowid == nil || row.rowID == wanted.rowid)
          && row.values.map { FixtureValue($0) } == wanted.values
      }
      #expect(isSame, "\(table.name)")
      #expect(try database.rowCount(of: table).count == truth.count, "\(table.name)")
    }
    #expect(database.findings.damageCount == 0, "\(database.findings.kept)")
    #expect(treeState(of: folder) == before)
  }

  /// Whether there is a log or a journal beside a store.
  private static func hasSideFile(_ store: RealStore) -> Bool {
    ["-wal", "-journal"].contains { FileManager.default.fileExists(atPath: store.url.path + $0) }
  }

  /// Of eight stores the main file alone gives other rows than SQLite. Those that are nothing but a main file are
  /// looked at in long rounds only.
  @Test(.enabled(if: Shared.isThere)) func someNeedTheirLog() throws {
    guard Shared.require("stores that need their log") != nil else { return }
    var names: [String] = []
    for store in RealStores.all where Rounds.areLong || Self.hasSideFile(store) {
      let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store.url)
      let database = try SQLiteDatabase(path: store.url.path, logView: .ignore)
      var isSame = Set(database.schema.tables.map(\.name)) == Set(truth.keys)
      for table in database.schema.tables where isSame {
        isSame = try database.rows(of: table).elementsEqual(truth[table.name] ?? []) {
          $0.values.map { FixtureValue($0) } == $1.values
        }
      }
      if !isSame { names.append(store.url.lastPathComponent) }
    }
    #expect(names.count == 8, "\(names)")
  }
}
