import Fixtures
import Foundation
import SQLiteFile
import Testing

/// Pages that were written for another place: clusters of another database in between, and pages that a write never reached.
@Suite struct MisplacedRowsTests {
  private static func store(_ pragmas: String, rows: Int, seed: UInt64) throws -> DamageCase {
    try DamageCase(pageSize: 1024, pragmas: pragmas) {
      try Notebook.fill($0, rows: rows, seed: seed)
    }
  }

  /// A share of the clusters of one file replaced by those of another, half of them from the same place.
  private static func mix(
    _ bytes: inout [UInt8], _ other: [UInt8], cluster: Int, every step: Int, seed: UInt64
  ) {
    var generator = SplitMix64(seed: seed)
    let count = bytes.count / cluster
    let most = other.count / cluster
    for place in 1..<count where Int.random(in: 0..<step, using: &generator) == 0 {
      let source =
        Bool.random(using: &generator) && place < most
        ? place : Int.random(in: 1..<most, using: &generator)
      bytes.replaceSubrange(
        place * cluster..<(place + 1) * cluster,
        with: other[source * cluster..<(source + 1) * cluster])
    }
  }

  /// Rows of another database of the same app are marked, whatever leads to them.
  @Test(arguments: ["", "PRAGMA auto_vacuum = FULL;"], [1, 2, 3, 4] as [UInt64])
  func rowsOfAnotherDatabaseAreMarked(_ pragmas: String, _ seed: UInt64) throws {
    let own = try Self.store(pragmas, rows: 2000, seed: seed)
    let other = try Self.store(pragmas, rows: 2000, seed: seed + 100)
    let recovered = try own.recover {
      Self.mix(&$0, other.bytes, cluster: 4096, every: 12, seed: seed)
    }
    let judgement = Judgement(recovered, own)
    let unmarked = judgement.wrong.count
    let marked = recovered.rows.count { $0.origin.state == .misplaced }
    #expect(marked > 50)
    #expect(
      unmarked * 100 <= marked, "\(unmarked) of \(unmarked + marked): \(judgement.wrong.prefix(3))")
    // What stands where it belongs stays.
    let mixed = own.bytes.count / 4096 / 12
    #expect(judgement.exact.count * 100 > (100 - mixed) * 80)
    #expect(recovered.findings.contains("page.misplaced"))
  }

  /// In a whole database nothing is out of place, however many rows were deleted and changed.
  @Test(arguments: ["", "PRAGMA auto_vacuum = FULL;"])
  func nothingIsMisplacedInAWholeDatabase(_ pragmas: String) throws {
    let store = try DamageCase(pageSize: 1024, pragmas: pragmas) {
      try Notebook.fill($0, rows: 1500, longest: 3000)
      try $0.exec("DELETE FROM note WHERE id % 3 = 1 OR id BETWEEN 300 AND 600")
      try $0.exec("UPDATE note SET body = body || body || body WHERE id % 7 = 0")
      try $0.exec("DELETE FROM event WHERE rowid % 2 = 0")
    }
    let recovered = try store.recover { _ in }
    #expect(recovered.dead.isEmpty)
    Judgement(recovered, store).expectAll()
  }

  /// A page as it was before rows moved to others has none of them twice.
  @Test(arguments: ["", "PRAGMA auto_vacuum = FULL;"])
  func aPageThatAWriteNeverReachedGivesNoRowTwice(_ pragmas: String) throws {
    var before: [UInt8] = []
    let store = try DamageCase(pageSize: 1024, pragmas: pragmas) { connection in
      try Notebook.fill(connection, rows: 600)
      let path = try connection.string("SELECT file FROM pragma_database_list WHERE name = 'main'")
      before = try Fixtures.bytes(of: URL(fileURLWithPath: path ?? ""))
      try connection.exec("DELETE FROM note WHERE id % 2 = 0")
      try connection.exec("UPDATE note SET body = body || body WHERE id % 3 = 0")
    }
    let leaves = store.pages("leaf", of: "note").map(\.number)
    let recovered = try store.recover { bytes in
      for leaf in leaves.enumerated() where leaf.offset % 9 == 4 {
        let range = store.range(leaf.element)
        if range.upperBound <= before.count { bytes.replaceSubrange(range, with: before[range]) }
      }
    }
    let judgement = Judgement(recovered, store)
    #expect(judgement.repeated.isEmpty, "\(judgement.repeated.prefix(5))")
  }
}
