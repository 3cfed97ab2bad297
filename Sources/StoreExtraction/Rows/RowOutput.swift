public import CoreDataStore
public import SQLiteFile

/// Writes rows of entities to an open file descriptor.
public struct RowOutput: Sendable {
  /// What to write.
  public struct Options: Sendable {
    /// The entities wanted, including their descendants; nil for all.
    public var entityNames: Set<String>?
    /// How many rows are written at most; nil for all.
    public var limit: Int?
    /// How binary values are written.
    public var blobs: BlobForm
    /// Whether text in CSV that a spreadsheet would take for a formula gets an apostrophe.
    public var isSafeForSpreadsheets: Bool

    /// Options for all rows, with blobs in full.
    public init(
      entityNames: Set<String>? = nil, limit: Int? = nil, blobs: BlobForm = .hex,
      isSafeForSpreadsheets: Bool = false
    ) {
      self.entityNames = entityNames
      self.limit = limit
      self.blobs = blobs
      self.isSafeForSpreadsheets = isSafeForSpreadsheets
    }
  }

  /// What to write.
  package var options: Options

  /// An output with these options.
  public init(_ options: Options = Options()) { self.options = options }

  /// Writes the rows as JSON: one line for each row, or one object with all rows under `rows`.
  /// - Returns: the number of rows.
  @discardableResult
  public func writeJSON(of store: CoreDataStore, as form: JSONForm = .lines, to descriptor: Int32)
    throws -> Int
  {
    var output = OutputBuffer(descriptor: descriptor)
    if form == .object { output.append("{\"schema\":\"lifeboat.rows\",\"version\":1,\"rows\":[\n") }
    var isFirst = true
    let count = try forEach(store) { row in
      if form == .object, !isFirst { output.append(",\n") }
      isFirst = false
      output.append(json: row, blobs: options.blobs)
      if form == .lines { output.append("\n") }
      return !output.isBroken
    }
    if form == .object { output.append("\n]}\n") }
    try output.finish()
    return count
  }

  /// Writes the rows of one entity, without its descendants, as CSV with a header line.
  /// - Returns: the number of rows.
  package func writeCSV(of entity: DescribedEntity, in store: CoreDataStore, to descriptor: Int32)
    throws -> Int
  {
    var output = OutputBuffer(descriptor: descriptor)
    output.append(csvHeader: entity, safeForSpreadsheets: options.isSafeForSpreadsheets)
    var count = 0
    try store.forEachRow(of: [entity.name]) { row in
      guard row.entityNumber == entity.number else { return true }
      if let limit = options.limit, count >= limit { return false }
      output.append(csv: row, safeForSpreadsheets: options.isSafeForSpreadsheets)
      count += 1
      return !output.isBroken
    }
    try output.finish()
    return count
  }

  private func forEach(_ store: CoreDataStore, _ body: (ManagedRow) -> Bool) throws -> Int {
    var count = 0
    guard options.limit != 0 else { return 0 }
    try store.forEachRow(of: options.entityNames) { row in
      count += 1
      return body(row) && options.limit.map { count < $0 } ?? true
    }
    return count
  }
}

extension OutputBuffer {
  /// Appends the header line of an entity's CSV.
  mutating func append(csvHeader entity: DescribedEntity, safeForSpreadsheets isSafe: Bool) {
    append("_pk")
    for property in entity.properties {
      append(UInt8(ascii: ","))
      append(csvField: property.name, safeForSpreadsheets: isSafe)
    }
    append("\r\n")
  }
}
