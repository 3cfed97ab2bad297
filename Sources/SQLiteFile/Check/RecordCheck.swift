/// Checks records against their format (section 2.1 "Record Format") and the rules of their b-tree.
///
/// What is wrong with values is counted by column: a table with a million of them has one finding.
struct RecordCheck: ~Copyable {
  /// What can be wrong with a value.
  enum Problem: UInt8 {
    case null, affinity, numericText, rowIDField, badText, reserved
    case demandClass, demandNumber, demandLength, demandUntrue
  }

  struct Tally {
    var count: Int
    var first: ValuePlace
  }

  struct Subject: Hashable {
    var problem: UInt8
    /// The column, or the number of the demand.
    var column: Int32
  }

  /// Row ids of the tables that others refer to.
  var keys: ContiguousArray<KeySet> = []
  /// The keys that were referred to, by the number of the set that they must be in.
  var references: ContiguousArray<KeySet> = []
  var demands: ContiguousArray<ColumnDemand> = []
  /// Sums of index entries, by number.
  var sums: ContiguousArray<UInt64> = []
  /// Sums that lack a value that was too long to be read whole, or damaged.
  var incompleteSums: Set<Int> = []
  private let encoding: DatabaseHeader.TextEncoding
  private var tallies: [Subject: Tally] = [:]
  private var hashes: ContiguousArray<UInt64> = []

  init(encoding: DatabaseHeader.TextEncoding) { self.encoding = encoding }

  /// Checks one record, or the start of one of `total` bytes that is too long to be gathered.
  /// - Returns: what is wrong with the record as a whole; nil when its fields could be told.
  @inline(__always)
  mutating func check(
    _ payload: RawSpan, total: Int, rowID: Int64?, _ rules: borrowing RecordRules,
    _ place: @autoclosure () -> ValuePlace
  ) -> (id: String, message: String)? {
    let have = payload.byteCount
    guard let header = Varint.read(payload, at: 0, end: have), header.value <= UInt64(total),
      header.value >= UInt64(header.length)
    else { return RecordDecoder.Defect.header.finding }
    let headerEnd = Int(header.value)
    // A header that itself is longer than what is gathered: no table has that many columns.
    guard headerEnd <= have else { return nil }
    var offset = header.length
    var body = headerEnd
    var number = 0
    var lastClass: UInt8 = 0
    let known = rules.fields.count
    let wantsHashes = rules.sums.count > 0
    if wantsHashes { hashes.removeAll(keepingCapacity: true) }
    while offset < headerEnd {
      guard let type = Varint.read(payload, at: offset, end: headerEnd) else {
        return RecordDecoder.Defect.header.finding
      }
      offset &+= type.length
      let length = RecordDecoder.length(ofType: type.value)
      guard length <= total, body &+ length <= total else {
        return RecordDecoder.Defect.body(
          needed: length > total ? length : body &+ length &- headerEnd, have: total &- headerEnd
        ).finding
      }
      let kind = StorageClasses(serialType: type.value).rawValue
      lastClass = kind
      var column: Int32 = -1
      if number < known {
        let field = rules.fields[number]
        column = field.column
        if field.refused & kind != 0 { refuse(kind, field, place()) }
        if field.watched & kind != 0, body &+ length <= have {
          look(payload, type.value, body, length, kind, field, place())
        }
        if field.refusesNumericText, kind == StorageClasses.text.rawValue, encoding == .utf8,
          length > 0, length < 64, body &+ length <= have,
          Self.looksNumeric(payload.part(body, length))
        {
          note(.numericText, column, place())
        }
      }
      if type.value == 10 || type.value == 11 { note(.reserved, column, place()) }
      if kind == StorageClasses.text.rawValue, body &+ length <= have,
        !isValid(payload.part(body, length))
      {
        note(.badText, column, place())
      }
      if wantsHashes {
        hashes.append(
          body &+ length <= have ? Self.hash(payload, type.value, body, length) : IndexSum.null)
      }
      body &+= length
      number &+= 1
    }
    if body != total {
      return (
        "record.trailingBytes", "a record's values end after \(body) of \(total) bytes"
      )
    }
    if let most = rules.mostFields, number > most {
      return ("record.tooManyFields", "a record has \(number) fields for \(most) columns")
    }
    if rules.endsWithRowID, lastClass != StorageClasses.integer.rawValue {
      return ("index.noRowID", "an index entry does not end with a row id")
    }
    if wantsHashes { add(rowID, number, isWhole: have == total, rules) }
    return nil
  }

