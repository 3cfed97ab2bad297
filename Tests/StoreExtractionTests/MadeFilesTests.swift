import Dispatch
import Fixtures
import Foundation
import Testing

@testable import StoreExtraction

/// What a run made, and how it is taken back.
@Suite struct MadeFilesTests {
  private let folder: TemporaryFolder
  private var path: String { folder.url.path }

  init() throws { folder = try TemporaryFolder() }

  private func names(_ path: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.url.path + path).sorted()
  }

  @Test func allOfItGoes() throws {
    let made = MadeFiles()
    let parent = try OpenFolder(path)
    let inner = try made.makeFolder("inner", in: parent)
    close(try made.makeFile("a", in: inner))
    try Data("b".utf8).write(to: folder.url.appendingPathComponent("inner/b"))
    made.note(path + "/inner/b")
    #expect(try names("/inner") == ["a", "b"])
    made.takeBack(to: 0)
    #expect(try names() == [])
  }

  /// Whoever takes back waits for what is being made, so that nothing is made that nobody notes.
  @Test func takingBackWaitsForWhatIsBeingMade() throws {
    let made = MadeFiles()
    let isDone = DispatchSemaphore(value: 0)
    let target = path + "/late"
    made.making(target) {
      Thread.detachNewThread {
        made.takeBack()
        isDone.signal()
      }
      // Long enough for the other to act if it did not wait.
      usleep(50_000)
      return FileManager.default.createFile(atPath: target, contents: nil)
    }
    isDone.wait()
    #expect(try names() == [])
    made.making(target) { false }
    #expect(made.count == 0)
  }

  /// A name is not enough: what stands there by now must be what was made.
  @Test func whatTookItsPlaceStays() throws {
    let made = MadeFiles()
    let parent = try OpenFolder(path)
    let inner = try made.makeFolder("inner", in: parent)
    for name in ["a", "b", "c"] { close(try made.makeFile(name, in: inner)) }
    let files = FileManager.default
    // Another file, kept open by a second name so that its number is not given again; a link; a folder.
    for name in ["a", "b", "c"] {
      try files.moveItem(atPath: path + "/inner/" + name, toPath: path + "/old-" + name)
    }
    try Data("mine".utf8).write(to: folder.url.appendingPathComponent("inner/a"))
    try files.createSymbolicLink(
      atPath: path + "/inner/b", withDestinationPath: path + "/old-b")
    try files.createDirectory(atPath: path + "/inner/c", withIntermediateDirectories: false)
    made.takeBack(to: 0)
    #expect(try names() == ["inner", "old-a", "old-b", "old-c"])
    #expect(try names("/inner") == ["a", "b", "c"])
  }

  /// A folder that is swapped for a link after it was made takes the files with it, and nothing goes through the link.
  @Test func aFolderThatIsSwappedForALink() throws {
    let victim = try TemporaryFolder()
    try Data("mine".utf8).write(to: victim.url.appendingPathComponent("b.csv"))
    let output = try OutputFolder(path + "/out", MadeFiles())
    _ = try output.create("a.csv")
    try FileManager.default.moveItem(atPath: path + "/out", toPath: path + "/moved")
    try FileManager.default.createSymbolicLink(
      atPath: path + "/out", withDestinationPath: victim.url.path)
    _ = try output.create("b.csv")
    #expect(try names("/moved") == ["a.csv", "b.csv"])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: victim.url.path) == ["b.csv"])
    output.discard()
    #expect(try names("/moved") == [])
    #expect(try Data(contentsOf: victim.url.appendingPathComponent("b.csv")) == Data("mine".utf8))
  }

  @Test func whatIsCompleteStays() throws {
    let made = MadeFiles()
    let parent = try OpenFolder(path)
    close(try made.makeFile("before", in: parent))
    let count = made.count
    close(try made.makeFile("after", in: parent))
    made.keep(to: count) {}
    made.takeBack(to: 0)
    #expect(try names() == ["after"])
  }

  @Test func nothingIsReplaced() throws {
    try Data("mine".utf8).write(to: folder.url.appendingPathComponent("a"))
    let made = MadeFiles()
    let parent = try OpenFolder(path)
    #expect(throws: (any Error).self) { try made.makeFile("a", in: parent) }
    #expect(throws: (any Error).self) { try made.makeFolder("a", in: parent) }
    made.takeBack(to: 0)
    #expect(try names() == ["a"])
  }
}
