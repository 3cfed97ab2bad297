import StoreFiles
import SafeFiles
import Foundation
import Testing

@testable import StoreRecovery

/// A name that becomes a link between two calls leads nowhere.
@Suite struct SwapTests {
  /// A folder of ours, and one of somebody else's that nothing may happen to.
  final class Place: Sendable {
    let bench: Workbench
    let home: String
    let victim: String

    init() throws {
      bench = try Workbench()
      home = StoreSet.realFolder(bench.folder) + "/home"
      victim = StoreSet.realFolder(bench.folder) + "/victim"
      for folder in [home, victim] { #expect(Posix.mkdir(folder, 0o700) == 0) }
      #expect(Posix.mkdir(victim + "/empty", 0o700) == 0)
      for name in ["secret", "Done.sqlite"] {
        try FileSystem.real.write(victim + "/" + name, Array("secret".utf8))
        #expect(Posix.chmod(victim + "/" + name, 0o600) == 0)
      }
    }

    /// Kinds, permissions, owners, times and contents of what is not ours.
    var state: [String] {
      bench.names(victim).map { name in
        let raw = Posix.status(victim + "/" + name)
        let bytes = FileManager.default.contents(atPath: victim + "/" + name)
        return "\(name) \(raw.st_mode) \(raw.st_uid) \(raw.st_nlink) "
          + "\((try? FileStatus.of(victim + "/" + name))??.modified ?? 0) \(bytes?.count ?? -1)"
      } + ["\(mode(victim))"]
    }
  }

  private static func mode(_ path: String) -> UInt32 {
    UInt32(Posix.status(path, following: true).st_mode & 0o7777)
  }

  /// Every call on a path of which a part is a link.
  @Test(arguments: [
    "link", "linkFrom", "rename", "renameFrom", "replace", "unlink", "makeFolder", "removeFolder",
    "copyFolder", "copyFolderFrom", "syncFolder", "copy", "copyFrom", "write", "lock",
    "setModified", "setTraits", "entries",
  ])
  func folderIsALink(call: String) throws {
    let place = try Place()
    #expect(Posix.symlink(place.victim, place.home + "/link") == 0)
    try FileSystem.real.write(place.home + "/mine", Array("mine".utf8))
    let before = place.state
    let (mine, there) = (place.home + "/mine", place.home + "/link/secret")
    let new = place.home + "/link/new"
    let system = FileSystem.real
    #expect(throws: SystemCallError.self) {
      switch call {
      case "link": try system.link(mine, new)
      case "linkFrom": try system.link(there, place.home + "/got")
      case "rename": try system.rename(mine, new)
      case "renameFrom": try system.rename(there, place.home + "/got")
      case "replace": try system.replace(mine, there)
      case "unlink": try system.unlink(there, nil)
      case "makeFolder": try system.makeFolder(new, 0o700)
      case "copyFolder": try system.copyFolder(place.home, new)
      case "copyFolderFrom":
        try system.copyFolder(place.home + "/link/empty", place.home + "/got")
      case "removeFolder": try system.removeFolder(place.home + "/link/empty")
      case "syncFolder": try system.syncFolder(place.home + "/link")
      case "copy": try system.copy(mine, new)
      case "copyFrom": try system.copy(there, place.home + "/got")
      case "write": try system.write(new, [1])
      case "lock": _ = try system.lock(new)
      case "setModified": try system.setModified(there, 0)
      case "setTraits": try system.setTraits(there, FileTraits(mode: 0o777, user: 1, group: 1))
      default: _ = try system.entries(place.home + "/link")
      }
    }
    #expect(place.state == before)
    #expect(place.bench.names(place.home) == ["link", "mine"])
  }

  /// What was just made is another's when it is looked at again.
  private func swapping(_ place: Place, to target: String) -> FileSystem {
    FileSystem(
      RealFiles { step, path in
        guard ["made", "opened", "looked"].contains(step) else { return }
        #expect(Posix.rename(path, path + ".away") == 0)
        #expect(Posix.symlink(place.victim + "/" + target, path) == 0)
      })
  }

