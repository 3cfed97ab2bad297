import CoreDataForensics
package import CoreDataStore
import ObjectModel
package import SQLiteFile
package import SQLiteForensics
import SafeText

/// Writes rows of a damaged store, also deleted ones, to an open file descriptor.
package struct RecoveredRowOutput {
  /// What was written.
  package struct Outcome: Sendable {
    /// Rows written.
    package var rowCount = 0
    /// Partial live rows among them.
    package var partialCount = 0
    /// Rows whose table is not certain; they have no entity and are not shown.
    package var unattributedCount = 0
  }

  /// The names of entities, which include their descendants, and of tables; nil for all.
  package var names: Set<String>?
  /// How many rows are written at most; nil for all.
  package var limit: Int?
  /// How binary values are written.
  package var blobs = BlobForm.hex
  /// Whether text in CSV that a spreadsheet would take for a formula gets an apostrophe.
  package var isSafeForSpreadsheets = false
  let store: DamagedStore
  private let naming: RecoveredNaming

  /// An output for all rows of a store.
  package init(_ store: DamagedStore) {
    self.store = store
    naming = RecoveredNaming(
      tables: store.database.tables, entities: store.entities, model: store.model,
      storePath: store.database.path)
  }

  /// The tables that ``names`` select, by their own name or by that of an entity.
  /// - Throws: ``ExtractionError`` with `unknownName`.
  package func tableNames() throws(ExtractionError) -> Set<String>? {
    guard let names else { return nil }
    var found: Set<String> = []
    for name in names {
      let tables = store.database.tables.map(\.name)
      if let table = tables.first(where: { $0 == name })
        ?? tables.first(where: { $0.lowercased() == name.lowercased() })
        ?? table(ofEntity: name)
      {
        found.insert(table)
      } else {
        throw ExtractionError(
          .unknownName, "no entity or table \(name) is known in this store",
          path: store.database.path,
          nearest: NearestName.of(name, among: Array(naming.entityNames.values) + tables))
      }
    }
    return found
  }

  private func table(ofEntity name: String) -> String? {
    if let model = store.model, model.entities[name] != nil {
      return TableLayout(model).table(of: name)?.name
    }
    guard naming.entityNames.values.contains(name) else { return nil }
    let wanted = "Z" + name.uppercased()
    return store.database.tables.first { $0.name.uppercased() == wanted }?.name
  }

  /// Hands rows of entities to `receive`, with their state and their partial values, until it returns false.
  /// - Throws: ``ExtractionError`` with `unknownName`; `SQLiteFileError` when the device fails.
  package func forEachRow(
    _ selection: DamagedDatabase.Selection,
    _ receive: (_ row: ManagedRow, _ columns: [Int], _ recovered: RecoveredRow) -> Bool
  ) throws -> Outcome {
    let tables = try tableNames()
    let entities = names.map { naming.withDescendants($0) }
    let places = store.database.tables
    var outcome = Outcome()
    guard limit != 0 else { return outcome }
    try store.database.forEachRow(selection, of: tables) { row in
      guard let place = row.origin.table ?? row.origin.guess, places[place].isDescribed else {
        outcome.unattributedCount += 1
        return true
      }
      guard let (managed, columns) = naming.managedRow(row) else { return true }
      if let entities, !entities.contains(managed.entityName ?? ""),
        !entities.contains(places[place].name)
      {
        return true
      }
      outcome.rowCount += 1
      if row.origin.state == nil, !row.partial.isEmpty { outcome.partialCount += 1 }
      return receive(managed, columns, row) && limit.map { outcome.rowCount < $0 } ?? true
    }
    return outcome
  }

  /// Writes rows of entities as JSON: like ordinary rows, then their state and origin.
  /// - Throws: as ``forEachRow(_:_:)``, and when the output cannot be written.
  package func writeJSON(
    _ selection: DamagedDatabase.Selection, as form: JSONForm = .lines, to descriptor: Int32
  ) throws -> Outcome {
    var output = OutputBuffer(descriptor: descriptor)
    var isFirst = true
    if form == .object { output.append(form.opening) }
    let outcome = try forEachRow(selection) { managed, columns, row in
      if form == .object, !isFirst { output.append(",\n") }
      isFirst = false
      output.append(
        membersOf: managed,
        key: row.rowID == nil && managed.primaryKey == 0 ? nil : managed.primaryKey, blobs: blobs)
      output.append(originOf: row, managed, columns)
      output.append(form == .lines ? "}\n" : "}")
      return !output.isBroken
    }
    if form == .object { output.append(form.closing) }
    try output.finish()
    return outcome
  }
}

extension OutputBuffer {
  /// The members that give the origin of a row, the same as for raw rows; partial values by property.
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
    append(",\"place\":\"\(origin.place.rawValue)\",\"file\":\"\(origin.member.rawValue)\"")
    append(",\"page\":\(origin.page),\"offset\":\(origin.offset),\"confidence\":")
    append(origin.confidence >= 100 ? "1" : "\(Double(origin.confidence) / 100)")
    guard !row.partial.isEmpty else { return }
    append(",\"partial\":")
    append(
      PartialText.json(row.partial) { column in
        columns.firstIndex(of: column).map { managed.properties[$0].name }
      })
  }
}

/// Partial values for output.
enum PartialText {
  /// A JSON object with a member for each partial value; a column without a name is given by its number.
  static func json(_ values: [PartialValue], name: (_ column: Int) -> String?) -> [UInt8] {
    var text: [UInt8] = []
    for value in values {
      text.append(UInt8(ascii: text.isEmpty ? "{" : ","))
      text += JSONLiteral.string(name(value.column) ?? "c\(value.column)").utf8
      text += ":{\"have\":\(value.have),\"of\":\(value.of),".utf8
      if value.isDoubtful { text += "\"doubtful\":true,".utf8 }
      text += "\"hex\":\"".utf8
      let digits = Array("0123456789abcdef".utf8)
      for byte in value.bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
      }
      text += "\"}".utf8
    }
    return text + "}".utf8
  }
}
