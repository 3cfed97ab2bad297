import Fixtures
import Foundation
import Testing

/// `lifeboat states`
@Suite struct StatesTests {
  @Test func theStatesOfALogAreListed() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let before = treeState(of: folder.url)
    let outcome = try Program.run("states", store.path)
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome.errors)")
    #expect(outcome.text.contains("SQLite reads state "))
    #expect(outcome.text.contains("numbered ~9\n"))
    #expect(outcome.text.contains("numbered -71\n"))
    #expect(outcome.text.contains("second created"))
    #expect(try Program.run("states", "list", store.path).text == outcome.text)
    let details = try Program.run("states", store.path, "-v")
    #expect(details.text.contains("9 changed (1, 2, 3, 4, 5, 6, 7, 8, 9)"))
    let list = try Program.run("states", store.path, "--json").json()
    #expect(list["schema"]?.string == "lifeboat.states" && list["version"]?.integer == 1)
    let states = try #require(list["states"]?.array)
    #expect(list["stateCount"]?.integer == Int64(states.count))
    #expect(states.compactMap { $0["state"]?.string } == states.indices.map(String.init))
    #expect(states.filter { $0["isCurrent"]?.boolean == true }.count == 1)
    #expect(states.last?["isCurrent"]?.boolean == true)
    let few = try Program.run("states", store.path, "--limit", "2")
    #expect(few.text.contains("older states (--limit shows more)"))
    #expect(treeState(of: folder.url) == before)
  }

  @Test func aStateIsWrittenWithItsManifest() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let before = treeState(of: folder.url)
    let made = try TemporaryFolder()
    let file = made.url.appendingPathComponent("old.sqlite")
    let outcome = try Program.run("states", "export", store.path, "1", "-o", file.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("whole") && outcome.text.contains("lifeboat compare "))
    let connection = try SQLiteConnection(file)
    #expect(
      try connection.integer("SELECT count(*) FROM numbered WHERE note = 'commit 1'") == 9)
    #expect(try connection.integer("SELECT count(*) FROM numbered") == 400)
    connection.close()
    let manifest = try JSONDecoder().decode(
      JSON.self, from: Data(contentsOf: made.url.appendingPathComponent("old.sqlite.json")))
    #expect(manifest["schema"]?.string == "lifeboat.state")
    #expect(manifest["state"]?.string == "1" && manifest["isWhole"]?.boolean == true)
    #expect(
      manifest["sourceSHA256"]?[store.lastPathComponent]?.string
        == before[store.lastPathComponent]?.sha256)
    #expect(treeState(of: folder.url) == before)

    let other = made.url.appendingPathComponent("two.sqlite")
    let json = try Program.run("states", "export", store.path, "2", "-o", other.path, "--json")
    #expect(try json.json()["state"]?.string == "2" && json.status == 0)
  }

  @Test func whatIsDoubtedIsWrittenAndSaid() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("journal-hot").make(folder.url)
    let list = try Program.run("states", store.path)
    #expect(list.status == 0 && list.text.contains("interrupted?"))
    let made = try TemporaryFolder()
    let file = made.url.appendingPathComponent("half.sqlite").path
    let outcome = try Program.run("states", "export", store.path, "interrupted", "-o", file)
    #expect(outcome.status == 1 && outcome.errors.contains("(state.interrupted)"))
    #expect(FileManager.default.fileExists(atPath: file))
    let again = made.url.appendingPathComponent("again.sqlite").path
    #expect(
      try Program.run(
        "states", "export", store.path, "interrupted", "-o", again, "--exit-zero"
      ).status == 0)
  }

  @Test func errorsHaveTheirCodes() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let made = try TemporaryFolder()
    let file = made.url.appendingPathComponent("old.sqlite").path
    let text = made.url.appendingPathComponent("text")
    try Data("no database at all, only text of some length".utf8).write(to: text)
    for (arguments, status, code) in [
      (["states", made.url.path + "/none"], 66, "file.missing"),
      (["states", text.path], 65, "file.notADatabase"),
      (["states", "export", store.path, "99", "-o", file], 64, "input.unknownState"),
      (["states", "export", store.path, "before", "-o", file], 64, "input.unknownState"),
      (["states", "export", store.path, "1", "-o", text.path], 73, "writer.exists"),
      (["states", "export", store.path, "1", "-o", store.path + "-wal"], 73, "output.isEvidence"),
      (["states", "export", store.path, "1", "-o", made.url.path + "/none/x"], 73, nil),
    ] as [([String], Int32, String?)] {
      let outcome = try Program.run(arguments)
      #expect(outcome.status == status, "\(arguments) \(outcome.errors)")
      if let code { #expect(outcome.errorCode == code, "\(arguments) \(outcome.errors)") }
      #expect(outcome.text == "")
    }
    let wrong = try Program.run("states", "export", store.path, "first", "-o", file)
    #expect(wrong.status == 64)
    #expect(try FileManager.default.contentsOfDirectory(atPath: made.url.path) == ["text"])
  }
}
