import Foundation

/// The words of the notices in one language. A host edits them, or adds a language, through ``IncidentTexts/words``.
///
/// In all texts, `{app}` stands for the app's name within a sentence, and `{App}` for the app's name at the start of a
/// sentence. In ``kept`` and ``besideNote``, `{date}` stands for the time of the incident and `{reference}` for its id.
/// In ``inFolder``, `{folder}` stands for the path of the kept files.
public struct NoticeWords: Sendable {
  /// A date and a time of day, in the time zone of the texts.
  public struct Time: Sendable {
    /// The year, 0 to 9999.
    public let year: Int
    /// The month, 1 to 12.
    public let month: Int
    /// The day of the month, 1 to 31.
    public let day: Int
    /// The hour, 0 to 23.
    public let hour: Int
    /// The minute, 0 to 59.
    public let minute: Int
    /// The region of the user's language tag, for example `US`; nil when the tag names no region.
    public let region: String?

    /// The minute in two digits.
    public var paddedMinute: String { minute < 10 ? "0\(minute)" : "\(minute)" }
    /// The hour in two digits.
    public var paddedHour: String { hour < 10 ? "0\(hour)" : "\(hour)" }
  }

  /// The words for an app without a name, within a sentence and at its start.
  public var unnamedApp: (inside: String, first: String)
  /// The quotation marks around an app's name; both may be empty.
  public var quotes: (opening: String, closing: String)
  /// Formats a time for the middle of a sentence.
  public var date: @Sendable (Time) -> String
  /// The notices about stores that are kept in a quarantine, one for each situation in which a store is set aside.
  public var kept: [Situation: Incident.Notice]
  /// The notices about failures, one for each situation in which no store was moved.
  public var failed: [Situation: FailureNotice]
  /// The sentence that says where the kept files are, in a note that lies beside the folder of these files.
  public var besideNote: String
  /// The sentence that names the path of the kept files, for a user who asked for the path.
  public var inFolder: String

  /// Creates the texts of a notice in one language. For a situation that `kept` or `failed` lacks, the notice is in the
  /// user's next preferred language or, at last, in English.
  public init(
    unnamedApp: (inside: String, first: String), quotes: (opening: String, closing: String),
    date: @escaping @Sendable (Time) -> String, kept: [Situation: Incident.Notice],
    failed: [Situation: FailureNotice], besideNote: String, inFolder: String
  ) {
    self.unnamedApp = unnamedApp
    self.quotes = quotes
    self.date = date
    self.kept = kept
    self.failed = failed
    self.besideNote = besideNote
    self.inFolder = inFolder
  }

  /// The words of the languages that come with the package, by language tag.
  package static let all: [String: NoticeWords] = [
    "en": english, "de": german, "fr": french, "es": spanish, "nb": norwegian, "ja": japanese,
    "zh-Hans": simplifiedChinese,
  ]

  /// The values that replace `{app}` and `{App}`.
  package func names(of app: String) -> [String: String] {
    let name = app.trimmingCharacters(in: .whitespacesAndNewlines)  // characters: a set of scalars
    guard !name.isEmpty else { return ["app": unnamedApp.inside, "App": unnamedApp.first] }
    let quoted = quotes.opening + name + quotes.closing
    return ["app": quoted, "App": quoted]
  }

  /// Replaces each name in braces in `text` with its value. Names inside an inserted value are not replaced; a name
  /// without a value stays as it is.
  package static func fill(_ text: String, _ values: [String: String]) -> String {
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let open = rest.firstIndex(of: "{") {  // characters: a view of scalars
      result += rest[..<open]
      rest = rest[open...]
      guard let close = rest.firstIndex(of: "}"),  // characters: a view of scalars
        let value = values[String(rest[rest.index(after: open)..<close])]
      else {
        result.append("{")
        rest = rest.dropFirst()
        continue
      }
      result += value.unicodeScalars
      rest = rest[rest.index(after: close)...]
    }
    return String(result + rest)
  }
}
