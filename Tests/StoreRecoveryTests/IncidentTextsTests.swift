import SafeFiles
import StoreFiles
import Foundation
import Testing

@testable import StoreRecovery

/// An incident that no disk has seen.
func incidentOnPaper(
  _ finding: Verdict.Finding, app: String = "Done", kind: Incident.Kind = .setAside,
  evidence: StoreEvidence = StoreEvidence(mainKind: .file),
  texts: IncidentTexts = IncidentTexts(preferring: ["en"], timeZone: nil)
) -> Incident {
  let verdict = Verdict(finding: finding, action: .quarantine, reason: "", rule: .sqlite(11))
  return Incident(
    Judgement(evidence: evidence, verdict: verdict),
    app: .init(name: app, version: "2.1"), storeName: "Done.sqlite", id: Workbench.stamp,
    folder: "/Stores/Incompatible/\(Workbench.stamp)", created: Workbench.now, kind: kind,
    texts: texts)
}

@Suite struct IncidentTextsTests {
  static let languages = ["en", "de", "fr", "es", "nb", "ja", "zh-Hans"]

  /// What nobody should have to read, in any of the languages.
  static let jargon = [
    "quarant", "schema", "schéma", "hash", "corrupt", "korrupt", "sqlite", "verdict", "verdikt",
    "store set", "wal", "metadata", "metadaten", "oops", "ups", "hoppla", "隔离", "隔離", "データベース",
    "数据库", "sorry", "lo sentimos", "désol", "beklager", "申し訳", "抱歉",
  ]

  private static func isCalm(_ text: String) -> String? {
    let lower = text.lowercased()
    if let word = jargon.first(where: { lower.contains($0) }) { return word }
    // A path, a placeholder that was not filled, an exclamation, a stray blank, a typewriter's quote.
    return ["/", "\\", "{", "}", "!", "！", "  ", " \n", "'", "\""].first { text.contains($0) }
  }

