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
    let app = incident.app.name
    let when = Timestamp.text(incident.created)
    if incident.kind == .replaced {
      return .init(
        title: "Your newer \(app) data was put aside",
        whatHappened:
          "On \(when) your earlier data was brought back. The data that was in use until then was put aside to make room.",
        whatWasKept: "Nothing was deleted. It is in this folder:\n\(incident.folder)/store",
        whatToDo: "You need to do nothing. Keep the folder as long as you may want that data.")
    }
    let cause =
      switch incident.verdict.finding {
      case .incompatible: "it was saved by a different version of \(app)"
      case .newer: "it was saved by a newer version of \(app)"
      case .corrupt: "the file is damaged"
      case .foreign: "the file is not one that \(app) can read"
      case .healthy, .unavailable, .hostError: "of a technical problem"
      }
    return .init(
      title: "Your \(app) data could not be opened, and is safe",
      whatHappened:
        "On \(when) \(app) \(incident.app.version) could not open your data, because \(cause). So that you can go on, \(app) started with new, empty data.",
      whatWasKept:
        "Nothing was deleted. All of your earlier data is in this folder:\n\(incident.folder)/store",
      whatToDo:
        "Keep this folder, and do not change what is in it. Contact the support of \(app) and mention the number \(incident.id). They can tell you how to get your data back. An update of \(app) may also be able to open it again."
    )
  }
}