  /// Adds the row or entry to the sums of the indexes it concerns.
  private mutating func add(
    _ rowID: Int64?, _ count: Int, isWhole: Bool, _ rules: borrowing RecordRules
  ) {
    var index = 0
    while index < rules.sums.count {
      var hash = IndexSum.seed
      if !isWhole { incompleteSums.insert(rules.sums[index].sum) }
      if rules.sums[index].fields.isEmpty {
        // An entry: all of its fields.
        var field = 0
        while field < count {
          hash = IndexSum.combine(hash, hashes[field])
          field &+= 1
        }
      } else {
        var part = 0
        while part < rules.sums[index].fields.count {
          let field = Int(rules.sums[index].fields[part])
          let value =
            field < 0
            ? IndexSum.of(rowID ?? 0)
            : field < count
              ? hashes[field]
              : field < rules.absentHashes.count ? rules.absentHashes[field] : IndexSum.null
          hash = IndexSum.combine(hash, value)
          part &+= 1
        }
        hash = IndexSum.combine(hash, IndexSum.of(rowID ?? 0))
      }
      sums[rules.sums[index].sum] &+= hash
      index &+= 1
    }
  }

  private static func hash(_ payload: RawSpan, _ type: UInt64, _ offset: Int, _ length: Int)
    -> UInt64
  {
    switch type {
    case 1...6, 8, 9: return IndexSum.of(integer(payload, type, offset, length))
    case 7:
      let real = Double(bitPattern: payload.uint64(at: offset))
      return real.isNaN ? IndexSum.null : IndexSum.of(real)
    case 0, 10, 11: return IndexSum.null
    default: return IndexSum.of(payload.part(offset, length), isText: type & 1 == 1)
    }
  }

  private static func integer(_ payload: RawSpan, _ type: UInt64, _ offset: Int, _ length: Int)
    -> Int64
  {
    if type >= 8 { return Int64(type &- 8) }
    return RecordDecoder.integer(payload, offset, length)
  }

  // MARK: - Values

  @inline(never)
  private mutating func refuse(_ kind: UInt8, _ field: RecordRules.Field, _ place: ValuePlace) {
    let problem: Problem =
      field.isRowID
      ? .rowIDField : kind == StorageClasses.null.rawValue ? .null : .affinity
    note(problem, field.column, place)
  }

  /// The closer look at a value that a demand concerns.
  @inline(never)
  private mutating func look(
    _ payload: RawSpan, _ type: UInt64, _ offset: Int, _ length: Int, _ kind: UInt8,
    _ field: RecordRules.Field, _ place: ValuePlace
  ) {
    let number = Int(field.demand)
    guard number >= 0, number < demands.count else { return }
    if demands[number].classes.rawValue & kind == 0 {
      return note(.demandClass, Int32(number), place)
    }
    if kind == StorageClasses.integer.rawValue {
      let value = Self.integer(payload, type, offset, length)
      if field.target >= 0 { references[Int(field.target)].insert(value) }
      if let numbers = demands[number].numbers, !numbers.contains(value) {
        note(.demandNumber, Int32(number), place)
      }
    } else if kind == StorageClasses.blob.rawValue {
      if let wanted = demands[number].blobLength, wanted != length {
        note(.demandLength, Int32(number), place)
      }
      if length == 38, payload.byte(at: offset) == 2, let holds = demands[number].holds,
        !holds(payload.part(offset, length).array())
      {
        note(.demandUntrue, Int32(number), place)
      }
    }
  }

  private static func looksNumeric(_ bytes: RawSpan) -> Bool {
    switch bytes.byte(at: 0) {
    case 0x09...0x0d, 0x20, 0x2b, 0x2d, 0x2e, 0x30...0x39:
      SQLNumber.value(of: bytes.array()) != nil
    default: false
    }
  }

