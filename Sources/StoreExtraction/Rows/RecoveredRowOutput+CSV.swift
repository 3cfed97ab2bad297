import CoreDataStore
import RowText
import SQLiteFile
package import SQLiteForensics

extension RecoveredRowOutput {
  private var database: DamagedDatabase { store.database }
  private var csv: CSVForm { CSVForm(isSafeForSpreadsheets: isSafeForSpreadsheets) }

  /// The names of the columns that follow the values in each line and tell where the row was found. For an intact live
  /// row, `_state` is empty and `_confidence` is 1. If a value is only partly left, its field is empty, and `_partial`
  /// has the rest as JSON.
  private static let originColumns = [
    "_state", "_attribution", "_confidence", "_file", "_page", "_offset", "_partial",
  ]

  /// Writes the rows of one table as CSV. A line has the values as SQLite stores them, then the row id and the columns
  /// from `_state` to `_partial`.
  /// - Throws: ``ExtractionError`` with `unknownName`; `SQLiteFileError` when the device fails or the output cannot be
  ///   written.
  package func writeTableCSV(
    _ selection: DamagedDatabase.Selection, of table: String, to descriptor: Int32
  ) throws -> Outcome {
    guard let place = ExactText.place(of: table, in: database.tables, \.name) else {
      throw ExtractionError(
        .unknownName, "no table \(table) is known in this store", path: database.path)
    }
    let expected = database.tables[place]
    let names = try columnNames(of: expected, selection)
    var output = OutputBuffer(descriptor: descriptor)
    defer { output.flush() }
    output.append(csvHeader: names + ["_rowid"] + Self.originColumns, csv)
    var outcome = Outcome()
    guard limit != 0 else {
      try output.finish()
      return outcome
    }
    try database.forEachRow(selection, of: [expected.name]) { row in
      // Values after the last column are dropped. A row with such values never belonged to this table.
      for column in names.indices {
        if column > 0 { output.append(UInt8(ascii: ",")) }
        if column < row.values.count {
          output.append(csvValue: PropertyValue(row.values[column], isDate: false), csv)
        }
      }
      output.append(UInt8(ascii: ","))
      if let rowID = row.rowID { output.append(integer: rowID) }
      output.append(csvOriginOf: row) { $0 < names.count ? names[$0] : nil }
      outcome.add(row)
      return !output.isBroken && limit.map { outcome.rowCount < $0 } ?? true
    }
    try output.finish()
    return outcome
  }

  /// Returns the names of a table's columns. If the table has no description, the names are `c0`, `c1` and so on, one
  /// for each value of the table's longest row.
  private func columnNames(of table: ExpectedTable, _ selection: DamagedDatabase.Selection)
    throws(SQLiteFileError) -> [String]
  {
    guard !table.isDescribed else { return table.definition.columns.map(\.name) }
    var count = 0
    try database.forEachRow(selection, of: [table.name]) { row in
      count = max(count, row.values.count)
      return true
    }
    return (0..<count).map { "c\($0)" }
  }

  /// Writes the rows of one entity, without its subentities, as CSV. A line has `_pk`, the properties, and the columns
  /// from `_state` to `_partial`.
  /// - Throws: as ``forEachRow(_:_:)``, and when the output cannot be written.
  package func writeCSV(
    _ selection: DamagedDatabase.Selection, of entity: String, to descriptor: Int32
  ) throws -> Outcome {
    var output = OutputBuffer(descriptor: descriptor)
    defer { output.flush() }
    var only = self
    only.names = [entity]
    only.limit = nil
    let known = Self.entity(named: entity, among: entityNames)
    var isFirst = true
    var written = Outcome()
    guard limit != 0 else { return written }
    let outcome = try only.forEachRow(selection) { managed, columns, row in
      guard let name = managed.entityName, let known, ExactText.isSame(name, known) else {
        return true
      }
      if isFirst {
        output.append(
          csvHeader: ["_pk"] + managed.properties.map(\.name) + Self.originColumns, csv)
        isFirst = false
      }
      if let key = row.key(of: managed), !managed.isKeyInferred { output.append(integer: key) }
      output.append(csvValuesOf: managed.properties, csv)
      output.append(csvOriginOf: row) { column in
        columns.firstIndex(of: column).map { managed.properties[$0].name }
      }
      written.add(row)
      return !output.isBroken && limit.map { written.rowCount < $0 } ?? true
    }
    try output.finish()
    written.unattributedCount = outcome.unattributedCount
    return written
  }
}

extension RecoveredRowOutput {
  /// Writes the rows of several entities as one CSV. A line has `_entity`, `_pk`, the properties of all these entities,
  /// and the columns from `_state` to `_partial`. If `entities` is nil, the rows of all entities, known or unknown, are
  /// written.
  /// - Throws: as ``forEachRow(_:_:)``, and when the output cannot be written.
  package func writeCSV(
    _ selection: DamagedDatabase.Selection, ofEntities entities: [String]?, to descriptor: Int32
  ) throws -> Outcome {
    var all = self
    all.names = entities
    all.limit = nil
    guard limit != 0 else { return Outcome() }
    // The properties of entities in a damaged store are known only after all rows were read.
    var shared = SharedColumns()
    _ = try all.forEachRow(selection) { managed, _, _ in
      for property in managed.properties { shared.add(property.name) }
      return true
    }
    all.limit = limit
    var output = OutputBuffer(descriptor: descriptor)
    defer { output.flush() }
    output.append(csvHeader: ["_entity", "_pk"] + shared.names + Self.originColumns, csv)
    let outcome = try all.forEachRow(selection) { managed, columns, row in
      if let name = managed.entityName {
        output.append(csvField: name, safeForSpreadsheets: isSafeForSpreadsheets)
      }
      output.append(UInt8(ascii: ","))
      if let key = row.key(of: managed), !managed.isKeyInferred { output.append(integer: key) }
      var places = [Int?](repeating: nil, count: shared.names.count)
      for (place, property) in managed.properties.enumerated() {
        if let column = shared.place(of: property.name) { places[column] = place }
      }
      for place in places {
        output.append(UInt8(ascii: ","))
        if let place { output.append(csvValue: managed.properties[place].value, csv) }
      }
      output.append(csvOriginOf: row) { column in
        columns.firstIndex(of: column).map { managed.properties[$0].name }
      }
      return !output.isBroken
    }
    try output.finish()
    return outcome
  }
}

extension OutputBuffer {
  /// Appends the columns from `_state` to `_partial`, and ends the line.
  fileprivate mutating func append(csvOriginOf row: RecoveredRow, name: (_ column: Int) -> String?)
  {
    let origin = row.origin
    append(",\(origin.state?.rawValue ?? ""),\(origin.attribution.name),\(origin.confidenceText)")
    append(",\(origin.member.rawValue),\(origin.page),\(origin.offset),")
    if !row.partial.isEmpty {
      append(csvField: PartialValue.json(row.partial, name: name), safeForSpreadsheets: false)
    }
    append("\r\n")
  }
}
