import CoreDataStore
import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import StoreExtraction
import Terminal
import Testing

@testable import LifeboatCLI

/// The browser without a terminal: keys in, screens out.
@Suite struct BrowseTests {
  private static func browse(_ path: String, rows: Int = 24, columns: Int = 80) throws
    -> InlineBrowse
  {
    let browse = try InlineBrowse(
      .init(path: path, logView: .committed, model: nil), name: "Notes.sqlite")
    browse.model.resize(rows: rows, columns: columns)
    browse.settle()
    return browse
  }

  /// The store of the demo, with what the statements do to it; its log stays beside it.
  private static func notes(_ folder: TemporaryFolder, _ statements: String = "") throws -> String {
    let made = folder.url.appendingPathComponent("made")
    try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
    let path = try DemoStore.make(in: made)
    guard !statements.isEmpty else { return path }
    let connection = try SQLiteConnection(path)
    try connection.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = 0")
    try connection.exec(statements)
    let kept = folder.url.appendingPathComponent("kept")
    try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: true)
    return try SQLiteConnection.copyStore(URL(fileURLWithPath: path), into: kept).path
  }

  /// A plain table with this many rows.
  private static func numbered(_ folder: TemporaryFolder, _ count: Int) throws -> String {
    let url = folder.url.appendingPathComponent("numbered.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, kind TEXT, note TEXT);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < \(count))
        INSERT INTO t SELECT k, 'kind ' || (k % 3), 'note ' || k FROM n;
      """)
    connection.close()
    return url.path
  }

  private func type(_ text: String, _ browse: InlineBrowse) {
    for scalar in text.unicodeScalars { browse.press(.text(String(scalar))) }
    browse.press(.enter)
  }

  private func line(_ screen: [String], _ start: String) -> String? {
    screen.first { $0.hasPrefix(start) }
  }

  private func choose(_ label: String, _ browse: InlineBrowse) throws {
    guard case .list(var list) = browse.model.view else { throw FixtureError("no list") }
    list.cursor = try #require(list.items.firstIndex { $0.label == label }, "\(label)")
    browse.model.view = .list(list)
    browse.press(.enter)
  }

  // MARK: - Screens

  @Test func entitiesWithTheirCounts() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(Self.notes(folder))
    let lines = browse.model.screen().lines
    #expect(lines.count == 24 && lines.allSatisfy { DisplayWidth.columns(of: $0) <= 80 })
    #expect(lines[0].hasPrefix("Entities and tables") && lines[0].hasSuffix("Notes.sqlite"))
    #expect(lines[1].hasPrefix("> Folder") && lines[1].hasSuffix("2 rows"))
    #expect(lines[2].hasPrefix("  Note") && lines[2].hasSuffix("6 rows"))
    #expect(lines[3].hasPrefix("  Tag") && lines[3].hasSuffix("3 rows"))
    #expect(lines.contains { $0.contains("Z_METADATA") && $0.contains("1 row, table") })
    #expect(lines[23].contains("Enter:rows") && lines[23].contains("?:keys"))
  }

  /// Tables whose names differ only in how their letters are composed.
  @Test func tablesWithEqualNamesHaveTheirOwnCounts() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("names.sqlite")
    let connection = try SQLiteConnection(url)
    for (name, values) in [("caf\u{e9}", "(1), (2)"), ("cafe\u{301}", "(1), (2), (3)")] {
      try connection.exec(
        "CREATE TABLE \"\(name)\" (x); INSERT INTO \"\(name)\" VALUES \(values)")
    }
    connection.close()
    let browse = try Self.browse(url.path)
    guard case .list(let list) = browse.model.view else { throw FixtureError("no list") }
    #expect(list.items.map(\.text) == ["2 rows", "3 rows"])
  }

  @Test func rowsThenARowAndBack() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(Self.notes(folder))
    browse.press(.down, .enter)
    var lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Note") && lines[0].hasSuffix("< Esc"))
    #expect(lines[1].hasPrefix("  key  body"))
    #expect(lines[2].hasPrefix(">   1  milk, bread"))
    #expect(lines[7].hasPrefix("    6  the sea"))
    #expect(lines[22].hasSuffix("row 1 of 6"))
    browse.press(.end, .enter)
    lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Note 6"))
    #expect(lines.contains { $0.contains("title") && $0.hasSuffix("Poem") })
    #expect(lines.contains { $0.contains("isPinned") && $0.hasSuffix("false") })
    #expect(lines.contains { $0.contains("picture") && $0.hasSuffix("(none)") })
    browse.press(.escape)
    #expect(browse.model.screen().lines[7].hasPrefix(">   6"))
    browse.press(.escape)
    #expect(browse.model.screen().lines[2].hasPrefix("> Note"))
    browse.press(.escape)
    #expect(browse.model.screen().lines[22].hasPrefix("there is nothing to go back to"))
    #expect(!browse.model.isFinished)
    browse.press(.text("q"))
    #expect(browse.model.isFinished)
  }

  @Test func relationshipsAreFollowedAndLeft() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(Self.notes(folder))
    browse.press(.enter, .enter)
    #expect(browse.model.screen().lines[0].hasPrefix("Folder 1"))
    // One to many: the rows at the other end hold it.
    try choose("notes", browse)
    var lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Note, related rows") && lines[22].hasSuffix("row 1 of 3"))
    #expect(lines[3].hasPrefix("    3"))
    browse.press(.down, .enter)
    #expect(browse.model.screen().lines[0].hasPrefix("Note 3"))
    // Many to many.
    try choose("tags", browse)
    lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Tag, related rows") && lines[2].hasPrefix(">   2  idea"))
    browse.press(.escape)
    // To one.
    try choose("folder", browse)
    #expect(browse.model.screen().lines[0].hasPrefix("Folder 1"))
    browse.press(.escape, .escape, .escape, .escape)
    #expect(browse.model.screen().lines[0].hasPrefix("Folder"))
    #expect(browse.model.views.count == 2)
  }

  @Test func searchGoesOnAndAround() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(Self.numbered(folder, 3000))
    browse.press(.enter, .text("/"))
    type("NOTE 29", browse)
    #expect(browse.model.screen().lines[22].hasSuffix("row 29 of 3,000"))
    browse.press(.text("n"))
    #expect(browse.model.screen().lines[22].hasSuffix("row 290 of 3,000"))
    #expect(browse.model.screen().lines.contains { $0.hasPrefix("> ") && $0.contains("note 290") })
    browse.press(.text("N"), .text("N"))
    #expect(browse.model.screen().lines[22].hasSuffix("row 2,999 of 3,000"))
    browse.press(.text("n"))
    #expect(browse.model.screen().lines[22].hasSuffix("row 29 of 3,000"))
    browse.press(.text("/"))
    type("nothing like it", browse)
    #expect(browse.model.screen().lines[22].hasPrefix("not found: \"nothing like it\""))
  }

  @Test func aFilterKeepsRowsWithAText() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(Self.numbered(folder, 3000))
    browse.press(.enter, .text("f"))
    #expect(browse.model.screen().cursor?.row == 22)
    type("note 12", browse)
    let lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("t (table), with \"note 12\""))
    // 12, 120 to 129, 1200 to 1299.
    #expect(lines[22].hasSuffix("row 1 of 111"))
    browse.press(.end)
    #expect(browse.model.screen().lines.contains { $0.hasPrefix("> 1299") })
    browse.press(.text("f"), .control("u"), .enter)
    #expect(browse.model.screen().lines[22].hasSuffix("of 3,000"))
  }

  @Test func rowsAreSortedAndMakeSections() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(Self.numbered(folder, 3000))
    browse.press(.enter, .text("s"))
    try choose("id", browse)
    #expect(browse.model.screen().lines[2].hasPrefix(">   1"))
    browse.press(.text("s"))
    try choose("id", browse)
    #expect(browse.model.screen().lines[2].hasPrefix("> 3000"))
    browse.press(.text("S"))
    try choose("kind", browse)
    var lines = browse.model.screen().lines
    #expect(lines[2] == "-- kind: kind 0 (1,000)" && lines[3].hasPrefix("> 3000"))
    browse.press(.text("]"))
    lines = browse.model.screen().lines
    #expect(lines[2] == "-- kind: kind 1 (1,000)" && lines[3].hasPrefix("> 2998"))
    #expect(lines[22].hasSuffix("row 1,001 of 3,000"))
    browse.press(.text("["), .text("u"))
    #expect(browse.model.screen().lines[2].hasPrefix(">   1"))
  }

  @Test func aKeyPathThroughARelationshipSorts() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(
      Self.notes(folder, "UPDATE ZFOLDER SET ZNAME = 'Zoo' WHERE Z_PK = 1"))
    browse.press(.down, .enter, .text("S"))
    try choose("folder.name", browse)
    let lines = browse.model.screen().lines
    #expect(lines[2] == "-- folder.name: Work (3)" && lines[3].hasPrefix(">   2"))
    #expect(lines[6] == "-- folder.name: Zoo (3)" && lines[7].hasPrefix("    1"))
  }

  @Test func deletedRowsAndOlderVersionsAreToldApart() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(
      Self.notes(
        folder,
        """
        UPDATE ZNOTE SET ZTITLE = 'Boat, after the call', Z_OPT = 2 WHERE Z_PK = 2;
        DELETE FROM ZNOTE WHERE Z_PK = 6
        """))
    browse.press(.down, .enter)
    #expect(browse.model.screen().lines[22].hasSuffix("row 1 of 5"))
    browse.press(.text("d"))
    let lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Note: deleted rows and older versions"))
    #expect(lines[1].hasPrefix("  key  state"))
    #expect(lines.contains { $0.contains("  2  older") && $0.contains("call the yard") })
    #expect(lines.contains { $0.contains("  6  deleted") && $0.contains("the sea") })
    browse.press(.end, .enter)
    let row = browse.model.screen().lines
    #expect(row[0].hasPrefix("Note 6 [deleted]"))
    #expect(row[1].contains("state") && row[1].contains("deleted: the store has no row"))
    #expect(row.contains { $0.contains("title") && $0.hasSuffix("Poem") })
    browse.press(.escape, .text("d"))
    #expect(browse.model.screen().lines[22].hasSuffix("row 1 of 5"))
  }

  // MARK: Work in progress

  /// Checks and the reading of pages go on to their end, so Esc goes back meanwhile.
  @Test(arguments: ["findings", "pages", "page"])
  func escGoesBackDuringWorkThatItCannotStop(_ work: String) throws {
    let folder = try TemporaryFolder()
    let place = BackgroundReading.Place(
      path: try Self.numbered(folder, 3000), logView: .committed, model: nil)
    let reading: BackgroundReading =
      switch work {
      case "findings": .findings(place)
      case "pages": .pages(place)
      default: .page(place, 1)
      }
    var progress: [BrowseAnswer] = []
    reading.run(isCancelled: { false }) { answer in
      if case .working = answer { progress.append(answer) }
    }
    let browse = try Self.browse(place.path)
    browse.press(.enter)
    #expect(browse.model.views.count == 2)
    browse.model.take(try #require(progress.first))
    #expect(!browse.model.statusText.isEmpty && !browse.model.statusText.contains("Esc"))
    browse.press(.escape)
    #expect(browse.model.views.count == 1 && browse.model.message == nil)
    // Work that Esc stops is not hidden by other work.
    browse.model.take(.working("filtering, 5%"))
    for answer in progress { browse.model.take(answer) }
    #expect(browse.model.statusText == "filtering, 5% (Esc stops)")
  }

  /// A row or a key that is asked for while deleted rows are read is not said to be missing.
  @Test func deletedRowsAreWaitedFor() throws {
    let folder = try TemporaryFolder()
    let path = try Self.notes(folder, "DELETE FROM ZNOTE WHERE Z_PK = 6")
    let query = RowsQuery(
      subject: BrowseSubject(table: "ZNOTE", name: "Note"), isPast: true, sort: "title")
    for request in [
      .place(query, key: 6), .row(.place(query, 0)), .value(.place(query, 0), property: "title"),
    ] as [BrowseRequest] {
      var readings: [BackgroundReading] = []
      var answers: [BrowseAnswer] = []
      let source = try BrowseSource(
        .init(path: path, logView: .committed, model: nil), name: "Notes.sqlite",
        giveOut: { readings.append($0) }, emit: { answers.append($0) })
      source.handle(request)
      #expect(readings.count == 1 && answers.count == 1, "\(answers)")
      guard case .working(let text, _)? = answers.first else { throw FixtureError("no progress") }
      #expect(text == "reading deleted rows and older versions")
      let reading = try #require(readings.first)
      reading.run(isCancelled: { false }) { answer in
        if case .past = answer { source.take(answer) } else { answers.append(answer) }
      }
      switch answers.last {
      case .found(_, let place): #expect(place != nil)
      case .list(.row, _, let title, _): #expect(title?.hasPrefix("Note") == true)
      case .text(.value, let text): #expect(text.title.hasPrefix("Note"))
      default: Issue.record("\(answers)")
      }
    }
  }

  @Test func blobsAreDecodedOrShownAsBytes() throws {
    let folder = try TemporaryFolder()
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["name": "Grandma", "list": [1, 2]], format: .binary, options: 0)
    let url = folder.url.appendingPathComponent("blobs.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB)")
    try connection.insert("INSERT INTO t VALUES(1, ?)", [[.blob([UInt8](list))]])
    connection.close()
    let browse = try Self.browse(url.path)
    browse.press(.enter, .enter)
    try choose("b", browse)
    var lines = browse.model.screen().lines
    #expect(lines[1] == "property list, \(list.count) bytes:")
    #expect(lines.contains("  name: \"Grandma\"") && lines.contains("    - 2"))
    browse.press(.text("x"))
    lines = browse.model.screen().lines
    #expect(
      lines[1].hasPrefix("0000000000  62 70 6c 69 73 74 30 30") && lines[1].contains("|bplist00"))
    browse.press(.text("x"))
    #expect(browse.model.screen().lines[1].hasPrefix("property list"))
  }

  @Test func aLongTextScrolls() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("long.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, note TEXT);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 5000)
        INSERT INTO t SELECT 1, group_concat('line ' || k, char(10)) FROM n;
      """)
    connection.close()
    let browse = try Self.browse(url.path)
    browse.press(.enter, .enter)
    try choose("note", browse)
    #expect(browse.model.screen().lines[1] == "line 1")
    browse.press(.pageDown)
    #expect(browse.model.screen().lines[1] == "line 22")
    browse.press(.end)
    #expect(browse.model.screen().lines[21] == "line 5000")
    browse.press(.text("/"))
    type("line 77", browse)
    #expect(browse.model.screen().lines[1] == "line 77")
  }

  @Test func findingsLeadToTheirPages() throws {
    let folder = try TemporaryFolder()
    let path = try Self.numbered(folder, 3000)
    let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
    try overwrite(
      URL(fileURLWithPath: path), at: size - 4096, bytes: [UInt8](repeating: 0x41, count: 64))
    let browse = try Self.browse(path)
    browse.press(.text("F"))
    var lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Findings") && lines[1].hasPrefix("> damage"))
    #expect(lines[22].contains("of damage"))
    browse.press(.enter)
    lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("page ") && lines.contains { $0.hasPrefix("Kind") })
    browse.press(.escape, .escape, .text("P"))
    lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Pages") && line(lines, "> sqlite_schema") != nil)
    #expect(lines.contains { $0.contains("a page that is not readable") } || lines.count == 24)
    try choose("page 1", browse)
    #expect(browse.model.screen().lines[0].hasPrefix("page 1"))
  }

  // MARK: - Hostile and odd stores

  @Test func nothingOfAStoreIsObeyed() throws {
    let hostile = "a\u{1B}[2Jb\u{9B}31mc\u{202E}d\u{7}e\u{85}"
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("hostile.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE \"t\u{1B}[31m\"(id INTEGER PRIMARY KEY, \"c\u{202E}\" TEXT)")
    try connection.insert("INSERT INTO \"t\u{1B}[31m\" VALUES(1, ?)", [[.string(hostile)]])
    connection.close()
    let browse = try Self.browse(url.path)
    func check() {
      let screen = browse.model.screen()
      let blank = Screen(rows: 24, columns: 80)
      for text in screen.lines + [screen.update(from: blank, isColored: true)] {
        let own = text.replacingOccurrences(of: "\u{1B}[", with: "")
        #expect(
          !own.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F...0x9F).contains($0.value)
              || (0x2028...0x202E).contains($0.value)
          }, "\(text.debugDescription)")
      }
      #expect(!screen.lines.joined().contains("\u{1B}"))
    }
    check()
    browse.press(.enter)
    check()
    #expect(browse.model.screen().lines[2].contains("a\\u{1B}[2Jb\\u{9B}31m"))
    browse.press(.enter)
    check()
    browse.press(.down)
    browse.press(.enter)
    check()
    browse.press(.escape, .escape, .text("/"))
    type(hostile, browse)
    check()
  }

  @Test(arguments: [(24, 80), (10, 40), (6, 30), (3, 12), (1, 1), (60, 200)])
  func everySizeIsDrawn(_ rows: Int, _ columns: Int) throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(Self.notes(folder), rows: rows, columns: columns)
    func check() {
      let lines = browse.model.screen().lines
      #expect(lines.count == rows)
      #expect(lines.allSatisfy { DisplayWidth.columns(of: $0) <= columns })
    }
    for key in [
      Key.down, .enter, .pageDown, .end, .right, .right, .enter, .down, .enter, .escape, .escape,
      .text("?"), .escape, .text("/"), .escape, .text("s"), .escape, .text("d"), .text("P"),
    ] {
      browse.press(key)
      check()
    }
    browse.model.resize(rows: 24, columns: 80)
    browse.settle()
    #expect(browse.model.screen().lines.count == 24)
  }

  @Test func anEmptyTableAndOneWithoutRowIDs() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("odd.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE empty(a);
      CREATE TABLE keyed(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 5200)
        INSERT INTO keyed SELECT printf('%05d', k), k FROM n;
      """)
    connection.close()
    let browse = try Self.browse(url.path)
    browse.press(.enter)
    #expect(browse.model.screen().lines[22].hasPrefix("no rows"))
    browse.press(.enter, .end, .text("n"), .escape, .down, .enter)
    #expect(
      browse.model.screen().lines[22].hasPrefix(
        "this table has no row ids, so only its first 5,000"))
    browse.press(.end, .enter)
    #expect(browse.model.screen().lines.contains { $0.contains("05000") })
  }

  @Test func aDanglingRelationshipIsSaid() throws {
    let folder = try TemporaryFolder()
    let browse = try Self.browse(
      Self.notes(folder, "UPDATE ZNOTE SET ZFOLDER = 77 WHERE Z_PK = 1"))
    browse.press(.down, .enter, .enter)
    try choose("folder", browse)
    let lines = browse.model.screen().lines
    #expect(lines[0].hasPrefix("Note 1"))
    #expect(lines[22].hasPrefix("there is no live row with the key 77 here"))
  }

  // MARK: - Against SQLite

  /// Rows by place, at any place, of a table with long values: the same as SQLite's.
  @Test func windowsHaveTheRowsThatSQLiteHas() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("rows.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512;
      CREATE TABLE t(id INTEGER PRIMARY KEY, note TEXT);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 4000)
        INSERT INTO t SELECT k * 7 - 9000, substr(hex(zeroblob(2000)), 1, k % 900) || k FROM n;
      DELETE FROM t WHERE id % 5 = 0;
      """)
    let truth = try connection.rows("SELECT id, length(note) FROM t ORDER BY id")
    connection.close()
    let browse = try Self.browse(url.path)
    browse.press(.enter)
    var random = SplitMix64(seed: 21)
    for _ in 0..<60 {
      let place = Int.random(in: 0..<truth.count, using: &random)
      guard case .integer(let key) = truth[place][0] else { throw FixtureError("no key") }
      browse.press(.text(":"))
      type(String(key), browse)
      let lines = browse.model.screen().lines
      #expect(lines.contains { $0.hasPrefix("> ") && $0.contains(" \(key)  ") }, "\(key)")
      #expect(
        lines[22].hasSuffix("row \(Quantity.count(place + 1)) of \(Quantity.count(truth.count))"))
    }
  }

  @Test(.enabled(if: Shared.isThere)) func realStoresAreBrowsed() throws {
    guard Shared.require("real stores in the browser") != nil else { return }
    for store in Rounds.part(of: RealStores.all, every: 3) {
      let browse = try Self.browse(store.url.path)
      guard case .list(let list) = browse.model.view else { throw FixtureError("no list") }
      let entities = try StoreInspection(path: store.url.path).entities
      for entity in entities {
        let count = entity.rowCount
        let item = list.items.first { $0.label == entity.name && !$0.text.contains("table") }
        // A parent counts its descendants' rows, too.
        if item?.text.hasSuffix(", including rows of descendants") == true { continue }
        #expect(
          item?.text == "\(Quantity.count(count)) \(count == 1 ? "row" : "rows")",
          "\(store): \(entity.name)")
      }
      browse.press(.enter, .end, .enter, .down, .enter, .escape, .escape, .text("d"))
      #expect(browse.model.screen().lines.allSatisfy { DisplayWidth.columns(of: $0) <= 80 })
    }
  }
}
