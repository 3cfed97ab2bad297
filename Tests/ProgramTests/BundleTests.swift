import Fixtures
import Foundation
import Testing

/// `lifeboat bundle`
@Suite struct BundleTests {
  private static let structure = [
    "inspection.json", "metadata.json", "hashes.json", "model.xcdatamodel/contents", "schema.sql",
    "counts.json", "findings.ndjson",
  ]

  /// Entry names and contents, as unzip gives them.
  static func unpack(_ bundle: URL) throws -> [String: Data] {
    let unzip = try #require(findTool("unzip"), "unzip is not installed")
    let test = try run(unzip, ["-t", bundle.path])
    #expect(test.status == 0, "\(String(decoding: test.stdout, as: UTF8.self))")
    let folder = try TemporaryFolder()
    #expect(try run(unzip, ["-q", bundle.path, "-d", folder.url.path]).status == 0)
    var entries: [String: Data] = [:]
    let names = FileManager.default.enumerator(atPath: folder.url.path)
    while let name = names?.nextObject() as? String {
      let url = folder.url.appendingPathComponent(name)
      if let data = try? Data(contentsOf: url) { entries[name] = data }
    }
    return entries
  }

  static func create(_ input: URL, _ flags: String...) throws -> (
    folder: TemporaryFolder, bundle: URL, outcome: Outcome
  ) {
    let folder = try TemporaryFolder()
    let bundle = folder.url.appendingPathComponent("bundle.zip")
    let outcome = try Program.run(
      ["bundle", "create", input.path, "-o", bundle.path, "--json"] + flags)
    return (folder, bundle, outcome)
  }

