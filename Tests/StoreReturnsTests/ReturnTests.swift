import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import SafeFiles
import StoreFiles
import StoreMigration
import StoreRecovery
import Testing

@testable import StoreReturns

/// The way back: a store that was set aside, repaired, and taken in again.
@Suite struct ReturnTests {
  static let model = ManagedObjectModel(entities: [
    Entity(
      name: "Note",
      attributes: [
        Attribute(name: "title", type: .string, isOptional: true),
        Attribute(
          name: "photo", type: .binary, isOptional: true, allowsExternalBinaryDataStorage: true),
      ])
  ])
  static let newer = ManagedObjectModel(entities: [
    Entity(
      name: "Note",
      attributes: [
        Attribute(name: "title", type: .string, isOptional: true),
        Attribute(
          name: "photo", type: .binary, isOptional: true, allowsExternalBinaryDataStorage: true),
        Attribute(name: "isPinned", type: .boolean, isOptional: true),
      ])
  ])

  /// An app's folder: an older build's store was set aside, and a fresh one is in use.
  struct App {
    let folder: TemporaryFolder
    var store: String { folder.url.appendingPathComponent("Done.sqlite").path }
    let incident: Incident

    var incidents: Incidents { Incidents(in: folder.url) }

    init() async throws {
      folder = try TemporaryFolder()
      let url = folder.url.appendingPathComponent("Done.sqlite")
      try FreshStore.create(at: url.path, for: ReturnTests.model)
      let database = try SQLiteConnection(url)
      try database.exec(
        "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'first'), (2, 1, 1, 'second')"
      )
      let name = "5AB00A06-0000-4000-8000-000000000000"
      try database.insert(
        "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZPHOTO) VALUES (3, 1, 1, ?)",
        [[.blob([2] + Array(name.utf8) + [0])]])
      try database.exec("UPDATE Z_PRIMARYKEY SET Z_MAX = 3")
      database.close()
      let blobs = folder.url.appendingPathComponent(".Done_SUPPORT/_EXTERNAL_DATA")
      try FileManager.default.createDirectory(at: blobs, withIntermediateDirectories: true)
      try Data("a large picture".utf8).write(to: blobs.appendingPathComponent(name))
      struct Refused: Error {}
      let recovery = Recovery(url, app: .init(name: "Done", version: "2"))
      let opened = try await recovery.open(expecting: ReturnTests.newer) { url in
        if FileManager.default.fileExists(atPath: url.path) {
          throw NSError(domain: "NSCocoaErrorDomain", code: 134_100)
        }
        try FreshStore.create(at: url.path, for: ReturnTests.newer)
      }
      incident = try #require(opened.incident)
    }

    /// What support sends: the set that was set aside, migrated.
    func made(in folder: URL) throws -> URL {
      let saved = folder.appendingPathComponent("Saved.sqlite")
      let kept = incident.folder + "/store/Done.sqlite"
      _ = try Migration().run(storeAt: kept, to: ReturnTests.newer, output: saved.path)
      let url = folder.appendingPathComponent("Done.lifeboat-return")
      try StoreReturn.make(
        of: saved.path, for: incident, report: Array("{\"rows\":3}".utf8), at: url.path)
      return url
    }

    func titles() throws -> [String] {
      let database = try SQLiteConnection(URL(fileURLWithPath: store))
      defer { database.close() }
      return try database.rows("SELECT ZTITLE FROM ZNOTE ORDER BY Z_PK").map { "\($0[0])" }
    }
  }

