import CoreDataStore
import ManagedObjects
import ObjectModel
import SQLiteWriter
import StoreExtraction

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
    try rejectIncomplete()
    try cutDanglingReferences()
  }

  /// Moves objects that lack a required value from the new store to the file of rejects, and counts the rows that they
  /// were made from as rejected.
  func rejectIncomplete() throws {
    for table in plan.destination.tables {
      for (number, count) in try rejectIncomplete(of: table) {
        guard let entity = plan.destination.numbering.name(of: number) else { continue }
        countRejected(count, of: entity)
        broken.append(
          "\(count) \(count == 1 ? "object" : "objects") of \(entity) lack a value that the model demands"
        )
      }
    }
  }

  /// Counts written rows of a new entity as rejected: first those of mappings with a policy. Objects that the app's
  /// code has made without an old row were never counted.
  private func countRejected(_ count: Int, of entity: String) {
    let copies = plan.tables.flatMap { table in
      table.entities.sorted { $0.key < $1.key }.flatMap(\.value)
    }.filter { $0.destinationEntity == entity }
    let isMade = { (copy: EntityCopy) in copy.policyClass != nil }
    var rest = count
    for copy in copies.filter(isMade) + copies.filter({ !isMade($0) }) {
      let counted = min(rest, copy.writtenCount)
      copy.writtenCount -= counted
      copy.rejectedCount += counted
      rest -= counted
    }
  }

  /// Notes the external files that objects of the new store name: the app's code may have given an object the file of
  /// another one.
  func noteExternalFilesOfObjects() throws {
    guard let external else { return }
    for table in plan.destination.tables {
      for column in table.columns {
        guard case .attribute(let attribute) = column.role,
          attribute.allowsExternalBinaryDataStorage
        else { continue }
        let name = try SQLText.quoted(column.name)
        let statement = try writer.prepare(
          "SELECT \(name) FROM main.\(SQLText.quoted(table.name)) WHERE \(StoreMerge.namesFile(name))"
        )
        defer { statement.finalize() }
        while try statement.step() {
          if case .blob(let bytes) = statement.value(at: 0),
            let file = ExternalBlob.identifier(in: bytes)
          {
            external.note(file, in: column.entityName)
          }
        }
      }
    }
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
