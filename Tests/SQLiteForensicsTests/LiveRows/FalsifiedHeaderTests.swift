import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Live rows whose record headers say something else than their records are: each value is right or marked.
@Suite struct FalsifiedHeaderTests {
  /// The header of a record in a file.
  private struct Header {
    let rowID: Int64
    /// Where each serial type stands; types of one byte only.
    let types: [Int]
    let bodyLength: Int

    /// Whether the types make up the body.
    func addsUp(_ bytes: [UInt8]) -> Bool {
      var sum = 0
      for place in types {
        let type = Int(bytes[place])
        guard type < 128, type != 10, type != 11 else { return false }
        sum += type >= 12 ? (type - 12) / 2 : [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type]
      }
      return sum == bodyLength
    }
  }

  private static func varint(_ bytes: [UInt8], _ place: inout Int) -> Int {
    var value = 0
    repeat {
      value = value << 7 | Int(bytes[place] & 0x7f)
      place += 1
    } while bytes[place - 1] >= 0x80
    return value
  }

  /// The headers of all rows of a table, by the cell pointers of its healthy leaves.
  private static func headers(_ store: DamageCase, _ table: String) -> [Header] {
    store.pages("leaf", of: table).flatMap { leaf in
      let page = store.range(leaf.number).lowerBound
      return (0..<leaf.cellCount).map { index in
        let pointer = page + 8 + 2 * index
        var place = page + Int(store.bytes[pointer]) << 8 + Int(store.bytes[pointer + 1])
        let payload = varint(store.bytes, &place)
        let rowID = varint(store.bytes, &place)
        let length = Int(store.bytes[place])
        return Header(
          rowID: Int64(rowID), types: Array(place + 1..<place + length),
          bodyLength: payload - length)
      }
    }
  }

  private static let names = [
    "Noah König", "Pia Horn", "Lina Berger", "Lotta Huber", "Josef Engel", "Maria Schmid",
    "Tobias Schumacher", "Andre Wagner", "Christian Scholz", "Torsten Lorenz", "Artur Brandt",
    "Linus Schmid", "Sabine Heinrich", "Emilia Schmitz", "Zoe Hofmann", "Isabell Jäger",
  ]

  /// A table of people: 0 id, 1 name, 2 surname, 3 zip, always NULL, 4 code, 5 share.
  private static func people(
    _ count: Int, pageSize: Int = 4096, encoding: String = "UTF-8"
  ) throws -> DamageCase {
    try DamageCase(pageSize: pageSize, pragmas: "PRAGMA encoding = '\(encoding)'") { store in
      try store.exec(
        "CREATE TABLE people(id INT, name TEXT, surname TEXT, zip INT, code INT, share REAL)")
      var generator = SplitMix64(seed: 15)
      for row in 0..<count {
        let name = names[row % names.count].split(separator: " ")
        let surname = names[(row * 7 + 3) % names.count].split(separator: " ")
        try store.rows(
          "INSERT INTO people VALUES(?, ?, ?, NULL, ?, ?)",
          [
            .integer(Int64(20_001 + row)), .string(String(name[0])), .string(String(surname[1])),
            .integer(.random(in: 100_000...6_000_000, using: &generator)),
            .real(.random(in: -150...150, using: &generator)),
          ])
      }
    }
  }

  private static func recover(
    _ store: DamageCase, _ falsify: ([Header], inout [UInt8]) -> Void
  ) throws -> (recovered: Recovered, judgement: Judgement) {
    let headers = headers(store, "people")
    let recovered = try store.recover { falsify(headers, &$0) }
    return (recovered, Judgement(recovered, store))
  }

  // MARK: - Told from other rows

  @Test(arguments: ["UTF-8", "UTF-16le"])
  func oneFalseTypeOfANumberIsToldFromOtherRows(_ encoding: String) throws {
    let store = try Self.people(20, encoding: encoding)
    for type in [0, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 21, 0x83] as [UInt8] {
      let (recovered, judgement) = try Self.recover(store) { $1[$0[7].types[4]] = type }
      judgement.expectAll("type \(type)")
      #expect(recovered.findings == ["page.mended", "row.deduced"], "type \(type)")
    }
  }

  @Test func aColumnFalseInEveryFourthRowIsToldFromTheOthers() throws {
    let store = try Self.people(40)
    let (recovered, judgement) = try Self.recover(store) { headers, bytes in
      for (row, header) in headers.enumerated() where row % 4 == 1 {
        bytes[header.types[1]] += [8, 2, 14, 30][row / 4 % 4]
      }
    }
    judgement.expectAll()
    #expect(recovered.findings.filter { $0 == "row.deduced" }.count == 10)
  }

  @Test func aColumnFalseInEverySecondRowIsToldFromTheOthers() throws {
    let store = try Self.people(40)
    let (_, judgement) = try Self.recover(store) { headers, bytes in
      for (row, header) in headers.enumerated() where row % 2 == 1 {
        bytes[header.types[4]] = [1, 2, 4, 7, 9, 10][row / 2 % 6]
      }
    }
    judgement.expectAll()
  }

  // MARK: - In doubt

  @Test func theBorderOfTwoTextsIsNotGuessed() throws {
    let store = try Self.people(20)
    let (recovered, judgement) = try Self.recover(store) { headers, bytes in
      for (row, header) in headers.enumerated() {
        bytes[header.types[1]] = UInt8(13 + 2 * (row % 3))
        bytes[header.types[2]] = UInt8(13 + 2 * (row % 2))
      }
    }
    judgement.expectHonest()
    #expect(recovered.live.count == 20)
    for row in recovered.live {
      #expect(row.partial.contains { $0.column == 1 && $0.isDoubtful })
      #expect(row.partial.contains { $0.column == 2 && $0.isDoubtful })
    }
  }

