import CoreDataForensics
import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction

extension Migration {
  /// A step that is compiled for one store. The initializer throws when the step cannot be carried out for this store.
  struct Work {
    let step: MigrationStep
    let schema: FreshStoreSchema
    var plan: CopyPlan
    let entityNames: [Int64: String]
    /// The relationships that give their names to join tables, each written as `Entity.relationship`; see
    /// ``TableLayout/init(_:namedAfter:)``.
    let sides: Set<String>
    let sourceLayout: TableLayout

    init(
      _ step: MigrationStep, _ source: Source, _ missingPolicy: MissingPolicy,
      _ policies: PolicyRegister, namedAfter sides: Set<String>?, withHistory: Bool = false,
      after previous: Work? = nil
    ) throws {
      guard let model = step.from ?? source.model else {
        throw MigrationError(
          .noSourceModel,
          ["the store carries no model that can be read; give the model that wrote it"])
      }
      self.step = step
      let tables = try SourceTables(model, source)
      self.sides = sides ?? tables.joinSides
      schema = try FreshStoreSchema(
        step.to, withHistory: withHistory && source.hasHistory, namedAfter: self.sides)
      entityNames = tables.entityNames
      sourceLayout = tables.layout
      plan = try CopyCompiler.plan(
        step.mapping, from: tables, to: schema.layout, missingPolicy: missingPolicy,
        policies: policies
      ) { table in try source.highestKey(in: table) }
      // The app's code may copy a reference to an external file from one object to another, so that both share the
      // file. All later steps copy these references, too.
      if plan.hasPolicies || step.handler != nil || previous?.plan.sharesFiles == true {
        plan.sharesFiles = true
      }
    }
  }

  /// Checks the steps after the first one before any row is copied, so that a step that cannot be carried out costs no
  /// time. The store that such a step will read is known in advance, because the step before will make it. SQLite reads
  /// the statements in an empty file, which is discarded.
  func checkLaterSteps(_ steps: [MigrationStep], to output: String) throws {
    guard let first = steps.first, steps.count > 1 else { return }
    let writer = try newFile(for: output)
    defer { writer.discard() }
    var earlier = try FreshStoreSchema(first.to)
    for step in steps.dropFirst() {
      let schema = try FreshStoreSchema(step.to)
      let plan = try CopyCompiler.plan(
        step.mapping,
        from: SourceTables(step.from ?? earlier.layout.model, storeMadeBy: earlier),
        to: schema.layout, missingPolicy: missingPolicy, policies: policies
      ) { _ in 0 }
      try plan.checkStatements(
        step.mapping.entityMappings, in: writer, defining: schema.statements)
      earlier = schema
    }
  }

  func run(
    _ work: Work, _ source: Source, _ identity: StoreIdentity, into writer: SQLiteWriter,
    _ rejects: RejectedRows, _ external: ExternalFiles?, _ watch: ProgressWatch,
    storePath: String, isFirst: Bool,
    then complete: (CopyRun) throws -> Void = { _ in }
  ) throws -> MigrationReport.Step {
    let (step, schema, plan) = (work.step, work.schema, work.plan)
    let run = CopyRun(plan, writer, rejects, watch, storePath: storePath, external: external)
    var notes: [String] = []
    let plain = Set(schema.indexes.filter { !$0.isUnique }.map(\.sql))
    var later = schema.statements.filter { plain.contains($0) }
    let first = schema.statements.filter { !plain.contains($0) }
    try writer.transaction { for statement in first { try writer.define(statement) } }
    try plan.checkStatements(step.mapping.entityMappings, in: writer)
    if case .sound(let store) = source {
      let made = try run.fill(store, schema)
      later.removeAll { made.contains($0) }
    }
    try writer.transaction {
      switch source {
      case .sound(let store):
        try run.read(store)
        guard plan.hasPolicies else {
          try run.relate(store)
          break
        }
        // The indexes are made before the policies run, because policies follow relationships, which would be slow
        // without indexes.
        for statement in later { try writer.define(statement) }
        let objects = PolicyRun(
          run,
          try MigrationManager(
            run, work.sourceLayout, policies,
            highestKeys: try highestKeys(work, store, in: writer)))
        try objects.createInstances()
        try run.relate(store)
        try run.setWaitingReferences()
        try objects.createRelationships()
        try objects.validate()
        notes = objects.notes
      case .damaged(let store, let deleted):
        try run.read(store, entityNames: work.entityNames, deleted ? .all : .readable)
      }
      run.finish()
      try watch.endRows()
      // The indexes are made here, because the search for references that lead to no row is fast only with indexes.
      if !plan.hasPolicies { for statement in later { try writer.define(statement) } }
      try run.settleReferences()
      if let handler = step.handler {
        try run.change(
          by: handler, highestKeys: try identity.highestKeys(schema, plan, in: writer))
      }
      if plan.sharesFiles { try run.settleExternalFiles() }
      try complete(run)
      if keepsHistory, source.hasHistory {
        var history = HistoryCopy(
          run, known: Set(work.entityNames.keys), from: work.sourceLayout.model, to: schema)
        notes += try history.copy(from: source)
      }
      try identity.write(schema, plan, to: writer)
    }
    // Removes the free pages that the dropped staged tables have left.
    if !plan.staged.isEmpty || !plan.links.isEmpty {
      try writer.execute("PRAGMA incremental_vacuum")
    }
    var report = MigrationReport.Step(step)
    report.entities = run.entities
    report.cut = run.cut
    report.leftOut = Set(
      plan.leftOut + run.broken + run.leftBehindReasons + (isFirst ? identity.leftOut : [])
    ).sorted()
    if isFirst { notes += identity.notes(plan, keepsHistory: keepsHistory) }
    report.notes = Set(plan.notes + notes + Self.lost(work, isFirst: isFirst)).sorted()
    return report
  }

