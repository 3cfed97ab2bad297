import CoreDataStore
import Foundation
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeFiles
import SafeText
import StoreFiles

/// Writes one state of a store as a separate database file, with a manifest beside it.
package struct StateExport: Sendable {
  /// The files that the export has made so far. A caller uses this list to remove the files.
  package var made = MadeFiles()
  /// The name that the manifest gives the source store; nil to use the store's path.
  package var sourceName: String?
  /// Called with the number of pages written so far and the total number of pages.
  package var progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)?

  package init() {}

  /// The total size, in bytes, of missing pages above which ``checkSize(of:_:)`` may refuse a state.
  private static let mostZeros: Int64 = 256 << 20
  private static let reportEvery: UInt32 = 512

  /// Writes a state into a new file.
  ///
  /// - Parameters:
  ///   - name: the name of the state to write.
  ///   - states: the states of the store.
  ///   - output: the path of the new file. Nothing may exist at this path or at that of the manifest.
  /// - Returns: the manifest, which also says whether the state is whole. A state that is not whole is written, too.
  /// - Throws: ``ExtractionError`` for a state that the store does not have or that cannot be restored, and when the
  ///   store changes; `SQLiteFileError`, `SQLiteWriterError`. Before an error is thrown, the files that were made are
  ///   removed.
  package func run(_ name: StoreState.Name, of states: StoreStates, to output: String) throws
    -> StateManifest
  {
    let path = states.store.database.path
    let watch = EvidenceWatch(path)
    try SQLiteWriter.checkFree(output)
    let manifestPath = StateManifest.path(for: output)
    if try FileStatus.of(manifestPath) != nil {
      throw ExtractionError(
        .outputExists,
        "something already exists at the path of the manifest; move it away, or choose another output",
        path: manifestPath)
    }
    let database = try states.database(name)
    var findings = states.findings(on: name, database)
    try checkSize(of: database, name)
    let hashing = StoreSet(at: path).hashing()
    return try made.makeDatabase(at: output, options(for: database)) { writer -> StateManifest in
      var image = StateImage(database)
      try writer.replacePages(database.pageCount) { number, page in
        if number % Self.reportEvery == 1 {
          progress?(Int64(number - 1), Int64(database.pageCount))
        }
        return try image.write(number, into: &page)
      }
      findings += try check(writer, database)
      let external = externalFileCount(of: states.store)
      if external > 0 {
        findings.append(
          Finding(
            .stateExternalFiles,
            """
            values are in \(counted(external, "file")) beside the store, which \(external == 1 ? "has" : "have") no \
            earlier versions and \(external == 1 ? "is" : "are") not part of the new file
            """,
            severity: .note))
      }
      try writer.complete()
      let hashes = try hashing.wait()
      try watch.requireUnchanged()
      let damage = findings.count { $0.severity == .damage }
      let manifest = StateManifest(
        exported: Date(), source: sourceName ?? path,
        sourceSHA256: try hashes.byName(),
        state: name.text, madeOf: states.source(of: name), isWhole: damage == 0, output: output,
        sizeBytes: Int64(database.pageCount) * Int64(states.states.pageSize),
        sha256: try StoreSeal.sha256(ofFile: writer.path),
        pageSizeBytes: states.states.pageSize, pageCount: database.pageCount, pages: image.pages,
        headerChanges: image.headerChanges, externalFileCount: external, findings: findings,
        damageCount: damage)
      // The manifest gets its name before the exported file, so that there is never an exported file without a
      // manifest.
      try manifest.publish(made)
      return manifest
    }
  }

  private func options(for database: SQLiteDatabase) -> SQLiteWriter.Options {
    var options = SQLiteWriter.Options(pageSize: database.header.pageSize, journalMode: .memory)
    options.isSynchronous = false
    options.maxValueBytes = RebuildLimits.valueBytes(
      of: Int64(database.pageCount) * Int64(database.header.pageSize))
    return options
  }

  /// Throws if the page count of a state is probably damaged: if the missing pages have more than ``mostZeros`` bytes
  /// and are more than four times as many as the existing pages.
  private func checkSize(of database: SQLiteDatabase, _ name: StoreState.Name) throws {
    let missing = database.missingPageCount
    let stored = Int64(database.pageCount) - Int64(missing)
    guard Int64(missing) * Int64(database.header.pageSize) > Self.mostZeros,
      Int64(missing) > 4 * stored
    else { return }
    throw ExtractionError(
      .stateNotHeld,
      """
      state \(name.text) has \(counted(database.pageCount, "page")), but the files hold only \(stored) of them; the \
      page count is probably damaged
      """,
      path: database.path)
  }

  private func externalFileCount(of store: CoreDataStore) -> Int {
    guard store.kind != .sqlite else { return 0 }
    return StoreSet(at: store.database.path).members
      .count { $0.role == .support && $0.kind == .file }
  }

  // MARK: - SQLite's check

  /// The time that SQLite's check may take, in seconds: a base time, and a time for each byte of the file. The limit is
  /// ten times the usual duration.
  private static let checkSeconds = (base: 30.0, perByte: 200e-9)

  private func check(_ writer: SQLiteWriter, _ database: SQLiteDatabase) throws -> [Finding] {
    let size = Double(database.pageCount) * Double(database.header.pageSize)
    var seconds = Self.checkSeconds.base + size * Self.checkSeconds.perByte
    var problems: [String]
    do throws(SQLiteWriterError) {
      problems = try writer.limited(to: &seconds) { () throws(SQLiteWriterError) in
        try writer.check(.full)
      }
    } catch {
      guard error.code == .sqlite || error.code == .tooLong || error.code == .tooBig else {
        throw error
      }
      problems = ["the check could not finish: \(error.message)"]
    }
    // Older versions of SQLite report all faults of pages in one row.
    problems = problems.flatMap { $0.utf8.split(separator: UInt8(ascii: "\n")) }
      .compactMap { String($0) }
      .filter { !PathText.starts($0, with: "*** in database") }
    // A violated CHECK constraint is not damage: some constraints are true one day and false the next.
    problems.removeAll { PathText.starts($0, with: "CHECK constraint failed in ") }
    if !problems.isEmpty, problems.allSatisfy(mayBeMistaken),
      try SQLiteDatabase(path: writer.path).check(depth: .full).findings.damageCount == 0
    {
      problems = []
    }
    let more = problems.count - 5
    return problems.prefix(5).map { Finding(.stateCheckFails, "SQLite's own check: \($0)") }
      + (more > 0
        ? [Finding(.stateCheckFails, "SQLite's own check finds \(counted(more, "more fault"))")]
        : [])
  }

  /// Whether `problem` may be a mistake of SQLite. SQLite 3.40.1 confuses the columns of WITHOUT ROWID tables when it
  /// checks NOT NULL and types.
  private func mayBeMistaken(_ problem: String) -> Bool {
    ["NULL value in ", "TEXT value in ", "NUMERIC value in ", "non-"].contains {
      PathText.starts(problem, with: $0)
    }
  }
}

