import StoreFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// A store with a log, several external blobs and what a migration left, and the truth about it.
struct KillBench {
  let bench: Workbench
  let before: [String: String]
  let rows: [[FixtureValue]]

  init(_ bench: Workbench? = nil) throws {
    self.bench = try bench ?? Workbench()
    try self.bench.makeStore()
    try FileManager.default.createDirectory(
      atPath: self.bench.folder + "/.Done_SUPPORT/_EXTERNAL_DATA/old",
      withIntermediateDirectories: true)
    try self.bench.write("a second picture", to: ".Done_SUPPORT/_EXTERNAL_DATA/8C1D0F77")
    try self.bench.write("a third", to: ".Done_SUPPORT/_EXTERNAL_DATA/old/12")
    try self.bench.write("half", to: ".Done.sqlite.migrationdestination_41b5")
    before = Self.files(self.bench, self.bench.folder)
    rows = try Self.rows(self.bench.folder)
  }

  var store: String { bench.store }

  /// Bytes and times of the set in a folder. Whoever looks at a store may write to the index of its log.
  static func files(_ bench: Workbench, _ folder: String) -> [String: String] {
    bench.snapshot(in: folder).filter { $0.key != "Done.sqlite-shm" }
  }

  /// The rows of a set, as SQLite reads them on a copy.
  static func rows(_ folder: String, table: String = "ZTASK") throws -> [[FixtureValue]] {
    let copy = try TemporaryFolder()
    for suffix in ["", "-wal"] {
      let path = folder + "/Done.sqlite" + suffix
      guard FileManager.default.fileExists(atPath: path) else { continue }
      try FileManager.default.copyItem(
        atPath: path, toPath: copy.url.path + "/Done.sqlite" + suffix)
    }
    let database = try SQLiteConnection(copy.url.path + "/Done.sqlite")
    defer { database.close() }
    return try database.rows("SELECT * FROM \(table) ORDER BY 1")
  }

  /// The folders that hold a whole set, of all that could.
  var places: [String] {
    candidates.filter { Self.files(bench, $0) == before }
  }

  private var candidates: [String] {
    let kept = bench.names(bench.incompatible).map { bench.incompatible + "/" + $0 + "/store" }
    return [bench.folder] + kept
  }

  /// All paths below the store's folder.
  var paths: [String] {
    (FileManager.default.enumerator(atPath: bench.folder)?.allObjects as? [String]) ?? []
  }

  /// One whole set, sealed when it is a quarantine's, nothing twice, nothing half-done, and the rows of before.
  func expectHealed(_ note: String, _ source: SourceLocation = #_sourceLocation) throws {
    let places = places
    #expect(places.count == 1, "\(note): \(places) in \(paths)", sourceLocation: source)
    guard let place = places.first else { return }
    #expect(try Self.rows(place) == rows, "\(note)", sourceLocation: source)
    // The next write of either record replaces the part of it that a kill left.
    let parts = [".state.json.part", ".removal.json.part"]
    let remains = paths.filter { path in
      let isPart = path.hasSuffix(".part") && !parts.contains { path.hasSuffix("/" + $0) }
      return isPart || path.contains("leftover") || path.contains("/.removed-")
        || path.contains("/.trial-") || path.contains(".lifeboat-gone-")
    }
    #expect(remains == [], "\(note)", sourceLocation: source)
    let doubles = paths.filter { $0.hasSuffix("/old/12") }
    #expect(doubles.count == 1, "\(note)", sourceLocation: source)
    for entry in try Incidents(in: URL(fileURLWithPath: bench.folder)).list() {
      #expect(!entry.isUnfinished && entry.problem == nil, "\(note)", sourceLocation: source)
      guard entry.outcome == nil else { continue }
      let seal = try StoreSeal(sealing: StoreSet(at: entry.folder + "/store/Done.sqlite"))
      let differences = entry.incident?.seal?.differences(from: seal).filter(\.affectsContent)
      #expect(differences?.isEmpty == true, "\(note)", sourceLocation: source)
    }
  }

  /// Two launches in a new process: the first ends what was left, and the second has nothing to do.
  func heal(_ note: String, _ source: SourceLocation = #_sourceLocation) throws {
    let healed = try Child.run("heal", store)
    #expect(
      healed.lines.last == "launch 0" && healed.lines.count == 2, "\(note): \(healed.lines)",
      sourceLocation: source)
    try expectHealed(note, source)
  }

  /// The same after the store was set aside and a fresh one has a row.
  static func withFreshStore() throws -> (KillBench, id: String) {
    let made = try KillBench()
    let opened = try Child.run("open", made.store, ["row=fresh"])
    let words = try #require(opened.lines.first).split(separator: " ")
    return (made, String(try #require(words.last)))
  }

  /// The same after the earlier store was restored in its place.
  static func restored() throws -> KillBench {
    let (made, id) = try withFreshStore()
    let restored = try Child.run("restore", made.store, ["id=" + id])
    #expect(restored.lines.first?.hasPrefix("restored") == true, "\(restored)")
    return made
  }

  /// In how many places the fresh store's row is.
  var freshPlaces: [String] {
    candidates.filter {
      ((try? Self.rows($0, table: "ZFRESH")) ?? []) == [[.text(Array("fresh".utf8))]]
    }
  }
}
