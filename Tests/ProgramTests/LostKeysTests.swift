import Fixtures
import Foundation
import Testing

/// Keys of deleted rows, which SQLite overwrites when it frees a cell: rows that still point to one say which it was.
@Suite struct LostKeysTests {
  private let place: TemporaryFolder
  private let store: URL

  init() throws {
    let demo = try Demonstration.shared.get()
    place = try TemporaryFolder()
    let folder = place.url.appendingPathComponent("kept")
    try FileManager.default.copyItem(at: demo.kept.deletingLastPathComponent(), to: folder)
    store = folder.appendingPathComponent(demo.kept.lastPathComponent)
    // All in the main file: the log has older versions of pages, with whole rows.
    try change("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
    try change(
      """
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZNAME)
        SELECT 20 + value, (SELECT Z_ENT FROM ZFOLDER LIMIT 1), 1, 'folder number ' || value
        FROM (SELECT 1 AS value UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4);
      UPDATE ZNOTE SET ZFOLDER = 22 WHERE Z_PK = 1; UPDATE ZNOTE SET ZFOLDER = 23 WHERE Z_PK = 2
      """)
  }

  private func change(_ sql: String) throws {
    let connection = try SQLiteConnection(store)
    try connection.exec("PRAGMA secure_delete = OFF; " + sql)
    connection.close()
  }

  /// The deleted folders whose names are known.
  private func folders(_ options: String...) throws -> [JSON] {
    try Program.run(["rows", store.path, "--format", "ndjson"] + options).lines().filter {
      $0["entity"]?.string == "Folder" && $0["state"]?.string == "deleted"
        && $0["values"]?["name"]?.string?.hasPrefix("folder number") == true
    }
  }

  @Test func aRowThatPointsToItKnowsTheKey() throws {
    try change("DELETE FROM ZFOLDER WHERE Z_PK = 22")
    for options in ["--deleted", "--all"] {
      let found = try folders(options)
      #expect(found.count == 1)
      #expect(found.first?["values"]?["name"]?.string == "folder number 2")
      #expect(found.first?["pk"]?.integer == 22, "\(found)")
      #expect(found.first?["isKeyInferred"]?.boolean == true)
    }
    let text = try Program.run("rows", store.path, "--deleted", "--entity", "Folder").text
    #expect(text.contains("22?"), "\(text)")
    // It is a guess, and no column of CSV says so.
    let csv = try Program.run(
      "rows", store.path, "--deleted", "--entity", "Folder", "--format", "csv")
    #expect(!csv.text.contains("\r\n22,"))
    // Nothing is told twice.
    let findings = try Program.run("rows", store.path, "--deleted", "--entity", "Note").errors
    #expect(try Program.run("rows", store.path, "--deleted").errors == findings)
  }

  @Test func withoutOneKeyThatFitsThereIsNone() throws {
    // Two rows and two keys: which is whose?
    try change("DELETE FROM ZFOLDER WHERE Z_PK = 22; DELETE FROM ZFOLDER WHERE Z_PK = 23")
    let both = try folders("--deleted")
    #expect(both.count >= 1)
    for row in both where row["isKeyInferred"] != nil {
      Issue.record("\(row)")
    }
  }

  @Test func nothingPointsToIt() throws {
    try change("DELETE FROM ZFOLDER WHERE Z_PK = 21")
    for row in try folders("--deleted") { #expect(row["isKeyInferred"] == nil, "\(row)") }
  }

  @Test func aKeyThatARowHasIsNotTaken() throws {
    // The remains of an earlier version of a row: its key is in use.
    try change(
      "UPDATE ZFOLDER SET ZNAME = ZNAME || ', with a much longer name than before' WHERE Z_PK = 22; UPDATE ZNOTE SET ZFOLDER = 99 WHERE Z_PK = 3"
    )
    for row in try folders("--deleted") {
      #expect(row["isKeyInferred"] == nil || row["pk"]?.integer != 22, "\(row)")
    }
  }
}
