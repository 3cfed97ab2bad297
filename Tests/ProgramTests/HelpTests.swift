import Fixtures
import Foundation
import Testing

/// Help, version and wrong usage.
@Suite struct HelpTests {
  static let commands = [
    ["inspect"], ["info"], ["check"], ["pages"], ["model"], ["model", "show"], ["model", "hash"],
    ["model", "identify"], ["model", "diff"], ["model", "convert"], ["rows"], ["timeline"],
    ["compare"], ["extract"],
    ["export"], ["recover"], ["rescue"], ["bundle"],
    ["bundle", "create"], ["bundle", "verify"], ["bundle", "list"], ["incidents"],
    ["incidents", "list"], ["incidents", "show"], ["incidents", "verify"],
    ["incidents", "restore"], ["incidents", "prune"], ["demo"], ["triage"], ["triage", "run"],
    ["triage", "query"],
  ]

  @Test(arguments: commands) func everyCommandHasHelp(_ command: [String]) throws {
    let outcome = try Program.run(command + ["--help"])
    #expect(outcome.status == 0)
    #expect(outcome.text.contains("OVERVIEW: "))
    #expect(outcome.text.contains("USAGE: lifeboat "))
    #expect(outcome.errors == "")
  }

  /// What a command refuses is not among the values of its option.
  @Test func helpOffersOnlyWhatIsTaken() throws {
    let words = try Program.run("bundle", "redact", "--help").text
      .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("(values: structure, rows, rows:ENTITY,…; default: rows)"), "\(words)")
    let refused = try Program.run("bundle", "redact", "x.zip", "--include", "store", "-o", "y.zip")
    #expect(refused.status == 64 && refused.errors.contains("never holds the store"))
  }

  @Test func versionIsANumber() throws {
    let outcome = try Program.run("--version")
    #expect(outcome.status == 0)
    #expect(outcome.text.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
  }

  @Test func withoutArgumentsHelpIsShown() throws {
    let outcome = try Program.run([])
    #expect(outcome.status == 0)
    #expect(outcome.text.contains("lifeboat inspect Notes.sqlite"))
    #expect(outcome.text.contains("EXIT STATUS"))
    #expect(outcome.errors == "")
  }

  @Test(arguments: [
    ["nonsense"], ["inspect"], ["rows", "--bogus", "x"], ["rows", "x", "--limit", "-1"],
    ["rows", "x", "--format", "xml"], ["check"], ["timeline", "x", "--limit", "-1"],
    ["check", "x", "--depth", "9"], ["pages", "x", "--page", "-1"], ["extract", "x"],
    ["recover", "x"], ["rescue", "x"], ["bundle", "nonsense"], ["compare", "x"],
    ["bundle", "create", "x"], ["insp", "x"], ["model", "diff", "x"],
    ["model", "convert", "x", "--to", "mom"], ["model", "convert", "x", "-o", "y"],
  ])
  func wrongUsageIs64(_ arguments: [String]) throws {
    let outcome = try Program.run(arguments)
    #expect(outcome.status == 64)
    #expect(outcome.text == "")
    #expect(outcome.errors.hasPrefix("error: "))
    let forPrograms = try Program.run(arguments + ["--json"])
    #expect(forPrograms.status == 64)
    let object = try JSONDecoder().decode(JSON.self, from: forPrograms.stderr)
    #expect(object["message_type"]?.string == "exit_error")
    #expect(object["code"]?.string == "usage.parser")
  }

  @Test func colourComesOnlyWhenAskedFor() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    #expect(!(try Program.run("inspect", store.path)).text.contains("\u{1B}["))
    #expect(try Program.run("inspect", store.path, "--color", "always").text.contains("\u{1B}["))
    let off = try Program.run("inspect", store.path, "--color", "always", "--no-color")
    #expect(!off.text.contains("\u{1B}["))
  }
}
