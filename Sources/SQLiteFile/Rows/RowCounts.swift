/// Counts the rows of a table. Also counts, for each integer that occurs in one column, the rows with this integer.
struct CountSink: RowSink {
  /// The maximum number of different integers for which rows are counted. The integers are entity numbers, and no store
  /// has this many entities.
  private static let limit = 100_000
  private let wanted: Int
  private var column = 0
  private(set) var rowCount = 0
  private(set) var highestRowID: Int64 = .min
  private(set) var byInteger: [Int64: Int] = [:]
  var wantsMore: Bool { true }

  /// Creates a sink that counts all rows and, unless `column` is nil, the rows for each integer in that column.
  init(column: Int? = nil) { wanted = column ?? -1 }

  mutating func beginRow(_ rowID: Int64?) {
    highestRowID = max(highestRowID, rowID ?? .min)
    column = 0
  }
  mutating func null() { column &+= 1 }
  mutating func integer(_ value: Int64) {
    if column == wanted { add(1, of: value) }
    column &+= 1
  }
  mutating func real(_ value: Double) { column &+= 1 }
  mutating func text(_ bytes: RawSpan) { column &+= 1 }
  mutating func blob(_ bytes: RawSpan) { column &+= 1 }
  mutating func endRow() { rowCount &+= 1 }

  private mutating func add(_ count: Int, of value: Int64) {
    guard byInteger.count < Self.limit || byInteger[value] != nil else { return }
    byInteger[value, default: 0] += count
  }

  /// Adds the counts of another sink, and resets that sink.
  mutating func take(from other: inout CountSink) {
    rowCount += other.rowCount
    highestRowID = max(highestRowID, other.highestRowID)
    for (value, count) in other.byInteger.sorted(by: { $0.key < $1.key }) { add(count, of: value) }
    other = CountSink(column: wanted)
  }
}

/// Counts a table's rows, or only the first `limit` ones. All rows of a large table are counted on two threads.
final class RowCounts: RecordReceiver {
  private(set) var sink: CountSink
  private let column: Int?
  private let limit: Int?

  init(column: Int?, limit: Int? = nil) {
    self.column = column
    self.limit = limit
    sink = CountSink(column: column)
  }

  var wantsMore: Bool { limit.map { sink.rowCount < $0 } ?? true }
  var takesBlocks: Bool { limit == nil }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    sink.take(record, rowID: rowID, layout, &decoder)
  }

  func another() -> any RecordReceiver { RowCounts(column: column) }

  func take(from other: any RecordReceiver) {
    guard let other = other as? RowCounts else { return }
    sink.take(from: &other.sink)
  }
}
