package import SQLiteFile

/// Converts the records of an old table to records of a new table, without decoding values. Each new value is either a
/// constant or the stored bytes of an old value.
package final class RecordCopy: Sendable {
  /// The source of the values in one column of the new table.
  package struct Part: Sendable {
    /// The index of the old column from which values are copied; nil when every new value is the constant.
    package var source: Int?
    /// The constant that is stored in the new column; nil to store the values of the source column unchanged. Without a
    /// ``source``, every row gets the constant. With a ``source``, the constant replaces NULL or, if
    /// ``isConstantWhereSet`` is true, each value that is not NULL.
    package var constant: Constant?
    /// Whether the constant replaces every value except NULL. If false, the constant replaces NULL.
    package var isConstantWhereSet = false
    /// Whether the new column must not be NULL. A record for which it would be NULL is not copied
    /// (``RecordCopy/Outcome/undecided``).
    package var isDemanded = false

    package init(
      source: Int? = nil, constant: Constant? = nil, isConstantWhereSet: Bool = false,
      isDemanded: Bool = false
    ) {
      self.source = source
      self.constant = constant
      self.isConstantWhereSet = isConstantWhereSet
      self.isDemanded = isDemanded
    }
  }

  /// A value as it is stored in a record: its serial type and its bytes (file format, section 2.1).
  package struct Constant: Sendable, Equatable {
    let type: UInt64
    let body: ContiguousArray<UInt8>
    package static let null = Self(type: 0, body: [])

    private init(type: UInt64, body: ContiguousArray<UInt8>) {
      self.type = type
      self.body = body
    }

    /// Creates a constant from the first value of a record. Nil when the record has no values or contradicts itself.
    package init?(_ record: ContiguousArray<UInt8>) {
      var decoder = RecordDecoder(encoding: .utf8)
      guard decoder.open(record.rawSpan) == nil, let field = decoder.fields.first else {
        return nil
      }
      let end = field.offset + RecordDecoder.length(ofType: field.type)
      self.init(type: field.type, body: ContiguousArray(record[field.offset..<end]))
    }
  }

  /// The storage classes and the length that the values in one column of the old table must have. NULL is always
  /// allowed. Any other value is damage, because Core Data never stores it there.
  package struct Rule: Sendable {
    package let column: Int
    package let classes: StorageClasses
    /// The length of every BLOB, in bytes; nil if any length is allowed.
    package let length: Int?

    package init(column: Int, classes: StorageClasses, length: Int?) {
      self.column = column
      self.classes = classes
      self.length = length
    }
  }

  /// The fields of a record: the serial type of each value, and the offset of the value from the start of the record,
  /// in bytes.
  package typealias Fields = ContiguousArray<(type: UInt64, offset: Int)>

  /// The content of a ``Part``, stored without object references. This makes it fast to read, because it is read for
  /// each value of each row.
  private struct Piece: BitwiseCopyable {
    /// The index of the field in the old record; negative for a constant.
    let field: Int32
    /// The serial type of the constant that the column gets; 0 when the column gets no constant.
    let constantType: UInt64
    let hasConstant: Bool
    let isConstantWhereSet: Bool
    let isDemanded: Bool
  }

  private let form: RecordForm
  private let pieces: ContiguousArray<Piece>
  /// For each column of the new table, the bytes of the constant; empty for a column without a constant.
  private let bodies: ContiguousArray<ContiguousArray<UInt8>>
  /// The rules that the values of an old record must follow. Here, ``Rule/column`` is the index of the value's field in
  /// the old record.
  private let rules: ContiguousArray<Rule>
  private let fieldCount: Int
  /// Whether the new record has the fields of the old record in the same order, without added constants. If so, the new
  /// record usually equals the old record.
  private let isIdentity: Bool
  /// The index of the field of the INTEGER PRIMARY KEY column in the old record; nil if the old table has no such
  /// column.
  private let rowIDField: Int?
  /// The minimum number of fields of an old record that can be copied. A shorter record is not copied, because it lacks
  /// a field for a column whose default is not NULL or is not known.
  private let leastCount: Int

  /// Prepares to copy records of the table `source` to another table. Returns nil if a value might change in the copy,
  /// or if no row could be copied.
  ///
  /// - Parameters:
  ///   - source: the table of the records, which must have row ids and text in UTF-8.
  ///   - rules: the rules that the values in columns of `source` must follow.
  ///   - form: the form of the new records.
  ///   - parts: the source of the values of each new column, in order.
  package init?(
    from source: TableDefinition, _ rules: [Rule], to form: RecordForm, _ parts: [Part]
  ) {
    let layout = RowLayout(source)
    func field(_ column: Int) -> RowLayout.Rule? {
      let rule = layout.rules[column]
      return rule.field >= 0 && !rule.isRowID ? rule : nil
    }
    var pieces = ContiguousArray<Piece>()
    for (place, part) in parts.enumerated() {
      let from = part.source.map(field)
      if let from {
        // A REAL column stores whole numbers as integers, so the new column must be REAL too.
        guard let from, !from.isReal || form.isReal(place) else { return nil }
      } else if part.isDemanded, part.constant == nil || part.constant == .null {
        return nil
      }
      pieces.append(
        Piece(
          field: from??.field ?? -1, constantType: part.constant?.type ?? 0,
          hasConstant: part.constant != nil, isConstantWhereSet: part.isConstantWhereSet,
          isDemanded: part.isDemanded))
    }
    self.pieces = pieces
    let rowIDField = source.rowIDColumn.map { Int(layout.rules[$0].field) }
    self.rowIDField = rowIDField
    isIdentity =
      pieces.count == layout.fieldCount
      && pieces.indices.allSatisfy { place in
        pieces[place].field == place && !pieces[place].hasConstant
          || form.isRowID(place) && rowIDField == place
      }
    bodies = ContiguousArray(parts.map { $0.constant?.body ?? [] })
    var checked = ContiguousArray<Rule>()
    for rule in rules where rule.column != source.rowIDColumn {
      guard let from = field(rule.column) else { return nil }
      var classes = rule.classes.union(.null)
      if from.isReal {
        classes.remove(.integer)
        if classes.contains(.real) { classes.insert(.integer) }
      }
      checked.append(Rule(column: Int(from.field), classes: classes, length: rule.length))
    }
    self.rules = checked
    self.form = form
    fieldCount = layout.fieldCount
    leastCount = layout.defaults.indices.reduce(1) { least, column in
      let isNull = layout.defaults[column] == .null
      return isNull ? least : max(least, Int(layout.rules[column].field) + 1)
    }
  }

  package enum Outcome {
    /// The new record equals the old one; nothing was appended.
    case same
    case made
    /// The record could not be converted, and nothing was appended. The caller must decode the values. Either the
    /// record contradicts itself or has a wrong number of fields, or SQLite would not store one of its values unchanged
    /// in the new table.
    case undecided
  }

  /// Appends the new record to `bytes`, unless the new record equals the old record.
  ///
  /// - Parameters:
  ///   - record: the old record.
  ///   - fields: the serial types and offsets of the old record's values.
  ///   - bytes: grows only for the outcome ``Outcome/made``.
  /// - Returns: whether the new record was appended, and if not, why.
  package func append(
    _ record: RawSpan, _ fields: borrowing Fields,
    to bytes: inout ContiguousArray<UInt8>
  ) -> Outcome {
    guard fields.count >= leastCount, fields.count <= fieldCount, let first = fields.first,
      let last = fields.last,
      last.offset &+ RecordDecoder.length(ofType: last.type) == record.byteCount, keepsRules(fields)
    else { return .undecided }
    var length = 0
    for place in pieces.indices {
      guard let type = checkedType(of: place, record, fields) else { return .undecided }
      length &+= ContiguousArray<UInt8>.length(ofVarint: type)
    }
    let header = ContiguousArray<UInt8>.headerLength(length)
    if isIdentity, fields.count == fieldCount, first.offset == header,
      rowIDField.map({ fields[$0].type == 0 }) ?? true
    {
      return .same
    }
    bytes.append(varint: UInt64(header))
    for place in pieces.indices { bytes.append(varint: value(of: place, fields).type) }
    appendValues(record, fields, to: &bytes)
    return .made
  }

  private func keepsRules(_ fields: borrowing Fields) -> Bool {
    for rule in rules where rule.column < fields.count {
      let field = fields[rule.column]
      let found = StorageClasses(serialType: field.type)
      guard rule.classes.contains(found),
        found != .blob
          || rule.length.map({ $0 == RecordDecoder.length(ofType: field.type) }) ?? true
      else { return false }
    }
    return true
  }

  /// Appends the values of the new record to `bytes`. Values that are adjacent both in the old and in the new record
  /// are copied together.
  private func appendValues(
    _ record: RawSpan, _ fields: borrowing Fields,
    to bytes: inout ContiguousArray<UInt8>
  ) {
    var stretch = 0..<0
    for place in pieces.indices {
      let (type, range) = value(of: place, fields)
      if let range {
        if range.lowerBound == stretch.upperBound {
          stretch = stretch.lowerBound..<range.upperBound
        } else if !range.isEmpty {
          bytes.append(record, stretch)
          stretch = range
        }
      } else if type != 0, !bodies[place].isEmpty {
        bytes.append(record, stretch)
        stretch = 0..<0
        bytes.append(contentsOf: bodies[place])
      }
    }
    bytes.append(record, stretch)
  }

  /// Returns the serial type of the value in column `place` of the new record; nil when this value cannot be copied.
  @inline(__always)
  private func checkedType(
    of place: Int, _ record: RawSpan, _ fields: borrowing Fields
  ) -> UInt64? {
    let piece = pieces[place]
    let (type, range) = value(of: place, fields)
    if type == 0, piece.isDemanded { return nil }
    if piece.field >= 0, Int(piece.field) < fields.count {
      // Values with reserved types, and NaN, are read as NULL.
      let field = fields[Int(piece.field)]
      if field.type == 10 || field.type == 11
        || field.type == 7 && Double(bitPattern: record.uint64(at: field.offset)).isNaN
      {
        return nil
      }
    }
    guard let range else {
      return type != 0 || form.isRowID(place) || form.takesNull(place) ? type : nil
    }
    return form.takes(type, record, range.lowerBound, range.count, place) ? type : nil
  }

  /// Returns the serial type of the new value at the index `place`, and the bytes of this value in the old record as a
  /// range. The range is nil for a constant and for NULL.
  @inline(__always)
  private func value(
    of place: Int, _ fields: borrowing Fields
  ) -> (type: UInt64, range: Range<Int>?) {
    let piece = pieces[place]
    let number = Int(piece.field)
    guard piece.field >= 0 else { return (piece.constantType, nil) }
    let isSet = number < fields.count && fields[number].type != 0
    if piece.hasConstant, isSet == piece.isConstantWhereSet { return (piece.constantType, nil) }
    guard isSet, !piece.isConstantWhereSet else { return (0, nil) }
    let field = fields[number]
    return (field.type, field.offset..<field.offset &+ RecordDecoder.length(ofType: field.type))
  }
}
