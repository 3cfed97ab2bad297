import StoreFiles
import SafeFiles
import Fixtures
import Foundation
import SafeText
import Testing

@testable import StoreRecovery

/// Steps that fail, and things that run out.
@Suite struct FaultTests {
  static let codes = [ENOSPC, EIO, EACCES, EMFILE, EXDEV, EINTR]

  /// A file system whose `step`th change fails.
  private func failing(_ calls: Counter, at step: Int, _ code: Int32) -> FileSystem {
    FileSystem.watched { call, path in
      if calls.next(call) == step { throw SystemCallError(call: call, path: path, errno: code) }
    }
  }

  /// A launch whose opener refuses the old store, and makes a fresh one or fails to.
  private func launch(
    _ made: KillBench, _ system: FileSystem, freshFails: Bool, _ mine: HostError
  ) throws -> Opened<Void> {
    try made.bench.recovery(structure: Workbench.mismatching, fileSystem: system)
      .openSynchronously(expecting: Workbench.model) { url in
        if KillBench.files(made.bench, made.bench.folder)["Done.sqlite"]
          == made.before["Done.sqlite"]
        {
          throw mine
        }
        if freshFails {
          try made.bench.write("left over", to: "Done.sqlite")
          throw HostError()
        }
        try Database.open(url).close()
      }
  }

  @Test(arguments: [true, false])
  func eachStepFailsOnce(freshFails: Bool) throws {
    let calls = Counter()
    let whole = try KillBench()
    let first = HostError()
    _ = try? launch(whole, failing(calls, at: -1, 0), freshFails: freshFails, first)
    #expect(calls.count > 50)
    for step in Rounds.part(of: 1...calls.count, every: 2, from: freshFails ? 1 : 0) {
      // Each second step with one of the codes in turn; the long rounds take all.
      for (index, code) in Self.codes.enumerated()
      where Rounds.areLong || (index + step / 2) % 6 == 0 {
        let note = "step \(step), \(calls.notes[step - 1]), error \(code)"
        let made = try KillBench()
        let mine = HostError()
        let system = failing(Counter(), at: step, code)
        do {
          let opened = try launch(made, system, freshFails: freshFails, mine)
          #expect(opened.incident != nil, "\(note)")
          #expect(made.places.contains { $0.contains("Incompatible") }, "\(note)")
        } catch {
          #expect(error as? HostError === mine, "\(note): \(error)")
          #expect(made.places.count > 0, "\(note): \(made.paths)")
        }
        _ = try made.bench.recovery().openSynchronously { _ in true }
        try made.expectHealed(note)
        let quiet = Counter()
        _ = try made.bench.recovery(fileSystem: failing(quiet, at: -1, 0)).openSynchronously { _ in
          true
        }
        #expect(quiet.notes == [], "\(note)")
      }
    }
  }

  @Test func eachStepOfARestorationFailsOnce() throws {
    func bench() throws -> KillBench {
      let made = try KillBench()
      _ = try launch(made, .watched { _, _ in }, freshFails: false, HostError())
      return made
    }
    let calls = Counter()
    let whole = try bench()
    _ = try Incidents(in: whole.bench.folder, fileSystem: failing(calls, at: -1, 0))
      .restore(Workbench.stamp)
    for step in 1...calls.count {
      for (index, code) in Self.codes.enumerated() where Rounds.areLong || (index + step) % 6 == 0 {
        let note = "step \(step), \(calls.notes[step - 1]), error \(code)"
        let made = try bench()
        _ = try? Incidents(in: made.bench.folder, fileSystem: failing(Counter(), at: step, code))
          .restore(Workbench.stamp)
        // The store that was in use, or the one that was to take its place: the app never meets an empty place.
        #expect(FileManager.default.fileExists(atPath: made.store), "\(note): \(made.paths)")
        _ = try made.bench.recovery().openSynchronously { _ in true }
        try made.expectHealed(note)
      }
    }
  }

