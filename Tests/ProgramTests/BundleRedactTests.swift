import Fixtures
import Foundation
import Testing

/// `bundle redact`: a stricter copy of a bundle.
@Suite struct BundleRedactTests {
  private let demo: Demonstration
  private let place: TemporaryFolder

  /// Bundles of the demo's store; made once.
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
    return try [
      ("store.zip", ["--include", "store"]), ("structure.zip", []),
      ("rows.zip", ["--include", "rows"]),
      ("plain.zip", ["--include", "rows", "--redact", "none"]),
    ].map { (name: String, options: [String]) in
      let file = place.url.appendingPathComponent(name)
      let made = try Program.run(
        ["bundle", "create", demo.kept.path, "-o", file.path] + options)
      try #require(made.status == 0, "\(name): \(made.errors)")
      return (name, try Data(contentsOf: file))
    }
  }

  private func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }

  private func rows(_ name: String) throws -> [JSON] {
    let entries = try BundleTests.unpack(URL(fileURLWithPath: path(name)))
    return try (entries["rows.ndjson"] ?? Data()).split(separator: 0x0a).map {
      try JSONDecoder().decode(JSON.self, from: Data($0))
    }
  }

  /// The texts of the demo that no redacted bundle may hold.
  private static let secrets = ["Grandma", "Shopping", "the mast", "loses anything", "Private"]

  private func expectNoSecrets(_ name: String) throws {
    for (entry, bytes) in try BundleTests.unpack(URL(fileURLWithPath: path(name))) {
      for secret in Self.secrets {
        #expect(!bytes.holds(secret), "\(secret) in \(entry)")
      }
    }
  }

  @Test func valuesBecomeTokens() throws {
    for source in ["store.zip", "plain.zip"] {
      let target = "copy-of-\(source)"
      let made = try Program.run("bundle", "redact", path(source), "-o", path(target))
      #expect(made.status == 0, "\(made.errors)")
      #expect(made.text.contains("removed: "), "\(made.text)")
      #expect(try Program.run("bundle", "verify", path(target)).status == 0)
      try expectNoSecrets(target)
      let (plain, redacted) = (try rows("plain.zip"), try rows(target))
      #expect(plain.count == 11 && redacted.count == 11)
      // What was equal is equal, and nothing else is.
      var tokens: [JSON: JSON] = [:]
      var values: [JSON: JSON] = [:]
      for (one, other) in zip(plain, redacted) {
        #expect(one["entity"] == other["entity"] && one["pk"] == other["pk"])
        let columns = try #require(one["values"]?.object)
        #expect(columns.keys.sorted() == other["values"]?.object?.keys.sorted())
        for (name, value) in columns {
          let token = other["values"]?[name]
          // References and NULL stay as they are.
          if value == .null || value["pk"] != nil || value.array != nil {
            #expect(value == token)
          } else if let token,
            let kind = ["text", "uuid", "data"].first(where: { token[$0] != nil })
          {
            let code = token[kind] ?? .null
            #expect(tokens.updateValue(code, forKey: value).map { $0 == code } ?? true)
            #expect(values.updateValue(value, forKey: code).map { $0 == value } ?? true)
          } else {
            #expect(token?["date"] != nil || token?["boolean"] != nil || token?["file"] != nil)
          }
        }
      }
      let dates = try [plain, redacted].map { rows in
        try rows.compactMap { row in
          try (row["values"]?["created"]?.string ?? row["values"]?["created"]?["date"]?.string).map
          {
            try Date.ISO8601FormatStyle(includingFractionalSeconds: $0.contains(".")).parse($0)
          }
        }
      }
      let distances = zip(dates[0], dates[1]).map { $1.timeIntervalSince($0) }
      #expect(distances.count == 6 && abs(distances[0]) > 300 * 86_400)
      #expect(distances.allSatisfy { abs($0 - distances[0]) < 0.01 })
    }
  }

  /// Nothing is done twice, and what is there already stays.
  @Test func aRedactedBundleStaysAsItIs() throws {
    let made = try Program.run("bundle", "redact", path("rows.zip"), "-o", path("again.zip"))
    #expect(made.status == 0 && made.text.contains("removed: nothing"), "\(made.text)")
    #expect(try rows("again.zip") == rows("rows.zip"))
    let structure = try Program.run(
      "bundle", "redact", path("structure.zip"), "--no-model", "-o", path("less.zip"))
    #expect(structure.status == 0 && structure.text.contains("removed: The model"))
    #expect(
      try BundleTests.unpack(URL(fileURLWithPath: path("less.zip")))["model.xcdatamodel/contents"]
        == nil)
  }

  /// A file that is there, but no bundle, is told as such; so is a store inside an archive. A missing file is missing.
  @Test func whatIsNoBundle() throws {
    let key = path("key")
    let keygen = try Program.run("bundle", "keygen", "-o", key)
    let recipient = keygen.text.trimmingCharacters(in: .newlines)
    let sealed = path("sealed.zip.age")
    let made = try Program.run(
      "bundle", "create", demo.kept.path, "--include", "store", "--to", recipient, "-o", sealed)
    #expect(made.status == 0, "\(made.errors)")
    for (input, flags, status, code) in [
      (demo.kept.path, [], 65, "bundle.manifestMissing"),
      (path("missing.zip"), [], 66, "bundle.inputMissing"),
      (sealed + "/store/Notes.sqlite", ["-i", key], 65, "bundle.manifestMissing"),
    ] as [(String, [String], Int32, String)] {
      let refused = try Program.run(["bundle", "redact", input, "-o", path("no.zip")] + flags)
      #expect(refused.status == status && refused.errorCode == code, "\(refused.errors)")
    }
  }

  @Test func whatStaysIsChosen() throws {
    let list = path("allow")
    try Data("lifeboat-allow 1\nTag.name\n".utf8).write(to: URL(fileURLWithPath: list))
    let made = try Program.run(
      "bundle", "redact", path("plain.zip"), "--allow", list, "--include", "rows:Tag,Folder", "-o",
      path("chosen.zip"), "--json")
    #expect(made.status == 0, "\(made.errors)")
    let removed = try made.json()["removed"]?.strings?.first
    #expect(removed?.hasPrefix("Rows left out because their entities") == true, "\(removed ?? "")")
    let rows = try rows("chosen.zip")
    #expect(Set(rows.compactMap { $0["entity"]?.string }) == ["Tag", "Folder"])
    for row in rows {
      let name = row["values"]?["name"]
      #expect((name?.string != nil) == (row["entity"]?.string == "Tag"))
    }
    for (text, code) in [
      ("Tag.nope", "bundle.unknownName"), ("Nope.name", "bundle.unknownName"),
      ("Tag", "bundle.badAllowList"),
    ] {
      try Data("lifeboat-allow 1\n\(text)\n".utf8).write(to: URL(fileURLWithPath: list))
      let refused = try Program.run(
        "bundle", "redact", path("plain.zip"), "--allow", list, "-o", path("no.zip"))
      #expect(refused.status != 0 && refused.errors.contains(code), "\(refused.errors)")
    }
    let structure = try Program.run(
      "bundle", "redact", path("plain.zip"), "--include", "structure", "-n")
    #expect(structure.status == 0 && structure.text.contains("removed: The rows of the bundle."))
    for arguments in [
      ["--include", "store"], ["--include", "structure", "--allow", list],
      ["--include", "rows:Nope"],
    ] {
      #expect(
        try Program.run(["bundle", "redact", path("plain.zip"), "-o", path("no.zip")] + arguments)
          .status == 64)
    }
    #expect(!FileManager.default.fileExists(atPath: path("no.zip")))
  }

  /// From one recipient to another, signed.
  @Test func anEncryptedBundleIsCopiedForAnother() throws {
    func key(_ name: String, _ options: String...) throws -> String {
      try Program.run(["bundle", "keygen", "-o", path(name)] + options).text
        .trimmingCharacters(in: .newlines)
    }
    let (mine, yours) = (try key("mine"), try key("yours"))
    let signing = try key("signing", "--signing")
    let sealed = try Program.run(
      "bundle", "create", demo.kept.path, "--include", "store", "--to", mine, "-o", path("mine.age")
    )
    #expect(sealed.status == 0, "\(sealed.errors)")
    let made = try Program.run(
      "bundle", "redact", path("mine.age"), "-i", path("mine"), "--to", yours, "--sign",
      path("signing"), "-o", path("yours.age"))
    #expect(made.status == 0, "\(made.errors)")
    let rows = try Program.run("rows", path("yours.age"), "-i", path("yours"))
    #expect(
      rows.status == 0 && rows.text.contains("Note, 6 rows") && !rows.text.contains("Grandma"))
    #expect(
      try Program.run(
        "bundle", "verify", path("yours.age"), "-i", path("yours"), "--public-key", signing
      ).status == 0)
    #expect(try Program.run("rows", path("yours.age"), "-i", path("mine")).status == 65)
  }

  /// What somebody has changed is not passed on as if it were what was sent.
  @Test func aChangedBundleIsNotCopied() throws {
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      old = zipfile.ZipFile(sys.argv[1]); new = zipfile.ZipFile(sys.argv[2], 'w')
      for entry in old.infolist():
        data = old.read(entry)
        if entry.filename == sys.argv[3]: data += b' '
        new.writestr(entry, data)
      new.close()
      """
    for name in ["counts.json", "nothing"] {
      let made = try Fixtures.run(
        python, ["-c", script, path("plain.zip"), path("\(name).zip"), name])
      try #require(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
      let refused = try Program.run("bundle", "redact", path("\(name).zip"), "-o", path("no.zip"))
      #expect(refused.status == 65 && refused.errorCode == "bundle.notIntact", "\(refused.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: path("no.zip")))
  }

  /// Tables of a plain file: what their names would tell is not copied, and one name has one token.
  @Test func plainTables() throws {
    for table in ["people", "Friends of Ursula"] {
      let store = place.url.appendingPathComponent("\(table).sqlite")
      let connection = try SQLiteConnection(store)
      try connection.exec(
        """
        CREATE TABLE "Ursula, other"(a); CREATE TABLE "\(table)"(a TEXT, b INTEGER);
        INSERT INTO "\(table)" VALUES('Ursula Meier', 4179123),('Ursula Meier', 2);
        INSERT INTO "Ursula, other" VALUES(1);
        """)
      connection.close()
      let (whole, copy) = ("whole \(table).zip", "copy \(table).zip")
      #expect(
        try Program.run(
          "bundle", "create", store.path, "-o", path(whole), "--include", "rows", "--redact", "none"
        ).status == 0)
      let made = try Program.run("bundle", "redact", path(whole), "-o", path(copy))
      #expect(made.status == 0, "\(made.errors)")
      let entries = try BundleTests.unpack(URL(fileURLWithPath: path(copy)))
      for (entry, bytes) in entries {
        #expect(!bytes.holds("Ursula"), "\(entry)")
        #expect(!bytes.holds("4179123"), "\(entry)")
      }
      let names = try rows(copy).map { try #require($0["table"]?.string) }
      try #require(names.count == 3)
      #expect(Set(names).count == 2, "\(names)")
      // A token of before names something else.
      let records = entries.filter { $0.key != "rows.ndjson" && $0.key != "manifest.json" }
      for name in Set(names).subtracting(["people"]) {
        #expect(name.hasPrefix("name-"))
        let inText = try NSRegularExpression(pattern: "\(name)(?![0-9])")
        for (entry, bytes) in records {
          let text = String(decoding: bytes, as: UTF8.self)
          #expect(
            inText.numberOfMatches(in: text, range: NSRange(location: 0, length: text.utf16.count))
              == 0, "\(name) in \(entry)")
        }
        #expect(made.text.contains(name) || made.text.contains(" to name-"), "\(made.text)")
      }
    }
  }

  /// Rows of an unknown entity are copied as such.
  @Test func rowsOfAnUnknownEntity() throws {
    let store = place.url.appendingPathComponent("odd.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: demo.kept.path + suffix, toPath: store.path + suffix)
    }
    let connection = try SQLiteConnection(store)
    try connection.exec("UPDATE ZNOTE SET Z_ENT = 77 WHERE Z_PK = 1")
    connection.close()
    for (name, options) in [("odd.zip", ["--redact", "none"]), ("tokens.zip", [])] {
      // An entity that no model knows is a finding.
      try #require(
        try Program.run(
          ["bundle", "create", store.path, "-o", path(name), "--include", "rows"] + options
        ).status == 1)
      let shown = try Program.run("rows", path(name))
      #expect(shown.status == 0, "\(shown.errors)")
      #expect(shown.text.contains("unknown entity, 1 row\n"))
      let made = try Program.run("bundle", "redact", path(name), "-o", path("copy of \(name)"))
      try #require(made.status == 0, "\(made.errors)")
      let copied = try rows("copy of \(name)")
      #expect(copied.map { $0["entity"] } == (try rows(name)).map { $0["entity"] })
      #expect(copied.contains { $0["entity"] == .null })
      try expectNoSecrets("copy of \(name)")
    }
  }
}
