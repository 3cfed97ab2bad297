import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteWriter
import SafeText
import StoreExtraction

/// The triggers by which Core Data keeps the derived attributes of a store current, as the old store has them.
///
/// They are copied, because the rules by which Core Data writes them are not known. They call SQL functions that exist
/// only inside Core Data, so no row may be changed after they are made.
struct DerivedTriggers {
  /// The maximum number of triggers that are copied.
  private static let maxCount = 2000
  /// The maximum length of a statement in bytes.
  private static let maxBytes = 1 << 16
  /// SQLITE_ERROR (<https://sqlite.org/rescode.html>).
  private static let sqliteError: Int32 = 1

  private let entries: [SchemaEntry]
  private let tables: SourceTables

  /// `model`: the model of the old store.
  init(_ source: Migration.Source, _ model: ManagedObjectModel) throws {
    let all: [SchemaEntry]
    switch source {
    case .sound(let store): all = store.database.schema.entries
    case .damaged(let store, _): all = store.companions
    }
    entries = all.filter { $0.type == "trigger" && $0.name.utf8.starts(with: "Z_DA_".utf8) }
    tables = try SourceTables(model, source)
  }

  /// Makes the triggers in a new store that has all its rows. If the new store differs from the old one, it gets no
  /// trigger. Returns notes for the report, one sentence each.
  func make(in writer: SQLiteWriter, _ schema: FreshStoreSchema) throws -> [String] {
    guard !entries.isEmpty else { return [] }
    guard isSame(as: schema) else {
      return [
        Self.note(
          entries.count,
          "because its model, entity numbers or columns are not those of the old store")
      ]
    }
    let words = Words(schema)
    var leftOutCount = max(0, entries.count - Self.maxCount)
    try writer.transaction {
      for entry in entries.prefix(Self.maxCount) {
        guard let sql = entry.sql, sql.utf8.count <= Self.maxBytes, words.allow(sql, of: entry)
        else {
          leftOutCount += 1
          continue
        }
        do throws(SQLiteWriterError) {
          try writer.define(sql)
        } catch {
          guard error.primaryResultCode == Self.sqliteError || error.code == .refused else {
            throw error
          }
          leftOutCount += 1
        }
      }
    }
    guard leftOutCount > 0 else { return [] }
    return [
      Self.note(
        leftOutCount, "because SQLite or the names in the new store do not allow the statements")
    ]
  }

  private static func note(_ count: Int, _ reason: String) -> String {
    let subject = counted(count, "trigger that keeps", "triggers that keep")
    let verb = count == 1 ? "is" : "are"
    return "\(subject) derived attributes current \(verb) not in the new store, \(reason); "
      + "derived values may stay as they are when the app changes other objects"
  }

  /// Whether a new store has the entities of the old store, under the same numbers, and its tables with the same
  /// columns.
  private func isSame(as schema: FreshStoreSchema) -> Bool {
    let old = tables.model.versionHashes()
    guard old.unknown.isEmpty, old.hashes == schema.layout.model.versionHashes().hashes,
      schema.entities.allSatisfy({ $0.isHistory || tables.entityNames[$0.number] == $0.name })
    else { return false }
    return Self.tables(of: schema).allSatisfy { name, definition in
      guard let own = tables.table(named: name)?.definition else { return false }
      return Set(own.columns.map { SQLName($0.name) })
        == Set(definition.columns.map { SQLName($0.name) })
    }
  }

  /// Returns the tables of entities and of many-to-many relationships.
  private static func tables(of schema: FreshStoreSchema)
    -> [(name: String, definition: TableDefinition)]
  {
    let layout = schema.layout
    let own = Set((layout.tables.map(\.name) + layout.joinTables.map(\.name)).map { SQLName($0) })
    return schema.tables.compactMap { table -> (name: String, definition: TableDefinition)? in
      guard own.contains(SQLName(table.name)) else { return nil }
      return TableDefinition(sql: table.sql).map { (table.name, $0) }
    }
  }

  /// What the statement of a trigger may consist of: names in the new store, and the words that Core Data uses. Another
  /// word is damage, or changes more than derived attributes.
  private struct Words {
    /// The words before the body of a trigger.
    private static let head = folded([
      "CREATE", "TRIGGER", "BEFORE", "AFTER", "INSERT", "UPDATE", "DELETE", "OF", "ON", "FOR",
      "EACH", "ROW", "WHEN", "NEW", "OLD", "NOT", "NULL", "IS", "AND", "OR",
    ])
    /// The words of the body: it updates rows, and tells Core Data which values it has changed.
    private static let body = folded([
      "BEGIN", "END", "UPDATE", "SET", "SELECT", "FROM", "WHERE", "NEW", "OLD", "NOT", "NULL",
      "IS", "AND", "OR", "IN", "AS", "ON", "JOIN", "DISTINCT", "CASE", "WHEN", "THEN", "ELSE",
      "IFNULL", "COALESCE", "COUNT", "SUM", "TOTAL", "MIN", "MAX", "AVG", "UPPER", "LOWER",
      "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
      "NSCoreDataDATriggerUpdatedAffectedObjectValue",
    ])

    private let tables: Set<SQLName>
    /// The names of tables and columns.
    private let names: Set<SQLName>
    /// The names of tables and attributes, as they stand in string literals.
    private let literals: Set<[UInt8]>

    init(_ schema: FreshStoreSchema) {
      let tables = DerivedTriggers.tables(of: schema)
      self.tables = Set(tables.map { SQLName($0.name) })
      names = self.tables.union(
        tables.flatMap { $0.definition.columns.map { SQLName($0.name) } })
      let attributes = schema.layout.model.entities.values.flatMap(\.attributes).map(\.name)
      literals = Set((tables.map(\.name) + attributes).map { Array($0.utf8) })
    }

    private static func folded(_ words: [String]) -> Set<SQLName> {
      Set(words.map { SQLName($0) })
    }

    /// Whether `sql` is a CREATE TRIGGER statement with the name of `entry`, on a table of the new store.
    func allow(_ sql: String, of entry: SchemaEntry) -> Bool {
      let tokens = SQLToken.all(in: Array(sql.utf8))
      guard tokens.count > 3, tokens[0].isKeyword("CREATE"), tokens[1].isKeyword("TRIGGER"),
        SQLName.isSame(tokens[2].text, entry.name),
        let on = tokens.firstIndex(where: { $0.isKeyword("ON") }), on + 1 < tokens.count,
        tables.contains(SQLName(tokens[on + 1].text)),
        SQLName.isSame(tokens[on + 1].text, entry.tableName),
        let begin = tokens.firstIndex(where: { $0.isKeyword("BEGIN") }), begin > on
      else { return false }
      for (place, token) in tokens.enumerated() where place != 2 {
        let isAllowed =
          switch token.kind {
          case .punctuation, .number: true
          case .word:
            names.contains(SQLName(token.text))
              || (place < begin ? Self.head : Self.body).contains(SQLName(token.text))
          case .quotedIdentifier: names.contains(SQLName(token.text))
          case .string: literals.contains(Array(token.text.utf8))
          case .blob, .parameter: false
          }
        guard isAllowed else { return false }
      }
      return true
    }
  }
}
