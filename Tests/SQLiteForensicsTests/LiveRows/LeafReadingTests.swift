import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Leaves of tables that are ruined one at a time: what stands on them is found, what does not is not made up.
@Suite struct LeafReadingTests {
  struct Form: Sendable, CustomTestStringConvertible {
    let pageSize: Int
    var encoding = "UTF-8"
    var vacuum = "NONE"
    var testDescription: String { "\(pageSize) \(encoding) \(vacuum)" }
    static let all = [
      Form(pageSize: 512), Form(pageSize: 1024, encoding: "UTF-16le"),
      Form(pageSize: 1024, vacuum: "FULL"), Form(pageSize: 4096),
    ]
    // Half of them for what asks much of each, and all in long rounds.
    static let even = Rounds.part(of: all, every: 2)
    static let odd = Rounds.part(of: all, every: 2, from: 1)

    func make() throws -> DamageCase {
      try DamageCase(
        pageSize: pageSize,
        pragmas: "PRAGMA encoding = '\(encoding)'; PRAGMA auto_vacuum = \(vacuum)"
      ) { try Notebook.fill($0, rows: pageSize / 8) }
    }
  }

  /// A cell of a leaf: the place of its row in the truth, and its bytes in the file.
  private struct Cell {
    let place: Int
    let range: Range<Int>
    /// Where its pointer stands.
    let pointer: Int
  }

  /// By the cell pointers of the healthy page, which are in the order of the row ids.
  private static func cells(_ store: DamageCase, _ leaf: DamageCase.Page) -> [Cell] {
    let page = store.range(leaf.number)
    func number(_ at: Int) -> Int { Int(store.bytes[at]) << 8 | Int(store.bytes[at + 1]) }
    let starts = (0..<leaf.cellCount).map { number(page.lowerBound + 8 + 2 * $0) }
    let sorted = starts.sorted() + [store.pageSize]
    let rows = store.rows(of: leaf)
    return starts.enumerated().map { index, start in
      let end = sorted.first { $0 > start } ?? store.pageSize
      return Cell(
        place: rows.lowerBound + index,
        range: page.lowerBound + start..<page.lowerBound + end,
        pointer: page.lowerBound + 8 + 2 * index)
    }
  }

  /// Some leaves of each table, the first and the last of it among them.
  private static func leaves(_ store: DamageCase, _ most: Int = 4) -> [DamageCase.Page] {
    Notebook.statements.map(Recovered.name(in:)).flatMap { table in
      let leaves = store.pages("leaf", of: table)
      let step = max(1, leaves.count / most)
      return leaves.enumerated().filter { $0.offset % step == 0 || $0.offset == leaves.count - 1 }
        .map(\.element)
    }
  }

  private static func key(_ leaf: DamageCase.Page, _ cell: Cell) -> Judgement.Key {
    Judgement.Key(table: leaf.table, place: cell.place)
  }

  @Test(arguments: Form.all)
  func aHeaderOfZerosCostsNothing(_ form: Form) throws {
    let store = try form.make()
    for leaf in Self.leaves(store) {
      let start = store.range(leaf.number).lowerBound
      let recovered = try store.recover {
        $0.replaceSubrange(start..<start + 8, with: repeatElement(0, count: 8))
      }
      Judgement(recovered, store).expectAll("page \(leaf.number) of \(leaf.table)")
      #expect(recovered.findings == ["page.headerLost"])
    }
  }

  @Test(arguments: Form.even)
  func noFieldOfAHeaderIsNeeded(_ form: Form) throws {
    let store = try form.make()
    for leaf in Self.leaves(store, 1) {
      let start = store.range(leaf.number).lowerBound
      for offset in 0..<8 {
        for bit in [0, 3, 7] {
          let recovered = try store.recover { $0[start + offset] ^= 1 << UInt8(bit) }
          Judgement(recovered, store).expectAll(
            "byte \(offset) bit \(bit) of page \(leaf.number) of \(leaf.table)")
        }
      }
    }
  }

  @Test(arguments: Form.all)
  func cellPointersOfNoiseCostNothing(_ form: Form) throws {
    let store = try form.make()
    for leaf in Self.leaves(store) where leaf.cellCount > 0 {
      let start = store.range(leaf.number).lowerBound + 8
      var generator = SplitMix64(seed: UInt64(leaf.number))
      let noise = generator.bytes(2 * leaf.cellCount)
      let recovered = try store.recover {
        $0.replaceSubrange(start..<start + noise.count, with: noise)
      }
      Judgement(recovered, store).expectAll("page \(leaf.number) of \(leaf.table)")
      #expect(recovered.findings == ["page.mended"], "page \(leaf.number) of \(leaf.table)")
    }
  }

  @Test(arguments: Form.odd)
  func oneFlippedPointerCostsItsRowAtMost(_ form: Form) throws {
    let store = try form.make()
    var lost = 0
    var flipped = 0
    for leaf in Self.leaves(store, 2) {
      for cell in Self.cells(store, leaf).prefix(4) {
        for bit in Rounds.part(of: 0..<16, every: 2, from: cell.place % 2) {
          let recovered = try store.recover {
            $0[cell.pointer + bit / 8] ^= 1 << UInt8(bit % 8)
          }
          let judgement = Judgement(recovered, store)
          let comment: Comment =
            "bit \(bit) of pointer \(cell.place), page \(leaf.number) of \(leaf.table)"
          judgement.expectHonest(comment)
          // Now and then what the pointer leads to instead looks like a row, too.
          #expect(judgement.missing.allSatisfy { $0 == Self.key(leaf, cell) }, comment)
          lost += judgement.missing.count
          flipped += 1
        }
      }
    }
    #expect(lost * 100 <= flipped, "\(lost) of \(flipped)")
  }