  @Test func aMigratedStoreIsInUseAgainAndCanBeTakenBack() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    #expect(try app.titles() == [])
    let fresh = try SQLiteConnection(URL(fileURLWithPath: app.store))
    try fresh.exec("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'since then')")
    fresh.close()
    let accepted = try app.incidents.accept(
      return: url, for: app.incident.id, fitting: Self.newer)
    #expect(accepted.incident.kind == .returned)
    #expect(try app.titles().count == 3)
    let blob = app.folder.url.appendingPathComponent(
      ".Done_SUPPORT/_EXTERNAL_DATA/5AB00A06-0000-4000-8000-000000000000")
    #expect(try String(contentsOf: blob, encoding: .utf8) == "a large picture")
    // The present store is an incident now, and goes back on request.
    let replaced = try #require(accepted.restoration.replaced)
    _ = try app.incidents.restore(replaced.id)
    #expect(try app.titles().count == 1)
    #expect(try app.incidents.show(app.incident.id).outcome == nil)
  }

  /// A second call neither adds an incident nor sets aside what the user has worked with since. Once the user has gone
  /// back, the file is accepted again.
  @Test func aReturnIsAcceptedOnce() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    func accept() throws -> AcceptedReturn {
      try app.incidents.accept(return: url, for: app.incident.id, fitting: Self.newer)
    }
    let accepted = try accept()
    let database = try SQLiteConnection(URL(fileURLWithPath: app.store))
    try database.exec("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (9, 1, 1, 'since')")
    database.close()
    let count = try app.incidents.list().count
    let error = #expect(throws: StoreReturnError.self) { try accept() }
    #expect(error?.code == .alreadyAccepted)
    #expect(error?.message.contains(accepted.incident.id) == true)
    #expect(try app.incidents.list().count == count)
    #expect(try app.titles().count == 4)

    _ = try app.incidents.restore(try #require(accepted.restoration.replaced).id)
    #expect(try app.titles().count == 0)
    let again = try accept()
    #expect(again.incident.id != accepted.incident.id)
    #expect(try app.titles().count == 3)
  }

  /// A store that was accepted and set aside again since is no longer in its place.
  @Test func aReturnThatWasSetAsideIsAcceptedAgain() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    let accepted = try app.incidents.accept(
      return: url, for: app.incident.id, fitting: Self.newer)
    let later = Incidents(in: app.folder.url.path, fileSystem: .real) { Date() + 60 }
    let replaced = try #require(try later.restore(app.incident.id).replaced)
    #expect(replaced.created > accepted.incident.created)
    let again = try later.accept(return: url, for: app.incident.id, fitting: Self.newer)
    #expect(again.incident.id != accepted.incident.id)
    #expect(try app.titles().count == 3)
    let error = #expect(throws: StoreReturnError.self) {
      try later.accept(return: url, for: app.incident.id, fitting: Self.newer)
    }
    #expect(error?.code == .alreadyAccepted)
    // A store that the app has removed is not in its place, either.
    for name in ["Done.sqlite", "Done.sqlite-wal", "Done.sqlite-shm", ".Done_SUPPORT"] {
      try? FileManager.default.removeItem(at: app.folder.url.appendingPathComponent(name))
    }
    _ = try later.accept(return: url, for: app.incident.id, fitting: Self.newer)
    #expect(try app.titles().count == 3)
  }

  /// A call that was stopped before it moved anything has made an incident, which the next call goes on with.
  @Test func whatCouldNotBePutInPlaceIsTakenInOnce() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    var stopped = app.incidents
    let place = app.folder.url
    stopped.isCancelled = {
      (try? Incidents(in: place).list())?.contains { $0.incident?.kind == .returned } ?? false
    }
    #expect(throws: StoreRecoveryError.self) {
      try stopped.accept(return: url, for: app.incident.id, fitting: Self.newer)
    }
    let before = try app.incidents.list()
    #expect(before.count { $0.incident?.kind == .returned } == 1)
    let accepted = try app.incidents.accept(
      return: url, for: app.incident.id, fitting: Self.newer)
    #expect(before.contains { $0.id == accepted.incident.id })
    #expect(try app.incidents.list().count { $0.incident?.kind == .returned } == 1)
    #expect(try app.titles().count == 3)
  }

  /// A call that was stopped when the store was in its place is finished by the next one.
  @Test func aCallThatWasStoppedIsFinished() async throws {
    struct Stop: Error {}
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    var system = FileSystem.real
    let replace = system.replace
    system.replace = { from, to in
      // The note is written again after the outcome, and in a folder of another name before that.
      if to.hasSuffix("/incident.txt"), !to.contains("/.trial-") { throw Stop() }
      try replace(from, to)
    }
    let stopped = Incidents(in: app.folder.url.path, fileSystem: system)
    #expect(throws: Stop.self) {
      try stopped.accept(return: url, for: app.incident.id, fitting: Self.newer)
    }
    #expect(try app.titles().count == 3)
    #expect(try app.incidents.list().contains { $0.isUnfinished && $0.outcome != nil })
    let accepted = try app.incidents.accept(
      return: url, for: app.incident.id, fitting: Self.newer)
    #expect(accepted.incident.kind == .returned)
    #expect(accepted.restoration.replaced?.kind == .replaced)
    #expect(try app.titles().count == 3)
    #expect(try app.incidents.list().allSatisfy { !$0.isUnfinished })
    #expect(try app.incidents.verify(accepted.incident.id).finding == .moved)
    let error = #expect(throws: StoreReturnError.self) {
      try app.incidents.accept(return: url, for: app.incident.id, fitting: Self.newer)
    }
    #expect(error?.code == .alreadyAccepted)
  }

  /// Another call may put the store into use before this one takes the lease for the first or for a later time: to look
  /// for an earlier incident, to make the private folder, to give the incident its name, or to restore it.
  @Test(arguments: 1...4) func twoCallsAtOnceMakeOneIncident(_ place: Int) async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    let (other, id) = (app.incidents, app.incident.id)
    let leases = Calls()
    var system = FileSystem.real
    let lock = system.lock
    system.lock = { path in
      if path.hasSuffix("/.lease"), leases.next() == place {
        _ = try other.accept(return: url, for: id, fitting: ReturnTests.newer)
      }
      return try lock(path)
    }
    let incidents = Incidents(in: app.folder.url.path, fileSystem: system)
    let error = #expect(throws: StoreReturnError.self) {
      try incidents.accept(return: url, for: id, fitting: Self.newer)
    }
    #expect(error?.code == .alreadyAccepted)
    #expect(leases.count >= place)
    #expect(try other.list().count { $0.incident?.kind == .returned } == 1)
    #expect(try other.list().count { $0.incident?.kind == .replaced } == 1)
    #expect(try app.titles().count == 3)
    let names = try FileManager.default.contentsOfDirectory(
      atPath: app.folder.url.appendingPathComponent("Incompatible").path)
    #expect(!names.contains { $0.hasPrefix(".trial-") })
  }

  /// The lease is held while the new incident gets its name, so a second call cannot look for the incident then. It
  /// would wait; this one does not.
  @Test func aSecondCallIsRefusedWhileTheFirstHoldsTheLease() async throws {
    struct Held: Error {}
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    let (place, id) = (app.folder.url.path, app.incident.id)
    var waitless = FileSystem.real
    let lock = waitless.lock
    waitless.lock = { path in
      guard let descriptor = try lock(path) else { throw Held() }
      return descriptor
    }
    let second = Incidents(in: place, fileSystem: waitless)
    let refused = Calls()
    var watched = FileSystem.real
    let rename = watched.rename
    watched.rename = { from, to in
      if from.hasSuffix("/kept") {
        refused.next()
        #expect(throws: Held.self) {
          try second.accept(return: url, for: id, fitting: ReturnTests.newer)
        }
      }
      try rename(from, to)
    }
    let first = Incidents(in: place, fileSystem: watched)
    _ = try first.accept(return: url, for: id, fitting: Self.newer)
    #expect(refused.count == 1)
    #expect(try first.list().count { $0.incident?.kind == .returned } == 1)
    #expect(try app.titles().count == 3)
    let error = #expect(throws: StoreReturnError.self) {
      try second.accept(return: url, for: id, fitting: Self.newer)
    }
    #expect(error?.code == .alreadyAccepted)
  }

  /// Another process waits only a few seconds for the lease, so the unpacked files are synced before it is taken.
  @Test func filesAreSyncedBeforeTheLeaseIsTaken() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    let lease = app.folder.url.appendingPathComponent("Incompatible/.lease").path
    let (synced, held) = (Calls(), Calls())
    var system = FileSystem.real
    let (syncFile, lock) = (system.syncFile, system.lock)
    system.syncFile = { path in
      if path.hasSuffix("/kept/store/Done.sqlite"), synced.next() == 1 {
        if let descriptor = try lock(lease) {
          try FileHandle(fileDescriptor: descriptor).close()
        } else {
          held.next()
        }
      }
      try syncFile(path)
    }
    let incidents = Incidents(in: app.folder.url.path, fileSystem: system)
    _ = try incidents.accept(return: url, for: app.incident.id, fitting: Self.newer)
    #expect(synced.count > 0)
    #expect(held.count == 0)
  }

  /// Any archive that other tools make or read.
  @Test func otherToolsReadTheArchive() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(*z.namelist(), sep='\\n')",
      url.path,
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let names = String(
      decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(
      names.split(separator: "\n").sorted() == [
        "manifest.json", "report.json",
        "store/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06-0000-4000-8000-000000000000",
        "store/Done.sqlite",
      ])
  }

  /// One flipped bit anywhere is noticed, and nothing changes in the app.
  @Test func everyByteCounts() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    let bytes = try [UInt8](Data(contentsOf: url))
    let before = treeState(of: app.folder.url)
    var generator = SplitMix64(seed: 19)
    let bad = away.url.appendingPathComponent("Bad.lifeboat-return")
    // All of the headers and of the directory, and every 97th byte of the rest. Outside the long rounds, a third.
    let places = bytes.indices.filter { $0 < 2000 || $0 > bytes.count - 1500 || $0 % 97 == 0 }
    for place in Rounds.part(of: places, every: 3) {
      var changed = bytes
      changed[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
      try Data(changed).write(to: bad)
      #expect(throws: StoreReturnError.self, "byte \(place)") {
        try StoreReturn(verifying: bad.path)
      }
    }
    for count in [0, 1, 29, 30, 500, bytes.count - 1] {
      try Data(bytes[..<count]).write(to: bad)
      #expect(throws: StoreReturnError.self) {
        try app.incidents.accept(return: bad, for: app.incident.id, fitting: Self.newer)
      }
    }
    try Data(bytes + [0]).write(to: bad)
    #expect(throws: StoreReturnError.self) { try StoreReturn(verifying: bad.path) }
    #expect(treeState(of: app.folder.url) == before)
  }

  /// Nothing is wrong with a file that was never read, so nobody has to send it once more.
  @Test func aFileThatCannotBeOpenedIsNotCalledDamaged() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let link = away.url.appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(
      at: link, withDestinationURL: app.made(in: away.url))
    for (url, code) in [
      (away.url.appendingPathComponent("missing"), .missing), (away.url, .notRegular),
      (link, .notRegular),
    ] as [(URL, SQLiteFileError.Code)] {
      let verified = #expect(throws: SQLiteFileError.self) {
        try StoreReturn(verifying: url.path)
      }
      #expect(verified?.code == code)
      let accepted = #expect(throws: SQLiteFileError.self) {
        try app.incidents.accept(return: url, for: app.incident.id, fitting: Self.newer)
      }
      #expect(accepted?.code == code)
    }
  }

  /// A name that is not UTF-8 takes three times its bytes when it is decoded: more than a header has room for.
  @Test func aNameThatIsNotUTF8IsRefused() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Bad.lifeboat-return")
    var archive = StoredZip()
    let entry = StoredZip.Entry(
      name: String(repeating: "a", count: 30_000), size: 0, checksum: 0)
    var bytes = archive.add(entry)
    #expect(StoredZip.entry(of: bytes) == entry)
    for place in 30..<30_030 { bytes[place] = 0xff }
    #expect(StoredZip.entry(of: bytes) == nil)
    try Data(bytes).write(to: url)
    let error = #expect(throws: StoreReturnError.self) { try StoreReturn(verifying: url.path) }
    #expect(error?.code == .damaged)
  }

  /// What verification would refuse is not made.
  @Test func aReturnOfTooManyFilesIsNotMade() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let url = away.url.appendingPathComponent("Done.lifeboat-return")
    let kept = app.incident.folder + "/store/Done.sqlite"
    let count = StoreSet(at: kept).members.count { $0.role != .sharedMemory && $0.kind != .folder }
    func make(_ maxEntries: Int, _ maxManifestBytes: Int64) throws {
      try StoreReturn.make(
        of: kept, for: app.incident, at: url.path, maxEntries: maxEntries,
        maxManifestBytes: maxManifestBytes)
    }
    for limits in [(count, ReturnManifest.maxBytes), (count + 1, 100)] {
      let error = #expect(throws: StoreReturnError.self) { try make(limits.0, limits.1) }
      #expect(error?.code == .unreadable)
      #expect(!FileManager.default.fileExists(atPath: url.path))
    }
    // The manifest is an entry, too.
    try make(count + 1, ReturnManifest.maxBytes)
    #expect(try StoreReturn(verifying: url.path).incidentID == app.incident.id)
  }

  /// Neither support nor the user gets the store of another app in the place of this one.
  @Test func theStoreOfAnotherAppIsRefused() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let foreign = away.url.appendingPathComponent("Other.sqlite").path
    let city = Entity(name: "City", attributes: [Attribute(name: "name", type: .string)])
    try FreshStore.create(at: foreign, for: ManagedObjectModel(entities: [city]))
    let sent = away.url.appendingPathComponent("Done.lifeboat-return")
    let refused = #expect(throws: StoreReturnError.self) {
      try StoreReturn.make(of: foreign, for: app.incident, at: sent.path)
    }
    #expect(refused?.code == .unfit && refused?.message.contains("no entity in common") == true)
    #expect(!FileManager.default.fileExists(atPath: sent.path))
    // As a copy of the main file, whose first transaction is still in the log.
    let bare = away.url.appendingPathComponent("Bare.sqlite")
    let connection = try SQLiteConnection(bare)
    try connection.exec("PRAGMA user_version = 1")
    connection.close()
    let error = #expect(throws: StoreReturnError.self) {
      try StoreReturn.make(of: bare.path, for: app.incident, at: sent.path)
    }
    #expect(error?.code == .unfit && error?.message.contains("no version hashes") == true)
    // A record without the entities makes what an earlier version has made.
    let bytes = try JSONEncoder().encode(app.incident)
    var record = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    var evidence = try #require(record["evidence"] as? [String: Any])
    evidence["recordedHashes"] = nil
    (record["evidence"], record["model"]) = (evidence, nil)
    let incident = try JSONDecoder().decode(
      Incident.self, from: JSONSerialization.data(withJSONObject: record))
    try StoreReturn.make(of: foreign, for: incident, at: sent.path)
    let unfit = #expect(throws: StoreReturnError.self) {
      try app.incidents.accept(return: sent, for: app.incident.id, fitting: nil)
    }
    #expect(unfit?.code == .unfit && unfit?.message.contains("no entity in common") == true)
    #expect(try app.titles() == [])
  }

  /// An incident's record holds the path that its folder once had, so the error does not name this path.
  @Test func anIncidentWithoutChecksumsIsNamedByItsID() async throws {
    let app = try await App()
    let away = try TemporaryFolder()
    let bytes = try JSONEncoder().encode(app.incident)
    var record = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    record["seal"] = nil
    let incident = try JSONDecoder().decode(
      Incident.self, from: JSONSerialization.data(withJSONObject: record))
    let output = away.url.appendingPathComponent("Done.lifeboat-return").path
    let error = #expect(throws: StoreReturnError.self) {
      try StoreReturn.make(of: app.store, for: incident, at: output)
    }
    #expect(error?.code == .otherIncident)
    #expect(error?.message.contains(incident.id) == true)
    #expect(error?.path == app.store)
    #expect(!FileManager.default.fileExists(atPath: output))
  }

  @Test func anotherIncidentOrAnotherModelIsRefused() async throws {
    let app = try await App()
    let other = try await App()
    let away = try TemporaryFolder()
    let url = try app.made(in: away.url)
    let before = treeState(of: app.folder.url)
    let elsewhere = treeState(of: other.folder.url)
    func code(_ body: () throws -> AcceptedReturn) -> StoreReturnError.Code? {
      do {
        _ = try body()
        return nil
      } catch { return (error as? StoreReturnError)?.code }
    }
    #expect(
      code { try app.incidents.accept(return: url, for: app.incident.id, fitting: Self.model) }
        == .unfit)
    #expect(
      code {
        try other.incidents.accept(return: url, for: other.incident.id, fitting: Self.newer)
      } == .otherIncident)
    #expect(throws: StoreRecoveryError.self) {
      try app.incidents.accept(return: url, for: "2020-01-01-00-00-00Z", fitting: Self.newer)
    }
    // Only the times of the lease, which is always empty, and of its folder have changed.
    func kept(_ state: [String: TreeEntry]) -> [String: TreeEntry] {
      state.filter { !["Incompatible", "Incompatible/.lease"].contains($0.key) }
    }
    #expect(kept(treeState(of: app.folder.url)) == kept(before))
    #expect(kept(treeState(of: other.folder.url)) == kept(elsewhere))
  }

  /// Names that lead out of the folder, or that are no members of the set.
  @Test(arguments: [
    "../Done.sqlite", "/etc/passwd", ".Done_SUPPORT/../../x", "Done.sqlite-shm", "Other.sqlite",
    ".Done_SUPPORT//x", "Done.sqlite\0x",
  ])
  func aNameThatIsNoMemberIsRefused(_ name: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("x.lifeboat-return")
    let bytes = Array("x".utf8)
    let manifest = ReturnManifest(
      toolVersion: "1", incident: .init(id: "i", storeName: "Done.sqlite", sha256: ""),
      storeUUID: nil, versionHashes: [:],
      files: ["Done.sqlite", name].map {
        .init(name: $0, sizeBytes: 1, sha256: Digest.sha256(bytes))
      }, reportSHA256: nil)
    var archive = StoredZip()
    var all: [UInt8] = []
    func add(_ content: [UInt8], _ name: String) {
      var checksum = Checksum()
      checksum.update(content)
      all +=
        archive.add(
          .init(name: name, size: Int64(content.count), checksum: checksum.value)) + content
    }
    add([UInt8](try JSONEncoder().encode(manifest)), ReturnManifest.name)
    for file in manifest.files { add(bytes, ReturnManifest.storeFolder + file.name) }
    try Data(all + archive.directory).write(to: url)
    let error = #expect(throws: StoreReturnError.self) { try StoreReturn(verifying: url.path) }
    #expect(error?.code == .damaged)
  }
}

/// Counts calls from a closure that may run anywhere.
private final class Calls: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0

  @discardableResult
  func next() -> Int {
    lock.withLock {
      value += 1
      return value
    }
  }

  var count: Int { lock.withLock { value } }
}
