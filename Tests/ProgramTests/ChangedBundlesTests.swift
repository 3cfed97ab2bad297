import Fixtures
import Foundation
import Testing

/// Bundles of which an entry was changed after they were made: what is shown of them comes with a word about it.
@Suite struct ChangedBundlesTests {
  private let demo: Demonstration
  private let place: TemporaryFolder

  init() throws {
    demo = try Demonstration.shared.get()
    place = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }

  /// A bundle with rows, and a copy of it in which the entry `name` has another byte, packed anew by Python. If
  /// `isListed`, the manifest has another digest instead, and the entry stays.
  private func changed(_ name: String, isListed: Bool) throws -> String {
    let made = try Program.run(
      "bundle", "create", demo.kept.path, "-o", path("sent.zip"), "--include", "rows")
    try #require(made.status == 0, "\(made.errors)")
    let script = """
      import json, sys, zipfile
      old = zipfile.ZipFile(sys.argv[1]); new = zipfile.ZipFile(sys.argv[2], 'w')
      for entry in old.infolist():
        data = old.read(entry)
        if sys.argv[4] == 'listed':
          if entry.filename == 'manifest.json':
            manifest = json.loads(data)
            for listed in manifest['entries']:
              if listed['name'] == sys.argv[3]: listed['sha256'] = '0' * 64
            data = json.dumps(manifest).encode()
        elif entry.filename == sys.argv[3]:
          data = data[:-1] + bytes([data[-1] ^ 1])
        new.writestr(entry, data)
      new.close()
      """
    let outcome = try Fixtures.run(
      try #require(findTool("python3")),
      ["-c", script, path("sent.zip"), path("changed.zip"), name, isListed ? "listed" : "entry"])
    try #require(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    return path("changed.zip")
  }

  @Test(arguments: ["schema.sql", "counts.json"], [true, false])
  func anEntryIsNotTheOneOfTheManifest(name: String, isListed: Bool) throws {
    let changed = try changed(name, isListed: isListed)
    for command in [
      ["bundle", "show"], ["bundle", "show", "--json"], ["bundle", "list"],
      ["bundle", "list", "--json"], ["inspect"], ["inspect", "--json"], ["rows"],
      ["rows", "--format", "ndjson"], ["model", "hash"], ["report", "-o", path("page.html")],
    ] {
      let outcome = try Program.run(command + [changed])
      #expect(outcome.status == 1, "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains(name), "\(command): \(outcome.errors)")
      #expect(
        outcome.errors.contains("lifeboat bundle verify \(changed)"),
        "\(command): \(outcome.errors)")
      let whole = try Program.run(
        command.filter { $0 != "-o" && $0 != path("page.html") }
          + (command[0] == "report" ? ["-o", path("whole.html")] : []) + [path("sent.zip")])
      #expect(whole.status == 0 && !whole.errors.contains("verify"), "\(command)")
      try? FileManager.default.removeItem(atPath: path("whole.html"))
    }
    for command in ["show", "list"] {
      let problems = try Program.run("bundle", command, "--json", changed).json()["problems"]
      #expect(problems?.array?.compactMap { $0["entry"]?.string } == [name], "\(command)")
      #expect(problems?[0]?["id"]?.string == "bundle.entryChanged")
    }
    let whole = try Program.run("bundle", "show", "--json", path("sent.zip")).json()
    #expect(whole["problems"] == nil)
  }

  /// Hashes that somebody has changed are not those of the store.
  @Test func changedHashesAreNotRead() throws {
    let changed = try changed("hashes.json", isListed: true)
    let identified = try Program.run("model", "identify", changed, demo.kept.path)
    #expect(identified.status == 65 && identified.errors.contains("hashes.json"))
    #expect(try Program.run("model", "identify", path("sent.zip"), demo.kept.path).status == 0)
  }
}
