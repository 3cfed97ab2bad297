import Fixtures
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreTriage
import Terminal
import Testing

@testable import SQLiteForensics
@testable import StoreReport

/// Pictures and pages of more than a test store has: many events, many pages, many steps, names made to do harm.
@Suite struct PicturesTests {
  private static let evil = "</title><script>x</script>'\"&\u{202E}\u{0}{{a}}`b`]]>"

  // MARK: - Time

  /// Whatever the order of the events, the bars are the same, hold all of them, and begin where their spans do.
  @Test func barsHoldEveryEvent() {
    var generator = SplitMix64(seed: 7)
    for reach in [30.0, 4_000, 90_000, 4_000_000, 90_000_000, 900_000_000] {
      let dates = (0..<500).map { _ in 600_000_000 + Double.random(in: 0...reach, using: &generator)
      }
      var bins = TimeBins(kinds: 2)
      for (place, date) in dates.enumerated() { bins.add(date, kind: place % 2) }
      var other = TimeBins(kinds: 2)
      for (place, date) in dates.enumerated().reversed() { other.add(date, kind: place % 2) }
      #expect(bins.bins.map(\.counts) == other.bins.map(\.counts))
      #expect(bins.bins.map(\.start) == other.bins.map(\.start))
      #expect(bins.bins.count <= 60 && bins.unit == other.unit)
      for kind in 0..<2 { #expect(bins.bins.reduce(0) { $0 + $1.counts[kind] } == 250) }
      // Each event lies between the start of its bar and that of the next.
      let starts = bins.bins.map(\.start)
      for (place, start) in starts.enumerated() {
        let next = place + 1 < starts.count ? starts[place + 1] : .infinity
        let inside = dates.count { $0 >= start && $0 < next }
        #expect(inside == bins.bins[place].counts.reduce(0, +), "\(reach): \(place)")
      }
    }
  }

  @Test func datesThatMarkSomethingAreCountedApart() {
    var bins = TimeBins(kinds: 1)
    for date in [0, 1e300, -1e300, .infinity, .nan, 63_113_904_000] as [Double] {
      bins.add(date, kind: 0)
    }
    #expect(bins.outOfRange == 6 && bins.bins.isEmpty && bins.ends == nil)
  }

  /// The dates that are shown are those of the years 1980 to 2080, as the page says; the last seconds as Python's
  /// calendar gives them.
  @Test func theYearsOfThePageAreWhole() {
    var bins = TimeBins(kinds: 1)
    for date in [-662_774_401, -662_774_400, 2_524_607_999, 2_524_608_000] as [Double] {
      bins.add(date, kind: 0)
    }
    #expect(bins.outOfRange == 2)
    #expect(bins.ends?.first == -662_774_400 && bins.ends?.last == 2_524_607_999)
  }

  // MARK: - Triage

  /// Many groups with names made to do harm: the page is bounded, and has each once.
  @Test func aTriageOfManyCases() throws {
    var groups = TriageGroups(by: .signature)
    for number in 0..<2_000 {
      var line = TriageLine(path: Self.evil + "\(number)", kind: .store)
      line.signature.verdict = number % 3 == 0 ? "healthy" : "corrupt"
      line.signature.build = "\(Self.evil) \(number % 300)"
      line.signature.damage = ["\(Self.evil) \(number % 700)"]
      line.date = "20\(10 + number % 20)-0\(1 + number % 9)-1\(number % 10)T00:00:00Z"
      line.signature = line.signature.hashed()
      groups.add(line)
    }
    let report = groups.report
    let html = try TriagePage(report).html()
    #expect(SealedPage.faults(in: html, maxBytes: 1_500_000) == [])
    #expect(html.contains("500 of \(Quantity.count(report.groups.count)) are shown."))
    #expect(html.contains("100 of 300 are shown."))
    let times = try #require(SealedPage.section(html, "times"))
    let told = times.matches(of: #/(?:healthy|to be looked at): ([0-9]+)/#).reduce(0) {
      $0 + (Int($1.1) ?? 0)
    }
    #expect(told == 2_000)
    let empty = try TriagePage(TriageGroups(by: .family).report).html()
    #expect(SealedPage.faults(in: empty) == [])
    #expect(empty.contains("Nothing to be looked at"))
  }

  /// An input without a date is one, and an input with an unlikely date is another.
  @Test func undatedInputsAreThoseWithoutADate() throws {
    var groups = TriageGroups(by: .family)
    let dates = ["2026-11-20", "2026-11-21", "1969-12-31", "2001-01-01", nil]
    for (number, date) in dates.enumerated() {
      var line = TriageLine(path: "store\(number)", kind: .store)
      line.date = date.map { $0 + "T00:00:00Z" }
      line.signature = line.signature.hashed()
      groups.add(line)
    }
    let html = try TriagePage(groups.report).html()
    #expect(html.contains("Inputs without a date are not shown: 1."))
    #expect(html.contains("with an unlikely date, are not shown: 2."))
  }

  // MARK: - Pages

  /// A database of many pages of many trees with evil names.
  private static func largePage(_ count: UInt32) throws -> StripPage {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("page-1024").make(folder.url)
    var page = StripPage((evil, evil), try SQLiteDatabase(path: url.path))
    let kinds = PageKind.allCases
    for number in 1...count {
      let kind = number % 97 == 0 ? kinds[Int(number / 97) % kinds.count] : .leafTable
      page.add(
        PageEntry(
          page: number, member: .main, offset: 0, kind: kind,
          owner: kind == .freelistLeaf ? nil : "\(evil) \(number % 700)", parent: nil,
          cellCount: nil, freeBytes: nil))
    }
    page.finish(
      (0..<700).map {
        PageOwner(name: "\(evil) \($0)", table: evil, isIndex: $0 % 2 == 1, rootPage: 1)
      }, try StoreCheck(path: url.path))
    return page
  }

  @Test(arguments: [1, 399, 401, Rounds.areLong ? 100_000 : 30_000] as [UInt32])
  func pagesAreBoundedAndCountedOnce(_ count: UInt32) throws {
    let page = try Self.largePage(count)
    let html = try page.html()
    #expect(SealedPage.faults(in: html, maxBytes: 1_000_000) == [])
    #expect(SealedPage.faults(inSVG: page.svg, maxBytes: 400_000) == [])
    let picture = try #require(SealedPage.section(html, "pages"))
    // The uses of a square add up to its pages, and those of all squares to the file.
    var sum = 0
    for square in picture.matches(of: #/<title>pages? ([0-9]+)(?: to ([0-9]+))?: ([^<]*)</#) {
      let (first, last) = (Int(square.1) ?? 0, square.2.flatMap { Int($0) })
      let numbers = square.3.matches(of: #/ ([0-9]+)(?:,|$)/#).compactMap { Int($0.1) }
      sum += numbers.isEmpty ? min(Int(count), last ?? first) - first + 1 : numbers.reduce(0, +)
    }
    #expect(sum == Int(count))
    let ends = picture.matches(of: #/<title>pages? (?:[0-9]+ to )?([0-9]+): /#)
      .compactMap { Int($0.1) }
    #expect(ends.max() == Int(count))
    let squares = picture.matches(of: #/<rect class="page /#)
    #expect(squares.count >= min(400, Int(count)) / 2)
    let lanes = try #require(SealedPage.section(html, "lanes"))
    let told = lanes.matches(of: #/: ([0-9,]+) pages?, from page/#).reduce(0) {
      $0 + (Int($1.1.filter { $0 != "," }) ?? 0)
    }
    #expect(told == Int(count))
    if count > 500 {
      #expect(html.contains("500 of 700 are shown."))
      #expect(html.contains("500 of \(Quantity.count(Int(count))) are shown."))
    }
  }

  /// Not all findings are kept, so nobody knows on how many pages they are.
  @Test func damagedPagesThatAreNotKeptAreTold() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("page-1024").make(folder.url)
    var page = StripPage(("a", "a"), try SQLiteDatabase(path: url.path))
    page.add(
      PageEntry(
        page: 1, member: .main, offset: 0, kind: .leafTable, owner: nil, parent: nil,
        cellCount: nil, freeBytes: nil))
    var found = FindingList()
    for number in 1...10_007 as ClosedRange<UInt32> {
      found.add(Finding(.init(rawValue: "page.badType"), "x", page: number))
    }
    var check = try StoreCheck(path: url.path)
    check.add(found)
    page.finish([], check)
    let html = try page.html()
    #expect(html.contains("Damaged: 10,007 findings"))
    #expect(html.contains("Damage is on at least 10,000 pages: 1, 2, 3"))
    #expect(html.contains("500 of 10,007 are shown."))
  }

  /// The parts of a square have the width of the square. In long rounds, squares have more parts.
  @Test func partsFillTheirSquare() throws {
    let html = try Self.largePage(Rounds.areLong ? 100_000 : 50_000).html()
    let picture = try #require(SealedPage.section(html, "pages"))
    let squares = picture.components(separatedBy: "<g><title>").dropFirst()
    for square in squares {
      let widths = square.matches(
        of: #/<rect class="page [a-z]+" x="[0-9]+" y="[0-9]+" width="([0-9]+)"/#
      )
      .compactMap { Int($0.1) }
      #expect(widths.reduce(0, +) == 16 && widths.allSatisfy { $0 >= 2 }, "\(square)")
    }
  }

  // MARK: - Plans

  private static func step(
    _ number: Int, _ way: PlanPage.Step.Way, losses: Int = 0
  ) -> PlanPage.Step {
    PlanPage.Step(
      from: "\(evil) \(number)", to: "\(evil) \(number + 1)", way: way,
      lines: (0..<9).map { "\(evil) line \($0)" }, losses: (0..<losses).map { "\(evil).\($0)" },
      changes: (0..<200).map { "\(evil) change \($0)" })
  }

  @Test func plansAreBoundedAndEscaped() throws {
    let ways: [PlanPage.Step.Way] = [.mapping, .inferred, .uncertain]
    for count in [0, 1, 2, 31, 1_000] {
      var page = PlanPage(
        store: Self.evil, from: Self.evil, to: Self.evil,
        steps: (0..<count).map { Self.step($0, ways[$0 % 3], losses: $0 % 500) })
      page.direct = Self.step(0, .refused)
      page.mappings = (0..<300).map { ("\(Self.evil) \($0)", Self.evil) }
      page.unread = [(Self.evil, Self.evil)]
      page.remarks = [Self.evil]
      let html = try page.html()
      // Escapes of such names are long: real plans are a tenth of it.
      #expect(SealedPage.faults(in: html, maxBytes: 12_000_000) == [], "\(count)")
      #expect(html.matches(of: #/<h3 id="step[0-9]+">/#).count == min(200, count))
      #expect(html.contains("200 of 300 are shown."))
      #expect((count > 200) == html.contains("200 of 1,000 are shown."))
      #expect(html.contains("{{a}}"))
    }
  }

  @Test func versionsThatAreNotListedAreCounted() throws {
    var page = PlanPage(store: "S", from: "A", to: "B", steps: [])
    page.unread = (0..<250).map { ("\($0)", "x") }
    let html = try page.html()
    #expect(SealedPage.faults(in: html) == [])
    #expect(try #require(SealedPage.section(html, "unread")).contains("200 of 250 are shown."))
  }

  @Test func aStepThatFailsIsShownWithItsReasons() throws {
    for (from, to) in [("A", "C"), ("B", "C"), ("A", "B"), ("B", "D")] {
      var page = PlanPage(store: "S", from: "A", to: "C", steps: nil)
      page.obstacle = PlanPage.Step(from: from, to: to, way: .refused, lines: ["reason `x`"])
      let html = try page.html()
      #expect(SealedPage.faults(in: html) == [])
      #expect(html.contains("verdict bad") && html.contains("There is no way from A to C"))
      let fails = try #require(SealedPage.section(html, "obstacle"))
      #expect(fails.contains("<li>reason <code>x</code></li>"))
      #expect(html.contains("class=\"way refused\""))
    }
    let none = try PlanPage(store: "S", from: "A", to: "C", steps: nil).html()
    #expect(SealedPage.faults(in: none) == [] && none.contains(">no way</text>"))
  }

  // MARK: - Models

  @Test func modelsAreBoundedAndEscaped() throws {
    let entities = (0..<600).map { number in
      ModelPage.Entity(
        "\(Self.evil) \(number)", parent: number > 0 ? Self.evil : nil, isAbstract: true,
        facts: [(Self.evil, Self.evil)],
        properties: (0..<20).map { ("\(Self.evil) \($0)", "attribute", Self.evil) })
    }
    let html = try ModelPage(
      name: Self.evil, facts: [(Self.evil, Self.evil)],
      problems: (0..<300).map { "\(Self.evil) \($0)" }, entities: entities,
      diagram: ModelDiagram(of: ManagedObjectModel(entities: []))
    ).html()
    #expect(SealedPage.faults(in: html, maxBytes: 4_000_000) == [])
    #expect(html.contains("600 entities. The first 500 are shown."))
    #expect(html.matches(of: #/<td class="keep">attribute<\/td>/#).count == 5_000)
    #expect(
      html.contains("0 of 20 properties are shown.") && html.contains("And 100 more problems."))
  }

  @Test func oneFactAndOneProblemTooMany() throws {
    let html = try ModelPage(
      name: "M", facts: (0..<201).map { ("\($0)", "x") }, problems: (0..<201).map { "\($0)" },
      entities: [],
      diagram: ModelDiagram(
        of: ManagedObjectModel(entities: (0..<301).map { Entity(name: "E\($0)") }))
    ).html()
    #expect(SealedPage.faults(in: html) == [])
    #expect(html.contains("<p>And 1 more fact.</p>") && html.contains("<p>And 1 more problem.</p>"))
    #expect(html.contains("means optional. 1 more entity is not drawn.</p>"))
  }
}
