import Testing

@testable import Terminal

@Suite struct KeyValueBlockTests {
  /// The first screen that the project holds itself to, to the letter.
  private var firstScreen: KeyValueBlock {
    var block = KeyValueBlock()
    block.add(
      "Notes.sqlite",
      "Core Data store, \(Quantity.bytes(48_200_000)), WAL \(Quantity.bytes(4_100_000)) "
        + "(\(Quantity.count(1012)) committed frames, applied)")
    block.add("Model", "cached in the store, 14 entities, SwiftData: no")
    block.add("Health", "damaged: 3 findings on 2 pages (of \(Quantity.count(11768)))", tone: .red)
    block.add(
      "Rows",
      "\(Quantity.count(84210)) live, \(Quantity.count(1377)) recoverable as deleted")
    block.add("Evidence", "unchanged, sha256 9f2c…71")
    block.add(
      "Next",
      [
        .init("TOOL check Notes.sqlite", "see the findings"),
        .init("TOOL recover Notes.sqlite -o Notes-recovered.sqlite"),
      ])
    return block
  }

  @Test func goldenFirstScreen() {
    #expect(
      firstScreen.text(width: 90) == """
        Notes.sqlite   Core Data store, 48.2 MB, WAL 4.1 MB (1,012 committed frames, applied)
        Model          cached in the store, 14 entities, SwiftData: no
        Health         damaged: 3 findings on 2 pages (of 11,768)
        Rows           84,210 live, 1,377 recoverable as deleted
        Evidence       unchanged, sha256 9f2c…71
        Next           TOOL check Notes.sqlite      see the findings
                       TOOL recover Notes.sqlite -o Notes-recovered.sqlite

        """)
  }

  @Test func narrowScreenWrapsValuesAndKeepsCommandsWhole() {
    #expect(
      firstScreen.lines(width: 50) == [
        "Notes.sqlite   Core Data store, 48.2 MB, WAL 4.1",
        "               MB (1,012 committed frames,",
        "               applied)",
        "Model          cached in the store, 14 entities,",
        "               SwiftData: no",
        "Health         damaged: 3 findings on 2 pages (of",
        "               11,768)",
        "Rows           84,210 live, 1,377 recoverable as",
        "               deleted",
        "Evidence       unchanged, sha256 9f2c…71",
        "Next           TOOL check Notes.sqlite",
        "                 see the findings",
        "               TOOL recover Notes.sqlite -o Notes-recovered.sqlite",
      ])
  }

  @Test func longLabelStandsAlone() {
    var block = KeyValueBlock()
    block.add("A file name that is much too long.sqlite", "store")
    block.add("Rows", "1")
    block.add("\u{1B}[2J", "\u{202E}x")
    #expect(
      block.lines(width: 80) == [
        "A file name that is much too long.sqlite", "            store", "Rows        1",
        "\\u{1B}[2J   \\u{202E}x",
      ])
  }

  @Test func colorLeavesTheLayout() {
    let colored = firstScreen.lines(width: 90, style: Style(isColored: true))
    #expect(colored[2].hasPrefix("\u{1B}[1mHealth\u{1B}[0m         \u{1B}[31mdamaged"))
    #expect(KeyValueBlock().lines(width: 80).isEmpty)
  }
}