  @Test func theLevelDecidesHowHardItIsCompressed() throws {
    let store = try TemporaryFolder()
    let url = store.url.appendingPathComponent("small.sqlite")
    try smallRows(megabytes: 1, at: url)
    var sizes: [Int] = []
    for level in ["1", "9"] {
      let (folder, bundle, outcome) = try Self.create(url, "--include", "rows", "--level", level)
      defer { withExtendedLifetime(folder) {} }
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try Program.run("bundle", "verify", bundle.path).status == 0)
      sizes.append(try Data(contentsOf: bundle).count)
    }
    #expect(sizes[1] < sizes[0])
    for level in ["0", "10"] {
      #expect(try Self.create(url, "--level", level).outcome.status == 64)
    }
  }

  @Test func aStoreIsPackedAsStructure() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let (folder, bundle, outcome) = try Self.create(demo.kept)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    let manifest = try #require(try outcome.json()["manifest"])
    #expect(manifest["contents"]?.string == "structure")
    #expect(manifest["entries"]?.array?.compactMap { $0["name"]?.string } == Self.structure)
    #expect(manifest["withheld"]?.array?.count == 4)

    let entries = try Self.unpack(bundle)
    #expect(Set(entries.keys) == Set(Self.structure + ["manifest.json"]))
    for entry in manifest["entries"]?.array ?? [] {
      let data = entries[try #require(entry["name"]?.string)] ?? Data()
      #expect(entry["sizeBytes"]?.integer == Int64(data.count))
      #expect(entry["sha256"]?.string == hex(of: data))
    }
    Self.expectNothingOfTheUser(entries, demo)

    let verified = try Program.run("bundle", "verify", "--json", bundle.path)
    #expect(verified.status == 0)
    #expect(try verified.json()["outcome"]?.string == "intact")
    #expect(try verified.json()["intactEntryCount"]?.integer == 7)
    let intact = try Program.run("bundle", "verify", bundle.path).text
    #expect(intact == "intact: 7 entries agree with the manifest\n")
    let list = try Program.run("bundle", "list", "--json", bundle.path)
    let listed = try #require(try list.json().object)
    for (key, value) in manifest.object ?? [:] { #expect(listed[key] == value, "\(key)") }
    #expect(listed["problems"]?.array?.isEmpty == true)
    #expect(
      listed["archive"]?.array?.compactMap { $0["name"]?.string }
        == ["manifest.json"] + Self.structure)
    #expect(try Program.run("bundle", "list", bundle.path).text.contains("schema.sql"))
    #expect(treeState(of: demo.folder) == before)
  }

  /// No word that was typed, and no folder's name.
  private static func expectNothingOfTheUser(_ entries: [String: Data], _ demo: Demonstration) {
    let home = FileManager.default.homeDirectoryForCurrentUser.path
    let secrets = [
      "Shopping", "Grandma", "Tromsø", "urgent", "Private", demo.folder.path,
      demo.folder.deletingLastPathComponent().lastPathComponent,
      FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path + "/",
    ]
    for (name, data) in entries {
      for secret in secrets + (home.count > 1 ? [home + "/"] : []) {
        #expect(!data.holds(secret), "\(secret) is in \(name)")
      }
    }
  }

  @Test func anIncidentIsPackedWithItsRecord() throws {
    let demo = try Demonstration.shared.get()
    let (folder, bundle, outcome) = try Self.create(demo.incident)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    let entries = try Self.unpack(bundle)
    #expect(
      Set(entries.keys)
        == Set(Self.structure + ["manifest.json", "incident.json", "incident.txt"]))
    Self.expectNothingOfTheUser(entries, demo)
  }

  /// A path relative to the folder one is in must not keep the folder's own name in the records.
  @Test func aRelativePathGivesAwayNothingEither() throws {
    let demo = try Demonstration.shared.get()
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let bundle = folder.url.appendingPathComponent("bundle.zip")
    let script = "cd \"$1\" && exec \"$2\" bundle create \"$3\" -o \"$4\""
    let result = try run(
      "/bin/sh",
      [
        "-c", script, "sh", demo.folder.path, program,
        "Stores/Incompatible/" + demo.incident.lastPathComponent, bundle.path,
      ])
    #expect(result.status == 0, "\(String(decoding: result.stderr, as: UTF8.self))")
    Self.expectNothingOfTheUser(try Self.unpack(bundle), demo)
  }

  /// The record names the folder where the store was set aside, also after that folder was sent elsewhere.
  @Test(arguments: ["Incompatible", "mail"])
  func aCopiedIncidentGivesAwayNothingEither(_ name: String) throws {
    let demo = try Demonstration.shared.get()
    let desk = try TemporaryFolder()
    let incompatible = desk.url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: incompatible, withIntermediateDirectories: false)
    let copy = incompatible.appendingPathComponent(demo.incident.lastPathComponent)
    try FileManager.default.copyItem(at: demo.incident, to: copy)
    let (folder, bundle, outcome) = try Self.create(copy)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    Self.expectNothingOfTheUser(try Self.unpack(bundle), demo)
  }

  @Test func rowsAndFilesGoInWhenAskedFor() throws {
    let demo = try Demonstration.shared.get()
    let (first, rows, one) = try Self.create(
      demo.kept, "--include", "rows", "--redact", "none")
    #expect(one.status == 0)
    let withRows = try Self.unpack(rows)
    #expect(Set(withRows.keys) == Set(Self.structure + ["manifest.json", "rows.ndjson"]))
    let printed = try Program.run("rows", "--format", "ndjson", demo.kept.path)
    #expect(withRows["rows.ndjson"] == printed.stdout)

    let (second, whole, two) = try Self.create(demo.kept, "--include", "store")
    #expect(two.status == 0)
    let withStore = try Self.unpack(whole)
    #expect(withStore["store/Notes.sqlite"] == (try Data(contentsOf: demo.kept)))
    #expect(
      withStore["store/Notes.sqlite-wal"]
        == (try Data(contentsOf: URL(fileURLWithPath: demo.kept.path + "-wal"))))
    #expect(withStore.keys.contains { $0.hasPrefix("store/.Notes_SUPPORT/_EXTERNAL_DATA/") })
    // Its rows are in its files.
    #expect(withStore["rows.ndjson"] == nil)
    withExtendedLifetime((first, second)) {}
  }

  @Test func aDamagedStoreIsPackedWithItsFindings() throws {
    let place = try TemporaryFolder()
    let store = try StoreFixtures.named("page-1024").make(place.url)
    try truncate(store, to: try bytes(of: store).count / 2)
    let (folder, bundle, outcome) = try Self.create(store)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 1)
    let findings = try #require(try Self.unpack(bundle)["findings.ndjson"])
    #expect(String(decoding: findings, as: UTF8.self).contains("file.truncated"))
    #expect(try Program.run("bundle", "verify", bundle.path).status == 0)
  }

  /// A bundle that came in an archive is read where it is, also two levels deep.
  @Test(.enabled(if: findTool("python3") != nil, "no python3")) func aBundleInAnArchive() throws {
    let demo = try Demonstration.shared.get()
    let (folder, bundle, made) = try Self.create(demo.incident, "--include", "rows")
    #expect(made.status == 0, "\(made.errors)")
    let python = try #require(findTool("python3"))
    func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }
    let script = """
      import sys, tarfile, zipfile
      bundle, mail, outer, box, plain = sys.argv[1:]
      with zipfile.ZipFile(mail, 'w') as archive:
        archive.write(bundle, 'mail/bundle.zip')
      with tarfile.open(outer, 'w:gz') as archive:
        archive.add(mail, 'Mail.zip')
      with tarfile.open(box, 'w:gz') as archive:
        for name in ['one.zip', 'mail/two.zip', 'three.zip', 'four.zip', 'five.age']:
          archive.add(bundle, name)
      with tarfile.open(plain, 'w') as archive:
        archive.add(bundle, 'bundle.txt')
      """
    let packed = try run(
      python,
      [
        "-c", script, bundle.path, path("Mail.zip"), path("Outer.tar.gz"), path("Box.tar.gz"),
        path("Plain.tar"),
      ])
    #expect(packed.status == 0, "\(String(decoding: packed.stderr, as: UTF8.self))")
    let list = try Program.run("bundle", "list", bundle.path).text
    for (number, name) in ["Mail.zip/mail/bundle.zip", "Outer.tar.gz/Mail.zip/mail/bundle.zip"]
      .enumerated()
    {
      let inner = path(name)
      let verified = try Program.run("bundle", "verify", inner)
      #expect(verified.status == 0, "\(verified.errors)")
      #expect(try Program.run("bundle", "list", inner).text == list)
      let shown = try Program.run("bundle", "show", "--json", inner).json()
      #expect(shown["incident"]?["id"]?.string == demo.incident.lastPathComponent)
      let extracted = try Program.run("bundle", "extract", inner, "-o", path("new-\(number)"))
      #expect(extracted.status == 0, "\(extracted.errors)")
      let redacted = try Program.run(
        "bundle", "redact", inner, "--include", "structure", "-o", path("new-\(number).zip"))
      #expect(redacted.status == 0, "\(redacted.errors)")
      #expect(try Program.run("bundle", "verify", path("new-\(number).zip")).status == 0)
      // The rows are those that the bundle holds, and no private folder is named.
      let rows = try Program.run("rows", inner)
      #expect(try rows.status == 0 && rows.text == Program.run("rows", bundle.path).text)
      #expect(!rows.errors.contains("-run/"), "\(rows.errors)")
    }
    let missing = try Program.run("bundle", "verify", path("Mail.zip/none.zip"))
    #expect(missing.status == 66 && missing.errorCode == "bundle.inputMissing")
    let signed = try Program.run(
      "bundle", "verify", path("Mail.zip/mail/bundle.zip"), "--public-key", path("key.pub"))
    #expect(signed.errorCode == "usage.signedInArchive", "\(signed.errors)")
    // The archive is not the bundle, but the hint names what may be one. All commands have one code for an archive
    // without a manifest; only verify has the code of its first problem.
    for (archive, named, verified) in [
      ("Mail.zip", ["Mail.zip/mail/bundle.zip"], "bundle.sealMissing"),
      ("Outer.tar.gz", ["Outer.tar.gz/Mail.zip"], "bundle.notAZip"),
      (
        "Box.tar.gz",
        [
          "Box.tar.gz/one.zip", "Box.tar.gz/mail/two.zip", "Box.tar.gz/three.zip",
          "5 zip and age files",
        ],
        "bundle.notAZip"
      ),
    ] as [(String, [String], String)] {
      for command in [
        ["show"], ["list"], ["verify"], ["extract", "-o", path("none")],
        ["redact", "-o", path("none")],
      ] {
        let outer = try Program.run(["bundle"] + command + [path(archive)])
        let code = command == ["verify"] ? verified : "bundle.manifestMissing"
        #expect(outer.status == 65 && outer.errorCode == code, "\(command): \(outer.errors)")
        for name in named { #expect(outer.errors.contains(name), "\(command): \(outer.errors)") }
        #expect(!outer.errors.contains("four.zip"), "\(outer.errors)")
      }
    }
    let box = try Program.run("bundle", "verify", path("Box.tar.gz/mail/two.zip"))
    #expect(box.status == 0, "\(box.errors)")
    for command in [["show"], ["list"], ["extract", "-o", path("none")]] {
      let plain = try Program.run(["bundle"] + command + [path("Plain.tar")])
      #expect(plain.status == 65 && plain.errorCode == "bundle.manifestMissing", "\(plain.errors)")
      #expect(plain.errors.contains("run: tar -tf \(path("Plain.tar"))"), "\(plain.errors)")
    }
    let report = try Program.run("bundle", "verify", "--json", path("Mail.zip")).json()
    #expect(report["outcome"]?.string == "notABundle")
  }

  @Test func whatCannotBeReadCanBePassedOn() throws {
    let place = try TemporaryFolder()
    let file = place.url.appendingPathComponent("broken.sqlite")
    try randomFile(file, bytes: 5000, seed: 11)
    let (folder, bundle, outcome) = try Self.create(file, "--include", "store")
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 1)
    let entries = try Self.unpack(bundle)
    #expect(entries["store/broken.sqlite"] == (try Data(contentsOf: file)))
    let problem = try #require(entries["problem.json"])
    #expect(String(decoding: problem, as: UTF8.self).contains("file.looksEncrypted"))
  }

  @Test func oneFlippedByteShows() throws {
    let demo = try Demonstration.shared.get()
    let (folder, bundle, _) = try Self.create(demo.kept)
    defer { withExtendedLifetime(folder) {} }
    let size = try bytes(of: bundle).count
    for offset in [60, size / 3, size / 2, size - 30] {
      let copy = folder.url.appendingPathComponent("flipped-\(offset).zip")
      try FileManager.default.copyItem(at: bundle, to: copy)
      try overwrite(copy, at: offset, bytes: [try bytes(of: bundle)[offset] ^ 0x55])
      let outcome = try Program.run("bundle", "verify", copy.path)
      #expect(outcome.status == 1, "offset \(offset): \(outcome.errors)")
      #expect(outcome.text.contains("NOT INTACT"))
      let report = try Program.run("bundle", "verify", "--json", copy.path)
      #expect(report.status == 1)
      #expect(try report.json()["outcome"]?.string == "damaged")
      #expect(try report.json()["problems"]?.array?.isEmpty == false)
    }
    let cut = folder.url.appendingPathComponent("cut.zip")
    try FileManager.default.copyItem(at: bundle, to: cut)
    try truncate(cut, to: size - 200)
    #expect(try Program.run("bundle", "verify", cut.path).status == 1)
  }

  @Test func aTextFileIsNoBundle() throws {
    let folder = try TemporaryFolder()
    let text = folder.url.appendingPathComponent("words.txt")
    try Data("words, words, words\n".utf8).write(to: text)
    for command in ["verify", "list"] {
      let outcome = try Program.run("bundle", command, text.path)
      #expect(outcome.status == 65)
      #expect(outcome.errorCode == "bundle.notAZip")
    }
  }

  @Test func anOutputThatExistsStaysAsItIs() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("taken.zip")
    try Data("mine".utf8).write(to: output)
    let before = treeState(of: folder.url)
    let outcome = try Program.run("bundle", "create", demo.kept.path, "-o", output.path)
    #expect(outcome.status == 73)
    #expect(outcome.errorCode == "bundle.outputExists")
    #expect(treeState(of: folder.url) == before)
    let nowhere = try Program.run(
      "bundle", "create", demo.kept.path, "-o", folder.url.path + "/none/bundle.zip")
    #expect(nowhere.status == 73)
    #expect(nowhere.errorCode == "bundle.cannotCreate")
  }

  @Test func aBundleIsAboutOneStore() throws {
    let place = try TemporaryFolder()
    for name in ["page-512", "page-1024"] {
      _ = try StoreFixtures.named(name).make(place.url)
    }
    let (folder, _, _) = try Self.create(place.url)
    let outcome = try Program.run(
      "bundle", "create", place.url.path, "-o", folder.url.path + "/new.zip")
    #expect(outcome.status == 64)
    #expect(outcome.errorCode == "usage.oneStore")
  }

  /// An archive that is refused is refused by every command with the same code, and is not called damaged.
  @Test(.enabled(if: Shared.isThere), arguments: ["slip.zip", "bundle-slip-verifies-intact.zip"])
  func aRefusedArchive(_ name: String) throws {
    guard let hostile = try HostileFiles("refused archives") else { return }
    let path = hostile[name].path
    for command in [
      ["bundle", "verify"], ["bundle", "verify", "--json"], ["bundle", "list"], ["model", "show"],
    ] {
      let outcome = try Program.run(command + [path])
      #expect(outcome.status == 65, "\(command): \(outcome.status) \(outcome.errors)")
    }
    #expect(try Program.run("bundle", "verify", path).errorCode == "bundle.badName")
  }
}
