import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// A process that ends anywhere in a move: the next launch finds one whole set.
@Suite struct KillTests {
  enum Move: String, CaseIterable, Sendable {
    case quarantine
    case freshFails
    case restore
    /// Of the record that a restoration left.
    case prune

    var command: String {
      switch self {
      case .quarantine, .freshFails: "open"
      case .restore: "restore"
      case .prune: "prune"
      }
    }
  }

  private func bench(_ move: Move) throws -> (KillBench, [String]) {
    switch move {
    case .quarantine: return (try KillBench(), ["row=fresh"])
    case .freshFails: return (try KillBench(), ["fresh=fails"])
    case .restore:
      let (bench, id) = try KillBench.withFreshStore()
      return (bench, ["id=" + id])
    case .prune: return (try KillBench.restored(), [])
    }
  }

  private func expect(_ bench: KillBench, after move: Move, _ note: String) throws {
    try bench.heal(note)
    if move == .restore || move == .prune {
      #expect(bench.freshPlaces.count == 1, "\(note): \(bench.paths)")
    }
  }

  /// `_exit` before each call that changes the file system, within each that takes several, and after the last.
  @Test(arguments: Move.allCases, ["links=yes", "links=no", "links=other"])
  func endsAtEachStep(move: Move, links: String) throws {
    let volume = links == "links=yes" ? [] : [links]
    let (whole, options) = try bench(move)
    let counted = try Child.run(move.command, whole.store, options + volume + ["count="])
    let steps = try #require(
      counted.lines.last { $0.hasPrefix("steps ") }?.split(separator: " ").dropFirst())
    #expect(steps.count > (move == .prune ? 5 : 50))
    try expect(whole, after: move, "not stopped")
    // Outside the long rounds, each seventh step, each 25th where links are refused, which runs mostly the same, and
    // the inside of the first call of each kind that has one. `FaultTests` and `InterruptionTests` fail at more steps.
    let stride = Rounds.areLong ? 1 : volume.isEmpty ? 7 : 25
    var kinds: Set<Substring> = []
    for (index, name) in steps.enumerated() {
      let isFirst = kinds.insert(name).inserted
      let isLast = index == steps.count - 1
      let isMeant = index % stride == 0 || isLast
      var ends = isMeant ? ["before"] : []
      if ["write", "copy", "makeFolder"].contains(name), isMeant || isFirst {
        ends.append("inside")
      }
      if Rounds.areLong || isLast { ends.append("after") }
      for end in ends {
        let note = "\(move) \(links): \(end) \(name), step \(index + 1)"
        let (bench, options) = try bench(move)
        let stopped = try Child.run(
          move.command, bench.store, options + volume + ["at=\(index + 1)", "end=" + end])
        #expect(stopped.status == Child.ended, "\(note): \(stopped)")
        try expect(bench, after: move, note)
      }
    }
  }

  /// A restoration that is run again leaves no move open, at whatever step the first run ended.
  /// Outside the long rounds, each fifth step.
  @Test func restorationIsRunAgain() throws {
    let (whole, options) = try bench(.restore)
    let counted = try Child.run("restore", whole.store, options + ["count="])
    let steps = try #require(
      counted.lines.last { $0.hasPrefix("steps ") }?.split(separator: " ").dropFirst())
    for (index, name) in Rounds.part(of: steps.enumerated(), every: 5) {
      let note = "before \(name), step \(index + 1)"
      let (made, options) = try bench(.restore)
      let stopped = try Child.run(
        "restore", made.store, options + ["at=\(index + 1)", "end=before"])
      #expect(stopped.status == Child.ended, "\(note): \(stopped)")
      // What opens the store next finds one in place, and makes none.
      let opened = try bench(.restore)
      _ = try Child.run("restore", opened.0.store, opened.1 + ["at=\(index + 1)", "end=before"])
      var isThere = false
      _ = try opened.0.bench.recovery().openSynchronously { url in
        isThere = FileManager.default.fileExists(atPath: url.path)
        return true
      }
      #expect(isThere, "\(note): \(opened.0.paths)")
      // The second run may find that it only had to end what the first began.
      let again = try Child.run("restore", made.store, options)
      let line = again.lines.first ?? ""
      #expect(
        line.hasPrefix("restored") || line.hasPrefix("error restore.nothingKept"),
        "\(note): \(again)")
      let left = made.paths.filter {
        $0.hasSuffix("/.intent.json") || $0.hasSuffix("/.back.json")
      }
      #expect(left == [], "\(note)")
      let checks = try Incidents(in: URL(fileURLWithPath: made.bench.folder)).verify()
      #expect(!checks.contains { $0.finding == .unfinished }, "\(note): \(checks)")
      #expect(made.places == [made.bench.folder], "\(note): \(made.paths)")
    }
  }

  /// The same by SIGKILL, wherever it strikes.
  @Test func killedAtRandomTimes() throws {
    var random = SplitMix64(seed: Rounds.seed)
    var kills = 0
    let rounds = Rounds.areLong ? 1000 : 25
    for round in 1...rounds {
      let move = try #require(Move.allCases.randomElement(using: &random))
      let (bench, options) = try bench(move)
      let ticks = Int.random(in: 0...90, using: &random)
      let volume = ["links=yes", "links=yes", "links=no", "links=other"]
      let chosen = try #require(volume.randomElement(using: &random))
      let note = "round \(round): \(move), \(chosen), \(ticks) steps"
      let child = try Child(
        move.command, bench.store,
        options + ["ticks=", "sync=real"] + (chosen == "links=yes" ? [] : [chosen]))
      child.read(bytes: ticks)
      child.kill()
      if try child.finish().status == 128 + SIGKILL { kills += 1 }
      try expect(bench, after: move, note)
    }
    #expect(kills > rounds / 5)
  }
}
