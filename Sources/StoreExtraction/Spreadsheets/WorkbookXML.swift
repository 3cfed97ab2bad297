import RowText
import SQLiteFile

/// Makes the XML of all parts of a workbook except its sheets (ECMA-376, parts 1 and 2).
enum WorkbookXML {
  static let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
  static let namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
  private static let officeRelationships =
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
  private static let packageNamespace = "http://schemas.openxmlformats.org/package/2006/"
  private static let contentType =
    "application/vnd.openxmlformats-officedocument.spreadsheetml."

  /// `_rels/.rels`: the path of the workbook within the archive.
  static var packageRelationships: String {
    declaration + "<Relationships xmlns=\"\(packageNamespace)relationships\">"
      + "<Relationship Id=\"rId1\" Type=\"\(officeRelationships)/officeDocument\" "
      + "Target=\"xl/workbook.xml\"/></Relationships>"
  }

  /// `xl/styles.xml`: the styles of cells, in the order of ``CellStyle``.
  static var styles: String {
    var xml = declaration + "<styleSheet xmlns=\"\(namespace)\">"
    xml += "<numFmts count=\"1\"><numFmt numFmtId=\"164\" "
    xml += "formatCode=\"yyyy\\-mm\\-dd\\ hh:mm:ss\"/></numFmts>"
    xml +=
      "<fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font>"
    xml += "<font><b/><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font></fonts>"
    // The first two fills are fixed (18.8.21).
    xml += "<fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill>"
    xml += "<fill><patternFill patternType=\"gray125\"/></fill></fills>"
    xml +=
      "<borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>"
    xml += "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/>"
    xml += "</cellStyleXfs><cellXfs count=\"\(CellStyle.allCases.count)\">"
    for style in CellStyle.allCases {
      let (format, font, more) =
        switch style {
        case .general: (0, 0, "")
        case .date: (164, 0, " applyNumberFormat=\"1\"")
        case .wholeNumber: (1, 0, " applyNumberFormat=\"1\"")
        case .header: (0, 1, " quotePrefix=\"1\" applyFont=\"1\"")
        case .quoted: (0, 0, " quotePrefix=\"1\"")
        }
      xml += "<xf numFmtId=\"\(format)\" fontId=\"\(font)\" fillId=\"0\" borderId=\"0\" xfId=\"0\""
      xml += more + "/>"
    }
    xml += "</cellXfs><cellStyles count=\"1\">"
    xml += "<cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles></styleSheet>"
    return xml
  }

  /// Returns `xl/workbook.xml`: the list of sheets, and the cell range of each sheet's filter.
  static func workbook(_ sheets: [(part: Sheet.Part, columnCount: Int)]) -> String {
    var xml = declaration + "<workbook xmlns=\"\(namespace)\" xmlns:r=\"\(officeRelationships)\">"
    xml += "<bookViews><workbookView activeTab=\"0\"/></bookViews><sheets>"
    for (place, sheet) in sheets.enumerated() {
      xml += "<sheet name=\"\(escaped(sheet.part.name))\" sheetId=\"\(place + 1)\" "
      xml += "r:id=\"rId\(place + 1)\"/>"
    }
    xml += "</sheets><definedNames>"
    for (place, sheet) in sheets.enumerated() {
      guard
        let range = Sheet.range(
          of: sheet.part, columnCount: sheet.columnCount, isAbsolute: true)
      else { continue }
      xml += "<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"\(place)\" hidden=\"1\">"
      // An apostrophe in the name of a sheet is doubled in a reference.
      xml += "'" + doublingApostrophes(escaped(sheet.part.name)) + "'!\(range)</definedName>"
    }
    return xml + "</definedNames></workbook>"
  }

  /// Returns `xl/_rels/workbook.xml.rels`: the paths of the sheets and of the styles.
  static func workbookRelationships(_ sheets: [Sheet.Part]) -> String {
    var xml = declaration + "<Relationships xmlns=\"\(packageNamespace)relationships\">"
    for (place, sheet) in sheets.enumerated() {
      xml += "<Relationship Id=\"rId\(place + 1)\" Type=\"\(officeRelationships)/worksheet\" "
      xml += "Target=\"\(sheet.path)\"/>"
    }
    xml += "<Relationship Id=\"rId\(sheets.count + 1)\" Type=\"\(officeRelationships)/styles\" "
    return xml + "Target=\"styles.xml\"/></Relationships>"
  }

  /// Returns `[Content_Types].xml`: the content type of each part.
  static func contentTypes(_ sheets: [Sheet.Part]) -> String {
    var xml = declaration + "<Types xmlns=\"\(packageNamespace)content-types\">"
    xml += "<Default Extension=\"rels\" "
    xml += "ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
    xml += "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
    let parts =
      [("workbook.xml", "sheet.main"), ("styles.xml", "styles")]
      + sheets.map { ($0.path, "worksheet") }
    for (path, type) in parts {
      xml += "<Override PartName=\"/xl/\(path)\" ContentType=\"\(contentType)\(type)+xml\"/>"
    }
    return xml + "</Types>"
  }

  // MARK: - Text

  /// Returns text with the escapes that the content of an XML element or a quoted attribute value needs. The text is
  /// cut to the maximum length of a cell's text.
  static func escaped(_ text: String) -> String {
    var bytes = ContiguousArray(text.utf8)
    while !SheetText.fits(bytes.rawSpan) {
      bytes = ContiguousArray(
        String(decoding: bytes, as: UTF8.self).unicodeScalars.prefix(SheetText.maxUnits / 2)
          .flatMap { Array(String($0).utf8) })
    }
    var output = OutputBuffer(capacity: bytes.count * 7 + 64)
    output.append(cellText: bytes.rawSpan)
    var result = ""
    output.drain { result = String(decoding: $0.array(), as: UTF8.self) }
    return result
  }

  private static func doublingApostrophes(_ text: String) -> String {
    let sign = UInt8(ascii: "'")
    return String(decoding: text.utf8.flatMap { $0 == sign ? [sign, sign] : [$0] }, as: UTF8.self)
  }
}
