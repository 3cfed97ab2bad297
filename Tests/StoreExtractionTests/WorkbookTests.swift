import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import SupportBundle
import Testing
@testable import StoreExtraction

/// Workbooks, read back by a program that knows nothing of their writer.
@Suite struct WorkbookTests {
  /// A workbook of a store.
  private static func write(
    _ store: URL, to output: URL, _ options: RowOutput.Options = .init(), zone: String = "UTC",
    maxRows: Int = 1_048_576
  ) throws -> StoreExport.Result {
    try StoreExport(options).run(
      CoreDataStore(path: store.path), toWorkbook: output.path,
      dates: #require(LocalDates(named: zone)), maxRows: maxRows,
      archive: { try ZippedParts($0, $1) })
  }

  /// What a cell must be for a value of a plain table, by the rules of the manual; nil for none.
  private static func expected(_ value: FixtureValue, _ file: () throws -> [UInt8]) rethrows -> (
    kind: String, bytes: [UInt8]
  )? {
    switch value {
    case .null: nil
    case .integer(let number):
      (
        number.magnitude <= 9_007_199_254_740_992 ? "n" : "inlineStr",
        Array(String(number).utf8)
      )
    case .real(let number):
      number.isFinite && !number.isSubnormal
        ? ("n", Array(number.description.utf8)) : ("inlineStr", Array(number.description.utf8))
    case .text(let bytes):
      String(decoding: bytes, as: UTF8.self).utf16.count <= 32_767
        ? ("inlineStr", bytes) : ("file", try file())
    case .blob(let bytes):
      bytes.count <= 16_383
        ? ("inlineStr", Array(bytes.map { hexadecimal($0) }.joined().utf8)) : ("file", try file())
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  /// Compares a sheet with the rows of a table.
  private static func compare(
    _ sheet: ReadWorkbook.Sheet, _ rows: [[FixtureValue]], of table: String, beside output: URL
  ) throws {
    #expect(sheet.isFrozen)
    #expect(sheet.rows.count == rows.count + 1, "\(table)")
    for (row, cells) in zip(rows, sheet.rows.dropFirst()) {
      for (place, value) in row.enumerated() {
        let cell = place < cells.count ? cells[place] : nil
        let wanted = expected(value) { [] }
        guard let wanted, let cell else {
          #expect(wanted == nil && cell == nil, "\(table) \(value)")
          continue
        }
        if wanted.kind == "file" {
          let name = try #require(
            cell.text.hasPrefix("file:") ? String(cell.text.dropFirst(5)) : nil)
          let content = try bytes(
            of: output.deletingLastPathComponent().appendingPathComponent(name))
          #expect(value == .text(content) || value == .blob(content), "\(table)")
        } else if wanted.kind == "n" {
          #expect(cell.kind == "n")
          #expect(Double(cell.value) == Double(String(decoding: wanted.bytes, as: UTF8.self)))
        } else {
          #expect(cell.kind == "inlineStr")
          #expect(cell.bytes == wanted.bytes, "\(table) \(value)")
        }
      }
    }
  }

  // MARK: - Values

  /// Every value of a table is in its cell, whatever the value: told from SQLite's own answer.
  @Test func everyValueOfATable() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("values.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    var values: [FixtureValue] = [
      .null, .integer(0), .integer(-1), .integer(1 << 53), .integer((1 << 53) + 1),
      .integer(-(1 << 53)), .integer(-(1 << 53) - 1), .integer(.max), .integer(.min),
      .integer(99_999_999_999), .integer(100_000_000_000), .real(0.1), .real(-0.0),
      .real(1e300), .real(.leastNonzeroMagnitude), .real(.infinity), .real(-.infinity),
      .real(2.5e-308),
      .real(0.1 + 0.2), .blob([]), .blob([0, 255]), .blob(Array(repeating: 7, count: 16_383)),
      .blob(Array(repeating: 8, count: 16_384)),
      .blob([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array(repeating: 1, count: 20_000)),
    ]
    let texts = [
      "", " ", "  two  spaces ", "\ttab\n", "a\r\nb\rc\nd", "=1+1", "+1", "-1", "@x", "'x", "0012",
      "1e5", "TRUE", "<b>&amp;\"'</b>", "]]>", "\u{0}", "a\u{0}b\u{1}\u{8}\u{b}\u{c}\u{1f}",
      "\u{7f}\u{85}\u{9f}", "_x0041_", "_x00", "_x005F_x0041_", "__x0041__", "_xZZZZ_", "_x000d_",
      "\u{fffe}\u{ffff}", "é", "e\u{301}", "日本語", "😀", "\u{202e}rtl", "\u{feff}mark",
      String(repeating: "x", count: 32_767), String(repeating: "y", count: 32_768),
      String(repeating: "é", count: 32_767), String(repeating: "日", count: 32_767),
      String(repeating: "日", count: 32_768), String(repeating: "😀", count: 16_383),
      String(repeating: "😀", count: 16_384), String(repeating: "\u{1}", count: 32_767),
      String(repeating: "_x0041_", count: 4681), String(repeating: "z", count: 200_000),
    ]
    values += texts.map { .string($0) }
    try database.insert(
      "INSERT INTO t VALUES(?, ?)",
      values.enumerated().map { [.integer(Int64($0.offset + 1)), $0.element] })
    let rows = try database.rows("SELECT * FROM t ORDER BY id")
    database.close()
    let output = folder.url.appendingPathComponent("Values.xlsx")
    let result = try Self.write(store, to: output)
    #expect(result.rowCount == values.count)
    let book = try ReadWorkbook(output)
    let sheet = try #require(book.sheet("t"))
    try Self.compare(sheet, rows, of: "t", beside: output)
    #expect(book.sheets.allSatisfy { $0.rows.allSatisfy { $0.allSatisfy { $0?.kind != "f" } } })
    // What looks like a formula stays text when it is edited; whole numbers of many digits are shown in full.
    for (row, cells) in zip(rows, sheet.rows.dropFirst()) {
      guard case .text(let text) = row[1] else { continue }
      let isSign = text.first.map { "=+-@".utf8.contains($0) } ?? false
      #expect((cells[1]?.style == CellStyle.quoted.rawValue) == isSign)
    }
    #expect(book.formats[CellStyle.wholeNumber.rawValue] == "1")
    #expect(
      sheet.rows.filter { $0[1]?.style == CellStyle.wholeNumber.rawValue }.map { $0[1]?.value }
        == ["9007199254740992", "-9007199254740992", "100000000000"])
    let files = try FileManager.default.contentsOfDirectory(
      atPath: folder.url.appendingPathComponent("Values_files").path)
    #expect(files.count == result.longValues?.fileCount && files.count == 6)
    #expect(files.contains("t-24-v.png"))
    #expect(result.longValues?.output == folder.url.path + "/Values_files")
  }

