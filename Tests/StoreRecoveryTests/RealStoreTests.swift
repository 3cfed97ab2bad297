import CoreDataStore
import StoreFiles
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import Testing

@testable import StoreRecovery

/// A private copy of a real store, and recovery with the real readers.
struct RealStore {
  let folder: TemporaryFolder
  let url: URL

  /// Copies a store of the shared folder with its log, but not its log's index; nil where it is absent.
  init?(_ path: String) throws {
    guard let shared = Shared.require(path) else { return nil }
    let source = shared.appendingPathComponent("stores/real/" + path)
    guard FileManager.default.fileExists(atPath: source.path) else {
      print("skipped: \(path) is not here")
      return nil
    }
    folder = try TemporaryFolder()
    url = try SQLiteConnection.copyStore(source, into: folder.url)
  }

  init(_ fixture: StoreFixture) throws {
    folder = try TemporaryFolder()
    url = try fixture.make(folder.url)
  }

  init(named name: String, _ content: Data) throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent(name)
    try content.write(to: url)
  }

  var state: [String: TreeEntry] { treeState(of: folder.url) }

  var recovery: Recovery {
    Recovery(url, app: .init(name: "Moody", version: "6"), policy: Workbench.policy())
  }

  func atRest(_ model: (any ModelExpectation)? = nil) throws -> Judgement {
    recovery.judge(try recovery.examine(expecting: model))
  }

  /// Opens with an opener that fails with `error` as long as the store is there, and else makes a new one.
  func open(
    _ model: (any ModelExpectation)? = nil, failingWith error: any Error
  ) throws -> Opened<Bool> {
    try recovery.openSynchronously(expecting: model) { url in
      if FileManager.default.fileExists(atPath: url.path) { throw error }
      let fresh = try SQLiteConnection(url)
      try fresh.exec("CREATE TABLE fresh(a)")
      fresh.close()
      return true
    }
  }

  /// The opener's own error comes back, and nothing in the folder is other than it was.
  func isLeftAlone(
    _ model: (any ModelExpectation)? = nil, failingWith error: NSError
  ) throws -> Bool {
    let before = state
    do {
      _ = try open(model, failingWith: error)
      return false
    } catch let thrown {
      return thrown as NSError === error && state == before
    }
  }
}

func cocoa(_ code: Int, sqlite: Int32? = nil) -> NSError {
  NSError(
    domain: "NSCocoaErrorDomain", code: code,
    userInfo: sqlite.map { ["NSSQLiteErrorDomain": $0] } ?? [:])
}

@Suite struct RealStoreTests {
  static let moody = "objcio-core-data/Migrations/MigrationsTests/Moody.moody"

  static func versions() throws -> ModelCollection? {
    guard let shared = Shared.require("the versions of Moody") else { return nil }
    let path =
      shared.path + "/stores/real/objcio-core-data/Migrations/Migrations/Moody.xcdatamodeld"
    guard FileManager.default.fileExists(atPath: path) else {
      print("skipped: the versions of Moody are not here")
      return nil
    }
    return try ModelCollection(searching: path)
  }

  // MARK: The model

