import CoreDataStore
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct IncidentTextsTests {
  private func incident(
    _ finding: Verdict.Finding, app: String = "Done", kind: Incident.Kind = .setAside
  ) -> Incident {
    let verdict = Verdict(finding: finding, action: .quarantine, reason: "", rule: "")
    return Incident(
      Judgement(evidence: StoreEvidence(mainKind: .file), verdict: verdict),
      app: .init(name: app, version: "2.1"), storeName: "Done.sqlite", id: Workbench.stamp,
      folder: "/Stores/Incompatible/\(Workbench.stamp)", created: Workbench.now, kind: kind,
      texts: IncidentTexts())
  }

  /// Whatever happened: that nothing is lost, where it is and what to do, without the words of engineers.
  @Test(arguments: Verdict.Finding.allCases, ["Done", ""])
  func everyText(finding: Verdict.Finding, app: String) {
    for kind in [Incident.Kind.setAside, .replaced] {
      let text = incident(finding, app: app, kind: kind).plainText
      #expect(text.contains("Nothing was deleted."))
      #expect(text.contains("/Stores/Incompatible/\(Workbench.stamp)/store"))
      #expect(text.contains("2026-11-20 21:53 UTC"))
      #expect(!text.contains("  "))
      for word in ["quarantine", "schema", "hash", "corrupt", "SQLite", "verdict", "store set"] {
        #expect(!text.contains(word))
      }
      if kind == .setAside { #expect(text.contains("reference: \(Workbench.stamp)")) }
    }
  }

  @Test func wordsOfAMismatch() {
    #expect(
      incident(.incompatible).plainText == """
        Your earlier Done data was kept, but could not be opened

        On 2026-11-20 21:53 UTC Done could not open your data, because it was saved by a different version of Done. So that you can go on using it, Done has started with new, empty data.

        Nothing was deleted. Everything that was there is in this folder:
        /Stores/Incompatible/2026-11-20-21-53-07Z/store

        Please keep this folder, and do not change anything in it. Then contact Done support and give them this reference: 2026-11-20-21-53-07Z. They can look into getting your data back. An update of Done may also be able to open it again.

        """)
  }
}
