import RowText
package import SQLiteFile

/// A recovered row, whose memory is reused for the next row. This is faster when a caller receives millions of rows.
package struct RecoveredRowBuffer: ~Copyable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// NULL, or an incomplete value.
    case null
    case integer
    case real
    /// Text as UTF-8.
    case text
    case blob
  }

  /// One value. The content of a text or blob is in ``RecoveredRowBuffer/bytes``.
  package struct Value: BitwiseCopyable, Sendable {
    package let kind: Kind
    /// For text, whether it is valid UTF-8; true for other values.
    package let isValid: Bool
    /// The value of an INTEGER, or the bit pattern of a REAL; 0 for NULL, text and blobs.
    package let bits: Int64
    /// The index in ``RecoveredRowBuffer/bytes`` at which the content of a text or blob starts; 0 for other values.
    package let offset: Int
    /// The length of a text or blob in bytes; 0 for other values.
    package let count: Int
  }

  package private(set) var origin = RowOrigin()
  /// The row id; nil when it was lost or is in doubt, and in a WITHOUT ROWID table.
  package private(set) var rowID: Int64?
  /// The values in column order.
  package private(set) var values: ContiguousArray<Value> = []
  /// The content of all text and blob values, one after the other.
  package private(set) var bytes = ContiguousArray<UInt8>()
  package private(set) var partial: [PartialValue] = []
  package private(set) var hasInvalidText = false

  /// If ``bytes`` is longer than this number of bytes, its memory is released instead of being reused for the next row.
  private static let keptBytes = 1 << 20

  init() { bytes.reserveCapacity(1 << 16) }

  mutating func begin(_ origin: RowOrigin, _ partial: [PartialValue]) {
    self.origin = origin
    self.partial = partial
  }

  mutating func beginRow(_ rowID: Int64?) {
    self.rowID = rowID
    hasInvalidText = false
    values.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: bytes.count <= Self.keptBytes)
  }

  @inline(__always)
  mutating func append(_ kind: Kind, bits: Int64 = 0) {
    let isWhole = partial.isEmpty || isWhole(values.count)
    values.append(
      Value(kind: isWhole ? kind : .null, isValid: true, bits: bits, offset: 0, count: 0))
  }

  @inline(__always)
  mutating func append(_ kind: Kind, _ span: RawSpan) {
    guard partial.isEmpty || isWhole(values.count) else {
      return values.append(Value(kind: .null, isValid: true, bits: 0, offset: 0, count: 0))
    }
    let offset = bytes.count
    unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    let isValid = kind == .blob || UTF8Scan.isValid(span)
    if !isValid { hasInvalidText = true }
    values.append(
      Value(kind: kind, isValid: isValid, bits: 0, offset: offset, count: span.byteCount))
  }

  /// Replaces this row by a copy of the row at `index` in ``RowBatch/heads``.
  mutating func copy(_ index: Int, of batch: borrowing RowBatch) {
    let head = batch.heads[index]
    origin = head.origin
    rowID = head.rowID
    hasInvalidText = head.hasInvalidText
    partial = head.partial.map { batch.partials[$0] } ?? []
    values.removeAll(keepingCapacity: true)
    values.append(contentsOf: batch.values[head.values])
    bytes.removeAll(keepingCapacity: bytes.count <= Self.keptBytes)
    bytes.append(contentsOf: batch.bytes[head.bytes])
  }

  /// Passes the row to `sink` with `origin` as its origin and `lost` as its list of partial values. The origin and the
  /// list of the row itself are not used.
  func send<Sink: RecoverySink & ~Copyable>(
    as origin: RowOrigin, without lost: [PartialValue], to sink: inout Sink
  ) {
    sink.begin(origin, partial: lost)
    sink.beginRow(rowID)
    for value in values {
      let content = bytes.rawSpan.part(value.offset, value.count)
      switch value.kind {
      case .null: sink.null()
      case .integer: sink.integer(value.bits)
      case .real: sink.real(Double(bitPattern: UInt64(bitPattern: value.bits)))
      case .text: sink.text(content)
      case .blob: sink.blob(content)
      }
    }
    sink.endRow()
  }

  /// Returns a hash of the values, except those of `columns`, and of the row id if `hasRowID` is true. The hash differs
  /// between runs of the program.
  func contentHash(without columns: Set<Int> = [], hasRowID: Bool = true) -> Int {
    var hasher = Hasher()
    if hasRowID { hasher.combine(rowID) }
    for (column, value) in values.enumerated() where !columns.contains(column) {
      hasher.combine(value.kind)
      hasher.combine(value.bits)
      hasher.combine(value.count)
      let content = bytes.rawSpan.part(value.offset, value.count)
      unsafe content.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
    return hasher.finalize()
  }

  private func isWhole(_ column: Int) -> Bool { !partial.contains { $0.column == column } }

  /// Returns the bytes of a text or blob; an empty array for other values.
  package func content(of value: Value) -> [UInt8] {
    Array(bytes[value.offset..<value.offset + value.count])
  }
}

