import Foundation
import Testing

@testable import StoreRecovery

/// A downgrade is told from a store that fits no build.
@Suite struct OpenedByTests {
  private func recovery(
    _ bench: Workbench, _ version: String, build: String? = nil, mode: Policy.Mode = .act
  ) -> Recovery {
    var policy = Workbench.policy()
    policy.mode = mode
    return Recovery(
      URL(fileURLWithPath: bench.store), app: .init(name: "Done", version: version, build: build),
      policy: policy, structure: Workbench.mismatching, clock: { Workbench.now })
  }

  private func open(_ recovery: Recovery) throws {
    _ = try recovery.openSynchronously { try Database.open($0).close() }
  }

  private func judged(_ recovery: Recovery) -> Verdict? {
    let outcome = recovery.attemptSynchronously(expecting: Workbench.model) { _ in
      throw HostError()
    }
    guard case .failed(let failed) = outcome else { return nil }
    return failed.verdict
  }

  private func markers(_ bench: Workbench) -> [String] {
    bench.names().filter { $0.contains("opened-by") }
  }

  @Test(
    arguments: [
      ("2.10", nil, "2.9", nil, true), ("3.0", nil, "2.9.9", nil, true),
      ("2.1", nil, "2.1", nil, nil),
      ("2.1", "42", "2.1", "41", true), ("2.1", "9", "2.1", "10", false),
      ("2", nil, "2.0", nil, nil),
      ("1.0", nil, "2.0", nil, false), ("beta", nil, "2.0", nil, nil),
    ] as [(String, String?, String, String?, Bool?)])
  func order(writer: String, build: String?, app: String, ownBuild: String?, isNewer: Bool?) throws
  {
    let bench = try Workbench()
    try bench.makeStore()
    try open(recovery(bench, writer, build: build))
    let by = OpenedBy(bench.store, .init(name: "Done", version: app, build: ownBuild))
    #expect(by.isNewer == isNewer)
    let verdict = try #require(
      judged(recovery(bench, app, build: ownBuild, mode: .reportOnly)))
    #expect(verdict.action == (isNewer == true ? .refuse : .quarantine))
    #expect(verdict.rule.rawValue == (isNewer == true ? "model.newer" : "model.mismatch"))
  }

  /// One name at a time, and none where nothing may be written.
  @Test func theNameFollowsTheVersion() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try open(recovery(bench, "1.0", mode: .extension))
    #expect(markers(bench) == [])
    try open(recovery(bench, "1.0"))
    try open(recovery(bench, "1.0"))
    #expect(markers(bench) == [".Done.sqlite.opened-by-1.0"])
    try open(recovery(bench, "2.0", build: "7"))
    #expect(markers(bench) == [".Done.sqlite.opened-by-2.0+7"])
    try open(recovery(bench, "../../evil"))
    #expect(markers(bench) == [".Done.sqlite.opened-by-2.0+7"])
    // A file with something in it is not ours.
    try bench.write("mine", to: ".Done.sqlite.opened-by-9.9")
    try open(recovery(bench, "3.0"))
    #expect(markers(bench) == [".Done.sqlite.opened-by-3.0", ".Done.sqlite.opened-by-9.9"])
    #expect(OpenedBy(bench.store, .init(name: "Done", version: "3.1")).isNewer == false)
  }

  /// The user's file takes the earlier marker's name behind the look at it, or something is written to the marker.
  @Test(arguments: [true, false])
  func whatChangesBehindTheLookStays(isSwapped: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try open(recovery(bench, "1.0"))
    try bench.write("mine", to: "incoming")
    OpenedBy(bench.store, .init(name: "Done", version: "2.0")).note { marker in
      let path = bench.folder + "/" + marker
      if isSwapped {
        #expect(Posix.rename(bench.folder + "/incoming", path) == 0)
      } else {
        #expect(throws: Never.self) { try bench.write("mine", to: marker) }
      }
    }
    #expect(markers(bench) == [".Done.sqlite.opened-by-1.0", ".Done.sqlite.opened-by-2.0"])
    #expect(bench.names().filter { $0.contains("lifeboat-gone") } == [])
    let kept = FileManager.default.contents(atPath: bench.folder + "/.Done.sqlite.opened-by-1.0")
    #expect(kept == Data("mine".utf8))
  }
}
