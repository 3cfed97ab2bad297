import Crypto
import Fixtures
import Foundation
import Testing

/// Backups of a phone, made as the documented layout says.
@Suite struct PhoneBackupTests {
  /// A backup of files given by domain and path.
  private static func backup(
    _ files: [(domain: String, path: String, data: Data)], in folder: URL, isEncrypted: Bool = false
  ) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let manifest = folder.appendingPathComponent("Manifest.db")
    let connection = try SQLiteConnection(manifest)
    try connection.exec(
      """
      CREATE TABLE Files (fileID TEXT PRIMARY KEY, domain TEXT, relativePath TEXT, flags INTEGER, file BLOB);
      CREATE INDEX FilesDomainIdx ON Files(domain);
      CREATE TABLE Properties (key TEXT PRIMARY KEY, value BLOB);
      """)
    for (domain, path, data) in files {
      let hash = Insecure.SHA1.hash(data: Data("\(domain)-\(path)".utf8))
        .map { String(format: "%02x", $0) }.joined()
      try connection.insert(
        "INSERT INTO Files VALUES (?, ?, ?, 1, NULL)",
        [[.text(Array(hash.utf8)), .text(Array(domain.utf8)), .text(Array(path.utf8))]])
      let place = folder.appendingPathComponent(String(hash.prefix(2)))
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      try data.write(to: place.appendingPathComponent(hash))
    }
    connection.close()
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["IsEncrypted": isEncrypted, "Version": "10.0"], format: .binary, options: 0
    )
    try list.write(to: folder.appendingPathComponent("Manifest.plist"))
  }

  private static let name = "AppDomain-org.example.Notes/Library/Application Support/Notes.sqlite"

  /// A store with its log and an external file, another store, and a file that is not a store.
  private static func twoStores(_ place: TemporaryFolder) throws -> URL {
    let made = place.url.appendingPathComponent("made")
    try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
    let url = made.appendingPathComponent("Notes.sqlite")
    let external = "0B7C4A52-4C42-4B5F-9A0B-2F1D3C4E5F60"
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, b BLOB);
      INSERT INTO note VALUES (1, 'only in the log', CAST(x'02' || '\(external)' || x'00' AS BLOB));
      """)
    let main = try Data(contentsOf: url)
    let log = try Data(contentsOf: URL(fileURLWithPath: url.path + "-wal"))
    connection.close()
    let other = made.appendingPathComponent("other.db")
    let second = try SQLiteConnection(other)
    try second.exec("CREATE TABLE t(a); INSERT INTO t VALUES ('needle two')")
    second.close()
    let backup = place.url.appendingPathComponent("Backup")
    let domain = "AppDomain-org.example.Notes"
    let folder = "Library/Application Support/"
    try Self.backup(
      [
        (domain, folder + "Notes.sqlite", main), (domain, folder + "Notes.sqlite-wal", log),
        (
          domain, folder + ".Notes_SUPPORT/_EXTERNAL_DATA/" + external, Data("external needle".utf8)
        ),
        ("HomeDomain", "Library/other.db", try Data(contentsOf: other)),
        ("HomeDomain", "Library/readme.txt", Data("needle".utf8)),
        ("HomeDomain", "Library/broken.db", Data(repeating: 1, count: 5000)),
        ("HomeDomain", "Library/broken.db-wal", Data(repeating: 1, count: 500)),
      ], in: backup)
    return backup
  }

  @Test func storesAreListedUnderTheirNames() throws {
    let place = try TemporaryFolder()
    let backup = try Self.twoStores(place)
    let before = treeState(of: backup)
    let outcome = try Program.run("inspect", backup.path)
    // A file that may be a store and is none is told.
    #expect(outcome.status == 1)
    #expect(outcome.text.contains("Notes.sqlite"))
    #expect(outcome.text.contains("Library/other.db"))
    #expect(outcome.text.contains("broken.db"))
    #expect(!outcome.text.contains("readme"))
    let reports = try Program.run("inspect", "--json", backup.path).json()["inspections"]?.array
    #expect(
      reports?.map { $0["path"]?.string }
        == [backup.path + "/" + Self.name, backup.path + "/HomeDomain/Library/other.db"])
    #expect(treeState(of: backup) == before)
  }

  @Test func oneIsReadWithItsLogAndItsFiles() throws {
    let place = try TemporaryFolder()
    let backup = try Self.twoStores(place)
    let rows = try Program.run("rows", backup.path + "/" + Self.name, "--format", "ndjson")
    #expect(rows.status == 0, "\(rows.errors)")
    #expect(rows.text.contains("only in the log"))
    #expect(!(rows.text + rows.errors).contains(NSTemporaryDirectory() + "lifeboat-"))
    let search = try Program.run("search", "needle", backup.path)
    #expect(search.text.contains("note 1, b (external file"))
    #expect(search.text.contains("needle two"))
    // Which of them is meant has to be said.
    let which = try Program.run("rows", backup.path)
    #expect(which.status == 64 && which.errorCode == "usage.oneStore", "\(which.errors)")
    #expect(which.errors.contains("HomeDomain/Library/other.db"))
    let none = try Program.run("rows", backup.path + "/HomeDomain/none.db")
    #expect(none.errorCode == "input.unknownName", "\(none.errors)")
  }

  /// All of a backup's folder is evidence, whichever way leads to the store in it.
  @Test func nothingIsWrittenIntoIt() throws {
    let place = try TemporaryFolder()
    let backup = try Self.twoStores(place)
    let log = place.url.appendingPathComponent("custody.jsonl").path
    let hash = Insecure.SHA1.hash(data: Data("HomeDomain-Library/other.db".utf8))
      .map { String(format: "%02x", $0) }.joined()
    let output = backup.path + "/out"
    let before = treeState(of: backup)
    for store in [
      backup.path + "/" + Self.name, backup.path + "/\(hash.prefix(2))/\(hash)",
      backup.path + "/Manifest.db",
    ] {
      for arguments in [
        ["extract", store, "-o", output], ["recover", store, "-o", output],
        ["report", store, "-o", output], ["bundle", "create", store, "-o", output],
        ["check", store, "--custody-log", output],
        ["extract", store, "-o", backup.path + "/\(hash.prefix(2))/out"],
      ] {
        let outcome = try Program.run(arguments)
        #expect(
          outcome.status == 73 && outcome.errorCode == "output.isEvidence",
          "\(arguments): \(outcome.errors)")
      }
      let beside = place.url.appendingPathComponent("rows-" + UUID().uuidString).path
      let saved = try Program.run("extract", store, "-o", beside, "--custody-log", log)
      #expect(saved.status < 2, "\(saved.errors)")
    }
    #expect(treeState(of: backup) == before)
  }

  /// The lists of the backup itself may be left behind, and files of stores may be lost.
  @Test func theListOfFilesIsEnough() throws {
    let place = try TemporaryFolder()
    let backup = try Self.twoStores(place)
    try FileManager.default.removeItem(at: backup.appendingPathComponent("Manifest.plist"))
    let list = try SQLiteConnection(backup.appendingPathComponent("Manifest.db"))
    try list.exec(
      "INSERT INTO Files VALUES ('\(String(repeating: "a", count: 40))', 'A', 'gone.db', 1, NULL)")
    list.close()
    let outcome = try Program.run("inspect", backup.path)
    #expect(outcome.text.contains("Notes.sqlite"), "\(outcome.text)")
    #expect(outcome.text.contains("A/gone.db"))
    #expect(outcome.text.contains("but the file cannot be read"))
  }

  /// The rows in a lost log are nowhere else, and nothing in the main file tells of them.
  @Test func aLostLogIsTold() throws {
    let place = try TemporaryFolder()
    let backup = try Self.twoStores(place)
    let store = backup.path + "/" + Self.name
    let log = Self.name.replacingOccurrences(of: "Notes/", with: "Notes-") + "-wal"
    let hash = Insecure.SHA1.hash(data: Data(log.utf8)).map { String(format: "%02x", $0) }
      .joined()
    try FileManager.default.removeItem(
      at: backup.appendingPathComponent("\(hash.prefix(2))/\(hash)"))
    for arguments in [
      ["rows"], ["check"], ["inspect"], ["search", "needle"],
      ["report", "-o", place.url.appendingPathComponent("page.html").path],
      ["bundle", "create", "-o", place.url.appendingPathComponent("b.zip").path],
    ] {
      let outcome = try Program.run(arguments + [store])
      #expect(outcome.status == 1, "\(arguments): \(outcome.status) \(outcome.errors)")
      #expect(
        outcome.errors.contains(
          "Notes.sqlite-wal: the backup lists the file, but the file cannot be read"),
        "\(arguments): \(outcome.errors)")
    }
    let triage = try Program.run("triage", store)
    let line = try #require(try triage.lines().first)
    #expect(triage.status == 1 && line["signature"]?["verdict"]?.string == "corrupt")
    #expect(line["signature"]?["problem"]?.string == "file.missing")
    #expect(line["fix"]?.string == "resend" && line["rows"]?["lost"] == .null)
    // Of the whole backup, too, the line of the store tells of its log, and no other line does.
    let all = try Program.run("triage", backup.path).lines()
    let problems = all.filter { $0["signature"]?["problem"]?.string == "file.missing" }
    #expect(problems.compactMap { $0["path"]?.string } == [store])
    // Nothing is missing from the other store.
    let other = backup.path + "/HomeDomain/Library/other.db"
    for command in ["rows", "inspect", "triage"] {
      #expect(try Program.run(command, other).status == 0, "\(command)")
    }
  }

  @Test func anEncryptedBackupIsNamedAsSuch() throws {
    let place = try TemporaryFolder()
    let backup = place.url.appendingPathComponent("Backup")
    try Self.backup([("HomeDomain", "a.db", Data())], in: backup, isEncrypted: true)
    let outcome = try Program.run("inspect", backup.path)
    #expect(outcome.status == 65 && outcome.errorCode == "backup.encrypted", "\(outcome.errors)")
  }

  /// Names that lead out of the folder, texts in the place of hashes, and a list without the table.
  @Test func hostileLists() throws {
    let place = try TemporaryFolder()
    let backup = place.url.appendingPathComponent("Backup")
    let store = place.url.appendingPathComponent("s.db")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    connection.close()
    try Self.backup(
      [("HomeDomain", "../../../escape.db", try Data(contentsOf: store))], in: backup)
    let list = try SQLiteConnection(backup.appendingPathComponent("Manifest.db"))
    try list.exec(
      """
      INSERT INTO Files VALUES ('../../etc/passwd', 'A', 'b', 1, NULL), ('zz', NULL, 5, 1, x'00'),
        (x'00', 'A', 'c', 1, NULL), ('\(String(repeating: "a", count: 40))', 'A', 'gone.db', 1, NULL);
      """)
    list.close()
    let outcome = try Program.run("inspect", backup.path)
    #expect(outcome.status == 1, "\(outcome.errors)")
    #expect(
      (outcome.text + outcome.errors).contains(
        "names in the backup's list that are not possible on a phone: 4"))
    #expect(
      !FileManager.default.fileExists(
        atPath: place.url.deletingLastPathComponent().path + "/escape.db"))

    let empty = place.url.appendingPathComponent("Empty")
    try Self.backup([], in: empty)
    let other = try SQLiteConnection(empty.appendingPathComponent("Manifest.db"))
    try other.exec("DROP TABLE Files")
    other.close()
    #expect(try Program.run("inspect", empty.path).errorCode == "backup.badManifest")
  }

  /// What is not searched is told, and the list of the files is none of the stores.
  @Test func whatASearchLeavesOut() throws {
    let place = try TemporaryFolder()
    let backup = try Self.twoStores(place)
    let list = try SQLiteConnection(backup.appendingPathComponent("Manifest.db"))
    try list.exec(
      """
      INSERT INTO Files VALUES ('\(String(repeating: "a", count: 40))', 'A', 'gone.db', 1, NULL),
        ('../../etc/passwd', 'A', 'b', 1, NULL);
      """)
    list.close()
    let search = try Program.run("search", "HomeDomain", backup.path)
    #expect(search.status == 1 && search.text.isEmpty, "\(search.text)")
    #expect(search.errors.contains("A/gone.db: the backup lists the file"), "\(search.errors)")
    #expect(
      search.errors.contains("names in the backup's list that are not possible on a phone: 1"))
  }

  @Test func aCustodyLogHasTheFilesOfTheStore() throws {
    let place = try TemporaryFolder()
    let backup = try Self.twoStores(place)
    let log = place.url.appendingPathComponent("custody.ndjson")
    let outcome = try Program.run(
      "rows", backup.path + "/" + Self.name, "--custody-log", log.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let record = try JSONDecoder().decode(JSON.self, from: Data(contentsOf: log))
    // The main file, its log and the external file.
    #expect(record["inputs"]?.array?.count == 3, "\(record)")
    #expect(record["passedOver"] == nil)
  }
}
