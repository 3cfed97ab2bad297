import CoreDataForensics
package import CoreDataStore
import ObjectModel
package import RowText
import SQLiteFile
package import SQLiteForensics
import SafeText

/// Writes rows of a damaged store, including deleted ones, to an open file descriptor.
package struct RecoveredRowOutput {
  /// The counts of rows that were written, and of rows that were left out.
  package struct Outcome: Sendable {
    package var rowCount = 0
    /// The number of live rows that were written with a partial value.
    package var partialCount = 0
    /// The number of rows that were not written, because their table and therefore their entity is not known.
    package var unattributedCount = 0

    /// Counts a row that was written.
    mutating func add(_ row: RecoveredRow) {
      rowCount += 1
      if row.origin.state == nil, !row.partial.isEmpty { partialCount += 1 }
    }
  }

  /// The names of the wanted entities and tables; nil for all. The descendants of a wanted entity are wanted, too.
  package var names: [String]?
  /// The maximum number of rows that are written; nil for all.
  package var limit: Int?
  package var blobs = BlobForm.hex
  /// Whether an apostrophe is put before CSV text that a spreadsheet would treat as a formula.
  package var isSafeForSpreadsheets = false
  let store: DamagedStore
  private let naming: RecoveredNaming

  package init(_ store: DamagedStore) {
    self.store = store
    naming = RecoveredNaming(
      tables: store.database.tables, entities: store.entities, model: store.model,
      storePath: store.database.path)
  }

  /// The sorted names of all entities in the store or its model.
  package var entityNames: [String] {
    let names = Array(naming.entityNames.values) + (store.model?.entityNames ?? [])
    return Set(names.map { ExactText($0) }).sorted().map(\.text)
  }

  /// The names of the tables whose rows belong to no entity. Core Data's own tables are left out.
  package var plainTableNames: [String] {
    store.database.tables.enumerated().filter { place, table in
      naming.fields(of: place, nil) == nil
        && !CoreDataStore.isOwn(
          table: table.name, columns: table.definition.columns.map(\.name))
    }.map(\.element.name)
  }

  /// Returns the tables among `names` that have at least one row in `selection`.
  package func tablesWithRows(
    _ selection: DamagedDatabase.Selection, among names: [String]
  ) throws -> [String] {
    guard !names.isEmpty else { return [] }
    var places: Set<Int> = []
    try store.database.forEachBufferedRow(selection, of: names, readsAhead: false) { row in
      if let table = row.origin.table { places.insert(table) }
      return places.count < names.count
    }
    let found = Set(places.map { ExactText(store.database.tables[$0].name) })
    return names.filter { found.contains(ExactText($0)) }
  }

  /// Returns the names of the tables that ``names`` selects, each once. A name selects the table of this name, or the
  /// table of the entity of this name. Returns nil if all tables are selected.
  /// - Throws: ``ExtractionError`` with `unknownName`.
  package func tableNames() throws(ExtractionError) -> [String]? {
    guard let names else { return nil }
    let entities = entityNames
    var met = ExactTexts()
    var found: [String] = []
    for name in names {
      let entity = Self.entity(named: name, among: entities)
      if let table = table(named: name) ?? entity.flatMap(table(ofEntity:)) {
        if met.insert(table) { found.append(table) }
      } else if entity == nil {
        throw ExtractionError(
          .unknownName, "no entity or table \(name) is known in this store",
          path: store.database.path,
          nearest: NearestName.of(name, among: entities + store.database.tables.map(\.name)))
      }
    }
    return found
  }

  private func table(named name: String) -> String? {
    let tables = store.database.tables.map(\.name)
    return tables.first { ExactText.isSame($0, name) } ?? tables.first { SQLName.isSame($0, name) }
      ?? tables.first { $0.lowercased() == name.lowercased() }
  }

  static func entity(named name: String, among known: [String]) -> String? {
    ExactText.place(of: name, in: known) { $0 }.map { known[$0] }
  }

  /// Returns the name of the table that holds an entity's rows, which is the table of its root entity. Returns nil if
  /// the table is lost.
  private func table(ofEntity name: String) -> String? {
    let planned = store.model.flatMap { TableLayout($0).table(of: name)?.name }
    let record = store.entities.first { ExactText.isSame($0.name, name) }
    let root = record.flatMap { lineage(of: $0, parents).last } ?? name
    let wanted = planned ?? "Z" + root.uppercased()
    let tables = store.database.tables
    let place = ExactText.place(of: wanted, in: tables) { $0.name.uppercased() }
    return place.map { tables[$0].name }
  }

  /// The entity records by entity number, in which the parent of an entity is looked up. A record with the number 0 is
  /// left out, because a root entity has the parent number 0.
  private var parents: [Int64: EntityRecord] {
    Dictionary(firstOf: store.entities.filter { $0.number != 0 }.map { ($0.number, $0) })
  }

  /// Returns the names of an entity and its ancestors, according to Z_PRIMARYKEY.
  private func lineage(of record: EntityRecord, _ parents: [Int64: EntityRecord]) -> [String] {
    var names = [record.name]
    var next = parents[record.superNumber]
    // In a hostile file, two entities may be each other's parents.
    while let parent = next, names.count <= ManagedObjectModel.maximumInheritanceDepth {
      names.append(parent.name)
      next = parents[parent.superNumber]
    }
    return names
  }

  fileprivate struct Wanted {
    /// The tables that may contain selected rows.
    var read: [String] = []
    /// The tables that are selected by name, with all their rows.
    var tables = ExactTexts()
    var entities = ExactTexts()

    func has(_ entity: String?, of table: ExpectedTable) -> Bool {
      tables.contains(table.name) || entity.map { entities.contains($0) } ?? false
    }
  }

  /// Returns the tables and entities that ``names`` selects; nil if all rows are selected.
  fileprivate func wanted() -> Wanted? {
    guard let names else { return nil }
    var wanted = Wanted()
    let known = entityNames
    var entities: [String] = []
    for name in names {
      let entity = Self.entity(named: name, among: known)
      if let entity { entities.append(entity) }
      // The name of an entity may differ only in case from the name of another entity's table.
      if let table = table(named: name), entity == nil || ExactText.isSame(table, name) {
        wanted.read.append(table)
        wanted.tables.insert(table)
      }
    }
    for name in naming.withDescendants(entities) { wanted.entities.insert(name) }
    if store.model == nil {
      let named = wanted.entities
      let parents = parents
      for record in store.entities
      where lineage(of: record, parents).contains(where: named.contains) {
        wanted.entities.insert(record.name)
      }
    }
    wanted.read += entities.compactMap(table(ofEntity:))
    return wanted
  }

  /// Calls `receive` with each row that belongs to an entity, until `receive` returns false. `columns` are the
  /// positions of the columns that the properties come from. `recovered` has the state and the partial values of the
  /// row.
  /// - Throws: ``ExtractionError`` with `unknownName`; `SQLiteFileError` when the device fails.
  package func forEachRow(
    _ selection: DamagedDatabase.Selection,
    _ receive: (_ row: ManagedRow, _ columns: [Int], _ recovered: RecoveredRow) -> Bool
  ) throws -> Outcome {
    try forEachRow(selection, ordinary: nil, receive)
  }

  /// Passes each row that belongs to an entity to one of two closures. `ordinary` gets a row before the row is decoded,
  /// and only if the row is ordinary: live, complete and certain, with a row id, with only valid text, and with a value
  /// for each column of its table. `receive` gets all other rows.
  ///
  /// `ordinary` returns nil to leave the row out, and otherwise whether it wants the next row. If `ordinary` is nil,
  /// `receive` gets ordinary rows, too.
  private func forEachRow(
    _ selection: DamagedDatabase.Selection,
    ordinary: ((_ row: borrowing RecoveredRowBuffer, _ number: Int64?) -> Bool?)?,
    _ receive: (_ row: ManagedRow, _ columns: [Int], _ recovered: RecoveredRow) -> Bool
  ) throws -> Outcome {
    _ = try tableNames()
    let wanted = wanted()
    let places = store.database.tables
    let counts = places.map { $0.isDescribed ? $0.definition.columns.count : -1 }
    var outcome = Outcome()
    guard limit != 0 else { return outcome }
    var lost = LostKeys()
    var goesOn = true
    func deliver(_ row: LostKeys.Row) -> Bool {
      outcome.add(row.recovered)
      goesOn =
        receive(row.managed, row.columns, row.recovered)
        && limit.map { outcome.rowCount < $0 } ?? true
      return goesOn
    }
    let read = wanted?.read
    try store.database.forEachBufferedRow(selection, of: read, readsAhead: limit == nil) { row in
      guard let place = row.origin.table ?? row.origin.guess, counts[place] >= 0 else {
        outcome.unattributedCount += 1
        return true
      }
      if let ordinary, row.isOrdinary, row.values.count == counts[place] {
        let number =
          row.values.count > 1 && row.values[1].kind == .integer ? row.values[1].bits : nil
        guard let goesOn = ordinary(row, number) else { return true }
        outcome.rowCount += 1
        return goesOn && limit.map { outcome.rowCount < $0 } ?? true
      }
      let row = RecoveredRow(row)
      guard let (managed, columns) = naming.managedRow(row) else { return true }
      guard wanted?.has(managed.entityName, of: places[place]) ?? true else { return true }
      if let table = row.origin.table, row.origin.state != nil, row.key(of: managed) == nil {
        switch lost.take((managed, columns, row), of: table) {
        case .held: return true
        case .passed(let earlier?): if !deliver(earlier) { return false }
        case .passed(nil): break
        }
      }
      return deliver((managed, columns, row))
    }
    if goesOn, limit.map({ outcome.rowCount < $0 }) ?? true {
      for row in try lost.rows(of: store, naming) where goesOn { _ = deliver(row) }
    }
    return outcome
  }

  /// Writes rows of entities as JSON. Each row has the members of an ordinary row, followed by the members that say in
  /// what state and where in the files the row was found.
  /// - Throws: as ``forEachRow(_:_:)``, and when the output cannot be written.
  package func writeJSON(
    _ selection: DamagedDatabase.Selection, as form: JSONForm = .lines, to descriptor: Int32
  ) throws -> Outcome {
    var output = OutputBuffer(descriptor: descriptor)
    // If the device fails before the first row, or a name is not known, nothing is written.
    var isFirst = true
    // If the device fails later, the rows that were read before are written.
    defer { if !isFirst { output.flush() } }
    if form == .object { output.append(form.opening) }
    let renderings = RecoveredRenderings(naming, store, wanted())
    var sink = NamedRowSink(.members, storePath: store.database.path, blobs: blobs)
    func begin() {
      if form == .object, !isFirst { output.append(",\n") }
      isFirst = false
    }
    let ordinary = { (row: borrowing RecoveredRowBuffer, number: Int64?) -> Bool? in
      guard let rendering = renderings.rendering(of: row.origin.table, number) else { return nil }
      begin()
      sink.exchange(with: &output)
      sink.turn(to: rendering, number: number)
      row.send(rendering.columns, to: &sink)
      sink.externals.removeAll(keepingCapacity: true)
      sink.exchange(with: &output)
      output.append(",\"attribution\":\"\(row.origin.attribution.name)\"")
      output.append(form == .lines ? "}\n" : "}")
      return !output.isBroken
    }
    let outcome = try forEachRow(selection, ordinary: ordinary) { managed, columns, row in
      begin()
      output.append(
        membersOf: managed, key: row.key(of: managed), blobs: blobs)
      if managed.isKeyInferred { output.append(",\"isKeyInferred\":true") }
      output.append(originOf: row, managed, columns)
      output.append(form == .lines ? "}\n" : "}")
      return !output.isBroken
    }
    if form == .object { output.append(form.closing) }
    try output.finish()
    return outcome
  }
}

