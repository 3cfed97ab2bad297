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

  /// A container is a folder with another name.
  @Test func aContainer() throws {
    let container = place.url.appendingPathComponent("Crew.xcappdata")
    try FileManager.default.createDirectory(at: container, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: folder, to: container.appendingPathComponent("AppData"))
    let text = try Program.run("inspect", container.path).text
    #expect(text.contains("Notes.sqlite") && text.contains("Ship.moody"))
  }
}
