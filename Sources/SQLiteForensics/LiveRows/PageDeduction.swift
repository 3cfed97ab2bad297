import SQLiteFile

/// Deduces the rows of one page whose records' headers are false, from the rows of the page that are sound.
///
/// Whoever falsifies headers does it column by column, and what ruins a disk does it to few of them. So how far a type
/// of a failing header is believed is learned from the page: from the columns in which its failing headers are false.
struct PageDeduction {
  /// A row as far as it could be deduced.
  struct Row {
    /// A record of the values that are certain, NULL in place of all others.
    var record: ContiguousArray<UInt8>
    /// The values in doubt, by field.
    var partial: [PartialValue]
    /// Fields of the record.
    var count: Int
    /// Whether the header adds up, so that it is only unlikely.
    var addsUp: Bool
  }

  /// Other pages of the table that are asked, and how far away they may be.
  static let mostNeighbours = 4
  static let mostDistance: UInt32 = 64
  /// Work that all pages of a file may take, in values looked at and bytes of text, some seconds' worth; and what a page may
  /// take of it. Each page has its share, so that it does not matter which is read first.
  private static let mostFileWork = 1 << 31
  private static let mostPageWork = 1 << 19
  private static let leastPageWork = 1 << 14
  /// Failing cells of which the columns are learned that are false.
  private static let witnessCount = 48
  /// A sound row that is less usual is looked at, too, where others of the page fail.
  private static let usual = 5 * FieldHabits.bit
  /// Sound rows without which nothing is known about the values of a column that is false.
  private static let leastSoundRows = 4
  /// Sound rows that are as good as any more.
  private static let enoughSoundRows = 16
  /// Rows from which on failing ones throw doubt on those that are not, where they are most.
  private static let leastWitnesses = 8
  /// Never so much that a second false type is not thought of.
  private static let mostDistrust = 11 * FieldHabits.bit / 2

  private let shape: RowShape
  private let encoding: DatabaseHeader.TextEncoding
  private var habits: FieldHabits
  private var types = RecordTypes()
  private var deduction = HeaderDeduction()
  private var budget: Int
  /// The failing cells by their place, and whether they add up all the same.
  private var failing: [(place: Int, addsUp: Bool)] = []
  /// Whether all failing rows add up but for reserved types.
  private var isReservedAlone = false
  /// The places of all others of the table.
  private var sound: [Int] = []
  private var distrust: ContiguousArray<Int>
  private var exchange: ContiguousArray<Int>
  /// For each column whether it is false in many rows.
  private var isSuspect: ContiguousArray<Bool>

  init(
    _ shape: RowShape, _ encoding: DatabaseHeader.TextEncoding, usableSize: Int, pageCount: UInt32
  ) {
    budget = min(Self.mostPageWork, max(Self.leastPageWork, Self.mostFileWork / Int(pageCount)))
    self.shape = shape
    self.encoding = encoding
    habits = FieldHabits(shape, encoding)
    types.renewBudget(usableSize: usableSize)
    distrust = ContiguousArray(repeating: 4 * FieldHabits.bit, count: shape.fields.count)
    exchange = ContiguousArray(repeating: 4 * FieldHabits.bit, count: shape.fields.count)
    isSuspect = ContiguousArray(repeating: false, count: shape.fields.count)
  }

  /// Looks at the cells of the page.
  ///
  /// - Returns: how many more sound rows it takes to know what rows of the table look like.
  mutating func look(at reading: borrowing LeafReading, _ page: RawSpan, limit: Int) -> Int {
    guard shape.fields.count <= HeaderDeduction.mostFields else { return 0 }
    for (place, cell) in reading.cells.enumerated() {
      // What a sector of zeros has swallowed is missing, and no other value.
      if ZeroSectors.touch(cell.start..<cell.end, of: page) { continue }
      if cell.isWrecked {
        if reading.isBordered(place, limit: limit) { failing.append((place, false)) }
      } else if read(cell, page) {
        sound.append(place)
      }
    }
    guard !failing.isEmpty else { return 0 }
    // Where most fail, those that do not may well add up by chance, and are alike for no other reason.
    if sound.count * 3 <= failing.count * 2 {
      failing += sound.map { ($0, true) }
    } else {
      for place in sound { learn(reading.cells[place], page) }
      for place in sound where isUnusual(reading.cells[place], page) {
        failing.append((place, true))
      }
    }
    return max(0, Self.enoughSoundRows - habits.rowCount)
  }

