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
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path + "/Stores")
        .allSatisfy { $0.contains("Notes") || $0 == "Incompatible" })
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

  /// Each signal at two of six moments; in long rounds, at all of them.
  private static let stops = ["INT", "TERM", "HUP"].enumerated().flatMap {
    (turn: Int, signal: String) in
    Rounds.part(of: 0..<6, every: 3, from: turn).map { (signal, $0) }
  }

  /// A demo that is stopped takes back what it made, and nothing else, at whatever moment.
  @Test(arguments: stops)
  func aStoppedDemoLeavesNothing(_ signal: String, _ moment: Int) throws {
    let program = try #require(Program.path)
    let place = try TemporaryFolder()
    let marks = [
      "", "/Stores", "/Stores/Notes.sqlite", "/Stores/Incompatible", "/Rows", "/support.zip",
    ]
    let script = """
      "$1" demo -o "$2/above/Demo" >/dev/null 2>"$2/errors" &
      running=$!
      tries=0
      while [ ! -e "$2/above/Demo$3" ] && [ $tries -lt 300000 ]; do sleep 0.002; tries=$((tries + 1)); done
      kill -$4 $running
      wait $running
      echo $?
      """
    let result = try run(
      "/bin/bash", ["-c", script, "sh", program, place.url.path, marks[moment], signal])
    let status = String(decoding: result.stdout, as: UTF8.self)
    let errors = try String(contentsOf: place.url.appendingPathComponent("errors"), encoding: .utf8)
    // Its work may have ended when the signal came, and then all of it is there and the exit status says so.
    if FileManager.default.fileExists(atPath: place.url.path + "/above") {
      let bundle = place.url.path + "/above/Demo/support.zip"
      #expect(FileManager.default.fileExists(atPath: bundle), "\(status) \(errors)")
      #expect(status == "0\n", "\(errors)")
    } else {
      // It sees by itself that it was asked to stop, or the signal ends it.
      let own = ["INT": "130\n", "TERM": "143\n", "HUP": "129\n"][signal]
      #expect(["130\n", own].contains(status), "\(status) \(errors)")
    }
  }

  /// What somebody else puts there stays, and the folder is named.
  @Test func aStoppedDemoTakesNothingElse() throws {
    let program = try #require(Program.path)
    let place = try TemporaryFolder()
    let demo = place.url.appendingPathComponent("Demo").path
    let script = """
      "$1" demo -o "$2" >/dev/null 2>&1 &
      running=$!
      tries=0
      while [ ! -e "$2/Stores" ] && [ $tries -lt 300000 ]; do sleep 0.002; tries=$((tries + 1)); done
      echo mine > "$2/mine"; echo mine > "$2/Stores/mine"
      kill -TERM $running
      wait $running
      """
    _ = try run("/bin/bash", ["-c", script, "sh", program, demo])
    for name in ["/mine", "/Stores/mine"] {
      #expect(FileManager.default.contents(atPath: demo + name) == Data("mine\n".utf8))
    }
  }
}
