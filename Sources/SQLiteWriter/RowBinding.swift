/// Binds the values of a row to the parameters of a statement, one after the other. If binding a value fails, ``run()``
/// and ``check()`` throw the failure.
package struct RowBinding {
  private let statement: SQLiteStatement
  private var parameter = 0
  private var failure: SQLiteWriterError?

  /// Prepares to bind values from the first parameter of `statement` on. The statement must be reset.
  package init(_ statement: SQLiteStatement) { self.statement = statement }

  package mutating func null() {
    note { statement, index throws(SQLiteWriterError) in
      try statement.bindNull(at: index)
    }
  }

  package mutating func integer(_ value: Int64) {
    note { statement, index throws(SQLiteWriterError) in
      try statement.bind(integer: value, at: index)
    }
  }

  /// Binds a float to the next parameter; SQLite stores NaN as NULL.
  package mutating func real(_ value: Double) {
    note { statement, index throws(SQLiteWriterError) in
      try statement.bind(real: value, at: index)
    }
  }

  /// Binds a copy of UTF-8 text to the next parameter.
  package mutating func text(_ bytes: RawSpan) {
    note { statement, index throws(SQLiteWriterError) in
      try statement.bind(text: bytes, at: index)
    }
  }

  package mutating func string(_ string: String) {
    note { statement, index throws(SQLiteWriterError) in
      try statement.bind(string: string, at: index)
    }
  }

  /// Binds a copy of bytes to the next parameter.
  package mutating func blob(_ bytes: RawSpan) {
    note { statement, index throws(SQLiteWriterError) in
      try statement.bind(blob: bytes, at: index)
    }
  }

  /// Runs the statement with the bound values until it ends, and resets it.
  /// - Throws: the first failure to bind, or what SQLite reports.
  package func run() throws(SQLiteWriterError) {
    try check()
    try statement.run()
  }

  package func check() throws(SQLiteWriterError) {
    if let failure { throw failure }
  }

  private mutating func note(
    _ bind: (_ statement: SQLiteStatement, _ index: Int) throws(SQLiteWriterError) -> Void
  ) {
    parameter &+= 1
    do throws(SQLiteWriterError) {
      try bind(statement, parameter)
    } catch {
      if failure == nil { failure = error }
    }
  }
}
