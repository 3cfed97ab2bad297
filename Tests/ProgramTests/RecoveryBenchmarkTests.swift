import Fixtures
import Foundation
import Testing

/// The shared row-recovery benchmark through the built executable: no damage below the best recorded peer, and no
/// wrong row where nothing was flipped. `LIFEBOAT_LONG=1` runs every damage, also at 50 MB.
@Suite struct RecoveryBenchmarkTests {
  /// One of each kind; the others differ in degree.
  private static let some = [
    "healthy", "hdr_pagesize", "page1_random", "zero_5", "flip_50", "sector_5", "cellptr_5",
    "trunc_50",
    "head_lost", "interior_all_page1", "overflow_next", "deleted_page1", "dropped", "wal_hdr_zero",
    "journal_nohdr",
  ]

  /// The variants of the store, each with its size in megabytes and with the damages outside the long rounds. Peers are
  /// recorded for the first. Only in the second is a dropped table that of an entity.
  private static let stores: [(variant: String, megabytes: Int, damages: [String])] =
    [("core", 2, some), ("plain", 1, ["healthy", "dropped", "wal_trunc"])]
    + (Rounds.areLong ? [("core", 50, [])] : [])

  @Test(.enabled(if: Shared.isThere), arguments: stores)
  func noPeerRecoversMore(_ variant: String, _ megabytes: Int, _ damages: [String]) throws {
    guard let shared = Shared.require("the recovery benchmark of \(megabytes) MB, \(variant)"),
      FileManager.default.fileExists(atPath: shared.path + "/bench/recovery/bench.py")
    else { return }
    guard findTool("python3") != nil, let bash = findTool("bash") else {
      print("skipped: the recovery benchmark: no python3")
      return
    }
    let program = try #require(Program.path, "the executable was not built")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Benchmarks/recovery.sh")
    var environment = ProcessInfo.processInfo.environment
    environment["MB"] = "\(megabytes)"
    environment["LIFEBOAT_SHARED"] = shared.path
    var arguments = [script.path, "--executable", program, "--variant", variant]
    if variant != "core" || !Rounds.areLong { arguments.append("--no-corpus") }
    if !Rounds.areLong { arguments += ["--damage", damages.joined(separator: ",")] }
    // Only what hangs is stopped: 50 MB take the debug build half an hour on two cores that have nothing else to do.
    let result = try run(
      bash, arguments, environment: environment, timeout: Rounds.areLong ? 14_400 : 1800)
    let output = String(decoding: result.stdout, as: UTF8.self)
    #expect(
      result.status == 0, "\(output)\(String(decoding: result.stderr, as: UTF8.self))")
    #expect(output.contains("\nhealthy  "))
  }
}
