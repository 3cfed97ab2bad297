import CoreDataStore
import Foundation
import ManagedObjects
import ObjectModel
import SQLiteWriter
import SafeText
import StoreExtraction

// Runs the app's code on the new store, and checks the objects afterwards.
extension CopyRun {
  /// Runs the app's code on the objects of the new store. Then rejects objects that lack a required value, and cuts
  /// references that lead to no row.
  func change(by handler: (ObjectContext) throws -> Void, highestKeys: [String: Int64]) throws {
    let objects = ObjectContext(
      plan.destination, writer, schema: "main", storePath: storePath, highestKeys: highestKeys)
    try handler(objects)
    try objects.write()
    objects.finish()
    try rejectIncomplete()
    try cutDanglingReferences()
  }

  /// Removes objects that lack a required value from the new store, and writes them into the file of rejects. The old
  /// rows from which these objects were made count as rejected.
  func rejectIncomplete() throws {
    for table in plan.destination.tables {
      for (number, count) in try rejectIncomplete(of: table) {
        guard let entity = plan.destination.numbering.name(of: number) else { continue }
        countRejected(count, of: entity)
        broken.append(
          "\(counted(count, "object")) of \(entity) \(count == 1 ? "lacks" : "lack") a value that the model requires"
        )
      }
    }
  }

  /// Moves `count` rows of a new entity from the counts of written rows to the counts of rejected rows. The counts of
  /// mappings with a policy are changed first. Fewer rows may be moved, because no count includes objects that the
  /// app's code made without an old row.
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

  /// Collects the external files that objects of the new store refer to. Several objects refer to the same file if a
  /// mapping or the app's code has copied the reference. In this case, each object except the first gets its own copy
  /// of the file, under a new name. Otherwise, deleting one object would delete the file of the other objects.
  func settleExternalFiles() throws {
    guard let external else { return }
    var met: Set<String> = []
    for table in plan.destination.tables {
      for column in table.columns {
        guard case .attribute(let attribute) = column.role,
          attribute.allowsExternalBinaryDataStorage
        else { continue }
        let (into, name) = try (SQLText.quoted(table.name), SQLText.quoted(column.name))
        let statement = try writer.prepare(
          "SELECT \(name), Z_PK FROM main.\(into) WHERE \(StoreMerge.namesFile(name))")
        defer { statement.finalize() }
        var further: [(file: String, key: SQLiteValue)] = []
        while try statement.step() {
          if case .blob(let bytes) = statement.value(at: 0),
            let file = ExternalBlob.identifier(in: bytes)
          {
            external.note(file, in: column.entityName)
            if !met.insert(file).inserted { further.append((file, statement.value(at: 1))) }
          }
        }
        statement.finalize()
        let rename = try writer.prepare("UPDATE main.\(into) SET \(name) = ?2 WHERE Z_PK = ?1")
        defer { rename.finalize() }
        for (file, key) in further {
          let new = UUID().uuidString
          external.add(new, forFile: file)
          try rename.run([key, .blob(StoreMerge.stored(new))])
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
    let condition = SQLText.joined(flags, by: "OR")
    let statement = try writer.prepare("SELECT \(listed) FROM \(name) WHERE \(condition)")
    defer { statement.finalize() }
    var counts: [Int64: Int] = [:]
    while try statement.step() {
      let row = statement.row
      let missing = columns.indices.filter { row[$0] == .null && demanded.contains(columns[$0]) }
      try rejects.add(
        row, columns, layout,
        "the new model requires a value for \(missing.map { columns[$0] }.joined(separator: ", ")), but the app's code gave none"
      )
      if let number = row[1].int64 { counts[number, default: 0] += 1 }
    }
    guard !counts.isEmpty else { return [:] }
    statement.finalize()
    try writer.execute("DELETE FROM \(name) WHERE \(condition)")
    return counts
  }
}
