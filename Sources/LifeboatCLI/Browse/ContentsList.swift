import CoreDataStore
import SQLiteFile
import Terminal

/// The list that the browser begins with: entities, then tables as SQLite has them.
struct ContentsList: Sendable {
  let subjects: [BrowseSubject]
  private let rawStart: Int
  /// The most entities of a table whose descendants are looked up.
  private static let maxRelated = 500

  init(_ store: CoreDataStore) {
    var subjects: [BrowseSubject] = []
    if store.kind != .sqlite {
      for table in store.entityTables {
        let described = (try? store.describedEntities(of: table)) ?? []
        subjects += described.map { entity in
          // A real model has no such numbers of entities in a table, and a hostile one must not cost their square.
          let names =
            described.count <= Self.maxRelated
            ? store.withDescendants([entity.name]) : [entity.name]
          let numbers = described.filter { names.contains($0.name) }.map(\.number)
          return .init(table: table.name, entities: Set(numbers), name: entity.name)
        }
        // Without the list of entities, the rows of the table are all that is known.
        if described.isEmpty { subjects.append(.init(table: table.name, name: table.name)) }
      }
    }
    rawStart = subjects.count
    subjects += store.database.schema.tables.map {
      .init(table: $0.name, name: $0.name, isRaw: true)
    }
    self.subjects = subjects
  }

  /// The items, with the counts that are known.
  func items(_ counts: [BrowseSubject: Int]) -> [ListItem] {
    subjects.enumerated().map { place, subject in
      let count =
        counts[subject].map { "\(Quantity.count($0)) \($0 == 1 ? "row" : "rows")" } ?? "…"
      let isTable = place >= rawStart && rawStart > 0
      return ListItem(
        label: subject.name,
        text: count + (isTable ? ", table as SQLite has it" : "")
          + (subject.entities.map { $0.count > 1 } == true ? ", descendants among them" : ""),
        action: .rows(RowsQuery(subject: subject)), tone: isTable ? .dim : nil, isLink: true)
    }
  }
}