  @Test(.enabled(if: Shared.isThere)) func storeOfAnEarlierVersion() throws {
    guard let store = try RealStore(Self.moody), let versions = try Self.versions() else { return }
    let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store.url)
    let opened = try store.open(versions, failingWith: cocoa(134100))
    #expect(opened.handle)
    let incident = try #require(opened.incident)
    #expect(incident.verdict.finding == .incompatible)
    #expect(incident.verdict.rule.rawValue == "model.mismatch")
    #expect(incident.model?.writtenBy == "Moody")
    #expect(incident.model?.expected == "Moody 6")
    #expect(incident.model?.onlyInStore == ["GeographicRegion"])
    #expect(incident.model?.onlyInModel == [])
    #expect(incident.model?.differing == ["Continent", "Country", "Mood"])
    #expect(incident.evidence.structure?.findings == [])
    #expect(incident.evidence.frameworkVersion != nil)
    #expect(incident.storeUUID?.count == 36)
    let kept = URL(fileURLWithPath: incident.folder + "/store/Moody.moody")
    let after = try SQLiteConnection.rowsOfEveryTable(inCopyOf: kept)
    #expect(after.mapValues { $0.map(\.values) } == rows.mapValues { $0.map(\.values) })
    let fresh = try SQLiteConnection(store.url)
    #expect(try fresh.ordinaryTables() == ["fresh"])
    fresh.close()
    #expect(try Incidents(in: store.folder.url).list().first?.incident == incident)
  }

  @Test(.enabled(if: Shared.isThere)) func versionThatFits() throws {
    guard let store = try RealStore(Self.moody), let versions = try Self.versions() else { return }
    let expected = try #require(ExpectedModel(versions, versionName: "Moody"))
    let model = try #require(versions.versions.first { $0.name == "Moody" }?.model)
    #expect(ExpectedModel(versions, versionName: "Moody 99") == nil)
    let before = store.state
    for one in [expected, model] as [any ModelExpectation] {
      let judgement = try store.atRest(one)
      #expect(judgement.verdict.finding == .healthy)
      #expect(judgement.evidence.comparison?.isEqual == true)
      #expect(
        judgement.evidence.comparison?.agreeing == [
          "Continent", "Country", "GeographicRegion", "Mood",
        ])
    }
    #expect(try store.atRest(expected).evidence.writtenBy == "Moody")
    #expect(try store.atRest(versions).verdict.finding == .incompatible)
    #expect(try store.atRest().verdict.finding == .healthy)
    #expect(store.state == before)
    let refused = #expect(throws: StoreRecoveryError.self) {
      try store.recovery.recover(try store.atRest(expected)) { _ in true }
    }
    #expect(refused?.code == .refused)
    #expect(store.state == before)
  }

  /// Core Data says that the model does not fit, and the hashes say that it does: a fault elsewhere.
  @Test(.enabled(if: Shared.isThere), arguments: [134100, 134130, 134140, 134110, 134504])
  func errorThatTheHashesContradict(code: Int) throws {
    guard let store = try RealStore(Self.moody), let versions = try Self.versions() else { return }
    let expected = try #require(ExpectedModel(versions, versionName: "Moody"))
    #expect(try store.isLeftAlone(expected, failingWith: cocoa(code)))
  }

  /// Locks, space, the device, protection: whatever the model says.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [5, 6, 10, 13, 14, 23, 264, 522, 3850, 4874, 6922, 7178] as [Int32])
  func surroundings(code: Int32) throws {
    guard let store = try RealStore(Self.moody), let versions = try Self.versions() else { return }
    #expect(try store.isLeftAlone(versions, failingWith: cocoa(134110, sqlite: code)))
  }

  @Test(.enabled(if: Shared.isThere)) func newerFramework() throws {
    guard let store = try RealStore(Self.moody), let versions = try Self.versions() else { return }
    let connection = try SQLiteConnection(store.url)
    guard
      case .blob(let bytes)? = try connection.rows("SELECT Z_PLIST FROM Z_METADATA").first?.first
    else { throw FixtureError("no metadata") }
    var list = try #require(
      unsafe PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
        as? [String: Any])
    list["NSPersistenceFrameworkVersion"] = 9999
    let changed = try PropertyListSerialization.data(
      fromPropertyList: list, format: .binary, options: 0)
    try connection.rows("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob([UInt8](changed))])
    try connection.exec("PRAGMA journal_mode = DELETE")
    connection.close()
    #expect(try store.isLeftAlone(versions, failingWith: cocoa(134505)))
    #expect(try store.isLeftAlone(versions, failingWith: cocoa(134506)))
    let expected = try #require(ExpectedModel(versions, versionName: "Moody"))
    let judgement = try store.atRest(expected)
    #expect(judgement.evidence.frameworkVersion == 9999)
    #expect(judgement.verdict.finding == .healthy)
    #expect(judgement.evidence.isNewerThanApp == nil)
  }

  /// The rows of a large log survive the move.
  @Test(.enabled(if: Shared.isThere)) func logOfARealStore() throws {
    guard let store = try RealStore("abrignoni-iLEAPP/ios17-mastodon/shared.sqlite") else { return }
    let before = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store.url)
    let task = hashes(["Task": 0xcc])
    #expect(
      try store.isLeftAlone(ExpectedModel(name: "Other", hashes: task), failingWith: cocoa(134100)))
    let names = try CoreDataStore(path: store.url.path).metadata?.versionHashes.keys
    let other = ExpectedModel(
      name: "Other", hashes: task, earlierNames: try #require(names).prefix(1))
    let incident = try #require(try store.open(other, failingWith: cocoa(134100)).incident)
    #expect((incident.evidence.wal?.committedFrames ?? 0) > 0)
    #expect(incident.model?.onlyInModel == ["Task"])
    let kept = URL(fileURLWithPath: incident.folder + "/store/shared.sqlite")
    let after = try SQLiteConnection.rowsOfEveryTable(inCopyOf: kept)
    #expect(after.mapValues { $0.map(\.values) } == before.mapValues { $0.map(\.values) })
    let wal = URL(fileURLWithPath: kept.path + "-wal")
    try FileManager.default.removeItem(at: wal)
    let without = try SQLiteConnection.rowsOfEveryTable(inCopyOf: kept)
    #expect(
      without.mapValues { $0.map(\.values) } != before.mapValues { $0.map(\.values) },
      "the log did hold rows")
  }

  /// No real store looks damaged.
  @Test(.enabled(if: Shared.isThere)) func realStoresAreSound() throws {
    guard let shared = Shared.require("all real stores") else { return }
    let root = shared.appendingPathComponent("stores/real")
    let names =
      FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    var count = 0
    for name in names.sorted()
    where ["sqlite", "moody", "storedata", "db"].contains((name as NSString).pathExtension) {
      guard let store = try RealStore(name) else { continue }
      let before = store.state
      let judgement = try store.atRest()
      #expect([.healthy, .foreign].contains(judgement.verdict.finding), "\(name)")
      #expect(judgement.evidence.structure?.findings ?? [] == [], "\(name)")
      #expect((judgement.evidence.wal?.lostFrames ?? 0) == 0, "\(name)")
      #expect(store.state == before)
      count += 1
    }
    #expect(count > 20)
  }

  // MARK: Damage

  /// Overwrites the first leaf page of a table's b-tree.
  private func damage(_ store: RealStore, table: String) throws {
    let connection = try SQLiteConnection(store.url)
    try connection.exec("PRAGMA journal_mode = DELETE")
    var page = try #require(
      try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"))
    let size = try #require(try connection.integer("PRAGMA page_size"))
    connection.close()
    let content = try bytes(of: store.url)
    let start = { Int((page - 1) * size) }
    // An interior page of a table (5) names its last child after eight bytes of header.
    while content[start()] == 5 {
      page = content[start() + 8..<start() + 12].reduce(0) { $0 << 8 | Int64($1) }
    }
    try #require(content[start()] == 13)
    try overwrite(store.url, at: start(), bytes: [UInt8](repeating: 0xee, count: Int(size)))
  }

  private func readAll(_ url: URL) throws {
    let database = try Database(url.path)
    defer { database.close() }
    _ = try database.number("SELECT count(*) FROM sqlite_schema")
    guard try database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'numbered'") == 1
    else { return }
    _ = try database.number("SELECT max(length(note)) FROM numbered NOT INDEXED")
  }

  @Test func damagedLeaf() throws {
    let store = try RealStore(try StoreFixtures.named("wal-mode-clean"))
    try damage(store, table: "numbered")
    let before = try bytes(of: store.url)
    #expect(try store.atRest().verdict.finding == .corrupt)
    #expect(try store.atRest().verdict.action == .quarantine)
    let opened = try store.recovery.openSynchronously { try readAll($0) }
    let incident = try #require(opened.incident)
    #expect(incident.verdict.rule.rawValue == "sqlite.11")
    #expect(incident.evidence.structure?.findings.isEmpty == false)
    #expect(incident.evidence.structure?.isUnopenable == false)
    let kept = URL(fileURLWithPath: incident.folder + "/store/wal-mode-clean.sqlite")
    #expect(try bytes(of: kept) == before)
  }

  /// Also when the store is one of an earlier version: that is no damage.
  @Test(.enabled(if: Shared.isThere), arguments: [11, 26] as [Int32])
  func damageThatIsNotThere(code: Int32) throws {
    let plain = try RealStore(try StoreFixtures.named("wal-mode-clean"))
    #expect(try plain.isLeftAlone(failingWith: cocoa(259, sqlite: code)))
    #expect(try plain.atRest().verdict.finding == .healthy)
    guard let store = try RealStore(Self.moody), let versions = try Self.versions() else { return }
    #expect(try store.isLeftAlone(versions, failingWith: cocoa(134110, sqlite: code)))
  }

  /// Every kind of file that SQLite writes is read without a complaint.
  @Test(arguments: StoreFixtures.all)
  func soundFiles(fixture: StoreFixture) throws {
    let store = try RealStore(fixture)
    let before = store.state
    let judgement = try store.atRest()
    #expect(judgement.evidence.structure?.findings ?? [] == [])
    #expect(judgement.evidence.wal?.lostFrames ?? 0 == 0)
    #expect(judgement.verdict.action != .quarantine)
    #expect(store.state == before)
  }

  /// Damaged and hostile files of other projects: judged in bounded time, never changed. Outside the long rounds, each
  /// third file.
  @Test(.enabled(if: Shared.isThere)) func damagedFilesOfOthers() throws {
    guard let shared = Shared.require("all damaged stores") else { return }
    let root = shared.appendingPathComponent("stores/corrupt")
    let names =
      FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    var findings: [Verdict.Finding: Int] = [:]
    for name in Rounds.part(of: names.sorted(), every: 3)
    where (name as NSString).pathExtension != "tsv" {
      let source = root.appendingPathComponent(name)
      guard let content = try? Data(contentsOf: source), content.count < 8_000_000 else { continue }
      let store = try RealStore(named: "Damaged.sqlite", content)
      let before = store.state
      let judgement = try store.atRest()
      #expect(store.state == before, "\(name)")
      if !content.starts(with: Array("SQLite format 3".utf8)) {
        #expect(judgement.verdict.finding == .foreign, "\(name)")
      }
      findings[judgement.verdict.finding, default: 0] += 1
      // What we would set aside, SQLite complains of as well; but it reads a reserved type as NULL.
      let ids = judgement.evidence.structure?.findings ?? []
      if judgement.verdict.action == .quarantine, ids != ["record.reservedType"] {
        let check = try? SQLiteConnection(store.url).integrityCheck()
        #expect(check != ["ok"], "\(name): \(ids)")
      }
    }
    #expect((findings[.corrupt] ?? 0) > (Rounds.areLong ? 5 : 1), "\(findings)")
    print("damaged files of others: \(findings)")
  }

  // MARK: What is no store

  @Test func textFile() throws {
    let store = try RealStore(
      named: "Notes.sqlite", Data(String(repeating: "these are notes. ", count: 400).utf8))
    let before = store.state
    #expect(try store.atRest().verdict == atRestVerdict("file.notADatabase", of: store))
    #expect(store.state == before)
    let opened = try store.open(failingWith: cocoa(259, sqlite: 26))
    #expect(opened.incident?.verdict.finding == .foreign)
  }

  private func atRestVerdict(_ rule: String, of store: RealStore) throws -> Verdict {
    let verdict = try store.atRest().verdict
    #expect(verdict.finding == .foreign)
    #expect(verdict.action == .refuse)
    #expect(verdict.rule.rawValue == rule)
    return verdict
  }

  @Test func foreignFilesAtRest() throws {
    let empty = try RealStore(named: "Empty.sqlite", Data())
    _ = try atRestVerdict("file.empty", of: empty)
    let random = try RealStore(named: "Random.sqlite", Data())
    try randomFile(random.url, bytes: 40_000, seed: 3)
    _ = try atRestVerdict("file.encrypted", of: random)
    #expect(try random.isLeftAlone(failingWith: cocoa(259, sqlite: 26)))
    let plain = try RealStore(try StoreFixtures.named("wal-mode-clean"))
    let model = ExpectedModel(name: nil, hashes: hashes(["Task": 1]))
    #expect(try plain.atRest(model).verdict.rule.rawValue == "model.unrecorded")
    #expect(try plain.atRest(model).verdict.action == .refuse)
    let folder = Recovery(plain.folder.url, app: .init(name: "x", version: "1"))
    #expect(folder.judge(try folder.examine()).verdict.rule.rawValue == "store.notAFile")
    let nothing = Recovery(
      plain.folder.url.appendingPathComponent("none"), app: .init(name: "x", version: "1"))
    let error = #expect(throws: StoreRecoveryError.self) { try nothing.examine() }
    #expect(error?.code == .missing)
  }

  /// SQLCipher can leave the first 32 bytes in clear; with a wrong key the rest is noise.
  @Test func encryptedWithAClearHeader() throws {
    let store = try RealStore(try StoreFixtures.named("wal-mode-clean"))
    let header = try bytes(of: store.url).prefix(32)
    try randomFile(store.url, bytes: 40_960, seed: 9)
    try overwrite(store.url, at: 0, bytes: Array(header))
    _ = try atRestVerdict("file.encrypted", of: store)
    for code in [11, 26] as [Int32] {
      #expect(try store.isLeftAlone(failingWith: cocoa(259, sqlite: code)))
    }
    #expect(try store.isLeftAlone(failingWith: cocoa(256)))
  }

  @Test func fileForANewerSQLite() throws {
    let store = try RealStore(try StoreFixtures.named("wal-mode-clean"))
    try overwrite(store.url, at: 19, bytes: [3])
    #expect(try store.atRest().verdict.finding == .newer)
    #expect(try store.atRest().verdict.action == .refuse)
    #expect(try store.isLeftAlone(failingWith: cocoa(256)))
    #expect(try store.isLeftAlone(failingWith: cocoa(256, sqlite: 26)))
  }
}