/// Identifies the rows of one table that have one entity number. Used as a dictionary key.
struct RowKind: Hashable {
  let table: Int
  let number: Int64?

  /// The maximum number of row kinds for which data is kept in memory. A sound store has fewer kinds. A hostile file
  /// may contain any number of entity numbers.
  static let most = 100_000
}

extension RecoveredNaming {
  /// Returns a key for the rows of a table that have the entity number `number`. Nil, and all numbers that belong to no
  /// entity, give the same key.
  func kind(of table: Int, _ number: Int64?) -> RowKind {
    RowKind(table: table, number: number.flatMap { entityNames[$0] == nil ? nil : $0 })
  }
}

/// Provides the ``EntityRendering`` for the rows of a table that have a given entity number. Each rendering is made
/// only once.
private final class RecoveredRenderings {
  private let naming: RecoveredNaming
  private let store: DamagedStore
  private let wanted: RecoveredRowOutput.Wanted?
  private var known: [RowKind: EntityRendering?] = [:]
  /// The rendering that was returned last, with its table and entity number. It is cached because the next row usually
  /// needs the same rendering.
  private var last: (key: RowKind, rendering: EntityRendering?)?

  init(_ naming: RecoveredNaming, _ store: DamagedStore, _ wanted: RecoveredRowOutput.Wanted?) {
    self.naming = naming
    self.store = store
    self.wanted = wanted
  }

