import CoreDataStore
import ManagedObjects
import ObjectModel
import SQLiteWriter

// What is done after the app's own code has worked on objects of the new store.
extension CopyRun {
  /// Runs the app's code on the objects of the new store. Then rejects the objects that lack a required value, and cuts
  /// the references that lead to no row.
  func change(by handler: (ObjectContext) throws -> Void, highestKeys: [String: Int64]) throws {
    let objects = ObjectContext(
      plan.destination, writer, schema: "main", storePath: storePath, highestKeys: highestKeys)
    try handler(objects)
    try objects.write()
    objects.finish()
    _ = try rejectIncomplete()
    try cutDanglingReferences()
  }

  /// Moves objects that lack a required value from the new store to the file of rejects. Returns their number, by
  /// entity name.
  func rejectIncomplete() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for table in plan.destination.tables {
      for (number, count) in try rejectIncomplete(of: table) {
        guard let entity = plan.destination.numbering.name(of: number) else { continue }
        counts[entity] = count
        broken.append(
          "\(count) \(count == 1 ? "object" : "objects") of \(entity) lack a value that the model demands"
        )
      }
    }
    return counts
  }

  private func rejectIncomplete(of table: TableLayout.Table) throws -> [Int64: Int] {
    let layout = plan.destination
    var flags: [String] = []
    var demanded: Set<String> = []
    for column in table.columns {
      guard case .attribute(let attribute) = column.role, !attribute.isOptional,
        !attribute.isDerived
      else { continue }
      flags.append(
        "(Z_ENT IN (\(layout.numberList(of: column.entityName))) AND \(try SQLText.quoted(column.name)) IS NULL)"
      )
      demanded.insert(column.name)
    }
    guard !flags.isEmpty else { return [:] }
    let columns = table.columnNames
    let listed = try columns.map { try SQLText.quoted($0) }.joined(separator: ", ")
    let name = try SQLText.quoted(table.name)
    // SQLite limits the depth of an expression, so many terms are allowed only as a sum of short ones.
    let parts = stride(from: 0, to: flags.count, by: 100).map { start in
      "(" + flags[start..<min(start + 100, flags.count)].joined(separator: " OR ") + ")"
    }
    let condition = parts.joined(separator: " OR ")
    let statement = try writer.prepare("SELECT \(listed) FROM \(name) WHERE \(condition)")
    defer { statement.finalize() }
    var counts: [Int64: Int] = [:]
    while try statement.step() {
      let row = statement.row
      let missing = columns.indices.filter { row[$0] == .null && demanded.contains(columns[$0]) }
      try rejects.add(
        row, columns, layout,
        "the new model demands a value of \(missing.map { columns[$0] }.joined(separator: ", ")), and the app's code gave none"
      )
      if case .integer(let number) = row[1] { counts[number, default: 0] += 1 }
    }
    guard !counts.isEmpty else { return [:] }
    statement.finalize()
    try writer.execute("DELETE FROM \(name) WHERE \(condition)")
    return counts
  }
}
