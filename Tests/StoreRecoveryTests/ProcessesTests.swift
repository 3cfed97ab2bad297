import StoreFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// Several processes and one store.
@Suite struct ProcessesTests {
  /// All open the same broken store at once, behind a gate: one sets it aside, and every row that any of them
  /// writes is in the fresh store.
  @Test(arguments: [2, 8])
  func openAtOnce(count: Int) throws {
    for round in 1...(Rounds.areLong ? 200 : 8) {
      let made = try KillBench()
      let gate = made.bench.folder + "/gate"
      #expect(unsafe mkfifo(gate, 0o600) == 0)
      let children = try (1...count).map {
        try Child("open", made.store, ["row=\($0)", "barrier=" + gate, "wait=30"])
      }
      for child in children { #expect(child.line() == "ready") }
      let opened = FileHandle(forWritingAtPath: gate)
      var rows: [[FixtureValue]] = []
      var incidents: Set<String> = []
      for (index, child) in children.enumerated() {
        let end = try child.finish()
        let note = "round \(round), process \(index + 1) of \(count): \(end)"
        #expect(end.status == 0 && end.lines.count == 1, "\(note)")
        let words = end.lines.first?.split(separator: " ").map(String.init) ?? []
        if words.first == "open" {
          rows.append([.text(Array("\(index + 1)".utf8))])
          if words.last != "-" { incidents.insert(words.last ?? "") }
        } else {
          #expect(words.starts(with: ["error", "store.inUse"]), "\(note)")
        }
      }
      try opened?.close()
      try FileManager.default.removeItem(atPath: gate)
      let note = "round \(round) with \(count) processes"
      #expect(rows.count > 0 && incidents.count == 1, "\(note): \(rows) \(incidents)")
      let fresh = try KillBench.rows(made.bench.folder, table: "ZFRESH")
      #expect(fresh == rows, "\(note): \(made.paths)")
      let kept = made.bench.names(made.bench.incompatible).filter { !$0.hasPrefix(".") }
      #expect(kept == Array(incidents), "\(note)")
      try made.heal(note)
    }
  }

  /// A move that another process does not end: the wait is bounded, and the answer is clear.
  @Test func leaseIsHeldElsewhere() throws {
    let made = try KillBench()
    try FileManager.default.createDirectory(
      atPath: made.bench.incompatible, withIntermediateDirectories: true)
    let lease = try #require(try FileSystem.real.lock(made.bench.incompatible + "/.lease"))
    let refused = try Child.run("open", made.store, ["row=fresh", "wait=0.02"])
    #expect(refused.lines.first?.hasPrefix("error store.inUse") == true, "\(refused)")
    #expect(made.places == [made.bench.folder])
    close(lease)
    let opened = try Child.run("open", made.store, ["row=fresh", "wait=0.02"])
    #expect(opened.lines.first?.hasPrefix("open 2") == true)
    try made.heal("after the lease")
  }

  @Test(arguments: ["folder", "link", "pipe"])
  func leaseIsNoFile(kind: String) throws {
    let made = try KillBench()
    let outside = try TemporaryFolder()
    let path = made.bench.incompatible + "/.lease"
    try FileManager.default.createDirectory(
      atPath: kind == "folder" ? path : made.bench.incompatible, withIntermediateDirectories: true)
    if kind == "pipe" { #expect(unsafe mkfifo(path, 0o600) == 0) }
    if kind == "link" {
      try FileManager.default.createSymbolicLink(
        atPath: path, withDestinationPath: outside.url.path + "/victim")
    }
    let refused = try Child.run("open", made.store, ["row=fresh"])
    #expect(refused.lines.first?.hasPrefix("error OldStore") == true, "\(refused)")
    #expect(made.places == [made.bench.folder])
    #expect(made.bench.names(outside.url.path) == [])
  }

  /// Another app has the store open and holds a lock: nothing moves.
  @Test(arguments: [
    ["journal=WAL"], ["journal=WAL", "state=transaction"], ["journal=DELETE", "state=transaction"],
  ])
  func heldOpen(options: [String]) throws {
    let made = try KillBench()
    let holder = try Child("hold", made.store, options)
    #expect(holder.line() == "ready")
    let before = KillBench.files(made.bench, made.bench.folder)
    let refused = try Child.run("open", made.store, ["row=fresh", "wait=0.02"])
    #expect(refused.lines.first?.hasPrefix("error") == true, "\(refused)")
    #expect(KillBench.files(made.bench, made.bench.folder) == before)
    #expect(!made.bench.names().contains("Incompatible"))
    try holder.say("quit")
    _ = try holder.finish()
  }

  /// It comes while the move is on its way: the move is called off before a name goes.
  @Test(arguments: ["journal=WAL", "journal=DELETE"], ["lock", "write"])
  func openedDuringTheMove(journal: String, at call: String) throws {
    let made = try KillBench()
    nonisolated(unsafe) var holder: Child?
    let system = FileSystem.watched { name, path in
      guard unsafe holder == nil, name == call,
        call == "lock" || path.hasSuffix("incident.json.part")
      else { return }
      let state = journal == "journal=DELETE" ? ["state=transaction"] : []
      unsafe holder = try Child("hold", made.store, [journal] + state)
      #expect(unsafe holder?.line() == "ready")
    }
    var policy = Workbench.policy()
    policy.maximumWaitSeconds = 0.02
    let mine = HostError()
    let error = #expect(throws: (any Error).self) {
      try made.bench.recovery(
        policy: policy, structure: Workbench.mismatching, fileSystem: system
      ).openSynchronously(expecting: Workbench.model) { _ in throw mine }
    }
    #expect(unsafe holder != nil)
    #expect(
      error is StoreRecoveryError || error as? HostError === mine, "\(String(describing: error))")
    #expect(FileManager.default.fileExists(atPath: made.store))
    unsafe try holder?.say("quit")
    unsafe _ = try holder?.finish()
    #expect(try KillBench.rows(made.bench.folder) == made.rows)
    _ = try Child.run("heal", made.store)
    #expect(made.bench.names(made.bench.incompatible) == [".lease"])
    #expect(try KillBench.rows(made.bench.folder) == made.rows)
  }

