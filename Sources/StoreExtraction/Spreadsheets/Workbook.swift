import SQLiteFile

/// A workbook that is being written (ECMA-376, SpreadsheetML). It assigns a name and a part of the archive to each
/// sheet. Sheets are written straight into the archive. The parts that list the sheets are written last.
final class Workbook {
  let archive: any PartArchive
  /// The maximum number of rows in a sheet, including the header.
  let maxRows: Int
  private var names = SheetNames()
  private var sheetCount = 0

  /// The maximum number of rows that a sheet may have so that every spreadsheet program can read it.
  static let maxSheetRows = 1_048_576

  /// Begins a workbook in `archive`, which has no parts yet.
  ///
  /// `maxRows`: the maximum number of rows in a sheet, including the header; tests use a small number.
  init(_ archive: any PartArchive, maxRows: Int = maxSheetRows) throws(ExtractionError) {
    self.archive = archive
    self.maxRows = maxRows
    // These parts are written first, because programs recognise a workbook by the first parts of the archive.
    try add("_rels/.rels", WorkbookXML.packageRelationships)
    try add("xl/styles.xml", WorkbookXML.styles)
  }

  /// Returns an unused name for a sheet, similar to `name`, the name of its entity or table. A `number` above 1 is for
  /// a further sheet of the same entity or table.
  func sheetName(_ name: String, number: Int = 1) -> String {
    number > 1 ? names.further(name, number) : names.unique(name)
  }

  /// Returns the path, below `xl/`, of the part for the next sheet.
  func nextSheetPath() -> String {
    sheetCount += 1
    return "worksheets/sheet\(sheetCount).xml"
  }

  /// Writes the parts that list the workbook's sheets, in the order of `sheets`. All sheets must have ended.
  ///
  /// - Throws: ``ExtractionError`` when the archive cannot be written.
  func end(_ sheets: [Sheet]) throws(ExtractionError) {
    let parts = sheets.flatMap { sheet in
      sheet.parts.map { (part: $0, columnCount: sheet.plan.columns.count) }
    }
    try add("xl/workbook.xml", WorkbookXML.workbook(parts))
    try add("xl/_rels/workbook.xml.rels", WorkbookXML.workbookRelationships(parts.map(\.part)))
    try add("[Content_Types].xml", WorkbookXML.contentTypes(parts.map(\.part)))
  }

  private func add(_ name: String, _ text: String) throws(ExtractionError) {
    let part = try archive.begin(name, among: 1)
    let bytes = ContiguousArray(text.utf8)
    try part.append(bytes.rawSpan)
    try part.end()
  }
}
