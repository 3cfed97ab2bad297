import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Bytes lost or put in in the middle of a file.
@Suite struct ShiftTests {
  private static let plain = Result { try make("") }
  private static let mapped = Result { try make("PRAGMA auto_vacuum = FULL;") }

  private static func make(_ pragmas: String) throws -> DamageCase {
    try DamageCase(pageSize: 1024, pragmas: pragmas) {
      try Notebook.fill($0, rows: 1500, longest: 3000)
    }
  }

  /// The store with these pragmas, which is made once.
  private static func store(_ pragmas: String) throws -> DamageCase {
    try pragmas.isEmpty ? plain.get() : mapped.get()
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
    // Of a chain of overflow pages that ends near the place one page may say nothing of where it stands.
    let absent = whole.filter { !judgement.exact.contains($0) }
    #expect(
      absent.count < 2, "\(absent.count) of \(whole.count), pages \(torn) torn: \(absent.prefix(5))"
    )
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

  /// A database of a few small tables has hardly a page that leads to another one; the roots tell.
  @Test(arguments: 2...10) func aPageOfASmallDatabaseIsMissing(_ number: Int) throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      for table in 1...5 {
        let columns = (1...table).map { "c\($0) \($0 % 2 == 0 ? "TEXT" : "INT")" }
        try connection.exec(
          """
          CREATE TABLE t\(table)(id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")));
          CREATE INDEX i\(table) ON t\(table)(c1);
          """)
        for row in 1...6 {
          let values = (1...table).map { $0 % 2 == 0 ? "'text \(row)'" : "\(row * $0)" }
          try connection.exec(
            "INSERT INTO t\(table) VALUES(\(row), \(values.joined(separator: ", ")))")
        }
      }
    }
    #expect(store.pageCount > number)
    let lost = store.range(number)
    let recovered = try store.recover { $0.removeSubrange(lost) }
    let judgement = Judgement(recovered, store)
    judgement.expectHonest("\(judgement.wrong.prefix(3))")
    let gone = store.pages("leaf").first { $0.number == number }?.cellCount ?? 0
    #expect(judgement.exact.count >= judgement.total - gone - 6, "\(recovered.findings)")
  }

  /// A row by its values, or by its row id.
  private enum RowKey: Hashable {
    case values(String, [StoredValue])
    case rowID(String, Int64)
  }

  /// What SQLite would read is there, whatever speaks against it.
  @Test(arguments: [0.1, 0.35, 0.5, 0.8], [512, 1024, 16])
  func allThatPlainReadingGivesIsThere(_ share: Double, _ count: Int) throws {
    let store = try Self.store("")
    let place = Int(Double(store.bytes.count) * share) / 512 * 512
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("shifted.sqlite")
    var bytes = store.bytes
    bytes.removeSubrange(place..<place + count)
    try Data(bytes).write(to: url)
    let all = try Recovered(path: url.path, .all)
    #expect(all.findings.contains("file.shifted"))
    var given: Set<RowKey> = []
    for row in all.rows {
      let table = all.table(of: row) ?? ""
      given.insert(.values(table, row.values))
      // A value in doubt is not told; a long one is read to its end where plain reading goes astray.
      if let rowID = row.rowID, row.origin.state == nil || !row.partial.isEmpty {
        given.insert(.rowID(table, rowID))
      }
    }
    let plain = try SQLiteDatabase(path: url.path)
    var absent: [RowKey] = []
    for table in plain.schema.tables {
      try plain.forEachRow(of: table) { row in
        let values = RowKey.values(table.name, row.values)
        if !given.contains(values), !given.contains(.rowID(table.name, row.rowID ?? 0)) {
          absent.append(values)
        }
        return true
      }
    }
    #expect(absent.isEmpty, "\(absent.count), first \(absent.prefix(2))")
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
    let finding = try #require(database.findings.kept.first { $0.id.rawValue == "file.shifted" })
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

  private static let even = Result {
    try DamageCase(pageSize: 1024) { connection in
      try connection.exec("CREATE TABLE even (id INTEGER PRIMARY KEY, a BLOB)")
      var noise = SplitMix64(seed: 9)
      for id in 200..<5000 {
        let digits = noise.bytes(26).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        try connection.exec("INSERT INTO even VALUES (\(id), x'\(digits.joined())')")
      }
    }
  }

  /// Rows of one length: what stood behind the cut comes to stand just where other rows of the page stood.
  ///
  /// Usually each count of bytes has some of the places, of the distances from a row and of both kinds of change.
  @Test(arguments: [512, 64, 32, 1024, 1088, 3072])
  func rowsOfOneLengthAreNotMixed(_ count: Int) throws {
    let store = try Self.even.get()
    var cases: [(start: Int, isLoss: Bool)] = []
    for place in [0.3, 0.5, 0.7] {
      let start = Int(Double(store.bytes.count) * place) / 32 * 32
      for offset in [0, 7, 16] {
        cases += [(start + offset, true), (start + offset, false)]
      }
    }
    for (start, isLoss) in Rounds.part(of: cases, every: 5, from: count % 5) {
      var noise = SplitMix64(seed: 5)
      let recovered = try store.recover {
        if isLoss {
          $0.removeSubrange(start..<start + count)
        } else {
          $0.insert(contentsOf: noise.bytes(count), at: start)
        }
      }
      let judgement = Judgement(recovered, store)
      judgement.expectHonest("\(start): \(judgement.wrong.prefix(3))")
      #expect(recovered.findings.contains("file.shifted"))
      #expect(judgement.exact.count + 180 > judgement.total)
    }
  }

  private static let alike = Result {
    try DamageCase(pageSize: 1024) { connection in
      try connection.exec(
        "CREATE TABLE first (id INTEGER PRIMARY KEY, a BLOB); CREATE TABLE second (id INTEGER PRIMARY KEY, a BLOB)"
      )
      for table in ["first", "second"] {
        for id in 1..<3000 {
          try connection.exec(
            "INSERT INTO \(table) VALUES (\(id), zeroblob(20) || x'\(id % 2 == 0 ? "01" : "02")')")
        }
      }
    }
  }

  /// Two tables with the same row ids on leaves of the same size: what one has lost with the file's end is not to be found on
  /// the other's pages.
  @Test(arguments: [100, 1024, 20_000, 90_000])
  func aLostEndIsNotLookedForInATableAlike(_ count: Int) throws {
    let store = try Self.alike.get()
    let recovered = try store.recover { $0.removeLast(count) }
    #expect(!recovered.findings.contains("file.shifted"))
    Judgement(recovered, store).expectHonest("\(count)")
  }

  /// SQLite goes on reading a long value of a row without row id in a wrong overflow page: the value is in doubt.
  @Test func longValuesWithoutRowIDsAreInDoubt() throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec(
        """
        CREATE TABLE w(k TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;
        CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO w VALUES('one', printf('%.600c', 'A')), ('three', printf('%.600c', 'B')),
          ('two', printf('%.600c', 'C'));
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO a SELECT i, printf('%.70c', 'n') FROM n;
        """)
    }
    let lost = try #require(
      store.pages("overflow", of: "w").map(\.number).sorted().dropFirst().first)
    let recovered = try store.recover(.all) { $0.removeSubrange(store.range(lost)) }
    #expect(recovered.findings.contains("file.shifted"))
    let rows = recovered.rows.filter { recovered.table(of: $0) == "w" }
    #expect(rows.count == 3)
    for row in rows { #expect(row.partial.contains { $0.column == 1 }, "\(row.values)") }
  }

  /// The search reads what is stored of a sparse file, not its holes, and goes on behind them.
  @Test func holesAreNotSearched() throws {
    let store = try Self.store("")
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("sparse.sqlite")
    try Data(store.bytes).write(to: url)
    let plain = try ByteFile(url.path)
    let layout = try #require(try FileSurvey(plain, .ignore)).layout
    let leaves = try ShiftWitnesses(plain, layout, starts: [0]).leaves.map(\.offset)
    // A leaf at the end of a file of 1 GiB that has no other bytes.
    let leaf = try #require(leaves.last)
    let end = 1 << 30
    try overwrite(
      url, at: end - 1024, bytes: Array(store.bytes[Int(leaf)..<Int(leaf) + 1024]))
    let sparse = try ByteFile(url.path)
    guard sparse.nextData(from: 1 << 29) > 1 << 29 else {
      return print("skipped: the volume has no files with holes")
    }
    let witnesses = try ShiftWitnesses(sparse, layout, starts: [0])
    #expect(witnesses.leaves.map(\.offset) == leaves + [Int64(end - 1024)])
    #expect(witnesses.blockCount < 10_000, "\(witnesses.blockCount)")
  }
}
