import SafeText
import SQLiteFile

/// The main file, log and journal of a database, and the layout (page size, encoding, offset of page 1) that these
/// files show together.
struct FileSurvey {
  let main: ByteFile
  let layout: FileLayout
  /// The log and the journal; nil if they are to be ignored.
  let sides: SideFiles?
  /// The number of pages of the main file. Pages that were lost at the beginning of the file count, and so does an
  /// incomplete last page.
  let mainPageCount: UInt32
  /// The highest page number in main file, log and journal.
  let pageCount: UInt32

  /// Opens the log and the journal beside the main file, and decides the layout of the database by the content of its
  /// pages. Returns nil if the main file does not look like a database.
  ///
  /// - Throws: ``SQLiteFileError`` when the main file, the log or the journal cannot be read.
  init?(_ main: ByteFile, _ logView: SQLiteDatabase.LogView) throws(SQLiteFileError) {
    if let mistaken = try MistakenFile.error(for: main) { throw mistaken }
    let sidePageSize =
      logView == .ignore ? nil : try SideFiles.pageSizes(beside: main.path).first
    guard var voted = try LayoutVote(main).decide(sidePageSize: sidePageSize) else { return nil }
    voted.shift = try ShiftSearch(main, voted).find()
    let sides =
      logView == .ignore
      ? nil
      : try SideFiles(
        beside: main.path, main: main, pageSize: voted.pageSize,
        includeUncommitted: logView == .all, origin: voted.origin, shift: voted.shift)
    self.main = main
    self.sides = sides
    let overlays = sides?.overlays ?? []
    // If the log or the journal has page 1, that page 1 takes precedence over page 1 of the main file.
    for overlay in overlays.reversed() {
      guard let offset = overlay.offset(of: 1) else { continue }
      guard let header = try overlay.file.databaseHeader(at: offset),
        header.pageSize == voted.pageSize
      else { continue }
      voted.header = header
      // If the main file has no pages, only this header states the number of reserved bytes of each page.
      if voted.pageSizeSource == .log { voted.reservedBytes = header.reservedBytes }
      voted.hasPointerMap = header.hasPointerMap
      voted.textEncoding = header.textEncoding
    }
    layout = voted
    let length = main.size - voted.origin - (voted.shift?.distance ?? 0)
    let stored = (length + Int64(voted.pageSize) - 1) / Int64(voted.pageSize)
    mainPageCount = UInt32(clamping: max(0, stored))
    pageCount = overlays.reduce(mainPageCount) { max($0, $1.highestPage) }
  }

  /// Returns a reader of all pages. If the log or the journal has a version of a page, this version takes precedence
  /// over the version in the main file.
  func reader() -> PageReader {
    PageReader(
      main: main, pageSize: layout.pageSize, usableSize: layout.usableSize, pageLimit: pageCount,
      origin: layout.origin, shift: layout.shift, overlays: sides?.overlays ?? [])
  }

  // MARK: - Findings

  /// Returns the number in decimal, with commas between groups of three digits.
  private static func grouped(_ number: some BinaryInteger) -> String {
    let digits = Array(String(number))
    return digits.indices.reduce(into: "") { text, index in
      if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
      text.append(digits[index])
    }
  }

  static var schemaLost: Finding {
    Finding(
      .schemaLost, "the schema table cannot be read; tables are recognised by their rows", page: 1)
  }

  private static func shifted(_ shift: PageShift) -> Finding {
    let isOne = abs(shift.distance) == 1
    let bytes = isOne ? "1 byte" : "\(grouped(abs(shift.distance))) bytes"
    let happened = shift.distance < 0 ? "missing" : "inserted"
    let verb = shift.distance < 0 ? (isOne ? "is" : "are") : (isOne ? "was" : "were")
    let place = "near byte \(grouped(shift.place))"
    let count = shift.doubtful.count
    return Finding(
      .fileShifted,
      "\(bytes) \(verb) \(happened) \(place); later pages are read at their shifted offsets, and only intact cells are read from the \(count == 1 ? "page" : "\(count) pages") around that byte",
      page: shift.doubtful.lowerBound, offset: shift.place)
  }

  /// The findings about the header, the beginning and the length of the main file.
  var findings: [Finding] {
    var findings: [Finding] = []
    if main.size == 0 { findings.append(.mainEmpty) }
    if let shift = layout.shift { findings.append(Self.shifted(shift)) }
    let facts =
      "the pages show a page size of \(Self.grouped(layout.pageSize)) bytes and text in \(layout.textEncoding.name)"
    if layout.origin < 0 {
      findings.append(
        Finding(
          .fileHeadMissing,
          "the first \(Self.grouped(-layout.origin)) bytes of the database are missing; \(facts)",
          offset: 0))
    } else if layout.origin > 0 {
      findings.append(
        Finding(
          .fileHeadMoved,
          "the database begins \(Self.grouped(layout.origin)) bytes into the file; \(facts)",
          offset: 0))
    } else if let refused = layout.refusedHeader {
      findings.append(
        Finding(
          .headerOtherPageSize,
          "the database header names a page size of \(Self.grouped(refused.pageSize)) bytes; \(facts)",
          offset: 16
        ))
    } else if layout.header == nil {
      findings.append(
        Finding(.headerUnreadable, "the database header is not valid; \(facts)", offset: 0))
    } else if let header = layout.header, header.reservedBytes != layout.reservedBytes {
      findings.append(
        Finding(
          .headerOtherReservedBytes,
          "the database header reserves \(header.reservedBytes) bytes at the end of each page, but the pages leave \(layout.reservedBytes) bytes unused there",
          offset: 20))
    } else if layout.encodingSource == .pages,
      layout.header?.textEncoding != layout.textEncoding
    {
      findings.append(
        Finding(
          .headerOtherEncoding,
          "the database header names a text encoding that the pages contradict; \(facts)",
          offset: 56))
    }
    if let header = layout.header, layout.shift == nil, header.isPageCountValid,
      sides?.overlays.isEmpty ?? true,
      Int64(header.pageCount) * Int64(layout.pageSize) > main.size - layout.origin
    {
      findings.append(
        Finding(
          .fileTruncated,
          "the header counts \(counted(header.pageCount, "page")), but the file ends after \((main.size - layout.origin) / Int64(layout.pageSize))",
          offset: main.size))
    }
    return findings
  }
}
