import Fixtures
import Foundation
import Testing

@testable import SafeFiles

/// A name goes only together with the file that was meant.
@Suite struct SafeRemovalTests {
  private let folder: TemporaryFolder
  private let descriptor: Int32
  private var path: String { folder.url.path }

  init() throws {
    folder = try TemporaryFolder()
    descriptor = unsafe open(folder.url.path, O_RDONLY | O_DIRECTORY)
    try put("ours", "store")
  }

  private func put(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: folder.url.appendingPathComponent(name))
  }

  private func text(_ name: String) -> String? {
    FileManager.default.contents(atPath: path + "/" + name).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  /// Removes `store` where it is our file, and has `meanwhile` happen right after the first look at it.
  private func remove(meanwhile: (() throws -> Void)? = nil) throws -> SafeRemoval.End {
    defer { close(descriptor) }
    var looks = 0
    return SafeRemoval.remove("store", in: descriptor) { name in
      let isOurs = text(name) == "ours"
      looks += 1
      if looks == 1 { #expect(throws: Never.self) { try meanwhile?() } }
      return isOurs
    }
  }

  @Test func ourFileGoes() throws {
    #expect(try remove() == .removed)
    #expect(try names() == [])
  }

  @Test func anotherFileStays() throws {
    try put("mine", "store")
    #expect(try remove() == .another)
    #expect(text("store") == "mine")
  }

  /// The user's file gets the name after it was looked at: by `unlink` it would go.
  @Test func anotherFileThatComesBehindTheLook() throws {
    try put("mine", "incoming")
    let end = try remove {
      try #require(unsafe rename(path + "/incoming", path + "/store") == 0)
    }
    #expect(end == .another)
    #expect(try names() == ["store"])
    #expect(text("store") == "mine")
  }

  @Test func aFolderThatComesBehindTheLook() throws {
    let end = try remove {
      try FileManager.default.removeItem(atPath: path + "/store")
      try FileManager.default.createDirectory(
        atPath: path + "/store", withIntermediateDirectories: false)
      try put("mine", "store/inner")
    }
    #expect(end == .another)
    #expect(text("store/inner") == "mine")
  }

  @Test func aNameThatNothingHasAnyMore() throws {
    let end = try remove { try FileManager.default.removeItem(atPath: path + "/store") }
    #expect(end == .missing)
  }

  /// Its name is taken again before it could have it back. Both files are still there.
  @Test func aThirdFile() throws {
    defer { close(descriptor) }
    var looks = 0
    let end = SafeRemoval.remove("store", in: descriptor) { _ in
      looks += 1
      #expect(throws: Never.self) { try put(looks == 1 ? "mine" : "third", "store") }
      return looks == 1
    }
    guard case .displaced(let name) = end else {
      Issue.record("\(end)")
      return
    }
    #expect(text(name) == "mine")
    #expect(text("store") == "third")
  }

  /// What a kill leaves goes when it is the file that was to go, and stays when it is another.
  @Test func whatAKillLeaves() throws {
    defer { close(descriptor) }
    try put("mine", "incoming")
    var aside: [String] = []
    // The look at the name aside is where the kill comes: the link keeps what stands there then.
    for isSwapped in [false, true] {
      try put("ours", "store")
      _ = SafeRemoval.remove("store", in: descriptor) { name in
        if name == "store", isSwapped {
          #expect(unsafe rename(path + "/incoming", path + "/store") == 0)
        }
        if name != "store" {
          aside.append(name)
          #expect(unsafe link(path + "/" + name, path + "/kept") == 0)
        }
        return true
      }
      #expect(unsafe rename(path + "/kept", path + "/" + aside[aside.count - 1]) == 0)
    }
    #expect(try names() == aside.sorted())
    for name in aside { SafeRemoval.sweep(name, in: descriptor) }
    #expect(try names() == [aside[1]])
    #expect(text(aside[1]) == "mine")
  }

  /// On a volume without the call: the user's file gets the old name when the new one is made.
  @Test func aFileThatComesWhileANameIsGivenByLink() throws {
    defer { close(descriptor) }
    try put("mine", "incoming")
    let code = SystemCalls.renameByLink("store", in: descriptor, to: "new", in: descriptor) {
      #expect(unsafe rename(path + "/incoming", path + "/store") == 0)
    }
    #expect(code == nil)
    #expect(text("new") == "ours")
    #expect(text("store") == "mine")
    #expect(SystemCalls.renameByLink("new", in: descriptor, to: "again", in: descriptor) == nil)
    #expect(try names() == ["again", "store"])
  }

  @Test func aRenameNeverReplaces() throws {
    defer { close(descriptor) }
    try put("mine", "taken")
    #expect(SystemCalls.rename("store", in: descriptor, to: "taken", in: descriptor) == EEXIST)
    #expect(text("taken") == "mine")
    #expect(SystemCalls.rename("store", in: descriptor, to: "free", in: descriptor) == nil)
    #expect(try names() == ["free", "taken"])
  }
}
