package import SQLiteFile

extension SQLiteDatabase {
  /// Opens a database with the layout that its header states. If the header is lost or contradicts the pages, opens the
  /// database with the layout that a vote of its pages gives (``LayoutVote``).
  ///
  /// In the returned database, ``votedLayout`` is nil if the layout of the header was used, and ``findings`` has the
  /// faults of the header.
  ///
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened. If the pages do not prove that the file is a
  ///   database, the error is that of ``init(path:logView:)``.
  package static func surveyed(path: String, logView: LogView = .committed) throws(SQLiteFileError)
    -> SQLiteDatabase
  {
    let plain: SQLiteDatabase
    do {
      plain = try SQLiteDatabase(path: path, logView: logView)
    } catch {
      guard error.code == .notADatabase || error.code == .badHeader,
        let voted = try voted(path, logView)
      else { throw error }
      return voted
    }
    guard try plain.isLayoutDoubtful(),
      let voted = try voted(path, logView, unlikeThatOf: plain.header)
    else { return plain }
    return voted
  }

  /// Whether anything contradicts the page size, the reserved bytes or the text encoding in the database header. Reads
  /// only a few pages.
  private func isLayoutDoubtful() throws(SQLiteFileError) -> Bool {
    // If the header states too large a page size, the file may end within page 1.
    var reader = anotherReader(fillsCutPage: false)
    guard try reader.kind(of: 1) != nil, header.reservedBytes == 0, try !hasOddEncoding(&reader)
    else { return true }
    if header.isPageCountValid, !hasOverlays,
      Int64(header.pageCount) * Int64(header.pageSize) != sizeBytes
    {
      return true
    }
    let types: Set = ["table", "index", "view", "trigger"]
    guard schema.entries.allSatisfy({ types.contains($0.type) }) else { return true }
    if schema.entries.isEmpty { return try cellCount(ofPage: 1, &reader) > 0 }
    let roots = schema.entries.map(\.rootPage).filter { $0 > 0 }
    var sound = 0
    for root in roots.prefix(64) where try reader.kind(of: root) != nil { sound += 1 }
    return sound * 2 < min(64, roots.count)
  }

  private func hasOddEncoding(_ reader: inout PageReader) throws(SQLiteFileError) -> Bool {
    guard let page = try reader.page(1) else { return false }
    return page.uint32(at: 56) > 3
  }

  private func cellCount(ofPage number: UInt32, _ reader: inout PageReader) throws(SQLiteFileError)
    -> Int
  {
    let usableSize = reader.usableSize
    guard let page = try reader.page(number),
      let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize)
    else { return 0 }
    return header.cellCount
  }

  /// Whether the pages of a file prove that the file is a database, for a file that cannot be opened by its header.
  package static func isRuinedDatabase(path: String) -> Bool {
    ((try? voted(path, .committed)) ?? nil) != nil
  }

  /// Opens the database with the layout that the content of its pages shows. Returns nil if the pages do not prove that
  /// the file is a database. Also returns nil if the layout agrees with `header`, because the database was then already
  /// opened with this layout.
  private static func voted(
    _ path: String, _ logView: LogView, unlikeThatOf header: DatabaseHeader? = nil
  ) throws(SQLiteFileError) -> SQLiteDatabase? {
    let main = try ByteFile(path)
    guard main.size > 0, let survey = try FileSurvey(main, logView), try survey.isProven() else {
      return nil
    }
    var layout = survey.layout
    let remains = try survey.headerRemains()
    let bytes =
      remains ?? ContiguousArray<UInt8>(repeating: 0, count: DatabaseHeader.length)
    if layout.encodingSource == .assumed,
      let encoding = DatabaseHeader.TextEncoding(rawValue: bytes.rawSpan.uint32(at: 56))
    {
      layout.textEncoding = encoding
    }
    let voted = DatabaseHeader(layout, remains: bytes.rawSpan)
    if let header, voted.pageSize == header.pageSize,
      voted.reservedBytes == header.reservedBytes, voted.textEncoding == header.textEncoding
    {
      return nil
    }
    var findings = FindingList()
    for finding in survey.findings { findings.add(finding) }
    if let sides = survey.sides { findings.add(sides.findings) }
    return try SQLiteDatabase(
      path: path, logView: logView, main: main, header: voted,
      overlays: survey.sides?.overlays ?? [],
      pageCount: survey.sides?.databasePageCount ?? survey.pageCount, findings: findings,
      origin: layout.origin, votedLayout: layout, isHeaderLost: remains == nil)
  }
}

extension FileSurvey {
  /// Returns the bytes of a database header even if the header is not valid; nil if its fields cannot be trusted. Each
  /// field with a constant value must have that value (file format, sections 1.3.5 and 1.3.17). The page number of the
  /// first freelist trunk and the number of free pages must not exceed the page count.
  fileprivate func headerRemains() throws(SQLiteFileError) -> ContiguousArray<UInt8>? {
    var place = (file: main, offset: layout.origin)
    for overlay in sides?.overlays ?? [] {
      guard let offset = overlay.offset(of: 1) else { continue }
      place = (overlay.file, offset)
      break
    }
    let bytes = ContiguousArray(
      try place.file.bytes(at: place.offset, count: DatabaseHeader.length))
    guard bytes.count == DatabaseHeader.length, bytes[21] == 64, bytes[22] == 32, bytes[23] == 32,
      bytes[72..<92].allSatisfy({ $0 == 0 })
    else { return nil }
    let header = bytes.rawSpan
    guard header.uint32(at: 32) <= pageCount, header.uint32(at: 36) <= pageCount else { return nil }
    return bytes
  }
}
