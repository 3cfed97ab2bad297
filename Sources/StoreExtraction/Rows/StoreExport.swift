public import CoreDataStore
import StoreFiles
import RowText
public import SQLiteFile
import SafeText

/// Writes all rows of a store into a new folder or a new SQLite file.
public struct StoreExport: Sendable {
  /// The form of the output.
  public enum Format: String, Sendable, CaseIterable {
    /// A file of JSON lines for each entity.
    case ndjson
    /// A CSV file for each entity.
    case csv
    /// One SQLite file with a table for each entity.
    case sqlite
  }

  /// What was written.
  public struct Result: Sendable, Codable {
    /// The name of the schema of the JSON form.
    package var schema = "lifeboat.extract"
    /// The version of that schema; it only increases.
    package var version = 1
    /// The store.
    package let source: String
    /// The form.
    package let format: String
    /// The folder or file.
    public let output: String
    /// What was written, entity by entity or table by table.
    public let parts: [Part]
    /// The number of rows in all parts.
    public let rowCount: Int
    /// SHA-256 of each file of the store set, by name.
    package let sourceSHA256: [String: String]
    /// Files beside the store that hold values of its rows, copied to the output under the names in the rows; nil when
    /// there are none.
    package let externalFiles: RebuildResult.ExternalFiles?
    /// What was wrong or noteworthy in the store.
    public let findings: [Finding]
    /// How many of the findings are damage.
    public let damageCount: Int

    /// One entity or table.
    public struct Part: Sendable, Codable {
      /// The name of the entity or table.
      public let name: String
      /// The file, or the table in the SQLite file.
      public let target: String
      /// The rows written.
      public let rowCount: Int
    }
  }

  /// How binary values and CSV cells are written.
  public var options: RowOutput.Options
  /// What the result and a new SQLite file call the store; nil for its path.
  package var sourceName: String?
  /// Tracks what is made, for a caller that must remove it quickly.
  package var made = MadeFiles()

  /// Whether SQLite runs `integrity_check`, not just `quick_check`, on a large SQLite file before it gets its final
  /// name.
  public var verifies = false

  /// An export with these options, including entity names and limit.
  public init(_ options: RowOutput.Options = .init()) { self.options = options }

  /// Writes the rows of `store`.
  ///
  /// - Parameters:
  ///   - store: the store, opened.
  ///   - format: the form of the output.
  ///   - output: a folder for CSV and NDJSON, a file for SQLite. Nothing may exist there except an empty folder.
  /// - Returns: what was written, and the hashes and findings of the store.
  /// - Throws: ``ExtractionError``, `SQLiteFileError`, `SQLiteWriterError`. What was written until then is removed.
  public func run(_ store: CoreDataStore, as format: Format, to output: String) throws -> Result {
    try checkNames(store)
    let watch = EvidenceWatch(store.database.path)
    let hashing = StoreSet(at: store.database.path).hashing()
    var hashes: [String: String] = [:]
    func checkUnchanged() throws {
      let changed = watch.changes()
      guard !changed.isEmpty else { return }
      throw ExtractionError(
        .changedDuringRead,
        "the store changed while it was read (\(changed.joined(separator: ", "))), so nothing was written; close what uses it or work on a copy",
        path: store.database.path)
    }
    // A store that changed is reported as such, not as a file that could not be hashed.
    func unchanged(_ hashed: MemberHashes) throws -> [String: String] {
      try checkUnchanged()
      return try hashed.mapValues { try $0.get() }
    }
    let external = ExternalFiles(ofStore: store.database.path, isOn: store.kind != .sqlite)
    let namesAll = options.entityNames == nil && options.limit == nil
    let parts: [Result.Part]
    var files: (RebuildResult.ExternalFiles?, [Finding])
    switch format {
    case .sqlite:
      parts = try SQLiteExport(
        store, named: sourceName ?? store.database.path, options, made, external,
        verifies: verifies,
        sourceHashes: {
          hashes = try unchanged(hashing.wait())
          return hashes
        }
      ).write(to: output, checkUnchanged)
      files = try external.survey(namesAll: namesAll, maxBytes: SQLiteExport.maxValueBytes)
    case .ndjson, .csv:
      let folder = try OutputFolder(output, made)
      do {
        parts =
          store.kind == .sqlite
          ? try writeTables(of: store, as: format, into: folder)
          : try writeEntities(of: store, as: format, into: folder, external)
        files = try external.survey(namesAll: namesAll)
        try folder.take(external)
        if files.0?.fileCount ?? 0 > 0 { files.0?.output = ExternalFiles.folderName }
        hashes = try unchanged(hashing.wait())
        folder.keep()
      } catch {
        folder.discard()
        throw error
      }
    }
    var findings = store.findings
    for finding in files.1 { findings.add(finding) }
    return Result(
      source: sourceName ?? store.database.path, format: format.rawValue, output: output,
      parts: parts,
      rowCount: parts.reduce(0) { $0 + $1.rowCount }, sourceSHA256: hashes,
      externalFiles: files.0, findings: findings.kept, damageCount: findings.damageCount)
  }

