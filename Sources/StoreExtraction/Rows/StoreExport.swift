public import CoreDataStore
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

  /// The result of an export: what was written, and what was found in the store.
  public struct Result: Sendable, Codable {
    package var schema = "lifeboat.extract"
    /// The version of the JSON form's schema; it only increases.
    package var version = 1
    /// The path or name of the store.
    package let source: String
    /// The form of the output: `ndjson`, `csv`, `sqlite` or `xlsx`.
    package let format: String
    /// The path of the new folder or file.
    public let output: String
    /// The parts of the output, one for each entity or table.
    public package(set) var parts: [Part]
    /// The names of entities and tables without rows. The output has no file or sheet for them.
    package var emptyNames: [String] = []
    /// The names in ``emptyNames`` whose table is damaged, so that rows may have been lost. Nil if no such table is
    /// damaged.
    package var doubtfulNames: [String]?
    /// The number of rows in the whole output.
    public let rowCount: Int
    /// The SHA-256 of each file of the store set, by file name.
    package let sourceSHA256: [String: String]
    /// The counts of the store's external files. The files are copied to the output under the names that the rows
    /// contain. Nil if no row names an external file and the folder for such files is empty.
    package let externalFiles: RebuildResult.ExternalFiles?
    /// The files beside a workbook for values that are too long for a cell; nil without such values.
    package var longValues: LongValueFiles?
    /// The number of texts in a workbook that are not valid UTF-8. The cells of these texts do not show all bytes. Nil
    /// if all texts are valid.
    package var invalidTextCount: Int?
    /// The time zone of the dates in a workbook, or in CSV for Excel. Nil for other forms, in which dates are in UTC.
    package var timeZone: String?
    /// The findings on the store: what was wrong or noteworthy.
    public let findings: [Finding]
    /// The number of findings that are damage.
    public let damageCount: Int

    /// Counts of the files that hold one long value each.
    package struct LongValueFiles: Sendable, Codable {
      package let fileCount: Int
      package let sizeBytes: Int64
      /// The path of the folder that contains these files. The folder is beside the workbook.
      package let output: String
    }

    /// The part of the output for one entity or table.
    public struct Part: Sendable, Codable {
      /// The name of the entity or table.
      public let name: String
      /// The name of the file, sheet or table that holds the rows.
      public let target: String
      /// The number of rows that were written.
      public let rowCount: Int
    }
  }

  /// Which rows are written, and how binary values and CSV cells are written.
  public var options: RowOutput.Options
  /// The name of the store in the result and in a new SQLite file; nil to use the path of the store.
  package var sourceName: String?
  /// Tracks the files that are made, so that a caller can remove them at any time.
  package var made = MadeFiles()

  /// Called with the number of rows read so far, and with the total number of rows if they were counted. Nil for no
  /// reports.
  package var progress: (@Sendable (_ done: Int, _ total: Int?) -> Void)?
  /// Whether rows are counted beforehand for ``progress``. Counting takes one additional pass over the rows.
  package var countsRows = false

  /// Whether SQLite runs `integrity_check`, not just `quick_check`, on a large new SQLite file before the file gets its
  /// final name.
  public var verifies = false

  /// Creates an export with the given options, including the wanted entities and the limit.
  public init(_ options: RowOutput.Options = .init()) { self.options = options }

  /// Writes the rows of `store`.
  ///
  /// - Parameters:
  ///   - store: the opened store.
  ///   - format: the form of the output.
  ///   - output: a folder for CSV and NDJSON, a file for SQLite. Nothing may exist at this path, except an empty
  ///     folder.
  /// - Returns: what was written, and the hashes and findings of the store.
  /// - Throws: ``ExtractionError``, `SQLiteFileError`, `SQLiteWriterError`. Before an error is thrown, everything that
  ///   was written is removed.
  public func run(_ store: CoreDataStore, as format: Format, to output: String) throws -> Result {
    try checkNames(store)
    let source = ExportSource(store, options)
    let progress = try rowProgress(of: source)
    let parts: [Result.Part]
    let hashes: [String: String]
    var files: (RebuildResult.ExternalFiles?, [Finding])
    switch format {
    case .sqlite:
      (parts, hashes) = try SQLiteExport(
        source: source, name: sourceName ?? store.database.path, options: options, made: made,
        verifies: verifies, progress: progress
      ).write(to: output, source.watch.requireUnchanged)
      files = try source.external.survey(
        namesAll: source.namesAll, maxBytes: SQLiteExport.maxValueBytes)
    case .ndjson, .csv:
      let folder = try OutputFolder(output, made)
      do {
        parts =
          try writeEntities(of: store, as: format, into: folder, source.external, progress)
          + writeTables(source.tables, of: store, as: format, into: folder, progress)
        files = try source.external.survey(namesAll: source.namesAll)
        try folder.take(source.external)
        if files.0?.fileCount ?? 0 > 0 { files.0?.output = ExternalFiles.folderName }
        hashes = try source.hashes()
        folder.keep()
      } catch {
        folder.discard()
        throw error
      }
    }
    var result = result(source, format.rawValue, output, parts, hashes, files)
    // In an SQLite file, an entity has a table even if it has no rows.
    if format != .sqlite { result.parts.removeAll { $0.rowCount == 0 } }
    if format == .csv { result.timeZone = options.excel?.dates.name }
    return result
  }

  func result(
    _ source: ExportSource, _ format: String, _ output: String, _ parts: [Result.Part],
    _ hashes: [String: String], _ files: (RebuildResult.ExternalFiles?, [Finding])
  ) -> Result {
    var findings = source.store.findings
    for finding in files.1 { findings.add(finding) }
    var result = Result(
      source: sourceName ?? source.store.database.path, format: format, output: output,
      parts: parts, rowCount: parts.reduce(0) { $0 + $1.rowCount }, sourceSHA256: hashes,
      externalFiles: files.0, findings: findings.kept, damageCount: findings.damageCount)
    var met = Set(parts.lazy.filter { $0.rowCount > 0 }.map { Array($0.name.utf8) })
    // With a limit of no rows, nothing says which tables have none.
    result.emptyNames =
      options.limit == 0
      ? [] : parts.map(\.name).filter { met.insert(Array($0.utf8)).inserted }
    let doubtful = doubtfulNames(of: source.store, findings)
    let names = result.emptyNames.filter { doubtful.contains(ExactText($0)) }
    if !names.isEmpty { result.doubtfulNames = names }
    return result
  }

  /// Returns the names of damaged tables, and the names of the entities in these tables.
  private func doubtfulNames(of store: CoreDataStore, _ findings: FindingList) -> Set<ExactText> {
    let damage = findings.kept.filter { $0.severity == .damage }
    // Only a limited number of findings are kept. Damage that was counted but not kept may be in any table.
    let isAnywhere = findings.damageCount > damage.count
    // Rows of unknown entities are exported under the name of their table, so none of them is lost.
    let losing = damage.filter { $0.id != .coredataUnknownEntity }
    let damaged = Set(losing.compactMap { $0.table.map { ExactText($0) } })
    var names = isAnywhere ? Set(store.plainTables.map { ExactText($0.name) }) : damaged
    for table in store.entityTables where isAnywhere || damaged.contains(ExactText(table.name)) {
      let entities = (try? store.describedEntities(of: table)) ?? []
      names.formUnion(entities.map { ExactText($0.name) })
    }
    return names
  }

  /// Returns an object that counts rows; nil if no progress is reported.
  func rowProgress(of source: ExportSource) throws -> RowProgress? {
    guard let progress else { return nil }
    let store = source.store
    var total: Int?
    if countsRows {
      total = try (store.entityTables + source.tables).reduce(0) {
        try $0 + store.database.rowCount(of: $1).count
      }
    }
    return RowProgress(of: total, progress)
  }

  func checkNames(_ store: CoreDataStore) throws {
    guard let wanted = options.entityNames else { return }
    let known =
      store.entities.map { store.entityName(ofNumber: $0.number) ?? $0.name }
      + (store.kind == .coreData ? store.plainTables : store.database.schema.tables).map(\.name)
    guard let name = Set(wanted).subtracting(known).min() else { return }
    throw ExtractionError(
      .unknownName, "the store has no \(store.kind == .coreData ? "entity" : "table") \(name)",
      path: store.database.path, nearest: NearestName.of(name, among: known))
  }

  /// An open file of the output, and the target for the rows of the file.
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
    of store: CoreDataStore, as format: Format, into folder: OutputFolder,
    _ external: ExternalFiles, _ progress: RowProgress?
  ) throws -> [Result.Part] {
    var parts: [Result.Part] = []
    let wanted = options.entityNames.map(store.numbers(ofEntities:))
    for table in store.entityTables {
      guard let plan = try store.plan(for: table, wanted: nil) else { continue }
      let entities = plan.describedEntities.filter { wanted?.contains($0.number) ?? true }
      // Files are looked up by number, because Swift may treat two names as equal although their bytes differ.
      var files: [Int64: RowFile] = [:]
      for entity in entities {
        let file = try RowFile(
          folder.fileName(for: entity.name, extension: format.rawValue), in: folder)
        if format == .csv {
          file.target.output.append(csvHeader: entity, options.csv)
        }
        files[entity.number] = file
      }
      // Rows of unknown entities have no columns with names. In both formats, they are written as JSON into a separate
      // file.
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
      ) { _, number in number.flatMap { files[$0]?.target } }.read(from: store, progress)
      for (name, file) in entities.map({ ($0.name, files[$0.number]) }) + [(table.name, unknown)] {
        guard let file else { continue }
        try file.target.output.finish()
        try folder.finish(file.descriptor)
        if file.target.rowCount == 0 { folder.remove(file.name) }
        parts.append(.init(name: name, target: file.name, rowCount: file.target.rowCount))
      }
    }
    return parts
  }

  private func writeTables(
    _ tables: [Table], of store: CoreDataStore, as format: Format, into folder: OutputFolder,
    _ progress: RowProgress?
  ) throws -> [Result.Part] {
    var parts: [Result.Part] = []
    func watch(_ receiver: any RecordReceiver) -> any RecordReceiver {
      progress?.watching(receiver) ?? receiver
    }
    for table in tables {
      let name = folder.fileName(for: table.name, extension: format.rawValue)
      let descriptor = try folder.create(name)
      let count =
        format == .csv
        ? try store.database.writeCSV(
          of: table, limit: options.limit, as: options.csv, to: descriptor, watch: watch)
        : try store.database.writeJSON(
          of: [table], limit: options.limit, to: descriptor, watch: watch
        ).first ?? 0
      try folder.finish(descriptor)
      if count == 0 { folder.remove(name) }
      parts.append(.init(name: table.name, target: name, rowCount: count))
    }
    return parts
  }
}
