import RowText
import SQLiteFile

/// What rows of a table look like: the storage classes that each stored field may have, and the range of integers that
/// the field may have.
///
/// In SQLite a column can store any value, whatever its affinity. So a shape is only evidence for assigning and carving
/// rows. A row that a b-tree leads to is never discarded because of a shape.
struct RowShape {
  struct Field: BitwiseCopyable {
    var classes: StorageClasses
    var minInteger = Int64.min
    var maxInteger = Int64.max
    /// Whether the column has REAL affinity. In such a column, SQLite stores a whole number as an integer only if six
    /// bytes are enough for the integer.
    var isReal = false

    /// Returns the serial types that a value of `length` bytes may have in this field. NULL and the numeric types come
    /// first, then text, then BLOB.
    func types(ofLength length: Int) -> [UInt64] {
      let numbers: [UInt64] =
        switch length {
        case 0: [0, 8, 9]
        case 1...4: [UInt64(length)]
        case 6: [5]
        case 8: isReal ? [7] : [7, 6]
        default: []
        }
      return (numbers + [UInt64(13 + 2 * length), UInt64(12 + 2 * length)])
        .filter { classes.contains(StorageClasses(serialType: $0)) }
    }
  }

  /// The index of the table in ``DamagedDatabase/tables``.
  let table: Int
  var fields: ContiguousArray<Field>
  /// The minimum number of fields of a row. Rows that were stored before a column was added lack that column's field.
  var minFieldCount: Int
  /// The index of the field of the INTEGER PRIMARY KEY column, which is always stored as NULL; nil if the table has no
  /// such column.
  let rowIDField: Int?
  /// The constraints that the declaration of the table sets on each field.
  let demands: FieldDemands
  /// Whether Core Data created the table. Core Data stores in each column only values of the declared type.
  private let isCoreData: Bool

  /// The shape of a row whose table is not known; it has no fields.
  static let unknown = RowShape()

  private init() {
    table = 0
    fields = []
    minFieldCount = 0
    rowIDField = nil
    demands = FieldDemands()
    isCoreData = false
  }

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
      field.isReal = definition.columns[column].affinity == .real
      if column == definition.rowIDColumn {
        field.classes = .null
        rowIDField = position
      } else if expected.notNull.contains(column) {
        field.classes.remove(.null)
      }
      if let range = expected.integers[column] {
        field.minInteger = range.lowerBound
        field.maxInteger = range.upperBound
      }
      fields.append(field)
    }
    self.fields = fields
    self.rowIDField = rowIDField
    minFieldCount = fields.count
  }

  /// The storage classes that values of a column may have. Core Data stores only numbers in TIMESTAMP and DECIMAL
  /// columns. Other programs store anything in DATE, DATETIME and BOOLEAN columns, and NUMERIC affinity keeps text that
  /// is not a number.
  private static func classes(
    of column: TableDefinition.Column, isStrict: Bool, isCoreData: Bool
  ) -> StorageClasses {
    if isStrict, SQLName.isSame(column.declaredType, "ANY") { return .any }
    switch column.affinity {
    case .text: return [.null, .text]
    case .integer: return [.null, .integer]
    case .real: return [.null, .integer, .real]
    case .numeric: return isCoreData ? [.null, .integer, .real] : [.null, .integer, .real, .text]
    // Core Data declares BLOB and stores blobs. A column without a declared type may hold anything.
    case .blob: return column.declaredType.isEmpty ? .any : [.null, .blob]
    }
  }

  /// Extends the shape of the table's rows, so that a row with these serial types fits. A row with more fields than the
  /// table has columns is ignored.
  mutating func learn(_ types: borrowing RecordTypes) {
    let count = types.types.count
    guard count <= fields.count else { return }
    if count < minFieldCount { minFieldCount = count }
    for index in 0..<count {
      fields[index].classes.insert(StorageClasses(serialType: types.types[index]))
    }
  }

  /// Whether a row with these serial types looks like a row of the table. `first`: the index of the first type that is
  /// checked.
  @inline(__always)
  func fits(_ types: borrowing RecordTypes, from first: Int = 0) -> Bool {
    let count = types.types.count
    guard count <= fields.count, count >= minFieldCount else { return false }
    var index = first
    while index < count {
      guard fields[index].classes.contains(StorageClasses(serialType: types.types[index])) else {
        return false
      }
      index &+= 1
    }
    return true
  }

  /// Whether the table can hold a row with these serial types, even if the row does not look like one of the table. In
  /// SQLite nearly any column can hold anything, but a table of Core Data holds only rows that fit.
  func canHold(_ types: borrowing RecordTypes) -> Bool {
    fits(types) || !isCoreData && demands.allow(types)
  }

  /// Compares the serial types on the page, from `offset` on, with the fields of the shape, from the field `first` on.
  /// Returns the index of the first field whose serial type does not fit; the number of fields if all serial types fit.
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

  /// Whether the first field, whose serial type is lost, can have another serial type than `type`. The other type must
  /// fit the length of `value` and be allowed in the field. A text type also needs a `value` that is valid text.
  func mayBeOther(
    than type: UInt64, _ value: RawSpan, _ encoding: DatabaseHeader.TextEncoding
  ) -> Bool {
    guard let field = fields.first else { return true }
    let text = UInt64(13 + 2 * value.byteCount)
    return field.types(ofLength: value.byteCount).contains { other in
      other != type && (other != text || TextCheck.isText(value, whole: true, encoding))
    }
  }

  /// Whether the values of a record can be a row of the table. Integers must be in the range of their field, and text
  /// must be valid.
  ///
  /// `body`: the offset of the first value on the page.
  /// `end`: the offset at which the part of the record on this page ends. Values beyond it are not checked.
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
        if field.minInteger != .min || field.maxInteger != .max,
          (1...6).contains(type) || type == 8 || type == 9
        {
          guard type >= 8 || offset + length <= end else { return true }
          let value = type >= 8 ? Int64(type - 8) : RecordDecoder.integer(page, offset, length)
          guard value >= field.minInteger, value <= field.maxInteger else { return false }
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

  var isUnconstrained: Bool { fields.allSatisfy { $0.classes == .any } }

  /// Whether the rows have a number that identifies their table: the entity number in Core Data's `Z_ENT` column.
  var hasEntityNumber: Bool { fields.contains { $0.minInteger != .min || $0.maxInteger != .max } }

  /// How strongly the shape of a row suggests that the row belongs to the table. Each field with restricted storage
  /// classes adds to the weight, and adds more if it excludes NULL. A restricted range of integers adds further weight.
  var weight: Int {
    fields.reduce(0) { sum, field in
      sum + (field.classes == .any ? 0 : field.classes.contains(.null) ? 2 : 3)
        + (field.minInteger == .min && field.maxInteger == .max ? 0 : 4)
    }
  }
}

enum TextCheck {
  /// Whether bytes can be text: UTF-8 must be well-formed, and in any encoding the only control characters are tab and
  /// line ends.
  ///
  /// `whole`: false if the text continues on another page, so that its last character may be incomplete.
  static func isText(_ bytes: RawSpan, whole: Bool, _ encoding: DatabaseHeader.TextEncoding) -> Bool
  {
    guard encoding == .utf8 else {
      // Control characters show that this is not UTF-16 text.
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