  /// Binary values by what they are, as in the other forms.
  @Test func binaryValuesDecoded() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("blobs.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      "CREATE TABLE t(v); INSERT INTO t VALUES(x'68656c6c6f20776f726c64'), (x'00ff00ff')")
    database.close()
    func cells(_ blobs: BlobForm) throws -> [String] {
      let output = folder.url.appendingPathComponent("\(blobs).xlsx")
      _ = try Self.write(store, to: output, .init(blobs: blobs))
      return try #require(try ReadWorkbook(output).sheet("t")).rows.dropFirst().map {
        $0[0]?.text ?? ""
      }
    }
    #expect(try cells(.hex) == ["68656c6c6f20776f726c64", "00ff00ff"])
    #expect(try cells(.decoded) == ["text: hello world (11 bytes)", "00ff00ff"])
    #expect(try cells(.summary)[1].hasPrefix("4 bytes, SHA-256 "))
  }

  /// Text of UTF-16 with lone surrogates keeps them; bytes that are no text are counted.
  @Test func textThatIsNoText() throws {
    let folder = try TemporaryFolder()
    for encoding in ["UTF-16le", "UTF-16be"] {
      let store = folder.url.appendingPathComponent(encoding)
      let database = try SQLiteConnection(store)
      try database.exec("PRAGMA encoding = '\(encoding)'; CREATE TABLE t(v)")
      let units = encoding == "UTF-16le" ? "610000d86200" : "0061d8000062"
      try database.exec("INSERT INTO t VALUES(CAST(x'\(units)' AS TEXT))")
      database.close()
      let output = folder.url.appendingPathComponent(encoding + ".xlsx")
      let result = try Self.write(store, to: output)
      #expect(result.invalidTextCount == nil)
      let cell = try #require(try ReadWorkbook(output).sheet("t")?.rows[1][0])
      #expect(cell.bytes == [0x61, 0xed, 0xa0, 0x80, 0x62])
    }
    let store = folder.url.appendingPathComponent("bytes.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      "CREATE TABLE t(v); INSERT INTO t VALUES(CAST(x'61ff62c328' AS TEXT)), ('whole')")
    database.close()
    let output = folder.url.appendingPathComponent("bytes.xlsx")
    let result = try Self.write(store, to: output)
    #expect(result.invalidTextCount == 1)
    #expect(try ReadWorkbook(output).sheet("t")?.rows[1][0]?.text == "a\u{fffd}b\u{fffd}(")
  }

  @Test(arguments: [
    "odd-names", "serial-types", "without-rowid", "wal-several-commits", "journal-hot",
    "added-columns",
  ])
  func plainFilesSheetBySheet(_ name: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("source")
    try FileManager.default.createDirectory(at: source, withIntermediateDirectories: false)
    let store = try StoreFixtures.named(name).make(source)
    let before = treeState(of: source)
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store)
    let output = folder.url.appendingPathComponent("out.xlsx")
    let result = try Self.write(store, to: output)
    let book = try ReadWorkbook(output)
    #expect(book.sheets.map(\.name) == result.parts.map(\.target) + ["_provenance"])
    #expect(Set(result.emptyNames) == Set(truth.filter { $0.value.isEmpty }.keys))
    #expect(result.parts.count == truth.count { !$0.value.isEmpty })
    for part in result.parts {
      let sheet = try #require(book.sheet(part.target))
      try Self.compare(
        sheet, (truth[part.name] ?? []).map(\.values), of: part.name, beside: output)
    }
    let facts = try #require(book.sheets.last).rows.map { $0.map { $0?.text ?? "" } }
    #expect(facts.contains(["source", store.path]))
    #expect(
      facts.contains([
        "sha256 of \(store.lastPathComponent)", hex(of: try Data(contentsOf: store)),
      ]))
    #expect(treeState(of: source) == before)
  }

  // MARK: - Sheets

  /// More rows than a sheet has go into further ones, and more columns into one.
  @Test func moreThanASheetHas() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("many.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE \"t (2)\"(v); CREATE TABLE e(v)")
    try database.insert(
      "INSERT INTO t VALUES(?, ?)", (1...10).map { [.integer($0), .string("row \($0)")] })
    try database.exec("INSERT INTO \"t (2)\" VALUES('other')")
    database.close()
    let output = folder.url.appendingPathComponent("many.xlsx")
    let result = try Self.write(store, to: output, maxRows: 4)
    let book = try ReadWorkbook(output)
    #expect(
      result.parts.map(\.target) == ["t", "t (3)", "t (4)", "t (5)", "t (2)"])
    #expect(result.parts.map(\.rowCount) == [3, 3, 3, 1, 1])
    #expect(result.rowCount == 11)
    #expect(result.emptyNames == ["e"])
    let rows = result.parts.prefix(4).flatMap { part in
      (book.sheet(part.target)?.rows.dropFirst() ?? []).map { $0[1]?.text }
    }
    #expect(rows == (1...10).map { "row \($0)" })
    #expect(result.parts.prefix(4).allSatisfy { book.sheet($0.target)?.header == ["id", "v"] })
    #expect(book.sheet("t (5)")?.filter == "A1:B2")
    #expect(book.sheet("t")?.filter == "A1:B4")
  }

  /// A table has at most 2,000 columns for this SQLite; a damaged or hostile one may name more.
  @Test func theLastColumnHoldsTheRest() throws {
    let names = (0..<16_390).map { "c\($0)" }
    let plan = SheetPlan(table: "wide", names: names)
    #expect(plan.columns.count == 16_384)
    #expect(plan.ownCount == 16_383)
    #expect(plan.columns.last?.title == "_more")
    #expect(SheetPlan(table: "t", names: Array(names.prefix(16_384))).ownCount == 16_384)
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("wide.xlsx")
    let made = MadeFiles()
    let archive = try ZippedParts(output.path, made)
    let workbook = try Workbook(archive)
    let sheet = Sheet(plan, in: workbook, among: 1)
    var sink = SheetRowSink(
      storePath: "/", .utc, LongValues(folder.url.path + "/wide_files", made))
    sink.turn(to: sheet)
    sink.beginRow(1)
    for number in 0..<16_390 { sink.integer(Int64(number)) }
    sink.endRow()
    sink.finish()
    #expect(sink.failure == nil)
    try sheet.end()
    try workbook.end([sheet])
    try archive.finish()
    let row = try #require(try ReadWorkbook(output).sheets.first?.rows.last)
    #expect(row.count == 16_384)
    #expect(row[16_382]?.value == "16382")
    #expect(
      row[16_383]?.text
        == #"{"c16383":16383,"c16384":16384,"c16385":16385,"c16386":16386,"c16387":16387,"c16388":16388,"c16389":16389}"#
    )
  }

  /// A row of the longest cells is longer than any buffer.
  @Test func aRowOfLongCells() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("long.sqlite")
    let database = try SQLiteConnection(store)
    let names = (0..<20).map { "c\($0)" }.joined(separator: ",")
    try database.exec("CREATE TABLE t(\(names))")
    let marks = Array(repeating: "?", count: 20).joined(separator: ",")
    let row = (0..<20).map { place in
      FixtureValue.string(String(repeating: place % 2 == 0 ? "\u{1}" : "&", count: 32_767))
    }
    try database.insert("INSERT INTO t VALUES(\(marks))", [row, row])
    database.close()
    let output = folder.url.appendingPathComponent("long.xlsx")
    #expect(try Self.write(store, to: output).longValues == nil)
    let sheet = try #require(try ReadWorkbook(output).sheet("t"))
    try Self.compare(sheet, [row, row], of: "t", beside: output)
  }

  @Test func namesOfSheets() {
    var names = SheetNames()
    #expect(names.unique("Note") == "Note")
    #expect(names.unique("NOTE") == "NOTE_2")
    #expect(names.unique("note") == "note_3")
    #expect(names.unique("History") == "History_2")
    #expect(names.unique("a[b]:c*d?e/f\\g") == "a_b__c_d_e_f_g")
    #expect(names.unique("'quoted'") == "_quoted_")
    #expect(names.unique("'") == "_")
    #expect(names.unique("it's") == "it's")
    #expect(names.unique("") == "_unnamed")
    #expect(names.unique("\u{0}\n") == "__")
    let long = String(repeating: "x", count: 40)
    #expect(names.unique(long) == String(repeating: "x", count: 31))
    #expect(names.unique(long) == String(repeating: "x", count: 29) + "_2")
    #expect(names.further(long, 2) == String(repeating: "x", count: 27) + " (2)")
    #expect(names.further("Note", 2) == "Note (2)")
    #expect(names.further("Note", 3) == "Note (3)")
    // A sign of two units is not cut in two, and an apostrophe does not come last.
    #expect(names.unique(String(repeating: "😀", count: 20)).utf16.count == 30)
    #expect(
      names.unique(String(repeating: "y", count: 30) + "'z") == String(repeating: "y", count: 30)
        + "_")
    for number in 4...40 { #expect(names.unique("Note") == "Note_\(number)") }
    #expect(Sheet.letters(0) == "A" && Sheet.letters(25) == "Z" && Sheet.letters(26) == "AA")
    #expect(Sheet.letters(701) == "ZZ" && Sheet.letters(702) == "AAA")
    #expect(Sheet.letters(16_383) == "XFD")
  }

  /// Rows of many entities lie in one table, mixed; each entity has its sheet, and the same rows make the same file.
  @Test func manyEntitiesOfOneTable() throws {
    let folder = try TemporaryFolder()
    let count = SheetRows.maxOpenSheets * 2 + 7
    let store = folder.url.appendingPathComponent("mixed.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZROOT(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZT VARCHAR, ZD TIMESTAMP);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Root', 0, 0);
      INSERT INTO ZROOT VALUES(90001, 777, 1, '=cmd()', 5), (90002, NULL, 1, 'x', 6);
      """)
    try database.insert(
      "INSERT INTO Z_PRIMARYKEY VALUES(?, ?, 1, 0)",
      (2...count).map { [.integer(Int64($0)), .string("Entity\($0)")] })
    let filler = String(repeating: "text ", count: 40)
    try database.insert(
      "INSERT INTO ZROOT VALUES(?, ?, 1, ?, ?)",
      (1...(count * 40)).map { (key: Int) -> [FixtureValue] in
        let entity = Int64(key % (count - 1) + 2)
        let text = "\(key) \(filler)"
        return [.integer(Int64(key)), .integer(entity), .string(text), .real(Double(key) * 1000.5)]
      })
    let truth = try database.rows(
      "SELECT Z_ENT, Z_PK, ZT FROM ZROOT WHERE Z_ENT BETWEEN 2 AND \(count) ORDER BY Z_PK")
    database.close()
    let output = folder.url.appendingPathComponent("mixed.xlsx")
    let result = try Self.write(store, to: output)
    #expect(result.emptyNames == ["Root"])
    #expect(result.rowCount == count * 40 + 2)
    let book = try ReadWorkbook(output)
    #expect(book.sheets.count == count + 1)
    for number in 2...count {
      let sheet = try #require(book.sheet("Entity\(number)"))
      let rows = truth.filter { $0[0] == .integer(Int64(number)) }
      #expect(sheet.rows.dropFirst().map { $0[0]?.value } == rows.map { "\($0[1])" })
      #expect(
        sheet.rows.dropFirst().map { FixtureValue.text($0[1]?.bytes ?? []) } == rows.map { $0[2] })
    }
    let unknown = try #require(book.sheet("ZROOT-unknown"))
    #expect(unknown.header == ["_ent", "_pk", "ZT", "ZD"])
    #expect(
      unknown.rows.dropFirst().map { $0.prefix(3).map { $0?.text ?? "" } }
        == [["777", "90001", "=cmd()"], ["", "90002", "x"]])
    #expect(
      result.findings.filter { $0.id == .coredataUnknownEntity }.count == 2)
    let again = folder.url.appendingPathComponent("again.xlsx")
    _ = try Self.write(store, to: again)
    #expect(try Data(contentsOf: again) == Data(contentsOf: output))
    let limited = folder.url.appendingPathComponent("limited.xlsx")
    let few = try Self.write(
      store, to: limited, .init(entityNames: ["Entity7", "Entity70"], limit: 3))
    #expect(few.parts.map(\.name) == ["Entity7", "Entity70"])
    #expect(few.parts.map(\.rowCount) == [3, 3])
  }

  // MARK: - Dates

  /// Dates as cells, held against Python's calendar and time zones.
  @Test(arguments: ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia"])
  func datesOfATimeZone(_ zone: String) throws {
    let python = try #require(findTool("python3"))
    let script = """
      import json, sys
      from datetime import datetime, timedelta, timezone
      from zoneinfo import ZoneInfo
      zone = ZoneInfo(sys.argv[1])
      result = []
      for seconds in json.loads(sys.argv[2]):
          try: local = (datetime(2001, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)).astimezone(zone)
          except OverflowError: result.append(None); continue
          local = local.replace(tzinfo=None)
          since = local - datetime(1899, 12, 30)
          result.append([local.strftime("%Y").zfill(4) + local.strftime("-%m-%d %H:%M:%S"),
              since.days + since.seconds / 86400 + since.microseconds / 86400e6])
      json.dump(result, sys.stdout)
      """
    var seconds: [Double] = [
      0, 0.5, -0.5, 86_399.999999, 1e9 + 0.25, -3_182_198_400, -3_182_198_401, -3_182_112_000,
      -3_150_000_000, -5e9, 252_423_993_599, 252_423_993_600, 252_423_990_000, 3e9, 17_000_000,
    ]
    // Around the changes of the clocks.
    for hour in stride(from: -4.0, through: 4.0, by: 0.5) {
      let past: Double = hour * 3600 - 978_307_200
      seconds.append(1_792_890_000 + past)
      seconds.append(1_774_746_000 + past)
    }
    let given = try run(
      python, ["-c", script, zone, "[" + seconds.map(\.description).joined(separator: ",") + "]"])
    guard given.status == 0 else {
      return print("skipped: dates of \(zone): Python knows no time zones")
    }
    let truth = try #require(
      JSONSerialization.jsonObject(with: given.stdout) as? [Any])
    let dates = try #require(LocalDates(named: zone))
    for (value, wanted) in zip(seconds, truth) {
      let date = ReferenceDate(seconds: value)
      guard let wanted = wanted as? [Any], let text = wanted[0] as? String,
        let serial = wanted[1] as? Double
      else {
        // Python has no later UTC; where it is earlier by the clock, Python does not say so.
        #expect(zone != "UTC" || dates.serial(of: date) == nil)
        continue
      }
      #expect(dates.text(of: date) == text, "\(value)")
      if text >= "1900-03-01" {
        let given = try #require(dates.serial(of: date), "\(text)")
        #expect(abs(given - serial) < 1e-9, "\(text)")
      } else {
        #expect(dates.serial(of: date) == nil, "\(text)")
      }
    }
    for value in [Double.infinity, -.infinity, .nan, 1e300, -1e12] {
      #expect(dates.serial(of: ReferenceDate(seconds: value)) == nil)
      #expect(dates.text(of: ReferenceDate(seconds: value)) == nil)
    }
  }

  @Test func namesOfTimeZones() {
    #expect(LocalDates(named: "Mars/Phobos") == nil)
    #expect(LocalDates(named: "") == nil)
    #expect(LocalDates(named: "../etc/passwd") == nil)
    #expect(LocalDates(named: "local")?.zone == TimeZone.current)
    #expect(LocalDates(named: "US/Eastern")?.name == "US/Eastern")
    #expect(ExcelForm.hasDecimalComma(["LANG": "de_DE.UTF-8"]))
    #expect(!ExcelForm.hasDecimalComma(["LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"]))
    #expect(ExcelForm.hasDecimalComma(["LC_ALL": "", "LC_NUMERIC": "fr_FR", "LANG": "en_US"]))
    #expect(!ExcelForm.hasDecimalComma(["LANG": "nonsense"]))
  }

  // MARK: - Failing

  @Test func whatIsThereIsNeverTouched() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("core-data-shape").make(folder.url)
    try Data("mine".utf8).write(to: folder.url.appendingPathComponent("taken.xlsx"))
    try Data("mine".utf8).write(to: folder.url.appendingPathComponent("other_files"))
    let before = treeState(of: folder.url)
    for name in ["taken.xlsx", "other.xlsx", "none/deep.xlsx", ""] {
      let error = #expect(throws: ExtractionError.self, "\(name)") {
        try Self.write(store, to: folder.url.appendingPathComponent(name))
      }
      #expect(
        error?.code == (name.hasPrefix("none") ? .cannotCreate : .outputExists), "\(name)")
    }
    #expect(treeState(of: folder.url) == before)
  }

  /// A store that changes while it is read leaves neither a workbook nor its folder behind.
  @Test func failingHalfWayLeavesNothing() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("store.sqlite")
    try smallRows(megabytes: 2, at: store)
    let database = try SQLiteConnection(store)
    try database.exec("CREATE TABLE a(v)")
    try database.insert(
      "INSERT INTO a VALUES(?)", [[.string(String(repeating: "long ", count: 8000))]])
    database.close()
    let opened = try CoreDataStore(path: store.path)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: store.path)
    var isChanged = false
    let error = #expect(throws: ExtractionError.self) {
      var export = StoreExport()
      export.sourceName = "store"
      return try export.run(
        opened, toWorkbook: folder.url.path + "/out.xlsx",
        archive: { path, made in
          // After the watch began.
          try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 2)], ofItemAtPath: store.path)
          isChanged = true
          return try ZippedParts(path, made)
        })
    }
    #expect(isChanged)
    #expect(error?.code == .changedDuringRead)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["store.sqlite"])
  }
}
