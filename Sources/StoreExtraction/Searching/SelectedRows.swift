package import CoreDataStore
import ObjectModel
package import RowText
import SQLiteFile

/// Says which rows are selected, which of their properties are wanted, and how the rows are sorted.
package struct SelectedRows {
  /// The condition for selected rows; nil to select all rows.
  package var condition: RowCondition?
  /// The names of the wanted properties, in the order of the output; empty for all properties.
  package var columns: [String] = []
  /// The properties by which rows are sorted; each property decides between rows that are equal in all earlier ones.
  /// Empty for key order.
  package var order: [Order] = []
  /// The maximum number of rows of each entity or table; nil for all.
  package var limit: Int?

  /// A property to sort by. In ascending order, rows without a value come first, as in SQLite.
  package struct Order {
    let name: String
    let isDescending: Bool

    /// Parses `name` for ascending order, or `-name` for descending order.
    package init(_ text: String) {
      isDescending = text.utf8.first == UInt8(ascii: "-")
      name = isDescending ? String(decoding: text.utf8.dropFirst(), as: UTF8.self) : text
    }
  }

  /// An entity or table whose rows can be selected.
  package struct Source {
    package enum Kind {
      case entity
      /// The rows of a table of entities whose entity number belongs to none of these entities.
      case unknownEntities
      case table
    }

    /// The name of the entity or table. For ``Kind/unknownEntities``, this is the name of the table.
    package let name: String
    package let kind: Kind
    package let properties: [DescribedEntity.Property]

    /// Whether the rows have primary keys, because Core Data makes them.
    package var isEntity: Bool { kind != .table }
  }

  package struct Row {
    /// The primary key or row id; nil in a table without row ids.
    package let key: Int64?
    /// The number in Z_ENT; nil in a table that belongs to no entity, and when the column holds no integer.
    package let entityNumber: Int64?
    /// The wanted properties, in the wanted order.
    package let properties: [ManagedRow.Property]
  }

  /// The maximum number of rows that can be sorted. Their sort keys and wanted values are kept in memory.
  package static let maxSorted = 4_000_000

  /// Selects all rows with all their properties, in key order.
  package init() {}

  // MARK: - Sources

  /// Returns the entities or tables whose rows can be selected, in the order of the store. `names` are the wanted
  /// entities and tables; nil for all. The descendants of a wanted entity are wanted, too.
  ///
  /// An entity or table is left out if it lacks a property that the condition, the columns or the order need. If all
  /// are left out for this reason, throws ``ExtractionError`` with `input.unknownName`.
  package func sources(in store: CoreDataStore, _ names: [String]?) throws -> [Source] {
    var all: [Source] = []
    let wanted = names.map(store.numbers(ofEntities:))
    for table in store.entityTables {
      for entity in try store.describedEntities(of: table)
      where wanted?.contains(entity.number) ?? true {
        all.append(Source(name: entity.name, kind: .entity, properties: entity.properties))
      }
    }
    let needed =
      (condition?.keyPaths ?? []).map { ConditionPath($0).first } + columns + order.map(\.name)
    if names == nil {
      // To find out whether a table has such rows, the whole table is read, so tables that cannot fit are left out first.
      all += try store.unknownRows { properties in
        needed.allSatisfy { ExactText.place(of: $0, in: properties, \.name) != nil }
      }.map {
        Source(name: $0.table.name, kind: .unknownEntities, properties: $0.properties)
      }
    }
    // If no names are given, tables that belong to no entity are read only in a store that is not a Core Data store.
    let tables = names != nil || store.kind == .sqlite ? store.plainTables : []
    for table in ExactText.named(names, among: tables, \.name) {
      all.append(
        Source(
          name: table.name, kind: .table,
          properties: table.columnNames.map { .init(name: $0, kind: .column, typeName: "") }))
    }
    // If the bytes of a name are exactly those of some property, the name does not stand for any other property.
    let exact = Set(all.flatMap { $0.properties.map { ExactText($0.name) } })
    func has(_ source: Source, _ name: String) -> Bool {
      exact.contains(ExactText(name))
        ? source.properties.contains { ExactText.isSame($0.name, name) }
        : ExactText.place(of: name, in: source.properties, \.name) != nil
    }
    let fitting = all.filter { source in needed.allSatisfy { has(source, $0) } }
    if fitting.isEmpty, !needed.isEmpty {
      let missing = needed.first { name in !all.contains { has($0, name) } }
      let known = all.flatMap { $0.properties.map(\.name) }
      let only = all.count == 1 ? all[0] : nil
      throw ExtractionError(
        .unknownName,
        "none of the chosen \(store.kind == .sqlite ? "tables" : "entities") has \(missing ?? "all of \(needed.joined(separator: ", "))")",
        path: store.database.path, nearest: missing.flatMap { NearestName.of($0, among: known) },
        listing: Self.listing(
          of: only?.name, isEntity: only?.isEntity ?? (store.kind != .sqlite), in: store))
    }
    return fitting
  }

  /// Returns what shows the properties of an entity or table, or of all if `name` is nil.
  static func listing(
    of name: String?, isEntity: Bool, in store: CoreDataStore
  ) -> ExtractionError.Listing {
    isEntity && store.cachedModel != nil ? .attributes(of: name) : .columns(of: name)
  }

  package func names(_ source: Source) -> [String] {
    columns.isEmpty ? source.properties.map(\.name) : columns
  }

  // MARK: - Rows

  /// Calls `receive` with each selected row of an entity or table, until `receive` returns false.
  ///
  /// - Returns: the number of rows that meet the condition, including rows beyond the limit.
  /// - Throws: ``ExtractionError`` for a condition that cannot be evaluated on the rows, and for more rows than can be
  ///   sorted; `SQLiteFileError` when the device fails.
  package func forEachRow(
    of source: Source, in store: CoreDataStore, _ receive: (Row) -> Bool
  ) throws -> Int {
    let paths = try ConditionPaths(condition, of: source, in: store)
    func ownName(_ name: String) -> String {
      let place = ExactText.place(of: name, in: source.properties, \.name)
      return place.map { source.properties[$0].name } ?? name
    }
    let columns = columns.map(ownName)
    let orderNames = order.map { ownName($0.name) }
    func row(_ key: Int64?, _ number: Int64?, _ properties: [ManagedRow.Property]) -> Row {
      Row(key: key, entityNumber: number, properties: Self.chosen(columns, of: properties))
    }
    var sorted: [(keys: [ConditionValue], row: Row)] = []
    var count = 0
    var goesOn = true
    var hasTooMany = false
    try read(source, in: store) { key, entityNumber, properties in
      if let condition, !condition.holds({ paths.value(of: $0, in: properties) }) { return true }
      count += 1
      if order.isEmpty {
        if goesOn, limit.map({ count <= $0 }) ?? true {
          goesOn = receive(row(key, entityNumber, properties))
        }
        return goesOn
      }
      let keys = orderNames.map { name in
        properties.first { ExactText.isSame($0.name, name) }.map { ConditionValue($0.value) }
          ?? .null
      }
      sorted.append((keys, row(key, entityNumber, properties)))
      // If there is a limit, only the rows that come first in the order are kept, at most as many as the limit.
      if let limit, sorted.count > max(1000, 2 * min(limit, Self.maxSorted)) {
        sort(&sorted)
        sorted.removeLast(sorted.count - limit)
      }
      hasTooMany = sorted.count > Self.maxSorted
      return !hasTooMany
    }
    guard !hasTooMany else {
      throw ExtractionError(
        .badCondition,
        "more than \(Self.maxSorted) rows of \(source.name) would have to be sorted; choose fewer with --where, or set --limit"
      )
    }
    sort(&sorted)
    for (_, row) in sorted.prefix(limit ?? .max) where goesOn { goesOn = receive(row) }
    return count
  }

  private func read(
    _ source: Source, in store: CoreDataStore,
    _ receive: (_ key: Int64?, _ entityNumber: Int64?, _ properties: [ManagedRow.Property]) -> Bool
  ) throws {
    if source.kind == .entity {
      return try store.forEachRow(of: [source.name]) { row in
        guard let name = row.entityName, ExactText.isSame(name, source.name) else { return true }
        return receive(row.primaryKey, row.entityNumber, row.properties)
      }
    }
    guard let table = store.database.schema.table(named: source.name) else { return }
    if source.kind == .unknownEntities {
      return try store.forEachRow(in: [table]) { row in
        row.entityName != nil || receive(row.primaryKey, row.entityNumber, row.properties)
      }
    }
    try store.database.forEachRow(of: table) { row in
      let values = zip(source.properties, row.values).map { property, value in
        ManagedRow.Property(name: property.name, value: PropertyValue(value, isDate: false))
      }
      return receive(row.rowID, nil, values)
    }
  }

  private static func chosen(
    _ columns: [String], of properties: [ManagedRow.Property]
  ) -> [ManagedRow.Property] {
    guard !columns.isEmpty else { return properties }
    return columns.compactMap { name in properties.first { ExactText.isSame($0.name, name) } }
  }

  private func sort(_ rows: inout [(keys: [ConditionValue], row: Row)]) {
    rows.sort { one, other in
      for (place, order) in order.enumerated() {
        let result = Self.compare(one.keys[place], other.keys[place])
        if result != 0 { return order.isDescending ? result > 0 : result < 0 }
      }
      return one.row.key ?? 0 < other.row.key ?? 0
    }
  }

  /// Compares any two values in SQLite's order: NULL, numbers and dates, texts, bytes. Returns a number below 0, 0 or
  /// above 0.
  private static func compare(_ one: ConditionValue, _ other: ConditionValue) -> Int {
    func rank(_ value: ConditionValue) -> Int {
      switch value {
      case .null: 0
      case .integer, .real, .date, .period: 1
      case .text, .uuid: 2
      case .bytes: 3
      case .list: 4
      }
    }
    if rank(one) != rank(other) { return rank(one) < rank(other) ? -1 : 1 }
    return ConditionValue.order(one, other) ?? 0
  }
}

