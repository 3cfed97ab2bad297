package import SQLiteFile

/// A plan to make the records of a new table from those of an old table without decoding values. Each value of a new
/// row is a constant, or the stored bytes of a value of the old row.
package final class RecordCopy: Sendable {
  /// Where the value of one column of the new table comes from.
  package struct Part: Sendable {
    /// The index of the column in the old table; nil when the value is always the constant.
    package var source: Int?
    /// The constant; nil for none. When ``source`` is set, the constant replaces NULL; without a constant, NULL stays
    /// NULL.
    package var constant: Constant?
    /// Whether the constant replaces all values except NULL. By default it replaces NULL.
    package var isConstantWhereSet = false
    /// Whether the value must not be NULL. A record without the value is not copied (``RecordCopy/Outcome/undecided``).
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

  /// A value in the form that it has in records: a serial type and its bytes (file format, section 2.1).
  package struct Constant: Sendable, Equatable {
    let type: UInt64
    let body: ContiguousArray<UInt8>
    package static let null = Self(type: 0, body: [])

    private init(type: UInt64, body: ContiguousArray<UInt8>) {
      self.type = type
      self.body = body
    }

    /// The first value of a record; nil when the record has no values or contradicts itself.
    package init?(_ record: ContiguousArray<UInt8>) {
      var decoder = RecordDecoder(encoding: .utf8)
      guard decoder.open(record.rawSpan) == nil, let field = decoder.fields.first else {
        return nil
      }
      let end = field.offset + RecordDecoder.length(ofType: field.type)
      self.init(type: field.type, body: ContiguousArray(record[field.offset..<end]))
    }
  }

  /// What the values in a column of the old table may be, besides NULL.
  package struct Rule: Sendable {
    /// The index of the column in the old table.
    let column: Int
    let classes: StorageClasses
    /// The length that each BLOB must have, in bytes; nil for any length.
    let length: Int?

    package init(column: Int, classes: StorageClasses, length: Int?) {
      self.column = column
      self.classes = classes
      self.length = length
    }
  }

  /// The values of a record in order: the serial type of each, and its offset in bytes from the start of the record.
  package typealias Fields = ContiguousArray<(type: UInt64, offset: Int)>

  /// A part in a small form without references, because it is looked up for each value of each row.
  private struct Piece: BitwiseCopyable {
    /// The index of the field in the old record; negative for a constant.
    let field: Int32
    /// The serial type of the constant; 0 without a constant. `hasConstant`: whether there is a constant.
    let constantType: UInt64
    let hasConstant: Bool
    let isConstantWhereSet: Bool
    let isDemanded: Bool
  }

  private let form: RecordForm
  private let pieces: ContiguousArray<Piece>
  /// The bytes of the constants, by column of the new table; empty without a constant.
  private let bodies: ContiguousArray<ContiguousArray<UInt8>>
  /// The rules, each with the index of the field in the old record as `column`.
  private let rules: ContiguousArray<Rule>
  private let fieldCount: Int
  /// Whether each column takes the field at its own index and no constant, so that the new record is usually the old
  /// one.
  private let isIdentity: Bool
  /// The index of the field of the row id's column in the old record; nil when no column is the row id.
  private let rowIDField: Int?
  /// The fewest fields that an old record must have. A record with fewer fields lacks one whose default is not NULL.
  private let leastCount: Int

  /// Prepares to copy records; nil when a value may change when it is copied, or when no row is wanted.
  ///
  /// - Parameters:
  ///   - source: the old table, which must have row ids and text in UTF-8.
  ///   - rules: what may be in columns of the old table.
  ///   - form: the form of the new records.
  ///   - parts: where the values come from, a part for each column of the new table, in order.
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
        // Whole numbers of a REAL column are stored as integers.
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

  /// What ``append(_:_:to:)`` did with a record.
  package enum Outcome {
    /// The new record equals the old one. Nothing was appended.
    case same
    /// The new record was appended.
    case made
    /// The record cannot be copied and must be decoded. Nothing was appended. A value breaks a rule, is demanded and
    /// missing, or does not have the form that SQLite would give it in the new table, or the record contradicts itself.
    case undecided
  }

  /// Makes the new record of an old one and appends it to `bytes`, unless the two are equal.
  ///
  /// - Parameters:
  ///   - record: the old record.
  ///   - fields: the serial types and offsets of the old record's values.
  ///   - bytes: what the new record is appended to.
  /// - Returns: ``Outcome/made`` when the new record was appended; else nothing was appended.
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

  /// Appends the bytes of the new record's values. Values that follow each other in the old record are copied together.
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

  /// The serial type in column `place` of the new record; nil when the value cannot be copied.
  @inline(__always)
  private func checkedType(
    of place: Int, _ record: RawSpan, _ fields: borrowing Fields
  ) -> UInt64? {
    let piece = pieces[place]
    let (type, range) = value(of: place, fields)
    if type == 0, piece.isDemanded { return nil }
    if piece.field >= 0, Int(piece.field) < fields.count {
      // Reserved types and NaN are read as NULL.
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

  /// The serial type in column `place` of the new record, and the bytes of the old record that hold the value. The
  /// range is nil for a constant and for NULL.
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
