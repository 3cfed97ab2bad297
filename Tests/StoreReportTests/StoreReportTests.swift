import Fixtures
import Foundation
import SQLiteFile
import StoreExtraction
import Testing

@testable import StoreReport

/// Pages about stores, as text and in a browser.
@Suite struct StoreReportTests {
  private static let made = Date(timeIntervalSince1970: 1_795_000_000)

  private static func html(of url: URL) throws -> String {
    try StoreReport(storeAt: url.path, made: made).html()
  }

  private static func expectSealed(_ html: String) throws {
    #expect(SealedPage.faults(in: html) == [])
  }

  @Test(arguments: [
    "core-data-shape", "odd-names", "wal-several-commits", "journal-hot", "without-rowid",
  ])
  func aPageOfEveryKindOfStore(_ name: String) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let before = treeState(of: folder.url)
    let html = try Self.html(of: url)
    try Self.expectSealed(html)
    #expect(html.contains("No damage found"))
    #expect(treeState(of: folder.url) == before)
    // The same store gives the same page.
    #expect(try Self.html(of: url) == html)
  }

  @Test func oneCommitIsNotSeveral() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("one.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(a); PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
      INSERT INTO t VALUES (1);
      """)
    defer { connection.close() }
    #expect(try Self.html(of: url).contains("1 commit in 1 frame"))
    try connection.exec("INSERT INTO t VALUES (2)")
    #expect(try Self.html(of: url).contains("2 commits in 2 frames"))
  }

  @Test func aDamagedStoreIsSaidToBe() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("page-1024").make(folder.url)
    var content = try bytes(of: url)
    for place in stride(from: 3_000, to: content.count, by: 997) { content[place] ^= 0xff }
    try Data(content).write(to: url)
    let html = try Self.html(of: url)
    try Self.expectSealed(html)
    #expect(html.contains("class=\"verdict bad\""))
    #expect(html.contains("lifeboat recover") && !html.contains("lifeboat salvage"))
    #expect(html.contains("class=\"mark\""))
  }

  /// A header that lies about the number of pages.
  @Test func aLyingPageCountIsNoTrap() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("core-data-shape").make(folder.url)
    for count: [UInt8] in [
      [0xff, 0xff, 0xff, 0xfe], [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 0], [0, 0, 0, 1],
    ] {
      var content = try bytes(of: url)
      content.replaceSubrange(28..<32, with: count)
      let lie = folder.url.appendingPathComponent("lie.sqlite")
      try Data(content.prefix(4096)).write(to: lie)
      try Self.expectSealed(try Self.html(of: lie))
    }
  }

  /// Bars begin with a month of the calendar, and the first and last date are those of the store.
  @Test func monthsAreThoseOfTheCalendar() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("dates.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATED TIMESTAMP);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 1);
      INSERT INTO ZNOTE SELECT value, 1, 1, strftime('%s', d) - 978307200 FROM
        (SELECT 1 AS value, '2024-01-01' AS d UNION SELECT 2, '2024-02-29' UNION SELECT 3, '2024-03-01' UNION SELECT 4, '2025-12-03');
      """)
    connection.close()
    let html = try Self.html(of: url)
    #expect(html.contains("From 2024-01-01 to 2025-12-03; a bar for each month."))
    for month in ["2024-01", "2024-02", "2024-03", "2025-12"] {
      #expect(html.contains("<th scope=\"row\">\(month)-01T00:00:00Z</th>"), "\(month)")
    }
  }

  /// A page for a store that other programs do not take for a database at all.
  @Test func aStoreWithoutItsHeaderHasAPage() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("core-data-shape").make(folder.url)
    try overwrite(url, at: 0, bytes: [UInt8](repeating: 0, count: 100))
    let html = try Self.html(of: url)
    try Self.expectSealed(html)
    #expect(html.contains("class=\"verdict bad\"") && !html.contains("lifeboat recover"))
    // The store carries no model, so the app's model has to be given.
    #expect(html.contains("lifeboat salvage ") && html.contains(" --model MODEL -o NEW.sqlite"))
    #expect(html.contains("Rows that can be read in spite of the damage"))
  }

  /// The present rows are those of the files that the page is about. An older version that has lost its number is not
  /// said to be a row that is gone.
  @Test func olderVersionsBesideThePresentRows() throws {
    let work = try TemporaryFolder()
    let place = try TemporaryFolder()
    let made = try StoreFixtures.named("core-data-shape").make(work.url)
    let connection = try SQLiteConnection(made)
    try connection.exec(
      """
      PRAGMA secure_delete = OFF; DELETE FROM ZNOTE; VACUUM;
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 60)
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE)
        SELECT i, 1, 1, 'old title ' || i || hex(zeroblob(200)) FROM c;
      DELETE FROM ZNOTE WHERE Z_PK >= 30;
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (50, 1, 1, 'from the log');
      """)
    let url = place.url.appendingPathComponent("a.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: made.path + suffix, toPath: url.path + suffix)
    }
    connection.close()
    func page(_ logView: SQLiteDatabase.LogView) throws -> String {
      try StoreReport(storeAt: url.path, logView: logView, values: .all, made: Self.made).html()
    }
    let html = try page(.committed)
    #expect(html.contains("<tr class=\"changed\"><th scope=\"row\">Note 50</th>"))
    #expect(html.contains("<td>from the log</td>"))
    let main = try page(.ignore)
    #expect(main.contains("<tr class=\"deleted\"><th scope=\"row\">Note 50</th>"))
    #expect(!main.contains("from the log"))
    for html in [html, main] {
      #expect(!html.contains(">Note 0<"))
      #expect(html.contains("<tr class=\"unknown\"><th scope=\"row\">Note ?</th>"))
      #expect(html.contains("<td>not known: the row id is lost</td>"))
    }
  }

  /// What a bundle records may be any number, may be too much to show, and may not be readable.
  @Test func aBundleMayRecordAnything() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("core-data-shape").make(folder.url)
    let data = try JSONEncoder().encode(StoreInspection(path: url.path))
    var record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    record["members"] = ["a", "b", "c", "d/e", "d/f"].map {
      ["name": $0, "role": "main", "sizeBytes": Int64.max] as [String: Any]
    }
    record["plainTables"] = (0..<2_100).map { ["name": "t\($0)", "rowCount": 1] as [String: Any] }
    record["damageCount"] = 30_000
    record["findings"] = [
      ["id": "page.badType", "severity": "damage", "message": "x", "member": "main"]
    ]
    var metadata = try #require(record["metadata"] as? [String: Any])
    metadata["versionHashes"] = Dictionary(
      uniqueKeysWithValues: (0..<2_100).map { ("E\($0)", "00") })
    record["metadata"] = metadata
    func write(_ bytes: Data, _ name: String) throws {
      try bytes.write(to: folder.url.appendingPathComponent(name))
    }
    let changed = try JSONSerialization.data(withJSONObject: record)
    try write(changed, "inspection.json")
    try write(Data("{}".utf8), "incident.json")
    let html = try StoreReport(bundleIn: folder.url.path, made: Self.made).html()
    try Self.expectSealed(html)
    #expect(html.contains("18.4 EB in 5 files"))
    #expect(html.contains("2,000 of 2,101 are shown."))
    #expect(html.contains("2,000 of 2,100 are shown."))
    #expect(html.contains("1 of 30,000 are shown."))
    #expect(html.contains("<code>incident.json</code> of the bundle cannot be read"))
    let inspection = try JSONDecoder().decode(StoreInspection.self, from: changed)
    let index = try StoreReport.index(
      of: folder.url.path, [(path: "a", read: .success(inspection))], made: Self.made)
    try Self.expectSealed(index)
  }

  /// Commits of a log and rows without a date have no time.
  @Test func eventsWithoutADateHaveNoTime() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("dates.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATED TIMESTAMP);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 1);
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
      INSERT INTO ZNOTE VALUES (1, 1, 1, 700000000);
      INSERT INTO ZNOTE VALUES (2, 1, 1, NULL);
      """)
    defer { connection.close() }
    let page = try TimelinePage(
      StoreTimeline(path: url.path, includesDates: true), ("dates", "dates"),
      StoreTimeline.Selection(), limit: 10, isOldestFirst: true)
    let html = try page.html()
    try Self.expectSealed(html)
    #expect(html.contains("3 events"))
    #expect(html.contains("The only event date from 1980 to 2080 is 2023-03-08T20:26:40Z."))
  }

  /// Names and texts from a store are text, and what would be hidden is seen.
  @Test func textFromAStoreIsNoMarkup() throws {
    let folder = try TemporaryFolder()
    let evil = "<script>alert(1)</script>{{title}}{{{policy}}}\u{202e}\"'&"
    let url = folder.url.appendingPathComponent("evil<b>.sqlite")
    let connection = try SQLiteConnection(url)
    let name = evil.replacingOccurrences(of: "\"", with: "\"\"")
    try connection.exec(
      "CREATE TABLE \"\(name)\"(a); INSERT INTO \"\(name)\" VALUES('zq row'); PRAGMA user_version = 7"
    )
    connection.close()
    let html = try Self.html(of: url)
    try Self.expectSealed(html)
    #expect(!html.contains("<script>alert"))
    #expect(!html.contains("<b>"))
    #expect(
      html.contains("&lt;script&gt;alert(1)&lt;/script&gt;{{title}}{{{policy}}}\\u{202E}&quot;"))
    // Rows are counted, and not shown.
    #expect(!html.contains("zq row"))
  }

  @Test func aFolderIsAList() throws {
    let folder = try TemporaryFolder()
    let good = try StoreFixtures.named("core-data-shape").make(folder.url)
    let html = try StoreReport.index(
      of: folder.url.path,
      [
        (path: "a<b>.sqlite", read: Result { try StoreInspection(path: good.path) }),
        (path: "gone.sqlite", read: Result { try StoreInspection(path: good.path + "x") }),
      ], made: Self.made)
    try Self.expectSealed(html)
    #expect(html.contains("a&lt;b&gt;.sqlite"))
    #expect(html.contains("not read"))
  }

  @Test(.enabled(if: Shared.isThere)) func realStoresHaveAPage() throws {
    guard Shared.require("pages of real stores") != nil else { return }
    for real in Rounds.part(of: RealStores.all.prefix(20), every: 3) {
      let html = try Self.html(of: real.url)
      try Self.expectSealed(html)
    }
  }

  // MARK: - In a browser

  private static let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The script runs under the policy, and nothing is logged.
  @Test func aBrowserTakesIt() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("core-data-shape").make(folder.url)
    guard let opened = try SealedPage.opened(Self.html(of: url)) else {
      return print("skipped: a browser takes the page: no chromium")
    }
    #expect(opened.dom.contains("<button type=\"button\">"), "the script has not run")
    #expect(opened.complaints == "")
  }

  /// Sorting and searching, by clicks of a script in a copy of the page without its policy.
  @Test func tablesSortAndFilterInABrowser() throws {
    guard let browser = Self.browser else {
      return print("skipped: a browser sorts and filters a table: no chromium")
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("rows.sqlite")
    let connection = try SQLiteConnection(url)
    for (name, count) in [("bravo", 20), ("alfa", 3), ("charlie", 100)] {
      try connection.exec(
        """
        CREATE TABLE \(name)(a);
        WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < \(count))
          INSERT INTO \(name) SELECT k FROM n;
        """)
    }
    connection.close()
    var html = try Self.html(of: url)
    let policy = try #require(
      html.range(of: "<meta http-equiv=[^>]*>", options: .regularExpression))
    html.removeSubrange(policy)
    html += """
      <script>
      const table = document.querySelector("#rows").parentElement.querySelector("table");
      const names = () => [...table.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[0].textContent).join(" ");
      const told = [];
      const [name, count] = table.tHead.querySelectorAll("button");
      name.click(); told.push(names()); count.click(); told.push(names()); count.click(); told.push(names());
      const search = document.querySelectorAll(".filter input")[0];
      if (search) { search.value = "ALF"; search.dispatchEvent(new Event("input")); told.push(names()); }
      document.title = told.join("; ");
      </script>
      """
    let page = folder.url.appendingPathComponent("page.html")
    try Data(html.utf8).write(to: page)
    let result = try run(
      browser,
      [
        "--headless", "--no-sandbox", "--disable-gpu",
        "--user-data-dir=\(folder.url.path)/profile", "--dump-dom", page.absoluteString,
      ])
    let dom = String(decoding: result.stdout, as: UTF8.self)
    let title = dom.firstMatch(of: /<title>([^<]*)<\/title>/)?.output.1
    #expect(
      title?.hasPrefix("alfa bravo charlie; alfa bravo charlie; charlie bravo alfa") == true,
      "\(title ?? "no title")")
    #expect(
      title == nil
        || title?.contains("; ") == true
          && (title?.split(separator: ";").count != 4 || title?.hasSuffix("; alfa") == true)
    )
  }
}
