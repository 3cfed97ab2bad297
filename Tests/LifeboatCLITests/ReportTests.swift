import Fixtures
import Foundation
import Testing

/// `lifeboat report`
@Suite struct ReportTests {
  /// A copy of the demo's store, with changes in its log.
  private static func changedStore(of demo: Demonstration, in folder: URL) throws -> URL {
    let work = folder.appendingPathComponent("work")
    try FileManager.default.copyItem(at: demo.kept.deletingLastPathComponent(), to: work)
    let connection = try SQLiteConnection(work.appendingPathComponent("Notes.sqlite"))
    // A picture of one pixel.
    let png =
      "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
      + "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
    try connection.exec(
      """
      PRAGMA wal_autocheckpoint = 0;
      UPDATE ZNOTE SET ZPICTURE = x'01\(png)' WHERE Z_PK = 1;
      PRAGMA wal_checkpoint(TRUNCATE);
      UPDATE ZNOTE SET ZTITLE = 'Groceries <b>', ZPICTURE = NULL WHERE Z_PK = 1;
      DELETE FROM ZNOTE WHERE Z_PK = 3;
      DELETE FROM Z_2TAGS WHERE Z_2NOTES = 3;
      """)
    let store = folder.appendingPathComponent("Notes.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        at: work.appendingPathComponent("Notes.sqlite" + suffix),
        to: URL(fileURLWithPath: store.path + suffix))
    }
    connection.close()
    return store
  }

  /// Older versions of rows beside what they are now: what was changed is what the statements changed.
  @Test func rowsBeforeAndAfter() throws {
    let demo = try Demonstration()
    let place = try TemporaryFolder()
    let store = try Self.changedStore(of: demo, in: place.url)
    func page(_ name: String, _ options: String...) throws -> String {
      let output = place.url.appendingPathComponent(name + ".html")
      let outcome = try Program.run(["report", store.path, "-o", output.path] + options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      return try String(decoding: Data(contentsOf: output), as: UTF8.self)
    }
    let closed = try page("closed")
    #expect(!closed.contains("Before and after") && !closed.contains("img-src"))
    for value in ["Shopping", "Groceries", "loses anything"] { #expect(!closed.contains(value)) }

    let open = try page("open", "--values")
    func row(_ fate: String, _ name: String, _ attribute: String, _ before: String, _ now: String)
      -> Bool
    {
      open.contains(
        "<tr class=\"\(fate)\"><th scope=\"row\">\(name)</th><td>\(attribute)</td><td>\(before)</td><td>\(now)</td>"
      )
    }
    #expect(row("changed", "Note 1", "title", "Shopping", "Groceries &lt;b&gt;"))
    #expect(row("deleted", "Note 3", "body", "an app that never loses anything", "the row is gone"))
    #expect(
      open.contains("image/png, 1 by 1 pixels (67 bytes)<img alt=\"\" src=\"data:image/png;base64,")
    )
    #expect(open.contains("; img-src data:\""))
    // Nothing else has changed.
    let changed = open.matches(of: /<tr class="changed"><th scope="row">([^<]*)<\/th><td>([^<]*)</)
      .map { "\($0.output.1).\($0.output.2)" }
    #expect(Set(changed) == ["Note 1.title", "Note 1.picture"])
    #expect(
      Set(open.matches(of: /<tr class="deleted"><th scope="row">([^<]*)</).map(\.output.1)) == [
        "Note 3"
      ])

    let list = place.url.appendingPathComponent("allow")
    try Data("lifeboat-allow 1\nNote.title\n".utf8).write(to: list)
    let listed = try page("listed", "--allow", list.path)
    #expect(listed.contains("Shopping") && !listed.contains("loses anything"))
    #expect(!listed.contains("<img "))
  }

  @Test func aStoreAnIncidentAndAFolder() throws {
    let demo = try Demonstration()
    let before = treeState(of: demo.folder)
    let place = try TemporaryFolder()
    let folder = demo.incident.deletingLastPathComponent().deletingLastPathComponent()
    for (name, input, words) in [
      ("store", demo.kept, "Report on Notes.sqlite"), ("incident", demo.incident, "Set aside:"),
      ("folder", folder, "<th scope=\"col\">Verdict"),
    ] {
      let output = place.url.appendingPathComponent(name + ".html")
      let outcome = try Program.run("report", input.path, "-o", output.path)
      #expect(outcome.status == 0, "\(name): \(outcome.errors)")
      let html = try String(decoding: Data(contentsOf: output), as: UTF8.self)
      #expect(html.contains(words), "\(name)")
      #expect(try Program.run("report", input.path, "-o", output.path).status == 73)
    }
    #expect(treeState(of: demo.folder) == before)
    // Of a bundle, with the files of the store or without.
    for (flags, words) in [
      (["--include", "store"], "class=\"strip\""), ([], "made of what a bundle says"),
    ] {
      let name = UUID().uuidString
      let bundle = place.url.appendingPathComponent(name + ".zip").path
      let output = place.url.appendingPathComponent(name + ".html")
      #expect(
        try Program.run(["bundle", "create", demo.incident.path, "-o", bundle] + flags).status == 0)
      let outcome = try Program.run("report", bundle, "-o", output.path)
      #expect(outcome.status == 0, "\(outcome.errors)")
      let html = try String(decoding: Data(contentsOf: output), as: UTF8.self)
      #expect(html.contains(words) && html.contains("Report on Notes.sqlite"), "\(flags)")
    }
    // Nothing is written into the evidence.
    for output in [
      demo.kept.path + "-wal", demo.incident.path + "/page.html",
      demo.incident.path + "/store/page.html",
    ] {
      for input in [demo.kept.path, demo.incident.path] {
        #expect(try Program.run("report", input, "-o", output).status == 73, "\(output)")
      }
    }
    #expect(
      try Program.run("extract", demo.kept.path, "-o", demo.incident.path + "/store/rows").status
        == 73)
    #expect(try Program.run("report", place.url.path + "/none", "-o", "x").status == 66)
    #expect(treeState(of: demo.folder) == before)
  }
}
