import Fixtures
import Foundation
import SQLiteFile
import Testing

/// Bytes lost or put in in the middle of a file.
@Suite struct ShiftTests {
  private static func store(_ pragmas: String) throws -> DamageCase {
    try DamageCase(pageSize: 1024, pragmas: pragmas) {
      try Notebook.fill($0, rows: 1500, longest: 3000)
    }
  }

  /// All rows of pages that are whole are given, on both sides, and none that is not so. Overflow pages do not tell where
  /// they end, so those right beside the place may be in doubt.
  private static func expect(
    _ recovered: Recovered, _ store: DamageCase, without torn: ClosedRange<Int>
  ) {
    #expect(recovered.findings.contains("file.shifted"))
    let judgement = Judgement(recovered, store)
    judgement.expectHonest("\(judgement.wrong.prefix(3))")
    let torn = torn.lowerBound - 1...torn.upperBound + 1
    let whole = Notebook.statements.map(Recovered.name(in:)).flatMap { table in
      store.places(of: table).enumerated()
        .filter { $0.element.allSatisfy { !torn.contains($0) } }
        .map { Judgement.Key(table: table, place: $0.offset) }
    }
    #expect(whole.count * 10 > judgement.total * 9)
    let absent = whole.filter { !judgement.exact.contains($0) }
    #expect(
      absent.isEmpty, "\(absent.count) of \(whole.count), pages \(torn) torn: \(absent.prefix(5))")
  }

  @Test(
    arguments: ["", "PRAGMA auto_vacuum = FULL;"],
    [(512, 0.4), (512, 0.55), (100, 0.5), (1, 0.6), (1024, 0.45), (3072, 0.5), (1613, 0.35)])
  func lostBytesCostTheRowsThatStoodThere(_ pragmas: String, _ loss: (count: Int, place: Double))
    throws
  {
    let store = try Self.store(pragmas)
    let place = Int(Double(store.bytes.count) * loss.place)
    let recovered = try store.recover { $0.removeSubrange(place..<place + loss.count) }
    Self.expect(
      recovered, store,
      without: place / 1024 + 1...(place + loss.count - 1) / 1024 + 1)
  }

  @Test(
    arguments: ["", "PRAGMA auto_vacuum = FULL;"],
    [(512, 0.4), (100, 0.5), (1, 0.6), (1024, 0.45), (5000, 0.5)])
  func bytesPutInCostTheRowsAroundThem(_ pragmas: String, _ gain: (count: Int, place: Double))
    throws
  {
    let store = try Self.store(pragmas)
    let place = Int(Double(store.bytes.count) * gain.place)
    var noise = SplitMix64(seed: 3)
    let recovered = try store.recover {
      $0.insert(contentsOf: noise.bytes(gain.count), at: place)
    }
    Self.expect(recovered, store, without: place / 1024 + 1...place / 1024 + 1)
  }

  /// Where it happened, and how much it was.
  @Test func theFindingSaysWhereAndHowMuch() throws {
    let store = try Self.store("")
    let place = store.bytes.count / 2 / 1024 * 1024 + 300
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("shifted.sqlite")
    var bytes = store.bytes
    bytes.removeSubrange(place..<place + 512)
    try Data(bytes).write(to: url)
    let database = try DamagedDatabase(path: url.path)
    let finding = try #require(database.findings.kept.first { $0.id == "file.shifted" })
    #expect(finding.message.hasPrefix("512 bytes are missing"))
    let offset = try #require(finding.offset)
    #expect(abs(offset - Int64(place)) < 2048)
  }

  /// A file that was cut off, or that has a tail, is none in the middle of which bytes are missing.
  @Test(arguments: [-1000, -1024 * 20, 700, 1024 * 4])
  func aMissingOrLongerTailIsNoShift(_ change: Int) throws {
    let store = try Self.store("")
    var noise = SplitMix64(seed: 4)
    let recovered = try store.recover {
      if change < 0 { $0.removeLast(-change) } else { $0 += noise.bytes(change) }
    }
    #expect(!recovered.findings.contains("file.shifted"))
  }
}
