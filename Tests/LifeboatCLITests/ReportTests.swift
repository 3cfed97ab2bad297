import Fixtures
import Foundation
import Testing

/// `lifeboat report`
@Suite struct ReportTests {
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