  /// An idle connection in rollback mode holds no lock and cannot be seen. What it writes after the move is
  /// refused by SQLite, or goes to the kept file: it is nowhere lost.
  @Test(arguments: ["DELETE", "PERSIST", "MEMORY", "OFF"])
  func idleInRollbackMode(journal: String) throws {
    let made = try KillBench()
    let holder = try Child("hold", made.store, ["journal=" + journal])
    #expect(holder.line() == "ready")
    let opened = try Child.run("open", made.store, ["row=fresh"])
    let id = try #require(opened.lines.first?.split(separator: " ").last)
    #expect(opened.lines.first?.hasPrefix("open 2") == true, "\(opened)")
    try holder.say("late")
    let answer = try #require(holder.line())
    try holder.say("quit")
    _ = try holder.finish()
    let kept = try KillBench.rows(made.bench.incompatible + "/\(id)/store")
    let isWritten = answer == "written"
    #expect(isWritten || answer.contains("1032"), "\(answer)")
    #expect(isWritten == (journal == "MEMORY" || journal == "OFF"), "\(answer)")
    #expect(kept.count == made.rows.count + (isWritten ? 1 : 0))
    #expect(Array(kept.prefix(made.rows.count)) == made.rows)
    #expect(
      try KillBench.rows(made.bench.folder, table: "ZFRESH") == [[.text(Array("fresh".utf8))]])
  }

  /// The fresh store fails here while another process uses it: it stays, and so does the kept set.
  @Test(arguments: [true, false])
  func freshStoreIsUsedElsewhere(isClosed: Bool) throws {
    let made = try KillBench()
    let calls = Counter()
    nonisolated(unsafe) var holder: Child?
    var policy = Workbench.policy()
    policy.maximumWaitSeconds = 0.02
    let error = #expect(throws: StoreRecoveryError.self) {
      try made.bench.recovery(policy: policy, structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) { _ in
        if calls.next() > 2 {
          let other = try Child.run("open", made.store, ["row=fresh"])
          #expect(other.lines.first?.hasPrefix("open 2") == true, "\(other)")
          if !isClosed {
            // As if the other had not come to the end of its launch.
            let folder = made.bench.incompatible + "/" + Workbench.stamp
            try made.bench.write("{}", to: "Incompatible/\(Workbench.stamp)/.intent.json")
            #expect(FileManager.default.fileExists(atPath: folder + "/incident.json"))
            let hold = try Database(made.store)
            try hold.run("CREATE TABLE IF NOT EXISTS ZTASK(T)")
            hold.close()
            unsafe holder = try Child("hold", made.store, ["journal=WAL"])
            #expect(unsafe holder?.line() == "ready")
          }
        }
        throw HostError()
      }
    }
    #expect(error?.code == .inUse)
    unsafe _ = try holder?.finish()
    #expect(
      try KillBench.rows(made.bench.folder, table: "ZFRESH") == [[.text(Array("fresh".utf8))]])
    #expect(made.places.count == 1)
  }
}
