import CoreDataStore
import RowText
import SQLiteFile
import SQLiteWriter
import StoreFiles

/// Writes the values of rows as the cells of sheets.
///
/// Truth values, dates, and numbers that a 64-bit float can hold become cells of their own type. All other values
/// become text. No formulas are written, and NULL gets no cell.
struct SheetRowSink: PropertySink, ~Copyable {
  private let storePath: String
  private let dates: LocalDates
  private let blobs: BlobForm
  private let longValues: LongValues
  private var output = OutputBuffer(capacity: drainSize + SheetText.maxBytes + 4096)
  /// A buffer for text that is made from another value. It holds the text until it is known whether the text fits into
  /// a cell.
  private var text = OutputBuffer(capacity: SheetText.maxUnits + 256)

  private var sheet: Sheet?
  private var roles: ContiguousArray<EntityRendering.Column> = []
  private var letters: [[UInt8]] = []
  private var ownCount = 0
  private var number = 0
  private var rowID: Int64?
  private var key: Int64?
  private var entityNumber: Int64?
  private var role = 0
  private var column = 0
  /// The values of the row that have no column of their own.
  private var others: [SQLiteValue] = []
  /// The names of the external files that the current row refers to.
  var externals: [String] = []
  /// The number of texts that were not valid UTF-8.
  private(set) var invalidTextCount = 0
  /// The first error of the output; nil as long as all was written. Rows after the error are dropped.
  private(set) var failure: (any Error)?

  /// The buffer is passed to the sheet when it has more than this number of bytes.
  private static let drainSize = 64 << 10

  /// Creates a sink that does not write to a sheet yet. `storePath`: the path of the store, which also leads to the
  /// store's external files.
  init(
    storePath: String, _ dates: LocalDates, _ longValues: LongValues, _ blobs: BlobForm = .hex
  ) {
    self.blobs = blobs
    self.storePath = storePath
    self.dates = dates
    self.longValues = longValues
  }

  var wantsMore: Bool { failure == nil }

  /// Passes the rows in the buffer on to their sheet, and writes the rows that follow to `sheet`.
  mutating func turn(to sheet: Sheet?) {
    guard self.sheet !== sheet else { return }
    drain()
    self.sheet = sheet
    roles = sheet?.plan.roles ?? []
    letters = (sheet?.plan.columns.indices).map { $0.map { Array(Sheet.letters($0).utf8) } } ?? []
    ownCount = sheet?.plan.ownCount ?? 0
  }

  /// Prepares for the next row. `entityNumber` is written only to a sheet for rows of unknown entities.
  mutating func begin(entityNumber: Int64?) { self.entityNumber = entityNumber }

  /// Passes the rows in the buffer to their sheet.
  mutating func finish() { turn(to: nil) }

  private mutating func drain() {
    guard let sheet, failure == nil else { return output.removeAll() }
    do { try output.drain { try sheet.append($0) } } catch { failure = error }
  }

  // MARK: - A row

  mutating func beginRow(_ rowID: Int64?) {
    self.rowID = rowID
    key = nil
    role = 0
    column = 0
    if !others.isEmpty { others.removeAll() }
    guard let sheet, failure == nil else { return }
    // If a sheet is full, `beginRow()` ends the sheet. So all its rows must be passed on before.
    if output.count > Self.drainSize || sheet.isFull { drain() }
    do { number = try sheet.beginRow() } catch { failure = error }
    output.append("<row r=\"")
    output.append(integer: Int64(number))
    output.append("\">")
    guard sheet.plan.hasEntityNumber else { return }
    if let entityNumber { cell(integer: entityNumber) } else { column += 1 }
  }

  mutating func endRow() {
    guard let sheet, failure == nil else { return }
    for link in sheet.plan.links {
      let keys = link.destinations.destinations(of: key ?? 0)
      let joined = keys.map { String($0) }.joined(separator: " ")
      if joined.utf8.isEmpty { skip() } else { cell(joined) }
    }
    if ownCount < sheet.plan.names.count {
      column = ownCount
      if let json = OverflowColumns.json(of: others, from: ownCount, names: sheet.plan.names) {
        let bytes = ContiguousArray(json)
        cell(text: bytes.rawSpan, "json", isLast: true)
      }
    }
    output.append("</row>")
    sheet.endRow()
    if output.isBroken {
      failure = ExtractionError(.writeFailed, "a row of the sheet is too long to write")
    }
  }

  // MARK: - Values

  mutating func next(key: Int64?) -> EntityRendering.Column? {
    guard role < roles.count, failure == nil else { return nil }
    let next = roles[role]
    role &+= 1
    switch next.role {
    case .key:
      self.key = key ?? rowID ?? 0
      cell(integer: self.key ?? 0)
      return nil
    case .destinationEntity: return nil
    default: return next
    }
  }

  mutating func appendNull() { skip() }

  mutating func append(integer value: Int64, _: EntityRendering.Column) { cell(integer: value) }

  // In a cell, a whole number looks the same whether it is stored as an integer or as a float.
  mutating func append(number value: Int64, _: EntityRendering.Column) { cell(integer: value) }

  mutating func append(text bytes: RawSpan, _: EntityRendering.Column) { cell(text: bytes, "txt") }

  mutating func append(uuid bytes: RawSpan, _: EntityRendering.Column) {
    text.append(uuid: bytes)
    cellOfText()
  }

  // MARK: - Cells

  private mutating func skip() {
    if column >= ownCount { others.append(.null) }
    column &+= 1
  }

