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
      // Not the record's words of that day: what became of the notes since, and where they are now.
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

  /// The same as a file beside the notes, made anew from the records whenever they change. Want of space for it
  /// must not keep anyone from the notes.
  func writeLetter() {
    let url = library.folder.appendingPathComponent("About your earlier notes.txt")
    do {
      try Data(try text().utf8).write(to: url, options: .atomic)
    } catch {
      library.log.add("warning: the letter could not be written: \(error)")
    }
  }

  // MARK: Brought back

  /// What this release can open. Nothing but opening proves that, so Lifeboat makes a private copy for it; the
  /// kept files are evidence and stay untouched. An app does this when its window is up.
  func offers() throws -> [Offer] {
    // The release that set notes aside cannot open them, so it need not copy them at each launch to see.
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
    // A damaged store is never offered as it is; support saves its rows.
    return zip(stores.filter { $0.fit == .opens }, counts)
      // What made room for restored notes went at the user's own wish.
      .filter { $0.0.kind == .setAside }
      .map { Offer(id: $0.0.id, created: $0.0.created, noteCount: $0.1) }
  }

  private func count(_ url: URL) throws -> Int {
    let queue = try DatabaseQueue(path: url.path)
    defer { try? queue.close() }
    try library.release.prepare(queue)
    return try NoteStore(database: queue, url: url).count()
  }

  /// Brings notes back, before anything has the database open. Those of now are set aside in their turn.
  func restore(_ id: String) throws -> Incidents.Restoration {
    let restoration = try library.incidents.restore(id, app: library.app, texts: library.texts)
    library.log.add("restored \(id)")
    writeLetter()
    return restoration
  }
}
