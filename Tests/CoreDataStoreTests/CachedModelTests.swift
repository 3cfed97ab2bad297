import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import Testing

/// What a store says of a cached model that cannot be read.
@Suite struct CachedModelTests {
  @Test(
    arguments: [("'text'", "it is not a blob"), ("17", "it is not a blob"), ("NULL", nil)]
      as [(String, String?)])
  func aCacheThatIsNotABlob(content: String, problem: String?) throws {
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("a.sqlite").path
    let database = try SQLiteConnection(path)
    try database.exec(
      "CREATE TABLE Z_MODELCACHE(Z_CONTENT BLOB); INSERT INTO Z_MODELCACHE VALUES(\(content))")
    database.close()
    let store = try CoreDataStore(path: path)
    #expect(store.cachedModelProblem == problem)
    let ids = store.findings.kept.map(\.id.rawValue)
    #expect(ids.contains("coredata.modelCacheUnreadable") == (problem != nil))
  }
}
