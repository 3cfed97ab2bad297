import Fixtures
import Foundation
import SQLiteFile
import StoreExtraction
import Testing

@testable import SupportBundle

/// Lists of a phone's backup with more or less than the backup has.
@Suite struct PhoneBackupListTests {
  /// A backup with a store at each of these paths. Those in `lost` are in the list only.
  private static func backup(
    _ paths: [String], lost: [String] = [], in place: TemporaryFolder
  ) throws -> String {
    let made = place.url.appendingPathComponent("made.db")
    let store = try SQLiteConnection(made)
    try store.exec("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    store.close()
    let folder = place.url.appendingPathComponent("Backup")
    let files = folder.appendingPathComponent("00")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    let list = try SQLiteConnection(folder.appendingPathComponent("Manifest.db"))
    try list.exec(
      "CREATE TABLE Files(fileID TEXT PRIMARY KEY, domain TEXT, relativePath TEXT, flags INTEGER)")
    for (number, path) in (paths + lost).enumerated() {
      let hash = String(repeating: "0", count: 39) + String(number, radix: 16)
      try list.insert("INSERT INTO Files VALUES(?, 'A', ?, 1)", [[.string(hash), .string(path)]])
      guard number < paths.count else { continue }
      try FileManager.default.copyItem(at: made, to: files.appendingPathComponent(hash))
    }
    list.close()
    return folder.path
  }

  /// Names that differ only in how a letter is composed are the names of two files.
  @Test func namesAreToldApartByTheirBytes() throws {
    let place = try TemporaryFolder()
    let names = ["cafe\u{301}.db", "caf\u{e9}.db"]
    let backup = try PhoneBackup(Self.backup(names, in: place))
    #expect(
      backup.contents().stores.map { Array($0.name.utf8) } == names.map { Array("A/\($0)".utf8) })
    for (number, name) in names.enumerated() {
      let store = try #require(backup.store(named: "A/" + name))
      #expect(store.members.first?.place.hasSuffix("\(number)") == true)
    }
  }

  /// The path that a user types may have its letters composed.
  @Test func aNameMayBeComposedInAnotherWay() throws {
    let place = try TemporaryFolder()
    let backup = try PhoneBackup(Self.backup(["cafe\u{301}.db"], in: place))
    #expect(backup.store(named: "A/caf\u{e9}.db") != nil)
  }

  /// Without its log, a store is older than it was on the phone.
  @Test func aLogThatIsOnlyInTheListIsTold() throws {
    let place = try TemporaryFolder()
    let path = try Self.backup(["n.db", "o.db"], lost: ["n.db-wal"], in: place)
    let (stores, passedOver) = try PhoneBackup(path).contents()
    #expect(stores.map(\.name) == ["A/n.db", "A/o.db"])
    #expect(passedOver.map(\.path) == [path + "/A/n.db-wal"])
    #expect(passedOver.first?.code == "file.missing")
  }

  /// What is left of a store is read: the file that is gone is told, unless SQLite would make it anew.
  @Test func aStoreIsReadWithoutAnExternalFile() throws {
    let place = try TemporaryFolder()
    let external = ".n_SUPPORT/_EXTERNAL_DATA/ABC"
    let path = try Self.backup(["n.db"], lost: ["n.db-shm", external], in: place)
    let backup = try PhoneBackup(path)
    let (stores, passedOver) = backup.contents()
    let store = try #require(stores.first)
    #expect(store.members.map(\.name) == ["A/n.db"])
    #expect(passedOver.map(\.path) == [path + "/A/" + external])
    let unpacked = try UnpackedBackup(store)
    #expect(try SQLiteDatabase(path: unpacked.storePath).schema.tables.map(\.name) == ["t"])
  }

  @Test func filesBeyondTheLimitAreTold() throws {
    let place = try TemporaryFolder()
    let path = try Self.backup(["n.db", "o.db"], in: place)
    let cut = try PhoneBackup(path, fileLimit: 1).contents()
    #expect(cut.stores.count == 1)
    #expect(cut.passedOver.map(\.code) == ["input.notEntered"])
    let whole = try PhoneBackup(path, fileLimit: 2).contents()
    #expect(whole.stores.count == 2 && whole.passedOver.isEmpty)
  }
}
