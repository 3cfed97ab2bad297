@testable import CoreDataForensics
import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Core Data's rules, on stores that Core Data has written and on copies in which they are broken.
@Suite struct CoreDataCheckTests {
  /// What is wrong with the real stores as they are. The app's tests came without the files of external values; in
  /// one store relationships lead to users that are not there, which SQL confirms below.
  private static let known: [String: [String]] = {
    var known: [String: [String]] = [:]
    for version in [
      "1-25", "1-27", "1-28", "2-4", "2-5", "2-21-1", "2-24-1", "2-29-0", "2-39-0", "2-45-0",
      "2-52-0",
      "2-60-0", "2-65-0", "2-67-0",
    ] {
      known["store\(version).wiredatabase"] = ["coredata.externalFileMissing"]
    }
    known["store1-27.wiredatabase"]? += [
      "coredata.danglingLink", "coredata.danglingLink", "coredata.danglingReference",
      "coredata.danglingReference",
    ]
    return known
  }()

  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all) func realStoresKeepTheRules(
    _ real: RealStore
  ) throws {
    let store = try CoreDataStore(path: real.url.path)
    let findings = try store.check(depth: .full).findings.kept
    let ids = findings.filter { $0.severity == .damage }.map(\.id.rawValue)
    #expect(
      Set(ids) == Set(Self.known[real.url.lastPathComponent] ?? []), "\(real): \(findings)")
  }

  @Test(.enabled(if: Shared.isThere)) func whatDanglesDanglesInSQLToo() throws {
    guard Shared.require("dangling references") != nil else { return }
    let real = try RealStores.named("store1-27.wiredatabase")
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(try real.copy(into: folder.url))
    defer { connection.close() }
    let findings = try CoreDataStore(path: real.url.path).check().findings.kept
    func message(_ table: String, _ id: String) -> String? {
      findings.first { $0.table == table && $0.id.rawValue == id }?.message
    }
    func count(_ table: String, _ column: String) throws -> Int64 {
      try connection.integer(
        "SELECT count(*) FROM \(table) WHERE \(column) NOT IN (SELECT Z_PK FROM ZUSER)") ?? -1
    }
    let to = try count("ZCONNECTION", "ZTO")
    #expect(to > 0)
    #expect(
      message("ZCONNECTION", "coredata.danglingReference")?.hasPrefix("\(to) rows have a to")
        == true)
    let links = try count("Z_2OTHERACTIVEPARTICIPANTS", "Z_13OTHERACTIVEPARTICIPANTS")
    #expect(
      message("Z_2OTHERACTIVEPARTICIPANTS", "coredata.danglingLink")?.hasPrefix("\(links) rows")
        == true)
  }

  struct Break: Sendable, CustomStringConvertible {
    let sql: String
    let id: String
    let part: String
    var description: String { sql }
  }

  private static let breaks = [
    Break(
      sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Account'", id: "coredata.keyCounter",
      part: "ZACCOUNT"),
    Break(
      sql: "UPDATE ZACCOUNT SET Z_ENT = 777 WHERE Z_PK IN (SELECT Z_PK FROM ZACCOUNT LIMIT 2)",
      id: "coredata.unknownEntity", part: "2 rows have"),
    Break(
      sql: "UPDATE ZACCOUNT SET ZACCOUNTTYPE = 99999", id: "coredata.danglingReference",
      part: "no row of AccountType"),
    Break(
      sql: "UPDATE Z_2ENABLEDDATACLASSES SET Z_7ENABLEDDATACLASSES = 4711 + rowid",
      id: "coredata.danglingLink", part: "no row of Dataclass"),
    Break(
      sql: "UPDATE ZACCOUNT SET ZUSERNAME = x'0102'", id: "coredata.storageClass", part: "username"),
    Break(
      sql: "UPDATE ZACCOUNT SET ZDATE = 'yesterday'", id: "coredata.storageClass", part: "date"),
    Break(
      sql: "UPDATE Z_MODELCACHE SET Z_CONTENT = x'00ff00ff'",
      id: "coredata.modelCacheUnreadable", part: "cached model"),
    Break(sql: "DROP TABLE ZDATACLASS", id: "coredata.tableMissing", part: "Dataclass"),
    Break(
      sql: "ALTER TABLE ZACCOUNT DROP COLUMN ZUSERNAME", id: "coredata.columnMissing",
      part: "ZUSERNAME"),
  ]

  @Test(.enabled(if: Shared.isThere), arguments: breaks) func aBrokenRuleIsFound(_ rule: Break)
    throws
  {
    guard Shared.require("broken rules") != nil else { return }
    let folder = try TemporaryFolder()
    let url = try RealStores.named("ios/Accounts3.sqlite").copy(into: folder.url)
    let connection = try SQLiteConnection(url)
    try connection.exec(rule.sql)
    connection.close()
    let findings = try CoreDataStore(path: url.path).check().findings.kept
    let found = findings.filter { $0.severity == .damage }
    #expect(
      found.contains {
        $0.id.rawValue == rule.id && ($0.message + ($0.table ?? "")).contains(rule.part)
      },
      "\(found)")
  }

  /// A value in a file of its own: there, and not there.
  @Test(.enabled(if: Shared.isThere)) func filesOfValuesAreLookedFor() throws {
    guard Shared.require("external values") != nil else { return }
    let folder = try TemporaryFolder()
    let url = try RealStores.named("store2-24-1.wiredatabase").copy(into: folder.url)
    let missing = try CoreDataStore(path: url.path).check().findings.kept
    #expect(missing.contains { $0.id.rawValue == "coredata.externalFileMissing" })
    let support = folder.url.appendingPathComponent(".store2-24-1_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: support, withIntermediateDirectories: true)
    let store = try CoreDataStore(path: url.path)
    try store.forEachRow { row in
      for property in row.properties {
        if case .external(let blob) = property.value {
          try? Data([1, 2, 3]).write(to: support.appendingPathComponent(blob.identifier))
        }
      }
      return true
    }
    #expect(try CoreDataStore(path: url.path).check().findings.damageCount == 0)
  }

  // MARK: What is not looked at

  private static let absences: [(sql: String, parts: [String], findings: [String])] = [
    ("UPDATE Z_METADATA SET Z_PLIST = ?", ["coredata.tables", "coredata.hashes"], []),
    ("UPDATE Z_METADATA SET Z_PLIST = NULL", ["coredata.tables", "coredata.hashes"], []),
    ("DROP TABLE Z_MODELCACHE", ["coredata.values"], []),
    ("DELETE FROM Z_PRIMARYKEY", ["coredata.keys"], []),
  ]

  /// A rule that the store gives nothing to hold against is named, and not said to hold.
  @Test(.enabled(if: Shared.isThere), arguments: 0..<absences.count) func whatIsAbsentIsNotCompared(
    _ index: Int
  ) throws {
    guard Shared.require("stores that lack what rules need") != nil else { return }
    let absence = Self.absences[index]
    let folder = try TemporaryFolder()
    let url = try RealStores.named("ios/Accounts3.sqlite").copy(into: folder.url)
    let before = try CoreDataStore(path: url.path).check(depth: .full).unchecked.map(\.id.rawValue)
    #expect(!before.contains { $0.hasPrefix("coredata.") }, "\(before)")
    let connection = try SQLiteConnection(url)
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["NSStoreType": "SQLite"], format: .xml, options: 0)
    let blob = "x'" + list.map { String(format: "%02x", $0) }.joined() + "'"
    try connection.exec(absence.sql.replacing("?", with: blob))
    connection.close()
    let unchecked = try CoreDataStore(path: url.path).check(depth: .full).unchecked.map(
      \.id.rawValue)
    #expect(unchecked.filter { $0.hasPrefix("coredata.") } == absence.parts)
  }

  /// Hashes that are too short are not those of any model.
  @Test(.enabled(if: Shared.isThere)) func hashesThatAreTooShortAreAFinding() throws {
    guard Shared.require("short hashes") != nil else { return }
    let folder = try TemporaryFolder()
    let url = try RealStores.named("ios/Accounts3.sqlite").copy(into: folder.url)
    let connection = try SQLiteConnection(url)
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["NSStoreModelVersionHashes": ["Account": Data([1, 2, 3]), "X": "text"]],
      format: .binary, options: 0)
    try connection.exec(
      "UPDATE Z_METADATA SET Z_PLIST = x'" + list.map { String(format: "%02x", $0) }.joined() + "'")
    connection.close()
    let report = try CoreDataStore(path: url.path).check(depth: .full)
    let found = report.findings.kept.filter { $0.severity == .damage }
    #expect(found.map(\.id.rawValue) == ["coredata.badHash"])
    #expect(found.first?.message.contains("2 entities") == true, "\(found)")
    #expect(report.unchecked.contains { $0.id.rawValue == "coredata.hashes" })
  }
}
