public import Foundation
import StoreRecovery

/// The text with which an app asks its user before a bundle leaves the device. The text says what is in the bundle and
/// who can read the bundle.
///
/// The text exists in English, German, French, Spanish, Norwegian (Bokmål), Japanese and Simplified Chinese.
public struct ConsentText: Sendable, Equatable {
  /// The language, as a BCP 47 tag.
  public let language: String
  /// The title of a dialog.
  public let title: String
  /// The paragraphs of the dialog: why the app asks, what is in the file, who can read the file, and that the user
  /// decides.
  public let paragraphs: [String]
  /// The titles of two buttons: `send` sends the file, and `keep` does not.
  public let buttons: (send: String, keep: String)

  /// Whether two consent texts have the same language and the same words.
  public static func == (one: Self, other: Self) -> Bool {
    one.language == other.language && one.title == other.title
      && one.paragraphs == other.paragraphs && one.buttons == other.buttons
  }
}

extension BundleRequest {
  /// Returns the text that asks the user for consent before a bundle made from this request is sent.
  ///
  /// - Parameters:
  ///   - app: the name of the app; empty for an app without a name.
  ///   - languages: the user's languages as BCP 47 tags, most preferred first. The text is in English if it does not
  ///     exist in any of these languages.
  /// - Returns: the text, and in ``ConsentText/language`` its language.
  public func consentText(
    app: String, preferring languages: [String] = Locale.preferredLanguages
  ) -> ConsentText {
    let best = LanguageTag.best(of: ConsentWords.all.keys, preferring: languages)
    let language = best?.language ?? "en"
    let words = ConsentWords.all[language] ?? .english
    let names = (NoticeWords.all[language] ?? .english).names(of: app)
    let contents =
      switch (contents, redaction) {
      case (.structure, _): words.structure
      case (.store, _): words.store
      case (.rows, .none): words.values
      case (.rows, .values(except: .nothing)): words.tokens
      case (.rows, .values): words.tokens + words.joint + words.listed
      }
    let sentences = [
      words.why, contents, encryption == nil ? words.open : words.sealed, words.choice,
    ]
    return ConsentText(
      language: language, title: NoticeWords.fill(words.title, names),
      paragraphs: sentences.map { NoticeWords.fill($0, names) }, buttons: words.buttons)
  }
}
