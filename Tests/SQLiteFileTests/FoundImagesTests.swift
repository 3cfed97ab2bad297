import Fixtures
import Foundation
import SQLiteFile
import Testing

/// Database images of SQLite's own fuzz corpora, and files on which something went wrong.
@Suite struct FoundImagesTests {
  /// Unpacks an archive of the shared folder; nil where there is none.
  private static func unpacked(_ name: String, _ folder: TemporaryFolder) throws -> URL? {
    guard let shared = Shared.require(name), let tar = findTool("tar") else { return nil }
    let archive = shared.appendingPathComponent("stores/found/" + name)
    guard FileManager.default.fileExists(atPath: archive.path) else {
      print("skipped: \(name)")
      return nil
    }
    let result = try run(tar, ["-xJf", archive.path, "-C", folder.url.path])
    try #require(result.status == 0)
    return folder.url
  }

  /// Nothing that SQLite's check finds wrong is called sound when all has been looked at, and nothing that it finds
  /// right is called damaged.
  @Test func imagesAreJudgedAsSQLiteJudgesThem() throws {
    let folder = try TemporaryFolder()
    guard let root = try Self.unpacked("recovery/sqlite-images.tar.xz", folder) else { return }
    let names =
      (FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? [])
      .filter { $0.hasSuffix(".db") }.sorted()
    try #require(names.count > 7000)
    var looked = 0
    for name in stride(from: 5, to: names.count, by: 13).map({ names[$0] }) {
      let url = root.appendingPathComponent(name)
      guard let database = try? SQLiteDatabase.surveyed(path: url.path) else { continue }
      let verdict = try CheckTests.verdict(url)
      let report = try database.check(depth: .full)
      let isSound = report.findings.damageCount == 0
      if verdict == ["ok"] {
        #expect(isSound, "\(name): \(report.findings.kept)")
      } else {
        #expect(
          !isSound || !report.unchecked.isEmpty, "\(name): SQLite says \(verdict ?? ["nothing"])")
      }
      looked += 1
    }
    #expect(looked > 400, "\(looked)")
  }

  @Test func onePageOfThousandsOfTablesIsReadOnce() throws {
    let folder = try TemporaryFolder()
    guard let root = try Self.unpacked("hostile.tar.xz", folder) else { return }
    let url = root.appendingPathComponent("hostile/sharedroot-1.9MB.sqlite")
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.schema.tables.count > 2000)
    let written = try bytesWritten {
      _ = try database.writeJSON(of: database.schema.tables, to: $0)
    }
    #expect(written.count < 20 * Int(database.sizeBytes), "\(written.count)")
    #expect(database.findings.kept.contains { $0.id == "page.otherTable" })
    let reserved = root.appendingPathComponent("hostile/reserved255.sqlite")
    let report = try SQLiteDatabase.surveyed(path: reserved.path).check()
    #expect(report.findings.kept.first?.id == "header.otherReservedBytes")
    #expect(report.findings.damageCount > 0)
  }

  /// SQLite opens both.
  @Test(arguments: ["fuzzdata3-00150-badSQL-but-opens.db", "fuzzdata8-00233-encoding.db"])
  func whatSQLiteOpensIsNotRefused(_ name: String) throws {
    guard let shared = Shared.require(name), let tool = findTool("xz") else { return }
    let packed = shared.appendingPathComponent("stores/found/recovery/\(name).xz")
    guard FileManager.default.fileExists(atPath: packed.path) else {
      return print("skipped: \(name)")
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent(name)
    try run(tool, ["-dc", packed.path]).stdout.write(to: url)
    let connection = try SQLiteConnection(url)
    #expect(try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0 > 0)
    connection.close()
    let report = try SQLiteDatabase.surveyed(path: url.path).check(depth: .full)
    #expect(
      !report.findings.kept.contains { $0.message.contains("SQLite refuses") },
      "\(report.findings.kept)")
    if try CheckTests.verdict(url) == ["ok"] { #expect(report.findings.damageCount == 0) }
  }
}
