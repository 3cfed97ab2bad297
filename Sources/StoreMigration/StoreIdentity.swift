import CoreDataForensics
import CoreDataStore
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import StoreFiles

/// The parts of a store, other than its rows, that a migration keeps: the UUID, which is part of each object's URI; the
/// app's own metadata; and the highest keys that Core Data has assigned.
struct StoreIdentity {
  private var uuid: String?
  private var appKeys: [String: PropertyList] = [:]
  private var highestKeys: [String: Int64] = [:]
  private var tables: [String] = []
  /// Sentences that say whether the old store has lost its UUID or the app's metadata.
  private(set) var leftOut: [String] = []

  init(_ source: Migration.Source) throws {
    let entities: [EntityRecord]
    var row: StoredRow?
    let names: [String]
    switch source {
    case .sound(let store):
      entities = store.entities
      names = store.database.schema.tables.map { $0.name.uppercased() }
      if let table = store.database.schema.table(named: "Z_METADATA") {
        try store.database.forEachRow(of: table) { found in
          row = found
          return false
        }
      }
    case .damaged(let store, _):
      entities = store.entities
      names = store.database.tables.map { $0.name.uppercased() }
      try store.database.forEachRow(.live, of: ["Z_METADATA"]) { found in
        row = StoredRow(rowID: found.rowID, values: found.values)
        return false
      }
    }
    highestKeys = Self.highestKeys(entities)
    tables = names
    guard let row else {
      leftOut.append(
        "the store's UUID and the app's metadata are lost: the new store has a new UUID, "
          + "so the URIs of old objects do not work with it"
      )
      return
    }
    uuid = StoreMetadata(row: row).uuid.flatMap { UUID(uuidString: $0)?.uuidString }
    if uuid == nil {
      leftOut.append("the store's UUID is lost; the new store has a new one")
    }
    if StoreMetadata(row: row).plistState != .present {
      leftOut.append("the app's metadata are lost")
    }
    if row.values.count > 2, case .blob(let bytes) = row.values[2],
      let entries = try? PropertyList(bytes: bytes).entries
    {
      appKeys = entries.filter { name, _ in
        !StoreMetadata.frameworkKeys.contains(name) && !name.utf8.starts(with: "NSStoreModel".utf8)
          && name != "_NSStoreAncillaryModelVersionHashesMetadataKey"
      }
    }
  }

  /// Sets the highest keys to those of `store`, the new store of a step, because the next step reads its rows from this
  /// store.
  mutating func takeKeys(of store: CoreDataStore) { highestKeys = Self.highestKeys(store.entities) }

  /// No app assigns so many keys. A damaged record of a higher key would leave the app few keys for new rows, or none.
  private static let maxRecordedKey: Int64 = 1 << 62

  private static func highestKeys(_ entities: [EntityRecord]) -> [String: Int64] {
    Dictionary(
      entities.filter { $0.superNumber == 0 && $0.highestKey < maxRecordedKey }
        .map { (table(of: $0), $0.highestKey) },
      uniquingKeysWith: { _, last in last })
  }

  /// Notes for the report, one sentence each.
  func notes(_ plan: CopyPlan, keepsHistory: Bool) -> [String] {
    var notes: [String] = []
    if tables.contains("ACHANGE"), !keepsHistory {
      notes.append(
        "the persistent history is not in the new store: apps and CloudKit that follow the history start anew"
      )
    }
    let known = Set(
      plan.tables.map { $0.table.uppercased() } + plan.joins.map { $0.table.uppercased() })
    let others = tables.filter { name in
      !known.contains(name) && !name.utf8.starts(with: "SQLITE_".utf8)
        && ![
          "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION",
          "ATRANSACTIONSTRING",
        ]
        .contains(name) && !plan.oldTables.contains(name)
    }
    if !others.isEmpty {
      let shown = others.sorted().prefix(5).joined(separator: ", ")
      notes.append(
        "tables that belong to no entity are not in the new store, \(others.count) in all: \(shown)"
      )
    }
    return notes
  }

  /// The name of a root entity's table, in upper case.
  static func table(of entity: EntityRecord) -> String {
    (entity.isHistory ? "A" : "Z") + entity.name.uppercased()
  }

  /// Returns, for each new table by name, the highest key that a row has in the new store, or that Core Data has ever
  /// assigned in the old store.
  func highestKeys(_ schema: FreshStoreSchema, _ plan: CopyPlan, in writer: SQLiteWriter) throws
    -> [String: Int64]
  {
    var highest: [String: Int64] = [:]
    for table in schema.layout.tables {
      // A key that was assigned to a row is never assigned again, even if the row was deleted.
      let handedOut =
        plan.shifts.keptKeys[table.name].map { highestKeys[$0.uppercased()] ?? 0 }
        ?? plan.shifts.sharedKeys[table.name] ?? 0
      highest[table.name] = max(0, handedOut, try writer.highestKey(of: table.name))
    }
    for table in schema.entities.filter(\.isHistory).map(Self.table) {
      highest[table] = max(0, highestKeys[table] ?? 0, try writer.highestKey(of: table))
    }
    return highest
  }

  /// Writes the rows of Core Data's own tables, Z_PRIMARYKEY, Z_METADATA and Z_MODELCACHE, into a new store.
  func write(_ schema: FreshStoreSchema, _ plan: CopyPlan, to writer: SQLiteWriter) throws {
    var entries = (try? PropertyList(bytes: schema.metadataPlist).entries) ?? [:]
    entries.merge(appKeys) { own, _ in own }
    try FreshStore.writeOwnTables(
      of: schema, uuid: uuid ?? UUID().uuidString,
      plist: PropertyList.dictionary(entries).binaryBytes(),
      highestKeys: highestKeys(schema, plan, in: writer), to: writer)
  }
}

extension SQLiteWriter {
  /// The highest key in a table; 0 when the table has no rows.
  func highestKey(of table: String) throws -> Int64 {
    try rows("SELECT max(Z_PK) FROM main.\(SQLText.quoted(table))").first?.first?.int64 ?? 0
  }
}
