package import CoreDataStore
import ObjectModel
import SafeText
package import SQLiteFile
package import SQLiteForensics

/// The timeline of a store: the changes in its persistent history, the commits and the remaining frames in its
/// write-ahead log, and, if requested, the dates in its rows.
package final class StoreTimeline {
  package enum Event: Sendable {
    case change(HistoryChange)
    /// A transaction of the persistent history whose changes are no longer recorded.
    case transaction(HistoryTransaction)
    case date(RowDate)
    case commit(LogCommit)
    /// Frames in the log that belong to no commit of the log's current generation.
    case frames(LogStates.Remainder)
  }

  package struct HistoryTransaction: Sendable {
    /// The primary key in ATRANSACTION; nil for a change that names no transaction.
    package let key: Int64?
    /// The date at which the transaction was saved; nil if the store does not have the date.
    package let date: ReferenceDate?
    /// The author that the app set for the transaction; nil if the app set no author.
    package let author: String?
    /// The name of the managed object context; nil if no name is recorded.
    package let context: String?
    /// The identifier of the process that saved the transaction; nil if no identifier is recorded.
    package let process: String?
    /// The bundle identifier of the program that saved the transaction; nil if no identifier is recorded.
    package let bundle: String?
  }

  /// A change that the persistent history recorded.
  package struct HistoryChange: Sendable {
    /// The kind of change to the row: `insert`, `update` or `delete`, or the number of an unknown kind.
    package let change: String
    /// The name of the row's entity; nil when the entity number belongs to no entity.
    package let entity: String?
    /// The number of the entity; nil when the change has no entity number.
    package let entityNumber: Int64?
    /// The primary key of the changed row; nil when the change has no primary key.
    package let primaryKey: Int64?
    /// The names of the properties that an update changed. Nil when they are not known, and for inserts and deletes.
    package let properties: [String]?
    /// The values of a deleted row that the app chose to preserve, in the order of the columns of ACHANGE.
    package let tombstones: [StoredValue]
    package let transaction: HistoryTransaction
  }

  /// A date that is the value of an attribute in a row.
  package struct RowDate: Sendable {
    package let date: ReferenceDate
    package let entity: String
    package let primaryKey: Int64
    package let property: String
  }

  /// A commit in the write-ahead log. The log gives the order of its commits but not their times.
  package struct LogCommit: Sendable {
    /// The number of the commit in the log, from 1.
    package let number: Int
    package let frameCount: Int
    /// The number of distinct pages in the commit's frames.
    package let pageCount: Int
    /// The size of the database in pages after the commit.
    package let databasePageCount: UInt32
    /// The number of written pages that are not b-tree pages: overflow, free and pointer-map pages. If a commit changed
    /// a value only on such pages, ``tables`` does not show the change. Nil if the database after the commit cannot be
    /// read.
    package let otherPageCount: Int?
    /// The changes to rows, one element for each changed table. Nil if the database before or after the commit cannot
    /// be read.
    package let tables: [CommittedChange]?
    /// Names of WITHOUT ROWID tables that the commit may have changed. Their rows are not compared.
    package let tablesNotCompared: [String]
    /// The date of the persistent history transaction that the commit saved; nil if the commit saved no such
    /// transaction.
    package let date: ReferenceDate?
  }

  package let store: CoreDataStore
  /// The name of the store in the output. The default is the path that the initializer was given.
  package var name: String
  package private(set) var findings = FindingList()
  /// The number of dates in rows that were left out because there were too many dates to sort.
  package private(set) var omittedDateCount = 0

  private let includesDates: Bool
  private var namesByEntity: [String: [String]] = [:]
  /// The number of dates outside ``plausible``, by entity and attribute, such as `Note.due`. These dates are not
  /// events: apps use them as markers, for example for "no end".
  private var strangeDates: [ExactText: Int] = [:]
  /// The range in which a date in a row counts as an event: the years 1800 to 2199, in seconds since 2001. Apps use
  /// dates outside these years, such as `Date.distantFuture`, as markers.
  private static let plausible = -6_342_969_600.0..<6_279_811_200.0

  /// The maximum number of dates that are sorted. Each date takes 24 bytes of memory.
  private static let dateLimit = 2_000_000

  /// Opens the store at `path`. `includesDates`: whether the dates in rows are also events. Throws `SQLiteFileError`
  /// when the file cannot be opened or is no database.
  package convenience init(path: String, includesDates: Bool = false) throws {
    try self.init(CoreDataStore(path: path), includesDates: includesDates)
  }

  /// Creates the timeline of an open store, whose log view must be `committed`. `includesDates`: whether the dates in
  /// rows are also events.
  package init(_ store: CoreDataStore, includesDates: Bool = false) {
    name = store.database.path
    self.store = store
    self.includesDates = includesDates
  }

  /// Calls `receive` with each event, until `receive` returns false. The events of the persistent history and of rows
  /// come first, ordered by date. The events of the log follow, from oldest to newest. Throws `SQLiteFileError` when
  /// the device fails.
  ///
  /// Changes of the persistent history keep the order in which they were written, even if a clock was set back between
  /// them.
  package func forEachEvent(_ receive: (Event) -> Bool) throws {
    var goesOn = true
    let history = try PersistentHistory(store.database)
    var dated = try datedEntries(history)
    dated.entries.sort { $0.seconds < $1.seconds }
    var next = 0
    func handOn(upTo seconds: Double) {
      while goesOn, next < dated.entries.count, dated.entries[next].seconds <= seconds {
        goesOn = receive(event(dated.entries[next], dated.names, history))
        next += 1
      }
    }
    try history.forEachChange { transaction, entity, key, type, mask, tombstones in
      let known = transaction.flatMap { history.transaction($0) }
      if let seconds = known?.seconds { handOn(upTo: seconds) }
      guard goesOn else { return false }
      goesOn = receive(
        .change(
          HistoryChange(
            change: ["insert", "update", "delete"][checked: type] ?? "type \(type ?? -1)",
            entity: entity.flatMap { store.entityName(ofNumber: $0) }, entityNumber: entity,
            primaryKey: key,
            properties: type == 1 ? mask.flatMap { changed($0, in: entity) } : nil,
            tombstones: tombstones.contains { $0 != .null } ? tombstones : [],
            transaction: Self.transaction(transaction, known, history))))
      return goesOn
    }
    handOn(upTo: .infinity)
    if goesOn { try logEvents(history, receive) }
    findings.add(store.findings)
  }

  /// Returns the names of the properties whose bits are set in `mask`. Returns nil if a set bit belongs to no property
  /// of the model.
  private func changed(_ mask: [UInt8], in entity: Int64?) -> [String]? {
    guard let name = entity.flatMap({ store.entityName(ofNumber: $0) }) else { return nil }
    let names = propertyNames(of: name)
    // In a hostile file, a mask may have millions of bits.
    let known = (names.count + 7) / 8
    guard mask.dropFirst(known).allSatisfy({ $0 == 0 }) else { return nil }
    let bits = (0..<min(mask.count, known) * 8).filter { mask[$0 / 8] & 0x80 >> UInt8($0 % 8) != 0 }
    guard !bits.isEmpty, bits.allSatisfy(names.indices.contains) else { return nil }
    return bits.map { names[$0] }
  }

  private func propertyNames(of entity: String) -> [String] {
    if let known = namesByEntity[entity] { return known }
    let lineage =
      [store.model?.entities[entity]].compactMap { $0 }
      + (store.model?.ancestors(of: entity) ?? [])
    let names = Set(lineage.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) })
    let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    namesByEntity[entity] = sorted
    return sorted
  }

  // MARK: - Dates

  /// An event of the timeline before sorting: a date in a row, or a transaction without changes.
  private struct Entry: BitwiseCopyable {
    let seconds: Double
    let key: Int64
    /// For a date in a row: the index of the row's entity and the attribute in the list of names. For a transaction:
    /// -1.
    let name: Int32
  }

  private func datedEntries(_ history: PersistentHistory) throws -> (
    entries: [Entry], names: [(entity: String, property: String)]
  ) {
    var entries: [Entry] = []
    for transaction in history.transactions where !transaction.hasChanges {
      entries.append(
        Entry(seconds: transaction.seconds ?? -.infinity, key: transaction.key, name: -1))
    }
    var names: [(entity: String, property: String)] = []
    guard includesDates else { return (entries, names) }
    var numbers: [ExactText: Int32] = [:]
    var omitted = 0
    try store.forEachRow { row in
      guard let entity = row.entityName else { return true }
      for property in row.properties {
        guard case .date(let date) = property.value else { continue }
        guard Self.plausible.contains(date.seconds) else {
          strangeDates[ExactText("\(entity).\(property.name)"), default: 0] += 1
          continue
        }
        guard entries.count < Self.dateLimit else {
          omitted += 1
          continue
        }
        let id = ExactText(entity + "\0" + property.name)
        let number = numbers[id] ?? Int32(clamping: names.count)
        if numbers[id] == nil {
          numbers[id] = number
          names.append((entity, property.name))
        }
        entries.append(Entry(seconds: date.seconds, key: row.primaryKey, name: number))
      }
      return true
    }
    omittedDateCount = omitted
    for (name, count) in strangeDates.sorted(by: { $0.key < $1.key }) {
      findings.add(
        Finding(
          .timelineDateOutOfRange,
          """
          \(counted(count, "date")) of \(name.text) \(count == 1 ? "is" : "are") before 1800 or after 2199, with no \
          \(count == 1 ? "event" : "events") in the timeline
          """,
          severity: .note))
    }
    return (entries, names)
  }

  private func event(
    _ entry: Entry, _ names: [(entity: String, property: String)], _ history: PersistentHistory
  ) -> Event {
    guard entry.name >= 0 else {
      return .transaction(Self.transaction(entry.key, history.transaction(entry.key), history))
    }
    let name = names[Int(entry.name)]
    return .date(
      RowDate(
        date: ReferenceDate(seconds: entry.seconds), entity: name.entity, primaryKey: entry.key,
        property: name.property))
  }

  private static func transaction(
    _ key: Int64?, _ known: PersistentHistory.Transaction?, _ history: PersistentHistory
  ) -> HistoryTransaction {
    HistoryTransaction(
      key: key, date: known?.seconds.map { ReferenceDate(seconds: $0) },
      author: known.flatMap { history.text($0.author) },
      context: known.flatMap { history.text($0.context) },
      process: known.flatMap { history.text($0.process) },
      bundle: known.flatMap { history.text($0.bundle) })
  }

  // MARK: - The log

  private func logEvents(_ history: PersistentHistory, _ receive: (Event) -> Bool) throws {
    let states = try LogStates(of: store.database)
    findings.add(states.findings)
    for remainder in states.remainders where remainder.kind != .uncommitted {
      guard receive(.frames(remainder)) else { return }
    }
    var walk = CommitWalk(states, history)
    for commit in states.commits {
      let step = try walk.next(commit)
      findings.add(step.findings)
      guard receive(.commit(step.commit)) else { return }
    }
    for remainder in states.remainders where remainder.kind == .uncommitted {
      guard receive(.frames(remainder)) else { return }
    }
  }
}

extension Array {
  /// The element at `index`; nil if `index` is nil or out of range. An index that was read from a file may be any
  /// number.
  fileprivate subscript(checked index: Int64?) -> Element? {
    guard let index, let place = Int(exactly: index), indices.contains(place) else { return nil }
    return self[place]
  }
}
