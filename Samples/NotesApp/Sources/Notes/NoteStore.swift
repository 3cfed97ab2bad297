import Foundation
import GRDB

/// The notes of one database.
struct NoteStore {
  struct Note {
    let title: String
    let text: String
    let tags: [String]
    let attachments: [Attachment]
  }

  struct Attachment {
    let name: String
    /// Where its content is; nil when the file is gone.
    let content: URL?
  }

  let database: any DatabaseWriter
  let url: URL

  /// The folder for the attachments' content. Lifeboat moves a folder of this name together with the database
  /// (`Notes.sqlite` has `.Notes_SUPPORT`), so rows and their files stay together.
  static func support(for url: URL) -> URL {
    let name = url.deletingPathExtension().lastPathComponent
    return url.deletingLastPathComponent().appendingPathComponent(".\(name)_SUPPORT")
  }

  func add(title: String, text: String, tags: [String], attachments: [URL]) throws {
    // Files first: a row without its file would be a loss, a file without its row only wastes space.
    let files = try attachments.map { ($0.lastPathComponent, try keep($0)) }
    try database.write { db in
      let column = try textColumn(db)
      try db.execute(
        sql: "INSERT INTO note (title, \(column), created) VALUES (?, ?, ?)",
        arguments: [title, text, Date()])
      let note = db.lastInsertedRowID
      for tag in tags {
        try db.execute(sql: "INSERT INTO tag (noteId, name) VALUES (?, ?)", arguments: [note, tag])
      }
      for (name, file) in files {
        try db.execute(
          sql: "INSERT INTO attachment (noteId, name, file) VALUES (?, ?, ?)",
          arguments: [note, name, file])
      }
    }
  }

  func all() throws -> [Note] {
    try database.read { db in
      let column = try textColumn(db)
      return try Row.fetchAll(db, sql: "SELECT id, title, \(column) FROM note ORDER BY id").map {
        row in
        let id: Int64 = row[0]
        return Note(
          title: row[1], text: row[2],
          tags: try String.fetchAll(
            db, sql: "SELECT name FROM tag WHERE noteId = ? ORDER BY rowid", arguments: [id]),
          attachments: try Row.fetchAll(
            db, sql: "SELECT name, file FROM attachment WHERE noteId = ? ORDER BY rowid",
            arguments: [id]
          ).map { Attachment(name: $0[0], content: content($0[1])) })
      }
    }
  }

  func count() throws -> Int {
    try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") ?? 0 }
  }

  /// Release 1.0 uses another name for this column.
  private func textColumn(_ db: Database) throws -> String {
    try db.columns(in: "note").contains { $0.name == "body" } ? "body" : "text"
  }

  private func keep(_ file: URL) throws -> String {
    let folder = Self.support(for: url)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let name = UUID().uuidString
    try FileManager.default.copyItem(at: file, to: folder.appendingPathComponent(name))
    return name
  }

  private func content(_ name: String) -> URL? {
    let url = Self.support(for: url).appendingPathComponent(name)
    return FileManager.default.fileExists(atPath: url.path) ? url : nil
  }
}
