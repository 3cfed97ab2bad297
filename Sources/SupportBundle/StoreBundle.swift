public import CoreDataStore
public import StoreExtraction
public import StoreRecovery
import Foundation
import SQLiteFile
import SafeText

/// Gathers what a support bundle says of a store, in the order in which it is packed.
///
/// The default is structure: metadata, hashes, schema and counts, nothing that a user typed. Rows and the raw
/// files go in only when asked for.
public struct StoreBundle {
  /// The plan, to be measured and written.
  public private(set) var plan: BundlePlan
  private let contents: BundleManifest.Contents
  /// The folders of the store, which are nobody's business: they are left out of every record, because paths
  /// hold user names.
  private var folders: [String]

  /// Starts a bundle about the store whose main file is at `storePath`.
  public init(
    storePath: String, tool: BundleManifest.Tool, created: BundleDate,
    contents: BundleManifest.Contents
  ) throws(BundleError) {
    plan = try BundlePlan(tool: tool, created: created, contents: contents)
    self.contents = contents
    folders = [storePath.lastIndex(of: "/").map { String(storePath[...$0]) } ?? ""]
  }

  /// Adds the record of an incident.
  public mutating func add(_ incident: Incident) throws {
    // The record names the folder in which it was made, which may be on another machine.
    folders.append(incident.folder + "/")
    try plan.add(
      name: "incident.json", source: .bytes(json(incident)), origin: "incident",
      why: "what happened and what was decided")
    try plan.add(
      name: "incident.txt", source: .bytes(withoutFolder(incident.plainText)), origin: "incident",
      why: "what the user was told")
  }

  /// Adds what is known of a store.
  ///
  /// - Parameters:
  ///   - store: the store, opened.
  ///   - inspection: what is known of it.
  ///   - rows: a file of its rows as JSON lines, for a bundle with rows; nil else.
  /// - Throws: an error of ``BundleError`` when an entry has a name that no bundle takes.
  public mutating func add(
    _ store: CoreDataStore, _ inspection: StoreInspection, rows: String? = nil
  )
    throws
  {
    let name = PathText.lastComponent(of: inspection.path)
    try plan.add(
      name: "inspection.json", source: .bytes(json(inspection)), origin: name,
      why: "kind, versions, health and counts of the store")
    if let metadata = inspection.metadata {
      try plan.add(
        name: "metadata.json", source: .bytes(json(metadata)), origin: name,
        why: "the store's metadata; other keys than Core Data's by name and size only")
      try plan.add(
        name: "hashes.json",
        source: .bytes(
          json(
            Hashes(
              hashes: metadata.versionHashes, checksum: metadata.checksum, digest: metadata.digest))
        ),
        origin: name, why: "the version hash of each entity, to be compared with the app's models")
    }
    let sql = store.database.schema.entries.compactMap(\.sql).map { $0 + ";\n" }.joined()
    try plan.add(
      name: "schema.sql", source: .bytes(Array(sql.utf8)), origin: name,
      why: "tables and indexes as the store declares them")
    try plan.add(
      name: "counts.json",
      source: .bytes(json(Counts(entities: inspection.entities, tables: inspection.tables))),
      origin: name, why: "rows of each entity and table")
    let findings = try inspection.findings.map { try line($0) }.joined()
    try plan.add(
      name: "findings.ndjson", source: .bytes(Array(findings.utf8)), origin: name,
      why: "what is wrong or noteworthy, with its place in the file")

    if contents == .structure {
      plan.withhold("The rows of the store: \(inspection.liveRowCount) of them can be read.")
    } else if let rows {
      try plan.add(
        name: "rows.ndjson", source: .file(path: rows), origin: name,
        why: "the rows that can be read, as asked for")
    }
    try addFiles(of: store.database.path)
    if inspection.metadata?.otherKeys.isEmpty == false {
      plan.withhold(
        "The values of the app's own metadata keys: they can hold secrets, so only names and sizes are given."
      )
    }
  }

  /// Adds why a store could not be read at all; its files go in only when asked for.
  public mutating func add(unreadable path: String, code: String, message: String) throws {
    try plan.add(
      name: "problem.json",
      source: .bytes(json(["code": code, "message": message])), origin: "lifeboat",
      why: "why nothing can be said of the store")
    try addFiles(of: path)
  }

  private mutating func addFiles(of path: String) throws {
    guard contents == .store else { return plan.withhold("The files of the store itself.") }
    for member in StoreSet(at: path).members where member.kind == .file {
      try plan.add(
        name: "store/" + member.name, source: .file(path: member.path), origin: member.name,
        why: "the file of the store itself, as asked for")
    }
  }

  private struct Hashes: Encodable {
    let hashes: [String: String]
    let checksum: String?
    let digest: String?
  }

  private struct Counts: Encodable {
    let entities: [StoreInspection.EntityCount]
    let tables: [StoreInspection.TableCount]
  }

  private func json(_ value: some Encodable) throws -> [UInt8] {
    withoutFolder(
      try encoded(value, [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]) + "\n")
  }

  private func line(_ value: some Encodable) throws -> String {
    try encoded(value, [.sortedKeys, .withoutEscapingSlashes]) + "\n"
  }

  private func encoded(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws
    -> String
  {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting
    encoder.dateEncodingStrategy = .iso8601
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// The text without the store's folders, nor those above an `Incompatible` one.
  private func withoutFolder(_ text: String) -> [UInt8] {
    var text = text
    let above = folders.map { $0.components(separatedBy: "Incompatible/")[0] }
    for prefix in (folders + above).sorted(by: { $0.count > $1.count }) where prefix.count > 1 {
      text = text.replacingOccurrences(of: prefix, with: "")
      text = text.replacingOccurrences(of: String(prefix.dropLast()), with: ".")
    }
    return Array(text.utf8)
  }
}
