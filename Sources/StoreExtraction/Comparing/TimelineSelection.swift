package import CoreDataStore
import RowText
package import SQLiteFile

extension StoreTimeline {
  /// A selection of a timeline's events, by time and by the entities or tables that the events concern.
  package struct Selection: Sendable {
    /// The earliest time of the selected events, in seconds since 2001; nil for no bound.
    package var since: Double?
    /// Only events before this time, in seconds since 2001; nil for no bound.
    package var until: Double?
    /// Only events that concern rows of these entities or tables; nil for all.
    package var names: [String]?

    package init() {}
  }

  package var hasHistory: Bool { store.database.schema.table(named: "ACHANGE") != nil }

  /// Calls `receive` with each event that `selection` wants, in the order of ``forEachEvent(_:)``. If the selection has
  /// a bound in time, events without a date are left out.
  ///
  /// - Throws: ``ExtractionError`` with `input.unknownName` for an entity that the store does not have;
  ///   `SQLiteFileError` when the device fails.
  package func forEachEvent(
    _ selection: Selection, _ receive: (Event) -> Bool
  ) throws {
    let names = try selection.names.map(wanted)
    try forEachEvent { event in
      if selection.since != nil || selection.until != nil {
        guard let seconds = event.date?.seconds, seconds >= selection.since ?? -.infinity,
          seconds < selection.until ?? .infinity
        else { return true }
      }
      if let names, !event.names.contains(where: { names.contains(SQLName($0)) }) { return true }
      return receive(event)
    }
  }

  /// Returns the newest events that `selection` wants, from newest to oldest, and the total number of events that
  /// `selection` wants.
  ///
  /// - Parameters:
  ///   - count: the maximum number of events to return.
  ///   - selection: which events are wanted.
  ///   - see: called with each wanted event, in the order of ``forEachEvent(_:)``.
  /// - Returns: the returned events, and the total number of wanted events, which may be larger.
  /// - Throws: as ``forEachEvent(_:_:)``.
  package func lastEvents(
    _ count: Int, _ selection: Selection = Selection(), _ see: (Event) -> Void = { _ in }
  ) throws -> (events: [Event], total: Int) {
    // ``forEachEvent(_:_:)`` gives the events of the log after all other events, although the commits may be older than
    // some of these.
    var dated = Latest(count)
    var logged = Latest(count)
    try forEachEvent(selection) { event in
      see(event)
      if event.isOfLog { logged.add(event) } else { dated.add(event) }
      return true
    }
    var (old, new) = (dated.events[...], logged.events[...])
    var events: [Event] = []
    // A commit without a time takes the time of the next commit that has one. If no later commit has a time, the commit
    // counts as the newest event.
    var time = Double.infinity
    while events.count < count, let next = new.last ?? old.last {
      if new.last != nil { time = next.date?.seconds ?? time }
      if let past = old.last, new.isEmpty || (past.date?.seconds ?? -.infinity) > time {
        events.append(past)
        old.removeLast()
      } else {
        events.append(next)
        new.removeLast()
      }
    }
    return (events, dated.total + logged.total)
  }

  /// Keeps the events that were added last, up to a maximum number, in the order in which they were added.
  private struct Latest {
    private let limit: Int
    private var ring: [Event] = []
    private(set) var total = 0

    init(_ limit: Int) { self.limit = limit }

    mutating func add(_ event: Event) {
      if ring.count < limit {
        ring.append(event)
      } else if limit > 0 {
        ring[total % limit] = event
      }
      total += 1
    }

    var events: [Event] {
      guard total > ring.count, !ring.isEmpty else { return ring }
      let start = total % ring.count
      return Array(ring[start...] + ring[..<start])
    }
  }

  /// Returns the names of the entities and tables that `names` selects: `names` themselves, the descendants of the
  /// named entities, and the tables with rows of these entities. The set ignores the case of names.
  private func wanted(_ names: [String]) throws -> Set<SQLName> {
    let tables = store.database.schema.tables.map(\.name)
    let entities = store.entities.map { store.entityName(ofNumber: $0.number) ?? $0.name }
    for name in names.sorted()
    where !entities.contains(name) && store.database.schema.table(named: name) == nil {
      throw ExtractionError(
        .unknownName, "the store has no entity or table \(name)", path: store.database.path,
        nearest: NearestName.of(name, among: entities + tables))
    }
    let numbers = store.numbers(ofEntities: names)
    var wanted = Set((names + numbers.compactMap(store.entityName(ofNumber:))).map { SQLName($0) })
    for table in store.entityTables
    where try store.describedEntities(of: table).contains(where: { numbers.contains($0.number) }) {
      wanted.insert(SQLName(table.name))
    }
    return wanted
  }

  /// Returns a title for each row, by entity and primary key. Rows that do not exist or have no title are left out. A
  /// title is the value of a text attribute by which people recognize the row; see ``RowTitle``. Throws when the device
  /// fails.
  package func titles(
    of rows: [ExactText: Set<Int64>]
  ) throws(SQLiteFileError) -> [ExactText: [Int64: String]] {
    var titles: [ExactText: [Int64: String]] = [:]
    try store.forEachRow(of: rows.keys.map(\.text)) { row in
      guard let entity = row.entityName.map({ ExactText($0) }),
        rows[entity]?.contains(row.primaryKey) ?? false,
        let title = RowTitle.title(of: row.properties)
      else { return true }
      titles[entity, default: [:]][row.primaryKey] = title
      return true
    }
    return titles
  }
}

/// Chooses the title of a row: the value by which people recognize it.
package enum RowTitle {
  private static let names = ["title", "name", "subject", "label", "text", "summary"]

  /// Returns the text of an attribute whose name is in `names`. If there is no such attribute, returns the text of an
  /// attribute whose name contains a word from `names`. Otherwise returns the first text of the row; nil if the row has
  /// no text.
  package static func title(of properties: [ManagedRow.Property]) -> String? {
    let texts = properties.compactMap { property -> (name: String, text: String)? in
      guard case .string(let text) = property.value, !text.utf8.isEmpty else { return nil }
      return (property.name.lowercased(), text.string)
    }
    for name in names {
      if let found = texts.first(where: { $0.name == name }) { return found.text }
    }
    return texts.first { text in names.contains { text.name.utf8.firstRange(of: $0.utf8) != nil } }?
      .text ?? texts.first?.text
  }
}

extension StoreTimeline.Event {
  /// The entities or tables whose rows the event is about. Empty for a transaction, and for frames of the log that
  /// belong to no commit.
  var names: [String] {
    switch self {
    case .change(let change): change.entity.map { [$0] } ?? []
    case .transaction, .frames: []
    case .date(let date): [date.entity]
    case .commit(let commit): (commit.tables?.map(\.table) ?? []) + commit.tablesNotCompared
    }
  }

  var isOfLog: Bool {
    switch self {
    case .commit, .frames: true
    default: false
    }
  }

  /// The row of an entity that the event concerns; nil for an event that does not concern exactly one row.
  package var row: (entity: String, key: Int64)? {
    switch self {
    case .change(let change):
      guard let entity = change.entity, let key = change.primaryKey else { return nil }
      return (entity, key)
    case .date(let date): return (date.entity, date.primaryKey)
    default: return nil
    }
  }
}

extension Finding.ID {
  /// Note: dates in rows are not listed as events, because they are before 1800 or after 2199.
  package static let timelineDateOutOfRange = Self(rawValue: "timeline.dateOutOfRange")
}
