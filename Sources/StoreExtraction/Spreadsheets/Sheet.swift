import RowText
import SQLiteFile

/// The rows of an entity or a table in a workbook: a sheet, and further ones where they are more than one sheet holds.
final class Sheet {
  /// A sheet of the workbook.
  struct Part {
    /// Its name.
    let name: String
    /// The name of its part in the archive, below `xl/`.
    let path: String
    /// Its rows, without the header.
    fileprivate(set) var rowCount = 0
  }

  let plan: SheetPlan
  /// The sheets of the workbook, in their order.
  private(set) var parts: [Part] = []
  /// The rows of all of them.
  private(set) var rowCount = 0
  /// Whether a part is being written.
  var isOpen: Bool { part != nil }
  /// Whether the next row begins another part.
  var isFull: Bool { (parts.last?.rowCount ?? 0) >= workbook.maxRows - 1 }
  private let workbook: Workbook
  private let name: String
  private var part: (any ArchivePart)?
  /// How many parts are open at most.
  private let openCount: Int

  /// - Parameters:
  ///   - plan: how rows become rows of a sheet.
  ///   - workbook: the workbook.
  ///   - openCount: how many sheets are written at a time at most.
  init(_ plan: SheetPlan, in workbook: Workbook, among openCount: Int) {
    self.plan = plan
    self.workbook = workbook
    self.openCount = openCount
    name = workbook.sheetName(plan.name)
  }

  /// Prepares for a row, and returns its number in its sheet.
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

  /// Adds bytes of a row.
  func append(_ bytes: RawSpan) throws(ExtractionError) { try part?.append(bytes) }

  /// Counts the row that was added.
  func endRow() {
    rowCount += 1
    if !parts.isEmpty { parts[parts.count - 1].rowCount += 1 }
  }

  /// Ends the present part.
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

  /// The cells of a part, such as `A1:D12`; nil without columns.
  static func range(of part: Part, columnCount: Int, isAbsolute: Bool = false) -> String? {
    guard columnCount > 0 else { return nil }
    let sign = isAbsolute ? "$" : ""
    return "\(sign)A\(sign)1:\(sign)\(letters(columnCount - 1))\(sign)\(part.rowCount + 1)"
  }

  /// The letters of a column that is counted from 0: A to Z, AA to ZZ, AAA to XFD.
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

  /// What comes before the first row: a header that stays when rows are scrolled, and the columns' widths.
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

/// The styles of cells, by their places among those of the workbook.
enum CellStyle: Int, CaseIterable {
  case general, date, wholeNumber, header
  /// Text that stays text when somebody edits it, although it looks like a formula.
  case quoted
}
