import SQLiteFile
import Quoting

/// Writes CSV (RFC 4180): a header line, CRLF after each line, and quotes around fields that need them.
///
/// NULL is an empty field and empty text is `""`, so that the two differ; blobs are hexadecimal.
struct CSVRowSink: RawRowSink, ~Copyable {
  private var output: OutputBuffer
  private var column = 0
  private(set) var rowCount = 0

  private let limit: Int
  private let form: CSVForm

  /// Makes a sink that writes at most `limit` rows; nil for all rows.
  init(output: consuming OutputBuffer, limit: Int?, _ form: CSVForm) {
    self.output = output
    self.limit = limit ?? .max
    self.form = form
  }

  var wantsMore: Bool { rowCount < limit && !isBroken }
  var isBroken: Bool { output.isBroken }

  func another() -> CSVRowSink {
    CSVRowSink(output: .ofBlock(), limit: nil, form)
  }

  mutating func take(from other: inout CSVRowSink) {
    output.append(movingFrom: &other.output)
    rowCount &+= other.rowCount
    other.rowCount = 0
  }

  /// Begins a table. Writes the byte order mark, if the form asks for one, and the line with the column names.
  mutating func begin(columns: [String]) {
    rowCount = 0
    output.append(csvHeader: columns, form)
  }

  @inline(__always)
  private mutating func separate() {
    if column > 0 { output.append(form.separator) }
    column &+= 1
  }

  mutating func beginRow(_ rowID: Int64?) { column = 0 }
  mutating func null() { separate() }
  mutating func integer(_ value: Int64) {
    separate()
    output.append(integer: value)
  }
  mutating func real(_ value: Double) {
    separate()
    output.append(csvReal: value, form)
  }
  mutating func text(_ bytes: RawSpan) {
    separate()
    output.append(csvField: bytes, safeForSpreadsheets: form.isSafeForSpreadsheets)
  }
  mutating func blob(_ bytes: RawSpan) {
    separate()
    output.append(hexadecimal: bytes)
  }
  mutating func endRow() {
    output.append(word: 0x0a0d, length: 2)
    rowCount &+= 1
  }

  /// Writes the rows that are still in the buffer. Does not throw, unlike ``finish()``.
  mutating func flush() { output.flush() }

  /// Writes the bytes that are still in the buffer.
  mutating func finish() throws(SQLiteFileError) { try output.finish() }
}
