import SQLiteFile

/// A workbook that is being written (ECMA-376, SpreadsheetML): the names and parts of its sheets. Each sheet goes straight
/// into the archive; what says which sheets there are comes last.
final class Workbook {
  /// What the parts are written into.
  let archive: any PartArchive
  /// The most rows of a sheet, with its header.
  let maxRows: Int
  private var names = SheetNames()
  private var sheetCount = 0

  /// The most rows of a sheet in any spreadsheet program.
  static let maxSheetRows = 1_048_576

  /// Begins a workbook.
  ///
  /// - Parameters:
  ///   - archive: an archive without parts.
  ///   - maxRows: the most rows of a sheet; fewer in tests.
  /// - Throws: an error of the output.
  init(_ archive: any PartArchive, maxRows: Int = maxSheetRows) throws(ExtractionError) {
    self.archive = archive
    self.maxRows = maxRows
    // First, because programs tell a workbook by the first parts of the archive.
    try add("_rels/.rels", WorkbookXML.packageRelationships)
    try add("xl/styles.xml", WorkbookXML.styles)
  }

  /// A free name for a sheet like that of an entity or a table; with a number, for a further sheet of its rows.
  func sheetName(_ name: String, number: Int = 1) -> String {
    number > 1 ? names.further(name, number) : names.unique(name)
  }

  /// The path of the next sheet's part, below `xl/`.
  func nextSheetPath() -> String {
    sheetCount += 1
    return "worksheets/sheet\(sheetCount).xml"
  }

  /// Writes what says which sheets the workbook has, in their order. All of them have ended.
  ///
  /// - Throws: an error of the output.
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
