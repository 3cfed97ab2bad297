import RowText
import SQLiteFile

extension OutputBuffer {
  /// Appends `],"attribution":"…"`. Nearly all rows have ``Attribution/root``, for which these bytes are appended as
  /// machine words.
  @inline(__always)
  fileprivate mutating func append(attribution: Attribution) {
    guard attribution == .root else {
      return append("],\"attribution\":\"\(attribution.name)\"")
    }
    append(word: 0x6972_7474_6122_2c5d, length: 8)
    append(word: 0x3a22_6e6f_6974_7562, length: 8)
    append(word: 0x2274_6f6f_7222, length: 6)
  }
}

/// Writes each recovered row as a JSON object with the members `table`, `rowid`, `values` and `attribution`. If the row
/// is not an ordinary live row, the object also has members for the row's state, its place and its partial values.
struct RecoveredJSONSink: RecoverySink, ~Copyable {
  var output: OutputBuffer
  private let names: [(table: String, columns: [String])]
  private var origin = RowOrigin()
  private var partial: [PartialValue] = []
  private var column = 0
  private var left: Int
  /// Whether rows are written one on each line, without a limit on their number.
  let isUnlimited: Bool
  private let form: JSONForm
  private var isFirst = true
  /// `starts`: for each table, the start of each of its JSON objects, up to the row id. `templateTable`: the table
  /// whose start is now the template of ``output``, as an index in `starts`; -1 for rows without a table.
  private let starts: [String]
  private var templateTable = Int.min

  init(
    output: consuming OutputBuffer, tables: [ExpectedTable], form: JSONForm = .lines, limit: Int?
  ) {
    self.output = output
    self.form = form
    names = tables.map { ($0.name, $0.definition.columns.map(\.name)) }
    starts = tables.map { "{\"table\":" + JSONLiteral.string($0.name) + ",\"rowid\":" }
    left = limit ?? .max
    isUnlimited = limit == nil && form == .lines
    if form == .object { self.output.append(form.opening) }
  }

  private(set) var undecodableCount = 0

  var wantsMore: Bool { left > 0 && !output.isBroken }

  mutating func begin(_ origin: RowOrigin, partial: [PartialValue]) {
    self.origin = origin
    self.partial = partial
  }

  mutating func beginRow(_ rowID: Int64?) {
    setTemplate(origin.table ?? -1)
    output.append(startOf: rowID, as: form, isFirst: &isFirst)
    column = 0
  }

  /// Sets the text with which ``output`` begins the JSON of each row. The text names the table with the index `table`.
  /// A negative index stands for rows without a table.
  @inline(__always)
  mutating func setTemplate(_ table: Int) {
    guard table != templateTable else { return }
    templateTable = table
    output.setTemplate(
      table >= 0 && table < starts.count ? starts[table] : "{\"table\":null,\"rowid\":")
  }

  /// Begins the next value. Returns true if the caller must write the value. If the value is incomplete, writes NULL
  /// and returns false.
  @inline(__always)
  private mutating func starts(_ length: Int = 0) -> Bool {
    if column > 0 { output.append(UInt8(ascii: ",")) }
    column &+= 1
    if partial.isEmpty { return true }
    return isWhole()
  }

  @inline(never)
  private mutating func isWhole() -> Bool {
    let column = column - 1
    guard partial.contains(where: { $0.column == column }) else { return true }
    output.append(word: 0x6c6c_756e, length: 4)
    return false
  }

  mutating func null() {
    if starts() { output.append(word: 0x6c6c_756e, length: 4) }
  }

  mutating func integer(_ value: Int64) {
    if starts() { output.append(integer: value) }
  }

  mutating func real(_ value: Double) {
    if starts() { output.append(jsonReal: value) }
  }

  mutating func text(_ bytes: RawSpan) {
    guard starts() else { return }
    if !output.appendIfValid(jsonString: bytes) {
      undecodableCount += 1
      output.append(word: 0x6c6c_756e, length: 4)
      partial.append(
        PartialValue(
          column: column - 1, have: bytes.byteCount, of: bytes.byteCount, isDoubtful: true,
          bytes: bytes.array()))
    }
  }

  mutating func blob(_ bytes: RawSpan) {
    if starts() { output.append(jsonBlob: bytes) }
  }

  mutating func endRow() {
    output.append(attribution: origin.attribution)
    if origin.state != nil || !partial.isEmpty || origin.table == nil || origin.confidence < 100 {
      appendOrigin()
    }
    output.append(word: 0x0a7d, length: form == .lines ? 2 : 1)
    left &-= 1
  }

  private mutating func appendOrigin() {
    if let state = origin.state {
      output.append(",\"state\":\"\(state.rawValue)\"")
    }
    if let guess = origin.guess, guess < names.count {
      output.append(",\"tableGuess\":" + JSONLiteral.string(names[guess].table))
    }
    output.append(origin.placeMembers)
    guard !partial.isEmpty else { return }
    output.append(",\"partial\":")
    let columns = (origin.table ?? origin.guess).flatMap {
      $0 < names.count ? names[$0].columns : nil
    }
    output.append(
      PartialValue.json(partial) { column in
        columns.flatMap { column < $0.count ? $0[column] : nil }
      })
  }

  /// Creates a sink with its own buffer that writes the same tables to the same file descriptor. `turn` makes the sink
  /// wait until earlier blocks of rows have been written.
  func another(capacity: Int, turn: OutputTurn) -> RecoveredJSONSink {
    RecoveredJSONSink(
      output: output.another(capacity: capacity, turn: turn), names: names, starts: starts)
  }

  private init(
    output: consuming OutputBuffer, names: [(table: String, columns: [String])], starts: [String]
  ) {
    self.output = output
    self.names = names
    self.starts = starts
    left = .max
    form = .lines
    isUnlimited = true
  }

  mutating func flush() { output.flush() }

  mutating func finish() throws(SQLiteFileError) {
    if form == .object { output.append(form.closing) }
    try output.finish()
  }
}