  /// Returns the rendering of the rows of a table that have a given entity number. Returns nil if these rows are not
  /// wanted, or if the table holds no entities.
  func rendering(of table: Int?, _ number: Int64?) -> EntityRendering? {
    guard let table else { return nil }
    let key = RowKind(table: table, number: number)
    if let last, last.key == key { return last.rendering }
    let kind = naming.kind(of: table, number)
    let rendering = known[kind] ?? make(table, number)
    if known.count < RowKind.most { known[kind] = .some(rendering) }
    last = (key, rendering)
    return rendering
  }

  private func make(_ table: Int, _ number: Int64?) -> EntityRendering? {
    let expected = store.database.tables[table]
    guard let (entity, fields) = naming.fields(of: table, number) else { return nil }
    guard wanted?.has(entity, of: expected) ?? true else { return nil }
    return EntityRendering(
      name: entity, fields, keyColumn: 0, of: expected.definition, naming.entityNames)
  }
}

extension RecoveredRowBuffer {
  /// Whether the row is live, complete and certain, and has a row id and only valid text.
  fileprivate var isOrdinary: Bool {
    origin.state == nil && origin.table != nil && origin.confidence >= 100 && partial.isEmpty
      && !hasInvalidText && rowID != nil
  }

  fileprivate func send(_ columns: [Int], to sink: inout NamedRowSink) {
    sink.beginRow(rowID)
    for column in columns {
      let value = values[column]
      switch value.kind {
      case .null: sink.null()
      case .integer: sink.integer(value.bits)
      case .real: sink.real(Double(bitPattern: UInt64(bitPattern: value.bits)))
      case .text: sink.text(bytes.rawSpan.part(value.offset, value.count))
      case .blob: sink.blob(bytes.rawSpan.part(value.offset, value.count))
      }
    }
    sink.endRow()
  }
}

extension OutputBuffer {
  /// Appends the members that say in what state and where in the files a row was found. Partial values are listed by
  /// property.
  fileprivate mutating func append(
    originOf row: RecoveredRow, _ managed: ManagedRow, _ columns: [Int]
  ) {
    let origin = row.origin
    append(",\"attribution\":\"\(origin.attribution.name)\"")
    guard
      origin.state != nil || !row.partial.isEmpty || origin.table == nil
        || origin.confidence < 100
    else { return }
    if let state = origin.state { append(",\"state\":\"\(state.rawValue)\"") }
    if origin.table == nil { append(",\"isGuess\":true") }
    append(origin.placeMembers)
    guard !row.partial.isEmpty else { return }
    append(",\"partial\":")
    append(
      PartialValue.json(row.partial) { column in
        columns.firstIndex(of: column).map { managed.properties[$0].name }
      })
  }
}

extension RecoveredRow {
  /// Returns the primary key of `row`, which was decoded from this recovered row; nil if the key is lost.
  package func key(of row: ManagedRow) -> Int64? {
    rowID == nil && row.primaryKey == 0 ? nil : row.primaryKey
  }
}
