import StoreFiles
import SafeFiles
import Foundation
import Testing

@testable import StoreRecovery

/// A folder with real quarantines in it.
struct Shelf {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  var folder: String { bench.folder }

  /// Sets a store aside `hour` hours after the first, with the content of the template and a row more for each
  /// of `rows`. Equal `rows` give equal bytes.
  @discardableResult
  func setAside(hour: Int, rows: Int = 0, _ finding: Verdict.Finding = .incompatible) throws
    -> String
  {
    try bench.makeStore()
    if rows > 0 {
      try bench.write(String(repeating: "b", count: rows), to: ".Done_SUPPORT/extra")
    }
    let clock: @Sendable () -> Date = { Workbench.now.addingTimeInterval(Double(hour) * 3600) }
    // Without waiting for the device.
    let recovery = bench.recovery(
      structure: Workbench.mismatching, fileSystem: .watched { _, _ in }, clock: clock)
    let judgement = recovery.judge(try recovery.examine(expecting: Workbench.model))
    var verdict = judgement.verdict
    verdict.finding = finding
    return try recovery.setAside(Judgement(evidence: judgement.evidence, verdict: verdict)).id
  }

  /// The folder's incidents as seen `hour` hours after the first quarantine.
  func incidents(_ fileSystem: FileSystem = .watched { _, _ in }, hour: Int = 1000) -> Incidents {
    Incidents(in: folder, fileSystem: fileSystem) {
      Workbench.now.addingTimeInterval(Double(hour) * 3600)
    }
  }

  func path(_ id: String, _ name: String = "") -> String {
    bench.incompatible + "/" + id + (name.isEmpty ? "" : "/" + name)
  }

  /// Changes the record of an incident as a text.
  func edit(_ id: String, _ from: String, _ to: String) throws {
    let path = path(id, "incident.json")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains(from))
    try Data(text.replacingOccurrences(of: from, with: to).utf8)
      .write(to: URL(fileURLWithPath: path))
  }

  /// The folders of incidents, and those that are being removed.
  var names: [String] {
    bench.names(bench.incompatible).filter { !$0.hasPrefix(".") || $0.hasPrefix(Removal.prefix) }
  }

  /// Every file below these folders with its bytes.
  var tree: [String: Data] {
    var files: [String: Data] = [:]
    for folder in names {
      for name in [""]
        + (FileManager.default.enumerator(atPath: path(folder))?.allObjects ?? [])
        .compactMap({ $0 as? String })
      {
        let path = folder + "/" + name
        files[path] =
          FileManager.default.contents(atPath: bench.incompatible + "/" + path) ?? Data()
      }
    }
    return files
  }

  /// The contents that are kept whole, each with how often.
  func contents() throws -> [String: Int] {
    var contents: [String: Int] = [:]
    for check in try incidents().verify() where check.finding == .intact {
      let seal = try #require(try incidents().show(check.id).incident?.seal)
      contents[try #require(seal.fingerprint), default: 0] += 1
    }
    return contents
  }
}

@Suite struct IncidentsPruneTests {
  private let none = Retention(maximumCount: 0, maximumBytes: 0, maximumAgeSeconds: 0)

  @Test func nothingGoesUnasked() throws {
    let shelf = try Shelf()
    let ids = try (0..<3).map { try shelf.setAside(hour: $0) }
    let before = shelf.tree
    let report = try shelf.incidents().prune(Retention(), dryRun: false)
    #expect(report.removed == [])
    #expect(report.kept.map(\.id) == ids)
    #expect(report.kept.allSatisfy { $0.why == .withinLimits })
    #expect(shelf.tree == before)
    #expect(Retention().keepsEverything)
  }

