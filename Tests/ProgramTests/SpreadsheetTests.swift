import CLibrary
import Fixtures
import Foundation
import Testing

/// Workbooks and CSV for Excel, opened by the programs of others.
@Suite struct SpreadsheetTests {
  /// A Python that has openpyxl; nil where no Python has it.
  private static let python: String? = {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/python3" }.first {
      FileManager.default.isExecutableFile(atPath: $0)
        && (try? run($0, ["-c", "import openpyxl"]).status) == 0
    }
  }()

  /// A cell as openpyxl reads it: `n`, `s`, `b`, `d` or `f`, and its value as text. A date is the two moments of UTC, in
  /// seconds since 1970, at which clocks may have shown it.
  private struct Cell: Decodable {
    let kind: String
    let value: String
    let moments: [Double]?
  }

  private typealias Book = [String: [[Cell?]]]

  /// What openpyxl reads in a workbook.
  private static func openpyxl(_ workbook: URL, _ zone: String) throws -> Book? {
    guard let python else {
      print("skipped: a workbook in openpyxl: not installed")
      return nil
    }
    let script = """
      import datetime, json, sys
      from zoneinfo import ZoneInfo
      from openpyxl import load_workbook
      from openpyxl.utils.escape import unescape
      zone = ZoneInfo(sys.argv[2])
      def read(cell):
          value = cell.value
          if value is None and cell.data_type == "n": return None
          if isinstance(value, datetime.datetime):
              moments = [value.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1)]
              return {"kind": "d", "value": value.isoformat(), "moments": moments}
          if isinstance(value, bool): return {"kind": "b", "value": str(int(value))}
          return {"kind": cell.data_type, "value": unescape(value or "") if cell.data_type == "s" else repr(value)}
      book = load_workbook(sys.argv[1])
      json.dump({sheet.title: [[read(cell) for cell in row] for row in sheet.iter_rows()] for sheet in book}, sys.stdout)
      """
    let outcome = try run(python, ["-c", script, workbook.path, zone])
    #expect(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    return try JSONDecoder().decode(Book.self, from: outcome.stdout)
  }

  /// The sheets of a workbook as LibreOffice shows them, by name; `shown` says whether numbers are as in the window.
  private static func libreOffice(_ workbook: URL, shown: Bool) throws -> [String: [[String]]]? {
    guard let office = findTool("soffice"), let python = findTool("python3") else {
      print("skipped: a workbook in LibreOffice: not installed")
      return nil
    }
    let folder = try TemporaryFolder()
    // Commas, quotes, UTF-8; the last number asks for every sheet.
    let filter = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,\(shown),false,false,false,-1"
    let outcome = try run(
      office,
      [
        "-env:UserInstallation=\(folder.url.appendingPathComponent("profile").absoluteString)",
        "--headless", "--convert-to", filter, "--outdir", folder.url.path + "/out", workbook.path,
      ], timeout: 300)
    #expect(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    let script = """
      import csv, json, os, sys
      result = {}
      csv.field_size_limit(10 ** 9)
      for name in os.listdir(sys.argv[1]):
          with open(os.path.join(sys.argv[1], name), encoding="utf-8", newline="") as file:
              result[name] = list(csv.reader(file))
      json.dump(result, sys.stdout)
      """
    let read = try run(python, ["-c", script, folder.url.path + "/out"])
    #expect(read.status == 0, "\(String(decoding: read.stderr, as: UTF8.self))")
    let files = try JSONDecoder().decode([String: [[String]]].self, from: read.stdout)
    let stem = workbook.deletingPathExtension().lastPathComponent + "-"
    return Dictionary(
      files.map { (String($0.key.dropFirst(stem.count).dropLast(4)), $0.value) },
      uniquingKeysWith: { one, _ in one })
  }

  // MARK: - Core Data

  /// A workbook of a store, cell by cell against SQLite's own answer.
  private static func compare(_ store: URL, _ book: Book) throws -> Int {
    let folder = try TemporaryFolder()
    let copy = try SQLiteConnection.copyStore(store, into: folder.url)
    let database = try SQLiteConnection(copy)
    defer { database.close() }
    var entities: [Int64: (name: String, parent: Int64)] = [:]
    for row in try database.rows("SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY") {
      guard case .integer(let number) = row[0], case .text(let name) = row[1],
        case .integer(let parent) = row[2]
      else { continue }
      entities[number] = (String(decoding: name, as: UTF8.self), parent)
    }
    var compared = 0
    for (number, entity) in entities {
      guard let sheet = book[entity.name] else { continue }
      var root = entity
      while let parent = entities[root.parent] { root = parent }
      let table = "Z" + root.name.uppercased()
      let columns = try database.rows(
        "SELECT upper(name), upper(type) FROM pragma_table_info(?)", [.string(table)])
      let types = Dictionary(
        columns.map { ("\($0[0])".split(separator: "'")[0], "\($0[1])") },
        uniquingKeysWith: { one, _ in one })
      let header = sheet[0].map { $0?.value ?? "" }
      #expect(header.first == "_pk")
      for (place, title) in header.enumerated() {
        let column = place == 0 ? "Z_PK" : "Z" + title.uppercased()
        // A many-to-many relationship has a table of its own.
        // Siblings whose properties have one name have columns with a number at their end.
        guard let type = types[column[...]], types[(column + "1")[...]] == nil else { continue }
        let values = try database.rows(
          "SELECT \(SQLiteConnection.quoted(column)) FROM \(table) WHERE Z_ENT = ? ORDER BY Z_PK",
          [.integer(number)])
        #expect(values.count == sheet.count - 1, "\(entity.name)")
        for (value, row) in zip(values, sheet.dropFirst()) {
          compared += 1
          let isDate = type.contains("TIMESTAMP")
          let isSame = Self.isSame(value[0], row[place], isDate: isDate)
          #expect(isSame, "\(entity.name).\(title): \(value[0]), \(String(describing: row[place]))")
        }
      }
    }
    return compared
  }

  private static func isSame(_ value: FixtureValue, _ cell: Cell?, isDate: Bool) -> Bool {
    var number: Double?
    switch value {
    case .null: return cell == nil
    case .integer(let whole):
      if let cell, cell.kind == "b" || cell.kind == "s" { return cell.value == "\(whole)" }
      number = Double(whole)
    case .real(let real): number = real
    default: break
    }
    guard let cell else { return false }
    if let number {
      guard isDate else { return cell.kind == "n" && Double(cell.value) == number }
      // openpyxl rounds to milliseconds, at most; a date that spreadsheets do not have is text.
      return cell.kind == "s" && (number < -3_150_000_000 || number > 252_400_000_000)
        || cell.moments?.contains { abs($0 - number - 978_307_200) < 0.002 } ?? false
    }
    guard cell.kind == "s" else { return false }
    switch value {
    case .text(let bytes): return Array(cell.value.utf8) == bytes || cell.value.hasPrefix("file:")
    case .blob(let bytes):
      let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      // A UUID, a value with the mark that it is in the row, or a file.
      return cell.value.replacingOccurrences(of: "-", with: "").lowercased() == hex
        || "01" + cell.value == hex || cell.value.hasPrefix("file:")
        || cell.value.hasPrefix("missing file ")
    default: return false
    }
  }

  @Test func theDemonstrationAsAWorkbook() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("Rows.xlsx")
    let outcome = try Program.run(
      "extract", demo.kept.path, "-o", output.path, "--time-zone", "Europe/Berlin")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("11 rows saved in"))
    #expect(outcome.text.contains("Dates are in Europe/Berlin\n"))
    let names = try FileManager.default.contentsOfDirectory(atPath: place.url.path).sorted()
    #expect(names == ["Rows.xlsx", "Rows_files"])
    let files =
      try ReadWorkbook(output).sheet("Note")?.rows.dropFirst()
      .flatMap { $0.compactMap { $0?.text } }.filter { $0.hasPrefix("file:") } ?? []
    let name = try #require(files.first)
    #expect(files.count == 1 && name.hasPrefix("file:Rows_files/_EXTERNAL_DATA/"))
    let copy = place.url.appendingPathComponent(String(name.dropFirst(5)))
    #expect(try Data(contentsOf: copy).count == 200_000)
    #expect(treeState(of: demo.folder) == before)
    if let book = try Self.openpyxl(output, "Europe/Berlin") {
      #expect(Set(book.keys) == ["Folder", "Note", "Tag", "_provenance"])
      #expect(try Self.compare(demo.kept, book) > 30)
      let facts = (book["_provenance"] ?? []).map { $0.map { $0?.value ?? "" } }
      #expect(facts.contains(["time zone of dates", "Europe/Berlin"]))
    }
    // The same store and words make the same file.
    let again = place.url.appendingPathComponent("again/Rows.xlsx")
    try FileManager.default.createDirectory(
      at: again.deletingLastPathComponent(), withIntermediateDirectories: false)
    _ = try Program.run(
      "extract", demo.kept.path, "-o", again.path, "--time-zone", "Europe/Berlin")
    #expect(try Data(contentsOf: again) == Data(contentsOf: output))
  }

  @Test(
    .enabled(if: Shared.isThere),
    arguments: Rounds.part(
      of: [
        "Moody.moody", "Bookmarks_V3.sqlite", "SampleModel2_V2.sqlite", "default.store",
        "store2-24-1.wiredatabase", "NotesV7.storedata",
      ], every: 2))
  func realStoresAsWorkbooks(_ name: String) throws {
    guard Shared.require("a workbook of \(name)") != nil else { return }
    let store = try RealStores.named(name).url
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("out.xlsx")
    let outcome = try Program.run(
      "extract", store.path, "-o", output.path, "--time-zone", "America/New_York", "--json")
    #expect(outcome.status == 0 || outcome.status == 1, "\(outcome.errors)")
    guard let book = try Self.openpyxl(output, "America/New_York") else { return }
    let rows = try outcome.json()["rowCount"]?.integer ?? 0
    #expect(
      book.reduce(0) { $0 + ($1.key == "_provenance" ? 0 : $1.value.count - 1) } == Int(rows))
    #expect(try Self.compare(store, book) >= Int(rows))
  }

  // MARK: - LibreOffice

  @Test(.enabled(if: findTool("soffice") != nil, "no LibreOffice"))
  func libreOfficeShowsTheSame() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("values.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      """
      CREATE TABLE ZTHING(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNUMBER, ZTEXT VARCHAR, ZWHEN TIMESTAMP);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Thing', 0, 0);
      """)
    let texts = [
      "plain", "=1+1", "=HYPERLINK(\"http://x\")", "+1", "-1", "@SUM(A1)", "'x", "0012", "1e5",
      "2026-11-20", "a,\"b\"", "two\nlines", " spaces ", "_x0041_", "<b>&", "日本語 😀", "TRUE",
      String(repeating: "x", count: 32_767),
    ]
    let numbers: [FixtureValue] = [
      .integer(42), .integer(9_007_199_254_740_993), .real(0.1), .real(1e300), .integer(-7),
      .integer(9_007_199_254_740_992), .null,
    ]
    try database.insert(
      "INSERT INTO ZTHING VALUES(?, 1, 1, ?, ?, ?)",
      texts.enumerated().map { place, text in
        [
          .integer(Int64(place + 1)), numbers[place % numbers.count], .string(text),
          .real(Double(place) * 1_000_000 + 0.25),
        ]
      })
    // What the clocks of Berlin show, by SQLite: 2001 began in winter.
    let truth = try database.rows(
      """
      SELECT Z_PK, ZNUMBER, ZTEXT, datetime(cast(ZWHEN AS INTEGER) + 978307200
        + CASE WHEN ZWHEN BETWEEN 7261200 AND 25405200 THEN 7200 ELSE 3600 END, 'unixepoch')
      FROM ZTHING ORDER BY Z_PK
      """)
    database.close()
    let output = folder.url.appendingPathComponent("book.xlsx")
    let outcome = try Program.run(
      "extract", store.path, "-o", output.path, "--time-zone", "Europe/Berlin", "--exit-zero")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let shown = try #require(try Self.libreOffice(output, shown: true))
    #expect(Set(shown.keys) == ["Thing", "_provenance"])
    let rows = try #require(shown["Thing"])
    #expect(rows.count == texts.count + 1)
    let header = rows[0]
    let place = try #require(header.firstIndex { $0.hasSuffix("WHEN") })
    let numberPlace = try #require(header.firstIndex { $0.hasSuffix("NUMBER") })
    let textPlace = try #require(header.firstIndex { $0.hasSuffix("TEXT") })
    let exact = try #require(try Self.libreOffice(output, shown: false)?["Thing"])
    for ((wanted, given), number) in zip(zip(truth, rows.dropFirst()), exact.dropFirst()) {
      #expect(wanted[3] == .string(given[place]))
      #expect(wanted[2] == .string(given[textPlace]))
      switch wanted[1] {
      case .null: #expect(number[numberPlace] == "")
      case .integer(let whole):
        // LibreOffice shows 15 digits of a number; that the cell has them all, openpyxl says.
        let shown = Double(given[numberPlace]) ?? .nan
        #expect(abs(shown - Double(whole)) <= abs(Double(whole)) * 1e-14, "\(given[numberPlace])")
      case .real(let real): #expect(Double(number[numberPlace]) == real)
      default: Issue.record("no number")
      }
    }
  }

  // MARK: - CSV for Excel

  @Test(arguments: ["en_US.UTF-8", "de_DE.UTF-8"]) func csvThatExcelOpens(_ language: String) throws
  {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("values.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      """
      CREATE TABLE ZTHING(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZN FLOAT, ZT VARCHAR, ZW TIMESTAMP);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Thing', 0, 0), (2, 'Nothing', 1, 0);
      INSERT INTO ZTHING VALUES(1, 1, 1, 1.5, '=1+1', 0.75), (2, 1, 1, -2e20, 'a;b,c', 15768000), (3, 1, 1, 7, NULL, NULL);
      """)
    database.close()
    let output = folder.url.appendingPathComponent("rows")
    let program = try #require(Program.path)
    let outcome = try run(
      program,
      [
        "extract", store.path, "-o", output.path, "--excel", "--time-zone", "Europe/Berlin",
        "--exit-zero",
      ],
      environment: ["LC_ALL": language, "NO_COLOR": "1", "COLUMNS": "80"])
    #expect(outcome.status == 0)
    let report = String(decoding: outcome.stdout, as: UTF8.self)
    #expect(report.contains("No rows: Nothing\n"))
    #expect(report.contains("Dates are in Europe/Berlin\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: output.path) == ["Thing.csv"])
    let text = String(
      decoding: try Data(contentsOf: output.appendingPathComponent("Thing.csv")), as: UTF8.self)
    let wanted =
      language.hasPrefix("de")
      ? """
      \u{feff}_pk;ZN;ZT;ZW\r
      1;1,5;'=1+1;2001-01-01 01:00:00\r
      2;-2e+20;"a;b,c";2001-07-02 14:00:00\r
      3;7,0;;\r

      """
      : """
      \u{feff}_pk,ZN,ZT,ZW\r
      1,1.5,'=1+1,2001-01-01 01:00:00\r
      2,-2e+20,"a;b,c",2001-07-02 14:00:00\r
      3,7.0,,\r

      """
    #expect(Array(text.utf8) == Array(wanted.utf8), "\(text)")
  }

  /// A plain table has no dates; its numbers follow the language.
  @Test func plainTablesForExcel() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("plain.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec("CREATE TABLE t(a, b); INSERT INTO t VALUES(1.25, '@x'); CREATE TABLE e(a)")
    database.close()
    let program = try #require(Program.path)
    let output = folder.url.appendingPathComponent("rows")
    let outcome = try run(
      program, ["extract", store.path, "-o", output.path, "--excel", "--json"],
      environment: ["LANG": "fr_FR.UTF-8"])
    #expect(outcome.status == 0)
    let report = try JSONDecoder().decode(JSON.self, from: outcome.stdout)
    #expect(report["emptyNames"]?.strings == ["e"])
    #expect(report["timeZone"]?.string == "UTC")
    #expect(report["parts"]?.array?.count == 1)
    #expect(
      try Data(contentsOf: output.appendingPathComponent("t.csv"))
        == Data("\u{feff}a;b\r\n1,25;'@x\r\n".utf8))
  }

  // MARK: - Usage

  @Test func whatDoesNotGoTogether() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.path + "/out"
    for (flags, words) in [
      (["--excel", "--format", "xlsx"], "--excel works only with CSV"),
      (["--time-zone", "UTC"], "--time-zone is for --format xlsx and for --excel"),
      (["--excel", "--time-zone", "Europe/Berlinn"], "Did you mean Europe/Berlin?"),
      (["--excel", "--time-zone", "Nowhere"], "There is no time zone Nowhere."),
      (["--format", "xls"], "xls"),
    ] {
      let outcome = try Program.run(["extract", demo.kept.path, "-o", output] + flags)
      #expect(outcome.status == 64, "\(flags)")
      #expect(outcome.errors.contains(words), "\(outcome.errors)")
      #expect(!FileManager.default.fileExists(atPath: output))
    }
  }

  @Test func aWorkbookTakesNoPlaceOfAnother() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("Rows.xlsx")
    try Data("mine".utf8).write(to: folder.url.appendingPathComponent("Rows_files"))
    let before = treeState(of: folder.url)
    let outcome = try Program.run("extract", demo.kept.path, "-o", output.path)
    #expect(outcome.status == 73)
    #expect(outcome.errorCode == "output.exists")
    #expect(treeState(of: folder.url) == before)
    let kept = treeState(of: demo.folder)
    let own = try Program.run(
      "extract", demo.kept.path, "--format", "xlsx", "-o", demo.kept.path)
    #expect(own.status == 73)
    #expect(own.errorCode == "output.isEvidence")
    #expect(treeState(of: demo.folder) == kept)
  }

  /// Each format, by turns with a plain table or one of Core Data; in long rounds, with both.
  private static let extracts = ["csv", "ndjson", "sqlite", "xlsx"].enumerated().flatMap {
    (turn: Int, format: String) in
    Rounds.part(of: [true, false], every: 2, from: turn % 2).map { (format, $0) }
  }

  /// Progress is counted in rows, in every format.
  @Test(arguments: extracts)
  func progressOfAnExtract(_ format: String, _ isPlain: Bool) throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("rows.sqlite")
    let database = try SQLiteConnection(store)
    let count = 50_000
    if isPlain {
      try database.exec("CREATE TABLE t(a, b)")
      try database.insert(
        "INSERT INTO t VALUES(?, ?)",
        (1...count).map { [.integer(Int64($0)), .string("row \($0) of a table that has many")] })
    } else {
      try database.exec(
        """
        CREATE TABLE ZT(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZA VARCHAR);
        CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
        INSERT INTO Z_PRIMARYKEY VALUES(1, 'T', 0, 0);
        """)
      try database.insert(
        "INSERT INTO ZT VALUES(?, 1, 1, ?)",
        (1...count).map { [.integer(Int64($0)), .string("row \($0) of a table that has many")] })
    }
    database.close()
    let outcome = try Program.run(
      "extract", store.path, "--format", format, "-o", folder.url.path + "/out", "--progress",
      "json", "-q", "--exit-zero")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let reports = try outcome.errors.split(separator: "\n").map {
      try JSONDecoder().decode(JSON.self, from: Data($0.utf8))
    }
    let last = try #require(reports.last)
    #expect(last["type"]?.string == "finished")
    #expect(last["operation"]?.string == "Extracting")
    #expect(last["unit"]?.string == "rows")
    #expect(last["total"]?.integer == Int64(count))
    let done = last["current"]?.integer ?? 0
    #expect(done > Int64(count) - 1024 && done <= Int64(count), "\(done)")
    #expect(reports.first?["type"]?.string == "progress")
  }
}
