import CoreDataStore
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction

/// A row whose values are in memory. The row was found by recovery, or returned by SQL.
struct ValueRow: CopyRun.Row {
  private var stored: [StoredValue]
  let key: Int64?
  let page: UInt32?
  let partial: [PartialValue]
  /// Whether the row is an ordinary live row of its store. False for any other row that recovery found, such as a
  /// deleted row.
  let isLive: Bool
  private let storePath: String

  init(_ row: RecoveredRow, keyColumn: Int?, storePath: String) {
    var values = row.values
    if let keyColumn, keyColumn < values.count, values[keyColumn] == .null, let rowID = row.rowID {
      values[keyColumn] = .integer(rowID)
    }
    self.init(
      values, keyColumn: keyColumn, page: row.origin.page, partial: row.partial,
      isLive: row.origin.state == nil, storePath: storePath)
  }

  init(
    _ values: [StoredValue], keyColumn: Int?, page: UInt32? = nil, partial: [PartialValue] = [],
    isLive: Bool = true, storePath: String
  ) {
    stored = values
    if let keyColumn, keyColumn < values.count, case .integer(let value) = values[keyColumn] {
      key = value
    } else {
      key = nil
    }
    self.page = page
    self.partial = partial
    self.isLive = isLive
    self.storePath = storePath
  }

  func integer(_ column: Int?) -> Int64? {
    guard let column, column < stored.count, case .integer(let value) = stored[column] else {
      return nil
    }
    return value
  }

  func values() -> [StoredValue] { stored }

  func fits(_ rule: RecordCopy.Rule) -> Bool {
    guard rule.column < stored.count else { return true }
    switch stored[rule.column] {
    case .null: return true
    case .integer: return rule.classes.contains(.integer)
    case .real: return rule.classes.contains(.real)
    case .text: return rule.classes.contains(.text)
    case .blob(let bytes):
      return rule.classes.contains(.blob) && rule.length.map { $0 == bytes.count } ?? true
    }
  }

  func evidence() -> [StoredValue] {
    var values = stored
    for value in partial where value.column < values.count {
      values[value.column] = .blob(value.bytes)
    }
    return values
  }

  func isNull(_ column: Int) -> Bool { column >= stored.count || stored[column] == .null }

  func append(_ column: Int, _ place: Int, _ form: RecordForm, to record: inout RecordBytes) -> Bool
  {
    switch column < stored.count ? stored[column] : .null {
    case .null: return record.appendNull(in: place, form)
    case .integer(let value): return record.append(value, in: place, form)
    case .real(let value): return record.append(value, in: place, form)
    case .text(let text): return record.append(text: text.utf8[...], in: place, form)
    case .blob(let bytes):
      record.append(bytes[...], isText: false)
      return true
    }
  }

  mutating func leaveOut(_ column: Int) {
    if column < stored.count { stored[column] = .null }
  }

  func externalName(_ column: Int) -> String? {
    guard column < stored.count, case .blob(let bytes) = stored[column] else { return nil }
    return ExternalBlob.identifier(in: bytes)
  }

  func bind(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws {
    var binding = RowBinding(statement)
    // The statement has fewer parameters than the list has columns if its SQL does not use the last columns.
    for column in columns.prefix(statement.parameterCount) {
      switch column < stored.count ? stored[column] : .null {
      case .null: binding.null()
      case .integer(let value): binding.integer(value)
      case .real(let value): binding.real(value)
      case .text(let text):
        let bytes = ContiguousArray(text.utf8)
        binding.text(bytes.rawSpan)
      case .blob(let blob):
        if inlined.contains(column), let name = ExternalBlob.identifier(in: blob) {
          try binding.bind(contentOf: name, storePath)
        } else {
          let bytes = ContiguousArray(blob)
          binding.blob(bytes.rawSpan)
        }
      }
    }
    try binding.check()
  }
}
