import Fixtures
import Foundation
import Testing

@testable import SupportBundle

/// Files that are made and read below an open folder, whatever its path leads to meanwhile.
@Suite struct OutputTreeTests {
  private func make(_ tree: OutputTree, _ parts: [String], _ text: String = "mine") throws {
    let file = try tree.makeFile(parts, mode: 0o600)
    defer { close(file) }
    try OutputTree.write(Array(text.utf8)[...], to: file, path: "")
  }

  private func link(_ path: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
  }

  @Test func whatIsMadeGoesAgainAndNothingElse() throws {
    let space = try Workspace()
    var heard: [String] = []
    let tree = try OutputTree(in: space.folder.path) { path, make in
      if make() { heard.append(path) }
    }
    try tree.makeFolders(above: ["a", "b", "file"], mode: 0o700)
    try make(tree, ["a", "b", "file"])
    #expect(try space.read("a/b/file") == Array("mine".utf8))
    #expect(heard == ["a", "a/b", "a/b/file"].map { space.path($0) })
    try space.write([1], to: "a/theirs")
    try space.write([1], to: "other")
    tree.discard()
    #expect(try space.names == ["a", "other"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.path("a")) == ["theirs"])
  }

  @Test func aFileThatTookANameStays() throws {
    let space = try Workspace()
    let tree = try OutputTree(in: space.folder.path) { _ = $1() }
    try make(tree, ["file"])
    try FileManager.default.removeItem(atPath: space.path("file"))
    try space.write([9], to: "file")
    tree.discard()
    #expect(try space.read("file") == [9])
  }

  @Test func aLinkInThePlaceOfAFolderLeadsNowhere() throws {
    let space = try Workspace()
    let other = try Workspace()
    let tree = try OutputTree(in: space.folder.path) { _ = $1() }
    try tree.makeFolder(["a"], mode: 0o700)
    try FileManager.default.removeItem(atPath: space.path("a"))
    try link(space.path("a"), to: other.folder.path)
    #expect(throws: BundleError.self) { try make(tree, ["a", "file"]) }
    // A folder of somebody else's is none of ours either.
    try FileManager.default.removeItem(atPath: space.path("a"))
    try FileManager.default.createDirectory(
      atPath: space.path("a"), withIntermediateDirectories: false)
    #expect(throws: BundleError.self) { try make(tree, ["a", "file"]) }
    // Nor is a dangling link a free name.
    try link(space.path("free"), to: other.path("made"))
    let error = #expect(throws: BundleError.self) { try make(tree, ["free"]) }
    #expect(error?.code == .outputExists)
    #expect(try other.names.isEmpty)
    tree.discard()
    #expect(try space.names == ["a", "free"])
  }

  @Test func theFolderStaysTheOneThatWasOpened() throws {
    let space = try Workspace()
    let other = try Workspace()
    let home = space.path("home")
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
    let tree = try OutputTree(in: home) { _ = $1() }
    let output = try ZipWriter(path: home + "/a.zip")
    try FileManager.default.moveItem(atPath: home, toPath: space.path("moved"))
    try link(home, to: other.folder.path)
    try make(tree, ["file"])
    _ = try output.finish()
    #expect(try other.names.isEmpty)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: space.path("moved")).sorted()
        == ["a.zip", "file"])
  }

  @Test(arguments: [["..", "file"], [".."], ["a/b"], [""], ["a", "", "b"], ["a\0b"]])
  func namesThatLeadOutAreRefused(_ parts: [String]) throws {
    let space = try Workspace()
    let tree = try OutputTree(in: space.folder.path) { _ = $1() }
    #expect(throws: BundleError.self) { try make(tree, parts) }
    #expect(try space.names.isEmpty)
  }

  // MARK: - Sources

  /// A name that was a file when the set was listed, and is a link when it is packed.
  @Test func aSwapBetweenLookAndOpenLeadsNowhere() throws {
    let space = try Workspace()
    let other = try Workspace()
    try other.write(Array("secret".utf8), to: "secret")
    try FileManager.default.createDirectory(
      atPath: space.path("set/.a_SUPPORT"), withIntermediateDirectories: true)
    try space.write([1], to: "set/a")
    try space.write([1], to: "set/.a_SUPPORT/secret")
    let folder = try SourceFolder(space.path("set"))
    #expect(try folder.file("a").size == 1)
    #expect(try folder.file(".a_SUPPORT/secret").size == 1)
    try FileManager.default.removeItem(atPath: space.path("set/a"))
    try link(space.path("set/a"), to: other.path("secret"))
    let file = #expect(throws: BundleError.self) { try folder.file("a") }
    #expect(file?.code == .notAFile)
    try FileManager.default.removeItem(atPath: space.path("set/.a_SUPPORT"))
    try link(space.path("set/.a_SUPPORT"), to: other.folder.path)
    let below = #expect(throws: BundleError.self) { try folder.file(".a_SUPPORT/secret") }
    #expect(below?.code == .notAFile)
    // The folder itself may be swapped as well: what was opened is read.
    try space.write([1, 2], to: "set/b")
    try FileManager.default.moveItem(atPath: space.path("set"), toPath: space.path("moved"))
    try other.write([1, 2, 3], to: "b")
    try link(space.path("set"), to: other.folder.path)
    #expect(try folder.file("b").size == 2)
    for name in ["../x", "", "/etc/passwd", ".a_SUPPORT/../b", "."] {
      #expect(throws: BundleError.self, "\(name)") { try folder.file(name) }
    }
    if let mkfifo = Tool("mkfifo") {
      #expect(try mkfifo.run([space.path("moved/pipe")]).status == 0)
      #expect(throws: BundleError.self) { try folder.file("pipe") }
    }
  }
}
