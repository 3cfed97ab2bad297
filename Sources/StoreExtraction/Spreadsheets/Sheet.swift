import RowText
import SQLiteFile

/// The sheets of a workbook for the rows of one entity or table: a single sheet, or several if one cannot hold all
/// rows.
final class Sheet {
  /// One sheet of the workbook.
  struct Part {
    let name: String
    /// The path of the sheet's part in the archive, below `xl/`.
    let path: String
    /// The number of rows in the sheet, without the header.
    fileprivate(set) var rowCount = 0
  }

  let plan: SheetPlan
  /// The sheets that hold the rows, in the order of the workbook.
  private(set) var parts: [Part] = []
  /// The total number of rows in all sheets, without headers.
  private(set) var rowCount = 0
  var isOpen: Bool { part != nil }
  /// Whether the last sheet is full, so that the next row needs a further sheet.
  var isFull: Bool { (parts.last?.rowCount ?? 0) >= workbook.maxRows - 1 }
  private let workbook: Workbook
  private let name: String
  private var part: (any ArchivePart)?
  /// The maximum number of the workbook's sheets that are open at a time.
  private let openCount: Int

  /// Prepares the sheets without writing anything yet.
  init(_ plan: SheetPlan, in workbook: Workbook, among openCount: Int) {
    self.plan = plan
    self.workbook = workbook
    self.openCount = openCount
    name = workbook.sheetName(plan.name)
  }

  /// Begins a further sheet if no sheet is open or the open one is full. Returns the number of the next row in its
  /// sheet; the first number is 2.
  func beginRow() throws(ExtractionError) -> Int {
    if let last = parts.last, isOpen, !isFull { return last.rowCount + 2 }
    try end()
    let name = parts.isEmpty ? name : workbook.sheetName(plan.name, number: parts.count + 1)
    let path = workbook.nextSheetPath()
    part = try workbook.archive.begin("xl/" + path, among: openCount)
    parts.append(Part(name: name, path: path))
    try append(header())
    return 2
  }

  func append(_ bytes: RawSpan) throws(ExtractionError) { try part?.append(bytes) }

  /// Counts the current row after all its bytes were added.
  func endRow() {
    rowCount += 1
    if !parts.isEmpty { parts[parts.count - 1].rowCount += 1 }
  }

  /// Ends the sheet that is being written. Does nothing if no sheet is open.
  func end() throws(ExtractionError) {
    guard let part, let last = parts.last else { return }
    var xml = "</sheetData>"
    if let range = Self.range(of: last, columnCount: plan.columns.count) {
      xml += "<autoFilter ref=\"\(range)\"/>"
    }
    try append(xml + "</worksheet>")
    try part.end()
    self.part = nil
  }

  private func append(_ text: String) throws(ExtractionError) {
    let bytes = ContiguousArray(text.utf8)
    try append(bytes.rawSpan)
  }

  // MARK: - References

  /// Returns the range of a sheet's cells, including the header, in the form `A1:D12`. Returns nil for a sheet without
  /// columns.
  static func range(of part: Part, columnCount: Int, isAbsolute: Bool = false) -> String? {
    guard columnCount > 0 else { return nil }
    let sign = isAbsolute ? "$" : ""
    return "\(sign)A\(sign)1:\(sign)\(letters(columnCount - 1))\(sign)\(part.rowCount + 1)"
  }

  /// Returns the letters that name a column: A to Z, AA to ZZ, AAA to XFD. The first column has the index 0.
  static func letters(_ column: Int) -> String {
    var letters: [UInt8] = []
    var rest = column + 1
    while rest > 0 {
      letters.append(UInt8(ascii: "A") + UInt8((rest - 1) % 26))
      rest = (rest - 1) / 26
    }
    return String(decoding: letters.reversed(), as: UTF8.self)
  }

  // MARK: - Header

  /// Returns the XML before the first row: the widths of the columns, and a header that stays visible while rows are
  /// scrolled.
  private func header() -> String {
    var xml = WorkbookXML.declaration
    xml +=
      "<worksheet xmlns=\"\(WorkbookXML.namespace)\"><sheetViews><sheetView workbookViewId=\"0\">"
    xml += "<pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/>"
    xml +=
      "<selection pane=\"bottomLeft\" activeCell=\"A2\" sqref=\"A2\"/></sheetView></sheetViews>"
    xml += "<sheetFormatPr defaultRowHeight=\"15\"/>"
    if !plan.columns.isEmpty { xml += "<cols>" }
    for (place, column) in plan.columns.enumerated() {
      xml +=
        "<col min=\"\(place + 1)\" max=\"\(place + 1)\" width=\"\(column.width)\" customWidth=\"1\"/>"
    }
    if !plan.columns.isEmpty { xml += "</cols>" }
    xml += "<sheetData><row r=\"1\">"
    for (place, column) in plan.columns.enumerated() {
      xml += "<c r=\"\(Self.letters(place))1\" s=\"\(CellStyle.header.rawValue)\" t=\"inlineStr\">"
      xml += "<is><t xml:space=\"preserve\">\(WorkbookXML.escaped(column.title))</t></is></c>"
    }
    return xml + "</row>"
  }
}

/// A style of cells. The raw value is the index of the style among the cell formats of the workbook.
enum CellStyle: Int, CaseIterable {
  case general, date, wholeNumber, header
  /// The style of a text that begins like a formula. With this style, the cell remains text when somebody edits it.
  case quoted
}
