import RowText
import SQLiteFile

/// Checks records against the file format (section 2.1 "Record Format"), and against the rules of their b-tree.
///
/// Faults in values are counted by column, so a million faulty values in one column give one finding.
struct RecordCheck: ~Copyable {
  enum Problem: UInt8 {
    case null, affinity, numericText, rowIDField, badText, reserved
    case demandClass, demandNumber, demandLength, demandUntrue
  }

  struct Tally {
    var count: Int
    var first: ValuePlace
  }

  struct Subject: Hashable {
    var problem: Problem
    /// What the problem is about. For a value that does not meet a demand: the index of the demand in
    /// ``RecordCheck/demands``. For any other faulty value: the index of the column, or -1 if the column is not known.
    var column: Int32
  }

  /// For each table that other tables refer to: a key set with the row ids of that table. The number of a key set is
  /// its index in this array.
  var keys: ContiguousArray<KeySet> = []
  /// For each key set in ``keys``, at the same index: the integers by which other tables refer to rows of its table.
  /// Each of these integers must be in the key set.
  var references: ContiguousArray<KeySet> = []
  var demands: ContiguousArray<ColumnDemand> = [] {
    didSet { smallNumbers = ContiguousArray(demands.map(Self.smallNumbers)) }
  }
  /// The sums of hashes by which indexes are compared with the rows of their tables; see ``IndexSum``. A sum is
  /// identified by its index in this array.
  var sums: ContiguousArray<UInt64> = []
  /// The numbers of the incomplete sums in ``sums``. A sum is incomplete if a value is damaged or too long to be read
  /// whole.
  var incompleteSums: Set<Int> = []
  private let encoding: DatabaseHeader.TextEncoding
  private var tallies: [Subject: Tally] = [:]
  /// The hashes of the indexed fields of the current record, by field number. Other elements are left over from earlier
  /// records.
  private var hashes: ContiguousArray<UInt64> = []
  /// For each demand, the allowed integers from 0 to 63 as a bitmap; the lowest bit stands for 0.
  private var smallNumbers: ContiguousArray<UInt64> = []

  init(encoding: DatabaseHeader.TextEncoding) { self.encoding = encoding }

  /// Makes ``hashes`` long enough for the fields of a b-tree. Must be called before the first record of the b-tree is
  /// checked.
  mutating func start(_ rules: borrowing RecordRules) {
    let missing = rules.fields.count - hashes.count
    if missing > 0 { hashes.append(contentsOf: repeatElement(0, count: missing)) }
  }

