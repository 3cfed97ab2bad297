import RowText
public import SQLiteFile

/// Where a row was found (file, page and offset), to which table it belongs, and how certain the row and its table are.
public struct RowOrigin: Sendable, Hashable {
  /// The state of a row that is not an ordinary live row.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// A deleted row, or an older version of a row, found in free space.
    case deleted
    /// An older committed version of a row. The row is on an older version of its page, which a later commit in the log
    /// has replaced.
    case superseded
    /// A row from a transaction that was never committed. The row was found in the log or, if the rollback journal
    /// replaces the page, in the main file.
    case uncommitted
    /// A row from a log frame that SQLite ignores: the frame was written before SQLite last restarted the log, or it
    /// comes after a damaged frame.
    case stale
    /// A row as it was before a transaction, stored in the rollback journal.
    case beforeImage
    /// A row that SQLite reads because a cell pointer leads to it, although the rest of the file contradicts the row.
    case contradicted
  }

  /// The kind of place in which a row was found.
  public enum Place: String, Sendable, Hashable {
    /// A cell on a leaf page of a b-tree, or on an older version of a page.
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

  /// The index of the row's table in ``DamagedDatabase/tables``; nil when the table cannot be determined.
  public var table: Int?
  /// The index of a table that the row fits, although the table of the row is not determined. Nil if ``table`` is not
  /// nil, or if no table fits the row.
  public var guess: Int?
  /// The evidence that determined the table.
  public var attribution = Attribution.unknown
  /// The state of a row that is not an ordinary live row; nil for a live row.
  public var state: State?
  /// The kind of place in which the row was found.
  public var place = Place.cell
  /// The file that contains the page.
  public var member = Finding.Member.main
  /// The number of the page.
  public var page: UInt32 = 0
  /// The offset of the row's first byte, in bytes from the start of the file ``member``.
  public var offset: Int64 = 0
  /// How certain it is that the bytes were a row, from 0 to 100.
  public var confidence = 100

  /// The value of ``confidence`` as a share of 1.
  package var confidenceText: String { confidence >= 100 ? "1" : "\(Double(confidence) / 100)" }

  /// The members of a row's JSON object from `place` to `confidence`, with a comma before each.
  package var placeMembers: String {
    ",\"place\":\"\(place.rawValue)\",\"file\":\"\(member.rawValue)\",\"page\":\(page)"
      + ",\"offset\":\(offset),\"confidence\":" + confidenceText
  }
}

/// A value that is incomplete or in doubt.
///
/// If neither the type nor the length of the value is certain, its length, ``of``, is 0. If it is not certain where
/// several adjacent values begin and end, the first of them has the ``bytes`` of all.
public struct PartialValue: Sendable, Hashable {
  /// The index of the column.
  public var column: Int
  /// The number of bytes at the start of the value that are present and not in doubt. If it is not known which bytes
  /// are in doubt, this is the number of all present bytes.
  public var have: Int
  /// The length of the whole value in bytes.
  public var of: Int
  /// Whether any present bytes are in doubt; false if bytes are only missing.
  public var isDoubtful: Bool
  /// The first ``have`` bytes of the value.
  public var bytes: [UInt8]

  package init(column: Int, have: Int, of: Int, isDoubtful: Bool, bytes: [UInt8]) {
    self.column = column
    self.have = have
    self.of = of
    self.isDoubtful = isDoubtful
    self.bytes = bytes
  }

  /// Returns a JSON object with a member for each partial value, by column name. The member for a column without a name
  /// is called `c` with the column's position, such as `c3`.
  package static func json(_ values: [PartialValue], name: (_ column: Int) -> String?) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for value in values {
      text.append(UInt8(ascii: text.isEmpty ? "{" : ","))
      text += JSONLiteral.string(name(value.column) ?? "c\(value.column)").utf8
      text += ":{\"have\":\(value.have),\"of\":\(value.of),".utf8
      text += (value.isDoubtful ? "\"doubtful\":true,\"hex\":\"" : "\"hex\":\"").utf8
      for byte in value.bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
      }
      text += "\"}".utf8
    }
    return text + "}".utf8
  }
}

/// Receives recovered rows. For each row, ``begin(_:partial:)`` comes first, then the calls of `RowSink`. The sink must
/// replace the values of the columns in `partial` by NULL.
protocol RecoverySink: RowSink, ~Copyable {
  mutating func begin(_ origin: RowOrigin, partial: [PartialValue])
  /// Receives the unchanged record of a live row. Returns false if the sink wants the values of the row instead.
  mutating func take(_ record: RawSpan, rowID: Int64, _ origin: RowOrigin) -> Bool
  /// The number of strings received so far that are not valid in the text encoding of the database.
  var undecodableCount: Int { get }
  /// Receives all rows of a leaf at once. The fields of each record must be in the order of the table's columns, and
  /// text must be in UTF-8.
  ///
  /// - Returns: false if the sink does not take whole leaves, or if a record contradicts itself. Then the sink has used
  ///   no row of the leaf.
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
  /// Creates a row from a row in a buffer. A string that is not valid in the text encoding of the database becomes a
  /// partial value.
  package init(_ row: borrowing RecoveredRowBuffer) {
    origin = row.origin
    rowID = row.rowID
    partial = row.partial
    values = []
    values.reserveCapacity(row.values.count)
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
