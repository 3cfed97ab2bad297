import SQLiteFile

/// The files of a database with the layout that all of them together testify to.
struct FileSurvey {
  let main: ByteFile
  let layout: FileLayout
  /// What is beside the main file; nil when that is not to count.
  let sides: SideFiles?
  /// Pages of the main file, those before a head that is cut off counted, and a last one that is not whole.
  let mainPageCount: UInt32
  /// The highest page of the main file and of what overlays it.
  let pageCount: UInt32

  /// Votes on the layout of a file; nil when nothing in it looks like a database.
  ///
  /// - Throws: ``SQLiteFileError`` when the file or one beside it cannot be read.
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
        includeUncommitted: logView == .all)
    self.main = main
    self.sides = sides
    let overlays = sides?.overlays ?? []
    // A newer page 1 knows better.
    for overlay in overlays.reversed() {
      guard let offset = overlay.offset(of: 1) else { continue }
      let bytes = ContiguousArray(
        try overlay.file.bytes(at: offset, count: DatabaseHeader.length))
      guard let header = try? DatabaseHeader(parsing: bytes.rawSpan),
        header.pageSize == voted.pageSize
      else { continue }
      voted.header = header
      voted.hasPointerMap = header.hasPointerMap
      voted.textEncoding = header.textEncoding
    }
    layout = voted
    let length = main.size - voted.origin - (voted.shift?.distance ?? 0)
    let stored = (length + Int64(voted.pageSize) - 1) / Int64(voted.pageSize)
    mainPageCount = UInt32(clamping: max(0, stored))
    pageCount = overlays.reduce(mainPageCount) { max($0, $1.highestPage) }
  }

  /// A reader of the pages.
  func reader() -> PageReader {
    PageReader(
      main: main, pageSize: layout.pageSize, usableSize: layout.usableSize, pageLimit: pageCount,
      origin: layout.origin, shift: layout.shift, overlays: sides?.overlays ?? [])
  }

  // MARK: - What is wrong with the file's own facts

  /// A number with commas between its thousands, as the commands print them.
  private static func grouped(_ number: some BinaryInteger) -> String {
    let digits = Array(String(number))
    return digits.indices.reduce(into: "") { text, index in
      if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
      text.append(digits[index])
    }
  }

  /// Says that nothing names the tables.
  static var schemaLost: Finding {
    Finding(
      "schema.lost", "the schema table is not readable; tables are told by their rows", page: 1)
  }

  /// Says where bytes were lost or put in, how many, and what that cost.
  private static func shifted(_ shift: PageShift) -> Finding {
    let bytes = "\(grouped(abs(shift.distance))) bytes"
    let place = "near byte \(grouped(shift.place))"
    let count = shift.doubtful.count
    return Finding(
      "file.shifted",
      "\(bytes) \(shift.distance < 0 ? "are missing" : "were put in") \(place); what stood behind is read where it is now, and of \(count == 1 ? "the page" : "\(count) pages") around that place only what is whole beyond doubt",
      page: shift.doubtful.lowerBound, offset: shift.place)
  }

  /// Where the file's own header was not believed.
  var findings: [Finding] {
    var findings: [Finding] = []
    if main.size == 0 { findings.append(.mainEmpty) }
    if let shift = layout.shift { findings.append(Self.shifted(shift)) }
    let facts =
      "pages of \(Self.grouped(layout.pageSize)) bytes, text in \(layout.textEncoding.name), by what the pages themselves say"
    if layout.origin < 0 {
      findings.append(
        Finding(
          "file.headMissing",
          "the first \(Self.grouped(-layout.origin)) bytes of the database are missing; \(facts)",
          offset: 0))
    } else if layout.origin > 0 {
      findings.append(
        Finding(
          "file.headMoved",
          "the database begins \(Self.grouped(layout.origin)) bytes into the file; \(facts)",
          offset: 0))
    } else if let refused = layout.refusedHeader {
      findings.append(
        Finding(
          "header.otherPageSize",
          "the database header says that pages have \(Self.grouped(refused.pageSize)) bytes; \(facts)",
          offset: 16
        ))
    } else if layout.header == nil {
      findings.append(
        Finding(
          "header.unreadable", "the database header is not readable as one; \(facts)", offset: 0))
    } else if let header = layout.header, header.reservedBytes != layout.reservedBytes {
      findings.append(
        Finding(
          "header.otherReservedBytes",
          "the database header says that \(header.reservedBytes) bytes at the end of each page are reserved, and the pages use all but \(layout.reservedBytes)",
          offset: 20))
    } else if layout.encodingSource == .pages,
      layout.header?.textEncoding != layout.textEncoding
    {
      findings.append(
        Finding(
          "header.otherEncoding", "the header names another text encoding; \(facts)", offset: 56))
    }
    if let header = layout.header, layout.shift == nil, header.isPageCountValid,
      sides?.overlays.isEmpty ?? true,
      Int64(header.pageCount) * Int64(layout.pageSize) > main.size
    {
      findings.append(
        Finding(
          "file.truncated",
          "the header counts \(header.pageCount) pages, the file ends after \(main.size / Int64(layout.pageSize))",
          offset: main.size))
    }
    return findings
  }
}
