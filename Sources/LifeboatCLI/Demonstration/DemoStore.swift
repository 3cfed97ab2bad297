import CoreDataForensics
import CoreDataStore
import Foundation
import ObjectModel
import SQLiteWriter
import StoreMigration

/// The store that `lifeboat demo` makes. It holds notes in folders, with tags. Some rows are only in the write-ahead
/// log, and a picture is in an external data file.
struct DemoStore {
  static let oldModel = model(isNewer: false)
  /// The model of the app's next version.
  static let newModel = model(isNewer: true)

  private static let pictureName = "7C0E2A54-9D1B-4F6A-8E33-5B21C7D90A41"

  /// Makes the files of the store in `folder`, which must be empty.
  /// - Returns: the path of the main file.
  static func make(in folder: URL) throws -> String {
    let files = FileManager.default
    let scratch = folder.appendingPathComponent("scratch")
    try files.createDirectory(at: scratch, withIntermediateDirectories: true)
    // This line runs after the writer has removed its own files. `rmdir` fails if the folder contains other files, so
    // these are kept.
    defer { unsafe _ = rmdir(scratch.path) }
    let made = scratch.appendingPathComponent("Notes.sqlite").path
    let store = folder.appendingPathComponent("Notes.sqlite").path
    let writer = try SQLiteWriter(creating: made, options: FreshStore.options)
    defer { writer.discard() }
    try FreshStore.write(try FreshStoreSchema(oldModel), uuid: UUID(), to: writer)
    try writer.transaction { try insertRows(writer) }
    // Closing the writer would checkpoint the write-ahead log, so the files are copied before that. The copy is like a
    // store after a crash.
    for ending in ["", "-wal"] { try files.copyItem(atPath: made + ending, toPath: store + ending) }

    let pictures = folder.appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    try files.createDirectory(at: pictures, withIntermediateDirectories: true)
    let picture = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
    try picture.write(to: pictures.appendingPathComponent(pictureName))
    return store
  }

  private static func insertRows(_ writer: SQLiteWriter) throws {
    func table(_ name: String, _ columns: [String]) throws -> SQLiteStatement {
      try writer.prepare(
        "INSERT INTO \(name) (\(columns.joined(separator: ", "))) VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))"
      )
    }
    let numbering = EntityNumbering(oldModel)
    func number(_ entity: String) -> SQLiteValue { .integer(numbering.number(of: entity) ?? 0) }

    let named = [("Folder", ["Private", "Work"]), ("Tag", ["urgent", "idea", "someday"])]
    for (entity, names) in named {
      let rows = try table("Z" + entity.uppercased(), ["Z_PK", "Z_ENT", "Z_OPT", "ZNAME"])
      for (key, name) in names.enumerated() {
        try rows.run([.integer(Int64(key + 1)), number(entity), .integer(1), .string(name)])
      }
    }
    let notes = try table(
      "ZNOTE",
      [
        "Z_PK", "Z_ENT", "Z_OPT", "ZISPINNED", "ZFOLDER", "ZCREATED", "ZTITLE", "ZBODY",
        "ZIDENTIFIER", "ZPICTURE",
      ])
    let texts = [
      ("Shopping", "milk, bread, something for Grandma"), ("Boat", "call the yard about the mast"),
      ("Book", "an app that never loses anything"), ("Trip", "Tromsø in March, 東京 in May"),
      ("Budget", "=SUM(A1:A9) is not a formula here"), ("Poem", "the sea, the \"sea\", the sea"),
    ]
    for (index, (title, body)) in texts.enumerated() {
      let key = Int64(index + 1)
      let identifier = (0..<16).map { UInt8(truncatingIfNeeded: ($0 + 1) * (index + 7)) }
      // The first byte 0x02 means that the value is in an external file, whose NUL-terminated name follows. The first
      // byte 0x01 means that the value itself follows.
      let picture: SQLiteValue =
        index == 3
        ? .blob([2] + Array(pictureName.utf8) + [0])
        : index == 0 ? .blob([1, 0x89, 0x50, 0x4e, 0x47]) : .null
      try notes.run([
        .integer(key), number("Note"), .integer(1), .integer(index == 1 ? 1 : 0),
        .integer(Int64(index % 2 + 1)), .real(786_000_000 + Double(index) * 86_400.25),
        .string(title), .string(body), .blob(identifier), picture,
      ])
    }
    let links = try writer.prepare("INSERT INTO Z_2TAGS VALUES (?, ?)")
    for (note, tag) in [(1, 1), (2, 1), (2, 3), (3, 2), (6, 2)] {
      try links.run([.integer(Int64(note)), .integer(Int64(tag))])
    }
    for (name, highest) in [("Folder", 2), ("Note", 6), ("Tag", 3)] {
      try writer.prepare("UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_NAME = ?")
        .run([.integer(Int64(highest)), .string(name)])
    }
  }

  private static func model(isNewer: Bool) -> ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType) -> Attribute {
      Attribute(name: name, type: type, isOptional: true)
    }
    func relationship(
      _ name: String, to entity: String, inverse: String, maxCount: Int32
    ) -> Relationship {
      Relationship(
        name: name, destinationEntityName: entity, inverseName: inverse,
        inverseEntityName: entity, maxCount: maxCount, isOptional: true)
    }
    var noteAttributes = [
      attribute("body", .string), attribute("created", .date), attribute("identifier", .uuid),
      attribute("isPinned", .boolean),
      Attribute(
        name: "picture", type: .binary, isOptional: true, allowsExternalBinaryDataStorage: true),
      attribute("title", .string),
    ]
    if isNewer { noteAttributes.append(attribute("wordCount", .integer32)) }
    let note = Entity(
      name: "Note", attributes: noteAttributes.sorted { $0.name < $1.name },
      relationships: [
        relationship("folder", to: "Folder", inverse: "notes", maxCount: 1),
        relationship("tags", to: "Tag", inverse: "notes", maxCount: 0),
      ])
    let folder = Entity(
      name: "Folder", attributes: [attribute("name", .string)],
      relationships: [relationship("notes", to: "Note", inverse: "folder", maxCount: 0)])
    let tag = Entity(
      name: "Tag", attributes: [attribute(isNewer ? "label" : "name", .string)],
      relationships: [relationship("notes", to: "Note", inverse: "tags", maxCount: 0)])
    return ManagedObjectModel(
      entities: [folder, note, tag],
      versionIdentifiers: [isNewer ? "2" : "1"])
  }
}
