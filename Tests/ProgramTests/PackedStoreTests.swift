import Fixtures
import Foundation
import Testing

/// Commands that read a store, given what the store came in. What they say of the store itself is the truth.
@Suite struct PackedStoreTests {
  private let demo: Demonstration
  private let place: TemporaryFolder

  /// A key, and bundles of the demo's store; made once.
  private static let files = Result { try makeFiles() }

  init() throws {
    demo = try Demonstration.shared.get()
    place = try TemporaryFolder()
    for (name, content) in try Self.files.get() {
      try content.write(to: URL(fileURLWithPath: path(name)))
    }
  }

  private static func makeFiles() throws -> [(name: String, content: Data)] {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }
    let key = try Program.run("bundle", "keygen", "-o", path("key"))
    try #require(key.status == 0, "\(key.errors)")
    for (name, options) in [
      ("store.zip", ["--include", "store"]), ("structure.zip", []),
      ("rows.zip", ["--include", "rows"]),
      ("plain.zip", ["--include", "rows", "--redact", "none"]),
      (
        "store.age",
        ["--include", "store", "--to", key.text.trimmingCharacters(in: .newlines)]
      ),
    ] {
      let made = try Program.run(
        ["bundle", "create", demo.kept.path, "-o", path(name)] + options)
      try #require(made.status == 0, "\(name): \(made.errors)")
    }
    return try FileManager.default.contentsOfDirectory(atPath: place.url.path).sorted().map {
      ($0, try Data(contentsOf: URL(fileURLWithPath: path($0))))
    }
  }

  private func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }

  /// Whether a text names a folder that unpacked stores are in; those of tests have names of their own.
  private static func namesPrivateFolder(_ bytes: Data) -> Bool {
    String(decoding: bytes, as: UTF8.self).contains(/\/lifeboat-(?!test-)/)
  }

  private static let readers: [[String]] = [
    ["inspect", "--json"], ["inspect", "-v"], ["check"], ["check", "--json"], ["rows"],
    ["rows", "--format", "ndjson"], ["rows", "--raw", "--format", "json"], ["rows", "--all"],
    ["rows", "--deleted", "--format", "ndjson"], ["rows", "--entity", "Note", "--format", "csv"],
    ["pages"], ["pages", "--page", "1"], ["pages", "--json"], ["timeline", "--dates"],
    ["timeline", "--format", "timesketch", "--dates"], ["recover", "--dry-run", "--json"],
    ["recover", "--dry-run"], ["salvage", "--dry-run"], ["salvage", "--dry-run", "--json"],
    ["rows", "--entity", "Nope"], ["pages", "--page", "99999"],
  ]

  /// By turns, each takes an archive or an encrypted one; in long rounds, both.
  @Test func everyReaderTakesABundle() throws {
    let temporary = place.url.appendingPathComponent("temporary")
    try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
    let forms = [[path("store.zip")], [path("store.age"), "-i", path("key")]]
    for (turn, arguments) in Self.readers.enumerated() {
      let truth = try Program.run(arguments + [demo.kept.path])
      for packed in Rounds.part(of: forms, every: 2, from: turn % 2) {
        let outcome = try Program.run(arguments + packed, temporaryFolder: temporary.path)
        #expect(outcome.status == truth.status, "\(arguments) \(packed): \(outcome.errors)")
        // The name of the bundle replaces that of the store, and suggestions name its key; lines may break elsewhere.
        func bare(_ text: String, _ path: String) -> [Substring] {
          let name = URL(fileURLWithPath: path).lastPathComponent
          let named = text.replacingOccurrences(of: path, with: "STORE")
            .replacingOccurrences(of: name + "  ", with: "STORE  ")
          let ofKey = ["-i", self.path("key")]
          return named.split { $0 == " " || $0 == "\n" }.filter { !ofKey.contains(String($0)) }
        }
        #expect(
          bare(outcome.text, packed[0]) == bare(truth.text, demo.kept.path)
            || arguments.contains("-v"), "\(arguments)")
        for text in [outcome.stdout, outcome.stderr] {
          #expect(!Self.namesPrivateFolder(text), "\(arguments): \(outcome.text)")
        }
        #expect(outcome.errorCode == truth.errorCode)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
  }

  @Test func everyWriterTakesABundle() throws {
    for (index, arguments) in [
      ["extract"], ["extract", "--format", "ndjson"], ["extract", "--format", "sqlite"],
      ["recover"], ["recover", "--deleted"], ["salvage"],
      ["migrate", "--to", demo.kept.path],
    ].enumerated() {
      let (one, two) = (path("a\(index)"), path("b\(index)"))
      let truth = try Program.run(arguments + [demo.kept.path, "-o", one])
      let outcome = try Program.run(
        arguments + [path("store.age"), "-i", path("key"), "-o", two])
      #expect(outcome.status == truth.status, "\(arguments): \(outcome.errors)")
      #expect(!Self.namesPrivateFolder(outcome.stdout + outcome.stderr))
      if arguments[0] != "extract" || arguments.last == "sqlite" {
        let difference = try Program.run("compare", "--json", one, two).json()
        #expect(difference["schemaChanges"]?.array == [], "\(arguments)")
        let tables = difference["tables"]?.array ?? []
        // A new store has an identifier of its own, and the table about the source names the source.
        #expect(
          tables.allSatisfy { ["_provenance", "Z_METADATA"].contains($0["table"]?.string) },
          "\(arguments): \(tables)")
      }
      let places = FileManager.default.enumerator(atPath: two)?.compactMap { $0 as? String } ?? []
      for file in places.isEmpty ? [two] : places.map({ two + "/" + $0 }) {
        guard let bytes = FileManager.default.contents(atPath: file) else { continue }
        #expect(!Self.namesPrivateFolder(bytes), "\(arguments): \(file)")
      }
      if arguments[0] == "extract", arguments.last != "sqlite" {
        let names = FileManager.default.enumerator(atPath: one)?.compactMap { $0 as? String } ?? []
        #expect(names.sorted() == places.sorted())
        for name in names {
          #expect(
            FileManager.default.contents(atPath: one + "/" + name)
              == FileManager.default.contents(atPath: two + "/" + name), "\(name)")
        }
      }
    }
    // An output beside the bundle that is named like a part of it, and one in its place.
    #expect(try Program.run("recover", path("store.zip"), "-o", path("store.zip")).status == 73)
  }

  @Test func otherThingsThatHoldAStore() throws {
    let truth = try Program.run("rows", demo.kept.path).text
    #expect(try Program.run("rows", demo.incident.path).text == truth)
    #expect(
      try Program.run("rows", demo.incident.appendingPathComponent("store").path).text == truth)
    // A folder with two stores is not guessed about.
    let two = try Program.run("rows", demo.folder.appendingPathComponent("Stores").path)
    #expect(two.status == 64 && two.errorCode == "usage.oneStore", "\(two.errors)")
    let python = try #require(findTool("python3"))
    let script = """
      import sys, os, zipfile
      z = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED)
      for folder, _, names in os.walk(sys.argv[2]):
        for name in names:
          path = os.path.join(folder, name)
          z.write(path, 'App/Documents/' + os.path.relpath(path, sys.argv[2]))
      z.close()
      """
    let made = try Fixtures.run(
      python,
      [
        "-c", script, path("folder.zip"), demo.incident.appendingPathComponent("store").path,
      ])
    #expect(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    let zipped = try Program.run("rows", path("folder.zip"))
    #expect(zipped.text == truth, "\(zipped.errors)")
    // A store is known by what is in it, whatever its name is.
    let moody = place.url.appendingPathComponent("moody")
    try FileManager.default.createDirectory(at: moody, withIntermediateDirectories: false)
    try FileManager.default.copyItem(
      at: demo.kept, to: moody.appendingPathComponent("Notes.moody"))
    try FileManager.default.copyItem(
      atPath: demo.kept.path + "-wal", toPath: moody.path + "/Notes.moody-wal")
    let other = try Fixtures.run(python, ["-c", script, path("moody.zip"), moody.path])
    #expect(other.status == 0)
    let named = try Program.run("rows", "--entity", "Tag", path("moody.zip"))
    #expect(
      named.text == (try Program.run("rows", "--entity", "Tag", demo.kept.path).text),
      "\(named.errors)")
    // A link beside the store is not its log.
    let linking = try Fixtures.run(
      python,
      [
        "-c",
        """
        import sys, zipfile
        z = zipfile.ZipFile(sys.argv[1], 'w'); z.write(sys.argv[2], 'x.db')
        link = zipfile.ZipInfo('x.db-wal'); link.create_system = 3; link.external_attr = 0o120777 << 16
        z.writestr(link, '/etc/passwd'); z.close()
        """, path("link.zip"), demo.kept.path,
      ])
    #expect(linking.status == 0)
    let link = try Program.run("check", path("link.zip"))
    #expect(link.status == 65 && link.errorCode == "bundle.unsupported", "\(link.errors)")
    // A name that no file can have.
    let long = try Fixtures.run(
      python,
      [
        "-c",
        "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').write(sys.argv[2], 'l' * 300 + '.db')",
        path("long.zip"), demo.kept.path,
      ])
    #expect(long.status == 0)
    let refused = try Program.run("inspect", path("long.zip"))
    #expect(refused.status == 73 && !Self.namesPrivateFolder(refused.stderr), "\(refused.errors)")
    // An archive of something else.
    let empty = try Fixtures.run(
      python,
      [
        "-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr('a.txt', 'a')",
        path("text.zip"),
      ])
    #expect(empty.status == 0)
    let none = try Program.run("rows", path("text.zip"))
    #expect(none.status == 65 && none.errorCode == "input.noStores", "\(none.errors)")
    #expect(!Self.namesPrivateFolder(none.stderr))
    #expect(try Program.run("compare", path("folder.zip"), path("store.zip")).status == 0)
  }

  @Test func bundlesWithoutTheStore() throws {
    // What was recorded, instead of the store.
    let recorded = try Program.run("inspect", "--json", path("structure.zip"))
    #expect(recorded.status == 0 && recorded.errors.contains("does not hold the store"))
    let inspection = try Program.run("inspect", "--json", demo.kept.path).json()
    #expect(try recorded.json()["entities"] == inspection["entities"])
    for arguments in [
      ["check"], ["rows"], ["pages"], ["timeline"], ["recover", "-n"], ["salvage", "-n"],
      ["extract", "-o", path("no")],
    ] {
      let refused = try Program.run(arguments + [path("structure.zip")])
      #expect(refused.status == 65 && refused.errorCode == "bundle.noStore", "\(refused.errors)")
    }
    // Rows as they are: what the store itself gives.
    let rows = try Program.run("rows", "--format", "ndjson", demo.kept.path)
    #expect(try Program.run("rows", "--format", "ndjson", path("plain.zip")).text == rows.text)
    let note = try Program.run(
      "rows", "--format", "ndjson", "--entity", "Note", "--limit", "2", path("rows.zip"))
    #expect(
      try note.lines().count == 2 && note.lines().allSatisfy { $0["entity"]?.string == "Note" })
    let table = try Program.run("rows", path("rows.zip"))
    #expect(table.status == 0 && table.text.contains("Note, 6 rows"), "\(table.text)")
    #expect(!table.text.contains("Grandma"))
    let all = try Program.run("rows", "--json", path("rows.zip")).json()
    #expect(all["rows"]?.array?.count == 11)
    let unknown = try Program.run("rows", "--entity", "Nite", path("rows.zip"))
    #expect(unknown.status == 64 && unknown.errors.contains("Note"), "\(unknown.errors)")
  }

  /// Rows of tables have values without names, and Foundation reads no infinite number.
  @Test func rowsOfTables() throws {
    let store = place.url.appendingPathComponent("tables.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE t (a, b, c);
      INSERT INTO t VALUES ('green tea', 9e999, -9e999), ('9e999', 1, NULL);
      """)
    connection.close()
    let made = try Program.run(
      "bundle", "create", store.path, "-o", path("tables.zip"), "--include", "rows", "--redact",
      "none")
    try #require(made.status == 0, "\(made.errors)")
    let text = try Program.run("rows", path("tables.zip"))
    #expect(text.status == 0, "\(text.errors)")
    for part in ["t, 2 rows", "rowid  c0", "green tea", " inf ", "-inf", "9e999"] {
      #expect(text.text.contains(part), "\(part): \(text.text)")
    }
    let lines = try Program.run("rows", "--format", "ndjson", path("tables.zip"))
    #expect(try lines.text == Program.run("rows", "--format", "ndjson", store.path).text)
    // Such a bundle holds no deleted rows, so its live ones are not passed off as deleted.
    for option in ["--deleted", "--indexed"] {
      let refused = try Program.run("rows", option, path("tables.zip"))
      #expect(refused.status == 64 && refused.errorCode == "usage.noChoice", "\(refused.errors)")
    }
  }

  @Test func changedAndLockedBundles() throws {
    let locked = try Program.run("rows", path("store.age"))
    #expect(locked.status == 65 && locked.errorCode == "age.noKeyFits")
    #expect(
      try Program.run("model", "show", path("store.age"), "-i", path("key")).text.contains("Note"))
    // A store in a bundle that somebody has changed is not read as if it were the one that was sent.
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      old = zipfile.ZipFile(sys.argv[1]); new = zipfile.ZipFile(sys.argv[2], 'w')
      for entry in old.infolist():
        data = old.read(entry)
        if entry.filename.endswith(sys.argv[3]): data = data[:-1] + bytes([data[-1] ^ 1])
        new.writestr(entry, data)
      new.close()
      """
    for (number, ending) in ["-wal", "Notes.sqlite", "D90A41"].enumerated() {
      let changed = path("changed-\(number).zip")
      let made = try Fixtures.run(python, ["-c", script, path("store.zip"), changed, ending])
      #expect(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
      for command in ["rows", "check", "inspect"] {
        let refused = try Program.run(command, changed)
        #expect(
          refused.status == 65 && refused.errorCode == "bundle.entryChanged", "\(refused.errors)")
      }
    }
    let log = path("custody.ndjson")
    #expect(try Program.run("rows", "--custody-log", log, path("store.zip")).status == 0)
    let record = try #require(
      try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").last)
    let json = try JSONDecoder().decode(JSON.self, from: Data(record.utf8))
    #expect(json["inputs"]?[0]?["sha256Before"]?["store.zip"] != nil)
    #expect(json["passedOver"] == nil)
  }

  /// What somebody has written into a bundle is not shown as what the bundle says.
  @Test func aChangedRecordIsNotShown() throws {
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      old = zipfile.ZipFile(sys.argv[1]); new = zipfile.ZipFile(sys.argv[2], 'w')
      for entry in old.infolist():
        data = old.read(entry)
        if entry.filename == 'inspection.json':
          if sys.argv[3] == 'removed': continue
          for form in [b'"damageCount":%d', b'"damageCount" : %d']:
            data = data.replace(form % 0, form % 7)
        new.writestr(entry, data)
      new.close()
      """
    for how in ["changed", "removed"] {
      let made = try Fixtures.run(python, ["-c", script, path("structure.zip"), path(how), how])
      #expect(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
      for options in [[], ["--json"]] {
        let refused = try Program.run(["bundle", "show", path(how)] + options)
        #expect(refused.status == 65 && refused.text.isEmpty, "\(how): \(refused.text)")
        #expect(refused.errors.contains("bundle.entryChanged"), "\(refused.errors)")
      }
    }
    // Numbers that a hostile bundle records, with the hashes that fit, may be any.
    let hostile = """
      import hashlib, json, sys, zipfile
      old = zipfile.ZipFile(sys.argv[1]); new = zipfile.ZipFile(sys.argv[2], 'w')
      record = json.loads(old.read('inspection.json'))
      record['plainTables'] = [{'name': 't%d' % n, 'rowCount': 2**63 - 1} for n in range(30)]
      for table in record['tables']: table['rowCount'] = 2**63 - 1
      for part in [record['file']] + record['members']: part['sizeBytes'] = -1
      changed = json.dumps(record).encode()
      for entry in old.infolist():
        data = old.read(entry)
        if entry.filename == 'inspection.json': data = changed
        if entry.filename == 'manifest.json':
          manifest = json.loads(data)
          for listed in manifest['entries']:
            if listed['name'] == 'inspection.json':
              listed['sha256'] = hashlib.sha256(changed).hexdigest(); listed['sizeBytes'] = len(changed)
          data = json.dumps(manifest).encode()
        new.writestr(entry, data)
      new.close()
      """
    let made = try Fixtures.run(python, ["-c", hostile, path("structure.zip"), path("numbers")])
    #expect(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    for command in [["bundle", "show"], ["inspect"]] {
      let shown = try Program.run(command + [path("numbers")])
      #expect(shown.text.contains("9,223,372,036,854,775,807 in 30 tables outside the model"))
    }
    let whole = try Program.run("bundle", "show", path("structure.zip"))
    #expect(whole.status == 0 && whole.text.contains("no damage found"), "\(whole.errors)")
    let locked = try Program.run(
      ["bundle", "show", path("store.age"), "-i", path("key")], columns: 400)
    #expect(locked.text.contains("bundle extract \(path("store.age")) -i \(path("key")) -o DIR"))
  }
}
