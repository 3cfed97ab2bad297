import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import StoreFiles

extension CopyRun {
  /// Reads the live rows of a store that may be damaged, and the deleted ones when asked.
  func read(
    _ store: DamagedStore, entityNames: [Int64: String], _ selection: DamagedDatabase.Selection
  ) throws {
    for stage in plan.staged.values {
      try writer.execute(stage.creation)
      let filling = stage.filling
      try each(store, selection, [SQLName(stage.table)]) { row, _ in
        try self.run(filling, &row, [])
      }
      filling.finish()
    }
    for links in plan.links.values {
      try writer.execute(links.creation)
      let filling = links.filling
      try each(store, selection, [SQLName(links.table)]) { row, _ in
        try self.run(filling, &row, [])
      }
      filling.finish()
    }
    let places = Dictionary(
      plan.tables.map { (SQLName($0.table), $0) }, uniquingKeysWith: { first, _ in first })
    let joins = Dictionary(grouping: plan.joins.filter { !$0.isLate }) { SQLName($0.table) }
    let late = Dictionary(grouping: plan.joins.filter(\.isLate)) { SQLName($0.table) }
    // Rows that may be an entity's, of a table that is not readable enough to be one's.
    let tables = store.database.tables
    var strangers = 0
    try store.database.forEachRow(.live) { row in
      guard let place = row.origin.table else {
        strangers += 1
        return true
      }
      let name = tables[place].name
      if plan.isOld(table: name.uppercased()), places[SQLName(name)] == nil,
        joins[SQLName(name)] == nil, late[SQLName(name)] == nil
      {
        strangers += 1
      }
      return true
    }
    if strangers > 0 {
      broken.append(
        "\(strangers) live \(strangers == 1 ? "row" : "rows") of no table that the model knows by its columns \(strangers == 1 ? "is" : "are") not in the new store; rows --all shows them"
      )
    }
    try each(store, selection, Set(places.keys).union(joins.keys)) { row, name in
      if let table = places[name] {
        let number = row.integer(table.entityColumn)
        try self.insert(&row, entityNumber: number, number.flatMap { entityNames[$0] }, table)
      }
      for join in joins[name] ?? [] { try self.link(&row, join) }
    }
    guard plan.tables.contains(where: \.hasSecondPass) || !late.isEmpty else { return }
    try each(store, selection, Set(places.keys).union(late.keys)) { row, name in
      if let table = places[name] {
        try self.update(&row, entityNumber: row.integer(table.entityColumn), table)
      }
      for join in late[name] ?? [] { try self.link(&row, join) }
    }
  }

  private func each(
    _ store: DamagedStore, _ selection: DamagedDatabase.Selection, _ names: Set<SQLName>,
    _ body: (inout RecoveredCopyRow, SQLName) throws -> Void
  ) throws {
    let tables = store.database.tables
    let keys = tables.map { table in
      table.definition.rowIDColumn
        ?? table.definition.columns.firstIndex { SQLName.isSame($0.name, "Z_PK") }
    }
    var failure: (any Error)?
    try store.database.forEachRow(selection) { row in
      guard let place = row.origin.table, names.contains(SQLName(tables[place].name)) else {
        return true
      }
      var copied = RecoveredCopyRow(row, keyColumn: keys[place], storePath: storePath)
      do { try body(&copied, SQLName(tables[place].name)) } catch { failure = error }
      return failure == nil
    }
    if let failure { throw failure }
  }
}

/// A row that recovery found.
private struct RecoveredCopyRow: CopyRun.Row {
  private var stored: [StoredValue]
  let key: Int64?
  let page: UInt32?
  let partial: [Int]
  private let storePath: String

  init(_ row: RecoveredRow, keyColumn: Int?, storePath: String) {
    stored = row.values
    if let keyColumn, keyColumn < stored.count, stored[keyColumn] == .null, let rowID = row.rowID {
      stored[keyColumn] = .integer(rowID)
    }
    if let keyColumn, keyColumn < stored.count, case .integer(let value) = stored[keyColumn] {
      key = value
    } else {
      key = nil
    }
    page = row.origin.page
    partial = row.partial.map(\.column)
    self.storePath = storePath
  }

  func integer(_ column: Int?) -> Int64? {
    guard let column, column < stored.count, case .integer(let value) = stored[column] else {
      return nil
    }
    return value
  }

  func values() -> [StoredValue] { stored }

  func fits(_ rule: ColumnRule) -> Bool {
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

  mutating func leaveOut(_ column: Int) {
    if column < stored.count { stored[column] = .null }
  }

  func externalName(_ column: Int) -> String? {
    guard column < stored.count, case .blob(let bytes) = stored[column] else { return nil }
    return ExternalBlob.identifier(in: bytes)
  }

  mutating func bind(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws {
    var binding = RowBinding(statement)
    // A column that was asked for and not used has no parameter.
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