  /// A cell whose payload length is wrong costs itself at most.
  @Test(arguments: Form.odd)
  func aFlippedPayloadLengthCostsItsRowAtMost(_ form: Form) throws {
    let store = try form.make()
    for leaf in Self.leaves(store, 2) {
      for cell in Self.cells(store, leaf).prefix(5) {
        for bit in Rounds.part(of: 0..<8, every: 3, from: cell.place % 3) {
          let recovered = try store.recover { $0[cell.range.lowerBound] ^= 1 << UInt8(bit) }
          let judgement = Judgement(recovered, store)
          let comment: Comment =
            "bit \(bit) of row \(cell.place), page \(leaf.number) of \(leaf.table)"
          judgement.expectHonest(comment)
          let others = judgement.missing.filter { $0 != Self.key(leaf, cell) }
          #expect(others.isEmpty, comment)
        }
      }
    }
  }

  /// Whatever a record's header says, it is read to its end, for live and for deleted rows.
  @Test(arguments: Form.even)
  func anyByteOfARecordMayBeAnything(_ form: Form) throws {
    let store = try form.make()
    for leaf in Self.leaves(store, 1) {
      for cell in Self.cells(store, leaf).prefix(3) {
        for offset in 2..<10 where offset < cell.range.count {
          let flips: [UInt8] = [0x01, 0x20, 0x40, 0x80]
          for flip in Rounds.part(of: flips, every: 4, from: (offset + cell.place) % 4) {
            let recovered = try store.recover(.all) { $0[cell.range.lowerBound + offset] ^= flip }
            let judgement = Judgement(recovered, store)
            #expect(
              judgement.exact.count >= judgement.total - 2,
              "byte \(offset) of row \(cell.place) of \(leaf.table)")
          }
        }
      }
    }
  }

  /// A row id out of order is in doubt, and all values of its row are given.
  @Test(arguments: Form.odd)
  func aFlippedRowIDIsInDoubt(_ form: Form) throws {
    let store = try form.make()
    for leaf in Self.leaves(store, 3) where leaf.cellCount > 2 {
      let cells = Self.cells(store, leaf)
      for cell in Rounds.part(of: cells.dropFirst().dropLast(), every: 5) {
        // The payload length takes one byte here, or two.
        let key = cell.range.lowerBound + (store.bytes[cell.range.lowerBound] < 128 ? 1 : 2)
        let recovered = try store.recover { $0[key] ^= 0x40 }
        let judgement = Judgement(recovered, store)
        let comment: Comment = "row \(cell.place) of \(leaf.table), page \(leaf.number)"
        judgement.expectHonest(comment)
        #expect(judgement.missing.isEmpty, comment)
        #expect(judgement.doubtful >= 1, comment)
      }
    }
  }

  @Test(arguments: Form.even)
  func aSectorOfZerosCostsWhatStoodThere(_ form: Form) throws {
    let store = try form.make()
    for leaf in Self.leaves(store) {
      let page = store.range(leaf.number)
      for start in stride(from: page.lowerBound, to: page.upperBound, by: 512) {
        let lost = start..<start + 512
        let recovered = try store.recover {
          $0.replaceSubrange(lost, with: repeatElement(0, count: 512))
        }
        let judgement = Judgement(recovered, store)
        let comment: Comment =
          "sector at \(start - page.lowerBound) of page \(leaf.number) of \(leaf.table)"
        judgement.expectHonest(comment)
        let hit = Set(
          Self.cells(store, leaf).filter { $0.range.overlaps(lost) }.map { Self.key(leaf, $0) })
        #expect(judgement.missing.allSatisfy(hit.contains), comment)
        #expect(judgement.exact.count >= judgement.total - hit.count, comment)
      }
    }
  }

  @Test(arguments: Form.odd, [false, true])
  func aLostLeafCostsItsRowsOnly(_ form: Form, _ isNoise: Bool) throws {
    let store = try form.make()
    for leaf in Self.leaves(store) {
      var generator = SplitMix64(seed: UInt64(leaf.number))
      let content =
        isNoise ? generator.bytes(store.pageSize) : [UInt8](repeating: 0, count: store.pageSize)
      let recovered = try store.recover {
        $0.replaceSubrange(store.range(leaf.number), with: content)
      }
      let judgement = Judgement(recovered, store)
      let comment: Comment = "page \(leaf.number) of \(leaf.table)"
      judgement.expectHonest(comment)
      let rows = store.rows(of: leaf)
      #expect(
        judgement.missing == rows.map { Judgement.Key(table: leaf.table, place: $0) }, comment)
      #expect(judgement.exact.count == judgement.total - rows.count, comment)
      #expect(recovered.findings.contains("page.unreadable") || isNoise, comment)
    }
  }

  /// An interior page without its header is no leaf, whatever of older leaves still stands on it.
  @Test(arguments: Form.even, [8, 12, 100])
  func aRuinedInteriorPageGivesNoRows(_ form: Form, _ length: Int) throws {
    let store = try form.make()
    for page in store.pages("internal") {
      let start = store.range(page.number).lowerBound
      let recovered = try store.recover {
        $0.replaceSubrange(start..<start + length, with: repeatElement(0, count: length))
      }
      let judgement = Judgement(recovered, store)
      judgement.expectHonest("page \(page.number) of \(page.table)")
      #expect(judgement.missing.isEmpty)
    }
  }
}
