import CoreDataForensics
import CoreDataStore
import StoreFiles
import ObjectModel
import SQLiteFile
import SafeText

/// Finds the differences between two schemas: in tables, columns, indexes, views and triggers.
enum SchemaComparison {
  static func changes(_ old: Schema, _ new: Schema) -> [StoreComparison.SchemaChange] {
    var changes: [StoreComparison.SchemaChange] = []
    let before = entries(old)
    let after = entries(new)
    for (key, entry) in before.sorted(by: { $0.key < $1.key }) where after[key] == nil {
      changes.append(
        .init(change: "removed", type: entry.type, name: entry.name, old: entry.sql, new: nil))
    }
    for (key, entry) in after.sorted(by: { $0.key < $1.key }) {
      guard let was = before[key] else {
        changes.append(
          .init(change: "added", type: entry.type, name: entry.name, old: nil, new: entry.sql))
        continue
      }
      guard !ExactText.isSame(was.sql, entry.sql) else { continue }
      if entry.type == "table", let one = old.table(named: entry.name)?.definition,
        let other = new.table(named: entry.name)?.definition
      {
        let columns = columnChanges(entry.name, one, other)
        changes += columns
        if !columns.isEmpty { continue }
      }
      changes.append(
        .init(change: "changed", type: entry.type, name: entry.name, old: was.sql, new: entry.sql))
    }
    return changes
  }

  private static func entries(_ schema: Schema) -> [SQLName: SchemaEntry] {
    Dictionary(firstOf: schema.entries.map { (SQLName("\($0.type) \($0.name)"), $0) })
  }

  private static func columnChanges(
    _ table: String, _ old: TableDefinition, _ new: TableDefinition
  ) -> [StoreComparison.SchemaChange] {
    let before = Dictionary(firstOf: old.columns.map { (SQLName($0.name), $0.declaredType) })
    let after = Set(new.columns.map { SQLName($0.name) })
    var changes: [StoreComparison.SchemaChange] = []
    for column in old.columns where !after.contains(SQLName(column.name)) {
      changes.append(
        .init(
          change: "removed", type: "column", name: "\(table).\(column.name)",
          old: column.declaredType, new: nil))
    }
    for column in new.columns {
      let was = before[SQLName(column.name)]
      guard !ExactText.isSame(was, column.declaredType) else { continue }
      changes.append(
        .init(
          change: was == nil ? "added" : "changed", type: "column", name: "\(table).\(column.name)",
          old: was, new: column.declaredType))
    }
    return changes
  }
}

/// Finds the differences between two stores in their metadata, their kind, their page size and other header values.
enum MetadataComparison {
  static func changes(
    _ old: CoreDataStore, _ new: CoreDataStore
  ) throws(SQLiteFileError) -> [StoreComparison.MetadataChange] {
    let before = try facts(old)
    let after = try facts(new)
    return Set(before.keys).union(after.keys).sorted()
      .filter { before[$0] != after[$0] }
      .map { .init(name: $0.text, old: before[$0]?.text, new: after[$0]?.text) }
  }

  /// Returns the facts by which two stores are compared: for the name of each fact, such as `pageSize`, its value as
  /// text. Names and values are compared byte by byte, because they may come from the store.
  private static func facts(
    _ store: CoreDataStore
  ) throws(SQLiteFileError) -> [ExactText: ExactText] {
    let header = store.database.header
    var facts: [ExactText: ExactText] = [:]
    func add(_ name: String, _ text: String?) {
      facts[ExactText(name)] = text.map { ExactText($0) }
    }
    add("kind", store.kind.rawValue)
    add("pageSize", String(header.pageSize))
    add("userVersion", String(header.userVersion))
    add("applicationID", String(header.applicationID))
    add("textEncoding", "\(header.textEncoding)")
    if let metadata = store.metadata {
      add("uuid", metadata.uuid)
      add("frameworkVersion", metadata.frameworkVersion.map { String($0) })
      add("versionIdentifiers", metadata.versionIdentifiers.joined(separator: ", "))
      add("digest", metadata.digest)
      add("checksum", metadata.checksum)
      for (name, hash) in metadata.versionHashes { add("versionHash.\(name)", hash.hex) }
      for key in try store.otherKeys() {
        add("key.\(key.name)", "\(key.kind) of \(key.sizeBytes) bytes")
      }
    }
    return facts
  }
}
