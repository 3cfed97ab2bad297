import Fixtures
import Foundation
import Testing

/// `lifeboat demo`
@Suite struct DemoTests {
  @Test func showsTheMainJob() throws {
    let place = try TemporaryFolder()
    let folder = place.url.appendingPathComponent("Demo")
    let outcome = try Program.run("demo", "-o", folder.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    for step in 1...5 { #expect(outcome.text.contains("\n\(step). ")) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path) == ["Demo"])
    #expect(
      Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
        == ["Stores", "Rows", "support.zip"])
    // What it proposes works.
    let bundle = folder.appendingPathComponent("support.zip").path
    #expect(try Program.run("bundle", "verify", bundle).status == 0)
    let stores = folder.appendingPathComponent("Stores").path
    #expect(try Program.run("incidents", "list", stores).text.contains("incompatible"))
  }

  @Test func jsonHoldsAllReports() throws {
    let place = try TemporaryFolder()
    let folder = place.url.appendingPathComponent("Demo").path
    let outcome = try Program.run("demo", "--json", "-o", folder)
    #expect(outcome.status == 0)
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.demo")
    #expect(report["folder"]?.string == folder)
    #expect(report["incident"]?["verdict"]?["finding"]?.string == "incompatible")
    #expect(report["extract"]?["rowCount"]?.integer == 11)
    #expect(report["bundle"]?["schema"]?.string == "lifeboat.bundle")
  }

  @Test func aFolderThatExistsStaysAsItIs() throws {
    let folder = try TemporaryFolder()
    let before = treeState(of: folder.url)
    let outcome = try Program.run("demo", "-o", folder.url.path)
    #expect(outcome.status == 73)
    #expect(outcome.errorCode == "output.exists")
    #expect(treeState(of: folder.url) == before)
    let file = folder.url.appendingPathComponent("file")
    try Data().write(to: file)
    let below = try Program.run("demo", "-o", file.path + "/Demo")
    #expect(below.status == 73 || below.status == 74)
    #expect(below.errorCode != nil, "\(below.errors)")
  }
}
