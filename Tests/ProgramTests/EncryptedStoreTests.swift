import Fixtures
import Foundation
import Testing

/// Stores that SQLCipher has encrypted, read with their key: SQLCipher's own copy in plain text is the truth.
@Suite(.enabled(if: findTool("sqlcipher") != nil, "needs sqlcipher")) struct EncryptedStoreTests {
  private let place: TemporaryFolder
  private let store: String
  private let plain: String
  private let key: String

  /// The store and its copy in plain text; made once.
  private static let files = Result { try makeFiles() }

  private static func makeFiles() throws -> [(name: String, content: Data)] {
    let place = try TemporaryFolder()
    let store = place.url.appendingPathComponent("Secret.sqlite")
    let plain = place.url.appendingPathComponent("Plain.sqlite")
    let outcome = try Fixtures.run(
      try #require(findTool("sqlcipher")), [store.path],
      stdin: Data(
        """
        PRAGMA key = 'the sea is calm';
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body BLOB);
        WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 400)
          INSERT INTO note SELECT i, 'Note ' || i, randomblob(i % 100) FROM i;
        ATTACH '\(plain.path)' AS plain KEY '';
        SELECT sqlcipher_export('plain');
        DETACH plain;

        """.utf8))
    #expect(outcome.stderr.isEmpty, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    return try [store, plain].map { ($0.lastPathComponent, try Data(contentsOf: $0)) }
  }

  init() throws {
    place = try TemporaryFolder()
    store = place.url.appendingPathComponent("Secret.sqlite").path
    plain = place.url.appendingPathComponent("Plain.sqlite").path
    key = place.url.appendingPathComponent("key").path
    try Data("the sea is calm\n".utf8).write(to: URL(fileURLWithPath: key))
    for (name, content) in try Self.files.get() {
      try content.write(to: place.url.appendingPathComponent(name))
    }
  }

  @Test(arguments: [
    ["rows", "--format", "ndjson"], ["rows", "--format", "csv"],
    ["rows", "--raw", "--format", "ndjson"],
    ["search", "Note 39"],
    ["rows", "--where", "id == 7"],
  ])
  func readsWhatIsInIt(arguments: [String]) throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let ours = try Program.run(arguments + [store, "--key-file", key])
    let truth = try Program.run(arguments + [plain])
    #expect(ours.text.contains("Note 39") || ours.text.contains("Note 7"))
    func named(_ text: String) -> String {
      text.replacingOccurrences(of: store, with: plain)
        .replacingOccurrences(of: #", page \d+"#, with: "", options: .regularExpression)
    }
    #expect(named(ours.text) == named(truth.text))
    #expect(ours.status == truth.status, "\(ours.errors)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
  }

  /// The folder may be given instead of the store, and still no output becomes a part of the store.
  @Test func noOutputIsAPartOfIt() throws {
    let folder = place.url.appendingPathComponent("alone")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let copy = folder.appendingPathComponent("Secret.sqlite")
    try FileManager.default.copyItem(atPath: store, toPath: copy.path)
    for command in ["recover", "extract"] {
      let refused = try Program.run(
        command, folder.path, "--key-file", key, "-o", copy.path + "-wal")
      #expect(refused.status == 73 && refused.errorCode == "output.isEvidence", "\(refused.errors)")
      #expect(!FileManager.default.fileExists(atPath: copy.path + "-wal"))
    }
  }

  /// A bundle of what is in it, with its key; the files that go in are the encrypted ones.
  @Test func packsWhatIsInIt() throws {
    func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }
    let without = try Program.run("bundle", "create", store, "-o", path("none.zip"))
    #expect(without.status != 0)
    let made = try Program.run(
      "bundle", "create", store, "--key-file", key, "--include", "rows", "--redact", "none", "-o",
      path("rows.zip"))
    #expect(made.status == 0, "\(made.errors)")
    let rows = try Program.run("rows", "--format", "ndjson", path("rows.zip"))
    #expect(try rows.lines().count == 400 && rows.text.contains("Note 399"), "\(rows.errors)")
    let shown = try Program.run("bundle", "show", "--json", path("rows.zip"))
    #expect(
      shown.text.contains("SQLCipher") && !shown.text.contains(#/lifeboat-[0-9a-f]{30}/#),
      "\(shown.text)")
    let redacted = try Program.run(
      "bundle", "create", store, "--key-file", key, "--include", "rows", "-o", path("tokens.zip"))
    #expect(redacted.status == 0, "\(redacted.errors)")
    #expect(
      try !Program.run("rows", "--format", "ndjson", path("tokens.zip")).text.contains("Note 3"))
    let whole = try Program.run(
      "bundle", "create", store, "--key-file", key, "--include", "store", "-o", path("store.zip"))
    #expect(whole.status == 0, "\(whole.errors)")
    let unzip = try Fixtures.run(
      try #require(findTool("unzip")), ["-p", path("store.zip"), "store/Secret.sqlite"])
    #expect(try unzip.stdout == Data(contentsOf: URL(fileURLWithPath: store)))
  }

  /// Where pages are, differs: the reserved bytes leave less room on each.
  @Test func everyRowIsWhole() throws {
    func rows(_ path: String) throws -> [JSON?] {
      try Program.run(
        "rows", "--all", "--entity", "note", "--format", "ndjson", path, "--key-file", key
      )
      .lines().map { $0["values"] }
    }
    let ours = try rows(store).map { "\($0 as Any)" }
    #expect(try ours.count == 400 && ours == rows(plain).map { "\($0 as Any)" })
  }

  @Test func comparesWithItsPlainCopy() throws {
    let outcome = try Program.run("compare", store, plain, "--key-file", key)
    // Only the sizes of pages differ: SQLCipher 3 has smaller ones.
    #expect(outcome.status == 1 && outcome.text.hasPrefix("pageSize: 1024 became 4096"))
    #expect(outcome.text.split(separator: "\n").count == 2, "\(outcome.text)\(outcome.errors)")
  }

  /// The files that are hashed are those that were given, and the private copy is gone.
  @Test func inspectsTheEvidence() throws {
    let outcome = try Program.run("inspect", "--json", store, "--key-file", key)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let json = try outcome.json()
    let sum = try Fixtures.run(try #require(findTool("sha256sum")), [store])
    let hash = String(decoding: sum.stdout.prefix(64), as: UTF8.self)
    #expect(outcome.text.contains(hash))
    #expect(json["liveRowCount"]?.integer == 400)
    #expect(json["path"]?.string == store)
    #expect(!outcome.text.contains(#/lifeboat-[0-9a-f]{30}/#))
    let check = try Program.run("check", "--depth", "full", store, "--key-file", key)
    #expect(check.status == 0 && check.text.contains("sound"), "\(check.text)")
  }

  @Test func aWrongKeyAndNone() throws {
    let none = try Program.run("rows", store)
    #expect(none.status == 65 && none.errorCode == "file.looksEncrypted")
    #expect(none.errors.contains("--key-file"))
    try Data("the sea is rough\n".utf8).write(to: URL(fileURLWithPath: key))
    for command in ["rows", "inspect", "check", "model show"] {
      let wrong = try Program.run(
        command.split(separator: " ").map(String.init) + [store, "--key-file", key])
      #expect(wrong.status == 65, "\(wrong.text)")
      #expect(wrong.errors.contains("(cipher.noKeyFits)"), "\(wrong.errors)")
      #expect(!wrong.errors.contains("rough"))
    }
    try Data("x'00'\n".utf8).write(to: URL(fileURLWithPath: key))
    #expect(try Program.run("rows", store, "--key-file", key).errorCode == "cipher.badKey")
    // A store that is not encrypted is read as ever.
    #expect(try Program.run("rows", plain, "--key-file", key).status == 65)
    try Data("anything\n".utf8).write(to: URL(fileURLWithPath: key))
    #expect(try Program.run("rows", plain, "--key-file", key).status == 0)
  }

  @Test func damagedPagesAreTold() throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: store))
    try file.seek(toOffset: 1024 * 6 + 500)
    try file.write(contentsOf: Data([1, 2, 3]))
    try file.close()
    let check = try Program.run("check", "--format", "ndjson", store, "--key-file", key)
    #expect(check.status == 1)
    #expect(
      try check.lines().contains {
        $0["id"]?.string == "page.notAuthentic" && $0["page"]?.integer == 7
      }, "\(check.text)")
    let rows = try Program.run("rows", "--format", "ndjson", store, "--key-file", key)
    #expect(rows.status == 1 && rows.errors.contains("authentication code"), "\(rows.errors)")
    let inspect = try Program.run("inspect", store, "--key-file", key)
    #expect(inspect.text.contains("damaged"))
  }

  /// In a folder, an encrypted store is named; with its key it is one of the stores.
  @Test func inAFolder() throws {
    let folder = place.url.path
    let without = try Program.run("inspect", folder)
    #expect(
      without.text.contains("Secret.sqlite") && without.text.contains("encrypted"),
      "\(without.text)")
    let with = try Program.run("inspect", "--json", folder, "--key-file", key)
    #expect(with.status == 0, "\(with.errors)")
    #expect(with.text.components(separatedBy: "\"liveRowCount\" : 400").count == 3, "\(with.text)")
  }

  @Test func triageHasTheKey() throws {
    func lines(_ arguments: [String]) throws -> [JSON] {
      try Program.run(["triage", store, plain] + arguments).lines()
    }
    let locked = try lines([])
    #expect(locked[0]["failed"]?["code"]?.string == "file.looksEncrypted")
    #expect(locked[0]["fix"]?.string == "key")
    let opened = try lines(["--key-file", key])
    #expect(opened[0]["rows"]?["live"]?.integer == 400)
    for member in ["signature", "rows", "findings", "fix"] {
      #expect(opened[0][member] == opened[1][member], "\(opened[0])")
    }
    try Data("the sea is rough\n".utf8).write(to: URL(fileURLWithPath: key))
    let wrong = try lines(["--key-file", key])
    #expect(wrong[0]["failed"]?["code"]?.string == "cipher.noKeyFits")
    #expect(wrong[0]["fix"]?.string == "key")
    #expect(wrong[1] == opened[1])
  }
}
