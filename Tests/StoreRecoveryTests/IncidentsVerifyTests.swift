import StoreFiles
import SafeFiles
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct IncidentsVerifyTests {
  private let blob = "store/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06"

  private func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  @Test func whatWasSealedIsThere() throws {
    let shelf = try Shelf()
    let ids = try (0..<2).map { try shelf.setAside(hour: $0) }
    let before = shelf.tree
    let checks = try shelf.incidents().verify()
    #expect(checks.map(\.id) == ids)
    for check in checks {
      #expect(check.finding == .intact && check.isSound && check.problem == nil)
      #expect(check.files.count == 6)
      #expect(check.files.allSatisfy { $0.state == .ok && $0.text == nil })
    }
    #expect(try shelf.incidents().verify(ids[1]) == checks[1])
    #expect(shelf.tree == before)
  }

  @Test func eachDifferenceIsTold() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let files = FileManager.default
    try write("a LARGE picture", shelf.path(id, blob))
    try write("longer by far than it was", shelf.path(id, "store/Done.sqlite-shm"))
    try files.removeItem(atPath: shelf.path(id, "store/Done.sqlite-wal"))
    try write("x", shelf.path(id, "store/Done.sqlite-journal"))
    try write("x", shelf.path(id, "store/note.txt"))
    let main = shelf.path(id, "store/Done.sqlite")
    let bytes = try #require(files.contents(atPath: main))
    try files.removeItem(atPath: main)
    try bytes.write(to: URL(fileURLWithPath: main))
    let check = try shelf.incidents().verify(id)
    #expect(check.finding == .different && !check.isSound)
    let states = Dictionary(uniqueKeysWithValues: check.files.map { ($0.name, $0.state) })
    #expect(
      states == [
        ".Done_SUPPORT": .ok, ".Done_SUPPORT/_EXTERNAL_DATA": .ok,
        ".Done_SUPPORT/_EXTERNAL_DATA/5AB00A06": .changed, "Done.sqlite": .ok,
        "Done.sqlite-journal": .added, "Done.sqlite-shm": .changed, "Done.sqlite-wal": .missing,
        "note.txt": .added,
      ])
    #expect(check.files.first { $0.name == "Done.sqlite" }?.text?.contains("same bytes") == true)
    #expect(check.files.filter { $0.state != .ok }.allSatisfy { $0.text != nil })
  }

  /// The kinds of files are told in words, each with its article.
  @Test func aChangedKindIsToldInWords() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    try FileManager.default.removeItem(atPath: shelf.path(id, blob))
    try FileManager.default.createSymbolicLink(
      atPath: shelf.path(id, blob), withDestinationPath: "nowhere")
    let name = ".Done_SUPPORT/_EXTERNAL_DATA/5AB00A06"
    let file = try shelf.incidents().verify(id).files.first { $0.name == name }
    #expect(file?.text == "\(name) was a file and is now a symbolic link")
    let words = StoreSet.Kind.allCases.map(\.words)
    #expect(words == ["a file", "a folder", "a symbolic link", "a pipe, socket or device"])
  }

  @Test func whatCannotBeCompared() throws {
    let shelf = try Shelf()
    let ids = try (0..<4).map { try shelf.setAside(hour: $0) }
    _ = try shelf.incidents(hour: 5).restore(ids[3])
    try write("{", shelf.path(ids[0], "incident.json"))
    try write("{}", shelf.path(ids[1], ".back.json"))
    try FileManager.default.moveItem(
      atPath: shelf.path(ids[2], "store"), toPath: shelf.folder + "/elsewhere")
    try FileManager.default.createSymbolicLink(
      atPath: shelf.path(ids[2], "store"), withDestinationPath: shelf.folder + "/elsewhere")
    let checks = try shelf.incidents().verify()
    #expect(checks.map(\.finding) == [.noRecord, .unfinished, .unread, .moved])
    #expect(checks.map(\.isSound) == [false, false, false, true])
    #expect(checks.map { $0.problem == nil } == [false, false, false, true])
    #expect(checks.allSatisfy { $0.files.isEmpty })
    // All files gone is a difference, not an outcome.
    try FileManager.default.removeItem(atPath: shelf.path(ids[1], ".back.json"))
    let gone = try shelf.setAside(hour: 6)
    try FileManager.default.removeItem(atPath: shelf.path(gone, "store"))
    let check = try shelf.incidents().verify(gone)
    #expect(check.finding == .different)
    #expect(check.files.allSatisfy { $0.state == .missing } && check.files.count == 6)
  }

  @Test func unreadableFiles() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let path = shelf.path(id, blob)
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    guard FileManager.default.isReadableFile(atPath: path) == false else {
      print("skipped: unreadableFiles, because this user may read everything")
      return
    }
    let check = try shelf.incidents().verify(id)
    #expect(check.finding == .unread)
    #expect(check.files.filter { $0.state == .unread }.count == 1)
  }

  @Test func unknownNames() throws {
    let shelf = try Shelf()
    try shelf.setAside(hour: 0)
    for id in ["", "..", "../x", "2030-01-01-00-00-00Z"] {
      let error = #expect(throws: StoreRecoveryError.self) { try shelf.incidents().verify(id) }
      #expect(error?.code == .noSuchIncident)
    }
    #expect(try Incidents(in: shelf.folder + "/none", fileSystem: .real).verify() == [])
  }
}