  /// Whatever happened: that nothing is lost and what to do, in plain words and without a path.
  @Test(arguments: languages, ["Done", "", " \n"])
  func everyIncident(language: String, app: String) throws {
    let texts = IncidentTexts(preferring: [language], timeZone: nil)
    let date = Date(timeIntervalSince1970: 1_795_300_000)
    let outcomes = [
      nil, IncidentOutcome(kind: .restored, date: date),
      IncidentOutcome(kind: .putBack, date: date),
    ]
    var encrypted = StoreEvidence(mainKind: .file)
    encrypted.looksEncrypted = true
    // Most texts come many times.
    var seen: Set<String> = []
    for finding in Verdict.Finding.allCases {
      for evidence in [StoreEvidence(mainKind: .file), encrypted] {
        for kind in Incident.Kind.allCases {
          for outcome in outcomes {
            let incident = incidentOnPaper(
              finding, app: app, kind: kind, evidence: evidence, texts: texts)
            let notice = incident.notice(in: texts, outcome: outcome)
            let all = [
              notice.title, notice.whatHappened, notice.whatWasKept, notice.whatToDo,
              notice.besideNote ?? "-",
            ]
            for text in all where seen.insert(text).inserted {
              #expect(!text.isEmpty)
              #expect(Self.isCalm(text) == nil, "\(text)")
            }
            #expect(notice.language == language)
            #expect(!notice.title.contains("\n"))
            #expect(all[1].contains("2026"))
            #expect(all[1].contains("(UTC)"))
            if app == "Done", kind == .setAside { #expect(all[1].contains("Done")) }
            #expect((notice.besideNote == nil) == (outcome != nil))
            guard outcome == nil else { continue }
            #expect(notice == incident.notice)
            #expect(notice.whatToDo.contains(Workbench.stamp))
            #expect(incident.plainText.contains("store"))
            #expect(!incident.plainText.contains("/"))
          }
        }
      }
    }
  }

  @Test(arguments: languages, ["Done", ""])
  func everyFailure(language: String, app: String) throws {
    let texts = IncidentTexts(preferring: [language])
    for situation in Situation.allCases {
      let notice = texts.notice(of: situation, app: app)
      for text in [notice.title, notice.whatHappened, notice.whatToDo] {
        #expect(!text.isEmpty)
        #expect(Self.isCalm(text) == nil, "\(text)")
      }
      #expect(notice.language == language)
      let isFailure = ![.replaced, .restored].contains(situation)
      #expect(notice.situation == (isFailure ? situation : .technical))
    }
  }

  /// Each situation reads differently: a key is no damage, and a full disk is no lock.
  @Test(arguments: languages)
  func situationsDiffer(language: String) throws {
    let words = try #require(NoticeWords.all[language])
    #expect(Set(words.failed.values.map(\.whatHappened)).count == words.failed.count)
    #expect(Set(words.kept.values.map(\.whatHappened)).count == words.kept.count)
    let damage = ["damage", "beschädigt", "endommagé", "dañad", "skadet", "破損", "损坏"]
    for (situation, notice) in words.failed
    where ![.damaged, .encrypted, .storageFault].contains(situation) {
      let text = notice.title + notice.whatHappened + notice.whatToDo
      for word in damage { #expect(!text.contains(word), "\(situation): \(text)") }
    }
  }

  /// Of a large set only the log is copied, so no language promises a copy of everything.
  @Test(arguments: languages)
  func aCopyOfTheLogIsNotCalledComplete(language: String) throws {
    let words = try #require(NoticeWords.all[language])
    let kept = try #require(words.kept[.newestMissing]).whatWasKept
    let all = ["omplete", "vollständig", "complète", "completa", "fullstendig", "全体", "完整"]
    for word in all { #expect(!kept.contains(word), "\(kept)") }
  }

  /// Nothing is said in one language only, and no translation lost a value.
  @Test(arguments: languages)
  func translationsAreWhole(language: String) throws {
    let words = try #require(NoticeWords.all[language])
    let english = NoticeWords.english
    #expect(Set(words.kept.keys) == Set(english.kept.keys))
    #expect(Set(words.failed.keys) == Set(english.failed.keys))
    func has(_ name: String, _ notice: Incident.Notice) -> Bool {
      [notice.title, notice.whatHappened, notice.whatWasKept, notice.whatToDo].contains {
        $0.contains(name)
      }
    }
    for (situation, notice) in words.kept {
      let other = try #require(english.kept[situation])
      for name in ["{date}", "{reference}"] {
        #expect(has(name, notice) == has(name, other), "\(situation) \(name)")
      }
    }
    #expect(words.besideNote.contains("store"))
    #expect(words.inFolder.contains("\n{folder}"))
    var all = words.kept.values.flatMap {
      [$0.title, $0.whatHappened, $0.whatWasKept, $0.whatToDo]
    }
    all += words.failed.values.flatMap { [$0.title, $0.whatHappened, $0.whatToDo] }
    for text in all {
      let names = text.split(separator: "{").dropFirst().map { $0.prefix { $0 != "}" } }
      #expect(Set(names).isSubset(of: ["app", "App", "date", "reference"]), "\(text)")
      if ["ja", "zh-Hans"].contains(language) {
        for sign in [",", ".", ";", ":", "?", " "] { #expect(!text.contains(sign), "\(text)") }
      } else {
        // Titles have no full stop, paragraphs have one; a sentence does not begin with a small "the app".
        #expect(!text.contains(". {app}"), "\(text)")
        #expect(!text.hasPrefix("{app}"), "\(text)")
      }
      if language == "fr" {
        for sign in [" :", " ;", " ?", "« ", " »"] { #expect(!text.contains(sign), "\(text)") }
      }
    }
  }

  @Test func wordsOfAMismatch() {
    #expect(
      incidentOnPaper(.incompatible).plainText == """
        Your earlier data was kept, but could not be opened

        On 20 November 2026 at 21:53 (UTC), Done could not open your data, because it was saved by a different version of the app. Done then started with new, empty data, so that you can carry on.

        Nothing was deleted. Your earlier data is still in the app’s storage, unchanged and separate from the new data.
        The kept data is in the folder “store” next to this note.

        An update of the app may be able to open your earlier data again. Please do not delete the app, as this could delete the kept data too. If you need help, contact the app’s support and give this reference: 2026-11-20-21-53-07Z.

        """)
  }

  @Test func pathOnlyWhenAskedFor() {
    let incident = incidentOnPaper(.corrupt)
    let texts = IncidentTexts(preferring: ["de"])
    let moved = "/var/New/Incompatible/\(incident.id)"
    let notice = incident.notice(in: texts, showingFolder: moved)
    #expect(
      notice.whatWasKept.hasSuffix(
        "\nDie aufbewahrten Daten liegen in diesem Ordner:\n\(moved)/store"))
    let back = IncidentOutcome(kind: .restored, date: Workbench.now)
    let gone = incident.notice(in: texts, outcome: back, showingFolder: moved)
    #expect(!gone.whatWasKept.contains("/"))
    #expect(gone.title == "Ihre früheren Daten sind wieder da")
  }

  @Test func encryptedIsNoDamage() {
    var evidence = StoreEvidence(mainKind: .file)
    evidence.looksEncrypted = true
    let notice = incidentOnPaper(.foreign, evidence: evidence).notice
    #expect(notice.whatHappened.contains("appears to be encrypted"))
    #expect(notice.whatHappened.contains("not a sign of damage"))
  }

  /// A name is a value: braces in it are not looked up.
  @Test func hostileAppName() {
    let texts = IncidentTexts(preferring: ["en"])
    let name = "{date}{reference}{ {app"
    let notice = texts.notice(of: .technical, app: name)
    #expect(notice.whatHappened.contains("kept \(name) from opening"))
    #expect(NoticeWords.fill("{unknown} {app} }{ {", ["app": "x"]) == "{unknown} x }{ {")
  }

  // MARK: A host's own words

  @Test func hostChangesASentence() {
    var texts = IncidentTexts(preferring: ["de", "en"])
    texts.words["de"]?.failed[.diskFull]?.title = "Kein Platz für {app}"
    #expect(texts.notice(of: .diskFull, app: "Done").title == "Kein Platz für „Done“")
    #expect(texts.notice(of: .inUse, app: "Done").title == "Ihre Daten werden gerade verwendet")
    // What a language does not have is said in the next one.
    texts.words["de"]?.failed[.inUse] = nil
    #expect(texts.notice(of: .inUse, app: "Done").language == "en")
  }

  @Test func hostAddsALanguage() throws {
    var texts = IncidentTexts(preferring: ["pt-BR", "de"])
    texts.words["pt-BR"] = NoticeWords(
      unnamedApp: ("o app", "O app"), quotes: ("", ""), date: { "\($0.day)/\($0.month)" },
      kept: [
        .damaged: .init(title: "t", whatHappened: "{date} {app}", whatWasKept: "k", whatToDo: "d")
      ], failed: [:], besideNote: "b", inFolder: "{folder}")
    let notice = incidentOnPaper(.corrupt, texts: texts).notice
    #expect(notice.whatHappened == "20/11 Done")
    #expect(notice.language == "pt-BR")
    #expect(texts.notice(of: .inUse, app: "").language == "de")
  }

  @Test func hostReplacesAll() {
    let texts = IncidentTexts(
      notice: { .init(title: $0.id, whatHappened: "a", whatWasKept: "b", whatToDo: "c") },
      failure: { .init(title: "\($0) \($1)", whatHappened: "x", whatToDo: "y") })
    let incident = incidentOnPaper(.corrupt, texts: texts)
    #expect(incident.plainText == "2026-11-20-21-53-07Z\n\na\n\nb\n\nc\n")
    #expect(incident.notice.language == nil)
    #expect(texts.notice(of: .inUse, app: "Done").title == "inUse Done")
  }

  @Test func languageSurvivesTheRecord() throws {
    let incident = incidentOnPaper(.corrupt, texts: IncidentTexts(preferring: ["ja-JP"]))
    let read = try JSONDecoder().decode(Incident.self, from: JSONEncoder().encode(incident))
    #expect(read.notice.language == "ja")
    #expect(read.plainText == incident.plainText)
    // Support reads the same incident in its own language.
    let english = read.notice(in: IncidentTexts(preferring: ["en-GB"]))
    #expect(english.title == "Your earlier data was kept, but could not be opened")
  }

  /// Writes every text into a file, for reading them: `LIFEBOAT_TEXTS=texts.txt swift test --filter everyText`.
  @Test func everyText() throws {
    guard let path = ProcessInfo.processInfo.environment["LIFEBOAT_TEXTS"] else { return }
    var all = ""
    for language in Self.languages {
      let texts = IncidentTexts(
        preferring: [language], timeZone: TimeZone(identifier: "Europe/Oslo"))
      for app in ["Done", ""] {
        all += "==== \(language), app \(app.isEmpty ? "without a name" : app)\n\n"
        for (name, notice) in incidents(app, texts) {
          let place = notice.besideNote.map { "\n" + $0 } ?? ""
          all += "-- kept, \(name)\n\(notice.title)\n\(notice.whatHappened)\n"
          all += "\(notice.whatWasKept)\(place)\n\(notice.whatToDo)\n\n"
        }
        for situation in Situation.allCases where ![.replaced, .restored].contains(situation) {
          let notice = texts.notice(of: situation, app: app)
          all += "-- failed, \(situation)\n\(notice.title)\n\(notice.whatHappened)\n"
          all += "\(notice.whatToDo)\n\n"
        }
      }
    }
    try Data(all.utf8).write(to: URL(fileURLWithPath: path))
  }

  private func incidents(
    _ app: String, _ texts: IncidentTexts
  ) -> [(name: String, notice: Incident.Notice)] {
    var encrypted = StoreEvidence(mainKind: .file)
    encrypted.looksEncrypted = true
    var incidents = [Verdict.Finding.incompatible, .newer, .corrupt, .foreign, .hostError].map {
      (incidentOnPaper($0, app: app, texts: texts), IncidentOutcome?.none)
    }
    incidents += [
      (incidentOnPaper(.foreign, app: app, evidence: encrypted, texts: texts), nil),
      (incidentOnPaper(.healthy, app: app, kind: .replaced, texts: texts), nil),
      (incidentOnPaper(.corrupt, app: app, kind: .copied, texts: texts), nil),
      (incidents[0].0, IncidentOutcome(kind: .restored, date: Workbench.now)),
      (incidents[0].0, IncidentOutcome(kind: .putBack, date: Workbench.now)),
    ]
    return incidents.map { incident, outcome in
      ("\(Situation(incident, outcome: outcome))", incident.notice(in: texts, outcome: outcome))
    }
  }
}
