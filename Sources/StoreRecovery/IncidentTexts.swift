/// The words that an incident has for the user. A host replaces them to translate them or to use its own.
public struct IncidentTexts: Sendable {
  /// Makes the notice of an incident. The incident's own notice is empty at this point.
  public var notice: @Sendable (Incident) -> Incident.Notice

  /// The default words, in English.
  public init() {
    notice = { Self.english($0) }
  }

  /// The host's own words.
  public init(notice: @escaping @Sendable (Incident) -> Incident.Notice) {
    self.notice = notice
  }

  private static func english(_ incident: Incident) -> Incident.Notice {
    let app = incident.app.name.isEmpty ? "the app" : incident.app.name
    let when = Timestamp.text(incident.created)
    let folder = "\(incident.folder)/store"
    if incident.kind == .replaced {
      return .init(
        title: "Your earlier data is back, and the newer data was kept",
        whatHappened:
          "On \(when) your earlier data was brought back. What \(app) had saved since then was moved to another folder, so that both are kept.",
        whatWasKept: "Nothing was deleted. The newer data is in this folder:\n\(folder)",
        whatToDo:
          "You do not need to do anything. Keep the folder for as long as you may want that data.")
    }
    let cause =
      switch incident.verdict.finding {
      case .incompatible: "it was saved by a different version of \(app)"
      case .newer: "it was saved by a newer version of \(app)"
      case .corrupt: "the file that holds it is damaged"
      case .foreign: "the file is not one that \(app) can read"
      case .healthy, .unavailable, .hostError: "of a technical problem"
      }
    return .init(
      title: "Your earlier \(app) data was kept, but could not be opened",
      whatHappened:
        "On \(when) \(app) could not open your data, because \(cause). So that you can go on using it, \(app) has started with new, empty data.",
      whatWasKept:
        "Nothing was deleted. Everything that was there is in this folder:\n\(folder)",
      whatToDo:
        "Please keep this folder, and do not change anything in it. Then contact \(app) support and give them this reference: \(incident.id). They can look into getting your data back. An update of \(app) may also be able to open it again."
    )
  }
}
