/// The text that tells the user about a failed open after which the store is still in its place.
public struct FailureNotice: Sendable, Codable, Equatable {
  /// The headline, one line.
  public var title: String
  /// What happened, and that nothing was deleted.
  public var whatHappened: String
  /// What the user can do.
  public var whatToDo: String
  /// The kind of failure that the notice is about, for example to offer a button; nil if the words are the host's own.
  public internal(set) var situation: Situation?
  /// The language of the words, a BCP 47 tag; nil if the words are the host's own.
  public internal(set) var language: String?

  /// Creates a notice from its parts.
  public init(title: String, whatHappened: String, whatToDo: String) {
    self.title = title
    self.whatHappened = whatHappened
    self.whatToDo = whatToDo
  }
}

extension FailedOpen {
  /// The notice that tells the user about this failure.
  ///
  /// - Parameters:
  ///   - texts: The words and their language.
  ///   - app: The app's name; empty for an app without a name.
  /// - Returns: The notice, which says what kind of failure it is.
  public func notice(in texts: IncidentTexts, app: String) -> FailureNotice {
    // Without evidence, only Lifeboat's own error says what happened.
    let own = evidence == nil ? (error as? StoreRecoveryError).map { Situation($0) } : nil
    return texts.notice(
      of: own ?? Situation(verdict, evidence: evidence) ?? .technical, app: app)
  }

  /// What support needs to know about this failure, in English.
  public func supportText(app: Recovery.App) -> String {
    verdict.supportText(evidence: evidence, app: app)
  }
}
