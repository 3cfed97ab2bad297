import Fixtures

extension SQLiteConnection {
  /// The rows of a query as text: values apart by a blank, rows by a comma, `-` for NULL and for BLOBs.
  func text(_ sql: String) throws -> String {
    try rows(sql).map { row in
      row.map { value in
        switch value {
        case .integer(let number): String(number)
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        default: "-"
        }
      }.joined(separator: " ")
    }.joined(separator: ", ")
  }
}