  /// Returns a note that names the properties whose values a migration step does not carry over. Returns an empty array
  /// if the step carries over the values of all properties.
  private static func lost(_ work: Work, isFirst: Bool) -> [String] {
    let names = work.step.mapping.losses(of: work.sourceLayout.model, to: work.step.to)
      .compactMap { loss in loss.propertyName.map { "\(loss.entityName).\($0)" } }
    guard !names.isEmpty else { return [] }
    let shown = names.prefix(10).joined(separator: ", ")
    let more = names.count > 10 ? " and \(names.count - 10) more" : ""
    // A later step may also leave behind what an earlier step has added.
    let place =
      isFirst ? "they are in the old store only" : "those that the old store has are only there"
    return ["values of \(shown)\(more) are not carried over; \(place)"]
  }

  /// Returns the highest primary key of each new table, keyed by table name. Includes keys that are reserved for rows
  /// that a migration policy has yet to make.
  func highestKeys(_ work: Work, _ store: CoreDataStore, in writer: SQLiteWriter) throws
    -> [String: Int64]
  {
    var highest: [String: Int64] = [:]
    for table in work.schema.layout.tables {
      highest[table.name] = try writer.highestKey(of: table.name)
    }
    for table in work.plan.tables {
      let old = try Source.sound(store).highestKey(in: table.table)
      for copy in table.copies {
        guard let target = work.schema.layout.table(of: copy.destinationEntity)?.name else {
          continue
        }
        let promised = copy.shift.offset.addingReportingOverflow(copy.shift.highest ?? old)
        highest[target] = max(
          highest[target] ?? 0, promised.overflow ? .max : promised.partialValue)
      }
    }
    return highest
  }

  /// Checks a finished file. SQLite checks the file, while another thread compares the file with the rules of its
  /// model. If `isKept` is true, the file is set to WAL mode first. Throws ``MigrationError`` when one of these checks
  /// fails.
  func finish(_ writer: SQLiteWriter, isKept: Bool) throws {
    let path = writer.path
    if isKept {
      // Core Data's stores are in WAL mode, which is recorded in the file's header.
      try writer.execute("PRAGMA journal_mode = WAL")
    }
    let own = AnotherThread { try StoreCheck(path: path) }
    let problems = Result { try writer.check(writer.finalCheckDepth(verifies: verifies)) }
    let check = Result { try own.wait() }
    if let problem = try problems.get().first {
      throw MigrationError(
        .checkFailed, ["the new store does not pass SQLite's own check: \(problem)"])
    }
    // Missing external files are ignored here, because the files are not yet copied from the old store's folder.
    let damage = try check.get().findings.filter {
      $0.severity == .damage && $0.id != .coredataExternalFileMissing
    }
    guard damage.isEmpty else {
      throw MigrationError(.checkFailed, damage.prefix(5).map(\.message))
    }
    try writer.complete()
  }
}
