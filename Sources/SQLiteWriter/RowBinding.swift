import CSQLite

/// Binds the values of a row to the parameters of a statement, one after the other. If binding a value fails,
/// ``check()`` throws the first failure.
package struct RowBinding {
  private let statement: SQLiteStatement
  private var parameter = 0
  private var failure: SQLiteWriterError?

  /// Prepares to bind values from the first parameter of `statement` on. The statement must be reset.
  package init(_ statement: SQLiteStatement) { self.statement = statement }

  package mutating func null() {
    unsafe note { unsafe sqlite3_bind_null($0, $1) }
  }

  package mutating func integer(_ value: Int64) {
    unsafe note { unsafe sqlite3_bind_int64($0, $1, value) }
  }

  /// Binds a float to the next parameter; SQLite stores NaN as NULL.
  package mutating func real(_ value: Double) {
    unsafe note { unsafe sqlite3_bind_double($0, $1, value) }
  }

  /// Binds a copy of UTF-8 text to the next parameter.
  package mutating func text(_ bytes: RawSpan) {
    unsafe note { handle, index in
      unsafe bytes.withUnsafeBytes { unsafe SQLiteStatement.bind(text: $0, handle, index) }
    }
  }

  /// Binds a copy of bytes to the next parameter.
  package mutating func blob(_ bytes: RawSpan) {
    unsafe note { handle, index in
      unsafe bytes.withUnsafeBytes { unsafe SQLiteStatement.bind(blob: $0, handle, index) }
    }
  }

  package func check() throws(SQLiteWriterError) {
    if let failure { throw failure }
  }

  private mutating func note(_ bind: (OpaquePointer, Int32) -> Int32) {
    parameter &+= 1
    do throws(SQLiteWriterError) {
      unsafe try statement.bind(at: parameter, bind)
    } catch {
      if failure == nil { failure = error }
    }
  }
}
