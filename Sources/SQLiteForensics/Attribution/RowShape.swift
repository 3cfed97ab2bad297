import SQLiteFile

/// What rows of a table look like: which storage class each stored field may have, and which integers.
///
/// Affinity alone forbids nothing in SQLite, so a shape is evidence for attribution and for carving; it never
/// decides about a row that its b-tree leads to.
struct RowShape {
  struct Field: BitwiseCopyable {
    var classes: StorageClasses
    /// Integers outside are no values of this field.
    var least = Int64.min
    var most = Int64.max
  }

  /// Which table of the list this shape belongs to.
  let table: Int
  var fields: ContiguousArray<Field>
  /// The fewest fields that rows have: older rows lack columns that were added later.
  var leastFieldCount: Int
  /// The field that is NULL because the row id stands for it.
  let rowIDField: Int?
  /// What SQLite itself asks of the fields.
  let demands: FieldDemands
  /// Whether rows are Core Data's, which stores under each declared type what it stands for.
  private let isCoreData: Bool

  init(_ expected: ExpectedTable, table: Int) {
    self.table = table
    let definition = expected.definition
    var fields = ContiguousArray<Field>()
    var rowIDField: Int?
    isCoreData = definition.columns.first?.name == "Z_PK"
    demands = FieldDemands(definition)
    for (position, column) in definition.storedOrder.enumerated() {
      var field = Field(
        classes: Self.classes(
          of: definition.columns[column], isStrict: definition.isStrict, isCoreData: isCoreData))
      if column == definition.rowIDColumn {
        field.classes = .null
        rowIDField = position
      } else if expected.notNull.contains(column) {
        field.classes.remove(.null)
      }
      if let range = expected.integers[column] {
        field.least = range.lowerBound
        field.most = range.upperBound
      }
      fields.append(field)
    }
    self.fields = fields
    self.rowIDField = rowIDField
    // A default tells of a column that may have been added to rows without it.
    leastFieldCount = fields.count
  }

  /// The classes of a column's values. Core Data stores numbers under TIMESTAMP and DECIMAL; others store what they like
  /// under DATE, DATETIME or BOOLEAN, and NUMERIC affinity keeps text that is no number as it is.
  private static func classes(
    of column: TableDefinition.Column, isStrict: Bool, isCoreData: Bool
  ) -> StorageClasses {
    if isStrict, SQLName.isSame(column.declaredType, "ANY") { return .any }
    switch column.affinity {
    case .text: return [.null, .text]
    case .integer: return [.null, .integer]
    case .real: return [.null, .integer, .real]
    case .numeric: return isCoreData ? [.null, .integer, .real] : [.null, .integer, .real, .text]
    // Core Data declares BLOB and stores blobs; a column without a type may hold anything.
    case .blob: return column.declaredType.isEmpty ? .any : [.null, .blob]
    }
  }

  /// Widens the shape by what a row of the table really holds.
  mutating func learn(_ types: borrowing RecordTypes) {
    let count = types.types.count
    guard count <= fields.count else { return }
    if count < leastFieldCount { leastFieldCount = count }
    for index in 0..<count {
      fields[index].classes.insert(StorageClasses(serialType: types.types[index]))
    }
  }

  /// Whether a row can have these types.
  @inline(__always)
  func fits(_ types: borrowing RecordTypes) -> Bool {
    let count = types.types.count
    guard count <= fields.count, count >= leastFieldCount else { return false }
    var index = 0
    while index < count {
      guard fields[index].classes.contains(StorageClasses(serialType: types.types[index])) else {
        return false
      }
      index &+= 1
    }
    return true
  }

  /// Whether a row can have these types although they do not fit: in SQLite nearly any column can hold anything.
  func canHold(_ types: borrowing RecordTypes) -> Bool {
    fits(types) || !isCoreData && demands.allow(types)
  }

  /// How many fields fit the types that stand from `offset` on, those before field `first` taken as fitting.
  func fittingCount(_ page: RawSpan, at offset: Int, end: Int, from first: Int) -> Int {
    var offset = offset
    var field = first
    while field < fields.count, offset < end {
      guard let type = Varint.read(page, at: offset, end: end), type.value != 10, type.value != 11,
        fields[field].classes.contains(StorageClasses(serialType: type.value))
      else { break }
      offset += type.length
      field += 1
    }
    return field
  }

  /// Whether the values that stand on the page can be values of a row: integers in their range, text that is
  /// text.
  func fitsValues(
    _ types: borrowing RecordTypes, _ page: RawSpan, body: Int, end: Int,
    encoding: DatabaseHeader.TextEncoding
  ) -> Bool {
    var offset = body
    for index in types.types.indices {
      let type = types.types[index]
      let length = RecordDecoder.length(ofType: type)
      if index < fields.count {
        let field = fields[index]
        if field.least != .min || field.most != .max,
          (1...6).contains(type) || type == 8 || type == 9
        {
          guard type >= 8 || offset + length <= end else { return true }
          let value = type >= 8 ? Int64(type - 8) : RecordDecoder.integer(page, offset, length)
          guard value >= field.least, value <= field.most else { return false }
        }
      }
      if type >= 13, type & 1 == 1, offset < end {
        let there = min(length, end - offset)
        guard TextCheck.isText(page.part(offset, there), whole: there == length, encoding) else {
          return false
        }
      }
      offset += length
      if offset > end { return true }
    }
    return true
  }

  /// Whether nothing is known of any field, so that all types fit.
  var isFormless: Bool { fields.allSatisfy { $0.classes == .any } }

  /// Whether rows carry a number that tells whose they are: Core Data's `Z_ENT`.
  var isSigned: Bool { fields.contains { $0.least != .min || $0.most != .max } }

  /// How much a fit says: fields whose class the table prescribes, more for those that exclude NULL.
  var weight: Int {
    fields.reduce(0) { sum, field in
      sum + (field.classes == .any ? 0 : field.classes.contains(.null) ? 2 : 3)
        + (field.least == .min && field.most == .max ? 0 : 4)
    }
  }
}

/// Whether bytes are text as people write it.
enum TextCheck {
  /// `whole`: false where the text goes on elsewhere, so that a broken last character is no fault.
  static func isText(_ bytes: RawSpan, whole: Bool, _ encoding: DatabaseHeader.TextEncoding) -> Bool
  {
    guard encoding == .utf8 else {
      // UTF-16 without its zero bytes: control characters and lone surrogates tell.
      if whole, bytes.byteCount & 1 == 1 { return false }
      var offset = 0
      while offset + 2 <= bytes.byteCount {
        let stored = bytes.uint16(at: offset)
        let unit = encoding == .utf16BigEndian ? stored : stored.byteSwapped
        if unit < 32, unit != 9, unit != 10, unit != 13 { return false }
        offset += 2
      }
      return true
    }
    var offset = 0
    while offset < bytes.byteCount {
      let byte = bytes.byte(at: offset)
      if byte < 0x80 {
        if byte < 32, byte != 9, byte != 10, byte != 13 { return false }
        if byte == 0x7f { return false }
        offset &+= 1
        continue
      }
      let length = UTF8Scan.sequenceLength(bytes, at: offset)
      if length == 0 { return !whole && offset + 4 > bytes.byteCount }
      offset &+= length
    }
    return true
  }
}
