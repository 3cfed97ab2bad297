import Fixtures
import Foundation
import Testing

/// Several stores in one archive: what is said of them is what is said of the unpacked files.
@Suite struct ArchivedStoresTests {
  private let place: TemporaryFolder
  private let folder: URL

  init() throws {
    place = try TemporaryFolder()
    folder = place.url.appendingPathComponent("Crew")
    for name in ["Documents/Notes.sqlite", "Library/Ship.moody"] {
      let url = folder.appendingPathComponent(name)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      let connection = try SQLiteConnection(url)
      try connection.exec(
        """
        PRAGMA journal_mode = wal;
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT);
        INSERT INTO note VALUES (1, 'anchor of \(name)'), (2, 'sail');
        """)
      // The log stays, as in a container that was copied while the app ran.
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(
          atPath: url.path + suffix, toPath: url.path + suffix + ".kept")
      }
      connection.close()
      for suffix in ["", "-wal"] {
        try? FileManager.default.removeItem(atPath: url.path + suffix)
        try FileManager.default.moveItem(
          atPath: url.path + suffix + ".kept", toPath: url.path + suffix)
      }
    }
    try Data("a text".utf8).write(to: folder.appendingPathComponent("Documents/readme.txt"))
  }

  /// The archive of the folder, made by Python.
  private func archive(_ form: String) throws -> String {
    let path = place.url.appendingPathComponent("Crew." + form).path
    let python = try #require(findTool("python3"))
    let script = """
      import os, sys, tarfile, zipfile
      folder, output = sys.argv[1:]
      files = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names]
      if output.endswith(".zip"):
          with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
              for file in sorted(files): archive.write(file, os.path.relpath(file, folder))
      else:
          with tarfile.open(output, "w:gz" if output.endswith("gz") else "w") as archive:
              archive.add(folder, ".")
      """
    let outcome = try Fixtures.run(python, ["-c", script, folder.path, path])
    try #require(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    return path
  }

  @Test(arguments: ["zip", "tar", "tar.gz"]) func everyStoreIsListedAndRead(form: String) throws {
    let archive = try archive(form)
    let list = try Program.run("inspect", "--json", "--no-hash", archive).json()
    #expect(
      list["inspections"]?.array?.compactMap { $0["path"]?.string } == [
        archive + "/Documents/Notes.sqlite", archive + "/Library/Ship.moody",
      ])
    #expect(list["inspections"]?.array?.allSatisfy { $0["liveRowCount"]?.integer == 2 } == true)
    let lines = try Program.run("inspect", archive).text
    #expect(lines.contains("2 files") || lines.contains("Ship.moody"), "\(lines)")

    for name in ["Documents/Notes.sqlite", "Library/Ship.moody"] {
      let ours = try Program.run("rows", "--format", "ndjson", archive + "/" + name)
      let truth = try Program.run(
        "rows", "--format", "ndjson", folder.appendingPathComponent(name).path)
      #expect(ours.text == truth.text && ours.text.contains("anchor of \(name)"), "\(ours.errors)")
    }
    let found = try Program.run("search", "anchor", archive)
    #expect(found.text.contains("anchor of Documents") && found.text.contains("anchor of Library"))

    let several = try Program.run("rows", archive)
    #expect(several.status == 64 && several.errors.contains(archive + "/Documents/Notes.sqlite"))
    let unknown = try Program.run("rows", archive + "/Documents/Nots.sqlite")
    #expect(unknown.status == 64 && unknown.errorCode == "input.unknownName", "\(unknown.errors)")
    #expect(try Program.run("rows", archive + "/../Crew").status != 0)
    #expect(!(several.errors + unknown.errors).contains(#/lifeboat-[0-9a-f]{30}/#))
  }

  /// Makes an archive of the files in `folder` by a script in Python, which finds them in `files`.
  private func archive(_ name: String, _ script: String) throws -> String {
    let path = place.url.appendingPathComponent(name).path
    let head = """
      import gzip, io, os, sys, tarfile, zipfile
      folder, output = sys.argv[1:]
      files = {}
      for top, _, names in os.walk(folder):
          for name in names:
              file = os.path.join(top, name)
              files[os.path.relpath(file, folder)] = open(file, "rb").read()
      def zipped(members):
          bytes = io.BytesIO()
          with zipfile.ZipFile(bytes, "w", zipfile.ZIP_DEFLATED) as archive:
              for name, content in members.items(): archive.writestr(name, content)
          return bytes.getvalue()
      def tarred(members):
          bytes = io.BytesIO()
          with tarfile.open(fileobj=bytes, mode="w") as archive:
              for name, content in members.items():
                  entry = tarfile.TarInfo(name)
                  entry.size = len(content)
                  archive.addfile(entry, io.BytesIO(content))
          return bytes.getvalue()

      """
    let outcome = try Fixtures.run(
      try #require(findTool("python3")),
      ["-c", head + "open(output, 'wb').write(\(script))", folder.path, path])
    try #require(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    return path
  }

  /// Tickets come as archives of archives: each is a folder of its name.
  @Test(arguments: [
    "zipped({'a.zip': zipped(files), 'b.txt': b'text'})",
    "tarred({'a.zip': zipped(files)})",
    "zipped({'a.zip': tarred(files)})",
    "zipped({'a.zip': gzip.compress(tarred(files)), 'Readme.docx': zipped({'word.xml': b'text'})})",
    "gzip.compress(tarred({'a.zip': zipped(files)}))",
  ])
  func archivesInArchives(script: String) throws {
    let path = try archive("Tickets.bin", script)
    let list = try Program.run("inspect", "--json", "--no-hash", path)
    #expect(
      try list.json()["inspections"]?.array?.compactMap { $0["path"]?.string } == [
        path + "/a.zip/Documents/Notes.sqlite", path + "/a.zip/Library/Ship.moody",
      ], "\(list.errors)")
    #expect(list.status == 0)
    let ours = try Program.run(
      "rows", "--format", "ndjson", path + "/a.zip/Documents/Notes.sqlite")
    let truth = try Program.run(
      "rows", "--format", "ndjson", folder.appendingPathComponent("Documents/Notes.sqlite").path)
    #expect(ours.text == truth.text && truth.text.contains("anchor"), "\(ours.errors)")
    let lines = try Program.run("triage", path).lines()
    #expect(lines.compactMap { $0["path"]?.string }.count == 2)
    #expect(lines.allSatisfy { $0["failed"] == nil && $0["rows"]?["live"]?.integer == 2 })
  }

  /// What was not looked into is told, and does not keep anybody from the rest.
  @Test(arguments: [
    ("'a.zip': zipped(files)[:900]", "bundle."),
    ("'a.zip': b'age-encryption.org/v1\\n-> X25519 ' + b'x' * 600", "bundle.encrypted"),
    (
      "'a.zip': zipped({'b.zip': zipped({'c.zip': zipped({'d.zip': zipped(files)})})})",
      "input.notEntered"
    ),
  ])
  func archivesThatAreNotOpened(member: String, code: String) throws {
    let path = try archive(
      "Tickets.zip",
      "zipped({'Notes.sqlite': files['Documents/Notes.sqlite'], 'Notes.sqlite-wal': files['Documents/Notes.sqlite-wal'], \(member)})"
    )
    let inspect = try Program.run("inspect", path)
    #expect(inspect.status == 1 && inspect.text.contains("SQLite, 1 table"), "\(inspect.text)")
    #expect(inspect.errors.contains("/a.zip") && inspect.errors.contains(code), "\(inspect.errors)")
    let rows = try Program.run("rows", path)
    #expect(rows.status == 0 && rows.errors.contains("the inner archive was not opened"))
    let lines = try Program.run("triage", path).lines()
    #expect(lines.count == 2)
    #expect(lines.contains { $0["failed"]?["code"]?.string?.hasPrefix(code) == true })
    #expect(!(inspect.errors + rows.errors).contains(#/lifeboat-[0-9a-f]{30}/#))
  }

  /// An archive in an archive may be named, too, and so may a store whose name has a byte that no file may have.
  @Test func whatIsInsideIsNamed() throws {
    let store = "{n: files['Documents/' + n] for n in ['Notes.sqlite', 'Notes.sqlite-wal']}"
    let path = try archive(
      "Tickets.zip",
      "zipped({'in/a.zip': zipped(\(store)), 'b.tar': tarred(files), 'c:d.sqlite': files['Documents/Notes.sqlite']})"
    )
    let rows = try Program.run("rows", path + "/in/a.zip")
    #expect(rows.status == 0 && rows.text.contains("anchor"), "\(rows.errors)")
    let several = try Program.run("rows", path + "/b.tar")
    #expect(several.status == 64, "\(several.errors)")
    #expect(several.errors.contains("\(path)/b.tar/Documents/Notes.sqlite"), "\(several.errors)")
    let all = try Program.run(
      "rows",
      try archive(
        "Two.zip", "zipped(files | {'cut.zip': zipped(files)[:900]})"))
    #expect(all.errors.contains("; 1 archive beside them not opened"), "\(all.errors)")
    let unusual = try Program.run("check", path + "/c:d.sqlite")
    #expect(unusual.status == 0, "\(unusual.errors)")
  }

  /// What is beside a store makes no difference to how the store is named, nor how many stores there are to the status.
  @Test(arguments: ["", "'b.sqlite': files['Documents/Notes.sqlite'], "])
  func aStoreBesideSomethingElse(second: String) throws {
    let store = "'Notes.sqlite': files['Documents/Notes.sqlite']"
    let path = try archive(
      "Mail.zip", "zipped({\(second)\(store), 'cut.zip': zipped(files)[:900]})")
    let list = try Program.run("inspect", path)
    #expect(list.status == 1 && list.text.contains("Mail.zip/Notes.sqlite"), "\(list.text)")
    let json = try Program.run("inspect", "--json", "--no-hash", path).json()
    #expect(json["inspections"]?.array?.first?["path"]?.string == path + "/Notes.sqlite")
    let page = place.url.appendingPathComponent("a.html").path
    let report = try Program.run("report", path, "-o", page)
    #expect(report.status == 1 && report.errors.contains("Mail.zip/cut.zip"), "\(report.errors)")
    #expect(try String(contentsOfFile: page, encoding: .utf8).contains("cut.zip"))
    // A store alone is named with its archive.
    let alone = try archive("Alone.tar", "tarred({\(store)})")
    let shown = try Program.run("inspect", alone).text
    #expect(shown.hasPrefix("Notes.sqlite in Alone.tar\n"), "\(shown)")
  }

  /// Two names that differ in case are two files where the archive comes from.
  @Test(arguments: ["zipped", "tarred"]) func namesThatDifferInCase(form: String) throws {
    let path = try archive(
      "Case.bin",
      "\(form)({n: files['Documents/Notes.sqlite'] for n in ['Case.sqlite', 'case.sqlite']})")
    let list = try Program.run("inspect", "--json", "--no-hash", path)
    #expect(
      try list.json()["inspections"]?.array?.compactMap { $0["path"]?.string } == [
        path + "/Case.sqlite", path + "/case.sqlite",
      ], "\(list.errors)")
  }

  /// Beside a store, a bundle without its store is told.
  @Test func aBundleInAnArchive() throws {
    let bundle = place.url.appendingPathComponent("sent.zip").path
    let made = try Program.run(
      "bundle", "create", folder.appendingPathComponent("Documents/Notes.sqlite").path, "-o", bundle
    )
    #expect(made.status == 0, "\(made.errors)")
    let path = try archive(
      "Tickets.zip",
      "zipped({'sent.zip': open('\(bundle)', 'rb').read(), 'Notes.sqlite': files['Documents/Notes.sqlite']})"
    )
    for command in ["check", "rows"] {
      let outcome = try Program.run(command, path)
      #expect(
        outcome.errors.contains("sent.zip: a support bundle without the store"),
        "\(command): \(outcome.errors)")
    }
    for command in ["inspect", "triage"] {
      let outcome = try Program.run(command, path)
      #expect(
        outcome.text.contains("Tickets.zip/sent.zip") && outcome.text.contains("zip/Notes.sqlite"),
        "\(command): \(outcome.text)")
    }
    let page = place.url.appendingPathComponent("a.html").path
    let report = try Program.run("report", path, "-o", page)
    #expect(report.status == 0, "\(report.errors)")
    #expect(try String(contentsOfFile: page, encoding: .utf8).contains("sent.zip"))
    let packed = try Program.run(
      "bundle", "create", path, "-o", place.url.appendingPathComponent("b.zip").path)
    #expect(packed.errors.contains("sent.zip"), "\(packed.errors)")
  }

  /// What is packed in a way that is not read is told, wherever it is; so is an emptied store. Triage reads two of the
  /// forms, and in long rounds all.
  @Test(arguments: [
    ("lzma.compress(b'text')", "xz"), ("bz2.compress(b'text')", "bzip2"),
    (#"b'7z\xbc\xaf\x27\x1c' + bytes(40)"#, "7-Zip"),
    (#"b'Rar!\x1a\x07\x01\x00' + bytes(40)"#, "RAR"), (#"b'\x28\xb5\x2f\xfd' + bytes(40)"#, "zstd"),
  ])
  func formsThatAreNotRead(script: String, name: String) throws {
    let content = "(__import__('lzma'), __import__('bz2')) and \(script)"
      .replacingOccurrences(of: "lzma.", with: "__import__('lzma').")
      .replacingOccurrences(of: "bz2.", with: "__import__('bz2').")
    let path = try archive("Crew/Old.bin", content)
    let alone = try Program.run("inspect", path)
    #expect(alone.status == 65 && alone.errors.contains("packed with \(name)"), "\(alone.errors)")
    let list = try Program.run("inspect", folder.path)
    #expect(list.status == 1 && list.errors.contains("packed with \(name)"), "\(list.errors)")
    let outer = try archive(
      "Outer.zip", "zipped(files | {'x/Old': \(content)})")
    let inner = try Program.run("inspect", outer)
    #expect(inner.status == 1 && inner.errors.contains("packed with \(name)"), "\(inner.errors)")
    guard Rounds.areLong || name == "xz" || name == "zstd" else { return }
    let lines = try Program.run("triage", folder.path).lines()
    #expect(lines.contains { $0["failed"]?["message"]?.string?.contains(name) == true })
  }

  @Test func anEmptiedStoreIsTold() throws {
    try Data().write(to: folder.appendingPathComponent("Library/Empty.sqlite"))
    let list = try Program.run("inspect", folder.path)
    #expect(list.status == 1 && list.errors.contains("Empty.sqlite"), "\(list.errors)")
    #expect(list.errors.contains("is empty"))
  }

  /// A store that was encrypted by itself is read with the key, as a bundle is.
  @Test(.enabled(if: findTool("age") != nil, "needs age")) func aStoreUnderAge() throws {
    let key = place.url.appendingPathComponent("key").path
    let made = try Program.run("bundle", "keygen", "-o", key)
    let store = place.url.appendingPathComponent("Plain.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE note(title); INSERT INTO note VALUES ('anchor');")
    connection.close()
    let sealed = store.path + ".age"
    let age = try Fixtures.run(
      try #require(findTool("age")),
      ["-r", made.text.trimmingCharacters(in: .newlines), "-o", sealed, store.path])
    try #require(age.status == 0)
    let rows = try Program.run("rows", sealed, "-i", key)
    #expect(rows.status == 0 && rows.text.contains("anchor"), "\(rows.errors)")
    let without = try Program.run("rows", sealed)
    #expect(without.status == 65 && without.errors.contains("age."), "\(without.errors)")
  }

  /// The key opens what is encrypted inside an archive, too.
  @Test(.enabled(if: findTool("age") != nil, "needs age")) func encryptedFilesInAnArchive() throws {
    let key = place.url.appendingPathComponent("key").path
    let other = place.url.appendingPathComponent("other").path
    let made = try Program.run("bundle", "keygen", "-o", key)
    _ = try Program.run("bundle", "keygen", "-o", other)
    let age = try #require(findTool("age"))
    let recipient = made.text.trimmingCharacters(in: .newlines)
    let store = place.url.appendingPathComponent("Plain.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE note(title); INSERT INTO note VALUES ('anchor');")
    connection.close()
    let zip = try archive(
      "Inner.zip",
      "zipped({n: files['Documents/' + n] for n in ['Notes.sqlite', 'Notes.sqlite-wal']})")
    // The files in `folder` are those of the archive.
    for (source, name) in [(store.path, "Plain.sqlite.age"), (zip, "Ticket.age")] {
      let sealed = try Fixtures.run(
        age, ["-r", recipient, "-o", folder.appendingPathComponent(name).path, source])
      try #require(sealed.status == 0)
    }
    let path = try archive(
      "Tickets.tar", "tarred({n: files[n] for n in ['Plain.sqlite.age', 'Ticket.age']})")
    let list = try Program.run("inspect", "--json", "--no-hash", path, "-i", key)
    #expect(
      try list.json()["inspections"]?.array?.compactMap { $0["path"]?.string } == [
        path + "/Plain.sqlite.age/Plain.sqlite", path + "/Ticket.age/Notes.sqlite",
      ], "\(list.errors)")
    for (name, text) in [
      ("Plain.sqlite.age", "anchor"), ("Plain.sqlite.age/Plain.sqlite", "anchor"),
      ("Ticket.age", "anchor of Documents"), ("Ticket.age/Notes.sqlite", "anchor of Documents"),
    ] {
      let rows = try Program.run("rows", path + "/" + name, "-i", key)
      #expect(rows.status == 0 && rows.text.contains(text), "\(name): \(rows.errors)")
      for wrong in [[], ["-i", other]] {
        let refused = try Program.run(["rows", path + "/" + name] + wrong)
        #expect(
          refused.status == 65 && refused.errors.contains("age.noKeyFits"), "\(refused.errors)")
      }
    }
    let lines = try Program.run("triage", path, "-i", key).lines()
    #expect(lines.count == 2 && lines.allSatisfy { $0["failed"] == nil }, "\(lines)")
    let without = try Program.run("triage", path).lines()
    #expect(
      without.allSatisfy { $0["failed"]?["code"]?.string == "bundle.encrypted" }, "\(without)")
    let sealed = try archive("Sealed.zip", "zipped({n: files[n] for n in ['Ticket.age']})")
    let unopened = try Program.run("rows", sealed)
    #expect(
      unopened.status == 65 && unopened.errors.contains("the options -i and --passphrase-file"),
      "\(unopened.errors)")
    // A passphrase costs seconds for each file, so the number of files is bounded, and this is told.
    let many = try archive(
      "Many.tar", "tarred({'%d.age' % n: files['Plain.sqlite.age'] for n in range(101)})")
    let opened = try Program.run("inspect", "--json", "--no-hash", many, "-i", key)
    #expect(try opened.json()["inspections"]?.array?.count == 100)
    #expect(opened.errors.contains("at most 100 encrypted files"), "\(opened.errors)")
  }

  /// What lists the stores of an archive and then reads them opens it once: a key may come through a pipe.
  @Test(
    .enabled(if: findTool("age") != nil && findTool("bash") != nil, "needs age and bash"),
    arguments: [
      "zipped(files)",
      "zipped({n: files['Documents/' + n] for n in ['Notes.sqlite', 'Notes.sqlite-wal']})",
    ])
  func anArchiveIsOpenedOnce(_ script: String) throws {
    let key = place.url.appendingPathComponent("key").path
    let made = try Program.run("bundle", "keygen", "-o", key)
    let sealed = place.url.appendingPathComponent("Crew.age").path
    let age = try Fixtures.run(
      try #require(findTool("age")),
      [
        "-r", made.text.trimmingCharacters(in: .newlines), "-o", sealed,
        archive("Crew.zip", script),
      ])
    try #require(age.status == 0)
    let page = place.url.appendingPathComponent("page.html").path
    for arguments in [["inspect"], ["search", "anchor"], ["report", "-o", page]] {
      let outcome = try Fixtures.run(
        try #require(findTool("bash")),
        [
          "-c", #"key=$1; shift; "$@" -i <(cat "$key")"#, "bash", key,
          try #require(Program.path),
        ] + arguments + [sealed])
      #expect(
        outcome.status == 0, "\(arguments): \(String(decoding: outcome.stderr, as: UTF8.self))")
    }
  }

  /// Armor behind white space is armor wherever files are told apart.
  @Test(.enabled(if: findTool("age") != nil, "needs age")) func armorBehindWhiteSpace() throws {
    let key = place.url.appendingPathComponent("key").path
    let made = try Program.run("bundle", "keygen", "-o", key)
    let store = place.url.appendingPathComponent("Plain.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE note(title); INSERT INTO note VALUES ('anchor');")
    connection.close()
    let age = try Fixtures.run(
      try #require(findTool("age")),
      ["-a", "-r", made.text.trimmingCharacters(in: .newlines), store.path])
    try #require(age.status == 0)
    let alone = place.url.appendingPathComponent("Alone")
    try FileManager.default.createDirectory(at: alone, withIntermediateDirectories: true)
    let sealed = alone.appendingPathComponent("Plain.sqlite.age")
    try (Data(repeating: 0x0a, count: 900) + age.stdout).write(to: sealed)
    for path in [sealed.path, sealed.path + "/Plain.sqlite"] {
      let rows = try Program.run("rows", path, "-i", key)
      #expect(rows.status == 0 && rows.text.contains("anchor"), "\(rows.errors)")
    }
    // A folder, and triage, take it for an encrypted file.
    let found = try Program.run("inspect", "--json", alone.path, "-i", key)
    #expect(try found.json()["path"]?.string == sealed.path, "\(found.errors)")
    let line = try Program.run("triage", sealed.path, "-i", key).lines()
    #expect(line.first?["isEncrypted"]?.boolean == true, "\(line)")
  }

  /// Each entry that is looked into costs something, so their number is bounded, and the rest told.
  @Test func manyEntries() throws {
    let path = try archive(
      "Many.zip",
      "zipped(files | {'a.zip': zipped({f'{n}': b'x' * 20 for n in range(10_001)}), 'z.zip': zipped(files)})"
    )
    let list = try Program.run("inspect", path)
    #expect(list.status == 1 && list.text.contains("Ship.moody"), "\(list.errors)")
    #expect(
      list.errors.contains("/a.zip: the content of at most 10000 entries"), "\(list.errors)")
  }

  /// A name that no file may have on some system stands under a safe one, and the stores are read.
  @Test(arguments: ["zipped", "tarred"]) func unusualNames(form: String) throws {
    let store = "files['Documents/Notes.sqlite']"
    let log = "files['Documents/Notes.sqlite-wal']"
    let path = try archive(
      "Odd.bin",
      "\(form)({'Icon\\r': b'x' * 600, 'a:b/Notes.sqlite': \(store), 'a:b/Notes.sqlite-wal': \(log), 'c\\\\d.sqlite': \(store)})"
    )
    let list = try Program.run("inspect", "--json", "--no-hash", path)
    #expect(
      try list.json()["inspections"]?.array?.compactMap { $0["path"]?.string } == [
        path + "/a%3Ab/Notes.sqlite", path + "/c%5Cd.sqlite",
      ], "\(list.errors)")
    let rows = try Program.run("rows", path + "/a%3Ab/Notes.sqlite")
    #expect(rows.status == 0 && rows.text.contains("note"), "\(rows.errors)")
  }

  /// A folder of archives is a folder of stores.
  @Test func aFolderWithArchives() throws {
    _ = try archive(
      "Crew/Old.zip",
      "zipped({n: files['Documents/' + n] for n in ['Notes.sqlite', 'Notes.sqlite-wal']})")
    _ = try archive("Crew/Text.zip", "zipped({'word.xml': b'text'})")
    _ = try archive("Crew/Cut.zip", "zipped(files)[:1000]")
    let list = try Program.run("inspect", "--json", "--no-hash", folder.path)
    #expect(
      try list.json()["inspections"]?.array?.compactMap { $0["path"]?.string }
        == [
          "Documents/Notes.sqlite", "Library/Ship.moody", "Old.zip",
        ].map { folder.path + "/" + $0 }, "\(list.errors)")
    #expect(list.status == 1 && list.errors.contains("Cut.zip"), "\(list.errors)")
    let found = try Program.run("search", "anchor of Documents", folder.path)
    #expect(found.text.contains("Old.zip"), "\(found.text)\(found.errors)")

    let alone = place.url.appendingPathComponent("Alone")
    try FileManager.default.createDirectory(at: alone, withIntermediateDirectories: true)
    _ = try archive("Alone/Old.zip", "zipped({'Notes.sqlite': files['Documents/Notes.sqlite']})")
    let rows = try Program.run("rows", alone.path)
    #expect(rows.status == 64 && rows.errors.contains(alone.path + "/Old.zip"), "\(rows.errors)")
    try FileManager.default.copyItem(
      at: folder.appendingPathComponent("Library/Ship.moody"),
      to: alone.appendingPathComponent("Ship.moody"))
    let both = try Program.run("rows", alone.path)
    #expect(both.status == 0 && both.errors.contains("Old.zip: this archive"), "\(both.errors)")
  }

  /// A container is a folder with another name.
  @Test func aContainer() throws {
    let container = place.url.appendingPathComponent("Crew.xcappdata")
    try FileManager.default.createDirectory(at: container, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: folder, to: container.appendingPathComponent("AppData"))
    let text = try Program.run("inspect", container.path).text
    #expect(text.contains("Notes.sqlite") && text.contains("Ship.moody"))
  }
}
