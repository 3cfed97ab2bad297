import CLibrary
import Fixtures
import Foundation
import SafeFiles
import Testing

@testable import SupportBundle

/// Folders with private files: those of runs that were killed go, all others stay.
@Suite struct RunFoldersTests {
  private func make(_ space: Workspace, _ name: String, mode: Int = 0o700) throws {
    try FileManager.default.createDirectory(
      atPath: space.path(name + "/store/.Notes_SUPPORT"), withIntermediateDirectories: true)
    try space.write([1, 2, 3], to: name + "/store/Notes.sqlite")
    try space.write([4], to: name + "/store/.Notes_SUPPORT/blob")
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: space.path(name))
  }

  /// What a killed run leaves is a folder that nobody has locked.
  @Test func whatAKilledRunLeftIsRemoved() throws {
    let space = try Workspace()
    for name in [RunFolders.newName(), RunFolders.newName(isForWorkers: true)] {
      try make(space, name)
    }
    let folder = try PrivateFolder(in: space.folder.path) { _ = $1() }
    let names = try space.names
    #expect(names == [URL(fileURLWithPath: folder.path).lastPathComponent])
    withExtendedLifetime(folder) {}
  }

  @Test func aRunThatGoesOnKeepsItsFolder() throws {
    let space = try Workspace()
    var first: PrivateFolder? = try PrivateFolder(in: space.folder.path) { _ = $1() }
    let path = try #require(first?.path)
    try first?.makeFile(["store", "Notes.sqlite"], path: "Notes.sqlite") { _ in }
    let second = try PrivateFolder(in: space.folder.path) { _ = $1() }
    RunFolders.removeLeft(in: space.folder.path)
    #expect(FileManager.default.fileExists(atPath: path + "/store/Notes.sqlite"))
    #expect(FileManager.default.fileExists(atPath: second.path))
    first = nil
    #expect(try space.names == [URL(fileURLWithPath: second.path).lastPathComponent])
  }

  /// Another process has the lock, and is then killed.
  @Test(.enabled(if: findTool("python3") != nil, "no python3"))
  func theKernelUnlocksTheFolderOfAKilledProcess() throws {
    let python = try #require(findTool("python3"))
    let space = try Workspace()
    let name = RunFolders.newName()
    try make(space, name)
    let other = Process()
    other.executableURL = URL(fileURLWithPath: python)
    other.arguments = [
      "-c",
      """
      import fcntl, os, sys
      fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
      print('locked', flush=True)
      sys.stdin.read()
      """, space.path(name),
    ]
    let input = Pipe()
    let output = Pipe()
    other.standardInput = input
    other.standardOutput = output
    try other.run()
    #expect(!output.fileHandleForReading.availableData.isEmpty, "it holds the lock")
    RunFolders.removeLeft(in: space.folder.path)
    #expect(try space.read(name + "/store/Notes.sqlite") == [1, 2, 3])
    kill(other.processIdentifier, SIGKILL)
    other.waitUntilExit()
    try input.fileHandleForWriting.close()
    RunFolders.removeLeft(in: space.folder.path)
    #expect(try space.names == [])
  }

  /// A name that is nearly one, a folder that others may open, a file, and a link to a folder.
  @Test func whatIsNotOfARunStays() throws {
    let space = try Workspace()
    let name = RunFolders.newName()
    let names = [
      String(name.dropLast(4)), name + "-2", "lifeboat-notes-run",
      "lifeboat-" + String(repeating: "z", count: 32) + "-run",
    ]
    for other in names { try make(space, other) }
    let shared = RunFolders.newName()
    try make(space, shared, mode: 0o755)
    let file = RunFolders.newName()
    try space.write([9], to: file)
    let link = RunFolders.newName()
    try FileManager.default.createSymbolicLink(
      atPath: space.path(link), withDestinationPath: space.path(names[0]))
    let before = treeState(of: space.folder)
    RunFolders.removeLeft(in: space.folder.path)
    #expect(treeState(of: space.folder) == before)
  }

  /// A run that finds its new folder locked by another takes a new one.
  @Test func aFolderThatAnotherRunHasLockedIsNotTaken() throws {
    let space = try Workspace()
    let name = RunFolders.newName()
    try make(space, name)
    let path = space.path(name)
    let ours = SystemCalls.openFolder(path, in: AT_FDCWD)
    let theirs = SystemCalls.openFolder(path, in: AT_FDCWD)
    defer { close(ours) }
    let locked = flock(theirs, LOCK_EX | LOCK_NB)
    #expect(locked == 0)
    #expect(!RunFolders.claim(ours, path, in: AT_FDCWD))
    // A process that another test starts may still hold a copy of the descriptor.
    #expect(flock(theirs, LOCK_UN) == 0)
    close(theirs)
    #expect(RunFolders.claim(ours, path, in: AT_FDCWD))
    try FileManager.default.removeItem(atPath: path)
    #expect(!RunFolders.claim(ours, path, in: AT_FDCWD))
  }
}
