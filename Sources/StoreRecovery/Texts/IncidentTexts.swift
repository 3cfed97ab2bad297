public import Foundation

/// Makes the notices for the user: about incidents, and about failed opens that moved no store.
///
/// The package's notices are in English, German, French, Spanish, Norwegian (Bokmål), Japanese and Simplified Chinese.
/// A host can change a sentence or add a language in ``words``, or replace all notices with its own closures:
///
/// ```swift
/// var texts = IncidentTexts(preferring: Bundle.main.preferredLocalizations)
/// texts.words["de"]?.failed[.diskFull]?.title = "Kein Platz mehr"
/// policy.texts = texts
/// ```
public struct IncidentTexts: Sendable {
  /// The words of each available language, by BCP 47 tag, for example `nb` or `zh-Hans`.
  public var words: [String: NoticeWords]
  /// The user's languages, most preferred first, as BCP 47 tags. The first language in which the texts exist is used.
  /// If they exist in none of these languages, English is used.
  public var preferredLanguages: [String]
  /// The time zone for dates; nil for UTC, in which case the text names UTC.
  public var timeZone: TimeZone?

  private var ownNotice: (@Sendable (Incident) -> Incident.Notice)?
  private var ownFailure: (@Sendable (_ situation: Situation, _ app: String) -> FailureNotice)?

  /// Creates texts with the package's words, in the user's language.
  ///
  /// - Parameters:
  ///   - languages: The user's languages. If the app is not localized in each of these languages, pass
  ///     `Bundle.main.preferredLocalizations`, so that the notice is in the app's language.
  ///   - timeZone: The time zone for dates; nil for UTC.
  public init(
    preferring languages: [String] = Locale.preferredLanguages, timeZone: TimeZone? = .current
  ) {
    words = NoticeWords.all
    preferredLanguages = languages
    self.timeZone = timeZone
  }

  /// Creates texts from the host's own words.
  ///
  /// - Parameters:
  ///   - notice: Makes the notice of an incident. ``Incident/notice`` is still empty at this point.
  ///   - failure: Makes the notice of a failed open that moved no store; nil for the package's words.
  public init(
    notice: @escaping @Sendable (Incident) -> Incident.Notice,
    failure: (@Sendable (_ situation: Situation, _ app: String) -> FailureNotice)? = nil
  ) {
    self.init()
    ownNotice = notice
    ownFailure = failure
  }

  /// The notice of a store that is in a quarantine.
  ///
  /// - Parameters:
  ///   - incident: The record of the store.
  ///   - outcome: What became of the store later; nil while it is still in the quarantine.
  ///   - folder: The current path of the quarantine's folder, to name it in the text; nil to name no path.
  /// - Returns: The notice in the first preferred language that has words for it.
  public func notice(
    of incident: Incident, outcome: IncidentOutcome? = nil, showingFolder folder: String? = nil
  ) -> Incident.Notice {
    // A host's closure does not know the outcome of a set.
    if let ownNotice, outcome == nil { return ownNotice(incident) }
    let situation = Situation(incident, outcome: outcome)
    let choice = choice { $0.kept[situation] != nil }
    let words = choice.words
    var notice =
      words.kept[situation] ?? NoticeWords.english.kept[situation]
      ?? .init(title: "", whatHappened: "", whatWasKept: "", whatToDo: "")
    var values = words.names(of: incident.app.name)
    values["date"] = date(incident.created, words, region: choice.region)
    values["reference"] = incident.id
    notice.title = NoticeWords.fill(notice.title, values)
    notice.whatHappened = NoticeWords.fill(notice.whatHappened, values)
    notice.whatWasKept = NoticeWords.fill(notice.whatWasKept, values)
    notice.whatToDo = NoticeWords.fill(notice.whatToDo, values)
    notice.language = choice.language
    if outcome == nil {
      notice.besideNote = NoticeWords.fill(words.besideNote, values)
      if let folder {
        values["folder"] = Incidents.keptFolder(in: folder)
        notice.whatWasKept += "\n" + NoticeWords.fill(words.inFolder, values)
      }
    }
    return notice
  }