  @inline(__always)
  private func isValid(_ text: RawSpan) -> Bool {
    if encoding != .utf8 {
      return UTF16Scan.isValid(text, isBigEndian: encoding == .utf16BigEndian)
    }
    return UTF8Scan.isValid(text)
  }

  // MARK: - Together

  /// Asks for the same as another check, with nothing found yet.
  mutating func prepare(as other: borrowing RecordCheck) {
    demands = other.demands
    keys = ContiguousArray(repeating: KeySet(), count: other.keys.count)
    references = ContiguousArray(repeating: KeySet(), count: other.references.count)
    sums = ContiguousArray(repeating: 0, count: other.sums.count)
  }

  /// Takes the keys and sums of a check that asked for the same.
  mutating func merge(_ other: borrowing RecordCheck) {
    for index in keys.indices { keys[index].merge(other.keys[index]) }
    for index in references.indices { references[index].merge(other.references[index]) }
    for index in sums.indices { sums[index] &+= other.sums[index] }
    incompleteSums.formUnion(other.incompleteSums)
  }

  // MARK: - What was found

  @inline(never)
  private mutating func note(_ problem: Problem, _ column: Int32, _ place: ValuePlace) {
    let subject = Subject(problem: problem.rawValue, column: column)
    if var tally = tallies[subject] {
      tally.count += 1
      tallies[subject] = tally
    } else {
      tallies[subject] = Tally(count: 1, first: place)
    }
  }

  /// What was found about the values read since the last call.
  mutating func takeTallies() -> [Subject: Tally] {
    defer { tallies.removeAll(keepingCapacity: true) }
    return tallies
  }

  /// The findings about values of the b-tree just read, and the demands not met.
  mutating func takeFindings(_ table: String, _ names: [String]) -> (
    findings: [Finding], breaches: [DemandBreach]
  ) {
    Self.findings(takeTallies(), table, names)
  }

  /// The findings that tallies make, and the demands not met.
  static func findings(_ tallies: [Subject: Tally], _ table: String, _ names: [String]) -> (
    findings: [Finding], breaches: [DemandBreach]
  ) {
    var findings: [Finding] = []
    var breaches: [DemandBreach] = []
    let all = tallies.sorted {
      ($0.key.column, $0.key.problem) < ($1.key.column, $1.key.problem)
    }
    for (subject, tally) in all {
      guard let problem = Problem(rawValue: subject.problem) else { continue }
      if let kind = breach(problem) {
        breaches.append(
          DemandBreach(
            demand: Int(subject.column), kind: kind, count: tally.count, first: tally.first))
        continue
      }
      let place = tally.first
      let column =
        subject.column >= 0 && Int(subject.column) < names.count
        ? " of column \(names[Int(subject.column)])" : ""
      let values = tally.count == 1 ? "1 value\(column) is" : "\(tally.count) values\(column) are"
      let row = place.rowID.map { ", first in row \($0)" } ?? ""
      let (id, text, severity) = words(problem)
      findings.append(
        Finding(
          id, values + " " + text + row, severity: severity, member: place.member,
          page: place.page, offset: place.offset, table: table.isEmpty ? nil : table))
    }
    return (findings, breaches)
  }

  private static func breach(_ problem: Problem) -> DemandBreach.Kind? {
    switch problem {
    case .demandClass: .storageClass
    case .demandNumber: .number
    case .demandLength: .length
    case .demandUntrue: .untrue
    default: nil
    }
  }

  private static func words(_ problem: Problem) -> (String, String, Finding.Severity) {
    switch problem {
    case .null: ("record.null", "NULL where the declaration says NOT NULL", .damage)
    case .affinity:
      ("record.affinity", "of a kind that SQLite never stores in such a column", .damage)
    case .numericText:
      (
        "record.affinity", "text that is a number, which SQLite would have stored as one", .damage
      )
    case .rowIDField:
      ("record.rowIDField", "not NULL, though the column stands for the row id", .damage)
    case .reserved:
      ("record.reservedType", "of a serial type that no file may hold", .damage)
    default: ("record.badText", "text that is not valid in the file's encoding", .note)
    }
  }
}
