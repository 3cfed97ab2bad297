import SQLiteFile

/// Writes a JSON object for each row, with the values as SQLite stores them.
///
/// `{"table":"ZNOTE","rowid":17,"values":[null,4,"text",{"hex":"00ff"}]}`. In text that is not valid UTF-8, U+FFFD
/// replaces each invalid byte. The exact bytes of such text follow under `"invalidText":{"COLUMN":{"hex":"…"}}`.
struct JSONRowSink: RawRowSink, ~Copyable {
  private var output: OutputBuffer
  private var names: [String] = []
  /// The text before the row id in the JSON object of a row. It is the same for all rows of the current table.
  private var head = ""
  private var column = 0
  private var invalid: [(column: Int, bytes: [UInt8])] = []
  private(set) var rowCount = 0
  private let form: JSONForm
  private var left: Int
  private var isFirst = true

  init(output: consuming OutputBuffer, form: JSONForm, limit: Int?) {
    self.output = output
    self.form = form
    left = limit ?? .max
  }

  var wantsMore: Bool { left > 0 && !output.isBroken }

  /// Writes the text before the first row of the first table. Writes nothing if the form is ``JSONForm/lines``.
  mutating func start() {
    if form == .object {
      output.append(form.opening)
    }
  }

  func another() -> JSONRowSink {
    var other = JSONRowSink(output: .ofBlock(), form: form, limit: nil)
    other.begin(head, names)
    return other
  }

  mutating func take(from other: inout JSONRowSink) {
    output.append(movingFrom: &other.output)
    rowCount &+= other.rowCount
    other.rowCount = 0
  }

  var isBroken: Bool { output.isBroken }

  /// Begins a table: the rows that follow belong to this table. ``rowCount`` starts again from 0.
  mutating func begin(table: String, columns: [String]) {
    begin("{\"table\":\(JSONLiteral.string(table)),\"rowid\":", columns)
  }

  private mutating func begin(_ head: String, _ columns: [String]) {
    rowCount = 0
    names = columns
    self.head = head
    output.setTemplate(head)
  }

  mutating func beginRow(_ rowID: Int64?) {
    output.append(startOf: rowID, as: form, isFirst: &isFirst)
    column = 0
  }

  @inline(__always)
  private mutating func separate() {
    if column > 0 { output.append(UInt8(ascii: ",")) }
    column &+= 1
  }

  mutating func null() {
    separate()
    output.append(word: 0x6c6c_756e, length: 4)
  }

  mutating func integer(_ value: Int64) {
    separate()
    output.append(integer: value)
  }

  mutating func real(_ value: Double) {
    separate()
    output.append(jsonReal: value)
  }

  mutating func text(_ bytes: RawSpan) {
    separate()
    if !output.append(jsonString: bytes) { invalid.append((column - 1, bytes.array())) }
  }

  mutating func blob(_ bytes: RawSpan) {
    separate()
    output.append(jsonBlob: bytes)
  }

  mutating func endRow() {
    output.append(UInt8(ascii: "]"))
    if !invalid.isEmpty { appendInvalidText() }
    output.append(word: 0x0a7d, length: form == .lines ? 2 : 1)
    rowCount &+= 1
    left &-= 1
  }

  private mutating func appendInvalidText() {
    output.append(",\"invalidText\":{")
    for (index, entry) in invalid.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      let name = entry.column < names.count ? names[entry.column] : "c\(entry.column)"
      output.append(jsonString: name)
      output.append(UInt8(ascii: ":"))
      output.append(jsonBlob: ContiguousArray(entry.bytes).rawSpan)
    }
    output.append("}")
    invalid.removeAll()
  }

  /// Writes the rows that are still in the buffer. Does not throw, unlike ``finish()``.
  mutating func flush() { output.flush() }

  /// Writes the text after the last row, and then all bytes that are still in the buffer.
  mutating func finish() throws(SQLiteFileError) {
    if form == .object { output.append(form.closing) }
    try output.finish()
  }
}

/// The form of rows in JSON.
public enum JSONForm: Sendable {
  /// A JSON object for each row, each on a line of its own.
  case lines
  /// One JSON object, with all rows in an array.
  case object

  package var opening: String { "{\"schema\":\"lifeboat.rows\",\"version\":1,\"rows\":[\n" }
  package var closing: String { "\n]}\n" }
}

/// JSON literals for texts that are rendered once, not for each row.
package enum JSONLiteral {
  /// Returns the text as a JSON string in quotes, escaped as JSON requires.
  package static func string(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": literal += "\\\(scalar)"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        literal += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }
}
