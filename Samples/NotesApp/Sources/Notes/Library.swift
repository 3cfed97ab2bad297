import Foundation
import GRDB
import StoreRecovery

/// The folder with the user's notes, and the way into it: the part of the app that runs at launch.
struct Library {
  let folder: URL
  let release: Release
  let log: EventLog

  init(folder: URL, release: Release) {
    self.folder = folder
    self.release = release
    log = EventLog(folder.appendingPathComponent("events.log"), release: release)
  }

  var storeURL: URL { folder.appendingPathComponent("Notes.sqlite") }
  var incidents: Incidents { Incidents(in: folder) }

  /// Opens the notes, or, where this release can never open them, fresh ones. Run it once, before anything
  /// else touches the database.
  ///
  /// - Throws: ``LaunchFailure`` when the notes stay where they are and the user has to do something.
  func open() throws -> NoteStore {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var policy = Policy.grdb { SchemaError.finding(of: $0) }
    policy.report = { [log] event in log.add(event) }
    policy.texts = IncidentTexts { Self.notice($0) }
    let recovery = StoreRecovery(
      storeURL, app: .init(name: "Notes", version: release.rawValue), policy: policy)
    let opened: Opened<DatabasePool>
    do {
      opened = try recovery.open(connect: { try DatabasePool(path: $0) }) { pool in
        try release.prepare(pool)
      }
    } catch {
      // Lifeboat throws what the opener threw. What that means for the user is in the verdict.
      throw LaunchFailure(verdict: log.lastVerdict, cause: error)
    }
    if let incident = opened.incident {
      // Now, and in a file for later: a notice that flashes by once is soon forgotten.
      show(incident.notice)
      try EarlierNotes(self).writeLetter()
    }
    return NoteStore(database: opened.handle, url: storeURL)
  }

  /// Lifeboat's own words, with what only this app can add: its command, and what support would like to have.
  private static func notice(_ incident: Incident) -> Incident.Notice {
    var notice = IncidentTexts().notice(incident)
    notice.whatToDo += """

      To see this again: notes earlier
      Support can do most with a bundle, which holds no text of your notes:
        lifeboat bundle create "\(incident.folder)" -o notes-support.zip
      """
    return notice
  }

  private func show(_ notice: Incident.Notice) {
    tell(
      """

      * \(notice.title)

      \(notice.whatHappened)

      \(notice.whatWasKept)

      \(notice.whatToDo)

      """)
  }
}

/// The notes could not be opened, and are where they were.
struct LaunchFailure: Error {
  /// What Lifeboat made of it; nil when the failure was none of the store's.
  let verdict: Verdict?
  let cause: any Error

  /// What the user is told. Only a verdict knows whether waiting helps, so no error text is shown here.
  var text: String {
    switch (verdict?.finding, verdict?.action) {
    case (.newer, _):
      "These notes were saved by a newer version of Notes. Please update the app. Nothing was changed."
    case (_, .wait), (_, .retry):
      "Your notes cannot be opened just now: \(reason). They are safe. Please try again in a while."
    default:
      "Your notes could not be opened: \(reason). They are where they were, unchanged. Please contact support."
    }
  }

  /// As in sysexits.h: 75 try again, 65 not for this version.
  var exitCode: Int32 {
    switch verdict?.action {
    case .wait, .retry: 75
    default: 65
    }
  }

  private var reason: String { verdict?.reason ?? "\(cause)" }
}