  @Test func aReservedTypeIsNoNullWhereNoRowSaysSo() throws {
    let store = try Self.people(20)
    let (recovered, judgement) = try Self.recover(store) { headers, bytes in
      for header in headers { bytes[header.types[3]] = 10 }
    }
    judgement.expectHonest()
    #expect(judgement.partial.count == 20)
    // NULL, 0 and 1 take no bytes; all else is certain.
    #expect(recovered.live.allSatisfy { $0.partial.map(\.column) == [3] })
  }

  @Test func aReservedTypeIsNullWhereOtherRowsHaveOnlyNull() throws {
    let store = try Self.people(60)
    let (_, judgement) = try Self.recover(store) { $1[$0[30].types[3]] = 10 }
    judgement.expectHonest()
    #expect(judgement.exact.count >= 59)
  }

  @Test func numbersOfWhichNoSoundRowIsLeftAreNotMadeUp() throws {
    let store = try Self.people(20)
    let (recovered, judgement) = try Self.recover(store) { headers, bytes in
      var generator = SplitMix64(seed: 12)
      for header in headers {
        repeat {
          for column in [0, 3, 4, 5] {
            bytes[header.types[column]] = .random(in: 0...11, using: &generator)
          }
        } while header.addsUp(bytes)
      }
    }
    judgement.expectHonest()
    #expect(recovered.live.count == 20)
    #expect(recovered.live.allSatisfy { !$0.partial.isEmpty })
  }

  /// Whatever is false: no value is given that is another, and no row is lost.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func whatIsGivenIsRight(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let count = [8, 20, 45, 90].randomElement(using: &generator) ?? 20
    let store = try Self.people(
      count, pageSize: seed % 3 == 0 ? 1024 : 4096, encoding: seed % 5 == 0 ? "UTF-16be" : "UTF-8")
    let columns = (0..<6).shuffled(using: &generator).prefix(1 + Int(seed % 3))
    let every = [1, 2, 4, 16].randomElement(using: &generator) ?? 1
    var falsified: Set<Int64> = []
    let (recovered, judgement) = try Self.recover(store) { headers, bytes in
      for (row, header) in headers.enumerated() where row % every == 0 {
        let sound = columns.map { bytes[header.types[$0]] }
        for column in columns {
          let type = bytes[header.types[column]]
          bytes[header.types[column]] =
            type < 12
            ? .random(in: 0...11, using: &generator)
            : 13 + 2 * .random(in: 0...18, using: &generator)
        }
        // Types that add up by chance are no contradiction.
        if header.addsUp(bytes) {
          for (column, type) in zip(columns, sound) { bytes[header.types[column]] = type }
        } else {
          falsified.insert(header.rowID)
        }
      }
    }
    judgement.expectHonest("seed \(seed)")
    #expect(Set(recovered.live.compactMap(\.rowID)).count == count, "seed \(seed)")
    #expect(
      Set(recovered.findings).isSubset(of: ["page.mended", "row.deduced", "row.partial"]),
      "seed \(seed)")
    // Where most rows are sound they stay so.
    if every >= 4 {
      let marked = Set(recovered.live.filter { !$0.partial.isEmpty }.compactMap(\.rowID))
      #expect(marked.subtracting(falsified).count * 20 <= count, "seed \(seed)")
    }
  }

  /// Thousands of rows that fail on one page: the work is bounded, what it does not reach is marked.
  @Test
  func aLargePageOfFalseHeadersIsRead() throws {
    let store = try Self.people(1500, pageSize: 65_536)
    let (recovered, judgement) = try Self.recover(store) { headers, bytes in
      for header in headers {
        bytes[header.types[1]] = 13
        bytes[header.types[2]] = 13
        bytes[header.types[4]] = 11
      }
    }
    judgement.expectHonest()
    #expect(recovered.live.count == 1500)
  }

  // MARK: - Others' files

  /// The falsified headers of the SQLite Forensic Corpus, held against the statements that made its stores.
  @Test(.enabled(if: Shared.isThere)) func whatTheForensicCorpusIsGivenIsRight() throws {
    guard let shared = Shared.require("falsified headers of the forensic corpus") else { return }
    let folder = shared.appendingPathComponent("stores/corrupt/nemetz-v2/15")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix("_antifor.db") }.sorted()
    guard !names.isEmpty else { return print("skipped: no falsified headers in the shared folder") }
    var whole = 0
    var rows = 0
    for name in names {
      let file = folder.appendingPathComponent(name)
      let stem = name.dropLast("_antifor.db".count)
      let temporary = try TemporaryFolder()
      let connection = try SQLiteConnection(temporary.url.appendingPathComponent("truth.sqlite"))
      try connection.exec(
        String(contentsOf: folder.appendingPathComponent("\(stem).sql"), encoding: .utf8))
      let truth = ["users": try connection.rowsOfTable("users", virtualColumns: true)]
      let recovered = try Recovered(path: file.path, .live)
      let judgement = Judgement(recovered, truth)
      judgement.expectHonest("\(name)")
      #expect(
        Set(recovered.live.compactMap(\.rowID)).count == judgement.total, "\(name): rows are lost")
      whole += judgement.exact.count
      rows += judgement.total
    }
    if names.count == 10 {
      #expect(rows == 190)
      #expect(whole == 120)
    }
  }
}
