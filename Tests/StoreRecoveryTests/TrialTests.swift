import Foundation
import Testing

@testable import StoreRecovery

/// The private folder beside the store.
@Suite struct TrialTests {
  /// The copy of a set with folders in folders goes with its trial.
  @Test func aTrialOfADeepSetLeavesNothing() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let deep = bench.folder + "/.Done_SUPPORT" + String(repeating: "/deep", count: 30)
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    let copies = Counter()
    var policy = Workbench.policy()
    policy.check = { url in
      // Only the copy is there before it is opened.
      guard FileManager.default.fileExists(atPath: url.path) else {
        return try Database.open(url).close()
      }
      copies.next()
      throw HostError()
    }
    let calls = Counter()
    let opened = try bench.recovery(policy: policy, structure: Workbench.mismatching)
      .openSynchronously(expecting: Workbench.model) { url in
        if calls.next() <= 2 { throw HostError() }
        try Database.open(url).close()
      }
    #expect(opened.incident != nil)
    #expect(copies.count == 1)
    #expect(!bench.names(bench.incompatible).contains { $0.hasPrefix(".trial-") })
  }
}
