/// Writes rows as CSV (RFC 4180): a header line, CRLF, quotes where a field needs them.
///
/// NULL is an empty field and empty text is `""`, so that the two stay apart; blobs are hexadecimal.
struct CSVRowSink: RowSink, ~Copyable {
  private var output: OutputBuffer
  private var column = 0
  private(set) var rowCount = 0

  private let limit: Int

  /// Writes at most `limit` rows; all when it is nil.
  init(output: consuming OutputBuffer, limit: Int?) {
    self.output = output
    self.limit = limit ?? .max
  }

  var wantsMore: Bool { rowCount < limit && !output.isBroken }

  /// Writes the header line.
  mutating func begin(columns: [String]) {
    rowCount = 0
    column = 0
    for name in columns {
      separate()
      let bytes = ContiguousArray(name.utf8)
      output.append(csvField: bytes.rawSpan)
    }
    output.append("\r\n")
  }

  @inline(__always)
  private mutating func separate() {
    if column > 0 { output.append(UInt8(ascii: ",")) }
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
    output.append(value.description)
  }
  mutating func text(_ bytes: RawSpan) {
    separate()
    output.append(csvField: bytes)
  }
  mutating func blob(_ bytes: RawSpan) {
    separate()
    output.append(hexadecimal: bytes)
  }
  mutating func endRow() {
    output.append(word: 0x0a0d, length: 2)
    rowCount &+= 1
  }

  /// Writes what is left.
  mutating func finish() throws(SQLiteFileError) { try output.finish() }
}

extension OutputBuffer {
  /// Appends text as a CSV field, in quotes where it is empty or has a comma, a quote or a line end.
  package mutating func append(csvField bytes: RawSpan) {
    var needsQuotes = bytes.byteCount == 0
    var offset = 0
    while offset < bytes.byteCount, !needsQuotes {
      let byte = bytes.byte(at: offset)
      needsQuotes = byte == 0x22 || byte == 0x2c || byte == 0x0a || byte == 0x0d
      offset &+= 1
    }
    guard needsQuotes else { return append(bytes) }
    append(UInt8(ascii: "\""))
    offset = 0
    while offset < bytes.byteCount {
      let byte = bytes.byte(at: offset)
      if byte == 0x22 { append(byte) }
      append(byte)
      offset &+= 1
    }
    append(UInt8(ascii: "\""))
  }
}
