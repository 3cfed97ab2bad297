import Fixtures
import Foundation
import Testing

/// The shared row-recovery benchmark through the built executable: no damage below the best recorded peer, and no
/// wrong row where nothing was flipped. `LIFEBOAT_LONG=1` runs every damage, at 2 MB and at 50 MB.
@Suite struct RecoveryBenchmarkTests {
  /// One of each kind; the others differ in degree.
  private static let some = [
    "healthy", "hdr_pagesize", "page1_random", "zero_5", "flip_50", "sector_5", "cellptr_5",
    "trunc_50",
    "head_lost", "interior_all_page1", "overflow_next", "deleted_page1", "dropped", "wal_hdr_zero",
    "journal_nohdr",
  ]

  @Test(.enabled(if: Shared.isThere), arguments: Rounds.areLong ? [2, 50] : [2])
  func noPeerRecoversMore(_ megabytes: Int) throws {
    guard let shared = Shared.require("the recovery benchmark of \(megabytes) MB"),
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
    var arguments = [script.path, "--executable", program]
    if !Rounds.areLong {
      arguments += ["--no-corpus", "--damage", Self.some.joined(separator: ",")]
    }
    // Only what hangs is stopped: 50 MB take the debug build half an hour on two cores that have nothing else to do.
    let result = try run(
      bash, arguments, environment: environment, timeout: Rounds.areLong ? 14_400 : 1800)
    let output = String(decoding: result.stdout, as: UTF8.self)
    #expect(
      result.status == 0, "\(output)\(String(decoding: result.stderr, as: UTF8.self))")
    #expect(output.contains("\nhealthy  "))
  }
}
