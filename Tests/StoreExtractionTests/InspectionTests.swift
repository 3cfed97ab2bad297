import CoreDataStore
import StoreFiles
import Fixtures
import Foundation
import SQLiteFile
import StoreExtraction
import Testing

/// What is told of a store on one screen, and how stores are found.
@Suite struct InspectionTests {
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 2))
  func realStoresAreInspected(_ real: RealStore) throws {
    let before = treeState(of: real.url.deletingLastPathComponent())
    let inspection = try StoreInspection(path: real.url.path)
    #expect(inspection.kind == .coreData)
    // Some break Core Data's rules, which a check says too.
    let check = try StoreCheck(path: real.url.path)
    #expect((inspection.damageCount == 0) == check.isSound)
    #expect(
      !inspection.findings.contains {
        $0.severity == .damage && !$0.id.rawValue.hasPrefix("coredata.")
      })
    #expect(inspection.changedDuringRead.isEmpty)
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: real.url)
    #expect(
      Dictionary(
        inspection.tables.map { ($0.name, $0.rowCount) }, uniquingKeysWith: { one, _ in one })
        == truth.mapValues(\.count))
    #expect(
      inspection.entities.reduce(0) { $0 + $1.rowCount } + (inspection.unknownEntityRowCount ?? 0)
        == inspection.liveRowCount)
    let main = try #require(inspection.members.first { $0.role == .main })
    #expect(main.sha256 == hex(of: try Data(contentsOf: real.url)))
    #expect(inspection.metadata?.digestHolds != false)
    #expect(inspection.metadata?.checksumHolds != false)
    #expect(inspection.model?.hashesAgree != false)
    let encoded = try JSONEncoder().encode(inspection)
    let decoded = try JSONDecoder().decode(StoreInspection.self, from: encoded)
    #expect(decoded.entities.count == inspection.entities.count)
    #expect(decoded.file.pageSizeBytes == inspection.file.pageSizeBytes)
    #expect(treeState(of: real.url.deletingLastPathComponent()) == before)
  }

  /// Files whose names differ only in how their letters are composed.
  @Test func filesAreToldApartByTheBytesOfTheirNames() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Notes.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t (x)")
    connection.close()
    let files = folder.url.appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA").path
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    let names = ["caf\u{e9}", "cafe\u{301}"]
    func write(_ text: String, to name: String) {
      #expect(FileManager.default.createFile(atPath: "\(files)/\(name)", contents: Data(text.utf8)))
    }
    for name in names { write(name, to: name) }
    let inspection = try StoreInspection(path: url.path)
    for name in names {
      let own = inspection.members.filter {
        Array($0.name.utf8.suffix(name.utf8.count)) == Array(name.utf8)
      }
      #expect(own.map(\.sha256) == [hex(of: Data(name.utf8))])
      let watch = EvidenceWatch(url.path)
      write("another, longer text", to: name)
      #expect(watch.changes().count == 1)
    }
  }

  @Test(.enabled(if: Shared.isThere)) func scrubbedMetadataIsNoObstacle() throws {
    guard Shared.require("NotesV7") != nil else { return }
    let inspection = try StoreInspection(path: RealStores.named("NotesV7.storedata").url.path)
    #expect(inspection.metadata?.problem == "the property list is NULL")
    #expect(inspection.model == nil)
    #expect(inspection.entities.count == 22 && inspection.liveRowCount == 15)
  }

  @Test(.enabled(if: Shared.isThere)) func rowsThatOnlyTheLogHasCount() throws {
    guard Shared.require("log views") != nil else { return }
    let path = try RealStores.named("Bookmarks_V3.sqlite").url.path
    #expect(try StoreInspection(path: path).liveRowCount == 10)
    #expect(try StoreInspection(path: path, logView: .ignore).liveRowCount == 0)
  }

  @Test(arguments: [
    "core-data-shape", "wal-uncommitted-tail", "journal-hot", "text-utf16be",
    "auto-vacuum-incremental",
  ])
  func fixturesAreInspected(_ name: String) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let before = treeState(of: folder.url)
    let inspection = try StoreInspection(path: url.path, takesHashes: false)
    #expect(inspection.members.allSatisfy { $0.sha256 == nil })
    switch name {
    case "core-data-shape": #expect(inspection.kind == .coreData && inspection.liveRowCount == 500)
    case "journal-hot": #expect(inspection.journal?.state == "hot")
    case "text-utf16be": #expect(inspection.file.textEncoding == "UTF-16BE")
    case "auto-vacuum-incremental": #expect(inspection.file.autoVacuum == "incremental")
    default: #expect(inspection.writeAheadLog?.uncommittedFrameCount ?? 0 > 0)
    }
    #expect(treeState(of: folder.url) == before)
  }

  /// A long value of the metadata is shown; one that JSON has no form for is told by its size.
  @Test func valuesOfTheMetadataAreComplete() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("long.sqlite")
    let long = String(repeating: "y", count: 70_000)
    let values: [String: Any] = ["short": "x", "long": long, "odd": Double.infinity]
    let list = try PropertyListSerialization.data(
      fromPropertyList: values, format: .binary, options: 0)
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (
        Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      """)
    try connection.insert(
      "INSERT INTO Z_METADATA VALUES (1, 'A', ?)", [[.blob([UInt8](list))]])
    connection.close()
    let inspection = try StoreInspection(
      path: url.path, logView: .committed, takesHashes: false, showsValues: true)
    let shown = try #require(inspection.metadata?.otherValues)
    #expect(shown["short"] == .string("x"))
    #expect(shown["long"] == .string(long))
    #expect(shown["odd"] == .object(["sizeBytes": .integer(8)]))
  }

  // MARK: - Finding

  @Test func storesAreFoundInNestedFolders() throws {
    let folder = try TemporaryFolder()
    let root = folder.url
    let manager = FileManager.default
    let deep = root.appendingPathComponent((0..<12).map { "d\($0)" }.joined(separator: "/"))
    try manager.createDirectory(at: deep, withIntermediateDirectories: true)
    let one = try StoreFixtures.named("wal-committed").make(root)
    let two = try StoreFixtures.named("rowid-alias").make(deep)
    try Data("no store".utf8).write(to: root.appendingPathComponent("text.sqlite"))
    try Data().write(to: root.appendingPathComponent("empty.sqlite"))
    try manager.createSymbolicLink(
      at: deep.appendingPathComponent("up"), withDestinationURL: root)
    try manager.createSymbolicLink(
      atPath: root.appendingPathComponent("self").path, withDestinationPath: "self")
    try manager.createSymbolicLink(
      at: root.appendingPathComponent("link.sqlite"), withDestinationURL: one)
    #expect(unsafe mkfifo(root.appendingPathComponent("pipe.sqlite").path, 0o600) == 0)
    let before = treeState(of: root)
    #expect(try StoreFinder.find(at: root.path).stores == [two.path, one.path])
    #expect(try StoreFinder.find(at: root.path + "/").stores == [two.path, one.path])
    // A file is taken as it is named, whatever is in it.
    #expect(
      try StoreFinder.find(at: root.path + "/text.sqlite").stores == [root.path + "/text.sqlite"])
    #expect(treeState(of: root) == before)

    let vacant = root.appendingPathComponent("vacant")
    try manager.createDirectory(at: vacant, withIntermediateDirectories: false)
    let error = #expect(throws: ExtractionError.self) {
      try StoreFinder.find(at: vacant.path).stores
    }
    #expect(error?.code == .noStores)
  }

  @Test func tooDeepFoldersAreNotEntered() throws {
    let folder = try TemporaryFolder()
    let deep = folder.url.appendingPathComponent((0..<40).map { "d\($0)" }.joined(separator: "/"))
    try FileManager.default.createDirectory(at: deep, withIntermediateDirectories: true)
    _ = try StoreFixtures.named("rowid-alias").make(deep)
    let found = try StoreFinder.find(at: folder.url.path)
    #expect(found.stores == [] && found.passedOver.map(\.code) == ["input.notEntered"])
  }

  @Test(.enabled(if: Shared.isThere)) func allRealStoresAreFound() throws {
    guard let shared = Shared.require("finding real stores") else { return }
    let found = try StoreFinder.find(at: shared.appendingPathComponent("stores/real").path).stores
    #expect(Set(found) == Set(RealStores.all.map(\.url.path)))
  }
}