  /// The part of a record that a killed run left is gone by the time at which it is removed.
  @Test func aLeftPartThatDisappears() throws {
    let bench = try Workbench()
    try bench.write("a part", to: "record.json.part")
    var system = FileSystem.real
    system.unlink = { path, file in
      try FileManager.default.removeItem(atPath: path)
      try FileSystem.real.unlink(path, file)
    }
    try RecordFile(fileSystem: system)
      .write(bytes: Array("{}".utf8), to: bench.folder + "/record.json")
    #expect(bench.bytes("record.json") == Data("{}".utf8))
    #expect(!bench.names().contains("record.json.part"))
  }

  // MARK: The real thing

  /// The user called nobody, who may do nothing that the permissions forbid.
  private static let nobody: UInt32 = 65534

  @Test(arguments: ["", "/Incompatible"])
  func folderIsReadOnly(folder: String) throws {
    let isRoot = geteuid() == 0
    let made = try KillBench()
    let path = made.bench.folder + folder
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    if isRoot {
      guard FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else {
        print("skipped: root may write anywhere, and there is no setpriv to become another user")
        return
      }
      _ = try run("/bin/chown", ["-R", "\(Self.nobody):\(Self.nobody)", made.bench.folder])
    }
    let user = isRoot ? Self.nobody : nil
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: path)
    let refused = try Child.run("open", made.store, ["row=fresh"], user: user)
    guard refused.status == 0, let line = refused.lines.first else {
      print("skipped: another user cannot run the program: \(refused)")
      return
    }
    #expect(line.hasPrefix("error OldStore"))
    #expect(made.places == [made.bench.folder])
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    let opened = try Child.run("open", made.store, ["row=fresh"], user: user)
    #expect(opened.lines.first?.hasPrefix("open 2") == true, "\(opened)")
    try made.heal("read-only \(folder)")
  }

  /// What root makes in a user's folder belongs to the user, whose app has to finish it.
  @Test func rootLeavesNothingOfItsOwn() throws {
    guard geteuid() == 0 else {
      print("skipped: only root can give files away")
      return
    }
    let made = try KillBench()
    _ = try run("/bin/chown", ["-R", "\(Self.nobody):\(Self.nobody)", made.bench.folder])
    _ = try Child.run("open", made.store, ["row=fresh", "links=other"])
    let own = try made.paths.filter { path in
      guard path.hasPrefix("Incompatible") else { return false }
      let owner = try FileManager.default.attributesOfItem(atPath: made.bench.folder + "/" + path)
      return owner[.ownerAccountID] as? NSNumber != NSNumber(value: Self.nobody)
    }
    #expect(made.paths.contains { $0.hasSuffix("incident.json") })
    #expect(own == [])
  }

  /// A volume with `free` pages left.
  @Test func volumeIsFull() throws {
    let made = try Workbench()
    let volume = made.folder
    guard
      (try? run("/bin/mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", volume]))?.status == 0
    else {
      print("skipped: no volume can be mounted by this user")
      return
    }
    defer { _ = try? run("/bin/umount", [volume]) }
    for move in ["row=fresh", "fresh=fails"] {
      for free in 0...(Rounds.areLong ? 30 : 14) {
        for name in made.names() { try FileManager.default.removeItem(atPath: volume + "/" + name) }
        let bench = try KillBench(made)
        try fill(volume, leaving: free * 4096)
        let full = try Child.run("open", bench.store, [move, "space=0"])
        let note = "\(free) pages free, \(move): \(full.lines)"
        #expect(full.status == 0 && full.lines.count == 1, "\(note)")
        #expect(bench.places.count > 0, "\(note): \(bench.paths)")
        try FileManager.default.removeItem(atPath: volume + "/fill")
        try bench.heal(note)
      }
    }
  }

  private func fill(_ volume: String, leaving bytes: Int) throws {
    let path = volume + "/fill"
    let free = Int(try RealFiles.freeBytes(at: volume))
    try Data(repeating: 0x66, count: max(0, free - bytes)).write(to: URL(fileURLWithPath: path))
  }

  /// A process with no descriptors left, or a few.
  @Test func descriptorsRunOut() throws {
    for extra in 0...(Rounds.areLong ? 24 : 10) {
      let made = try KillBench()
      let starved = try Child.run("open", made.store, ["row=fresh", "files=\(extra)"])
      let note = "\(extra) descriptors: \(starved.lines)"
      #expect(starved.status == 0, "\(note)")
      #expect(made.places.count > 0, "\(note): \(made.paths)")
      try made.heal(note)
    }
  }

  /// Signals that break off system calls are nobody's failure.
  @Test func signalsBreakOffCalls() throws {
    for links in ["links=yes", "links=other"] {
      let made = try KillBench()
      let options = ["row=fresh", "alarm=", "sync=real"] + (links == "links=yes" ? [] : [links])
      let opened = try Child.run("open", made.store, options)
      #expect(opened.lines.first?.hasPrefix("open 2") == true, "\(opened)")
      try made.heal(links)
    }
  }

  // MARK: Links that lead elsewhere

  @Test func supportFolderIsALink() throws {
    let outside = try TemporaryFolder()
    let made = try Workbench()
    try made.makeStore()
    try FileManager.default.removeItem(atPath: made.folder + "/.Done_SUPPORT")
    try Data("mine".utf8).write(to: outside.url.appendingPathComponent("picture"))
    try FileManager.default.createSymbolicLink(
      atPath: made.folder + "/.Done_SUPPORT", withDestinationPath: outside.url.path)
    let opened = try Child.run("open", made.store, ["row=fresh"])
    let id = try #require(opened.lines.first?.split(separator: " ").last)
    let kept = made.incompatible + "/\(id)/store/.Done_SUPPORT"
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: kept) == outside.url.path)
    #expect(!made.names().contains(".Done_SUPPORT"))
    // A link goes back only for somebody who says so: it would be followed there.
    let incidents = Incidents(in: URL(fileURLWithPath: made.folder))
    let error = #expect(throws: StoreRecoveryError.self) { try incidents.restore(String(id)) }
    #expect(error?.code == .notAStore)
    #expect(!made.names().contains(".Done_SUPPORT"))
    _ = try incidents.restore(String(id), force: true)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: made.folder + "/.Done_SUPPORT")
        == outside.url.path)
    #expect(made.names(outside.url.path) == ["picture"])
  }

  /// A record that names files behind a link, in the store's folder or in the quarantine.
  @Test(arguments: [".intent.json", ".back.json"], [true, false])
  func recordsThatLeadBehindALink(name: String, isSupport: Bool) throws {
    let outside = try TemporaryFolder()
    let made = try Workbench()
    try made.makeStore()
    let folder = made.incompatible + "/" + Workbench.stamp
    let store = folder + "/store"
    let victim = outside.url.path + "/" + (isSupport ? "secret" : ".Done_SUPPORT/secret")
    try FileManager.default.createDirectory(
      atPath: PathText.folder(of: victim), withIntermediateDirectories: true)
    try Data("secret".utf8).write(to: URL(fileURLWithPath: victim))
    let status = try #require(try FileStatus.of(victim))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if isSupport {
      try FileManager.default.removeItem(atPath: made.folder + "/.Done_SUPPORT")
      try FileManager.default.createSymbolicLink(
        atPath: made.folder + "/.Done_SUPPORT", withDestinationPath: outside.url.path)
      try FileManager.default.createDirectory(
        atPath: store + "/.Done_SUPPORT", withIntermediateDirectories: true)
      try FileManager.default.linkItem(atPath: victim, toPath: store + "/.Done_SUPPORT/secret")
    } else {
      try FileManager.default.createSymbolicLink(
        atPath: store, withDestinationPath: outside.url.path)
    }
    let record = MoveRecord(
      storeName: "Done.sqlite",
      members: [.init(role: .support, name: ".Done_SUPPORT/secret", status: status)],
      incident: nil, back: name == ".back.json" ? .restore : nil)
    try RecordFile(fileSystem: .real).write(record, to: folder + "/" + name)
    _ = try? made.recovery().openSynchronously { _ in true }
    #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Data("secret".utf8))
    #expect(made.names(PathText.folder(of: victim)) == ["secret"])
  }
}