extension OutputBuffer {
  /// Appends a selected row as a JSON object. For the row of an entity, the object has the form of ``NamedRowSink``.
  /// For the row of a table, the members of the object are `table`, `rowid` and `values`.
  package mutating func append(
    json row: SelectedRows.Row, of source: SelectedRows.Source, blobs: BlobForm
  ) {
    switch source.kind {
    case .entity, .table:
      append(source.isEntity ? "{\"entity\":" : "{\"table\":")
      append(jsonString: source.name)
    case .unknownEntities:
      append("{\"entity\":null,\"entityNumber\":")
      if let number = row.entityNumber { append(integer: number) } else { append("null") }
    }
    append(source.isEntity ? ",\"pk\":" : ",\"rowid\":")
    if let key = row.key { append(integer: key) } else { append("null") }
    append(valuesOf: row.properties, blobs: blobs)
    append("}")
  }

  /// Appends a selected row as a line of CSV: the row's key, then its values.
  package mutating func append(csv row: SelectedRows.Row, _ form: CSVForm) {
    if let key = row.key { append(integer: key) }
    append(csvValuesOf: row.properties, form)
    append("\r\n")
  }

  /// Appends a selected row as a line of CSV with rows of several sources: the name of the entity, which is empty for an
  /// unknown entity, the row's key, then the values. `places` gives the column of each value among `count` columns; if it
  /// is nil, the values of all rows are in the same order.
  package mutating func append(
    csv row: SelectedRows.Row, of source: SelectedRows.Source, at places: [Int?]?, of count: Int,
    _ form: CSVForm
  ) {
    if source.kind != .unknownEntities {
      append(csvField: source.name, safeForSpreadsheets: form.isSafeForSpreadsheets)
    }
    append(form.separator)
    guard let places else { return append(csv: row, form) }
    var fields = [ManagedRow.Property](repeating: .init(name: "", value: .null), count: count)
    for (place, property) in zip(places, row.properties) {
      if let place { fields[place] = property }
    }
    append(
      csv: .init(key: row.key, entityNumber: row.entityNumber, properties: fields), form)
  }
}
