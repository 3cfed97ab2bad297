import SQLiteFile

/// Deduces the values of rows whose record headers are wrong, by comparison with the sound rows of the same page.
///
/// Damage to a disk affects only a few headers, whereas a deliberate change affects the same columns of many headers.
/// So the more headers are wrong in a column, the less the serial types of this column are trusted.
struct PageDeduction {
  struct Row {
    /// The row as a record. NULL takes the place of each value in doubt.
    var record: ContiguousArray<UInt8>
    /// The values in doubt, each with what is left of it.
    var partial: [PartialValue]
    /// The number of fields of the row, both certain fields and fields in doubt.
    var count: Int
    /// Whether the lengths in the record header on the page add up to the payload length. If true, the header may be
    /// right after all.
    var addsUp: Bool
  }

  /// Limits for the leaves that are read for comparison with a page whose rows are deduced.
  /// `maxNeighbours`: the maximum number of these leaves.
  /// `maxDistance`: the maximum difference between the page number of such a leaf and that of the page.
  static let maxNeighbours = 4
  static let maxDistance: UInt32 = 64
  /// The limits for the work of deducing rows. One unit of work is a value or a byte of a string.
  /// `maxFileWork`: the limit for all pages of a file together. It is divided equally among the pages, so that the
  /// order of the pages does not change the result.
  /// `maxPageWork` and `minPageWork`: the maximum and the minimum share of one page.
  private static let maxFileWork = 1 << 31
  private static let maxPageWork = 1 << 19
  private static let minPageWork = 1 << 14
  /// The maximum number of failing cells of a page that are examined to find the columns whose serial types are wrong.
  private static let witnessCount = 48
  /// The minimum surprise of a row's values, in sixteenths of a bit, at which the row counts as failing although its
  /// header is valid. Such rows are looked for only on a page on which another row fails.
  private static let usual = 5 * FieldHabits.bit
  /// The minimum number of sound rows on a page. Fewer sound rows do not show which values a column usually has.
  private static let minSoundRows = 4
  private static let enoughSoundRows = 16
  /// The minimum number of failing rows from which faults can be inferred on a page with fewer than ``minSoundRows``
  /// sound rows.
  private static let minWitnesses = 8
  /// The maximum cost of the assumption that a serial type in a record header is wrong, in sixteenths of a bit. The
  /// cost is low enough that a likely reading of the record can assume this of two types.
  private static let maxDistrust = 11 * FieldHabits.bit / 2

  private let shape: RowShape
  private let encoding: DatabaseHeader.TextEncoding
  private var habits: FieldHabits
  private var types = RecordTypes()
  private var deduction = HeaderDeduction()
  private var budget: Int
  /// The cells with suspicious record headers: the lengths in the header do not add up to the payload length, or the
  /// values are unusual for the table. `place`: the index of the cell in the ``LeafReading``. `addsUp`: whether the
  /// lengths add up.
  private var failing: [(place: Int, addsUp: Bool)] = []
  /// Whether reserved serial types (10 and 11) are the only fault in all record headers whose lengths do not add up to
  /// the payload length. Determined only on a page with too few sound rows and at least ``minWitnesses`` such headers;
  /// otherwise false.
  private var isReservedAlone = false
  /// The cells of the page with a plausible record header, as indexes into the cells of the ``LeafReading``.
  private var sound: [Int] = []
  private var distrust: ContiguousArray<Int>
  private var exchange: ContiguousArray<Int>
  /// For each column, whether its serial types are not trusted, because they are wrong in many record headers of the
  /// page.
  private var isSuspect: ContiguousArray<Bool>

  init(
    _ shape: RowShape, _ encoding: DatabaseHeader.TextEncoding, usableSize: Int, pageCount: UInt32
  ) {
    budget = min(Self.maxPageWork, max(Self.minPageWork, Self.maxFileWork / Int(pageCount)))
    self.shape = shape
    self.encoding = encoding
    habits = FieldHabits(shape, encoding)
    types.renewBudget(usableSize: usableSize)
    distrust = ContiguousArray(repeating: 4 * FieldHabits.bit, count: shape.fields.count)
    exchange = ContiguousArray(repeating: 4 * FieldHabits.bit, count: shape.fields.count)
    isSuspect = ContiguousArray(repeating: false, count: shape.fields.count)
  }

