import Foundation
import GRDB
import StoreRecovery

/// The folder with the user's notes, and how it is opened: the part of the app that runs at launch.
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
  var app: Recovery.App { .init(name: "Notes", version: release.rawValue) }
  /// Lifeboat's words, in the user's language. An app with languages of its own prefers
  /// `Bundle.main.preferredLocalizations`.
  var texts: IncidentTexts { IncidentTexts() }
  var incidents: Incidents { Incidents(in: folder) }

  /// Opens the notes, or, where this release can never open them, fresh ones. Run it once, before anything
  /// else touches the database.
  ///
  /// - Throws: ``LaunchFailure`` when the notes stay where they are and the user has to do something.
  func open() throws -> NoteStore {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var policy = Policy()
    policy.meaning = { SchemaError.meaning(of: $0) }
    policy.report = { [log] event in log.add(event) }
    policy.texts = texts
    let recovery = GRDBRecovery(
      url: storeURL, app: app, policy: policy,
      connect: { try DatabasePool(path: $0) }, prepare: { [release] in try release.prepare($0) })
    switch recovery.open() {
    case .opened(let opened):
      if let incident = opened.incident {
        // Shown now, and written to a file for later: a notice that is shown once is soon forgotten.
        show(incident)
        EarlierNotes(self).writeLetter()
      } else if opened.loss != nil {
        let notice = texts.notice(of: .newestMissing, app: app.name)
        tell("\n* \(notice.title)\n\n\(notice.whatHappened)\n\n\(notice.whatToDo)\n")
      }
      return NoteStore(database: opened.handle, url: storeURL)
    case .failed(let failed):
      // The notes are where they were. The verdict says what the user can do; the text of an error seldom does.
      let notice = texts.notice(of: failed.verdict, evidence: failed.evidence, app: app.name)
      guard failed.verdict.action == .openInMemory else {
        throw LaunchFailure(verdict: failed.verdict, notice: notice)
      }
      // The same fault hit each fresh database. Another one would only fill the disk.
      if let notice { tell("\n* \(notice.title)\n\n\(notice.whatHappened)\n") }
      tell("You can look around, but nothing you write now is kept.")
      return try inMemory()
    }
  }

  private func inMemory() throws -> NoteStore {
    let queue = try DatabaseQueue()
    try release.prepare(queue)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    return NoteStore(database: queue, url: folder.appendingPathComponent("Notes.sqlite"))
  }

  private func show(_ incident: Incident) {
    let notice = incident.notice
    tell(
      """

      * \(notice.title)

      \(notice.whatHappened)

      \(notice.whatWasKept)

      \(notice.whatToDo)

      To see this again: notes earlier
      Support can do most with a bundle, which holds no text of your notes:
        lifeboat bundle create "\(incident.folder)" -o notes-support.zip

      """)
  }
}

/// The notes could not be opened, and are where they were.
struct LaunchFailure: Error {
  let verdict: Verdict
  /// What the user is told.
  let notice: FailureNotice?

  /// As in sysexits.h: 75 try again, 65 not for this version.
  var exitCode: Int32 {
    switch verdict.action {
    case .wait, .retry: 75
    default: 65
    }
  }
}