  /// Counts the faulty values of a record that ``passes(_:rowID:_:)`` has refused, or whose payload is incomplete.
  /// `total` is the length of the record in bytes. If the record is too long to be collected, `payload` has only its
  /// first bytes.
  /// - Returns: a fault of the record as a whole; nil if only values can be wrong.
  @inline(never)
  mutating func check(
    _ payload: RawSpan, total: Int, rowID: Int64?, _ rules: borrowing RecordRules,
    _ place: ValuePlace
  ) -> (id: Finding.ID, message: String)? {
    let have = payload.byteCount
    guard let header = Varint.read(payload, at: 0, end: have), header.value <= UInt64(total),
      header.value >= UInt64(header.length)
    else { return RecordDecoder.Defect.header.finding }
    let headerEnd = Int(header.value)
    // If the header is longer than the collected bytes, the record has more fields than any table has columns, so
    // SQLite refuses the record.
    guard headerEnd <= have else { return RecordDecoder.Defect.header.finding }
    var offset = header.length
    var body = headerEnd
    var number = 0
    var lastClass: UInt8 = 0
    var entry = IndexSum.seed
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
      let isThere = body &+ length <= have
      var column: Int32 = -1
      var isIndexed = rules.entrySum >= 0
      if number < rules.fields.count {
        let field = rules.fields[number]
        column = field.column
        if field.isIndexed { isIndexed = true }
        if field.refused & kind != 0 { refuse(kind, field, place) }
        if field.watched & kind != 0, isThere {
          look(payload, type.value, body, length, kind, field, place)
        }
        if field.refusesNumericText, kind == StorageClasses.text.rawValue, isThere,
          looksNumeric(payload, body, length)
        {
          note(.numericText, column, place)
        }
      }
      if type.value == 10 || type.value == 11 { note(.reserved, column, place) }
      if kind == StorageClasses.text.rawValue, isThere, !isValid(payload, body, length) {
        note(.badText, column, place)
      }
      if isIndexed {
        let hash = isThere ? Self.hash(payload, type.value, body, length) : IndexSum.null
        entry = IndexSum.combine(entry, hash)
        if number < hashes.count { hashes[number] = hash }
      }
      body &+= length
      number &+= 1
    }
    if body != total {
      return (
        .recordTrailingBytes, "the values of a record end after \(body) of its \(total) bytes"
      )
    }
    if number > rules.maxFields {
      return (.recordTooManyFields, "a record has \(number) fields for \(rules.maxFields) columns")
    }
    // A record may lack its last fields. A missing field that is required counts as NULL in a NOT NULL column.
    var missing = number
    while missing < rules.minFields {
      if rules.fields[missing].isRequired { note(.null, rules.fields[missing].column, place) }
      missing &+= 1
    }
    if rules.endsWithRowID, lastClass != StorageClasses.integer.rawValue {
      return (.indexNoRowID, "an index entry does not end with a row id")
    }
    if have != total { incompleteSums.formUnion(rules.sumNumbers) }
    if rules.entrySum >= 0 { sums[rules.entrySum] &+= entry }
    add(rowID, number, rules)
    return nil
  }

  /// Whether a complete record meets its rules, so that it needs no further check.
  ///
  /// Nearly all records are sound, so a check spends most of its time in this function. It makes the same tests as
  /// ``check(_:total:rowID:_:_:)``, but no findings. If a record fails, both functions add the record's references to
  /// ``references``. This is harmless, because a key set has each key only once.
  @inline(__always)
  mutating func passes(_ payload: RawSpan, rowID: Int64?, _ rules: borrowing RecordRules) -> Bool {
    rules.attention.isEmpty
      ? passesAlone(payload, rowID: rowID, rules) : passesByField(payload, rowID: rowID, rules)
  }

  /// Checks a record as ``passes(_:rowID:_:)`` does. Used for a b-tree that has rules for fields.
  private mutating func passesByField(
    _ payload: RawSpan, rowID: Int64?, _ rules: borrowing RecordRules
  ) -> Bool {
    let attention = rules.attention.span
    let isUTF8 = encoding == .utf8
    guard var walk = Fields(payload) else { return false }
    var number = 0
    while walk.offset < walk.headerEnd {
      guard number < attention.count, walk.next(payload, isUTF8: isUTF8) else { return false }
      if attention[number] & (walk.kind | RecordRules.isIndexed) != 0,
        !attend(number, payload, walk.type, walk.start, walk.length, rules)
      {
        return false
      }
      number &+= 1
    }
    guard walk.body == payload.byteCount, number <= rules.maxFields,
      number >= rules.minFields, !rules.endsWithRowID
    else { return false }
    if !isUTF8, !isValidUTF16(payload) { return false }
    if rules.sums.count > 0 { add(rowID, number, rules) }
    return true
  }

  /// Checks a record as ``passes(_:rowID:_:)`` does, for records whose single fields have no rules, for example the
  /// entries of an index. Returns false if `rules` has rules for fields.
  private mutating func passesAlone(
    _ payload: RawSpan, rowID: Int64?, _ rules: borrowing RecordRules
  ) -> Bool {
    guard rules.fields.isEmpty else { return false }
    let isUTF8 = encoding == .utf8
    let isEntry = rules.entrySum >= 0
    guard var walk = Fields(payload) else { return false }
    var number = 0
    var hash = IndexSum.seed
    while walk.offset < walk.headerEnd {
      guard walk.next(payload, isUTF8: isUTF8) else { return false }
      if isEntry {
        hash = IndexSum.combine(hash, Self.hash(payload, walk.type, walk.start, walk.length))
      }
      number &+= 1
    }
    guard walk.body == payload.byteCount, number <= rules.maxFields,
      !rules.endsWithRowID || walk.kind == StorageClasses.integer.rawValue
    else { return false }
    if !isUTF8, !isValidUTF16(payload) { return false }
    if isEntry { sums[rules.entrySum] &+= hash }
    return true
  }

  /// A walk over the fields of a complete record.
  private struct Fields {
    let headerEnd: Int
    /// The offset of the next field's serial type in the payload.
    var offset: Int
    /// The offset of the next field's value in the payload; never past the end of the record.
    var body: Int
    // The current field.
    var type: UInt64 = 0
    var start = 0
    var length = 0
    var kind: UInt8 = 0

    @inline(__always)
    init?(_ payload: RawSpan) {
      let end = payload.byteCount
      guard let header = Varint.read(payload, at: 0, end: end), header.value <= UInt64(end),
        header.value >= UInt64(header.length)
      else { return nil }
      headerEnd = Int(header.value)
      offset = header.length
      body = headerEnd
    }

    /// Advances to the next field. Returns false if that field is not valid.
    @inline(__always)
    mutating func next(_ payload: RawSpan, isUTF8: Bool) -> Bool {
      guard let serial = Varint.read(payload, at: offset, end: headerEnd) else { return false }
      offset &+= serial.length
      type = serial.value
      start = body
      let left = UInt64(truncatingIfNeeded: payload.byteCount &- body)
      if type >= 12 {
        let stored = (type &- 12) >> 1
        guard stored <= left else { return false }
        length = Int(truncatingIfNeeded: stored)
        kind = type & 1 == 1 ? StorageClasses.text.rawValue : StorageClasses.blob.rawValue
        if type & 1 == 1, isUTF8, !UTF8Scan.isASCII(payload, start, length),
          !RecordCheck.isValidUTF8(payload, start, length)
        {
          return false
        }
      } else {
        length = RecordDecoder.length(ofType: type)
        guard length <= Int(truncatingIfNeeded: left), type < 10 else { return false }
        kind = StorageClasses(serialType: type).rawValue
      }
      body &+= length
      return true
    }
  }

  @inline(never)
  private static func isValidUTF8(_ payload: RawSpan, _ offset: Int, _ length: Int) -> Bool {
    UTF8Scan.isValid(payload.part(offset, length))
  }

  /// Whether all strings of a record are valid UTF-16. The caller must have walked over all ``Fields`` of the record
  /// without a fault.
  @inline(never)
  private func isValidUTF16(_ payload: RawSpan) -> Bool {
    guard var walk = Fields(payload) else { return false }
    while walk.offset < walk.headerEnd, walk.next(payload, isUTF8: false) {
      if walk.kind == StorageClasses.text.rawValue, !isValid(payload, walk.start, walk.length) {
        return false
      }
    }
    return true
  }

  /// Checks the value of a field against the rules for the field. Returns false if the value breaks a rule. Otherwise
  /// stores the hash of the value in ``hashes`` if an index has the field.
  @inline(never)
  private mutating func attend(
    _ number: Int, _ payload: RawSpan, _ type: UInt64, _ offset: Int, _ length: Int,
    _ rules: borrowing RecordRules
  ) -> Bool {
    let kind = StorageClasses(serialType: type).rawValue
    if rules.fields[number].attention & kind != 0,
      !meets(rules.fields[number], payload, type, offset, length, kind)
    {
      return false
    }
    if rules.fields[number].isIndexed {
      hashes[number] = Self.hash(payload, type, offset, length)
    }
    return true
  }

  /// Adds a hash of a row's indexed values to the sum (``IndexSum``) of each index of the table. `count` is the number
  /// of fields in the record.
  private mutating func add(_ rowID: Int64?, _ count: Int, _ rules: borrowing RecordRules) {
    let key = IndexSum.of(rowID ?? 0)
    var index = 0
    while index < rules.sums.count {
      var hash = IndexSum.seed
      var part = 0
      while part < rules.sums[index].fields.count {
        let field = Int(rules.sums[index].fields[part])
        let value =
          field < 0
          ? key
          : field < count
            ? hashes[field]
            : field < rules.absentHashes.count ? rules.absentHashes[field] : IndexSum.null
        hash = IndexSum.combine(hash, value)
        part &+= 1
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

  /// Compares a value with the demand on its column, and counts the value as faulty if it does not meet the demand. An
  /// integer that refers to a row of another table is also added to ``references``.
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

  /// Whether a value meets the rules of its field. An integer that refers to a row of another table is also added to
  /// ``references``.
  @inline(__always)
  private mutating func meets(
    _ field: RecordRules.Field, _ payload: RawSpan, _ type: UInt64, _ offset: Int, _ length: Int,
    _ kind: UInt8
  ) -> Bool {
    if field.refused & kind != 0 { return false }
    if field.refusesNumericText, kind == StorageClasses.text.rawValue,
      looksNumeric(payload, offset, length)
    {
      return false
    }
    let number = Int(field.demand)
    guard field.watched & kind != 0, number >= 0, number < demands.count else { return true }
    // A watched value that is not an integer is a blob, which the demand may restrict, or a value of a storage class
    // that the demand forbids.
    guard kind == StorageClasses.integer.rawValue,
      demands[number].classes.rawValue & kind != 0
    else { return kind == StorageClasses.blob.rawValue && meets(number, payload, offset, length) }
    let value = Self.integer(payload, type, offset, length)
    if field.target >= 0, !references[Int(field.target)].contains(value) {
      references[Int(field.target)].insert(value)
    }
    if UInt64(bitPattern: value) < 64, smallNumbers[number] >> UInt64(value) & 1 == 1 {
      return true
    }
    return demands[number].numbers?.contains(value) ?? true
  }

  /// Whether a BLOB in the payload certainly meets the demand with the number `demand`. False for a BLOB that may refer
  /// to an external file, because only ``check(_:total:rowID:_:_:)`` tests such a reference.
  private func meets(_ demand: Int, _ payload: RawSpan, _ offset: Int, _ length: Int) -> Bool {
    demands[demand].classes.contains(.blob)
      && (demands[demand].blobLength ?? length) == length
      && !(length == 38 && payload.byte(at: offset) == 2 && demands[demand].holds != nil)
  }

  private static func smallNumbers(of demand: ColumnDemand) -> UInt64 {
    guard let numbers = demand.numbers else { return ~0 }
    return numbers.reduce(0) { 0..<64 ~= $1 ? $0 | 1 << UInt64($1) : $0 }
  }

  private func looksNumeric(_ payload: RawSpan, _ offset: Int, _ length: Int) -> Bool {
    guard length > 0 else { return false }
    // In UTF-16, each character of a number has a zero byte before or after its ASCII byte.
    let isWide = encoding != .utf8
    guard !isWide || length & 1 == 0 else { return false }
    switch payload.byte(at: offset) | (isWide ? payload.byte(at: offset &+ 1) : 0) {
    case 0x09...0x0d, 0x20, 0x2b, 0x2d, 0x2e, 0x30...0x39: break
    default: return false
    }
    var text: ContiguousArray<UInt8> = []
    if isWide {
      UTF16Scan.appendUTF8(
        of: payload.part(offset, length), isBigEndian: encoding == .utf16BigEndian, to: &text)
    }
    return SQLNumber.value(of: isWide ? Array(text) : payload.part(offset, length).array()) != nil
  }

  private func isValid(_ payload: RawSpan, _ offset: Int, _ length: Int) -> Bool {
    encoding == .utf8
      ? Self.isValidUTF8(payload, offset, length)
      : UTF16Scan.isValid(
        payload.part(offset, length), isBigEndian: encoding == .utf16BigEndian)
  }

  // MARK: - Several threads

  /// Prepares to check records on another thread: copies the demands of `other`, and creates as many key sets and sums,
  /// all of them empty.
  mutating func prepare(as other: borrowing RecordCheck) {
    demands = other.demands
    keys = ContiguousArray(repeating: KeySet(), count: other.keys.count)
    references = ContiguousArray(repeating: KeySet(), count: other.references.count)
    sums = ContiguousArray(repeating: 0, count: other.sums.count)
  }

  /// Adds the keys, references and sums that another check has collected with the same demands. Does not add the
  /// tallies, which ``takeTallies()`` returns for each b-tree separately.
  mutating func merge(_ other: borrowing RecordCheck) {
    for index in keys.indices { keys[index].merge(other.keys[index]) }
    for index in references.indices { references[index].merge(other.references[index]) }
    for index in sums.indices { sums[index] &+= other.sums[index] }
    incompleteSums.formUnion(other.incompleteSums)
  }

  // MARK: - What was found

  @inline(never)
  private mutating func note(_ problem: Problem, _ column: Int32, _ place: ValuePlace) {
    let subject = Subject(problem: problem, column: column)
    tallies[subject, default: Tally(count: 0, first: place)].count += 1
  }

  /// Returns the tallies of faulty values since the last call, and clears them.
  mutating func takeTallies() -> [Subject: Tally] {
    defer { tallies.removeAll(keepingCapacity: true) }
    return tallies
  }

  /// Returns findings about faulty values, and the demands that these values do not meet.
  ///
  /// `table`: the name of the table for the findings; empty to name no table.
  /// `names`: the names of the table's columns.
  static func findings(_ tallies: [Subject: Tally], _ table: String, _ names: [String]) -> (
    findings: [Finding], breaches: [DemandBreach]
  ) {
    var findings: [Finding] = []
    var breaches: [DemandBreach] = []
    let all = tallies.sorted {
      ($0.key.column, $0.key.problem.rawValue) < ($1.key.column, $1.key.problem.rawValue)
    }
    for (subject, tally) in all {
      if let kind = breach(subject.problem) {
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
      let (id, text, severity) = words(subject.problem)
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

  private static func words(_ problem: Problem) -> (Finding.ID, String, Finding.Severity) {
    switch problem {
    case .null: (.recordNull, "NULL where the declaration says NOT NULL", .damage)
    case .affinity:
      (.recordAffinity, "of a storage class that SQLite never stores in such a column", .damage)
    case .numericText:
      (.recordAffinity, "text that SQLite would have stored as a number", .damage)
    case .rowIDField:
      (.recordRowIDField, "not NULL, but SQLite stores the row id's column as NULL", .damage)
    case .reserved:
      (.recordReservedType, "of serial type 10 or 11, which are reserved", .damage)
    default: (.recordBadText, "text that is not valid in the file's encoding", .note)
    }
  }
}
