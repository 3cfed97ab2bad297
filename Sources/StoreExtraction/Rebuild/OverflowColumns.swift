import Foundation
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// When a table has more columns than SQLite allows, stores the values of the surplus columns in one extra column, as a
/// JSON object keyed by column name. NULL is left out; `{"hex": …}` is a blob, `{"textHex": …}` is invalid text.
enum OverflowColumns {
  static let name = "_more"
  /// The maximum number of columns of a new table: SQLite's own limit minus the columns that Lifeboat adds. The values
  /// of all further columns go into the column ``name``.
  static let maxColumns = 1990

  /// Returns the values of a row from column `first` on as JSON; nil if all of them are NULL.
  static func json(
    of row: borrowing RecoveredRowBuffer, from first: Int, names: [String]
  ) -> [UInt8]? {
    var values: [SQLiteValue] = []
    for value in row.values.dropFirst(first) {
      switch value.kind {
      case .null: values.append(.null)
      case .integer: values.append(.integer(value.bits))
      case .real: values.append(.real(Double(bitPattern: UInt64(bitPattern: value.bits))))
      case .text: values.append(.text(row.content(of: value)))
      case .blob: values.append(.blob(row.content(of: value)))
      }
    }
    return json(of: values, from: first, names: names)
  }

  /// Returns the values of the columns from `first` on as JSON; nil if all of them are NULL.
  static func json(of values: [SQLiteValue], from first: Int, names: [String]) -> [UInt8]? {
    var members: [String: JSONValue] = [:]
    for (column, value) in zip(first..., values) {
      let name = unused(names, column, members)
      switch value {
      case .null: break
      case .integer(let number): members[name] = .integer(number)
      case .real(let number): members[name] = .real(number)
      case .text(let bytes):
        members[name] =
          String(validating: bytes, as: UTF8.self).map(JSONValue.string)
          ?? .object(["textHex": .string(Hex.string(bytes))])
      case .blob(let bytes): members[name] = .object(["hex": .string(Hex.string(bytes))])
      }
    }
    return encoded(members)
  }

  /// Returns the name under which a value is stored in a JSON object. It is the name of the value's column, or `c` and
  /// the column's index if the column has no name. If `members` already has this name, the number of the column,
  /// counted from 1, is appended.
  private static func unused(
    _ names: [String], _ column: Int, _ members: [String: JSONValue]
  ) -> String {
    let name = column < names.count ? names[column] : "c\(column)"
    return members[name] == nil ? name : "\(name) (column \(column + 1))"
  }

  private static func encoded(_ members: [String: JSONValue]) -> [UInt8]? {
    guard !members.isEmpty else { return nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return (try? encoder.encode(members)).map { Array($0) }
  }
}
