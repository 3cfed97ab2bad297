import RowText
public import SQLiteFile

/// Where a row comes from: its table, file, page and offset, how its table was determined, and how certain the row is.
public struct RowOrigin: Sendable, Hashable {
  /// The state of a row that is not an ordinary live row.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// A deleted row, or an older version of a row, whose remains are in free space.
    case deleted
    /// An older version of a row, from a frame of the log that a later frame replaced.
    case superseded
    /// A row from a transaction of the log that was never committed.
    case uncommitted
    /// A row from a frame that an earlier generation of the log left over.
    case stale
    /// A row as it was before a transaction, from the rollback journal.
    case beforeImage
    /// A row that SQLite reads, because a cell pointer leads to it, although the rest of the file contradicts the row.
    case contradicted
  }

  /// Where on its page a row was found.
  public enum Place: String, Sendable, Hashable {
    /// A cell of the page's b-tree.
    case cell
    /// A freeblock.
    case freeBlock
    /// Space between the cell pointers and the cells, or between cells.
    case gap
    /// A free page that was a leaf.
    case freePage
    /// A trunk page of the freelist.
    case trunk
    /// A page that nothing leads to.
    case orphan
  }

  /// The index of the table in the list of tables; nil when the evidence does not decide.
  public var table: Int?
  /// The index of the table that the row may be from, when the evidence does not decide; nil when there is no such
  /// table.
  public var guess: Int?
  /// How the table was determined.
  public var attribution = Attribution.unknown
  /// The state of a row that is not an ordinary live row; nil for a live row.
  public var state: State?
  /// Where on its page the row was found.
  public var place = Place.cell
  /// The file that the page is in.
  public var member = Finding.Member.main
  /// The number of the page.
  public var page: UInt32 = 0
  /// The offset of the row's first byte, in bytes from the start of the file ``member``.
  public var offset: Int64 = 0
  /// How certain it is that these bytes were a row, from 0 to 100.
  public var confidence = 100
}

/// An incomplete value.
///
/// When neither the type nor the length of the value is certain, ``of`` is 0. When only the outer bounds of several
/// neighbouring values are certain, the first of these values has the bytes of all.
public struct PartialValue: Sendable, Hashable {
  /// The index of the column.
  public var column: Int
  /// How many bytes from the start are present and not in doubt. All bytes count when it is not known which ones are in
  /// doubt.
  public var have: Int
  /// The length of the whole value in bytes.
  public var of: Int
  /// Whether bytes are in doubt, and not just missing.
  public var isDoubtful: Bool
  /// The bytes that ``have`` counts.
  public var bytes: [UInt8]

  /// Creates a partial value.
  package init(column: Int, have: Int, of: Int, isDoubtful: Bool, bytes: [UInt8]) {
    self.column = column
    self.have = have
    self.of = of
    self.isDoubtful = isDoubtful
    self.bytes = bytes
  }
}

/// Receives recovered rows: first the origin of a row, then its values as any `RowSink` does. The sink has to replace
/// the value of a column in `partial` by NULL.
protocol RecoverySink: RowSink, ~Copyable {
  mutating func begin(_ origin: RowOrigin, partial: [PartialValue])
  /// Takes the complete record of a live row unchanged; returns false to receive its values instead.
  mutating func take(_ record: RawSpan, rowID: Int64, _ origin: RowOrigin) -> Bool
  /// How many texts so far are not valid in the encoding of the file.
  var undecodableCount: Int { get }
  /// Takes all rows of a leaf at once. The fields of the table's records must be its columns in order, and text must be
  /// UTF-8.
  ///
  /// - Returns: false when the sink does not take whole leaves, or when a record contradicts itself. Then no row is
  ///   taken.
  mutating func take(
    _ leaf: borrowing SoundLeaf, _ page: RawSpan, number: UInt32, _ layout: borrowing RowLayout,
    _ attribution: Attribution, table: Int
  ) -> Bool
  /// Whether the sink can take whole leaves of a table. `table`: the table's index.
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

/// A row with its values and all that is known about it.
public struct RecoveredRow: Sendable, Hashable {
  /// Where the row comes from.
  public var origin: RowOrigin
  /// The row id; nil when it was lost or is in doubt.
  public var rowID: Int64?
  /// The values in column order; NULL for incomplete ones.
  public var values: [StoredValue]
  /// The incomplete values.
  public var partial: [PartialValue]
}

extension RecoveredRow {
  /// A row as values. A text that is not valid in the encoding of the file becomes a partial value.
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

/// Gathers recovered rows as values.
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
