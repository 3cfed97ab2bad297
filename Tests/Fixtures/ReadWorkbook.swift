public import Foundation

/// A workbook as it is read by software that is independent of the writer under test: the zip and XML libraries of
/// Python.
public struct ReadWorkbook: Decodable {
  /// A cell that exists in the file.
  public struct Cell: Decodable, Equatable {
    /// The type of the cell, as the file names it: `n` for a number, `b` for a truth value, `inlineStr` for text. For a
    /// formula, `f`.
    public let kind: String
    /// The index of the cell's style.
    public let style: Int
    /// The number as the file writes it, or the bytes of the text in Base64, with all escapes undone.
    public let value: String

    /// The bytes of the cell's text.
    public var bytes: [UInt8] { Data(base64Encoded: value).map { Array($0) } ?? [] }

    /// The text, or the number as the file writes it.
    public var text: String {
      kind == "inlineStr" ? String(decoding: bytes, as: UTF8.self) : value
    }
  }

  /// A sheet.
  public struct Sheet: Decodable {
    /// The name of the sheet.
    public let name: String
    /// The rows, the header first. A cell is nil when the file does not contain it.
    public let rows: [[Cell?]]
    /// The range that the sheet's filter covers; nil when the sheet has no filter.
    public let filter: String?
    /// Whether the first row stays in view when the sheet is scrolled.
    public let isFrozen: Bool

    /// The texts of the cells in the header.
    public var header: [String] { (rows.first ?? []).map { $0?.text ?? "" } }
  }

  /// The sheets in the order of the workbook.
  public let sheets: [Sheet]
  /// The number formats of the styles, by the index of the style. For a built-in format, this is the number of the
  /// format.
  public let formats: [String]

  /// Reads the workbook at a URL.
  ///
  /// - Throws: `FixtureError` when the file is not a workbook.
  public init(_ url: URL) throws {
    guard let python = findTool("python3") else { throw FixtureError("no python3") }
    let outcome = try run(python, ["-c", Self.script, url.path])
    guard outcome.status == 0 else {
      throw FixtureError("not a workbook: \(String(decoding: outcome.stderr, as: UTF8.self))")
    }
    self = try JSONDecoder().decode(Self.self, from: outcome.stdout)
  }

  /// The sheet with this name; nil when no sheet has it.
  public func sheet(_ name: String) -> Sheet? { sheets.first { $0.name == name } }

  private static let script = #"""
    import base64, json, re, sys, zipfile
    import xml.etree.ElementTree as tree
    M = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
    P = "{http://schemas.openxmlformats.org/package/2006/relationships}"
    C = "{http://schemas.openxmlformats.org/package/2006/content-types}"
    book = zipfile.ZipFile(sys.argv[1])
    assert book.testzip() is None
    names = book.namelist()
    assert len(names) == len(set(names))
    read = lambda name: tree.fromstring(book.read(name))
    types = read("[Content_Types].xml")
    known = {t.get("PartName"): t.get("ContentType") for t in types.iter(C + "Override")}
    ending = {t.get("Extension") for t in types.iter(C + "Default")}
    for name in names:
        assert "/" + name in known or name == "[Content_Types].xml" or name.split(".")[-1] in ending, name
    root = [r for r in read("_rels/.rels").iter(P + "Relationship")]
    assert [r.get("Target") for r in root] == ["xl/workbook.xml"]
    targets = {r.get("Id"): r.get("Target") for r in read("xl/_rels/workbook.xml.rels").iter(P + "Relationship")}
    def undone(text):
        one = lambda m: chr(int(m.group(1), 16))
        return re.sub("_x([0-9A-Fa-f]{4})_", one, text)
    def place(reference):
        letters, row = re.fullmatch("([A-Z]+)([0-9]+)", reference).groups()
        column = 0
        for letter in letters: column = column * 26 + ord(letter) - 64
        return column - 1, int(row)
    styles = read("xl/styles.xml")
    own = {f.get("numFmtId"): f.get("formatCode") for f in styles.iter(M + "numFmt")}
    formats = [own.get(x.get("numFmtId"), x.get("numFmtId")) for x in styles.find(M + "cellXfs")]
    sheets = []
    for sheet in read("xl/workbook.xml").iter(M + "sheet"):
        path = "xl/" + targets[sheet.get(R + "id")]
        assert known["/" + path].endswith("worksheet+xml")
        page = read(path)
        rows = []
        for number, row in enumerate(page.find(M + "sheetData"), 1):
            assert row.get("r") == str(number)
            cells = []
            for cell in row:
                column, line = place(cell.get("r"))
                assert line == number and column >= len(cells) and column < 16384
                cells += [None] * (column - len(cells))
                kind = cell.get("t", "n")
                if cell.find(M + "f") is not None: kind = "f"
                if kind == "inlineStr":
                    text = undone(cell.find(M + "is").find(M + "t").text or "")
                    value = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
                    assert len(text.encode("utf-16-le", "surrogatepass")) <= 65534
                    value = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()
                else:
                    value = cell.find(M + "v").text
                cells.append({"kind": kind, "style": int(cell.get("s", "0")), "value": value})
            rows.append(cells)
        assert len(rows) <= 1048576
        width = max(map(len, rows))
        pane = page.find(f"{M}sheetViews/{M}sheetView/{M}pane")
        filter = page.find(M + "autoFilter")
        sheets.append({"name": undone(sheet.get("name")), "rows": [r + [None] * (width - len(r)) for r in rows],
            "filter": None if filter is None else filter.get("ref"),
            "isFrozen": pane is not None and pane.get("state") == "frozen" and pane.get("ySplit") == "1"})
    json.dump({"sheets": sheets, "formats": formats}, sys.stdout)
    """#
}
