import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import SQLiteWriter
import Testing

@testable import StoreExtraction

/// When an export gets its name.
@Suite struct ExportPublishingTests {
  /// A run that is killed leaves no half file that looks like a whole one.
  @Test func aFileHasItsNameOnlyWhenItIsFinished() throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("source.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
    connection.close()
    let store = try CoreDataStore(path: source.path)
    let output = folder.url.appendingPathComponent("out.sqlite").path
    let options = RowOutput.Options()
    let export = SQLiteExport(
      source: ExportSource(store, options), name: "store", options: options, made: MadeFiles(),
      verifies: false, progress: nil)
    var before: [String] = []
    _ = try export.write(to: output) {
      before = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    }
    #expect(!before.contains("out.sqlite"))
    let after = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(Set(after) == ["source.sqlite", "out.sqlite"])
    #expect(try SQLiteDatabase(path: output).schema.table(named: "t") != nil)
  }
}
