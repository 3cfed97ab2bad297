import SafeText
import SQLiteFile

/// Checks the fields of the database header (file format, section 1.3) against each other and against the file.
enum HeaderCheck {
  static func run(_ database: SQLiteDatabase, _ reader: inout PageReader) throws(SQLiteFileError)
    -> [Finding]
  {
    let header = database.header
    let place = reader.location(of: 1)
    var findings: [Finding] = []
    func add(
      _ id: Finding.ID, _ message: String, _ offset: Int, _ severity: Finding.Severity = .damage
    ) {
      findings.append(
        Finding(
          id, message, severity: severity, member: place.member, page: 1,
          offset: place.offset + Int64(offset)))
    }
    guard let page = try reader.page(1) else { return [] }
    // Section 1.3.5: the fractions must be 64, 32 and 32.
    if page.byte(at: 21) != 64 || page.byte(at: 22) != 32 || page.byte(at: 23) != 32 {
      add(
        .headerBadFractions,
        "the payload fractions are \(page.byte(at: 21)), \(page.byte(at: 22)) and \(page.byte(at: 23)), not 64, 32 and 32, so SQLite refuses the file",
        21)
    }
    if header.writeVersion == 0 || header.writeVersion > 2 || header.readVersion == 0 {
      add(
        .headerBadVersion,
        "the write version is \(header.writeVersion) and the read version \(header.readVersion); known versions are 1 and 2",
        18, .note)
    }
    let hasTables = !database.schema.entries.isEmpty
    if header.schemaFormat > 4 || (hasTables && header.schemaFormat == 0) {
      // SQLite uses only the lowest byte of the schema format.
      let isRefused = header.schemaFormat & 0xff > 4
      add(
        .headerBadSchemaFormat,
        "the schema format is \(header.schemaFormat); known formats are 1 to 4\(isRefused ? ", and SQLite refuses the file" : "")",
        44, isRefused ? .damage : .note)
    }
    let encoding = page.uint32(at: 56)
    if hasTables, encoding == 0 || encoding > 3 {
      add(
        .headerBadEncoding,
        "the text encoding is \(encoding), which is not valid; text is read as \(header.textEncoding.name)",
        56, .note)
    }
    if page.part(72, 20).array().contains(where: { $0 != 0 }) {
      add(.headerReservedBytes, "the 20 bytes reserved for later versions are not zero", 72, .note)
    }
    if header.isIncrementalVacuum, !header.hasPointerMap {
      add(.headerBadAutoVacuum, "incremental vacuum is on, but there is no pointer map", 64)
    }
    let largest = database.schema.entries.map(\.rootPage).max() ?? 1
    if header.hasPointerMap, hasTables, header.largestRootPage != max(largest, 1) {
      add(
        .headerBadLargestRoot,
        "the largest root page is \(max(largest, 1)), but the header says \(header.largestRootPage)",
        52)
    }
    if !header.isPageCountValid, header.versionValidFor != 0 {
      add(
        .headerStaleCount,
        "the header's page count of \(header.pageCount) is stale: the last writer did not update it",
        28, .note)
    }
    // Section 1.3.3: a read version of 2 says that the database is in WAL mode.
    if header.readVersion == 2, database.writeAheadLog == nil, database.logView != .ignore,
      database.votedLayout == nil
    {
      // The log was not read, so a file with its name is empty.
      let isEmpty = (try? ByteFile(database.path + "-wal")) != nil
      add(
        .walNone,
        "the store is in WAL mode, but \(isEmpty ? "its -wal file is empty" : "has no -wal file beside it"): this is normal after a clean close; otherwise the newest rows are missing",
        19, .note)
    }
    findings += size(database)
    return findings
  }

  /// Returns a finding if bytes follow the last page of the main file. The size of the main file is not checked if the
  /// log has pages or the journal is hot, because the log or the journal then decides the size of the database.
  private static func size(_ database: SQLiteDatabase) -> [Finding] {
    let pageSize = Int64(database.header.pageSize)
    guard database.writeAheadLog?.pageOffsets.isEmpty ?? true, database.journal?.state != .hot,
      database.votedLayout == nil
    else { return [] }
    let wanted = Int64(database.pageCount) * pageSize
    guard database.sizeBytes > wanted else { return [] }
    return [
      Finding(
        .fileTrailing,
        counted(database.sizeBytes - wanted, "byte follows", "bytes follow")
          + " the last of \(counted(database.pageCount, "page"))",
        severity: .note, offset: wanted)
    ]
  }
}
