import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Stores ruined at random, read for live and deleted rows: it ends, and lost pages make no rows.
///
/// `LIFEBOAT_SEED` and `LIFEBOAT_ROUNDS` choose other rounds, `LIFEBOAT_LONG=1` a hundred times as many.
@Suite struct HostileRecoveryTests {
  private static let seed = Rounds.seed
  private static let rounds = Rounds.count(40, whenLong: 100)

  struct Form: Sendable, CustomTestStringConvertible {
    let pageSize: Int
    var pragmas = ""
    var isKilled = false
    var testDescription: String { "\(pageSize) \(pragmas)" }

    func make() throws -> DamageCase {
      let folder = try TemporaryFolder()
      let url = folder.url.appendingPathComponent("made.sqlite")
      let connection = try SQLiteConnection(url)
      defer { connection.close() }
      try connection.exec("PRAGMA page_size = \(pageSize); PRAGMA secure_delete = OFF; \(pragmas)")
      try Notebook.fill(connection, rows: 60, longest: pageSize * 3)
      if isKilled {
        try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
        try connection.exec("UPDATE note SET title = 'in the log ' || id WHERE id % 3 = 0")
      }
      return try DamageCase(connection, url)
    }
  }

  static let forms = [
    Form(pageSize: 512), Form(pageSize: 512, pragmas: "PRAGMA auto_vacuum = FULL"),
    Form(pageSize: 1024, pragmas: "PRAGMA encoding = 'UTF-16le'"),
    Form(
      pageSize: 1024, pragmas: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0",
      isKilled: true),
  ]

  private static func read(_ store: DamageCase, _ content: [UInt8], _ seed: UInt64) throws
    -> Recovered?
  {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("mutant.sqlite")
    try Data(content).write(to: url)
    for (suffix, side) in store.sides {
      try Data(side).write(to: URL(fileURLWithPath: url.path + suffix))
    }
    do {
      let recovered = try Recovered(path: url.path, .all)
      #expect(recovered.rows.count < content.count, "LIFEBOAT_SEED=\(seed)")
      return recovered
    } catch let error as SQLiteFileError {
      #expect([.notADatabase, .looksEncrypted, .empty].contains(error.code), "\(error)")
      return nil
    }
  }

  @Test(arguments: forms)
  func anythingEnds(_ form: Form) throws {
    let store = try form.make()
    for round in 0..<Self.rounds {
      let seed = Self.seed &+ UInt64(round)
      var generator = SplitMix64(seed: seed)
      var content = store.bytes
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        Self.mutate(&content, store.pageSize, &generator)
        if content.isEmpty { content = [0] }
      }
      _ = try Self.read(store, content, seed)
    }
  }

  private static func mutate(
    _ content: inout [UInt8], _ pageSize: Int, _ generator: inout SplitMix64
  ) {
    let pages = max(1, content.count / pageSize)
    let page = Int.random(in: 0..<pages, using: &generator) * pageSize
    let end = min(page + pageSize, content.count)
    guard page < end else { return }
    switch Int.random(in: 0..<10, using: &generator) {
    case 0:
      content[Int.random(in: 0..<min(112, content.count), using: &generator)] = .random(
        in: 0...255, using: &generator)
    case 1:
      // The head of a page, where small numbers do most.
      let offset = min(page + Int.random(in: 0..<16, using: &generator), end - 1)
      content[offset] = [0, 1, 2, 5, 10, 13, 127, 128, 255].randomElement(using: &generator) ?? 0
    case 2:
      content[Int.random(in: page..<end, using: &generator)] ^=
        1 << UInt8.random(in: 0...7, using: &generator)
    case 3:
      let start = Int.random(in: page..<end, using: &generator)
      for offset in start..<min(end, start + 20) {
        content[offset] = .random(in: 0...255, using: &generator)
      }
    case 4:
      let other = Int.random(in: 0..<pages, using: &generator) * pageSize
      for offset in 0..<min(end - page, content.count - other) {
        content[page + offset] = content[other + offset]
      }
    case 5: content.replaceSubrange(page..<end, with: repeatElement(255, count: end - page))
    case 6: content.replaceSubrange(page..<end, with: generator.bytes(end - page))
    case 7: content.removeLast(Int.random(in: 0..<max(1, content.count / 4), using: &generator))
    case 8:
      content.insert(
        contentsOf: generator.bytes(Int.random(in: 1...pageSize, using: &generator)), at: page)
    default: content.removeSubrange(page..<end)
    }
  }

  /// Lost pages and sectors cost rows and values; what is given and not marked is as it was.
  @Test(arguments: forms)
  func zerosMakeNoRows(_ form: Form) throws {
    let store = try form.make()
    let truth = store.truth
    for round in 0..<Self.rounds {
      let seed = Self.seed &+ UInt64(round)
      var generator = SplitMix64(seed: seed)
      var content = store.bytes
      let pages = content.count / store.pageSize
      for _ in 0..<Int.random(in: 1...max(2, pages / 6), using: &generator) {
        let page = Int.random(in: 0..<pages, using: &generator) * store.pageSize
        content.replaceSubrange(
          page..<page + store.pageSize, with: repeatElement(0, count: store.pageSize))
      }
      guard let recovered = try Self.read(store, content, seed) else { continue }
      if form.isKilled {
        // What the log replaced is true again where its page is lost: only made-up rows are wrong.
        continue
      }
      Judgement(recovered, truth, isUTF8: store.encoding == "UTF-8")
        .expectHonest("LIFEBOAT_SEED=\(seed)")
    }
  }

  /// The log of a store may be as ruined as the store.
  @Test func aRuinedLogEnds() throws {
    let form = Self.forms[3]
    var store = try form.make()
    let log = try #require(store.sides["-wal"])
    for round in 0..<Self.rounds {
      let seed = Self.seed &+ UInt64(round)
      var generator = SplitMix64(seed: seed)
      var content = log
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        Self.mutate(&content, store.pageSize + 24, &generator)
        if content.isEmpty { content = [0] }
      }
      store.sides["-wal"] = content
      _ = try Self.read(store, store.bytes, seed)
    }
  }
}
