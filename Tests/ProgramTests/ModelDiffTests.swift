import Fixtures
import Foundation
import Testing

/// `lifeboat model diff`
@Suite struct ModelDiffTests {
  @Test(.enabled(if: Shared.isThere)) func everyChangeSaysWhatItMeans() throws {
    guard let moody = try Moody("what changes mean") else { return }
    let arguments = [
      "model", "diff", moody.models.path, moody.models.path, "--from", "Moody", "--to", "Moody 6",
    ]
    let outcome = try Program.run(arguments)
    #expect(outcome.status == 1)
    let text = outcome.text
    #expect(text.hasPrefix("from Moody to Moody 6\nStores need a migration. Lightweight migration"))
    #expect(
      text.contains(
        "`Mood.rating` was added, Integer 16, default 0: lightweight migration can do this.\n"))
    #expect(text.contains("    It was in `GeographicRegion` before.\n"))
    #expect(
      text.contains("`Mood.remoteIdentifier` is now called `remoteID`: lightweight migration can"))
    #expect(text.contains("The version identifiers of the model were `1`, are `6`: nothing to"))

    let report = try Program.run(arguments + ["--json"]).json()
    #expect(report["migration"]?["verdict"]?.string == "handledIfDataAllows")
    let unique = report["changes"]?.array?.first {
      $0["kind"]?.string == "uniquenessConstraintAdded"
    }
    #expect(unique?["entity"]?.string == "Country")
    #expect(unique?["migration"]?["verdict"]?.string == "handledIfDataAllows")
    #expect(
      report["versionHashes"]?.array?.compactMap { $0["entity"]?.string }
        == ["Continent", "Country", "GeographicRegion", "Mood"])
    #expect(try Program.run(arguments + ["--exit-zero"]).status == 0)
  }

  /// A store's own model has no fetch request templates and no code generation: that is no difference.
  @Test(.enabled(if: Shared.isThere)) func aStoreAgainstItsSource() throws {
    guard let moody = try Moody("a store against its source") else { return }
    let report = try Program.run(
      "model", "diff", "--json", moody.store.path, moody.models.path, "--to", "Moody"
    ).json()
    #expect(report["migration"]?["verdict"]?.string == "nothingToDo")
    let fields = Set(report["changes"]?.array?.compactMap { $0["field"]?.string } ?? [])
    #expect(fields.isSubset(of: ["class", "version identifiers"]))
  }

  @Test(.enabled(if: Shared.isThere)) func pictures() throws {
    guard let moody = try Moody("pictures of a difference") else { return }
    func diff(_ format: String, _ to: String = "Moody 6") throws -> Outcome {
      try Program.run(
        "model", "diff", "--format", format, moody.models.path, moody.models.path, "--from",
        "Moody",
        "--to", to)
    }
    let page = try diff("html")
    #expect(page.status == 1)
    #expect(page.text.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">"))
    #expect(page.text.contains("<title>What changed from Moody to Moody 6</title>"))
    #expect(page.text.contains("<svg "))
    #expect(!page.text.contains("<script"))
    let dot = try diff("dot")
    #expect(dot.text.hasPrefix("digraph model {\n"))
    #expect(dot.text.contains("[label=\"~ Country\\l"))
    let mermaid = try diff("mermaid")
    #expect(mermaid.text.hasPrefix("classDiagram\n  class E0["))
    let same = try diff("html", "Moody")
    #expect(same.status == 0)
    #expect(same.text.contains("Nothing: the two models are equal."))
    let both = try Program.run(
      "model", "diff", "--json", "--format", "dot", moody.models.path, moody.models.path)
    #expect(both.status == 64)
    #expect(try diff("picture").status == 64)
  }
}
