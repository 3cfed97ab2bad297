public import CoreDataStore
public import RowText
import SQLiteFile

/// Writes rows of entities to an open file descriptor.
public struct RowOutput: Sendable {
  /// The selection of the rows that are written, and the format of their values.
  public struct Options: Sendable {
    /// The names of the wanted entities; nil for all. The descendants of a wanted entity are wanted, too.
    public var entityNames: [String]?
    /// The maximum number of rows that are written; nil for all.
    public var limit: Int?
    /// How binary values are written.
    public var blobs: BlobForm
    /// Whether an apostrophe is put before CSV text that a spreadsheet would treat as a formula.
    public var isSafeForSpreadsheets: Bool
    /// The variant of CSV for Excel; nil to write CSV as RFC 4180 defines it.
    package var excel: ExcelForm?

    /// Creates options. By default, all rows are written, with all bytes of binary values.
    public init(
      entityNames: [String]? = nil, limit: Int? = nil, blobs: BlobForm = .hex,
      isSafeForSpreadsheets: Bool = false
    ) {
      self.entityNames = entityNames
      self.limit = limit
      self.blobs = blobs
      self.isSafeForSpreadsheets = isSafeForSpreadsheets
    }

    package var csv: CSVForm {
      excel.map { CSVForm(forExcel: $0.hasDecimalComma) }
        ?? CSVForm(isSafeForSpreadsheets: isSafeForSpreadsheets)
    }
  }

  package var options: Options

  /// Creates an output that writes rows in the form that `options` gives.
  public init(_ options: Options = Options()) { self.options = options }

  /// Writes the rows as JSON: one line for each row, or one object with all rows under `rows`.
  /// - Returns: the number of rows.
  @discardableResult
  public func writeJSON(of store: CoreDataStore, as form: JSONForm = .lines, to descriptor: Int32)
    throws -> Int
  {
    try writeJSON(of: store, as: form, nil, to: descriptor)
  }

  /// Writes the rows as JSON, with tokens in place of values. If `redaction` is nil, writes the values themselves.
  @discardableResult
  package func writeJSON(
    of store: CoreDataStore, as form: JSONForm = .lines, _ redaction: RowRedaction?,
    to descriptor: Int32
  ) throws -> Int {
    let target = RowTarget(OutputBuffer(descriptor: descriptor))
    // If the device fails, the rows that were read before are written.
    defer { target.output.flush() }
    if form == .object { target.output.append(form.opening) }
    let wanted = options.entityNames.map(store.numbers(ofEntities:))
    try write(wanted, of: store, as: .json(form), redaction: redaction, to: target)
    if form == .object { target.output.append(form.closing) }
    try target.output.finish()
    return target.rowCount
  }

  /// Writes the rows of one entity, without its descendants, as CSV with a header line. Returns the number of rows.
  package func writeCSV(of entity: DescribedEntity, in store: CoreDataStore, to descriptor: Int32)
    throws -> Int
  {
    let target = RowTarget(OutputBuffer(descriptor: descriptor))
    defer { target.output.flush() }
    target.output.append(csvHeader: entity, options.csv)
    try write([entity.number], of: store, as: .csv, to: target)
    try target.output.finish()
    return target.rowCount
  }

  /// Writes the rows of several entities, and the rows of unknown entities in the tables `unknown`, as one CSV with a
  /// header line. Returns the number of rows. The columns are `_entity`, `_pk` and the properties of all these rows. A
  /// field is empty if the row does not have the property. `_entity` is empty for a row of an unknown entity.
  package func writeCSV(
    of entities: [DescribedEntity], andUnknown unknown: [CoreDataStore.UnknownRows] = [],
    in store: CoreDataStore, to descriptor: Int32
  ) throws -> Int {
    let target = RowTarget(OutputBuffer(descriptor: descriptor))
    defer { target.output.flush() }
    var shared = SharedColumns(entities)
    for rows in unknown {
      for property in rows.properties { shared.add(property.name) }
    }
    target.output.append(csvHeader: ["_entity", "_pk"] + shared.names, options.csv)
    let numbers = Set(entities.map(\.number))
    try write(
      numbers, andUnknown: !unknown.isEmpty, of: store, as: .csv, in: shared, to: target)
    try target.output.finish()
    return target.rowCount
  }

  /// Writes the rows of the entities with the numbers in `wanted`; nil for all rows, including those of unknown
  /// entities. `takesUnknown` says whether rows of unknown entities are written although `wanted` is not nil. The limit
  /// applies to all rows together.
  private func write(
    _ wanted: Set<Int64>?, andUnknown takesUnknown: Bool = false, of store: CoreDataStore,
    as form: NamedRowSink.Form, in shared: SharedColumns? = nil, redaction: RowRedaction? = nil,
    to target: RowTarget
  ) throws {
    for table in store.entityTables {
      var options = options
      options.limit = options.limit.map { $0 - target.rowCount }
      guard options.limit ?? 1 > 0, !target.output.isBroken else { break }
      guard let plan = try store.plan(for: table, wanted: takesUnknown ? nil : wanted) else {
        continue
      }
      try NamedRows(plan, of: store, as: form, options, in: shared, redaction) { entity, number in
        if entity == nil, takesUnknown { return target }
        return wanted.map { number.map($0.contains) ?? false } ?? true ? target : nil
      }.read(from: store)
    }
  }
}

extension OutputBuffer {
  /// Appends the text that precedes the rows of an entity's CSV.
  mutating func append(csvHeader entity: DescribedEntity, _ form: CSVForm) {
    append(csvHeader: ["_pk"] + entity.properties.map(\.name), form)
  }
}
