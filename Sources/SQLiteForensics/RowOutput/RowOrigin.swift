import RowText
public import SQLiteFile

/// The origin of a row: its table, file, page and offset, the evidence for its table, and how certain the row is.
public struct RowOrigin: Sendable, Hashable {
  /// The state of a row that is not an ordinary live row.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// A deleted row, or an older version of a row, found in free space.
    case deleted
    /// An older version of a row, from a frame of the log that a later frame has replaced.
    case superseded
    /// A row from a transaction of the log that was never committed.
    case uncommitted
    /// A row from a frame that is left from an earlier generation of the log.
    case stale
    /// A row as it was before a transaction, stored in the rollback journal.
    case beforeImage
    /// A row that SQLite reads because a cell pointer leads to it, although the rest of the file contradicts the row.
    case contradicted
  }

  /// The kind of place on its page in which a row was found.
  public enum Place: String, Sendable, Hashable {
    /// A cell of the page's b-tree.
    case cell
    /// A freeblock.
    case freeBlock
    /// Space between the cell pointers and the cells, or between two cells.
    case gap
    /// A free page that was once a leaf.
    case freePage
    /// A trunk page of the freelist.
    case trunk
    /// A page that no other page leads to.
    case orphan
  }

  /// The index of the row's table in ``DamagedDatabase/tables``; nil when the evidence does not determine the table.
  public var table: Int?
  /// The index of the table that the row may belong to, if the evidence does not determine the table; nil when there is
  /// no such table.
  public var guess: Int?
  /// The evidence that determined the table.
  public var attribution = Attribution.unknown
  /// The state of a row that is not an ordinary live row; nil for a live row.
  public var state: State?
  /// The kind of place on its page in which the row was found.
  public var place = Place.cell
  /// The file that contains the page.
  public var member = Finding.Member.main
  /// The number of the page.
  public var page: UInt32 = 0
  /// The offset of the row's first byte, in bytes from the start of the file ``member``.
  public var offset: Int64 = 0
  /// How certain it is that the bytes were a row, from 0 to 100.
  public var confidence = 100
}

/// A value that is incomplete or in doubt.
///
/// If neither the type nor the length of the value is certain, ``of`` is 0. If only the outer bounds of several
/// neighbouring values are certain, the first of these values contains the bytes of all of them.
public struct PartialValue: Sendable, Hashable {
  /// The index of the column.
  public var column: Int
  /// The number of bytes, from the start of the value, that are present and not in doubt. If it is not known which
  /// bytes are in doubt, all present bytes count.
  public var have: Int
  /// The length of the whole value in bytes.
  public var of: Int
  /// Whether any bytes are present but in doubt; false if bytes are only missing.
  public var isDoubtful: Bool
  /// The bytes that are counted by ``have``.
  public var bytes: [UInt8]

  package init(column: Int, have: Int, of: Int, isDoubtful: Bool, bytes: [UInt8]) {
    self.column = column
    self.have = have
    self.of = of
    self.isDoubtful = isDoubtful
    self.bytes = bytes
  }
}

/// Receives recovered rows: the origin first, then the values, as for any `RowSink`. The columns in `partial` must
/// become NULL.
protocol RecoverySink: RowSink, ~Copyable {
  mutating func begin(_ origin: RowOrigin, partial: [PartialValue])
  /// Receives the record of a live row unchanged. Returns false to get its values instead.
  mutating func take(_ record: RawSpan, rowID: Int64, _ origin: RowOrigin) -> Bool
  /// The number of texts so far that are not valid in the file's encoding.
  var undecodableCount: Int { get }
  /// Receives all rows of a leaf at once. The record's fields must be the columns in order, and text must be in UTF-8.
  ///
  /// - Returns: false when the sink does not take whole leaves, or when a record contradicts itself. Then no row was
  ///   accepted.
  mutating func take(
    _ leaf: borrowing SoundLeaf, _ page: RawSpan, number: UInt32, _ layout: borrowing RowLayout,
    _ attribution: Attribution, table: Int
  ) -> Bool
  func takesLeaves(of table: Int) -> Bool
}

extension RecoverySink where Self: ~Copyable {
  mutating func take(
    _ leaf: borrowing SoundLeaf, _ page: RawSpan, number: UInt32, _ layout: borrowing RowLayout,
    _ attribution: Attribution, table: Int
  ) -> Bool { false }

  func takesLeaves(of table: Int) -> Bool { false }
}

extension RecoverySink where Self: ~Copyable {
  @inline(__always)
  mutating func take(_ record: RawSpan, rowID: Int64, _ origin: RowOrigin) -> Bool { false }
}

/// A recovered row: its values, its origin, and which of its values are incomplete.
public struct RecoveredRow: Sendable, Hashable {
  /// The origin of the row.
  public var origin: RowOrigin
  /// The row id; nil when it was lost or is in doubt, and for a row of a WITHOUT ROWID table.
  public var rowID: Int64?
  /// The values in column order. An incomplete value is NULL.
  public var values: [StoredValue]
  /// The values that are incomplete or in doubt.
  public var partial: [PartialValue]
}

extension RecoveredRow {
  /// Creates a row from a row in a buffer. A text that is not valid in the file's encoding becomes a partial value.
  package init(_ row: borrowing RecoveredRowBuffer) {
    origin = row.origin
    rowID = row.rowID
    partial = row.partial
    values = []
    for (column, value) in row.values.enumerated() {
      switch value.kind {
      case .null: values.append(.null)
      case .integer: values.append(.integer(value.bits))
      case .real: values.append(.real(Double(bitPattern: UInt64(bitPattern: value.bits))))
      case .blob: values.append(.blob(row.content(of: value)))
      case .text where value.isValid:
        values.append(.text(StoredText(utf8: row.content(of: value))))
      case .text:
        values.append(.null)
        partial.append(
          PartialValue(
            column: column, have: value.count, of: value.count, isDoubtful: true,
            bytes: row.content(of: value)))
      }
    }
  }
}

struct RecoveredValueSink: RecoverySink, ~Copyable {
  private let receive: (RecoveredRow) -> Bool
  private var row = RecoveredRow(origin: RowOrigin(), rowID: nil, values: [], partial: [])
  private(set) var wantsMore = true
  private(set) var undecodableCount = 0

  init(receive: @escaping (RecoveredRow) -> Bool) { self.receive = receive }

  mutating func begin(_ origin: RowOrigin, partial: [PartialValue]) {
    row.origin = origin
    row.partial = partial
  }

  mutating func beginRow(_ rowID: Int64?) {
    row.rowID = rowID
    row.values.removeAll(keepingCapacity: true)
  }

  private mutating func add(_ value: StoredValue) {
    let column = row.values.count
    row.values.append(row.partial.contains { $0.column == column } ? .null : value)
  }

  mutating func null() { add(.null) }
  mutating func integer(_ value: Int64) { add(.integer(value)) }
  mutating func real(_ value: Double) { add(.real(value)) }
  mutating func blob(_ bytes: RawSpan) { add(.blob(bytes.array())) }
  mutating func text(_ bytes: RawSpan) {
    let value = bytes.array()
    if !UTF8Scan.isValid(bytes),
      !row.partial.contains(where: { $0.column == row.values.count })
    {
      undecodableCount += 1
      row.partial.append(
        PartialValue(
          column: row.values.count, have: value.count, of: value.count, isDoubtful: true,
          bytes: value))
    }
    add(.text(StoredText(utf8: value)))
  }

  mutating func endRow() { wantsMore = receive(row) }
}
