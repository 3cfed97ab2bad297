public import SQLiteFile

/// Where a row comes from, and what that says about it.
public struct RowOrigin: Sendable, Hashable {
  /// The state of a row that is not an ordinary live row.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// A deleted row, or an older version of a row: its remains are in free space.
    case deleted
    /// An older version of a row, from a frame of the log that a later one replaced.
    case superseded
    /// From a transaction of the log that was never finished.
    case uncommitted
    /// From a frame of the log left over from an earlier generation.
    case stale
    /// As it was before the last transaction, from the rollback journal.
    case beforeImage
    /// SQLite would read it, because a pointer of its page leads to it, but the rest of the page contradicts it.
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
    /// A page on the freelist that was a leaf.
    case freePage
    /// A trunk page of the freelist.
    case trunk
    /// A page that nothing leads to.
    case orphan
  }

  /// The place of the table in the list of tables; nil when the evidence does not decide.
  public var table: Int?
  /// The table that it may be from when the evidence does not decide.
  public var guess: Int?
  /// How the table was decided.
  public var attribution = Attribution.unknown
  /// Nil for a live row.
  public var state: State?
  /// Where on its page it was found.
  public var place = Place.cell
  /// The file that the page is in.
  public var member = Finding.Member.main
  /// The number of the page.
  public var page: UInt32 = 0
  /// Offset of the row's first byte in that file.
  public var offset: Int64 = 0
  /// How certain it is that these bytes were a row, from 0 to 100.
  public var confidence = 100
}

/// A value that is not whole.
///
/// Where neither its type nor its length is certain, ``of`` is 0. Where only the outer borders of several neighbouring
/// values are certain, the first of them has the bytes of all.
public struct PartialValue: Sendable, Hashable {
  /// The place of the column.
  public var column: Int
  /// How many bytes from its start are present and not in doubt; all bytes where it is not known which are in doubt.
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

/// Takes recovered rows: first the origin of a row, then its values as in any other sink. A column with a partial value
/// gets NULL.
protocol RecoverySink: RowSink, ~Copyable {
  mutating func begin(_ origin: RowOrigin, partial: [PartialValue])
  /// Takes the whole record of a live row unchanged; false to get its values instead.
  mutating func take(_ record: RawSpan, rowID: Int64, _ origin: RowOrigin) -> Bool
  /// How many texts so far are not valid in the encoding of the file.
  var undecodableCount: Int { get }
  /// Takes all rows of a leaf at once, for a table with its columns in order in a file with UTF-8.
  ///
  /// - Returns: false when the sink does not do that, or when a record contradicts itself; then no row is taken.
  mutating func take(
    _ leaf: borrowing SoundLeaf, _ page: RawSpan, number: UInt32, _ layout: borrowing RowLayout,
    _ attribution: Attribution, table: Int
  ) -> Bool
  /// Whether it can take leaves of a table.
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
  /// Where it comes from.
  public var origin: RowOrigin
  /// Nil when it was lost or is in doubt.
  public var rowID: Int64?
  /// The values in column order; NULL for those that are not whole.
  public var values: [StoredValue]
  /// The values that are not whole.
  public var partial: [PartialValue]
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
