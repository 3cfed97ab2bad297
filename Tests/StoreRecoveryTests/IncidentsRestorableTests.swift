import StoreFiles
import SafeFiles
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import Testing

@testable import StoreRecovery

@Suite struct IncidentsRestorableTests {
  /// The hashes that every store of the shelf records.
  private let fitting = ExpectedModel(name: "1", hashes: hashes(["Task": 0xaa, "Tag": 0xbb]))

  private func versions(_ named: [String: [String: UInt8]]) -> ExpectedModel {
    let current = named["current"].map { ExpectedModel.Form(hashes: hashes($0)) }
    return ExpectedModel(
      name: "current", forms: current.map { [$0] } ?? [],
      versions: named.map { name, bytes in
        .init(name: name, forms: [.init(hashes: hashes(bytes))])
      }, entityNames: nil)
  }

  @Test func theModelIsBack() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let before = shelf.tree
    #expect(try shelf.incidents().restorable(with: Workbench.model) == [])
    let found = try shelf.incidents().restorable(with: fitting)
    #expect(found.map(\.id) == [id])
    #expect(found.first?.fit == .current)
    #expect(found.first?.storeName == "Done.sqlite")
    #expect(found.first?.kind == .setAside)
    #expect(found.first?.isIntact == nil)
    #expect(shelf.tree == before)
    #expect(try shelf.incidents().restorable(with: fitting, storeName: "Other.sqlite") == [])
    #expect(try shelf.incidents().restorable(with: nil) == [])
  }

  @Test func knownVersionsAreNamed() throws {
    let shelf = try Shelf()
    try shelf.setAside(hour: 0)
    let store: [String: UInt8] = ["Task": 0xaa, "Tag": 0xbb]
    let others = versions(["current": ["Task": 1], "old": store, "oldest": ["Task": 2]])
    #expect(try shelf.incidents().restorable(with: others).map(\.fit) == [.version(["old"])])
    let twins = versions(["current": ["Task": 1], "b": store, "a": store])
    #expect(try shelf.incidents().restorable(with: twins).map(\.fit) == [.version(["a", "b"])])
    let current = versions(["current": store, "a": store])
    #expect(try shelf.incidents().restorable(with: current).map(\.fit) == [.current])
  }

  /// Without a folder of incidents a launch pays one `lstat`; with one, no kept file is opened.
  @Test func costOfALaunch() throws {
    let calls = Counter()
    let bench = try Workbench()
    var system = FileSystem.real
    system.status = {
      calls.next($0)
      return try FileSystem.real.status($0)
    }
    system.entries = {
      calls.next($0)
      return try FileSystem.real.entries($0)
    }
    #expect(
      try Incidents(in: bench.folder, fileSystem: system).restorable(with: fitting) == [])
    #expect(calls.notes == [bench.incompatible])
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    // Unreadable as a database: whoever opened it would not say that it fits.
    let main = shelf.path(id, "store/Done.sqlite")
    let size = try #require(try FileStatus.of(main)).sizeBytes
    try Data(repeating: 0x55, count: Int(size)).write(to: URL(fileURLWithPath: main))
    #expect(try shelf.incidents().restorable(with: fitting).map(\.fit) == [.current])
    let checked = try shelf.incidents().restorable(with: fitting, checksSeals: true)
    #expect(checked.map(\.isIntact) == [false])
  }

  @Test func damagedStoresAreNeverHealthy() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0, .corrupt)
    for model in [fitting, Workbench.model] {
      let found = try shelf.incidents().restorable(with: model) { _ in true }
      #expect(found.map(\.fit) == [.damaged])
    }
    // The verdict says something else, and the evidence tells of damage.
    try shelf.edit(id, "\"finding\" : \"corrupt\"", "\"finding\" : \"incompatible\"")
    #expect(try shelf.incidents().restorable(with: fitting).map(\.fit) == [.current])
    try shelf.edit(id, "\"isUnopenable\" : false", "\"isUnopenable\" : true")
    #expect(try shelf.incidents().restorable(with: fitting).map(\.fit) == [.damaged])
  }

  @Test(arguments: ["unfinished", "restored", "gone", "short", "link", "damaged"])
  func whatIsNotOffered(what: String) throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    #expect(try shelf.incidents().restorable(with: fitting).count == 1)
    let main = shelf.path(id, "store/Done.sqlite")
    switch what {
    case "unfinished":
      try Data("{}".utf8).write(to: URL(fileURLWithPath: shelf.path(id, ".back.json")))
    case "restored": _ = try shelf.incidents(hour: 2).restore(id)
    case "gone": try FileManager.default.removeItem(atPath: main)
    case "short": try truncate(URL(fileURLWithPath: main), to: 100)
    case "link":
      try FileManager.default.moveItem(atPath: shelf.path(id, "store"), toPath: shelf.folder + "/x")
      try FileManager.default.createSymbolicLink(
        atPath: shelf.path(id, "store"), withDestinationPath: shelf.folder + "/x")
    default: try Data("{".utf8).write(to: URL(fileURLWithPath: shelf.path(id, "incident.json")))
    }
    #expect(try shelf.incidents().restorable(with: fitting) { _ in true } == [])
  }

  /// A host without a model is asked, about a copy that is gone afterwards.
  @Test func theHostIsAsked() throws {
    let shelf = try Shelf()
    let bench = shelf.bench
    try bench.makeStore()
    let verdict = Verdict(finding: .incompatible, action: .quarantine, reason: "", rule: .named(""))
    let recovery = bench.recovery()
    let judgement = Judgement(evidence: FileEvidence.read(bench.store), verdict: verdict)
    let id = try recovery.setAside(judgement).id
    let before = shelf.tree
    #expect(try shelf.incidents().restorable(with: nil) == [])
    var copy: URL?
    let found = try shelf.incidents().restorable(with: nil) { url in
      copy = url
      #expect(url.lastPathComponent == "Done.sqlite" && !url.path.hasPrefix(shelf.path(id)))
      let blobs = url.deletingLastPathComponent().path + "/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06"
      #expect(FileManager.default.fileExists(atPath: blobs))
      let database = try Database(url.path)
      defer { database.close() }
      try database.run("INSERT INTO ZTASK(T) VALUES('only on the copy')")
      return try database.number("SELECT count(*) FROM ZTASK") == 61
    }
    #expect(found.map(\.id) == [id])
    #expect(found.map(\.fit) == [.opens])
    #expect(shelf.tree == before)
    let folder = try #require(copy).deletingLastPathComponent().path
    #expect(!FileManager.default.fileExists(atPath: folder))
    for answer in [{ (_: URL) throws in false }, { _ in throw HostError() }] {
      #expect(try shelf.incidents().restorable(with: nil, canOpen: answer) == [])
    }
    // Where no copy can be made nobody is asked.
    var full = FileSystem.real
    full.freeSpace = { _ in 1000 }
    let refused = try shelf.incidents(full).restorable(with: nil) { _ in
      Issue.record("asked without a copy")
      return true
    }
    #expect(refused == [])
    #expect(shelf.tree == before)
  }

  /// A record without hashes: those of the kept file count.
  @Test(.enabled(if: Shared.isThere)) func hashesOfTheKeptFile() throws {
    guard let store = try RealStore(RealStoreTests.moody) else { return }
    guard let shared = Shared.require(RealStoreTests.moody) else { return }
    let models = try ModelCollection(
      searching: shared.appendingPathComponent(
        "stores/real/objcio-core-data/Migrations/Migrations/Moody.xcdatamodeld"
      ).path)
    let judgement = try store.atRest(models)
    #expect(judgement.verdict.finding == .incompatible)
    var evidence = judgement.evidence
    evidence.recordedHashes = nil
    for facts in [judgement.evidence, evidence] {
      guard let copy = try RealStore(RealStoreTests.moody) else { return }
      let id = try copy.recovery.setAside(Judgement(evidence: facts, verdict: judgement.verdict)).id
      let incidents = Incidents(in: copy.folder.url)
      let before = copy.state
      let found = try incidents.restorable(with: models, checksSeals: true)
      #expect(found.map(\.fit) == [.version(["Moody"])])
      #expect(found.map(\.isIntact) == [true])
      let old = try #require(ExpectedModel(models, versionName: "Moody"))
      #expect(try incidents.restorable(with: old).map(\.fit) == [.current])
      #expect(copy.state == before)
      // Ruined meanwhile: nothing can be said of it where the record holds no hashes.
      let main = URL(
        fileURLWithPath: try incidents.show(id).folder + "/store/Moody.moody")
      try overwrite(main, at: 0, bytes: [UInt8](repeating: 7, count: 4096))
      let ruined = try incidents.restorable(with: old, checksSeals: true)
      #expect(ruined.map(\.isIntact) == (facts.recordedHashes == nil ? [] : [false]))
    }
  }
}
