import RowText
import SQLiteFile

/// The rows of an entity or a table in a workbook: one sheet, and further sheets when there are more rows than one
/// holds.
final class Sheet {
  /// One sheet of the workbook.
  struct Part {
    /// The name of the sheet.
    let name: String
    /// The path of the sheet's part in the archive, below `xl/`.
    let path: String
    /// The number of rows, without the header.
    fileprivate(set) var rowCount = 0
  }

  let plan: SheetPlan
  /// The sheets that hold the rows, in their order in the workbook.
  private(set) var parts: [Part] = []
  /// The number of rows in all sheets, without headers.
  private(set) var rowCount = 0
  /// Whether a sheet is being written.
  var isOpen: Bool { part != nil }
  /// Whether the next row begins a further sheet.
  var isFull: Bool { (parts.last?.rowCount ?? 0) >= workbook.maxRows - 1 }
  private let workbook: Workbook
  private let name: String
  private var part: (any ArchivePart)?
  /// How many sheets of the workbook are open at a time at most.
  private let openCount: Int

  /// - Parameters:
  ///   - plan: how rows of the entity or table become rows of a sheet.
  ///   - workbook: the workbook.
  ///   - openCount: how many sheets are written at a time at most.
  init(_ plan: SheetPlan, in workbook: Workbook, among openCount: Int) {
    self.plan = plan
    self.workbook = workbook
    self.openCount = openCount
    name = workbook.sheetName(plan.name)
  }

  /// Begins a sheet if none has room, and returns the number of the next row in its sheet, from 2.
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

  /// Adds bytes to the current row.
  func append(_ bytes: RawSpan) throws(ExtractionError) { try part?.append(bytes) }

  /// Counts a row whose bytes were added.
  func endRow() {
    rowCount += 1
    if !parts.isEmpty { parts[parts.count - 1].rowCount += 1 }
  }

  /// Ends the sheet that is being written, if there is one.
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

  /// Returns the range of a sheet's cells with the header, such as `A1:D12`; nil without columns.
  static func range(of part: Part, columnCount: Int, isAbsolute: Bool = false) -> String? {
    guard columnCount > 0 else { return nil }
    let sign = isAbsolute ? "$" : ""
    return "\(sign)A\(sign)1:\(sign)\(letters(columnCount - 1))\(sign)\(part.rowCount + 1)"
  }

  /// Returns the letters of a column, which is counted from 0: A to Z, AA to ZZ, AAA to XFD.
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

  /// Returns the XML before the first row: the widths of the columns, and a header that stays visible when rows are
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

/// The styles of cells. The raw value is the position among the cell formats of the workbook.
enum CellStyle: Int, CaseIterable {
  case general, date, wholeNumber, header
  /// For text that begins like a formula: it stays text when somebody edits the cell.
  case quoted
}
