import Fixtures
import Foundation
import Testing

/// Pages for a browser and pictures of `pages`, `timeline`, `model show` and `model plan`. Their numbers are those of the
/// JSON that the same command writes.
@Suite struct PicturePagesTests {
  private static func page(_ arguments: [String], status: Int32 = 0) throws -> String {
    let outcome = try Program.run(arguments + ["--format", "html"])
    #expect(outcome.status == status, "\(arguments): \(outcome.errors)")
    #expect(SealedPage.faults(in: outcome.text) == [], "\(arguments)")
    return outcome.text
  }

  /// The cells of the lines of the first table of a section, as they are read.
  private static func lines(_ html: String, _ id: String) -> [[String]] {
    guard let section = SealedPage.section(html, id),
      let body = section.components(separatedBy: "<tbody>").dropFirst().first?
        .components(separatedBy: "</tbody>").first
    else { return [] }
    return body.components(separatedBy: "<tr").dropFirst().map { line in
      line.matches(of: #/<t[hd][^>]*>(.*?)</t[hd]>/#).map { cell in
        String(cell.1).replacing(#/<[^>]*>/#, with: "")
      }
    }
  }

  private static func number(_ text: String?) -> Int64? {
    text.flatMap { Int64($0.filter { $0 != "," }) }
  }

  // MARK: - Pages

  private static func expectPages(of store: String) throws {
    let html = try page(["pages", store])
    let report = try Program.run("pages", "--json", store).json()
    let kinds = Dictionary(
      uniqueKeysWithValues: lines(html, "pages").map { ($0[0], number($0[1]) ?? -1) })
    #expect(kinds == report["kinds"]?.object?.compactMapValues(\.integer), "\(store)")
    let owners = report["owners"]?.array ?? []
    let trees = lines(html, "trees")
    #expect(trees.count == min(500, owners.count))
    let numbers = owners.map { owner in
      ["rootPage", "treePages", "overflowPages", "cells", "freeBytes"].map {
        owner[$0]?.integer ?? -1
      }
    }
    #expect(
      Set(trees.map { $0.dropFirst(2).prefix(5).map { number($0) ?? -1 } }).isSubset(
        of: Set(numbers)))
    let runs = report["runs"]?.array ?? []
    #expect(
      lines(html, "runs").map { [number($0[0]), number($0[2])] }
        == runs.prefix(500).map { [$0["firstPage"]?.integer, $0["pageCount"]?.integer] })
    // What a check says.
    let check = try Program.run("check", "--json", "--exit-zero", store).json()
    let findings = lines(html, "findings")
    let count = check["findingCount"]?.integer ?? -1
    #expect(findings.count == min(500, Int(count)), "\(store)")
    let damage = check["damageCount"]?.integer ?? -1
    #expect(html.contains("verdict bad") == (damage > 0))
    let damaged = Set(
      (check["findings"]?.array ?? []).filter { $0["severity"]?.string == "damage" }
        .compactMap { $0["page"]?.integer })
    #expect((damaged.isEmpty || count > 500) || html.contains("class=\"mark\""), "\(store)")
    // Squares stand for all pages, each once.
    let squares = html.matches(of: #/<title>pages? ([0-9]+)(?: to ([0-9]+))?: /#)
    let total = report["pageCount"]?.integer ?? 0
    let perCell = squares.first.map { match in
      match.2.flatMap { Int64($0) }.map { $0 - (Int64(match.1) ?? 0) + 1 } ?? 1
    }
    if let perCell { #expect(Int64(squares.count) == (total + perCell - 1) / perCell) }
    let svg = try Program.run("pages", "--format", "svg", store)
    #expect(svg.status == 0 && SealedPage.faults(inSVG: svg.text) == [], "\(store)")
    #expect(svg.text.contains("class=\"mark\"") == html.contains("class=\"mark\""))
  }

  @Test(arguments: ["core-data-shape", "odd-names", "without-rowid", "wal-several-commits"])
  func pagesOfEveryKindOfStore(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let before = treeState(of: folder.url)
    try Self.expectPages(of: store.path)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func pagesOfADamagedStoreHaveMarks() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-1024").make(folder.url)
    var content = try bytes(of: store)
    for place in stride(from: 3_000, to: content.count, by: 997) { content[place] ^= 0xff }
    try Data(content).write(to: store)
    try Self.expectPages(of: store.path)
    #expect(try Self.page(["pages", store.path]).contains("class=\"mark\""))
  }

  @Test(.enabled(if: Shared.isThere)) func pagesOfRealStores() throws {
    guard Shared.require("pages of real stores for a browser") != nil else { return }
    for real in Rounds.part(of: RealStores.all.prefix(8), every: 3) {
      try Self.expectPages(of: real.url.path)
    }
  }

  // MARK: - Timeline

  private static func expectTimeline(of store: String, _ options: [String]) throws {
    let html = try page(["timeline", "--exit-zero", store] + options)
    let events = try Program.run(["timeline", "--json", "--exit-zero", store] + options).lines()
    func count(_ change: String) -> Int64 {
      Int64(events.count { $0["change"]?.string == change })
    }
    let words = ["inserted": "insert", "updated": "update", "deleted": "delete"]
    for (word, change) in words {
      #expect(number(SealedPage.fact(html, "Rows \(word)")) == count(change), "\(store): \(word)")
    }
    let dates = Int64(events.count { $0["event"]?.string == "date" })
    #expect(number(SealedPage.fact(html, "Dates in rows")) ?? 0 == dates)
    let commits = Int64(events.count { $0["event"]?.string == "commit" })
    let told = SealedPage.fact(html, "Commits of the log")?.split(separator: ";").first
    #expect(number(told.map(String.init)) ?? 0 == commits)
    #expect(lines(html, "events").count == min(200, events.count))
    // The bars hold every event with a usual date.
    let heads = SealedPage.section(html, "times")?
      .matches(of: #/<th scope="col" class="number">([^<]*)</#).map { String($0.1) }
    for (column, head) in (heads ?? []).enumerated() {
      guard let change = words[head] else { continue }
      let sum = lines(html, "times").reduce(0) { $0 + (number($1[column + 1]) ?? 0) }
      let dated = events.filter { event in
        let year = event["time"]?.string?.prefix(4) ?? "0000"
        return event["change"]?.string == change && year >= "1980" && year <= "2078"
      }
      #expect(sum == Int64(dated.count), "\(store): \(head)")
    }
    let byEntity = lines(html, "entities").reduce(0) { sum, line in
      sum + line.dropFirst().reduce(0) { $0 + (number($1) ?? 0) }
    }
    #expect(byEntity == Int64(events.count { $0["event"]?.string == "change" }), "\(store)")
  }

  /// A store with a history of two kinds of entities, one with an evil name.
  private static func history(in folder: URL) throws -> String {
    let url = folder.appendingPathComponent("history.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 9), (2, '<script>"''\u{202E}{{title}}', 0, 9),
        (16001, 'CHANGE', 0, 9), (16002, 'TRANSACTION', 0, 9);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
      INSERT INTO ZNOTE VALUES(1, 1, 1, 'zq secret');
      CREATE TABLE ACHANGE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
        ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB);
      CREATE TABLE ATRANSACTION(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT,
        ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 300)
        INSERT INTO ATRANSACTION SELECT k, 16002, NULL, 800000000 + k * 120000, '</td>', NULL, NULL, 'p' FROM n;
      UPDATE ATRANSACTION SET ZTIMESTAMP = 1e300 WHERE Z_PK = 5;
      UPDATE ATRANSACTION SET ZTIMESTAMP = NULL WHERE Z_PK = 6;
      INSERT INTO ACHANGE SELECT Z_PK, 16001, NULL, Z_PK % 4 % 3, 1 + Z_PK % 2, Z_PK, Z_PK, NULL, NULL FROM ATRANSACTION
        WHERE Z_PK <> 7;
      """)
    connection.close()
    return url.path
  }

  @Test func aTimelineIsThatOfTheHistory() throws {
    let folder = try TemporaryFolder()
    let store = try Self.history(in: folder.url)
    let before = treeState(of: folder.url)
    for options in [[], ["--dates"], ["--oldest"], ["--entity", "Note"], ["--since", "2026-06"]] {
      try Self.expectTimeline(of: store, options)
    }
    let html = try Self.page(["timeline", store, "--exit-zero"])
    #expect(html.contains("&lt;script&gt;&quot;") && html.contains("\\u{202E}{{title}}"))
    #expect(html.contains("200 of 300 events are shown") && !html.contains("zq secret"))
    let times = Self.lines(html, "events").map { $0[0] }.filter { $0 != "" }
    #expect(times == times.sorted(by: >))
    let oldest = try Self.page(["timeline", store, "--oldest", "--limit", "5", "--exit-zero"])
    #expect(Self.lines(oldest, "events").count == 5)
    let all = try Self.page(["timeline", store, "--limit", "1000000", "--exit-zero"])
    #expect(Self.lines(all, "events").count == 300)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func aTimelineOfCommitsAlone() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    try Self.expectTimeline(of: store.path, [])
    let html = try Self.page(["timeline", store.path])
    let events = try Program.run("timeline", "--json", store.path).lines()
    let sums = ["added", "changed", "removed"].map { name in
      events.reduce(0) { sum, event in
        sum + (event["tables"]?.array ?? []).reduce(0) { $0 + ($1[name]?.integer ?? 0) }
      }
    }
    let bars = Self.lines(html, "commits")
    let told = (1...3).map { column in
      bars.reduce(0) { $0 + (Self.number($1[column]) ?? 0) }
    }
    #expect(told == sums && sums.reduce(0, +) > 0)
    let none = try StoreFixtures.named("page-512").make(folder.url)
    #expect(try Self.page(["timeline", none.path]).contains("No events"))
  }

  /// More commits than there is room for bars.
  @Test func manyCommitsAreGrouped() throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("work.sqlite")
    let connection = try SQLiteConnection(work)
    try connection.exec(
      "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(a)")
    for number in 1...130 {
      try connection.exec("INSERT INTO t VALUES(\(number))")
      if number % 10 == 0 { try connection.exec("DELETE FROM t WHERE a = \(number - 3)") }
    }
    let store = folder.url.appendingPathComponent("s.sqlite").path
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: work.path + suffix, toPath: store + suffix)
    }
    connection.close()
    try Self.expectTimeline(of: store, [])
    let bars = Self.lines(try Self.page(["timeline", store]), "commits")
    #expect(bars.count <= 60)
    let sums = (1...3).map { column in bars.reduce(0) { $0 + (Self.number($1[column]) ?? 0) } }
    #expect(sums == [130, 0, 13])
  }

  @Test(.enabled(if: Shared.isThere)) func timelinesOfRealStores() throws {
    guard Shared.require("timelines of real stores for a browser") != nil else { return }
    // Each with one of the options; in long rounds, with both.
    for (turn, name) in [
      "sergd2005-ResourcesManager/default.store",
      "log2timeline-plaso/test_data/macos/knowledgec-10.13.db",
    ].enumerated() {
      let store = try RealStores.named(name).url.path
      for options in Rounds.part(of: [[], ["--dates"]], every: 2, from: 1 - turn) {
        try Self.expectTimeline(of: store, options)
      }
    }
  }

  // MARK: - Models

  private static func expectModel(_ path: String, _ options: [String] = []) throws {
    let html = try page(["model", "show", path] + options)
    let report = try Program.run(["model", "show", "--json", path] + options).json()
    let entities = report["entities"]?.array ?? []
    let told = lines(html, "entities")
    #expect(told.count == min(500, entities.count), "\(path)")
    for (line, entity) in zip(told, entities) {
      #expect(Self.number(line[1]) == entity["attributes"]?.array.map { Int64($0.count) })
      #expect(Self.number(line[2]) == entity["relationships"]?.array.map { Int64($0.count) })
    }
    for form in ["svg", "dot", "mermaid"] {
      let outcome = try Program.run(["model", "show", path, "--format", form] + options)
      #expect(outcome.status == 0, "\(path): \(outcome.errors)")
      switch form {
      case "svg":
        #expect(SealedPage.faults(inSVG: outcome.text) == [], "\(path)")
        #expect(outcome.text.matches(of: #/<g class="box /#).count >= min(300, entities.count))
      case "dot": #expect(outcome.text.hasPrefix("digraph model {\n"))
      default: #expect(outcome.text.hasPrefix("classDiagram\n"))
      }
    }
  }

  @Test func aModelOfAStore() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    try Self.expectModel(demo.kept.path)
    try Self.expectModel(demo.kept.path, ["--entity", "Note"])
    let html = try Self.page(["model", "show", demo.kept.path])
    let report = try Program.run("model", "show", "--json", demo.kept.path).json()
    for entity in report["entities"]?.array ?? [] {
      for list in ["attributes", "relationships"] {
        for property in entity[list]?.array ?? [] {
          let name = try #require(property["name"]?.string)
          #expect(html.contains("<th scope=\"row\">\(name)</th>"), "\(name)")
        }
      }
    }
    #expect(treeState(of: demo.folder) == before)
  }

  /// The second is the largest, and is read in long rounds.
  @Test(.enabled(if: Shared.isThere)) func realModels() throws {
    guard let shared = Shared.require("pages of real models") else { return }
    let models = [
      ("OpenEmu-OpenEmu/OpenEmu/OEDatabase.xcdatamodeld", []),
      ("woocommerce-woocommerce-ios/Storage/Storage/Model/WooCommerce.xcdatamodeld", []),
      (
        "wireapp-wire-ios-data-model/models/zmessaging.xcdatamodeld",
        ["--model-version", "zmessaging1.28"]
      ),
    ]
    for (name, options) in Rounds.part(of: models, every: 2) {
      try Self.expectModel(shared.appendingPathComponent("stores/real/" + name).path, options)
    }
    let mapping =
      "stores/real/wibosco-CoreDataMigrationRevised-Example/CoreDataMigration-Example/CoreData/Migration/Mappings/Migration2to3ModelMapping.xcmappingmodel"
    let refused = try Program.run(
      "model", "show", "--format", "svg", shared.appendingPathComponent(mapping).path)
    #expect(refused.status == 64 && refused.errorCode == "usage.noPicture")
  }

  // MARK: - Plans

  private static func expectPlan(_ arguments: [String], status: Int32) throws {
    let html = try page(["model", "plan"] + arguments, status: status)
    let report = try Program.run(["model", "plan", "--json"] + arguments).json()
    let steps = report["steps"]?.array ?? []
    #expect(html.matches(of: #/<h3 id="step[0-9]+">/#).count == steps.count)
    #expect(
      html.matches(of: #/<g class="place/#).count
        >= (report["steps"] == nil ? 2 : steps.isEmpty ? 1 : steps.count + 1))
    let losses = steps.reduce(0) { $0 + ($1["losses"]?.array?.count ?? 0) }
    let list = SealedPage.section(html, "steps") ?? ""
    let told = list.matches(of: #/leaves behind ([0-9,]+):</#).reduce(0) {
      $0 + (number(String($1.1)) ?? 0)
    }
    #expect(told == Int64(losses))
    let refusals = report["obstacle"]?["refusals"]?.array?.compactMap(\.string) ?? []
    if let obstacle = SealedPage.section(html, "obstacle") {
      let bare = obstacle.replacing(#/<[^>]*>/#, with: "")
      for refusal in refusals {
        let plain = refusal.filter { $0 != "`" }.replacingOccurrences(of: "'", with: "&#39;")
        #expect(bare.contains(plain), "\(refusal)")
      }
    } else {
      #expect(refusals.isEmpty)
    }
    #expect(lines(html, "mappings").count == report["mappings"]?.array?.count)
  }

  @Test(.enabled(if: Shared.isThere)) func plansOfRealStores() throws {
    guard let shared = Shared.require("plans for a browser"),
      let moody = try Moody("a plan of Moody for a browser")
    else { return }
    let real = shared.appendingPathComponent("stores/real")
    let wibosco = real.appendingPathComponent("wibosco-CoreDataMigrationRevised-Example").path
    let store =
      wibosco + "/CoreDataMigration-ExampleTests/Resources/SQLite/CoreDataMigration_Example_"
    let models = wibosco + "/CoreDataMigration-Example/CoreData"
    try Self.expectPlan([store + "1.sqlite", models], status: 0)
    try Self.expectPlan([store + "3.sqlite", models], status: 0)
    try Self.expectPlan(
      [store + "2.sqlite", models, "--to", "CoreDataMigration_Example 2"], status: 0)
    try Self.expectPlan([moody.store.path, models], status: 1)
    try Self.expectPlan(
      [
        moody.store.path,
        moody.original.deletingLastPathComponent().deletingLastPathComponent().path,
      ],
      status: 0)
    let found = shared.appendingPathComponent("stores/found/models/destination-changed")
    guard FileManager.default.fileExists(atPath: found.path) else { return }
    try Self.expectPlan(
      [
        found.appendingPathComponent("ArtsyPartner_1.3.sqlite").path,
        found.appendingPathComponent("ArtsyPartner.xcdatamodeld").path,
      ], status: 0)
  }

  @Test func aPlanOfAStoreThatOpens() throws {
    let demo = try Demonstration.shared.get()
    try Self.expectPlan([demo.kept.path, demo.kept.path], status: 0)
  }

  // MARK: - Files

  private static let makers: [[String]] = [
    ["pages", "STORE", "--format", "html"], ["pages", "STORE", "--format", "svg"],
    ["timeline", "STORE", "--dates", "--format", "html"],
    ["model", "show", "STORE", "--format", "html"], ["model", "show", "STORE", "--format", "svg"],
    ["model", "show", "STORE", "--format", "dot"],
    ["model", "show", "STORE", "--format", "mermaid"],
    ["model", "plan", "STORE", "MODELS", "--format", "html"],
  ]

  /// The same store gives the same bytes, to a file and to standard output; a file is never replaced.
  @Test func filesAreNewAndTheSame() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let place = try TemporaryFolder()
    for (number, maker) in Self.makers.enumerated() {
      let command = maker.map { $0 == "STORE" || $0 == "MODELS" ? demo.kept.path : $0 }
      let shown = try Program.run(command)
      #expect(shown.status == 0, "\(command): \(shown.errors)")
      #expect(try Program.run(command).stdout == shown.stdout)
      let file = place.url.appendingPathComponent("\(number)")
      let written = try Program.run(command + ["-o", file.path])
      #expect(written.status == 0 && written.text.hasPrefix("written to "), "\(written.errors)")
      #expect(try Data(contentsOf: file) == shown.stdout, "\(command)")
      let again = try Program.run(command + ["-o", file.path])
      #expect(again.status == 73 && again.errorCode == "bundle.outputExists", "\(again.errors)")
      #expect(try Data(contentsOf: file) == shown.stdout)
      // Nothing becomes part of the evidence.
      for output in [demo.kept.path + "-journal", demo.incident.path + "/store/page"] {
        let refused = try Program.run(command + ["-o", output])
        #expect(refused.status == 73, "\(command) \(output)")
      }
      // A page says of no folder where it was.
      #expect(!shown.text.contains(demo.folder.path), "\(command)")
    }
    #expect(treeState(of: demo.folder) == before)
  }

  @Test func wrongUsageIsSaid() throws {
    let demo = try Demonstration.shared.get()
    let store = demo.kept.path
    for arguments in [
      ["pages", store, "-o", "x"], ["pages", store, "--format", "json", "-o", "x"],
      ["pages", store, "--format", "html", "--json"],
      ["pages", store, "--format", "svg", "--page", "1"],
      ["timeline", store, "-o", "x"], ["timeline", store, "--format", "html", "--json"],
      ["model", "show", store, "-o", "x"], ["model", "show", store, "--format", "dot", "--json"],
      ["model", "plan", store, store, "-o", "x"],
      ["model", "plan", store, store, "--format", "html", "--json"],
      ["pages", store, "--format", "htlm"], ["model", "show", store, "--format", "png"],
    ] {
      let outcome = try Program.run(arguments)
      #expect(outcome.status == 64 && outcome.text == "", "\(arguments)")
    }
    #expect(!FileManager.default.fileExists(atPath: "x"))
  }

  /// A bundle, an archive, a folder and an incident give what their store gives.
  @Test func whateverTheStoreCameIn() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let bundle = place.url.appendingPathComponent("store.zip").path
    let made = try Program.run(
      "bundle", "create", demo.kept.path, "--include", "store", "-o", bundle)
    try #require(made.status == 0, "\(made.errors)")
    let folder = demo.kept.deletingLastPathComponent().path
    for maker in Self.makers where maker[0] != "model" {
      func html(_ input: String) throws -> String {
        let outcome = try Program.run(maker.map { $0 == "STORE" ? input : $0 })
        #expect(outcome.status == 0, "\(maker) \(input): \(outcome.errors)")
        #expect(!outcome.text.contains(#/\/lifeboat-(?!test-)/#))
        return outcome.text
      }
      let truth = try html(demo.kept.path)
      #expect(try html(folder) == truth && html(demo.incident.path) == truth)
      let packed = try html(bundle)
      #expect(packed.contains("Notes.sqlite in store.zip"))
      #expect(
        packed.replacingOccurrences(of: "Notes.sqlite in store.zip", with: "Notes.sqlite") == truth)
    }
    for maker in Self.makers where maker[0] == "model" {
      let outcome = try Program.run(
        maker.map { $0 == "STORE" ? bundle : $0 == "MODELS" ? demo.kept.path : $0 })
      #expect(outcome.status == 0, "\(maker): \(outcome.errors)")
    }
  }

  @Test func aRunIsRecorded() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("log").path
    for (number, maker) in Self.makers.enumerated() where maker[0] != "model" {
      let output = place.url.appendingPathComponent("\(number)")
      let outcome = try Program.run(
        maker.map { $0 == "STORE" ? demo.kept.path : $0 } + [
          "-o", output.path, "--custody-log", log,
        ])
      #expect(outcome.status == 0, "\(outcome.errors)")
      let line = try #require(
        try Data(contentsOf: URL(fileURLWithPath: log)).split(separator: 10).last)
      let record = try JSONDecoder().decode(JSON.self, from: Data(line))
      #expect(record["outputs"]?[output.path]?.string == hex(of: try Data(contentsOf: output)))
    }
    let progress = try Program.run(
      "pages", demo.kept.path, "--format", "svg", "--progress", "json")
    for operation in ["Reading", "Checking"] {
      #expect(progress.errors.contains("\"operation\":\"\(operation)\""), "\(progress.errors)")
    }
  }

  /// Names that are made to do harm are text in every page.
  @Test func hostileNamesAreText() throws {
    let folder = try TemporaryFolder()
    let evil = "</title><script>alert(1)</script>\u{202E}'\"&{{x}}]]>\u{1}"
    let url = folder.url.appendingPathComponent("a<b>'&.sqlite")
    let connection = try SQLiteConnection(url)
    let name = evil.replacingOccurrences(of: "\"", with: "\"\"")
    try connection.exec(
      "CREATE TABLE \"\(name)\"(a); CREATE INDEX \"i\(name)\" ON \"\(name)\"(a); INSERT INTO \"\(name)\" VALUES(1)"
    )
    connection.close()
    try Self.expectPages(of: url.path)
    for html in [
      try Self.page(["pages", url.path]), try Self.page(["timeline", url.path]),
    ] {
      #expect(!html.contains("<script>alert") && !html.contains("a<b>"))
      #expect(html.contains("a&lt;b&gt;&#39;&amp;.sqlite"))
    }
    let svg = try Program.run("pages", "--format", "svg", url.path).text
    #expect(svg.contains("&lt;/title&gt;&lt;script&gt;alert(1)"))
  }

  // MARK: - In a browser

  @Test func aBrowserTakesThem() throws {
    let demo = try Demonstration.shared.get()
    for maker in Self.makers where maker.last == "html" {
      let command = maker.map { $0 == "STORE" || $0 == "MODELS" ? demo.kept.path : $0 }
      guard let opened = try SealedPage.opened(Self.page(Array(command.dropLast(2)))) else {
        return print("skipped: a browser takes the pages: no chromium")
      }
      #expect(opened.complaints == "", "\(command)")
      #expect(
        command.contains("plan") || opened.dom.contains("<button type=\"button\">"), "\(command)")
    }
  }
}