  /// Whatever the limits, the last copy of each content stays, and the report says so.
  @Test func theOnlyCopyStays() throws {
    let shelf = try Shelf()
    let ids = try (0..<3).map { try shelf.setAside(hour: $0, rows: $0 + 1) }
    let before = shelf.tree
    for limits in [
      none, Retention(maximumCount: 1), Retention(maximumBytes: 10),
      Retention(maximumAgeSeconds: 60), Retention(maximumCount: -5, maximumBytes: .min),
    ] {
      let report = try shelf.incidents().prune(limits, dryRun: false)
      #expect(report.removed == [])
      #expect(report.kept.map(\.id) == ids)
      #expect(report.kept.allSatisfy { $0.why == .onlyCopy }, "\(limits)")
    }
    #expect(shelf.tree == before)
  }

  @Test func secondCopiesGoOldestFirst() throws {
    let shelf = try Shelf()
    let ids = try (0..<4).map { try shelf.setAside(hour: $0) }
    let other = try shelf.setAside(hour: 4, rows: 7)
    let contents = try shelf.contents()
    #expect(contents.values.sorted() == [1, 4])

    let before = shelf.tree
    let limits = Retention(maximumCount: 3)
    let promised = try shelf.incidents().prune(limits, dryRun: true)
    #expect(shelf.tree == before)
    let report = try shelf.incidents().prune(limits, dryRun: false)
    #expect(promised.isDryRun && !report.isDryRun)
    #expect(promised.removed == report.removed && promised.kept == report.kept)
    #expect(promised.keptBytes == report.keptBytes)
    #expect(report.removed.map(\.id) == [ids[0], ids[1]])
    #expect(report.removed.allSatisfy { $0.why == .duplicate && $0.sameAs == ids[3] })
    #expect(report.removed.allSatisfy { $0.freedBytes > 10_000 })
    #expect(report.kept.map(\.id) == [ids[2], ids[3], other])
    #expect(report.kept.allSatisfy { $0.why == .withinLimits })
    #expect(try shelf.names == shelf.incidents().list().map(\.id))

    let rest = try shelf.incidents().prune(none, dryRun: false)
    #expect(rest.removed.map(\.id) == [ids[2]])
    #expect(rest.kept.map(\.id) == [ids[3], other])
    #expect(try Set(shelf.contents().keys) == Set(contents.keys))
    #expect(try shelf.contents().values.allSatisfy { $0 == 1 })
  }

