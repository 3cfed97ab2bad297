import ObjectModel
import SQLiteFile
import SQLiteForensics
import Terminal

/// The text that `lifeboat pages --page` prints: the header fields, cells, freeblocks and bytes of one page.
struct PageDetailText {
  let detail: PageDetail
  let database: SQLiteDatabase
  let display: DisplayOptions

  var text: String {
    let entry = detail.entry
    var block = KeyValueBlock()
    let place = entry.member == .main ? "" : " of the -\(entry.member.rawValue)"
    block.add(
      "Page", "\(Quantity.count(entry.page)), offset \(Quantity.count(entry.offset))\(place)")
    var kind = entry.kind.words
    if let owner = entry.owner { kind += " of \(owner)" }
    block.add("Kind", kind, tone: entry.kind == .unreadable ? .red : nil)
    if let parent = entry.parent { block.add("Referenced by", "page \(Quantity.count(parent))") }
    if let free = entry.freeBytes { block.add("Free", Quantity.count(free, "byte")) }
    for field in detail.fields {
      block.add(
        field.name.prefix(1).uppercased() + field.name.dropFirst(),
        "\(Quantity.count(field.value)) (byte \(field.offset))")
    }
    if detail.bytes.count < database.header.pageSize {
      block.add(
        "Cut off",
        "the file ends after \(Quantity.count(detail.bytes.count)) of the page's \(Quantity.count(database.header.pageSize)) bytes",
        tone: .red)
    }
    var text = block.text(width: display.width, style: display.style)
    if !detail.cells.isEmpty { text += "\n" + cellTable }
    if !detail.freeblocks.isEmpty { text += "\n" + freeblockTable }
    return text + "\n" + PageText.dump(detail.bytes, from: entry.offset)
  }

  private var cellTable: String {
    let hasRowIDs = detail.cells.contains { $0.rowID != nil }
    let hasChildren = detail.cells.contains { $0.child != nil }
    let hasOverflow = detail.cells.contains { $0.overflowPage != nil }
    var columns: [TextTable.Column] = [
      .init("Cell", .trailing), .init("Byte", .trailing), .init("Length", .trailing),
      .init("Payload", .trailing),
    ]
    if hasRowIDs { columns.append(.init("Row", .trailing)) }
    if hasChildren { columns.append(.init("Child", .trailing)) }
    if hasOverflow { columns.append(.init("Overflow", .trailing)) }
    var table = TextTable(columns)
    for cell in detail.cells {
      var cells: [TextTable.Cell] = [
        .init(String(cell.index)), .init(String(cell.offset)),
        cell.length.map { .init(Quantity.count($0)) } ?? .init("damaged", tone: .red),
        .init(cell.payloadLength.map { Quantity.count($0) } ?? ""),
      ]
      if hasRowIDs { cells.append(.init(cell.rowID.map { String($0) } ?? "")) }
      if hasChildren { cells.append(.init(cell.child.map { String($0) } ?? "")) }
      if hasOverflow { cells.append(.init(cell.overflowPage.map { String($0) } ?? "")) }
      table.add(cells)
    }
    return table.text(width: display.width, style: display.style)
  }

  private var freeblockTable: String {
    var table = TextTable([.init("Freeblock at", .trailing), .init("Length", .trailing)])
    for block in detail.freeblocks {
      table.add([
        .init(String(block.offset)),
        block.isSound
          ? .init(Quantity.count(block.size))
          : .init("\(Quantity.count(block.size)), damaged", tone: .red),
      ])
    }
    return table.text(width: display.width, style: display.style)
  }
}

/// The JSON output of `lifeboat pages --page`.
struct PageDetailReport: Encodable {
  let schema = "lifeboat.page"
  let version = 1
  let page: UInt32
  let member: Finding.Member
  let offset: Int64
  let kind: String
  let owner: String?
  let parent: UInt32?
  let freeBytes: Int?
  let fields: [PageDetail.Field]
  let cells: [PageDetail.Cell]
  let freeblocks: [PageDetail.Freeblock]
  let hex: String

  init(_ detail: PageDetail) {
    page = detail.entry.page
    member = detail.entry.member
    offset = detail.entry.offset
    kind = detail.entry.kind.name
    owner = detail.entry.owner
    parent = detail.entry.parent
    freeBytes = detail.entry.freeBytes
    fields = detail.fields
    cells = detail.cells
    freeblocks = detail.freeblocks
    hex = Hex.string(detail.bytes)
  }
}