  /// Finds the cells of the page whose record headers contradict the payload length or the other rows, and learns from
  /// the other, sound cells what values are usual.
  ///
  /// - Returns: how many more sound rows the statistics need.
  mutating func look(at reading: borrowing LeafReading, _ page: RawSpan, limit: Int) -> Int {
    guard shape.fields.count <= HeaderDeduction.maxFields else { return 0 }
    for (place, cell) in reading.cells.enumerated() {
      // Values in a sector of zeros are missing; they do not show what the table's values look like.
      if ZeroSectors.touch(cell.start..<cell.end, of: page) { continue }
      if cell.isWrecked {
        if reading.isBordered(place, limit: limit) { failing.append((place, false)) }
      } else if read(cell, page) {
        sound.append(place)
      }
    }
    guard !failing.isEmpty else { return 0 }
    // If at least three fifths of the rows fail, the lengths in the headers of the other rows may add up by chance.
    if sound.count * 3 <= failing.count * 2 {
      failing += sound.map { ($0, true) }
    } else {
      for place in sound { learn(reading.cells[place], page) }
      for place in sound {
        guard let cost = surprise(reading.cells[place], page), cost >= Self.usual, budget > 0 else {
          continue
        }
        failing.append((place, true))
      }
    }
    return max(0, Self.enoughSoundRows - habits.rowCount)
  }

  /// Learns from another leaf of the table, unless its cell pointers are damaged.
  ///
  /// - Returns: how many more sound rows the statistics need.
  mutating func learn(from reading: borrowing LeafReading, _ page: RawSpan) -> Int {
    guard reading.method == .pointers else { return Self.enoughSoundRows - habits.rowCount }
    for cell in reading.cells
    where !ZeroSectors.touch(cell.start..<cell.end, of: page) { learn(cell, page) }
    return max(0, Self.enoughSoundRows - habits.rowCount)
  }

  /// Returns the rows that were deduced for cells with suspicious record headers, keyed by the index of the cell in
  /// `reading`. A cell has no entry if its header turns out to be acceptable, or if no value could be deduced.
  mutating func rows(_ reading: borrowing LeafReading, _ page: RawSpan) -> [Int: Row] {
    guard !failing.isEmpty else { return [:] }
    if isBlind {
      var count = 0
      var isAlone = true
      for (place, addsUp) in failing where !addsUp && isAlone {
        count += 1
        isAlone =
          question(reading.cells[place], page).map { unreservedRow($0, page) != nil } ?? false
      }
      isReservedAlone = isAlone && count >= Self.minWitnesses
    }
    learnFaults(reading, page)
    var rows: [Int: Row] = [:]
    for (place, addsUp) in failing {
      guard let row = row(reading.cells[place], page, addsUp: addsUp) else { continue }
      rows[place] = row
    }
    return rows
  }

  // MARK: - Cells

  /// Reads the types of a sound cell into ``types``. Returns false when the record header is not valid, or has more
  /// fields than the table has columns.
  private mutating func read(_ cell: LeafCell, _ page: RawSpan) -> Bool {
    guard !cell.isStartLost,
      let header = Varint.read(page, at: cell.record, end: cell.record + cell.local),
      header.value <= UInt64(cell.local), header.value > UInt64(header.length)
    else { return false }
    return types.read(page, cell.record + header.length..<cell.record + Int(header.value))
      && types.types.count <= shape.fields.count
  }

  private mutating func learn(_ cell: LeafCell, _ page: RawSpan) {
    guard read(cell, page) else { return }
    habits.learn(types, page, body: body(of: cell), end: cell.record + cell.local)
  }

  /// Returns the page offset of the cell's values. Precondition: ``types`` are the serial types of the cell.
  private func body(of cell: LeafCell) -> Int { cell.record + cell.payload - types.bodyLength }

  /// Returns how unusual the values of a row are if its record header is right: the total surprise in sixteenths of a
  /// bit (``FieldHabits``). Nil when the row continues on overflow pages, or when its header is not valid.
  private mutating func surprise(_ cell: LeafCell, _ page: RawSpan) -> Int? {
    guard !cell.spills, read(cell, page) else { return nil }
    var offset = body(of: cell)
    var cost = 0
    for (field, type) in types.types.enumerated() {
      let length = RecordDecoder.length(ofType: type)
      guard offset + length <= cell.record + cell.local else { return nil }
      budget -= 1 + length
      cost += habits.surprise(field, type, page, offset, length)
      offset += length
    }
    return cost
  }

  private func question(_ cell: LeafCell, _ page: RawSpan) -> HeaderDeduction.Question? {
    guard !cell.spills, cell.record + cell.payload <= page.byteCount,
      let types = LeafCell.fieldTypes(page, cell, shape)
    else { return nil }
    let header = Int(page.byte(at: cell.record))
    return HeaderDeduction.Question(
      types: types, body: cell.record + header, length: cell.payload - header, distrust: distrust,
      exchange: exchange)
  }

  // MARK: - Columns

