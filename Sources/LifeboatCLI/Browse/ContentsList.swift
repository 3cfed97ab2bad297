import CoreDataStore
import SQLiteFile
import Terminal

/// The list that the browser begins with: first the entities, then the tables as SQLite stores them.
struct ContentsList: Sendable {
  let subjects: [BrowseSubject]
  /// The maximum number of entities in a table for which subentities are looked up. If a table has more entities, each
  /// entity is listed without the rows of its subentities.
  private static let maxRelated = 500

  init(_ store: CoreDataStore) {
    var subjects: [BrowseSubject] = []
    if store.kind != .sqlite {
      for table in store.entityTables {
        let described = (try? store.describedEntities(of: table)) ?? []
        subjects += described.map { entity in
          // No real model has more than 500 entities in one table. In a hostile store, the work would grow with the
          // square of the number of entities.
          let numbers =
            described.count <= Self.maxRelated
            ? store.numbers(ofEntities: [entity.name]).intersection(described.map(\.number))
            : [entity.number]
          return .init(table: table.name, entities: numbers, name: entity.name)
        }
        // If the entities of a table are not known, the table itself is listed.
        if described.isEmpty { subjects.append(.init(table: table.name, name: table.name)) }
      }
    }
    subjects += store.database.schema.tables.map {
      .init(table: $0.name, name: $0.name, isRaw: true)
    }
    self.subjects = subjects
  }

  /// Returns the items of the list, each with the number of rows of its subject. If `counts` does not have the subject,
  /// the item shows `…` instead of the number.
  func items(_ counts: [BrowseSubject: Int]) -> [ListItem] {
    let hasEntities = subjects.first?.isRaw == false
    return subjects.map { subject in
      let count = counts[subject].map { Quantity.count($0, "row") } ?? "…"
      let isTable = subject.isRaw && hasEntities
      return ListItem(
        label: subject.name,
        text: count + (isTable ? ", table as SQLite stores it" : "")
          + (subject.entities.map { $0.count > 1 } == true
            ? ", including rows of descendants" : ""),
        action: .rows(RowsQuery(subject: subject)), tone: isTable ? .dim : nil, isLink: true)
    }
  }
}
