import CLibrary
import Fixtures
import Foundation
import Testing

/// `lifeboat triage`: what each kind of input is a case of. What each line must say was worked out by hand.
@Suite struct TriageTests {
  private let demo: Demonstration
  private let place: TemporaryFolder

  init() throws {
    demo = try Demonstration.shared.get()
    place = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }

  /// The lines of a run by the last component of their paths.
  private func lines(_ arguments: String..., status: Int32 = 1) throws -> [String: JSON] {
    let outcome = try Program.run(["triage"] + arguments)
    #expect(outcome.status == status, "\(outcome.errors)")
    var lines: [String: JSON] = [:]
    for line in try outcome.lines() {
      #expect(line["schema"]?.string == "lifeboat.triage" && line["version"]?.integer == 1)
      lines[URL(fileURLWithPath: line["path"]?.string ?? "").lastPathComponent] = line
    }
    return lines
  }

  private func bundle(_ name: String, _ options: String...) throws -> String {
    let made = try Program.run(
      ["bundle", "create", demo.incident.path, "-o", path(name)] + options)
    try #require(made.status == 0, "\(name): \(made.errors)")
    return path(name)
  }

  private func write(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
  }

  @Test func storesAndWhatIsNone() throws {
    let sound = place.url.appendingPathComponent("sound.sqlite")
    try smallRows(megabytes: 1, at: sound)
    let content = try bytes(of: sound)
    let connection = try SQLiteConnection(sound)
    var rows: Int64 = 0
    for table in try connection.ordinaryTables() {
      rows += try #require(
        try connection.integer("SELECT count(*) FROM \(SQLiteConnection.quoted(table))"))
    }
    let notes = try connection.integer("SELECT count(*) FROM ZNOTE")
    connection.close()
    try write([UInt8](repeating: 0, count: 4096) + content[4096...], "wiped.sqlite")
    try write(Array(content[..<(content.count / 8192 * 4096)]), "cut.sqlite")
    try randomFile(place.url.appendingPathComponent("random.sqlite"), bytes: 65_536, seed: 5)
    try write(Array("just text, and not even much of it\n".utf8), "text.txt")
    // A store all of which is in the log: what a copy leaves that took the main file too early.
    let live = place.url.appendingPathComponent("live.sqlite")
    let writer = try SQLiteConnection(live)
    try writer.exec(
      "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)"
    )
    try write([], "empty.sqlite")
    try write(bytes(of: URL(fileURLWithPath: live.path + "-wal")), "empty.sqlite-wal")
    writer.close()
    try #require(unsafe mkfifo(path("fifo"), 0o600) == 0)

