import CoreDataStore
import Fixtures
import Foundation
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// How far a migration is, and how it is stopped.
@Suite struct ProgressTests {
  private static let rowCount = 5_000

  private static let model = ManagedObjectModel(
    entities: [
      Entity(name: "Item", attributes: [Attribute(name: "name", type: .string, isOptional: true)])
    ], versionIdentifiers: ["1"])

  private static func store(in folder: TemporaryFolder) throws -> String {
    let url = folder.url.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: model)
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount))
      INSERT INTO ZITEM SELECT i, 1, 1, 'item ' || i FROM n; UPDATE Z_PRIMARYKEY SET Z_MAX = \(rowCount);
      """)
    database.close()
    return url.path
  }

  private static func copy(of store: String) throws -> String {
    let copy = store.replacing("Old.sqlite", with: "Present.sqlite")
    try FileManager.default.copyItem(atPath: store, toPath: copy)
    return copy
  }

  private final class Seen: @unchecked Sendable {
    private let lock = NSLock()
    private var states: [MigrationProgress] = []
    var all: [MigrationProgress] { lock.withLock { states } }
    func add(_ state: MigrationProgress) { lock.withLock { states.append(state) } }
  }

  private final class Questions: @unchecked Sendable {
    private let lock = NSLock()
    private var asked = 0
    var count: Int { lock.withLock { asked } }
    func ask() { lock.withLock { asked += 1 } }
  }

  @Test(arguments: [false, true], [false, true]) func theFractionGrowsToOne(
    _ isDamaged: Bool, _ merges: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder)
    let seen = Seen()
    var migration = Migration()
    migration.onProgress = { seen.add($0) }
    _ = try migration.run(
      storeAt: store, output: folder.url.appendingPathComponent("New.sqlite").path,
      salvages: isDamaged, into: merges ? Self.copy(of: store) : nil)
    let fractions = seen.all.map(\.fractionCompleted)
    #expect(fractions == fractions.sorted())
    #expect(fractions.first == 0)
    #expect(fractions.last == 1)
    #expect(Set(seen.all.map(\.stepCount)) == [merges ? 2 : 1])
    let rows = seen.all.filter { $0.entityName == "Item" }
    #expect(rows.count >= Self.rowCount / 1_024)
    #expect(rows.allSatisfy { $0.totalRowCount == Self.rowCount })
    #expect(rows.map(\.rowCount).max() ?? 0 > Self.rowCount / 2)
  }

  /// Wherever it is stopped, nothing is left, and the store is as before.
  @Test(arguments: [false, true]) func cancelling(_ merges: Bool) throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder)
    let present = merges ? try Self.copy(of: store) : nil
    let before = treeState(of: folder.url).filter { !$0.value.sha256.isEmpty }
    var cancelled = 0
    for turn in 0..<100 {
      let asked = Questions()
      var migration = Migration()
      migration.isCancelled = {
        asked.ask()
        return asked.count > turn
      }
      let output = folder.url.appendingPathComponent("New.sqlite").path
      do {
        _ = try migration.run(storeAt: store, output: output, into: present)
        break
      } catch let error as MigrationError {
        #expect(error.code == .cancelled)
        cancelled += 1
      }
      #expect(treeState(of: folder.url).filter { !$0.value.sha256.isEmpty } == before)
    }
    #expect(cancelled > 5)
    #expect(cancelled < 100)
  }

  /// A `Progress` shows the state and stops the run.
  @Test func foundationProgress() throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder)
    let progress = Progress(totalUnitCount: 1)
    _ = try Migration().reporting(to: progress).run(
      storeAt: store, output: folder.url.appendingPathComponent("New.sqlite").path)
    #expect(progress.fractionCompleted == 1)
    let stopped = Progress(totalUnitCount: 1)
    stopped.cancel()
    let error = #expect(throws: MigrationError.self) {
      _ = try Migration().reporting(to: stopped).run(
        storeAt: store, output: folder.url.appendingPathComponent("Other.sqlite").path)
    }
    #expect(error?.code == .cancelled)
  }

  @Test func inTheBackground() async throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let running = Migration().inBackground { try $0.run(storeAt: store, output: output) }
    var last: MigrationProgress?
    for await state in running.updates { last = state }
    #expect(last?.fractionCompleted == 1)
    #expect(try await running.report.value.writtenCount == Self.rowCount)

    let other = folder.url.appendingPathComponent("Other.sqlite").path
    let stopped = Migration().inBackground { migration in
      // Begins only when the task has been cancelled.
      while !migration.isCancelled() { Thread.sleep(forTimeInterval: 0.001) }
      return try migration.run(storeAt: store, output: other)
    }
    stopped.report.cancel()
    await #expect(throws: MigrationError.self) { try await stopped.report.value }
    #expect(!FileManager.default.fileExists(atPath: other))
  }
}
