import SQLiteFile

/// A workbook that is being written (ECMA-376, SpreadsheetML). It gives sheets their names and parts. Each sheet goes
/// straight into the archive; the parts that list the sheets come last.
final class Workbook {
  /// The archive that the parts are written into.
  let archive: any PartArchive
  /// The most rows of a sheet, header included.
  let maxRows: Int
  private var names = SheetNames()
  private var sheetCount = 0

  /// The most rows of a sheet that any spreadsheet program can read.
  static let maxSheetRows = 1_048_576

  /// Begins a workbook.
  ///
  /// - Parameters:
  ///   - archive: an archive without parts.
  ///   - maxRows: the most rows of a sheet; fewer in tests.
  /// - Throws: ``ExtractionError`` when the archive cannot be written.
  init(_ archive: any PartArchive, maxRows: Int = maxSheetRows) throws(ExtractionError) {
    self.archive = archive
    self.maxRows = maxRows
    // These come first, because programs recognise a workbook by the first parts of the archive.
    try add("_rels/.rels", WorkbookXML.packageRelationships)
    try add("xl/styles.xml", WorkbookXML.styles)
  }

  /// Returns a free name for a sheet that is like the name of its entity or table. With a number above 1, for a further
  /// sheet of the same rows.
  func sheetName(_ name: String, number: Int = 1) -> String {
    number > 1 ? names.further(name, number) : names.unique(name)
  }

  /// Returns the path for the part of the next sheet, below `xl/`.
  func nextSheetPath() -> String {
    sheetCount += 1
    return "worksheets/sheet\(sheetCount).xml"
  }

  /// Writes the parts that list the workbook's sheets, in the order of `sheets`. All of them must have ended.
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
