import Fixtures
import Foundation
import Testing

/// What an allow-list does not name is in no output.
@Suite struct AllowedRowsTests {
  private static func store(in folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("people.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZPERSON(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZMAIL VARCHAR);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Person', 0, 3);
      INSERT INTO ZPERSON VALUES (1, 1, 1, 'Ludwig', 'covert@one'), (2, 1, 1, 'Clara', 'covert@two'),
        (3, 9, 1, 'covert stranger', 'covert@three');
      CREATE TABLE covert_list(covert_item);
      INSERT INTO covert_list VALUES ('covert tea');
      """)
    connection.close()
    return url
  }

  private static func list(_ text: String, in folder: TemporaryFolder) throws -> String {
    let url = folder.url.appendingPathComponent("allow.txt")
    try Data(text.utf8).write(to: url)
    return url.path
  }

  @Test(arguments: ["csv", "ndjson", "sqlite", "xlsx"]) func extracts(_ format: String) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let allow = try Self.list("lifeboat-allow 1\nPerson.ZNAME\n", in: place)
    let output = place.url.appendingPathComponent("out." + format)
    let made = try Program.run(
      "extract", store.path, "--format", format, "--allow", allow, "-o", output.path)
    // The row of an unknown entity is a finding.
    #expect(made.status == 1, "\(made.errors)")
    var bytes = Data()
    let files =
      format == "sqlite" || format == "xlsx"
      ? [output]
      : try FileManager.default.contentsOfDirectory(at: output, includingPropertiesForKeys: nil)
    for file in files { bytes += try Data(contentsOf: file) }
    if format == "xlsx" {
      bytes = try BundleTests.unpack(output).values.reduce(Data(), +)
    }
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("Ludwig") && text.contains("Clara"))
    #expect(!text.contains("covert") && !text.contains("ZMAIL"), "\(format)")
  }

  @Test(arguments: ["text", "csv", "json", "ndjson"]) func rows(_ format: String) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let allow = try Self.list("lifeboat-allow 1\nPerson.ZNAME\n", in: place)
    for more in [[], ["--where", "ZNAME != nil"]] {
      let made = try Program.run(
        ["rows", store.path, "--entity", "Person", "--format", format, "--allow", allow] + more)
      #expect(made.text.contains("Ludwig") && !made.text.contains("covert"), "\(made.text)")
    }
    // A condition cannot ask for what may not be seen.
    let asked = try Program.run(
      "rows", store.path, "--allow", allow, "--where", "ZMAIL BEGINSWITH 'h'")
    #expect(asked.errorCode == "input.unknownName", "\(asked.errors)")
  }

  @Test func whatCannotBeFilteredIsRefused() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let allow = try Self.list("lifeboat-allow 1\nPerson.ZNAME\n", in: place)
    for flag in ["--raw", "--all", "--deleted"] {
      #expect(try Program.run("rows", store.path, "--allow", allow, flag).status == 64)
    }
    let plain = place.url.appendingPathComponent("plain.sqlite")
    let connection = try SQLiteConnection(plain)
    try connection.exec("CREATE TABLE t(a); INSERT INTO t VALUES ('covert')")
    connection.close()
    let outcome = try Program.run(
      "extract", plain.path, "--allow", allow, "-o", place.url.appendingPathComponent("x").path)
    #expect(outcome.errorCode == "usage.noChoice", "\(outcome.errors)")
    let wrong = try Self.list("lifeboat-allow 1\nPerson.ZNAM\n", in: place)
    #expect(try Program.run("rows", store.path, "--allow", wrong).errorCode == "bundle.unknownName")
  }
}
