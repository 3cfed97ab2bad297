import ModelTools
import ObjectModel
import RowText
import SafeFiles
package import CoreDataStore
import StoreFiles
import SQLiteForensics
package import StoreExtraction
package import StoreRecovery
import Foundation
import SQLiteFile
import SafeText

/// Gathers the entries of a support bundle about a store, in the order in which they are packed.
///
/// The default is a bundle of structure only: metadata, hashes, the model, the schema and counts, without anything that
/// a user typed. Rows and the store's own files are added only on request. In the rows, a token replaces each value
/// that an allow-list does not name. All values are written unchanged only if redaction is switched off.
package struct StoreBundle {
  package static let inspectionName = "inspection.json"
  package static let rowsName = "rows.ndjson"

  /// The plan of the bundle. It includes sentences about the names that tokens replace, and about sizes that are
  /// rounded.
  package var plan: BundlePlan {
    var plan = gathered
    for sentence in mask.tokens.sentences(besideFiles: contents == .store) {
      plan.withhold(sentence)
    }
    if hasRoundedSizes, contents != .store {
      plan.withhold(
        "Times, checksums and exact sizes of links and of files in subfolders. The sizes in the "
          + "records are rounded down to a power of two.")
    }
    return plan
  }

  private var gathered: BundlePlan
  private let contents: BundleManifest.Contents
  private let storePath: String
  private var mask: RecordMask
  private var hasRoundedSizes = false
  var nameTokens: NameTokens { mask.tokens }

  package init(
    storePath: String, tool: BundleManifest.Tool, created: BundleDate,
    contents: BundleManifest.Contents
  ) throws(BundleError) {
    gathered = try BundlePlan(tool: tool, created: created, contents: contents)
    self.contents = contents
    self.storePath = storePath
    mask = RecordMask(storePath: storePath)
  }

  /// Adds two entries with the record of an incident: one as JSON, the other as plain text.
  package mutating func add(_ incident: Incident) throws {
    // The record contains the path that the incident's folder had when the record was made. The folder may have been
    // moved since then.
    mask.add(folder: incident.folder)
    try gathered.add(
      name: "incident.json", source: .bytes(json(incident)), origin: "incident",
      why: "what happened and what was decided")
    try gathered.add(
      name: "incident.txt", source: .bytes(Array(mask.sentence(incident.plainText).utf8)),
      origin: "incident", why: "what the user was told")
  }

  /// Adds the entries about a store: its inspection, metadata, version hashes, model, schema, counts and findings, and,
  /// if they were requested, its rows and files. `rows` is nil for a bundle without rows. The cached model is added
  /// without default values, user info and expressions.
  ///
  /// - Throws: ``BundleError`` when an entry has a name that is not allowed in a bundle.
  package mutating func add(
    _ store: CoreDataStore, _ inspection: StoreInspection, rows: Rows? = nil,
    includesModel: Bool = true
  )
    throws
  {
    mask.beginStore()
    let name = mask.storeFile()
    // The schema is masked before the records, because a record may mention names of the schema, and unusual names must
    // have their tokens by then.
    let schema = MaskedSchema(store.database.schema) { mask.schemaName($0, isName: $1) }
    for entry in store.database.schema.entries + store.database.schema.repairedEntries {
      for name in [entry.name, entry.tableName] { _ = mask.schemaName(name, isName: true) }
    }
    for table in store.database.schema.tables {
      for column in table.columnNames { _ = mask.schemaName(column, isName: true) }
    }
    // In a table that is not Core Data's, the row id may be a value that the user entered.
    mask.hidesRowIDs = store.kind != .coreData || !store.plainTables.isEmpty
    try gathered.add(
      name: Self.inspectionName, source: .bytes(json(inspection)), origin: name,
      why: "kind, versions, health and counts of the store")
    if let metadata = inspection.metadata {
      try gathered.add(
        name: "metadata.json", source: .bytes(json(metadata, as: "metadata")), origin: name,
        why: "the store's metadata, without the values of the app's own keys")
      try gathered.add(
        name: "hashes.json",
        source: .bytes(
          json(
            Hashes(
              hashes: metadata.versionHashes, checksum: metadata.checksum, digest: metadata.digest))
        ),
        origin: name, why: "the version hash of each entity, to be compared with the app's models")
    }
    if let model = store.cachedModel {
      try add(model, of: name, isWanted: includesModel)
    }
    let sql = schema.statements.map { $0 + ";\n" }.joined()
    try gathered.add(
      name: "schema.sql", source: .bytes(Array(sql.utf8)), origin: name,
      why: "tables and indexes as the store declares them, without literals and comments")
    try gathered.add(
      name: "counts.json",
      source: .bytes(json(Counts(entities: inspection.entities, tables: inspection.tables))),
      origin: name, why: "number of rows of each entity and table")
    let findings = try inspection.findings.map { finding in
      try text(finding, as: "findings", [.sortedKeys, .withoutEscapingSlashes])
    }.joined()
    try gathered.add(
      name: "findings.ndjson", source: .bytes(Array(findings.utf8)), origin: name,
      why: "what is wrong or noteworthy, with its position in the file")

    if contents == .structure {
      gathered.withhold("The rows of the store. Readable rows: \(inspection.liveRowCount).")
    } else if let rows {
      try gathered.add(
        name: Self.rowsName, source: .opened(rows.file), origin: name, why: rows.redaction.why)
      if let sentence = rows.redaction.withheld { gathered.withhold(sentence) }
    }
    // The files at `storePath` are the store's own. If the rows were read from a decrypted copy, the files of this copy
    // are never added.
    try addFiles(of: storePath)
    if inspection.metadata?.otherKeys.isEmpty == false {
      gathered.withhold(
        "The values of the app's own metadata keys: they can hold secrets, so only names and sizes are given."
      )
    }
    if schema.refusedCount > 0 {
      gathered.withhold(
        "Schema entries whose text is not a known CREATE statement: \(schema.refusedCount)."
      )
    }
    let quoting = inspection.findings.count { !RecordMask.quotesNothing($0.id.rawValue) }
    if quoting > 0 {
      gathered.withhold(
        "Messages of findings that may quote the store: \(quoting). The findings themselves are listed by id."
      )
    }
  }

  /// Rows as JSON lines, in a file without a name. The system deletes the file when this value is no longer used.
  package struct Rows: Sendable {
    let file: InputFile
    let redaction: Redaction
  }

  /// Writes the rows of a store into a file, which ``add(_:_:rows:includesModel:)`` adds to the bundle. `entities`
  /// names the entities and tables whose rows are written, including rows of subentities; nil for all rows.
  ///
  /// - Throws: `SQLiteFileError`; ``BundleError`` when `entities` or an allow-list has a name that is not in the store.
  package mutating func writeRows(
    of store: CoreDataStore, entities: [String]? = nil, _ redaction: Redaction,
    numbers: NumberForm = .ranges
  ) throws -> Rows {
    let output = try ExclusiveOutput(unnamed: Self.rowsName)
    let descriptor = output.descriptor
    let tables = store.plainTables
    let known =
      store.entities.map { store.entityName(ofNumber: $0.number) ?? $0.name } + tables.map(\.name)
    if let name = entities.flatMap({ Set($0).subtracting(known).min() }) {
      throw BundleError(.unknownName, "the store has no \(store.part) \(Quoted.text(name))")
    }
    switch redaction {
    case .none:
      try RowOutput(.init(entityNames: entities)).writeJSON(of: store, to: descriptor)
      _ = try store.database.writeJSON(
        of: ExactText.named(entities, among: tables, \.name), to: descriptor)
    case .values(except: let allowed):
      try allowed.check(against: store)
      var rows = RedactedRows(allowing: allowed, numbers, mask, to: descriptor)
      try rows.write(store, of: entities)
      if rows.overfullCount > 0 {
        gathered.withhold(
          "Ranks of numbers in \(counted(rows.overfullCount, "column")) with too many different "
            + "numbers.")
      }
      mask = rows.mask
    }
    return Rows(file: try output.input(), redaction: redaction)
  }

  private mutating func add(_ model: ManagedObjectModel, of name: String, isWanted: Bool) throws {
    guard isWanted else { return gathered.withhold("The model that the store carries.") }
    guard let bundled = BundledModel(model) else {
      return gathered.withhold(
        "The model that the store carries. It has names that a user may have chosen.")
    }
    try gathered.add(
      name: "model.xcdatamodel/contents", source: .bytes(bundled.contents), origin: name,
      why: "entities, attributes and relationships of the model that the store carries")
    gathered.withhold(
      "Default values, user info and expressions of the model: they can quote data.")
    if bundled.changedHashCount > 0 {
      gathered.withhold(
        "Parts of the model that version hashes depend on. The hash of "
          + "\(counted(bundled.changedHashCount, "entity", "entities")) is right only in "
          + "hashes.json."
      )
    }
  }

  /// Adds an entry that says why the store could not be read. The store's files are added only if they were requested.
  package mutating func add(unreadable path: String, code: String, message: String) throws {
    let words = RecordMask.quotesNothing(code) ? message : RecordMask.leftOut
    try gathered.add(
      name: "problem.json", source: .bytes(json(["code": code, "message": words])),
      origin: "lifeboat", why: "why the store cannot be read")
    try addFiles(of: path)
  }

  /// Adds the store's files if they were requested. The store's folder is opened now and stays open, so the files are
  /// read from this folder even if its path is replaced later.
  private mutating func addFiles(of path: String) throws {
    guard contents == .store else { return gathered.withhold("The files of the store itself.") }
    let folder = try SourceFolder(PathText.folder(of: path))
    var others = 0
    let set = StoreSet(at: path)
    if !set.isComplete {
      gathered.withhold(
        "Files beside the store that cannot be listed: this user may not read their folder, their names are not UTF-8, or there are too many."
      )
    }
    for member in set.members {
      switch member.kind {
      case .file:
        try gathered.add(
          name: "store/" + member.name, source: .member(name: member.name, folder),
          origin: member.name, why: "the file of the store itself, as requested")
      case .folder: break
      case .symbolicLink, .other: others += 1
      }
    }
    if others > 0 {
      gathered.withhold(
        "Links and special files beside the store, which are not followed and hold no rows: \(others)."
      )
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

  private mutating func json(_ value: some Encodable, as key: String = "") throws -> [UInt8] {
    Array(
      try text(value, as: key, [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]).utf8)
  }

  /// Returns a record as JSON. The strings in the record are masked before they are encoded. In an encoded string, a
  /// JSON escape could hide a name from the mask.
  private mutating func text(
    _ value: some Encodable, as key: String, _ formatting: JSONEncoder.OutputFormatting
  ) throws -> String {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    let plain = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(value))
    encoder.outputFormatting = formatting
    let record = plain.withoutTracesOfFiles(&hasRoundedSizes)
    let masked = mask.masked(record, key)
    return String(decoding: try encoder.encode(masked), as: UTF8.self) + "\n"
  }
}

extension JSONValue {
  /// Removes details of files, such as inode numbers, from a record of an older bundle. ``StoreBundle`` leaves these
  /// details out of new records. Returns nil when the record has no such details, or is not JSON.
  static func withoutTracesOfFiles(_ record: [UInt8]) throws -> [UInt8]? {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(record)) else {
      return nil
    }
    var hasRounded = false
    let stripped = value.withoutTracesOfFiles(&hasRounded)
    guard stripped != value else { return nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    return try Array(encoder.encode(stripped)) + [0x0a]
  }

  /// Returns the record without details that could identify files. The inode number of every file is removed, because
  /// it identifies the user's volume. For links, and for files in a subfolder of the store's folder, more is hidden,
  /// because these files may belong to the user: the hash and the modification time are removed, and the size is
  /// rounded down to a power of two. Sets `hasRounded` to true if a size was rounded.
  fileprivate func withoutTracesOfFiles(_ hasRounded: inout Bool) -> JSONValue {
    switch self {
    case .array(let list):
      return .array(list.map { $0.withoutTracesOfFiles(&hasRounded) })
    case .object(var members):
      if case .string(let name)? = members["name"], members["sizeBytes"] != nil {
        members["inode"] = nil
        if name.utf8.contains(UInt8(ascii: "/")) || members["kind"] == .string("symbolicLink") {
          members["sha256"] = nil
          members["modifiedNanoseconds"] = nil
          if case .integer(let size)? = members["sizeBytes"], size > 0 {
            members["sizeBytes"] = .integer(1 << Int64(63 - size.leadingZeroBitCount))
            members["isSizeApproximate"] = .boolean(true)
            hasRounded = true
          }
        }
      }
      return .object(members.mapValues { $0.withoutTracesOfFiles(&hasRounded) })
    default: return self
    }
  }
}

extension CoreDataStore {
  fileprivate var part: String { kind == .sqlite ? "table" : "entity" }
}

extension Redaction {
  var why: String {
    switch self {
    case .none: "the rows that can be read, as requested"
    case .values(except: .nothing): "the rows that can be read; a token stands for each value"
    case .values:
      "the rows that can be read; a token stands for each value that the allow-list does not name"
    }
  }

  /// A sentence for the manifest that says which values are left out of the rows; nil when all values are written.
  var withheld: String? {
    switch self {
    case .none: nil
    case .values(except: let allowed):
      (allowed == .nothing
        ? "The values of all rows" : "The values of rows, except those that an allow-list names")
        + ". Tokens of equal values are equal within this bundle; all dates are shifted by the same secret time."
    }
  }
}