  /// Learns from another page of the table, on which nothing is wrong.
  ///
  /// - Returns: how many more sound rows it takes.
  mutating func learn(from reading: borrowing LeafReading, _ page: RawSpan) -> Int {
    guard reading.method == .pointers else { return Self.enoughSoundRows - habits.rowCount }
    for cell in reading.cells
    where !ZeroSectors.touch(cell.start..<cell.end, of: page) { learn(cell, page) }
    return max(0, Self.enoughSoundRows - habits.rowCount)
  }

  /// Deduces the rows of the page, by the places of their cells.
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
      isReservedAlone = isAlone && count >= Self.leastWitnesses
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

  /// Reads the types of a sound cell; false when they are none of this table.
  private mutating func read(_ cell: LeafCell, _ page: RawSpan) -> Bool {
    guard !cell.isHeadless,
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

  /// Where the body of the cell begins whose types were read last.
  private func body(of cell: LeafCell) -> Int { cell.record + cell.payload - types.bodyLength }

  private mutating func isUnusual(_ cell: LeafCell, _ page: RawSpan) -> Bool {
    guard let cost = surprise(cell, page) else { return false }
    return cost >= Self.usual && budget > 0
  }

  /// How surprising a row is as its header has it; nil where not all of it stands on the page.
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

  /// Learns in which columns the headers of failing rows are false.
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
      // Only some were asked, of which fewer sound ones are the like.
      let sound = sound.count * witnesses / failing.count
      for field in faults.indices {
        let rate =
          FieldHabits.logarithm(UInt32(clamping: witnesses + sound + 2))
          - FieldHabits.logarithm(UInt32(clamping: faults[field] + 1))
        distrust[field] = max(FieldHabits.bit, min(Self.mostDistrust, rate))
        suspect(field, faults[field] * 4 > witnesses)
      }
    }
  }

  private mutating func suspect(_ field: Int, _ isSuspect: Bool) {
    self.isSuspect[field] = isSuspect
    exchange[field] = (isSuspect ? 1 : 4) * FieldHabits.bit
  }

  // MARK: - Rows

  private mutating func row(_ cell: LeafCell, _ page: RawSpan, addsUp: Bool) -> Row? {
    guard let question = question(cell, page) else { return nil }
    if isBlind {
      if !addsUp { return isReservedAlone ? unreservedRow(question, page) : nil }
      // Few rows that fail say little of one that does not.
      if failing.count < Self.leastWitnesses { return nil }
    }
    guard deduction.weigh(question, page, habits, &budget) else { return nil }
    // An unusual row is one all the same unless its header being false explains it better.
    if addsUp, !isBlind, let cost = surprise(cell, page),
      cost <= deduction.cost + 2 * FieldHabits.bit
    {
      return nil
    }
    var values = deduction.fields
    for field in values.indices where values[field].type != nil {
      // Nothing is known of a column that is false all over, and a row that adds up is not made another.
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

  /// Whether no sound row says what rows of the table look like.
  private var isBlind: Bool { habits.rowCount < Self.leastSoundRows }

  /// A row that adds up but for reserved types, where no other row tells more: what is false stands there, and all of
  /// it takes no bytes.
  ///
  /// A column that is false in all rows may seem to be any other, so nothing else is to be had, and not where some
  /// of the failing rows are not like that.
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

  /// Makes a record of the values that are certain.
  private static func record(
    _ values: ContiguousArray<HeaderDeduction.Field>, _ question: HeaderDeduction.Question,
    _ page: RawSpan, addsUp: Bool
  ) -> Row {
    var header: [UInt8] = []
    var body = ContiguousArray<UInt8>()
    var partial: [PartialValue] = []
    var run: (first: Int, start: Int?)?
    // The bytes of neighbours in doubt stand under the first of them: only their outer borders are certain.
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
        header.append(0)
        continue
      }
      close(start)
      append(type, to: &header)
      body.append(contentsOf: page.part(question.body + start, end - start).array())
    }
    close(question.length)
    // The length of a header counts its own bytes.
    var record = ContiguousArray<UInt8>()
    var length: [UInt8] = []
    append(UInt64(header.count + (header.count < 127 ? 1 : 2)), to: &length)
    record.append(contentsOf: length)
    record.append(contentsOf: header)
    record.append(contentsOf: body)
    return Row(record: record, partial: partial, count: values.count, addsUp: addsUp)
  }

  private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var groups: [UInt8] = [UInt8(value & 0x7f)]
    var left = value >> 7
    while left > 0, groups.count < 8 {
      groups.append(UInt8(left & 0x7f) | 0x80)
      left >>= 7
    }
    bytes.append(contentsOf: groups.reversed())
  }
}
