import Foundation
import GRDB
import StoreRecovery

/// The notes that were set aside: where the user finds them again, and the way back.
struct EarlierNotes {
  /// Notes that were set aside by another release, and that this one can open.
  struct Offer {
    let id: String
    let created: Date
    let noteCount: Int
  }

  let library: Library

  init(_ library: Library) { self.library = library }

  // MARK: Found again

  /// All that was set aside, in the words that the user was told, and what became of it.
  func text() throws -> String {
    let entries = try library.incidents.list()
    guard !entries.isEmpty else { return "Nothing was ever set aside.\n" }
    return entries.map { entry in
      guard let incident = entry.incident else {
        return "The record of \(entry.id) cannot be read. It is in \(entry.folder)\n"
      }
      // Not the words of the record: the text says what has happened to the notes since, and where they are now.
      let notice = incident.notice(
        in: library.texts, outcome: entry.outcome, showingFolder: entry.folder)
      return """
        \(entry.id)

        \(notice.title)

        \(notice.whatHappened)

        \(notice.whatWasKept)

        \(notice.whatToDo)

        """
    }.joined(separator: "\n----\n\n")
  }

  /// The same as a file beside the notes, written again from the records whenever they change. When there is no space
  /// for it, the notes still open.
  func writeLetter() {
    let url = library.folder.appendingPathComponent("About your earlier notes.txt")
    do {
      try Data(try text().utf8).write(to: url, options: .atomic)
    } catch {
      library.log.add("warning: the letter could not be written: \(error)")
    }
  }

  // MARK: Brought back

  /// The notes that this release can open. Only opening proves that, so Lifeboat makes a private copy for it; the kept
  /// files are evidence and stay unchanged. An app does this when its window is open.
  func offers() throws -> [Offer] {
    // The release that set notes aside cannot open them, so it need not try that on a copy at each launch.
    let fromOthers = try library.incidents.list().contains {
      $0.outcome == nil && $0.incident?.app.version != library.release.rawValue
    }
    guard fromOthers else { return [] }
    var counts: [Int] = []
    let stores = try library.incidents.restorable(
      with: nil, storeName: library.storeURL.lastPathComponent
    ) { copy in
      counts.append(try count(copy))
      return true
    }
    // A damaged store is never offered as it is; support can recover its rows.
    return zip(stores.filter { $0.fit == .opens }, counts)
      // The user wanted restored notes to replace these, so they are not offered.
      .filter { $0.0.kind == .setAside }
      .map { Offer(id: $0.0.id, created: $0.0.created, noteCount: $0.1) }
  }

  private func count(_ url: URL) throws -> Int {
    let queue = try DatabaseQueue(path: url.path)
    defer { try? queue.close() }
    try library.release.prepare(queue)
    return try NoteStore(database: queue, url: url).count()
  }

  /// Brings notes back, before anything has the database open. The present notes are set aside.
  func restore(_ id: String) throws -> Incidents.Restoration {
    let restoration = try library.incidents.restore(id, app: library.app, texts: library.texts)
    library.log.add("restored \(id)")
    writeLetter()
    return restoration
  }
}