  /// Returns a copy of these texts that prefers `language`, the language of an existing note. If `language` is nil,
  /// returns these texts unchanged.
  func preferring(_ language: String?) -> IncidentTexts {
    guard let language else { return self }
    var texts = self
    texts.preferredLanguages.insert(language, at: 0)
    return texts
  }

  /// The notice of a failed open that moved no store.
  ///
  /// - Parameters:
  ///   - verdict: The verdict, for example from ``RecoveryEvent/judged(_:)``.
  ///   - evidence: The evidence for the verdict, if available.
  ///   - app: The app's name; empty for an app without a name.
  /// - Returns: The notice; nil when the verdict says that nothing is wrong.
  public func notice(
    of verdict: Verdict, evidence: StoreEvidence? = nil, app: String
  ) -> FailureNotice? {
    Situation(verdict, evidence: evidence).map { notice(of: $0, app: app) }
  }

  /// The notice of a failed open that moved no store.
  ///
  /// - Parameters:
  ///   - situation: The failure. ``Situation/replaced`` and ``Situation/restored`` are not failures, and get the notice
  ///     of ``Situation/technical``.
  ///   - app: The app's name; empty for an app without a name.
  /// - Returns: The notice in the first preferred language that has words for it.
  public func notice(of situation: Situation, app: String) -> FailureNotice {
    if let ownFailure { return ownFailure(situation, app) }
    let known = NoticeWords.english.failed[situation] == nil ? .technical : situation
    let choice = choice { $0.failed[known] != nil }
    var notice =
      choice.words.failed[known] ?? .init(title: "", whatHappened: "", whatToDo: "")
    let values = choice.words.names(of: app)
    notice.title = NoticeWords.fill(notice.title, values)
    notice.whatHappened = NoticeWords.fill(notice.whatHappened, values)
    notice.whatToDo = NoticeWords.fill(notice.whatToDo, values)
    notice.situation = known
    notice.language = choice.language
    return notice
  }

  private struct Choice {
    let language: String
    let region: String?
    let words: NoticeWords
  }

  /// Returns the words in the first preferred language for which `isFit` returns true. Returns the English words if
  /// there is no such language.
  private func choice(_ isFit: (NoticeWords) -> Bool) -> Choice {
    let fitting = words.filter { isFit($0.value) }
    if let best = LanguageTag.best(of: fitting.keys, preferring: preferredLanguages),
      let words = fitting[best.language]
    {
      return Choice(language: best.language, region: best.region, words: words)
    }
    return Choice(language: "en", region: nil, words: fitting["en"] ?? .english)
  }

  private func date(_ date: Date, _ words: NoticeWords, region: String?) -> String {
    let whole = Timestamp.wholeSeconds(date)
    let offset = timeZone?.secondsFromGMT(for: whole) ?? 0
    let local = Timestamp.fields(whole.addingTimeInterval(Double(offset)))
    let text = words.date(
      .init(
        year: local.year, month: local.month, day: local.day, hour: local.hour,
        minute: local.minute, region: region))
    return timeZone == nil ? text + " (UTC)" : text
  }
}

extension Incident {
  /// Makes the notice of this incident anew with `texts`: in another language, with the later outcome, or with the path
  /// of the kept files for a user who asked for the path.
  ///
  /// - Parameters:
  ///   - texts: The words and their language.
  ///   - outcome: What became of the store later; nil while it is still in the quarantine.
  ///   - folder: The current path of the quarantine's folder (``Incidents/Entry/folder``), to name it in the text; nil
  ///     to name no path.
  /// - Returns: The new notice. The notice in the record stays as it is.
  public func notice(
    in texts: IncidentTexts, outcome: IncidentOutcome? = nil, showingFolder folder: String? = nil
  ) -> Notice {
    texts.notice(of: self, outcome: outcome, showingFolder: folder)
  }
}
