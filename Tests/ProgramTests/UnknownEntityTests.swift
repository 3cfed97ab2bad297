import Fixtures
import Foundation
import Testing

/// Rows whose entity number does not belong to their table, and entities without rows.
@Suite struct UnknownEntityTests {
  /// A store of two entities, and a third that inherits from the first. `number` is the SQL of the entity number of the
  /// row `stray` in the table of the second.
  private static func store(in folder: TemporaryFolder, _ number: String) throws -> String {
    let url = folder.url.appendingPathComponent("works.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZARTIST(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
      CREATE TABLE ZWORK(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
      INSERT INTO Z_METADATA VALUES (1, 'one', NULL);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Artist', 0, 1), (2, 'Work', 0, 2), (3, 'Painter', 1, 0);
      INSERT INTO ZARTIST VALUES (1, 3, 1, 'painter');
      INSERT INTO ZWORK VALUES (1, \(number), 1, 'stray'), (2, 2, 1, 'fitting');
      """)
    connection.close()
    return url.path
  }

  static let numbers: [(String, Int64?)] = [
    ("1", 1), ("3", 3), ("99", 99), ("0", 0), ("NULL", nil), ("'x'", nil),
  ]

  @Test(arguments: numbers)
  func everyFormHasTheRow(_ sql: String, _ number: Int64?) throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder, sql)
    func run(_ arguments: String...) throws -> Outcome {
      let outcome = try Program.run(arguments + [store])
      #expect(outcome.status == 1, "\(arguments) \(outcome.errors)")
      return outcome
    }
    let text = try run("rows").text
    #expect(text.contains("unknown entity in ZWORK, 1 row\n") && text.contains("stray"), "\(text)")
    let lines = [
      "_entity,_pk,ZNAME,ZTITLE", "Painter,1,painter,", ",1,,stray", "Work,2,,fitting",
    ].map { $0 + "\r\n" }
    #expect(try run("rows", "--format", "csv").text == lines.joined())
    for limit in 0...3 {
      let csv = try Program.run("rows", "--format", "csv", "--limit", String(limit), store)
      #expect(csv.text == lines.prefix(1 + limit).joined(), "\(limit) \(csv.errors)")
    }
    let chosen = try run("rows", "--where", "ZTITLE != nil").text
    #expect(chosen.contains("unknown entity in ZWORK, 1 row\n") && chosen.contains("stray"))
    // Chosen rows are in one CSV, too, with the columns that all rows have.
    let forms = [
      (["--where", "TRUEPREDICATE"], [lines[0], lines[1], lines[3], lines[2]]),
      (
        ["--where", "ZTITLE != nil", "--columns", "ZTITLE"],
        ["_entity,_pk,ZTITLE", "Work,2,fitting", ",1,stray"].map { $0 + "\r\n" }
      ),
    ]
    for (arguments, lines) in forms {
      let csv = try Program.run(["rows", store, "--format", "csv"] + arguments)
      #expect(csv.text == lines.joined(), "\(arguments) \(csv.errors)")
      let first = try Program.run(["rows", store, "--format", "csv", "--limit", "1"] + arguments)
      #expect(first.text == lines.prefix(2).joined(), "\(arguments) \(first.errors)")
    }
    let written: JSON = number.map { JSON.integer($0) } ?? .null
    for arguments in [[], ["--where", "ZTITLE != nil"], ["--all"]] {
      let lines = try Program.run(["rows", store, "--format", "ndjson"] + arguments).lines()
      let line = try #require(lines.first { $0["values"]?["ZTITLE"] == .string("stray") })
      #expect(line["entity"] == .null, "\(arguments)")
      #expect(line["entityNumber"] == written, "\(arguments)")
    }
    let all = try Program.run("rows", "--all", store).text
    #expect(all.contains("unknown entity in ZWORK, 1 row\n"), "\(all)")
    let inspection = try Program.run("inspect", "--json", store).json()
    #expect(inspection["entities"]?.array?.map { $0["rowCount"]?.integer } == [0, 1, 1])
    #expect(inspection["unknownEntityRowCount"]?.integer == 1)
    let screen = try Program.run("inspect", store).text
    #expect(screen.contains("2 rows in 2 entities, 1 row of unknown entities"), "\(screen)")
    #expect(inspection["liveRowCount"]?.integer == 3)
    // Rows that are chosen by their entity do not include it.
    for format in ["text", "csv", "ndjson"] {
      let named = try Program.run("rows", store, "--entity", "Work", "--format", format)
      #expect(named.text.contains("fitting") && !named.text.contains("stray"), "\(format)")
      #expect(named.errors.contains("coredata.unknownEntity"), "\(named.errors)")
    }
  }

  /// A change in such a row is not said to be one of the entity with that number.
  @Test func compareDoesNotNameAnotherTablesEntity() throws {
    let folders = (try TemporaryFolder(), try TemporaryFolder())
    let (old, new) = (try Self.store(in: folders.0, "1"), try Self.store(in: folders.1, "1"))
    let connection = try SQLiteConnection(URL(fileURLWithPath: new))
    try connection.exec("UPDATE ZWORK SET ZTITLE = 'later' WHERE Z_PK = 1")
    connection.close()
    let text = try Program.run("compare", old, new).text
    #expect(text.contains("ZWORK 1") && !text.contains("Artist"), "\(text)")
  }

  @Test(arguments: ["text", "csv", "ndjson", "json"])
  func anEntityComesWithThoseThatInheritFromIt(_ format: String) throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder, "2")
    let outcome = try Program.run("rows", store, "--entity", "Artist", "--format", format)
    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
    #expect(outcome.text.contains("painter") && !outcome.text.contains("stray"), "\(outcome.text)")
  }

  // MARK: - No rows

  @Test(arguments: ["text", "csv", "ndjson", "json"])
  func anEntityWithoutRowsIsNamed(_ format: String) throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder, "2")
    let connection = try SQLiteConnection(URL(fileURLWithPath: store))
    try connection.exec("DELETE FROM ZARTIST; CREATE TABLE other (a)")
    connection.close()
    let cases: [(arguments: [String], note: String)] = [
      (["--entity", "Artist"], "note: there are no rows of Artist\n"),
      (["--entity", "Painter"], "note: there are no rows of Painter\n"),
      (
        ["--entity", "Work", "--where", "ZTITLE == 'nothing'"],
        "note: there are no rows of Work that meet the condition\n"
      ),
      (["--raw", "--entity", "other"], "note: there are no rows of other\n"),
    ]
    for (arguments, note) in cases {
      let outcome = try Program.run(["rows", store, "--format", format] + arguments)
      #expect(outcome.status == 0 && outcome.errors == note, "\(arguments) \(outcome.errors)")
      switch format {
      case "ndjson": #expect(outcome.text.isEmpty)
      case "json": #expect(try outcome.json()["rows"]?.array?.isEmpty == true)
      case "csv": #expect(outcome.text.components(separatedBy: "\r\n").count == 2)
      default: #expect(outcome.text.isEmpty || outcome.text.hasPrefix("other, 0 rows"))
      }
    }
  }

  /// The rows with its number are in the table of another entity.
  @Test func anEntityWhoseRowsAreElsewhere() throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder, "1")
    let connection = try SQLiteConnection(URL(fileURLWithPath: store))
    try connection.exec("DELETE FROM ZARTIST; DELETE FROM ZWORK WHERE Z_PK = 2")
    connection.close()
    let outcome = try Program.run("rows", store, "--entity", "Artist")
    #expect(outcome.status == 1 && outcome.text.isEmpty, "\(outcome.text)")
    #expect(outcome.errors.contains("note: there are no rows of Artist\n"), "\(outcome.errors)")
    #expect(outcome.errors.contains("ZWORK (coredata.unknownEntity)"), "\(outcome.errors)")
    let output = folder.url.appendingPathComponent("out").path
    let extract = try Program.run("extract", "--json", store, "-o", output).json()
    #expect(extract["rowCount"]?.integer == 1)
    #expect(extract["doubtfulNames"] == nil, "no row of these entities is lost")
  }
}