    let names = [
      "sound.sqlite", "wiped.sqlite", "cut.sqlite", "random.sqlite", "text.txt", "empty.sqlite",
      "fifo", "missing",
    ]
    let outcome = try Program.run(["triage"] + names.map(path) + ["/dev/zero"])
    #expect(outcome.status == 1)
    let all = try outcome.lines()
    // In the order of the inputs.
    #expect(all.map { $0["path"]?.string } == names.map(path) + ["/dev/zero"])
    let lines = Dictionary(uniqueKeysWithValues: zip(names + ["zero"], all))
    for (name, kind, verdict, problem, fix) in [
      ("sound.sqlite", "store", "healthy", nil, nil),
      ("wiped.sqlite", "store", "corrupt", nil, "recover"),
      ("cut.sqlite", "store", "corrupt", nil, "resend"),
      ("random.sqlite", "store", "unread", "file.looksEncrypted", "key"),
      ("text.txt", "store", "unread", "file.notADatabase", nil),
      ("fifo", "unknown", "unread", "file.notRegular", nil),
      ("missing", "unknown", "unread", "file.missing", nil),
      ("zero", "unknown", "unread", "file.notRegular", nil),
    ] as [(String, String, String, String?, String?)] {
      let line = try #require(lines[name])
      #expect(line["kind"]?.string == kind, "\(name)")
      #expect(line["signature"]?["verdict"]?.string == verdict, "\(name)")
      #expect(line["signature"]?["problem"]?.string == problem, "\(name)")
      #expect(line["failed"]?["code"]?.string == problem, "\(name)")
      #expect(line["fix"]?.string == fix, "\(name)")
      if verdict == "unread" {
        #expect(
          line["rows"] == .object(["live": .null, "lost": .null, "recoverable": .null]), "\(name)")
      }
    }
    #expect(lines["sound.sqlite"]?["rows"]?["live"]?.integer == notes)
    #expect(lines["sound.sqlite"]?["rows"]?["lost"]?.integer == 0)
    #expect(lines["sound.sqlite"]?["sizes"]?["inputBytes"]?.integer == Int64(content.count))
    #expect(lines["wiped.sqlite"]?["rows"]?["live"] == .null)
    #expect(lines["cut.sqlite"]?["rows"]?["lost"] == .null)
    #expect(lines["empty.sqlite"]?["rows"]?["live"]?.integer == 3)
    #expect(lines["empty.sqlite"]?["failed"] == nil)

    // As a folder: what is no store there is no input; what was one is.
    try FileManager.default.removeItem(atPath: live.path)
    let found = try self.lines(place.url.path)
    #expect(
      found.keys.sorted() == [
        "cut.sqlite", "empty.sqlite", "random.sqlite", "sound.sqlite", "wiped.sqlite",
      ])
    for (name, line) in found { #expect(line == lines[name], "\(name)") }
    // With a recovery counted: the page that was wiped held the schema, so all rows are there.
    let surveyed = try self.lines("--survey", path("wiped.sqlite"))
    #expect(surveyed["wiped.sqlite"]?["rows"]?["recoverable"]?.integer == rows)
    #expect(surveyed["wiped.sqlite"]?["rows"]?["live"] == .null)
  }

  @Test func bundlesAndIncidents() throws {
    let key = try Program.run("bundle", "keygen", "-o", path("key")).text
      .trimmingCharacters(in: .newlines)
    _ = try bundle("structure.zip")
    _ = try bundle("store.zip", "--include", "store")
    _ = try bundle("secret.age", "--to", key)
    try write(Array("a passphrase of some words".utf8), "words")
    let found = try lines(place.url.path, demo.incident.path, "-i", path("key"))
    let incident = try #require(found[demo.incident.lastPathComponent])
    #expect(found.count == 4)
    #expect(incident["kind"]?.string == "incident")
    #expect(incident["signature"]?["verdict"]?.string == "incompatible")
    #expect(incident["fix"]?.string == "migrate")
    #expect(incident["app"] == .object(["name": .string("Notes"), "version": .string("2.0")]))
    #expect(incident["signature"]?["build"]?.string == "2.0")
    #expect(incident["dateSource"]?.string == "incident")
    // A bundle of it is the same case, whatever it holds and however it is packed.
    for (name, contents, isEncrypted) in [
      ("structure.zip", "structure", false), ("store.zip", "store", false),
      ("secret.age", "structure", true),
    ] {
      let line = try #require(found[name])
      #expect(line["kind"]?.string == "bundle" && line["contents"]?.string == contents)
      #expect(line["isEncrypted"]?.boolean == isEncrypted)
      for member in ["signature", "rows", "findings", "app", "store", "fix", "date"] {
        #expect(line[member] == incident[member], "\(name): \(member)")
      }
    }
    // Without the key it is a line with the reason.
    let locked = try #require(try lines(path("secret.age"))["secret.age"])
    #expect(locked["failed"]?["code"]?.string == "age.noKeyFits")
    #expect(locked["fix"]?.string == "key" && locked["isEncrypted"]?.boolean == true)
    // No title of a note, and no private folder.
    let text = try Program.run("triage", demo.folder.path, path("store.zip")).text
    for word in ["Groceries", "Milk", "lifeboat.triage-"] { #expect(!text.contains(word)) }
  }

  /// Nobody has to send again what the app has back.
  @Test func aRestoredIncident() throws {
    let demo = try Demonstration()
    let stores = demo.folder.appendingPathComponent("Stores").path
    let restored = try Program.run("incidents", "restore", stores, demo.incident.lastPathComponent)
    try #require(restored.status == 0, "\(restored.errors)")
    func problemAndFix() throws -> [String?] {
      let line = try #require(
        try lines(demo.incident.path)[demo.incident.lastPathComponent])
      return [line["signature"]?["problem"]?.string, line["fix"]?.string]
    }
    #expect(try problemAndFix() == ["incident.restored", nil])
    // An outcome without words does not count as an outcome.
    for content in ["", "{}", #"{"kind":"moved","date":"2026-11-28T00:00:00Z"}"#] {
      try Data(content.utf8).write(to: demo.incident.appendingPathComponent("outcome.json"))
      #expect(try problemAndFix() == ["incident.noStore", "resend"])
    }
  }

  /// A record that cannot be read does not hide the store, and a store that is not there cannot be migrated.
  @Test func incidentsOfWhichAPartIsMissing() throws {
    let files = FileManager.default
    for (name, record) in [
      ("empty", ""), ("text", "no record"), ("other", "{}"), ("bare", "{}"), ("gone", nil),
    ] as [(String, String?)] {
      try files.copyItem(at: demo.incident, to: place.url.appendingPathComponent(name))
      if let record { try write(Array(record.utf8), name + "/incident.json") }
    }
    for suffix in ["", "-wal"] {
      for name in ["bare", "gone"] {
        try files.removeItem(atPath: path(name + "/store/Notes.sqlite" + suffix))
      }
    }
    let names = ["empty", "text", "other", "bare", "gone"]
    let outcome = try Program.run(["triage"] + names.map(path))
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("5 inputs read, 5 to be looked at"), "\(outcome.errors)")
    let found = Dictionary(uniqueKeysWithValues: zip(names, try outcome.lines()))
    let kept = try #require(try lines(demo.kept.path, status: 0)["Notes.sqlite"])
    for name in ["empty", "text", "other"] {
      let line = try #require(found[name])
      #expect(line["kind"]?.string == "incident" && line["failed"] == nil, "\(line)")
      #expect(line["signature"]?["problem"]?.string == "incident.unreadable")
      #expect(line["signature"]?["verdict"]?.string == "unread")
      for member in ["rows", "findings", "store"] {
        #expect(line[member] == kept[member], "\(name): \(member)")
      }
    }
    let gone = try #require(found["gone"])
    #expect(gone["signature"]?["problem"]?.string == "incident.noStore" && gone["failed"] == nil)
    #expect(gone["signature"]?["verdict"]?.string == "incompatible")
    #expect(gone["fix"]?.string == "resend", "\(gone)")
    // Without a store, too, what is wrong with the record is said.
    for (record, words) in [
      ("", "incident.json is empty"), ("no record", "incident.json is not JSON"),
      ("{}", "incident.json is not a record of an incident that this version can read"),
    ] {
      try write(Array(record.utf8), "bare/incident.json")
      let line = try #require(try lines(path("bare"))["bare"])
      #expect(line["failed"]?["code"]?.string == "incident.unreadable")
      #expect(line["failed"]?["message"]?.string == words, "\(line)")
    }
  }

  @Test func archivesThatDoHarm() throws {
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      folder = sys.argv[1]
      with zipfile.ZipFile(folder + '/bomb.zip', 'w', zipfile.ZIP_DEFLATED) as z:
        with z.open('a.sqlite', 'w', force_zip64=True) as f:
          f.write(b'SQLite format 3\\0')
          for _ in range(200): f.write(bytes(1 << 20))
      with zipfile.ZipFile(folder + '/other.zip', 'w') as z: z.writestr('readme.txt', 'nothing')
      with zipfile.ZipFile(folder + '/two.zip', 'w') as z:
        for name in ('a.sqlite', 'b.sqlite'): z.writestr(name, open(folder + '/s', 'rb').read())
      with zipfile.ZipFile(folder + '/whole.zip') as whole, zipfile.ZipFile(folder + '/changed.zip', 'w') as z:
        for info in whole.infolist():
          data = whole.read(info)
          if info.filename == 'inspection.json': data = data.replace(b'"damageCount" : 0', b'"damageCount" : 1')
          z.writestr(info.filename, data)
      """
    let store = place.url.appendingPathComponent("s")
    try smallRows(megabytes: 1, at: store)
    let structure = try bytes(of: URL(fileURLWithPath: bundle("whole.zip")))
    let made = try Fixtures.run(python, ["-c", script, place.url.path])
    try #require(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    try write(Array(structure[..<(structure.count / 2)]), "half.zip")
    let found = try lines(
      path("bomb.zip"), path("other.zip"), path("two.zip"), path("half.zip"), path("changed.zip"),
      path("whole.zip"))
    #expect(found["bomb.zip"]?["failed"]?["code"]?.string == "bundle.tooLarge")
    #expect(found["other.zip"]?["failed"]?["code"]?.string == "input.noStores")
    // What several stores are a case of is a line for each.
    #expect(found["two.zip"] == nil)
    for name in ["a.sqlite", "b.sqlite"] {
      let line = try #require(found[name])
      #expect(line["path"]?.string == path("two.zip/" + name))
      #expect(line["kind"]?.string == "archive" && line["failed"] == nil, "\(line)")
    }
    for name in ["half.zip", "changed.zip"] {
      #expect(found[name]?["failed"] != nil, "\(name)")
      #expect(found[name]?["fix"]?.string == "resend", "\(name): \(found[name] as Any)")
    }
    #expect(found["whole.zip"]?["failed"] == nil)
    // An archive of something else that is met in a folder is nobody's case.
    let walked = try lines(place.url.path)
    #expect(walked["other.zip"] == nil && walked["bomb.zip"] != nil)
  }

  /// An archive in an archive stands for its only store, and a name may have bytes that no unpacked file has.
  @Test func namesInArchives() throws {
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      folder = sys.argv[1]
      with zipfile.ZipFile(folder + '/inner.zip', 'w') as z: z.write(folder + '/s', 'a.sqlite')
      with zipfile.ZipFile(folder + '/outer.zip', 'w') as z:
        z.write(folder + '/inner.zip', 'inner.zip')
        z.write(folder + '/s', 'ten:30.sqlite')
      """
    let store = place.url.appendingPathComponent("s")
    try smallRows(megabytes: 1, at: store)
    let made = try Fixtures.run(python, ["-c", script, place.url.path])
    try #require(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    let names = ["inner.zip", "ten:30.sqlite"]
    let found = try lines(
      path("outer.zip/" + names[0]), path("outer.zip/" + names[1]), status: 0)
    for name in names { #expect(found[name]?["rows"]?["live"]?.integer ?? 0 > 0, "\(found)") }
  }

  /// A link to an archive stands for the archive, and so does its size; that of an encrypted bundle is as it was sent.
  @Test func sizesAreThoseOfTheFiles() throws {
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      folder = sys.argv[1]
      with zipfile.ZipFile(folder + '/one.zip', 'w') as z: z.write(folder + '/s', 'a.sqlite')
      """
    try smallRows(megabytes: 1, at: place.url.appendingPathComponent("s"))
    let made = try Fixtures.run(python, ["-c", script, place.url.path])
    try #require(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    let key = try Program.run("bundle", "keygen", "-o", path("key"))
    try #require(key.status == 0, "\(key.errors)")
    let recipient = try #require(key.text.firstMatch(of: /age1[0-9a-z]+/))
    let sealed = try bundle("sealed.zip.age", "--to", String(recipient.output))
    for name in ["one.zip", "sealed.zip.age"] {
      try FileManager.default.createSymbolicLink(
        atPath: path("link-" + name), withDestinationPath: path(name))
    }
    let found = try lines(
      path("one.zip"), path("link-one.zip"), sealed, path("link-sealed.zip.age"), "-i", path("key"))
    for name in ["one.zip", "sealed.zip.age"] {
      let size = Int64(try bytes(of: URL(fileURLWithPath: path(name))).count)
      for shown in [name, "link-" + name] {
        #expect(found[shown]?["sizes"]?["inputBytes"]?.integer == size, "\(shown)")
      }
    }
  }

  /// Whatever packs it, a store is the case that it is unpacked.
  @Test func tarArchivesAndGzip() throws {
    let python = try #require(findTool("python3"))
    let script = """
      import sys, tarfile, gzip
      folder = sys.argv[1]
      with tarfile.open(folder + '/one.tar', 'w') as t: t.add(folder + '/s', 'Documents/Notes.sqlite')
      with tarfile.open(folder + '/two.tar.gz', 'w:gz') as t:
        t.add(folder + '/s', 'Notes.sqlite')
        t.add(folder + '/wiped', 'Old.sqlite')
        t.add(folder + '/wiped', 'readme.txt')
      with gzip.open(folder + '/Notes.sqlite.gz', 'wb') as g: g.write(open(folder + '/s', 'rb').read())
      with tarfile.open(folder + '/none.tar', 'w') as t: t.add(sys.argv[0], 'readme.txt')
      """
    let store = place.url.appendingPathComponent("s")
    try smallRows(megabytes: 1, at: store)
    let content = try bytes(of: store)
    try write([UInt8](repeating: 0, count: 4096) + content[4096...], "wiped")
    try write(Array(script.utf8), "make.py")
    let made = try Fixtures.run(python, [path("make.py"), place.url.path])
    try #require(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    let alone = try lines(path("s"), path("wiped"))
    for name in ["s", "wiped"] { try FileManager.default.removeItem(atPath: path(name)) }
    let outcome = try Program.run("triage", place.url.path)
    let found = try outcome.lines()
    #expect(
      found.map { $0["path"]?.string }
        == [
          "Notes.sqlite.gz", "one.tar", "two.tar.gz/Notes.sqlite", "two.tar.gz/Old.sqlite",
        ].map(path))
    try #require(found.count == 4)
    for (place, name) in ["s", "s", "s", "wiped"].enumerated() {
      for member in ["signature", "rows", "findings", "fix"] {
        #expect(found[place][member] == alone[name]?[member], "\(found[place])")
      }
      #expect(found[place]["kind"]?.string == "archive")
      #expect(found[place]["date"] == nil)
    }
    // One of them by its name, and one that is not there.
    let named = try lines(path("two.tar.gz/Old.sqlite"), path("two.tar.gz/New.sqlite"))
    #expect(named["Old.sqlite"] == found[3])
    #expect(named["New.sqlite"]?["failed"]?["code"]?.string == "input.unknownName")
    // A run that goes on tells the same.
    let again = [
      "triage", place.url.path, "--journal", path("../" + place.url.lastPathComponent + "-journal"),
    ]
    defer { try? FileManager.default.removeItem(atPath: again[3]) }
    let first = try Program.run(again)
    let second = try Program.run(again)
    #expect(first.stdout == outcome.stdout && second.stdout == outcome.stdout)
    #expect(second.errors.contains("4 taken from the journal"), "\(second.errors)")
    // And so does a catalogue.
    let catalog = path("../" + place.url.lastPathComponent + "-catalog")
    defer { try? FileManager.default.removeItem(atPath: catalog) }
    for _ in 0..<2 { _ = try Program.run("triage", place.url.path, "--catalog", catalog) }
    let connection = try SQLiteConnection(URL(fileURLWithPath: catalog))
    #expect(try connection.integer("SELECT count(*) FROM input") == 4)
    connection.close()
  }

  @Test func aFolderThatMayNotBeRead() throws {
    guard geteuid() != 0 else { return print("skipped: root may read every folder") }
    let closed = path("closed")
    try FileManager.default.createDirectory(atPath: closed, withIntermediateDirectories: false)
    unsafe _ = chmod(closed, 0)
    defer { unsafe _ = chmod(closed, 0o700) }
    let found = try lines(closed, path("missing"))
    #expect(found["closed"]?["failed"]?["code"]?.string == "file.permission")
  }

  @Test func groups() throws {
    for name in ["1.zip", "2.zip", "3.zip"] { _ = try bundle(name) }
    try write(Array("no store".utf8), "x")
    let inputs = ["1.zip", "2.zip", "3.zip", "x"].map(path)
    let json = try Program.run(["triage", "--group", "--json"] + inputs).json()
    #expect(json["schema"]?.string == "lifeboat.triageGroups")
    #expect(json["inputCount"]?.integer == 4 && json["careCount"]?.integer == 4)
    #expect(json["failedCount"]?.integer == 1)
    let first = try #require(json["groups"]?[0])
    #expect(first["count"]?.integer == 3)
    #expect(first["examples"]?.strings == Array(inputs[..<3]))
    #expect(first["builds"] == .object(["2.0": .integer(3)]))
    #expect(first["fixes"] == .object(["migrate": .integer(3)]))
    #expect(first["firstSeen"] == first["lastSeen"])
    let text = try Program.run(["triage", "--group"] + inputs, columns: 80)
    #expect(text.status == 1)
    #expect(text.text.contains("3 inputs: incompatible"), "\(text.text)")
    // Paths are not broken.
    #expect(
      text.text.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.contains("/") },
      "\(text.text)")
  }

  /// The page has the numbers of the JSON form, and a browser has nothing against it.
  @Test func groupsAsAPage() throws {
    for name in ["1.zip", "2.zip", "3.zip"] { _ = try bundle(name) }
    try smallRows(megabytes: 1, at: place.url.appendingPathComponent("s.sqlite"))
    try write(Array("no store".utf8), "x")
    let inputs = ["1.zip", "2.zip", "3.zip", "s.sqlite", "x"].map(path)
    let json = try Program.run(["triage", "--group", "--json"] + inputs).json()
    let made = try Program.run(
      ["triage", "--group", "--format", "html", "-o", path("page.html")] + inputs)
    #expect(made.status == 1 && made.text.contains("written to"), "\(made.errors)")
    let html = try String(contentsOfFile: path("page.html"), encoding: .utf8)
    #expect(SealedPage.faults(in: html) == [])
    func count(_ name: String) -> String { json[name]?.integer.map(String.init) ?? "" }
    #expect(SealedPage.fact(html, "To be looked at") == count("careCount"))
    #expect(html.contains("\(count("careCount")) of 5 inputs to be looked at"))
    let cases = try #require(SealedPage.section(html, "cases"))
    let groups = try #require(json["groups"]?.array)
    for (place, group) in groups.enumerated() {
      let words = try #require(group["words"]?.string)
      #expect(cases.contains("<a href=\"#case\(place + 1)\">\(words)</a>"), "\(cases)")
    }
    // Every input that has a day is in a bar.
    let times = try #require(SealedPage.section(html, "times"))
    let told = times.matches(of: #/(?:healthy|to be looked at): ([0-9]+)/#).reduce(0) {
      $0 + (Int($1.1) ?? 0)
    }
    let dated = groups.flatMap { $0["days"]?.object?.values.compactMap(\.integer) ?? [] }
    #expect(told == Int(dated.reduce(0, +)) && told == 4)
    let fixes = try #require(SealedPage.section(html, "fixes"))
    #expect(fixes.contains("<th scope=\"row\">migrate</th><td class=\"number\">3</td>"))
    if let opened = try SealedPage.opened(html) {
      #expect(opened.complaints.isEmpty, "\(opened.complaints)")
      #expect(opened.dom.contains("aria-sort") || opened.dom.contains("Show only lines with"))
    } else {
      print("skipped: no browser to open the page in")
    }
    // Nothing is read when the page cannot be made.
    let again = try Program.run(
      ["triage", "--group", "--format", "html", "-o", path("page.html")] + inputs)
    #expect(again.status == 73)
    let wrong = try Program.run(["triage", "--format", "html"] + inputs)
    #expect(wrong.status == 64)
  }

  /// Workers need a place for what they unpack.
  @Test func aMissingTemporaryFolder() throws {
    let outcome = try Program.run(
      ["triage", demo.kept.path], temporaryFolder: path("none"))
    #expect(outcome.status == 73, "\(outcome.errors)")
    #expect(outcome.errorCode == "bundle.cannotCreate", "\(outcome.errors)")
    #expect(outcome.errors.contains(path("none")) && outcome.errors.contains("TMPDIR"))
    #expect(outcome.text.isEmpty)
  }

  @Test func wrongUsage() throws {
    for arguments in [
      ["triage"], ["triage", "-", "-"], ["triage", "x", "--workers", "0"],
      ["triage", "x", "--timeout", "0"], ["triage", "x", "--max-memory", "1"],
      ["triage", "query", "frequent"], ["triage", "query", "nope", "x"],
      ["triage", "query", "new", "x", "--limit", "0"],
      ["triage", "query", "new", "x", "--since", "yesterday"],
      ["triage", "query", "new", "x", "--since", "2026-13-45"],
      ["triage", "query", "new", "x", "--since", "2026-02-30"],
      ["triage", "query", "new", "x", "--since", "2025-02-29"],
      ["triage", "query", "new", "x", "--since", "2026-00-01"],
    ] {
      #expect(try Program.run(arguments).status == 64, "\(arguments)")
    }
    // Days that exist.
    for day in ["2024-02-29", "2026-12-31"] {
      let outcome = try Program.run("triage", "query", "new", path("none"), "--since", day)
      #expect(outcome.status == 66, "\(day): \(outcome.errors)")
    }
    // What would become part of the evidence.
    let store = demo.kept.path
    #expect(try Program.run("triage", store, "--journal", store + "-wal").status == 73)
    #expect(try Program.run("triage", store, "--journal", store).status == 73)
    #expect(try Program.run("triage", place.url.path, "--catalog", path("c.sqlite")).status == 73)
    for (name, content) in [("empty-wal", ""), ("text", "{}"), ("other", "{\"schema\":1}\n")] {
      let content = Array(content.utf8)
      try write(content, name)
      let refused = try Program.run("triage", store, "--journal", path(name))
      #expect(refused.errorCode == "triage.noJournal", "\(name)")
      #expect(try bytes(of: URL(fileURLWithPath: path(name))) == content)
    }
  }

  /// A list whose paths end in zero bytes, read without `--null`.
  @Test func aListWithZeroBytes() throws {
    let program = try #require(Program.path)
    for list in ["a.zip\0b.zip\0", String(repeating: "some/long/path\0", count: 5000)] {
      let outcome = try Fixtures.run(program, ["triage", "-"], stdin: Data(list.utf8))
      let line = try JSONDecoder().decode(JSON.self, from: outcome.stdout)
      #expect(line["failed"]?["message"]?.string?.contains("--null") == true, "\(line)")
    }
  }

  /// When nobody reads the counts any more, the run ends as other programs do.
  @Test func aClosedOutputEndsTheRun() throws {
    let python = try #require(findTool("python3"))
    let script = """
      import os, subprocess, sys
      reading, writing = os.pipe()
      os.close(reading)
      run = subprocess.run(sys.argv[1:], stdout=writing, stderr=subprocess.PIPE)
      print(run.returncode, run.stderr.decode())
      """
    let program = try #require(Program.path)
    for options in [[], ["--group"], ["--group", "--json"]] {
      let outcome = try Fixtures.run(
        python, ["-c", script, program, "triage", demo.incident.path] + options)
      let text = String(decoding: outcome.stdout, as: UTF8.self)
      #expect(text == "-\(SIGPIPE) \n", "\(options): \(text)")
    }
  }
}
