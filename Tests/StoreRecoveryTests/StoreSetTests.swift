import SafeFiles
import StoreFiles
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct StoreSetTests {
  @Test func members() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try bench.write("", to: "Done.sqlite-journal")
    try bench.write("x", to: ".Done.sqlite.migrationdestination_1")
    for stranger in ["Done.sqlite.bak", "Done2.sqlite", ".Other_SUPPORT", "Done.sqlite-wal2"] {
      try bench.write("x", to: stranger)
    }
    let set = StoreSet(at: bench.store)
    #expect(set.isComplete)
    #expect(
      set.members.map(\.name) == [
        "Done.sqlite", "Done.sqlite-wal", "Done.sqlite-shm", "Done.sqlite-journal", ".Done_SUPPORT",
        ".Done_SUPPORT/_EXTERNAL_DATA", ".Done_SUPPORT/_EXTERNAL_DATA/5AB00A06",
        ".Done.sqlite.migrationdestination_1",
      ])
    #expect(set.first(.support)?.kind == .folder)
    #expect(set.members[6].sizeBytes == 15)
    for member in set.members {
      #expect(StoreSet.role(ofMember: member.name, mainName: "Done.sqlite") == member.role)
    }
  }

  @Test func depthIsBounded() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let deep =
      bench.folder + "/.Done_SUPPORT/" + Array(repeating: "d", count: 40).joined(separator: "/")
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    let set = StoreSet(at: bench.store)
    #expect(!set.isComplete)
    #expect(throws: StoreSealError.self) { try StoreSeal(sealing: set) }
  }

  @Test func nothingThere() {
    let set = StoreSet(at: "/nowhere/at/all/Done.sqlite")
    #expect(set.members.isEmpty)
    #expect(set.isComplete)
  }

  /// SHA-256 of "abc" is a published test vector (FIPS 180-2, appendix B.1).
  @Test func seal() throws {
    let bench = try Workbench()
    try bench.write("abc", to: "Done.sqlite")
    try bench.write("w", to: "Done.sqlite-wal")
    let seal = try StoreSeal(sealing: StoreSet(at: bench.store))
    #expect(
      seal.files[0].sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(seal.files[0].sizeBytes == 3)
    let decoded = try JSONDecoder().decode(StoreSeal.self, from: JSONEncoder().encode(seal))
    #expect(decoded == seal)
    #expect(seal.differences(from: seal).isEmpty)

    try bench.write("abd", to: "Done.sqlite")
    try FileManager.default.removeItem(atPath: bench.store + "-wal")
    try bench.write("x", to: "Done.sqlite-shm")
    let later = try StoreSeal(sealing: StoreSet(at: bench.store))
    #expect(seal.differences(from: later).map(\.id) == [.bytes, .added, .missing])
    try bench.write("abcd", to: "Done.sqlite")
    let longer = try StoreSeal(sealing: StoreSet(at: bench.store))
    #expect(later.differences(from: longer).map(\.id) == [.size])
  }

  @Test func sealSeesAChangeSinceTheListing() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let set = StoreSet(at: bench.store)
    try FileManager.default.removeItem(atPath: bench.store + "-wal")
    #expect(throws: StoreSealError.self) { try StoreSeal(sealing: set) }
  }

  @Test(arguments: [
    (0.0, "1970-01-01-00-00-00Z"), (951_782_400, "2000-02-29-00-00-00Z"),
    (-1, "1969-12-31-23-59-59Z"), (4_107_542_399, "2100-02-28-23-59-59Z"),
    (1_795_211_587.9, "2026-11-20-21-53-07Z"), (.infinity, "1970-01-01-00-00-00Z"),
    (1e300, "9999-12-31-23-59-59Z"),
  ])
  func folderNames(seconds: Double, name: String) {
    #expect(Timestamp.folderName(Date(timeIntervalSince1970: seconds)) == name)
    #expect(Timestamp.isFolderName(name))
  }

  @Test func errorsAreDug() {
    let inner = NSError(
      domain: "NSCocoaErrorDomain", code: 256, userInfo: ["NSSQLiteErrorDomain": 3850])
    let outer = NSError(
      domain: "NSCocoaErrorDomain", code: 134110, userInfo: [NSUnderlyingErrorKey: inner])
    let facts = OpenFailure.facts(of: outer, sqliteCode: nil)
    #expect(facts.sqliteCode == 3850)
    #expect(facts.cocoaCode == 134110)
    #expect(facts.chain.map(\.code) == [134110, 256])
    let detailed = NSError(
      domain: "NSCocoaErrorDomain", code: 134110,
      userInfo: [
        "NSDetailedErrors": [
          NSError(domain: "NSSQLiteErrorDomain", code: 11),
          NSError(domain: "NSSQLiteErrorDomain", code: 5),
        ]
      ])
    #expect(OpenFailure.facts(of: detailed, sqliteCode: nil).sqliteCode == 5)
    #expect(OpenFailure.facts(of: POSIXError(.ENOSPC), sqliteCode: nil).posixCode == 28)
    #expect(
      OpenFailure.facts(of: SQLiteFailure(code: 26), sqliteCode: { ($0 as? SQLiteFailure)?.code })
        .sqliteCode == 26)
    let schema = NSError(
      domain: "NSSQLiteErrorDomain", code: 1,
      userInfo: [NSLocalizedDescriptionKey: "malformed database schema (x)"])
    #expect(OpenFailure.facts(of: schema, sqliteCode: nil).blamesSchema)
  }
}