  @Test func madeFolderBecomesALink() throws {
    let place = try Place()
    let before = place.state
    #expect(throws: SystemCallError.self) {
      try swapping(place, to: "empty").makeFolder(place.home + "/new", 0o777)
    }
    #expect(place.state == before)
  }

  @Test func madeFileBecomesALink() throws {
    let place = try Place()
    let before = place.state
    try? swapping(place, to: "secret").write(place.home + "/new", Array("ours".utf8))
    try FileSystem.real.write(place.home + "/from", Array("ours".utf8))
    #expect(Posix.chmod(place.home + "/from", 0o4777) == 0)
    try? swapping(place, to: "secret").copy(place.home + "/from", place.home + "/to")
    _ = try? swapping(place, to: "secret").lock(place.home + "/lease")
    #expect(place.state == before)
  }

  @Test func freshStoreBecomesALink() throws {
    let place = try Place()
    let before = place.state
    try FileSystem.real.write(place.home + "/fresh", [])
    let traits = FileTraits(mode: 0o777, user: UInt32(geteuid()), group: UInt32(getegid()))
    try swapping(place, to: "secret").setTraits(place.home + "/fresh", traits)
    #expect(place.state == before)
    #expect(Self.mode(place.home + "/fresh.away") == 0o777)
    // The name is a link now; the path is not followed.
    #expect(throws: SystemCallError.self) {
      try FileSystem.real.setTraits(place.home + "/fresh", traits)
    }
    #expect(place.state == before)
  }

  /// The user's file is renamed over a name after the last look at it. It stays, under that name.
  @Test func aFileComesBehindTheLook() throws {
    let place = try Place()
    try FileSystem.real.write(place.home + "/store", Array("ours".utf8))
    try FileSystem.real.write(place.home + "/incoming", Array("mine".utf8))
    let ours = try #require(try FileStatus.of(place.home + "/store"))
    let system = FileSystem(
      RealFiles { step, path in
        guard step == "removing" else { return }
        #expect(Posix.rename(place.home + "/incoming", path) == 0)
      })
    #expect(throws: SystemCallError(call: "unlink", path: place.home + "/store", errno: EBUSY)) {
      try system.unlink(place.home + "/store", ours)
    }
    #expect(place.bench.names(place.home) == ["store"])
    #expect(
      FileManager.default.contents(atPath: place.home + "/store") == Data("mine".utf8))
  }

  /// What was noted with a folder or file goes along when it is made anew.
  @Test func extendedAttributesAreCopied() throws {
    let place = try Place()
    let (folder, file) = (place.home + "/folder", place.home + "/file")
    try FileSystem.real.makeFolder(folder, 0o700)
    try FileSystem.real.write(file, Array("ours".utf8))
    for path in [folder, file] {
      guard Posix.setAttribute(path, "user.tag", "blue"), Posix.setAttribute(path, "user.empty", "")
      else { return print("skipped: no extended attributes on this volume") }
    }
    try FileSystem.real.copyFolder(folder, folder + "2")
    try FileSystem.real.copy(file, file + "2")
    for path in [folder, file] {
      let before = ExtendedAttributes(ofPath: path)
      let after = ExtendedAttributes(ofPath: path + "2")
      #expect(!before.isEmpty)
      #expect(before.missing(from: after) == [])
      #expect(
        after.missing(from: ExtendedAttributes(ofPath: place.home)) == ["user.empty", "user.tag"])
    }
  }

  /// What cannot be read whole is not given to a copy as empty, and is told to be missing from it.
  @Test func anAttributeThatIsTooLargeIsMissed() throws {
    let place = try Place()
    let (file, copy) = (place.home + "/file", place.home + "/copy")
    for path in [file, copy] { try FileSystem.real.write(path, Array("ours".utf8)) }
    for (name, value) in [("user.large", "sixteen letters!"), ("user.small", ""), ("user.x", "x")] {
      guard Posix.setAttribute(file, name, value) else {
        return print("skipped: no extended attributes on this volume")
      }
    }
    let before = ExtendedAttributes(ofPath: file, limit: 15)
    let handle = try #require(FileHandle(forWritingAtPath: copy))
    before.give(to: handle.fileDescriptor)
    try handle.close()
    let after = ExtendedAttributes(ofPath: copy)
    #expect(before.missing(from: after) == ["user.large"])
    #expect(ExtendedAttributes(ofPath: file).missing(from: after) == ["user.large"])
    // A file that only got another name has all that it had.
    #expect(before.missing(from: ExtendedAttributes(ofPath: file, limit: 15)) == [])
  }

  /// A second name may be that of somebody else's file.
  @Test func hardLinksKeepWhatTheyHave() throws {
    let place = try Place()
    #expect(Posix.link(place.victim + "/secret", place.home + "/fresh") == 0)
    #expect(Posix.link(place.victim + "/secret", place.home + "/.lease") == 0)
    let before = place.state
    let traits = FileTraits(mode: 0o777, user: UInt32(geteuid()), group: UInt32(getegid()))
    #expect(throws: SystemCallError.self) {
      try FileSystem.real.setTraits(place.home + "/fresh", traits)
    }
    #expect(throws: SystemCallError.self) {
      try FileSystem.real.setModified(place.home + "/.lease", 0)
    }
    #expect(place.state == before)
  }

  /// While the fresh store is made, its folder becomes a link to another in which there is a file of that name.
  @Test(arguments: [".trial", "fresh"])
  func folderOfTheFreshStoreBecomesALink(part: String) throws {
    let place = try Place()
    #expect(Posix.mkdir(place.victim + "/fresh", 0o700) == 0)
    try FileSystem.real.write(place.victim + "/fresh/Done.sqlite", Array("secret".utf8))
    let before = place.state
    let recovery = Recovery(
      URL(fileURLWithPath: place.home + "/Done.sqlite"), app: .init(name: "Done", version: "1"),
      policy: Workbench.policy(), structure: nil)
    Posix.mkdir(place.home + "/Incompatible", 0o700)
    let traits = FileTraits(mode: 0o777, user: UInt32(geteuid()), group: UInt32(getegid()))
    #expect(throws: (any Error).self) {
      try recovery.makeWhole(traits: traits) { url in
        try FileSystem.real.write(url.path, Array("fresh".utf8))
        let folder = url.deletingLastPathComponent().path
        let swapped =
          part == "fresh" ? folder : URL(fileURLWithPath: folder).deletingLastPathComponent().path
        #expect(Posix.rename(swapped, place.bench.folder + "/away") == 0)
        #expect(
          Posix.symlink(part == "fresh" ? place.victim + "/fresh" : place.victim, swapped) == 0)
      }
    }
    #expect(place.state == before)
    #expect(Self.mode(place.victim + "/fresh/Done.sqlite") == 0o600)
    #expect(place.bench.names(place.home) == ["Incompatible"])
  }

  /// The bits that lend rights are never set.
  @Test func noSetuidBits() throws {
    let place = try Place()
    try FileSystem.real.write(place.home + "/from", [1])
    #expect(Posix.chmod(place.home + "/from", 0o6755) == 0)
    try FileSystem.real.copy(place.home + "/from", place.home + "/to")
    #expect(Self.mode(place.home + "/to") == 0o755)
    try FileSystem.real.makeFolder(place.home + "/folder", 0o7777)
    #expect(Self.mode(place.home + "/folder") == 0o777)
    #expect(Posix.chmod(place.home + "/folder", 0o7777) == 0)
    try FileSystem.real.copyFolder(place.home + "/folder", place.home + "/shared")
    #expect(Self.mode(place.home + "/shared") == 0o1777)
    #expect(throws: SystemCallError.self) {
      try FileSystem.real.copyFolder(place.home + "/from", place.home + "/none")
    }
    try FileSystem.real.setTraits(
      place.home + "/to",
      FileTraits(mode: 0o6755, user: UInt32(geteuid()), group: UInt32(getegid())))
    #expect(Self.mode(place.home + "/to") == 0o755)
    #expect(FileTraits.ofFile(at: place.home + "/from")?.mode == 0o755)
  }

  /// A name goes only while it is that of the file that was meant.
  @Test func onlyTheFileThatWasMeantGoes() throws {
    let place = try Place()
    let path = place.home + "/file"
    try FileSystem.real.write(path, [1])
    let mine = try #require(try FileStatus.of(path))
    #expect(Posix.rename(path, place.home + "/old") == 0)
    try FileSystem.real.write(path, [2])
    #expect(throws: SystemCallError.self) { try FileSystem.real.unlink(path, mine) }
    #expect(place.bench.names(place.home) == ["file", "old"])
    try FileSystem.real.unlink(place.home + "/old", mine)
    #expect(place.bench.names(place.home) == ["file"])
  }

  /// While an incident is removed, what is left of its folder becomes a link to another with the same names.
  @Test func removalNeverGoesThroughALink() throws {
    for step in 1...30 {
      let bench = try Workbench()
      try bench.makeStore()
      let victim = try Workbench()
      try victim.makeStore()
      let calls = Counter()
      let opened = try bench.recovery(structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) { url in
        if calls.next() <= 2 { throw HostError() }
        try Database.open(url).close()
      }
      let id = try #require(opened.incident?.id)
      let before = victim.snapshot()
      let count = Counter()
      let system = FileSystem.watched { call, path in
        guard count.next("\(call) \(path)") == step else { return }
        for name in bench.names(bench.incompatible) where name.hasPrefix(".removed-") {
          let store = bench.incompatible + "/" + name + "/store"
          guard Posix.rename(store, bench.folder + "/away") == 0 else { continue }
          #expect(Posix.symlink(victim.folder, store) == 0)
        }
      }
      let files = IncidentFiles(in: bench.incompatible + "/" + id, .real)
      try? Removal(fileSystem: system, incompatible: bench.incompatible).remove(id, files.files)
      #expect(victim.snapshot() == before, "step \(step)")
    }
  }

  /// At each step of a move, the support folder or the quarantine's becomes a link to another's.
  @Test(arguments: ["support", "store", "incompatible"])
  func moveNeverGoesThroughALink(swapped: String) throws {
    var isReached = true
    var step = 1
    while isReached, step < 200 {
      let bench = try Workbench()
      try bench.makeStore()
      let victim = try Workbench()
      try victim.makeStore()
      let secret = victim.folder + "/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06"
      Posix.chmod(secret, 0o600)
      let before = victim.snapshot()
      let count = Counter()
      let target = step
      let system = FileSystem.watched { call, path in
        guard count.next() == target else { return }
        let (path, to) =
          switch swapped {
          case "support": (bench.folder + "/.Done_SUPPORT", victim.folder + "/.Done_SUPPORT")
          case "store": (bench.incompatible + "/" + Workbench.stamp + "/store", victim.folder)
          default: (bench.incompatible, victim.folder)
          }
        if Posix.rename(path, bench.folder + "/away") == 0 { #expect(Posix.symlink(to, path) == 0) }
      }
      let calls = Counter()
      _ = try? bench.recovery(structure: Workbench.mismatching, fileSystem: system)
        .openSynchronously(expecting: Workbench.model) { url in
          if calls.next() <= 2 { throw HostError() }
        }
      #expect(victim.snapshot() == before, "step \(step)")
      #expect(
        victim.names() == [".Done_SUPPORT", "Done.sqlite", "Done.sqlite-shm", "Done.sqlite-wal"])
      #expect(Self.mode(secret) == 0o600)
      isReached = count.count >= step
      step += 1
    }
    #expect(step > 20)
  }

  /// The store's folder lies behind a link, as `/var` does on every Apple device.
  @Test func homeBehindALink() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let link = bench.folder + "-link"
    #expect(Posix.symlink(bench.folder, link) == 0)
    defer { Posix.unlink(link) }
    Posix.mkdir(bench.folder + "/deep", 0o700)
    for name in bench.names() where name.contains("Done") {
      #expect(Posix.rename(bench.folder + "/" + name, bench.folder + "/deep/" + name) == 0)
    }
    let home = link + "/deep"
    let before = bench.snapshot(in: home)
    let calls = Counter()
    func recovery() -> Recovery {
      Recovery(
        URL(fileURLWithPath: home + "/Done.sqlite"), app: .init(name: "Done", version: "2.1"),
        policy: {
          var policy = Workbench.policy()
          policy.check = { try Database.open($0).close() }
          policy.maximumCopyBytes = 0
          policy.retention = Retention(maximumCount: 100)
          return policy
        }(), structure: Workbench.mismatching, clock: { Workbench.now })
    }
    let opened = try recovery().openSynchronously(expecting: Workbench.model) { url in
      if calls.next() <= 2 { throw HostError() }
      try Database.open(url).close()
    }
    let id = try #require(opened.incident?.id)
    let incidents = Incidents(in: URL(fileURLWithPath: home))
    #expect(try incidents.verify(id).finding == .intact)
    _ = try incidents.restore(id)
    #expect(
      bench.snapshot(in: home).filter { $0.key != "Done.sqlite-shm" }
        == before.filter { $0.key != "Done.sqlite-shm" })
    try recovery().makeWholeElsewhere(home)
    let report = try incidents.prune(Retention(maximumCount: 0), dryRun: false)
    #expect(report.removed.count == 1)
    _ = try recovery().openSynchronously { _ in true }
  }
}

extension Recovery {
  fileprivate func makeWholeElsewhere(_ home: String) throws {
    let other = Recovery(
      URL(fileURLWithPath: home + "/Other.sqlite"), app: app, policy: policy, structure: nil)
    try other.makeWhole { try FileSystem.real.write($0.path, [1]) }
    #expect(StoreSet(at: home + "/Other.sqlite").members.count == 1)
  }
}
