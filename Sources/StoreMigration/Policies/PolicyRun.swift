import CoreDataStore
import ManagedObjects
import ObjectModel
import SQLiteFile
import SQLiteWriter
import SafeText

/// Carries out the mappings that have a policy, in three passes. Each pass goes through the mappings in the order of
/// the mapping model.
final class PolicyRun {
  private let run: CopyRun
  private let manager: MigrationManager
  private var works: [MigrationManager.Work] { manager.works.filter { $0.policy != nil } }

  init(_ run: CopyRun, _ manager: MigrationManager) {
    self.run = run
    self.manager = manager
  }

  /// The first pass: the policies make the new objects.
  func createInstances() throws {
    for work in works {
      guard let policy = work.policy else { continue }
      try policy.begin(work.mapping, with: manager)
      try forEachSource(of: work) { source in
        let (written, rejected) = (work.copy.writtenCount, work.copy.rejectedCount)
        try policy.createDestinationInstances(for: source, in: work.mapping, with: manager)
        try manager.destination.write()
        guard work.copy.writtenCount == written else { return }
        let made = try manager.destinationInstances(
          forEntityMappingNamed: work.mapping.name, sourceInstances: [source])
        if !made.isEmpty {
          work.copy.writtenCount += 1
        } else if work.copy.rejectedCount == rejected {
          work.copy.passedOverCount += 1
        }
      }
      try policy.endInstanceCreation(work.mapping, with: manager)
      try manager.destination.write()
    }
    try leadToAssociated()
  }

  /// Runs the second pass: each policy sets the relationships of the objects that its mapping made. Relationships that
  /// the mappings' expressions describe are set before this pass.
  func createRelationships() throws {
    for work in works {
      guard let policy = work.policy else { continue }
      var last: [SQLiteValue]?
      while true {
        let rows = try manager.associated(work, after: last)
        for row in rows {
          last = row
          guard let object = try manager.object(row) else { continue }
          try policy.createRelationships(for: object, in: work.mapping, with: manager)
          try manager.destination.write()
        }
        if rows.count < 1000 { break }
      }
      try policy.endRelationshipCreation(work.mapping, with: manager)
      try manager.destination.write()
    }
  }

  /// The third pass: the policies check the new objects. Afterwards, objects that lack a required value are rejected.
  func validate() throws {
    for work in works {
      try work.policy?.performCustomValidation(work.mapping, with: manager)
      try manager.destination.write()
    }
    for work in works {
      try work.policy?.end(work.mapping, with: manager)
      try manager.destination.write()
    }
    manager.source.finish()
    manager.destination.finish()
    try run.rejectIncomplete()
  }

  /// Sentences for the report that say which policy class carried out each mapping, and how many objects the policies
  /// made.
  var notes: [String] {
    works.map {
      "mapping \($0.mapping.name) was carried out by the class \($0.copy.policyClass ?? "") of the app"
    }
      + manager.destination.insertedCounts.sorted { $0.key < $1.key }.map { name, count in
        "policies made \(counted(count, "object")) of \(name)"
      }
  }

  private func forEachSource(of work: MigrationManager.Work, _ body: (ManagedObject) throws -> Void)
    throws
  {
    let names = work.table.definition.columns.map(\.name)
    guard let entityColumn = work.table.entityColumn else { return }
    let numbers = work.table.entities.filter { $0.value.contains { $0 === work.copy } }.keys
      .sorted()
    let list = numbers.map(String.init).joined(separator: ", ")
    let statement = try run.writer.prepare(
      "SELECT Z_PK FROM \(MigrationManager.schema).\(SQLText.quoted(work.table.table)) WHERE \(SQLText.quoted(names[entityColumn])) IN (\(list)) ORDER BY Z_PK"
    )
    defer { statement.finalize() }
    while try statement.step() {
      let key = statement.integer(at: 0)
      guard try run.takes(key, work.copy, work.table, from: MigrationManager.schema),
        let source = try manager.source.object(
          withKey: key, inTableOf: work.mapping.sourceEntityName)
      else {
        work.copy.passedOverCount += 1
        continue
      }
      try body(source)
    }
  }

  /// Corrects references to objects that a policy was expected to make, but did not make. If the policy has made
  /// another new object from the same source object, the reference is set to this object.
  private func leadToAssociated() throws {
    for work in works {
      let layout = run.plan.destination
      guard let table = layout.table(of: work.mapping.destinationEntityName) else { continue }
      let name = try SQLText.quoted(table.name)
      let numbers = table.entityNames.compactMap { layout.numbering.number(of: $0) }
        .map(String.init).joined(separator: ", ")
      let promised = work.copy.shift.key("source")
      try run.writer.execute(
        "CREATE TEMP TABLE moved AS SELECT \(promised) AS old, min(destination) AS new FROM \(MigrationManager.associations) WHERE mapping = \(work.number) AND entity IN (\(numbers)) GROUP BY source HAVING NOT EXISTS (SELECT 1 FROM \(name) WHERE Z_PK = \(promised))"
      )
      try run.writer.execute("CREATE INDEX temp.\"moved keys\" ON moved (old)")
      for reference in run.plan.references where reference.destinationTable == table.name {
        let (into, column) = try (
          SQLText.quoted(reference.table), SQLText.quoted(reference.column)
        )
        try run.writer.execute(
          "UPDATE \(into) SET \(column) = (SELECT new FROM moved WHERE old = \(column)) WHERE \(column) IN (SELECT old FROM moved)"
        )
      }
      for join in layout.joinTables {
        for (entity, column) in [
          (join.ownerName, join.ownerColumn),
          (join.relationship.destinationEntityName, join.destinationColumn),
        ] where layout.table(of: entity) == table {
          let (into, column) = try (SQLText.quoted(join.name), SQLText.quoted(column))
          try run.writer.execute(
            "UPDATE OR IGNORE \(into) SET \(column) = (SELECT new FROM moved WHERE old = \(column)) WHERE \(column) IN (SELECT old FROM moved)"
          )
        }
      }
      try run.writer.execute("DROP TABLE temp.moved")
    }
  }
}
