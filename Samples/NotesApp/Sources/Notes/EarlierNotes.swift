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
      let words = entry.incident?.plainText ?? "The record of \(entry.id) cannot be read."
      let state =
        switch entry.outcome?.kind {
        case .restored: "These notes were brought back."
        case .putBack: "These notes were put back at once."
        case nil: "These notes are in \(entry.folder)"
        }
      return "\(entry.id)\n\n\(words)\n\(state)\n"
    }.joined(separator: "\n----\n\n")
  }

  /// The same as a file beside the notes, made anew from the records whenever they change.
  func writeLetter() throws {
    try Data(try text().utf8).write(
      to: library.folder.appendingPathComponent("About your earlier notes.txt"), options: .atomic)
  }

  // MARK: Brought back

  /// What this release can open. Nothing but opening proves that, so it opens a private copy; the kept files
  /// are evidence and stay untouched. A release that set notes aside need not try them again.
  func offers() -> [Offer] {
    guard let entries = try? library.incidents.list() else { return [] }
    return entries.compactMap { entry in
      guard let incident = entry.incident, incident.kind == .setAside, entry.outcome == nil,
        incident.app.version != library.release.rawValue,
        let count = try? countNotes(inCopyOf: entry, incident.storeName)
      else { return nil }
      return Offer(id: entry.id, created: incident.created, noteCount: count)
    }
  }

  private func countNotes(inCopyOf entry: Incidents.Entry, _ storeName: String) throws -> Int {
    let files = FileManager.default
    let copy = files.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? files.removeItem(at: copy) }
    try files.copyItem(at: URL(fileURLWithPath: entry.folder + "/store"), to: copy)
    let url = copy.appendingPathComponent(storeName)
    let queue = try DatabaseQueue(path: url.path)
    defer { try? queue.close() }
    try library.release.prepare(queue)
    return try NoteStore(database: queue, url: url).count()
  }

  /// Brings notes back, before anything has the database open. Those of now are set aside in their turn.
  func restore(_ id: String) throws -> Incidents.Restoration {
    let restoration = try library.incidents.restore(id)
    library.log.add("restored \(id)")
    try writeLetter()
    return restoration
  }
}
