/// Counts rows.
struct CountSink: RowSink, ~Copyable {
  private(set) var rowCount = 0
  private(set) var highestRowID: Int64 = .min
  var wantsMore: Bool { true }

  mutating func beginRow(_ rowID: Int64?) { highestRowID = max(highestRowID, rowID ?? .min) }
  mutating func null() {}
  mutating func integer(_ value: Int64) {}
  mutating func real(_ value: Double) {}
  mutating func text(_ bytes: RawSpan) {}
  mutating func blob(_ bytes: RawSpan) {}
  mutating func endRow() { rowCount += 1 }
}

/// Counts rows by the integer in one column.
struct IntegerCountSink: RowSink, ~Copyable {
  /// More numbers than a store has entities; further numbers are not counted.
  private static let limit = 100_000
  private let wanted: Int
  private var column = 0
  private(set) var counts: [Int64: Int] = [:]
  var wantsMore: Bool { true }

  init(column: Int) { wanted = column }

  mutating func beginRow(_ rowID: Int64?) { column = 0 }
  mutating func null() { column &+= 1 }
  mutating func integer(_ value: Int64) {
    if column == wanted, counts.count < Self.limit || counts[value] != nil {
      counts[value, default: 0] += 1
    }
    column &+= 1
  }
  mutating func real(_ value: Double) { column &+= 1 }
  mutating func text(_ bytes: RawSpan) { column &+= 1 }
  mutating func blob(_ bytes: RawSpan) { column &+= 1 }
  mutating func endRow() {}
}