  /// Begins the next cell: writes its tag with the cell's reference, such as `<c r="B7"`. If the value has no column of
  /// its own, keeps the value for the last column instead and returns false.
  private mutating func begin(_ value: @autoclosure () -> SQLiteValue) -> Bool {
    guard column < ownCount else {
      others.append(value())
      column &+= 1
      return false
    }
    beginCell()
    return true
  }

  private mutating func beginCell() {
    output.append("<c r=\"")
    output.append(letters[column])
    output.append(integer: Int64(number))
    output.append(UInt8(ascii: "\""))
    column &+= 1
  }

  private mutating func style(_ style: CellStyle) {
    output.append(" s=\"")
    output.append(integer: Int64(style.rawValue))
    output.append(UInt8(ascii: "\""))
  }

  private mutating func endCell() {
    if output.count > Self.drainSize { drain() }
  }

  /// The highest number up to which a 64-bit float holds each integer exactly.
  private static let maxExact: Int64 = 1 << 53
  /// An integer with at least this absolute value needs a number format, because a cell without a number format does
  /// not show all its digits.
  private static let minFormatted: Int64 = 100_000_000_000

  private mutating func cell(integer value: Int64) {
    guard value.magnitude <= Self.maxExact.magnitude else {
      text.append(integer: value)
      return cellOfText()
    }
    guard begin(.integer(value)) else { return }
    if value.magnitude >= Self.minFormatted.magnitude { style(.wholeNumber) }
    output.append("><v>")
    output.append(integer: value)
    output.append("</v></c>")
    endCell()
  }

  mutating func append(real value: Double, _: EntityRendering.Column) {
    // Spreadsheets have no infinity and no subnormal numbers.
    guard value.isFinite, !value.isSubnormal else { return cell(value.description) }
    guard begin(.real(value)) else { return }
    output.append("><v>")
    output.append(jsonReal: value)
    output.append("</v></c>")
    endCell()
  }

  mutating func append(boolean value: Bool, _: EntityRendering.Column) {
    guard begin(.integer(value ? 1 : 0)) else { return }
    output.append(value ? " t=\"b\"><v>1</v></c>" : " t=\"b\"><v>0</v></c>")
    endCell()
  }

  mutating func append(date seconds: Double, _: EntityRendering.Column) {
    let date = ReferenceDate(seconds: seconds)
    guard let serial = dates.serial(of: date) else {
      return cell(dates.text(of: date) ?? "\(seconds) seconds since 2001")
    }
    guard begin(.real(seconds)) else { return }
    style(.date)
    output.append("><v>")
    output.append(jsonReal: serial)
    output.append("</v></c>")
    endCell()
  }

  mutating func append(binary bytes: RawSpan, _: EntityRendering.Column) {
    switch blobs {
    case .hex: break
    case .summary:
      return cell("\(bytes.byteCount) bytes, SHA-256 \(Digest.sha256(bytes.array()))")
    case .decoded:
      let content = BlobContent(bytes.array())
      if content != .unknown { return cell(content.summary(sizeBytes: bytes.byteCount)) }
    }
    guard bytes.byteCount <= SheetText.maxUnits / 2 else { return cell(long: bytes, nil) }
    text.append(hexadecimal: bytes)
    cellOfText()
  }

  mutating func append(external name: String, _: EntityRendering.Column) {
    externals.append(name)
    let blob = ExternalBlob(identifier: name, storePath: storePath)
    cell(
      blob.sizeBytes != nil
        ? longValues.reference(toExternal: name)
        : (blob.unreadable == nil ? "missing file " : "unreadable file ") + name)
  }

  /// Writes a cell with the text in the buffer ``text``.
  private mutating func cellOfText() {
    var value = ContiguousArray<UInt8>()
    text.drain { value = ContiguousArray($0.array()) }
    cell(text: value.rawSpan, "txt")
  }

  private mutating func cell(_ text: String) {
    let bytes = ContiguousArray(text.utf8)
    cell(text: bytes.rawSpan, "txt")
  }

  /// Writes a cell with text. If the text is too long for a cell, writes the text into a file, and the name of the file
  /// into the cell.
  private mutating func cell(text bytes: RawSpan, _ ending: String, isLast: Bool = false) {
    guard SheetText.fits(bytes) else { return cell(long: bytes, ending, isLast: isLast) }
    if isLast { beginCell() } else if !begin(.text(bytes.array())) { return }
    if SheetText.looksLikeFormula(bytes) { style(.quoted) }
    output.append(" t=\"inlineStr\"><is><t xml:space=\"preserve\">")
    if !output.append(cellText: bytes) { invalidTextCount += 1 }
    output.append("</t></is></c>")
    endCell()
  }

  /// Writes a value into a file of its own, because the value is too long for a cell. The cell gets the name of the
  /// file. `ending` is the extension of the file; nil to choose the extension by the content.
  private mutating func cell(long bytes: RawSpan, _ ending: String?, isLast: Bool = false) {
    guard let sheet else { return }
    let names = sheet.plan.names
    let title = isLast || column >= names.count ? OverflowColumns.name : names[column]
    let key = key ?? rowID ?? Int64(sheet.rowCount + 1)
    do {
      let name = try longValues.write(bytes, of: "\(sheet.plan.name)-\(key)-\(title)", ending)
      let reference = ContiguousArray(name.utf8)
      cell(text: reference.rawSpan, "txt", isLast: isLast)
    } catch {
      failure = error
    }
  }
}
