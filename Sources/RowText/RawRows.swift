package import SQLiteFile

extension SQLiteDatabase {
  /// Writes each row as a JSON object: `table`, `rowid` and `values` in column order, as SQLite stores them.
  ///
  /// - Parameters:
  ///   - tables: the tables, in the order in which they are written.
  ///   - form: a JSON object on a line of its own for each row, or one JSON object with all rows under `rows`.
  ///   - limit: the maximum number of rows of all tables together; nil for all rows.
  ///   - descriptor: an open file descriptor; it is not closed.
  ///   - watch: returns the receiver that gets the rows in place of the given receiver, for example one that counts the
  ///     rows and passes them on.
  /// - Returns: the number of rows written of each table, in the order of `tables`. Tables that come after the limit is
  ///   reached are left out.
  /// - Throws: ``SQLiteFileError`` when the device fails or the output cannot be written.
  @discardableResult
  package func writeJSON(
    of tables: [Table], as form: JSONForm = .lines, limit: Int? = nil, to descriptor: Int32,
    watch: (any RecordReceiver) -> any RecordReceiver = { $0 }
  ) throws(SQLiteFileError) -> [Int] {
    let rows = RawRows(
      JSONRowSink(output: OutputBuffer(descriptor: descriptor), form: form, limit: limit),
      takesBlocks: form == .lines && limit == nil)
    // If the device fails, the rows that were read before are written.
    defer { rows.sink.flush() }
    var counts: [Int] = []
    rows.sink.start()
    for table in tables where rows.wantsMore {
      rows.sink.begin(table: table.name, columns: try layout(of: table).0.names)
      try read(table, by: watch(rows))
      counts.append(rows.sink.rowCount)
    }
    try rows.sink.finish()
    return counts
  }

  /// Writes a table as CSV with a header line: values as SQLite stores them, blobs as hexadecimal.
  ///
  /// - Parameters:
  ///   - table: the table.
  ///   - limit: the maximum number of rows; nil for all rows.
  ///   - form: the separator, the decimal sign, and whether text is made safe for spreadsheets.
  ///   - descriptor: an open file descriptor; it is not closed.
  ///   - watch: returns the receiver that gets the rows in place of the given receiver, for example one that counts the
  ///     rows and passes them on.
  /// - Returns: the number of rows.
  /// - Throws: ``SQLiteFileError`` when the device fails or the output cannot be written.
  @discardableResult
  package func writeCSV(
    of table: Table, limit: Int? = nil, as form: CSVForm = CSVForm(), to descriptor: Int32,
    watch: (any RecordReceiver) -> any RecordReceiver = { $0 }
  ) throws(SQLiteFileError) -> Int {
    let rows = RawRows(
      CSVRowSink(output: OutputBuffer(descriptor: descriptor), limit: limit, form),
      takesBlocks: limit == nil)
    defer { rows.sink.flush() }
    rows.sink.begin(columns: try layout(of: table).0.names)
    if rows.wantsMore { try read(table, by: watch(rows)) }
    try rows.sink.finish()
    return rows.sink.rowCount
  }
}

/// A sink that can take over the rows of another sink of its type, so that blocks of rows can be rendered on two
/// threads.
protocol RawRowSink: RowSink, ~Copyable {
  /// Whether rows were lost because the output failed, or because there were too many to keep.
  var isBroken: Bool { get }
  /// Makes a second sink for rows of the table that this sink receives. The second sink keeps its rows until this sink
  /// takes them over in ``take(from:)``.
  func another() -> Self
  /// Appends the rows that `other` has kept, and empties `other`.
  mutating func take(from other: inout Self)
}

/// Passes the records of a table to a sink that writes values as SQLite stores them.
private final class RawRows<Sink: RawRowSink & ~Copyable>: RecordReceiver {
  var sink: Sink
  let takesBlocks: Bool

  init(_ sink: consuming Sink, takesBlocks: Bool) {
    self.sink = sink
    self.takesBlocks = takesBlocks
  }

  var wantsMore: Bool { sink.wantsMore }
  var isBroken: Bool { sink.isBroken }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    sink.take(record, rowID: rowID, layout, &decoder)
  }

  func another() -> any RecordReceiver { RawRows(sink.another(), takesBlocks: false) }

  func take(from other: any RecordReceiver) {
    guard let other = other as? RawRows<Sink> else { return }
    sink.take(from: &other.sink)
  }
}
