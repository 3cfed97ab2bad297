import CoreDataStore
import SQLiteFile
import SafeText

/// Core Data's persistent history, in the tables ATRANSACTION, ACHANGE and ATRANSACTIONSTRING.
///
/// Newer stores keep the author and other texts in ATRANSACTIONSTRING, and columns of ATRANSACTION such as `ZAUTHORTS`
/// refer to them. Older stores keep the texts in ATRANSACTION itself.
struct PersistentHistory {
  /// A row of ATRANSACTION. `author`, `context`, `process` and `bundle` are numbers that ``text(_:)`` turns into texts;
  /// -1 stands for no text.
  struct Transaction {
    let key: Int64
    let seconds: Double?
    let author: Int32
    let context: Int32
    let process: Int32
    let bundle: Int32
    var hasChanges = false
  }

  private(set) var transactions: [Transaction] = []
  private var positions: [Int64: Int] = [:]
  private var texts: [String] = []
  private var textNumbers: [ExactText: Int32] = [:]
  private let changes: Table?
  private let database: SQLiteDatabase

  /// The maximum number of transactions that are kept. The same limit holds for rows of ATRANSACTIONSTRING.
  private static let limit = 4_000_000

  /// Reads the transactions of the persistent history with their texts, and notes which transactions have rows in the
  /// table ACHANGE. The changes themselves are read by ``forEachChange(_:)``.
  init(_ database: SQLiteDatabase) throws(SQLiteFileError) {
    self.database = database
    changes = database.schema.table(named: "ACHANGE")
    guard let table = database.schema.table(named: "ATRANSACTION") else { return }
    var strings: [Int64: String] = [:]
    if let table = database.schema.table(named: "ATRANSACTIONSTRING") {
      let columns = Columns(table)
      try database.forEachRow(of: table) { row in
        if let key = row.rowID, let text = columns.text("ZNAME", row) { strings[key] = text }
        return strings.count < Self.limit
      }
    }
    let columns = Columns(table)
    var found: [Transaction] = []
    try database.forEachRow(of: table) { row in
      guard let key = row.rowID else { return true }
      func text(_ name: String) -> Int32 {
        if let number = columns.integer(name + "TS", row), let text = strings[number] {
          return self.number(of: text)
        }
        return columns.text(name, row).map { self.number(of: $0) } ?? -1
      }
      found.append(
        Transaction(
          key: key, seconds: columns.real("ZTIMESTAMP", row), author: text("ZAUTHOR"),
          context: text("ZCONTEXTNAME"), process: text("ZPROCESSID"), bundle: text("ZBUNDLEID")))
      return found.count < Self.limit
    }
    transactions = found
    positions = Dictionary(firstOf: found.enumerated().map { ($1.key, $0) })
    if let changes {
      let columns = Columns(changes)
      try database.forEachRow(of: changes) { row in
        if let key = columns.integer("ZTRANSACTIONID", row), let index = positions[key] {
          transactions[index].hasChanges = true
        }
        return true
      }
    }
  }

  private mutating func number(of text: String) -> Int32 {
    if let known = textNumbers[ExactText(text)] { return known }
    let number = Int32(clamping: texts.count)
    texts.append(text)
    textNumbers[ExactText(text)] = number
    return number
  }

  func text(_ number: Int32) -> String? {
    texts.indices.contains(Int(number)) ? texts[Int(number)] : nil
  }

  func transaction(_ key: Int64) -> Transaction? { positions[key].map { transactions[$0] } }

  /// Calls `receive` with each row of ACHANGE, until `receive` returns false. The rows come in key order, which is the
  /// order in which they were written. For an update, `mask` has one bit for each property of the entity, in the order
  /// of the property names. The highest bit of the first byte belongs to the first property. Other changes have no
  /// mask. `tombstones` are the values of the ZTOMBSTONE columns.
  func forEachChange(
    _ receive: (
      _ transaction: Int64?, _ entity: Int64?, _ key: Int64?, _ type: Int64?, _ mask: [UInt8]?,
      _ tombstones: [StoredValue]
    ) -> Bool
  ) throws(SQLiteFileError) {
    guard let changes else { return }
    let columns = Columns(changes)
    let tombstones = changes.columnNames.indices.filter {
      SQLName(changes.columnNames[$0]).hasPrefix("ztombstone")
    }
    try database.forEachRow(of: changes) { row in
      receive(
        columns.integer("ZTRANSACTIONID", row), columns.integer("ZENTITY", row),
        columns.integer("ZENTITYPK", row), columns.integer("ZCHANGETYPE", row),
        columns.blob("ZCOLUMNS", row),
        tombstones.compactMap { row.values.indices.contains($0) ? row.values[$0] : nil })
    }
  }

  /// The positions of a table's columns, by name in upper case.
  private struct Columns {
    private let positions: [String: Int]

    init(_ table: Table) {
      positions = Dictionary(
        // All names that are looked up are ASCII. Other names are left out, because `uppercased()` turns some of them
        // into ASCII.
        firstOf: table.columnNames.enumerated()
          .filter { _, name in name.utf8.allSatisfy { $0 < 0x80 } }
          .map { ($1.uppercased(), $0) })
    }

    private func value(_ name: String, _ row: StoredRow) -> StoredValue? {
      guard let index = positions[name], row.values.indices.contains(index) else { return nil }
      return row.values[index]
    }

    func integer(_ name: String, _ row: StoredRow) -> Int64? {
      if case .integer(let number)? = value(name, row) { number } else { nil }
    }

    func real(_ name: String, _ row: StoredRow) -> Double? {
      switch value(name, row) {
      case .real(let number): number
      case .integer(let number): Double(number)
      default: nil
      }
    }

    func blob(_ name: String, _ row: StoredRow) -> [UInt8]? {
      if case .blob(let bytes)? = value(name, row) { bytes } else { nil }
    }

    func text(_ name: String, _ row: StoredRow) -> String? {
      if case .text(let text)? = value(name, row) { text.string } else { nil }
    }
  }
}