  @Test func bytesCountOnceForLinkedFiles() throws {
    let shelf = try Shelf()
    let first = try shelf.setAside(hour: 0)
    let second = try shelf.setAside(hour: 1)
    // The second becomes a copy by links of the first, as a backup tool makes it.
    let main = "store/Done.sqlite"
    try FileManager.default.removeItem(atPath: shelf.path(second, main))
    try FileManager.default.linkItem(
      atPath: shelf.path(first, main), toPath: shelf.path(second, main))
    let whole = try shelf.incidents().prune(Retention(), dryRun: true).keptBytes
    let files = [first, second].flatMap { id in
      IncidentFiles(in: shelf.path(id), .real).files.filter { $0.status.kind == .file }
    }
    let mainBytes = try #require(files.first { $0.name == main }).status.sizeBytes
    #expect(whole == files.reduce(0) { $0 + $1.status.sizeBytes } - mainBytes)
    #expect(
      try shelf.incidents().prune(Retention(maximumBytes: whole), dryRun: false).removed == [])
    let report = try shelf.incidents().prune(Retention(maximumBytes: whole - 1), dryRun: false)
    #expect(report.removed.map(\.id) == [first])
    #expect(report.removed.first?.freedBytes == whole - report.keptBytes)
    #expect(try shelf.incidents().verify(second).finding == .intact)
  }

  /// The records of restored stores go first; nothing is lost with them.
  @Test func recordsOfRestoredStoresGoFirst() throws {
    let shelf = try Shelf()
    let twin = try shelf.setAside(hour: 0)
    let restored = try shelf.setAside(hour: 1)
    _ = try shelf.incidents(hour: 2).restore(restored)
    let report = try shelf.incidents().prune(Retention(maximumCount: 1), dryRun: false)
    #expect(report.removed.map(\.id) == [restored])
    #expect(report.removed.map(\.why) == [.restored])
    #expect(report.kept.map(\.id) == [twin])
    #expect(try shelf.incidents().verify(twin).finding == .intact)
  }

  /// A clock that was wrong, then or now, makes nothing old.
  @Test func agesThatCannotBeTrue() throws {
    let shelf = try Shelf()
    let years = 8766
    let past = try shelf.setAside(hour: -56 * years)
    let future = try shelf.setAside(hour: 74 * years)
    let old = try shelf.setAside(hour: 0)
    let new = try shelf.setAside(hour: 100)
    #expect(past.hasPrefix("1970-") && future.hasPrefix("2100-"))
    let day = Retention(maximumAgeSeconds: 86_400)
    for hour in [-56 * years, -57 * years] {
      #expect(try shelf.incidents(hour: hour).prune(day, dryRun: false).removed == [])
    }
    let report = try shelf.incidents(hour: 101).prune(day, dryRun: false)
    #expect(report.removed.map(\.id) == [old])
    #expect(report.kept.map(\.id) == [past, new, future])
    #expect(report.kept.allSatisfy { $0.why == .withinLimits })
    // A clock gone wild makes all old, and one copy stays.
    let wild = try shelf.incidents(hour: 7000 * years).prune(day, dryRun: false)
    #expect(wild.kept.contains { $0.id == future && $0.why == .onlyCopy })
    #expect(try shelf.contents().values.sum == 2)
  }

  @Test func onlyOneStoresIncidents() throws {
    let shelf = try Shelf()
    let ids = try (0..<2).map { try shelf.setAside(hour: $0) }
    let report = try shelf.incidents().prune(none, storeName: "Other.sqlite", dryRun: false)
    #expect(report.removed.isEmpty && report.kept.isEmpty)
    #expect(
      try shelf.incidents().prune(none, storeName: "Done.sqlite", dryRun: false).removed.map(\.id)
        == [ids[0]])
  }

  // MARK: What stays

  /// Each of these is a second copy, and stays all the same.
  @Test(arguments: [
    "intent", "damaged", "other", "bytes", "size", "shm", "note", "link", "inner", "role", "seal",
    "outcome", "store", "nested",
  ])
  func doubtfulOnesStay(what: String) throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let keeper = try shelf.setAside(hour: 1)
    let files = FileManager.default
    let why: PruneReport.Kept.Why
    func write(_ text: String, _ name: String) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: shelf.path(id, name)))
    }
    switch what {
    case "intent":
      try write("{}", ".back.json")
      why = .unfinished
    case "damaged":
      try write("{", "incident.json")
      why = .recordUnread
    case "other":
      try files.removeItem(atPath: shelf.path(id, "incident.json"))
      try files.copyItem(
        atPath: shelf.path(keeper, "incident.json"), toPath: shelf.path(id, "incident.json"))
      why = .recordUnread
    case "bytes":
      let handle = try FileHandle(
        forUpdating: URL(fileURLWithPath: shelf.path(id, "store/Done.sqlite-wal")))
      try handle.seek(toOffset: 5000)
      try handle.write(contentsOf: Data("rot".utf8))
      try handle.close()
      why = .sealBroken
    case "size":
      try write("short", "store/Done.sqlite-wal")
      why = .sealBroken
    case "shm":
      try write("x", "store/Done.sqlite-journal")
      why = .sealBroken
    case "note":
      try write("mine", "note.txt")
      why = .strangeFiles
    case "nested":
      try write("mine", "store/note.txt")
      why = .strangeFiles
    case "link":
      try files.createSymbolicLink(
        atPath: shelf.path(id, "store/.Done_SUPPORT/link"), withDestinationPath: "/etc/hosts")
      why = .link
    case "store":
      try files.moveItem(atPath: shelf.path(id, "store"), toPath: shelf.folder + "/elsewhere")
      try files.createSymbolicLink(
        atPath: shelf.path(id, "store"), withDestinationPath: shelf.folder + "/elsewhere")
      why = .link
    case "inner":
      try files.moveItem(
        atPath: shelf.path(id, "store/.Done_SUPPORT"), toPath: shelf.folder + "/blobs")
      try files.createSymbolicLink(
        atPath: shelf.path(id, "store/.Done_SUPPORT"), withDestinationPath: shelf.folder + "/blobs")
      why = .link
    case "role":
      try shelf.edit(id, "\"role\" : \"main\"", "\"role\" : \"sharedMemory\"")
      why = .recordUnread
    case "seal":
      let text = try String(contentsOfFile: shelf.path(id, "incident.json"), encoding: .utf8)
      var object = try #require(
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
      object["seal"] = nil
      try JSONSerialization.data(withJSONObject: object)
        .write(to: URL(fileURLWithPath: shelf.path(id, "incident.json")))
      why = .sealBroken
    default:
      try write("{", "outcome.json")
      why = .recordUnread
    }
    let before = shelf.tree
    let report = try shelf.incidents().prune(none, dryRun: false)
    #expect(report.removed == [])
    #expect(report.kept.first { $0.id == id }?.why == why, "\(report.kept)")
    #expect(report.kept.first { $0.id == keeper }?.why == .onlyCopy)
    #expect(shelf.tree == before)
  }

  /// What shall keep the content has rotted: the older copy is the only one then.
  @Test func aRottenCopyKeepsNothing() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let keeper = try shelf.setAside(hour: 1)
    let blob = shelf.path(keeper, "store/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06")
    try Data("a LARGE picture".utf8).write(to: URL(fileURLWithPath: blob))
    let report = try shelf.incidents().prune(none, dryRun: false)
    #expect(report.removed == [])
    #expect(report.kept.map(\.id) == [id, keeper])
    #expect(report.kept.map(\.why) == [.onlyCopy, .sealBroken])
  }

  /// Two records that claim the same seal for different files.
  @Test func aClaimedSealIsNoCopy() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let liar = try shelf.setAside(hour: 1, rows: 0)
    let blob = shelf.path(id, "store/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06")
    try Data("another picture".utf8).write(to: URL(fileURLWithPath: blob))
    #expect("another picture".utf8.count == "a large picture".utf8.count)
    let report = try shelf.incidents().prune(none, dryRun: false)
    #expect(report.removed == [])
    #expect(report.kept.map(\.why) == [.sealBroken, .onlyCopy])
    #expect(report.kept.last?.id == liar)
  }

  /// Folders over links and names that lead elsewhere are not touched.
  @Test func linkedFolders() throws {
    let shelf = try Shelf()
    try shelf.setAside(hour: 0)
    let outside = try Shelf()
    let far = try outside.setAside(hour: 5)
    let name = "2026-11-21-21-53-07Z"
    try FileManager.default.createSymbolicLink(
      atPath: shelf.path(name), withDestinationPath: outside.path(far))
    let before = outside.tree
    let report = try shelf.incidents().prune(none, dryRun: false)
    #expect(report.removed == [])
    #expect(report.kept.first { $0.id == name }?.why == .link)
    #expect(outside.tree == before)
    // The folder of the incidents itself is a link.
    let linked = try Workbench()
    try FileManager.default.createSymbolicLink(
      atPath: linked.incompatible, withDestinationPath: outside.bench.incompatible)
    let error = #expect(throws: StoreRecoveryError.self) {
      try Incidents(in: linked.folder, fileSystem: .real).prune(none, dryRun: false)
    }
    #expect(error?.code == .noSuchIncident && error?.message.contains("symbolic link") == true)
    #expect(outside.tree == before)
  }

  @Test(arguments: ["../../Done.sqlite", "/etc/passwd", "..", "a/../../b", "", "store//x"])
  func hostileRemovalRecords(name: String) throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    try shelf.bench.makeStore()
    let status = try #require(try FileStatus.of(shelf.bench.store))
    let folder = shelf.bench.incompatible + "/.removed-x"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for claimed in [id, "../..", "..", ""] {
      let record = Removal.Record(
        schema: "lifeboat.removal", version: 1, id: claimed,
        files: [
          .init(name: "gone", status: status), .init(name: name, status: status),
        ])
      try? FileManager.default.removeItem(atPath: folder + "/.removal.json")
      try RecordFile(fileSystem: .real).write(record, to: folder + "/.removal.json")
      let before = shelf.bench.snapshot()
      let report = try shelf.incidents().prune(none, dryRun: false)
      #expect(report.kept.contains { $0.id == ".removed-x" && $0.why == .failed })
      #expect(shelf.bench.snapshot() == before)
      #expect(try shelf.incidents().verify(id).finding == .intact)
      // It does not keep the store from opening either.
      _ = try shelf.bench.recovery().openSynchronously { _ in true }
      #expect(shelf.bench.snapshot() == before)
    }
  }

  /// What an unfinished removal holds stays, so its bytes count too.
  @Test func whatIsStuckCounts() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let before = try shelf.incidents().prune(none, dryRun: true).keptBytes
    let folder = shelf.bench.incompatible + "/.removed-x"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(count: 1000).write(to: URL(fileURLWithPath: folder + "/note"))
    for dryRun in [true, false] {
      let report = try shelf.incidents().prune(none, dryRun: dryRun)
      #expect(report.kept.contains { $0.id == ".removed-x" && $0.why == .failed })
      #expect(report.keptBytes == before + 1000)
    }
    // With a record that lists a file that is gone, and one that another has replaced. The folder gets another name.
    let status = try #require(try FileStatus.of(shelf.path(id, "incident.json")))
    let record = Removal.Record(
      schema: "lifeboat.removal", version: 1, id: "2026-11-19-00-00-00Z",
      files: [.init(name: "gone", status: status), .init(name: "note", status: status)])
    try RecordFile(fileSystem: .real).write(record, to: folder + "/.removal.json")
    let report = try shelf.incidents().prune(none, dryRun: false)
    let stuck = try #require(report.kept.first { $0.why == .failed })
    #expect(shelf.names.contains(stuck.id))
    #expect(report.keptBytes > before + 1000)
  }

  @Test func leftOversWithoutARecord() throws {
    let shelf = try Shelf()
    try shelf.setAside(hour: 0)
    let empty = shelf.bench.incompatible + "/.removed-empty"
    let full = shelf.bench.incompatible + "/.removed-full"
    for folder in [empty, full] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: full + "/note"))
    try FileManager.default.createSymbolicLink(
      atPath: shelf.bench.incompatible + "/.removed-link", withDestinationPath: shelf.folder)
    _ = try shelf.bench.recovery().openSynchronously { _ in true }
    #expect(!FileManager.default.fileExists(atPath: empty))
    #expect(shelf.bench.names(full) == ["note"])
    #expect(try FileStatus.of(shelf.bench.incompatible + "/.removed-link")?.kind == .symbolicLink)
  }

  /// A record with numbers at the limits of what 64 bits hold.
  @Test func hugeSizes() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    try shelf.edit(id, "\"sizeBytes\" : 8192", "\"sizeBytes\" : 9223372036854775807")
    try shelf.setAside(hour: 1)
    let report = try shelf.incidents().prune(
      Retention(maximumCount: .max, maximumBytes: .max, maximumAgeSeconds: .max), dryRun: false)
    #expect(report.removed == [])
    #expect(report.kept.first?.why == .sealBroken)
    var bytes = LinkedBytes([
      .init(device: 1, inode: 1, sizeBytes: .max), .init(device: 1, inode: 2, sizeBytes: 5),
      .init(device: 1, inode: 3, sizeBytes: -5),
    ])
    #expect(bytes.total == .max)
    #expect(bytes.remove([.init(device: 1, inode: 2, sizeBytes: 5)]) == 5)
    #expect(bytes.remove([.init(device: 9, inode: 9, sizeBytes: 5)]) == 0)
  }
}

extension Sequence where Element == Int {
  fileprivate var sum: Int { reduce(0, +) }
}