  /// Throws for a name that the store does not have, instead of exporting nothing.
  private func checkNames(_ store: CoreDataStore) throws {
    guard let wanted = options.entityNames else { return }
    let known: [String] =
      store.kind == .coreData
      ? store.entities.map { store.entityName(ofNumber: $0.number) ?? $0.name }
      : store.database.schema.tables.map(\.name)
    guard let name = wanted.subtracting(known).min() else { return }
    throw ExtractionError(
      .unknownName, "the store has no \(store.kind == .coreData ? "entity" : "table") \(name)",
      path: store.database.path, nearest: NearestName.of(name, among: known))
  }

  /// An open file of the output, and the target for its rows.
  private struct RowFile {
    let name: String
    let descriptor: Int32
    let target: RowTarget

    init(_ name: String, in folder: OutputFolder) throws {
      self.name = name
      descriptor = try folder.create(name)
      target = RowTarget(OutputBuffer(descriptor: descriptor))
    }
  }

  private func writeEntities(
    of store: CoreDataStore, as format: Format, into folder: OutputFolder, _ external: ExternalFiles
  ) throws -> [Result.Part] {
    var parts: [Result.Part] = []
    let wanted = options.entityNames.map(store.withDescendants)
    for table in store.entityTables {
      guard let plan = try store.plan(for: table, wanted: nil) else { continue }
      let entities = plan.describedEntities.filter { wanted?.contains($0.name) ?? true }
      // By number: two names can be equal strings in Swift although their bytes differ.
      var files: [Int64: RowFile] = [:]
      for entity in entities {
        let file = try RowFile(
          folder.fileName(for: entity.name, extension: format.rawValue), in: folder)
        if format == .csv {
          file.target.output.append(
            csvHeader: entity, safeForSpreadsheets: options.isSafeForSpreadsheets)
        }
        files[entity.number] = file
      }
      // Rows of unknown entities go into a separate file, as JSON in both formats, because they have no columns to
      // name.
      var unknown: RowFile?
      let makeUnknown = {
        let name = folder.fileName(for: table.name + "-unknown", extension: "ndjson")
        let file = try RowFile(name, in: folder)
        unknown = file
        return file.target
      }
      try NamedRows(
        plan, of: store, as: format == .csv ? .csv : .json(.lines), options, limitsTargets: true,
        noteExternal: external.note, unknownTarget: wanted == nil ? makeUnknown : nil
      ) { _, number in number.flatMap { files[$0]?.target } }.read(from: store)
      for (name, file) in entities.map({ ($0.name, files[$0.number]) }) + [(table.name, unknown)] {
        guard let file else { continue }
        try file.target.output.finish()
        try folder.finish(file.descriptor)
        parts.append(.init(name: name, target: file.name, rowCount: file.target.rowCount))
      }
    }
    return parts
  }

  private func writeTables(of store: CoreDataStore, as format: Format, into folder: OutputFolder)
    throws -> [Result.Part]
  {
    var parts: [Result.Part] = []
    for table in store.database.schema.tables
    where options.entityNames?.contains(table.name) ?? true {
      let name = folder.fileName(for: table.name, extension: format.rawValue)
      let descriptor = try folder.create(name)
      let count =
        format == .csv
        ? try store.database.writeCSV(
          of: table, limit: options.limit,
          isSafeForSpreadsheets: options.isSafeForSpreadsheets, to: descriptor)
        : try store.database.writeJSON(of: [table], limit: options.limit, to: descriptor).first ?? 0
      try folder.finish(descriptor)
      parts.append(.init(name: table.name, target: name, rowCount: count))
    }
    return parts
  }
}