  /// Counts, for each column, the failing rows whose record header has a wrong serial type for the column. Sets
  /// ``distrust``, ``exchange`` and ``isSuspect`` from these counts.
  private mutating func learnFaults(_ reading: borrowing LeafReading, _ page: RawSpan) {
    for _ in 0..<2 {
      var faults = ContiguousArray(repeating: 0, count: shape.fields.count)
      var witnesses = 0
      for (place, _) in failing.prefix(Self.witnessCount) {
        guard let question = question(reading.cells[place], page),
          deduction.weigh(question, page, habits, &budget)
        else { continue }
        witnesses += 1
        for (field, value) in deduction.fields.enumerated() where value.isDistrusted {
          faults[field] += 1
        }
      }
      guard witnesses > 0 else { return }
      // Only some of the failing rows were deduced, so the number of sound rows is scaled accordingly.
      let sound = sound.count * witnesses / failing.count
      for field in faults.indices {
        let rate =
          FieldHabits.logarithm(UInt32(clamping: witnesses + sound + 2))
          - FieldHabits.logarithm(UInt32(clamping: faults[field] + 1))
        distrust[field] = max(FieldHabits.bit, min(Self.maxDistrust, rate))
        isSuspect[field] = faults[field] * 4 > witnesses
        exchange[field] = (isSuspect[field] ? 1 : 4) * FieldHabits.bit
      }
    }
  }

  // MARK: - Rows

  private mutating func row(_ cell: LeafCell, _ page: RawSpan, addsUp: Bool) -> Row? {
    guard let question = question(cell, page) else { return nil }
    if isBlind {
      if !addsUp { return isReservedAlone ? unreservedRow(question, page) : nil }
      // If only a few rows fail, they say little about a row whose lengths add up.
      if failing.count < Self.minWitnesses { return nil }
    }
    guard deduction.weigh(question, page, habits, &budget) else { return nil }
    // A header whose lengths add up is accepted, unless a reading with other serial types costs much less.
    if addsUp, !isBlind, let cost = surprise(cell, page),
      cost <= deduction.cost + 2 * FieldHabits.bit
    {
      return nil
    }
    var values = deduction.fields
    for field in values.indices where values[field].type != nil {
      // If the page has too few sound rows, a value in a suspect column is in doubt. If the lengths in the row's header
      // add up, no value is replaced: a value for which another serial type was deduced is in doubt.
      if isSuspect[field] && isBlind || addsUp && values[field].type != question.types[field] {
        values[field].type = nil
      }
    }
    if addsUp, values.allSatisfy({ $0.type != nil && $0.start != nil && $0.end != nil }) {
      return nil
    }
    let row = Self.record(values, question, page, addsUp: addsUp)
    return row.partial.count < values.count || addsUp ? row : nil
  }

  /// Whether the page has too few sound rows (fewer than ``minSoundRows``) to show what rows of the table look like.
  private var isBlind: Bool { habits.rowCount < Self.minSoundRows }

  /// Returns the row of a record header that contains reserved serial types (10 and 11), if the lengths of the values
  /// add up. Nil for any other header. A value with a reserved type takes no bytes and is in doubt. All other values
  /// are certain.
  ///
  /// Used only if too few sound rows exist for a comparison, and all failing headers have this form.
  private func unreservedRow(_ question: HeaderDeduction.Question, _ page: RawSpan) -> Row? {
    var values = ContiguousArray<HeaderDeduction.Field>()
    var offset = 0
    for type in question.types {
      let length = RecordDecoder.length(ofType: type)
      guard length <= question.length - offset else { return nil }
      let isReserved = type == 10 || type == 11
      values.append(
        HeaderDeduction.Field(
          type: isReserved ? nil : type, start: offset, end: offset + length))
      offset += length
    }
    guard offset == question.length, values.contains(where: { $0.type == nil }) else { return nil }
    let row = Self.record(values, question, page, addsUp: false)
    return row.partial.count < values.count ? row : nil
  }

  private static func record(
    _ values: ContiguousArray<HeaderDeduction.Field>, _ question: HeaderDeduction.Question,
    _ page: RawSpan, addsUp: Bool
  ) -> Row {
    var header = ContiguousArray<UInt8>()
    var body = ContiguousArray<UInt8>()
    var partial: [PartialValue] = []
    var run: (first: Int, start: Int?)?
    // If neighbouring values are in doubt, only the start of the first value and the end of the last value are certain.
    // So the first value receives the bytes of all these values.
    func close(_ end: Int?) {
      if let start = run?.start, let end, start < end, let first = run?.first {
        partial[first].have = end - start
        partial[first].of = end - start
        partial[first].bytes = page.part(question.body + start, end - start).array()
      }
      run = nil
    }
    for (field, value) in values.enumerated() {
      guard let type = value.type, let start = value.start, let end = value.end else {
        if run == nil {
          let before = field == 0 ? 0 : values[field - 1].end
          run = (partial.count, value.start ?? before)
        }
        partial.append(
          PartialValue(column: field, have: 0, of: 0, isDoubtful: true, bytes: []))
        header.append(varint: 0)
        continue
      }
      close(start)
      header.append(varint: type)
      body.append(contentsOf: page.part(question.body + start, end - start).array())
    }
    close(question.length)
    var record = ContiguousArray<UInt8>()
    record.append(varint: UInt64(ContiguousArray<UInt8>.headerLength(header.count)))
    record.append(contentsOf: header)
    record.append(contentsOf: body)
    return Row(record: record, partial: partial, count: values.count, addsUp: addsUp)
  }
}