/// Provides the pages of one state, adjusted so that they form a complete database file by themselves.
private struct StateImage: ~Copyable {
  private(set) var pages = StateManifest.Pages()
  private(set) var headerChanges: [String] = []
  private let pageCount: UInt32
  /// The number of the lock-byte page. This page has no content and may be missing (file format, section 1.4).
  private let lockPage: UInt32
  private var reader: PageReader

  init(_ database: SQLiteDatabase) {
    pageCount = database.pageCount
    lockPage = UInt32((1 << 30) / database.header.pageSize + 1)
    reader = database.anotherReader()
  }

  /// Writes page `number` into the empty buffer. The buffer stays empty if no file holds the page or if the page is all
  /// zeros. Returns the number of the next page to write; pages in a hole of the main file are skipped. Throws when the
  /// device fails.
  mutating func write(_ number: UInt32, into page: inout ContiguousArray<UInt8>)
    throws(SQLiteFileError) -> UInt32
  {
    guard number <= reader.pageLimit else {
      page.removeAll(keepingCapacity: true)
      let rest = Int(pageCount - number) + 1
      pages.missing += rest
      return .max
    }
    let stored = min(reader.nextStored(from: number), pageCount)
    guard stored == number else {
      pages.main += Int(stored - number)
      return stored
    }
    guard try reader.copy(number, into: &page) > 0 else {
      page.removeAll(keepingCapacity: true)
      pages.missing += number == lockPage ? 0 : 1
      pages.main += number == lockPage ? 1 : 0
      return number + 1
    }
    switch reader.location(of: number).member {
    case .main: pages.main += 1
    case .wal: pages.wal += 1
    case .journal: pages.journal += 1
    }
    if number == 1 { adjustHeader(&page) }
    if page.allSatisfy({ $0 == 0 }) { page.removeAll(keepingCapacity: true) }
    return number + 1
  }

  /// Changes the header to that of a database without a log (file format, section 1.3). Sets rollback journal mode, and
  /// records the size of the database together with the current change counter.
  private mutating func adjustHeader(_ page: inout ContiguousArray<UInt8>) {
    for (place, name) in [(18, "writeVersion"), (19, "readVersion")] where page[place] == 2 {
      page[place] = 1
      headerChanges.append(name)
    }
    let counter = Array(page[24..<28])
    let count = (0..<4).map { UInt8(truncatingIfNeeded: pageCount >> UInt32(24 - 8 * $0)) }
    for (start, value, name) in [(28, count, "pageCount"), (92, counter, "versionValidFor")]
    where Array(page[start..<start + 4]) != value {
      page.replaceSubrange(start..<start + 4, with: value)
      headerChanges.append(name)
    }
  }
}
