import StoreFiles
import SafeFiles
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct IncidentsTests {
  private func bench() throws -> (Workbench, [String: String]) {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let recovery = bench.recovery(structure: Workbench.mismatching)
    let evidence = try recovery.examine(expecting: Workbench.model)
    _ = try recovery.recover(recovery.judge(evidence)) { url in
      let database = try Database.open(url)
      try database.run("INSERT INTO ZTASK(T) VALUES('new')")
      database.close()
    }
    return (bench, before)
  }

  private func incidents(_ bench: Workbench) -> Incidents {
    Incidents(in: bench.folder, fileSystem: .real, clock: { Workbench.now.addingTimeInterval(60) })
  }

  @Test func restore() throws {
    let (bench, before) = try bench()
    let result = try incidents(bench).restore(Workbench.stamp)
    #expect(bench.snapshot() == before)
    #expect(try Database.rows(ofSetIn: bench.folder) == 60)
    #expect(result.differences.isEmpty)
    #expect(result.restored.contains(bench.store))
    #expect(result.replaced?.id == "2026-11-20-21-54-07Z-replaced")
    #expect(result.replaced?.kind == .replaced)
    let aside = bench.incompatible + "/2026-11-20-21-54-07Z-replaced/store"
    #expect(try Database.rows(ofSetIn: aside) == 1)
    let listed = try incidents(bench).list()
    #expect(listed.map(\.outcome?.kind) == [.restored, nil])
    let again = #expect(throws: StoreRecoveryError.self) {
      try incidents(bench).restore(Workbench.stamp)
    }
    #expect(again?.code == .nothingKept)
  }

  @Test func changedBytesAreRefusedUnlessForced() throws {
    let (bench, _) = try bench()
    let kept =
      "\(bench.incompatible)/\(Workbench.stamp)/store/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06"
    try Data("a LARGE picture".utf8).write(to: URL(fileURLWithPath: kept))
    let fresh = bench.snapshot()
    let error = #expect(throws: StoreRecoveryError.self) {
      try incidents(bench).restore(Workbench.stamp)
    }
    #expect(error?.code == .sealBroken)
    #expect(error?.message.contains("5AB00A06") == true)
    #expect(bench.snapshot() == fresh)
    let result = try incidents(bench).restore(Workbench.stamp, force: true)
    #expect(result.differences.map(\.id) == [.bytes])
    #expect(try Database.rows(ofSetIn: bench.folder) == 60)
  }

  /// Stopped at every call: both sets are still there, each whole, after the next launch.
  @Test func restoreIsResumed() throws {
    struct Stop: Error {}
    let calls = Counter()
    let (whole, _) = try bench()
    _ = try Incidents(in: whole.folder, fileSystem: .watched { _, _ in calls.next() })
      .restore(Workbench.stamp)
    #expect(calls.count > 30)
    for step in 1...calls.count {
      let (bench, before) = try bench()
      let fresh = bench.snapshot()
      let now = Counter()
      let system = FileSystem.watched { _, _ in if now.next() >= step { throw Stop() } }
      _ = try? Incidents(in: bench.folder, fileSystem: system).restore(Workbench.stamp)
      _ = try bench.recovery().openSynchronously { _ in true }
      let kept = bench.names(bench.incompatible).map { bench.incompatible + "/" + $0 + "/store" }
      let all = ([bench.folder] + kept).map { bench.snapshot(in: $0) }
      #expect(all.filter { $0 == before }.count == 1, "step \(step)")
      #expect(all.filter { $0 == fresh }.count == 1, "step \(step)")
    }
  }

  /// A folder that cannot be examined is an error of the recovery, too, with what the system says.
  @Test func anIncidentThatCannotBeExaminedIsTold() throws {
    let (bench, _) = try bench()
    let id = Workbench.stamp
    var system = FileSystem.real
    system.status = { path in
      guard !path.hasSuffix(id) else {
        throw SystemCallError(call: "fstatat", path: path, errno: EIO)
      }
      return try FileSystem.real.status(path)
    }
    let blind = Incidents(in: bench.folder, fileSystem: system)
    let shown = #expect(throws: StoreRecoveryError.self) { try blind.show(id) }
    let verified = #expect(throws: StoreRecoveryError.self) { try blind.verify(id) }
    for error in [shown, verified] {
      #expect(error?.code == .noSuchIncident)
      #expect(error?.errno == EIO)
    }
  }

  @Test func damagedRecordsAreListed() throws {
    let (bench, _) = try bench()
    for (index, text) in ["", "{", "[1]", "{\"schema\":\"x\"}"].enumerated() {
      let folder = "Incompatible/2026-11-2\(index + 1)-00-00-00Z"
      try FileManager.default.createDirectory(
        atPath: bench.folder + "/" + folder, withIntermediateDirectories: true)
      try bench.write(text, to: folder + "/incident.json")
    }
    let listed = try incidents(bench).list()
    #expect(listed.count == 5)
    #expect(listed.dropFirst().allSatisfy { $0.incident == nil && $0.problem != nil })
    for entry in listed.dropFirst() {
      let error = #expect(throws: StoreRecoveryError.self) {
        try incidents(bench).restore(entry.id)
      }
      #expect(error?.code == .unreadableIncident)
    }
  }

  @Test(arguments: [
    "", "..", "../Incompatible", "2030-01-01-00-00-00Z", "2026-11-20-21-53-07Z/store",
  ])
  func unknownNames(id: String) throws {
    let (bench, _) = try bench()
    let error = #expect(throws: StoreRecoveryError.self) { try incidents(bench).show(id) }
    #expect(error?.code == .noSuchIncident)
  }

  @Test func noFolderNoIncidents() throws {
    let bench = try Workbench()
    #expect(try incidents(bench).list().isEmpty)
  }

  @Test func words() throws {
    let (bench, _) = try bench()
    let incident = try #require(try incidents(bench).list().first?.incident)
    for word in ["SQLite", "hash", "corrupt", "quarantine", "schema", "you failed"] {
      #expect(!incident.plainText.lowercased().contains(word.lowercased()), "\(word)")
    }
    var policy = Policy()
    policy.texts = IncidentTexts { _ in
      .init(title: "Titel", whatHappened: "a", whatWasKept: "b", whatToDo: "c")
    }
    let recovery = bench.recovery(policy: policy, structure: Workbench.mismatching)
    let evidence = try recovery.examine(expecting: Workbench.model)
    let own = try recovery.setAside(recovery.judge(evidence))
    #expect(own.plainText.hasPrefix("Titel\n"))
  }
}