protocol RowGathering: RowSink, ~Copyable {
  var row: RecoveredRowBuffer { get set }
}

extension RowGathering where Self: ~Copyable {
  mutating func beginRow(_ rowID: Int64?) { row.beginRow(rowID) }
  mutating func null() { row.append(.null) }
  mutating func integer(_ value: Int64) { row.append(.integer, bits: value) }
  mutating func real(_ value: Double) {
    row.append(.real, bits: Int64(bitPattern: value.bitPattern))
  }
  mutating func text(_ bytes: RawSpan) { row.append(.text, bytes) }
  mutating func blob(_ bytes: RawSpan) { row.append(.blob, bytes) }
}

struct BufferedRowSink: RecoverySink, RowGathering, ~Copyable {
  private let receive: (borrowing RecoveredRowBuffer) -> Bool
  var row = RecoveredRowBuffer()
  private(set) var wantsMore = true
  private(set) var undecodableCount = 0

  init(receive: @escaping (borrowing RecoveredRowBuffer) -> Bool) { self.receive = receive }

  mutating func begin(_ origin: RowOrigin, partial: [PartialValue]) { row.begin(origin, partial) }
  mutating func endRow() {
    if row.hasInvalidText { undecodableCount += row.values.count { !$0.isValid } }
    wantsMore = receive(row)
  }
  mutating func stop() { wantsMore = false }

  /// Takes the rows of `batch` whose indexes in ``RowBatch/heads`` are in `places`. Stops when the closure that gets
  /// the rows returns false.
  mutating func receive(_ batch: borrowing RowBatch, _ places: Range<Int>) {
    var index = places.lowerBound
    while index < places.upperBound, wantsMore {
      row.copy(index, of: batch)
      endRow()
      index &+= 1
    }
  }
}

extension DamagedDatabase {
  /// Calls `receive` with each row of the selection until `receive` returns false. All rows use the same memory, so a
  /// row is only valid during the call.
  ///
  /// `names`: the names of the wanted tables; nil for all rows, including rows of no known table.
  /// `readsAhead`: whether another thread may read pages before their rows are needed. Pass false if `receive` may
  /// return false early; otherwise ``findings`` may contain findings about pages that were not needed.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func forEachBufferedRow(
    _ selection: Selection, of names: [String]? = nil, readsAhead: Bool = true,
    _ receive: (borrowing RecoveredRowBuffer) -> Bool
  ) throws(SQLiteFileError) {
    if selection != .deleted, names == nil { forgetClaims() }
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      var sink = BufferedRowSink(receive: receive)
      guard readsAhead, selection != .deleted, pageCount >= ParallelRecovery.minPageCount else {
        return try emit(selection, places(names), &sink)
      }
      if try !RowPipeline.read(self, places(names), receive) { sink.stop() }
      try emitRest(selection, places(names), &sink)
    }
  }

  /// Passes all readable rows of the database on, until a closure returns false. The rows that were found page by page
  /// come first, in page order. Then come rows that SQLite reads, but that were not found page by page. A row whose
  /// record has the form that `forms` gives for its table is passed to `records`, as an unchanged record, together with
  /// adjacent records. All other rows are passed to `others`. Another thread reads ahead, but the closures are never
  /// called at the same time.
  ///
  /// - Parameters:
  ///   - forms: for each of ``tables``, the form of its records; nil for a table whose rows should all go to `others`.
  ///   - records: receives a batch, and the stretch of the batch whose records are passed.
  ///   - others: receives a row. All rows use the same memory, so a row is only valid during the call.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func forEachReadableRow(
    as forms: [RecordForm?], records: (borrowing RecordBatch, RecordBatch.Stretch) -> Bool,
    others: (borrowing RecoveredRowBuffer) -> Bool
  ) throws(SQLiteFileError) {
    forgetClaims()
    try withoutActuallyEscaping(records) { records throws(SQLiteFileError) in
      try withoutActuallyEscaping(others) { others throws(SQLiteFileError) in
        if try RowPipeline.read(self, nil, as: forms, records: records, others) {
          var sink = BufferedRowSink(receive: others)
          try emitContradicted(nil, isForFreshFile: true, &sink)
        }
      }
    }
  }

  /// Empties ``claimed``, the set of overflow pages that belong to rows. A second reading of all live rows fills the
  /// set again.
  private func forgetClaims() { claimed = PageSet(pageCount: pageCount) }

  func reportUndecodable(_ count: Int) {
    guard count > 0 else { return }
    findings.add(
      Finding(
        .textUndecodable,
        count == 1
          ? "1 text is not valid \(layout.textEncoding.name); its bytes are given instead"
          : "\(count) texts are not valid \(layout.textEncoding.name); their bytes are given instead",
        severity: .note))
  }
}
