import Testing

@testable import Terminal

@Suite struct TextTableTests {
  private var table: TextTable {
    var table = TextTable([
      .init("Entity", isFlexible: true), .init("Rows", .trailing), .init("Deleted", .trailing),
      .init("Note", isFlexible: true),
    ])
    table.add(["Contact", Quantity.count(84_210), Quantity.count(1377), "readable"])
    table.add(["日本語の連絡先", "7", "0", "safe\u{202E}fdp\nline two"])
    table.add(["A very long entity name that nobody would choose", "1", "", ""])
    return table
  }

  @Test func goldenWithoutLimit() {
    #expect(
      table.text(width: nil) == """
        Entity                                              Rows  Deleted  Note
        ────────────────────────────────────────────────  ──────  ───────  ─────────────────────────
        Contact                                           84,210    1,377  readable
        日本語の連絡先                                         7        0  safe\\u{202E}fdp\\nline two
        A very long entity name that nobody would choose       1

        """)
  }

  @Test func goldenInFiftyColumns() {
    #expect(
      table.lines(width: 50) == [
        "Entity             Rows  Deleted  Note",
        "───────────────  ──────  ───────  ────────────────",
        "Contact          84,210    1,377  readable",
        "日本語の連絡先        7        0  safe\\u{202E}fdp…",
        "A very long en…       1",
      ])
  }

  /// A path is copied, so it stands whole on a line of its own where the column is too narrow.
  @Test func wholeCellsAreNotCut() {
    var table = TextTable([
      .init("Store", isWhole: true), .init("Health", isFlexible: true), .init("Rows", .trailing),
    ])
    table.add(["Notes.sqlite", "no damage found", "7"])
    table.add(["Documents/of/a/folder/far/away/Notes.sqlite", "damaged", "12"])
    table.add(["Documents/of/a/folder/far/away/None.sqlite", "", ""])
    #expect(
      table.lines(width: 40) == [
        "Store         Health           Rows",
        "────────────  ───────────────  ────",
        "Notes.sqlite  no damage found     7",
        "Documents/of/a/folder/far/away/Notes.sqlite",
        "              damaged            12",
        "Documents/of/a/folder/far/away/None.sqlite",
      ])
    #expect(
      table.lines(width: nil)[3]
        == "Documents/of/a/folder/far/away/Notes.sqlite  damaged            12")
  }

  @Test(arguments: 30...120)
  func noLineIsWiderThanAsked(_ width: Int) {
    for line in table.lines(width: width) {
      #expect(DisplayWidth.columns(of: line) <= width)
      #expect(!line.hasSuffix(" "))
    }
  }

  @Test func tonesAreAppliedAfterMeasuring() {
    var table = TextTable([.init("Finding", isFlexible: true), .init("Pages", .trailing)])
    table.add([.init("page.badType", tone: .red), "2"])
    let colored = table.lines(width: 40, style: Style(isColored: true))
    #expect(colored[2] == "\u{1B}[31mpage.badType\u{1B}[0m      2")
    #expect(table.lines(width: 40)[2] == "page.badType      2")
  }

  @Test func surplusAndMissingCells() {
    var table = TextTable([.init("A"), .init("B")])
    table.add(["1", "2", "3"])
    table.add(["1"])
    #expect(table.lines(width: nil).suffix(2) == ["1  2 3", "1"])
    var empty = TextTable([])
    empty.add(["x"])
    #expect(empty.lines(width: 80).isEmpty)
  }

  @Test func hugeCellIsCutQuickly() {
    var table = TextTable([.init("Value", isFlexible: true)])
    table.add([String(repeating: "x", count: 1_000_000)])
    #expect(DisplayWidth.columns(of: table.lines(width: 80)[2]) == 80)
  }
}
