package import SQLiteFile

/// A value of a row that is compared: the value itself or, for a long text or blob, only its size and checksums.
package enum ComparedValue: Sendable, Hashable {
  case stored(StoredValue)
  case long(LongValue)

  /// The size and two checksums of a long value.
  package struct LongValue: Sendable, Hashable {
    /// Whether the value is text; otherwise it is a blob.
    package let isText: Bool
    /// The size in bytes; for text, the size as UTF-8.
    package let sizeBytes: Int
    let first: UInt64
    let second: UInt64
  }

  /// The maximum size in bytes of a value that is kept whole. Longer values are kept as ``LongValue``.
  package static let longest = 1024

  init(_ bytes: RawSpan, isText: Bool) {
    guard bytes.byteCount > Self.longest else {
      self = .stored(
        isText ? .text(StoredText(utf8: bytes.array())) : .blob(bytes.array()))
      return
    }
    // Two 64-bit checksums, made with different multipliers (those of FNV-1a and of Knuth). It is practically
    // impossible that two different values agree in both.
    var first: UInt64 = 0xcbf2_9ce4_8422_2325
    var second: UInt64 = 0x9e37_79b9_7f4a_7c15
    var offset = 0
    while offset &+ 8 <= bytes.byteCount {
      let word = bytes.word(at: offset)
      first = (first ^ word) &* 0x100_0000_01b3
      first ^= first >> 29
      second = (second &+ word) &* 6_364_136_223_846_793_005
      second ^= second >> 32
      offset &+= 8
    }
    while offset < bytes.byteCount {
      let byte = UInt64(bytes.byte(at: offset))
      first = (first ^ byte) &* 0x100_0000_01b3
      second = (second &+ byte) &* 6_364_136_223_846_793_005
      offset &+= 1
    }
    self = .long(
      LongValue(isText: isText, sizeBytes: bytes.byteCount, first: first, second: second))
  }
}

package struct ComparedRow: Sendable, Hashable {
  /// The row id; nil in a WITHOUT ROWID table.
  package let rowID: Int64?
  package let values: [ComparedValue]
}

final class ComparedRows: RecordReceiver {
  private var sink = ComparedRowSink()
  let wantsMore = true

  var rows: [ComparedRow] {
    get { sink.rows }
    _modify { yield &sink.rows }
  }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    sink.take(record, rowID: rowID, layout, &decoder)
  }
}

private struct ComparedRowSink: RowSink, ~Copyable {
  var rows: [ComparedRow] = []
  private var rowID: Int64?
  private var values: [ComparedValue] = []

  init() {}

  var wantsMore: Bool { true }

  mutating func beginRow(_ rowID: Int64?) {
    self.rowID = rowID
    values.removeAll(keepingCapacity: true)
  }
  mutating func null() { values.append(.stored(.null)) }
  mutating func integer(_ value: Int64) { values.append(.stored(.integer(value))) }
  mutating func real(_ value: Double) { values.append(.stored(.real(value))) }
  mutating func text(_ bytes: RawSpan) { values.append(ComparedValue(bytes, isText: true)) }
  mutating func blob(_ bytes: RawSpan) { values.append(ComparedValue(bytes, isText: false)) }
  mutating func endRow() { rows.append(ComparedRow(rowID: rowID, values: values)) }
}
