import SafeText
import SafeFiles
import CoreDataForensics
package import CoreDataStore
import Foundation
import ModelTools
public import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
package import StoreExtraction
import StoreFiles

/// Carries the rows of a store into a new store of another version of its model, or of the same one.
///
/// The old store is only read. The new one is written under a private name, checked by SQLite and by Lifeboat's own
/// check, and then given its name.
public struct Migration: Sendable {
  /// What a mapping does that names a class of the app.
  public var missingPolicy = MissingPolicy.refuse
  /// Called now and then with how far the migration is, on the thread that runs it; nil when nobody wants to know.
  public var onProgress: (@Sendable (MigrationProgress) -> Void)?
  /// Asked now and then whether the migration is to end; nothing of it is left then.
  public var isCancelled: @Sendable () -> Bool = { false }
  private var policies = PolicyRegister()
  /// Whether SQLite runs `integrity_check`, not just `quick_check`, on a large new store.
  public var verifies = false
  /// Tracks what is made, for a caller that must remove it quickly.
  package var made = MadeFiles()

  /// A migration that refuses what it cannot do.
  public init() {}

  /// Registers the app's code for mappings that name a class.
  ///
  /// - Parameters:
  ///   - className: the name that the mapping model uses, with or without the name of the module.
  ///   - make: makes the policy of one mapping.
  public mutating func register(
    _ className: String, _ make: @escaping @Sendable () -> any MigrationPolicy
  ) {
    policies.add(className, make)
  }

  /// Carries the rows of a Core Data store into a new store of `model`, by the mapping that Core Data would infer.
  ///
  /// - Parameters:
  ///   - path: the old store; it is only read.
  ///   - model: the model of the new store; nil for the one that the old store carries.
  ///   - output: the new store; nothing may exist there.
  ///   - salvages: whether the old store may be damaged: its live rows are then taken wherever they are found.
  ///   - present: the store that the app has used since; the rows of the old one go among its own. Nil for none. It is
  ///     only read.
  ///   - policy: what becomes of objects that both stores have.
  /// - Returns: what became of the rows.
  /// - Throws: ``MigrationError``; `SQLiteFileError` when the old store cannot be read; `ExtractionError` when it
  ///   changes meanwhile or the output cannot be made. In each case, what was written is removed.
  public func run(
    storeAt path: String, to model: ManagedObjectModel? = nil, output: String,
    salvages: Bool = false, into present: String? = nil, policy: MergePolicy = MergePolicy()
  ) throws -> MigrationReport {
    let source = try Source(path, salvages: salvages)
    guard let old = source.model else {
      throw MigrationError(
        .noSourceModel, ["the store carries no model that can be read"])
    }
    let present = try present.map { try PresentStore(path: $0, policy: policy) }
    let new = model ?? present?.model ?? old
    let step = MigrationStep(
      from: old, named: "the store's model", to: new, named: "the given model",
      mapping: try MappingModel.inferred(from: old, to: new), isInferred: true)
    return try run(source, [step], to: output, into: present)
  }

  /// Carries the rows of a Core Data store step by step into a new store of a version of the app's model: inferred, or by
  /// the app's mapping models and policies, whichever way is the shortest.
  ///
  /// - Parameters:
  ///   - path: the old store; it is only read.
  ///   - models: the app's models: a `.momd`, an `.xcdatamodeld`, a folder. Mapping models in it and beside it are used.
  ///   - version: the name of the version to migrate to; nil for the current one.
  ///   - mappings: more mapping models, or folders of them.
  ///   - output: the new store; nothing may exist there.
  ///   - salvages: whether the old store may be damaged: its live rows are then taken wherever they are found.
  /// - Returns: what became of the rows.
  /// - Throws: ``MigrationError``, also when no way leads to the version; `ModelError` when models cannot be read;
  ///   `SQLiteFileError` when the old store cannot; `ExtractionError` when it changes meanwhile or the output cannot be
  ///   made. In each case, what was written is removed.
  public func run(
    storeAt path: String, alongModelsAt models: String, toVersion version: String? = nil,
    mappings: [String] = [], output: String, salvages: Bool = false
  ) throws -> MigrationReport {
    let collection = try ModelCollection(searching: models)
    let named = version.map { name in collection.versions.first { $0.name == name } }
    guard let target = named ?? collection.current else {
      throw MigrationError(
        .noWay,
        [
          version.map { "\(models) has no version \($0)" }
            ?? "\(models) marks no version as current, so the one to migrate to must be named"
        ])
    }
    let source = try Source(path, salvages: salvages)
    let plan = MigrationPlanner(
      [collection], mappings: try MappingModelSet(named: mappings, withModelsAt: [models])
    ).plan(
      from: source.recordedHashes ?? source.model?.versionHashes().hashes ?? [:],
      model: source.model, to: target)
    return try run(source, MigrationStep.steps(of: plan, model: source.model), to: output)
  }

  /// Where the rows come from.
  package enum Source {
    /// A store that the ordinary reader reads.
    case sound(CoreDataStore)
    /// A store that may be damaged. `deleted` says whether deleted rows are wanted, too.
    case damaged(DamagedStore, deleted: Bool)

    init(_ path: String, salvages: Bool) throws {
      self =
        salvages
        ? .damaged(try DamagedStore(path: path), deleted: false)
        : .sound(try CoreDataStore(path: path))
    }

    /// The version hashes that the store records; nil when it records none.
    var recordedHashes: [String: VersionHash]? {
      let recorded =
        switch self {
        case .sound(let store): store.metadata?.versionHashes ?? [:]
        case .damaged(let store, _): store.recordedHashes
        }
      return recorded.isEmpty ? nil : recorded
    }

    fileprivate var path: String {
      switch self {
      case .sound(let store): store.database.path
      case .damaged(let store, _): store.database.path
      }
    }

    var model: ManagedObjectModel? {
      switch self {
      case .sound(let store): store.model
      case .damaged(let store, _): store.model
      }
    }
  }

  /// Runs the steps, one after the other, and keeps the last result; with `present`, puts its rows among those of that
  /// store.
  ///
  /// Nothing may exist at `output`.
  /// - Throws: ``MigrationError``, `FreshStoreSchema.Failure`, `SQLiteFileError`, `SQLiteWriterError`,
  ///   `ExtractionError`. In each case, what was written is removed.
  package func run(
    _ source: Source, _ steps: [MigrationStep], to output: String, into present: PresentStore? = nil
  ) throws -> MigrationReport {
    let paths = [source.path] + (present.map { [$0.path] } ?? [])
    let watches = [EvidenceWatch(source.path)] + (present.map { [$0.watch] } ?? [])
    try SQLiteWriter.checkFree(output)
    for path in paths {
      try ExternalFiles.checkFree(output, forStore: path)
      try Self.checkApart(output, path)
    }
    if let present, let one = try FileStatus.of(source.path),
      let two = try FileStatus.of(present.path),
      one.isSameFile(as: two)
    {
      throw MigrationError(.presentStore, ["\(present.path) is the store itself"])
    }
    let count = made.count
    do {
      let rejects = try RejectedRows(beside: output, made)
      var report = MigrationReport(announcing: [], of: source.path)
      report.output = output
      var last: SQLiteWriter?
      do {
        let target = try present.map { try MergeTarget($0, steps.last) }
        let external = ExternalFiles(ofStore: source.path, isOn: true)
        var files = [external]
        let steps = try withObjects(steps, of: source)
        if target != nil { rejects.store = "old" }
        let watch = ProgressWatch(self, stepCount: steps.count + (target == nil ? 0 : 1))
        last = try carry(source, steps, target, to: output, rejects, external, watch, &report)
        if let target, let other = last {
          let own = ExternalFiles(ofStore: target.present.path, isOn: true)
          try watch.beginStep()
          last = try merge(other, into: target, to: output, rejects, own, external, watch, &report)
          files.insert(own, at: 0)
        }
        guard let last else { throw MigrationError(.noWay, ["there is nothing to do"]) }
        // Under a private name, too, until the store has its own.
        let hidden = SQLiteWriter.privatePath(for: output) + ".files"
        let final = StoreSet.supportPath(of: output)
        var missing: [Finding] = []
        for external in files {
          let (copied, findings) = try external.copy(beside: hidden, made)
          missing += findings
          guard let copied else { continue }
          if report.externalFiles?.add(copied) == nil { report.externalFiles = copied }
        }
        let support = report.externalFiles?.output
        if support != nil { report.externalFiles?.output = final }
        report.take(
          [source] + (present.map { [$0.source] } ?? []), missing)
        for watch in watches {
          let changed = watch.changes()
          guard changed.isEmpty else {
            throw ExtractionError(
              .changedDuringRead,
              "the store changed while it was read: \(changed.joined(separator: ", "))",
              path: watch.path)
          }
        }
        // The three names are given while nothing can interrupt.
        try made.keep(to: count) {
          if let support { try Self.rename(support, to: final) }
          do {
            report.rejects = try rejects.publish()
            try last.publish(as: output)
          } catch {
            if let support { try? Self.rename(final, to: support) }
            throw error
          }
        }
      } catch {
        last?.discard()
        rejects.discard()
        throw error
      }
      return report
    } catch {
      made.takeBack(to: count)
      throw error
    }
  }

  /// Runs the steps and returns the last file, finished and under a private name; nil when there are no steps. On
  /// failure no file is left.
  private func carry(
    _ source: Source, _ steps: [MigrationStep], _ target: MergeTarget?, to output: String,
    _ rejects: RejectedRows, _ external: ExternalFiles, _ watch: ProgressWatch,
    _ report: inout MigrationReport
  ) throws -> SQLiteWriter? {
    let identity = try StoreIdentity(source)
    var current = source
    var last: SQLiteWriter?
    for (index, step) in steps.enumerated() {
      let isLast = index == steps.count - 1
      try watch.beginStep()
      let work = try Work(
        step, current, missingPolicy, policies,
        namedAfter: isLast ? target?.work.sides : nil)
      let writer = try newFile(for: output)
      do {
        report.steps.append(
          try attaching(work.plan.hasPolicies ? last : nil, to: writer) {
            try run(
              work, current, identity, into: writer, rejects, isLast ? external : nil,
              watch, storePath: source.path, isFirst: index == 0)
          })
        try finish(writer, isKept: isLast && target == nil)
        try watch.endStep()
      } catch {
        writer.discard()
        last?.discard()
        throw error
      }
      last?.discard()
      last = writer
      if !isLast { current = .sound(try CoreDataStore(path: writer.path, model: step.to)) }
    }
    return last
  }

  /// The steps, with one before the first that copies the store if policies work on its objects: they read and write
  /// files that this run has made.
  private func withObjects(_ steps: [MigrationStep], of source: Source) throws -> [MigrationStep] {
    // What the last step lacks is said before the first one begins.
    let missing = steps.flatMap(\.mapping.entityMappings).filter {
      $0.migrationPolicyClassName?.isEmpty == false
        && $0.migrationPolicyClassName.flatMap { policies.policy(named: $0) } == nil
    }
    guard missing.isEmpty || missingPolicy == .copy else {
      throw MigrationError(
        .missingPolicy,
        missing.map { "\($0.name) needs the class \($0.migrationPolicyClassName ?? "") of the app" }
          .sorted())
    }
    guard let first = steps.first, let model = first.from ?? source.model,
      first.mapping.entityMappings.contains(where: {
        $0.migrationPolicyClassName.flatMap { policies.policy(named: $0) } != nil
      })
    else { return steps }
    return [try .same(model, named: first.fromName)] + steps
  }

  private func attaching<R>(
    _ last: SQLiteWriter?, to writer: SQLiteWriter, _ body: () throws -> R
  ) throws -> R {
    guard let last else { return try body() }
    return try writer.attaching(last, as: MigrationManager.schema, body)
  }

  /// A new file under a private name beside the output.
  private func newFile(for output: String) throws -> SQLiteWriter {
    let writer = try made.making {
      let writer = try SQLiteWriter(
        creating: SQLiteWriter.privatePath(for: output), options: Self.options)
      return (writer, writer.path)
    }
    made.noteSidecars(ofDatabaseAt: writer.path)
    return writer
  }

  // MARK: - Merging

  /// The present store, and how its rows come into the new file.
  private struct MergeTarget {
    let present: PresentStore
    let work: Work

    init(_ present: PresentStore, _ last: MigrationStep?) throws {
      self.present = present
      guard let last else { throw MigrationError(.noWay, ["there is nothing to do"]) }
      try present.check(last.to)
      work = try Work(
        .same(last.to, named: last.toName), present.source, .refuse, PolicyRegister(),
        namedAfter: nil)
    }
  }

  /// Puts the rows of a finished file among those of the present store, in another new file. The finished one is thrown
  /// away then.
  private func merge(
    _ other: SQLiteWriter, into target: MergeTarget, to output: String, _ rejects: RejectedRows,
    _ own: ExternalFiles, _ external: ExternalFiles, _ watch: ProgressWatch,
    _ report: inout MigrationReport
  ) throws -> SQLiteWriter {
    let (present, work) = (target.present, target.work)
    let identity = try StoreIdentity(present.source)
    let writer = try newFile(for: output)
    do {
      rejects.store = "present"
      var merged: MigrationReport.Merge?
      let step = try writer.attaching(other, as: StoreMerge.schema) {
        try run(
          work, present.source, identity, into: writer, rejects, own, watch,
          storePath: present.path, isFirst: true
        ) { copy in
          var merge = StoreMerge(
            work.schema.layout, present.policy, writer, rejects,
            highestKeys: try identity.highestKeys(work.schema, work.plan, in: writer),
            into: present.path, files: own, external)
          rejects.store = "old"
          try merge.run(copy)
          merged = merge.report
        }
      }
      merged?.present = step
      report.merge = merged
      try finish(writer, isKept: true)
      try watch.endStep()
    } catch {
      writer.discard()
      throw error
    }
    other.discard()
    return writer
  }

  /// A file that is thrown away unless it is finished needs no journal that survives.
  private static let options: SQLiteWriter.Options = {
    var options = SQLiteWriter.Options(journalMode: .memory, autoVacuum: .incremental)
    options.isSynchronous = false
    options.cacheKiB = 8 * 1024
    return options
  }()

  /// Refuses an output that would share the folder of external files with the old store: an object deleted in one would
  /// take the other's file with it.
  private static func checkApart(_ output: String, _ store: String) throws {
    let support = StoreSet.supportPath(of: output)
    guard let there = try? FileStatus.of(support),
      let own = try? FileStatus.of(StoreSet.supportPath(of: store)), there.isSameFile(as: own)
    else { return }
    throw ExtractionError(
      .outputExists,
      "the new store would share its external files with the old one; choose another name",
      path: support)
  }

  /// Renames the folder of external files; its new name must be free.
  private static func rename(_ from: String, to: String) throws {
    let folder = try OpenFolder(PathText.folder(of: to))
    if let code = SystemCalls.rename(
      PathText.lastComponent(of: from), in: folder.descriptor, to: PathText.lastComponent(of: to),
      in: folder.descriptor)
    {
      throw ExtractionError(
        code == EEXIST ? .outputExists : .cannotCreate,
        "the folder of external files cannot be given its name", path: to)
    }
    try folder.synchronize()
  }

  // MARK: - One step

  /// A step that has been looked through: what cannot be done was refused.
  private struct Work {
    let step: MigrationStep
    let schema: FreshStoreSchema
    let plan: CopyPlan
    let entityNames: [Int64: String]
    /// See ``TableLayout/init(_:namedAfter:)``.
    let sides: Set<String>
    let sourceLayout: TableLayout

    init(
      _ step: MigrationStep, _ source: Source, _ missingPolicy: MissingPolicy,
      _ policies: PolicyRegister, namedAfter sides: Set<String>?
    ) throws {
      guard let model = step.from ?? source.model else {
        throw MigrationError(
          .noSourceModel,
          ["the store carries no model that can be read; give the model that wrote it"])
      }
      self.step = step
      let tables = try SourceTables(model, source)
      self.sides = sides ?? tables.joinSides
      schema = try FreshStoreSchema(step.to, namedAfter: self.sides)
      entityNames = tables.entityNames
      sourceLayout = tables.layout
      plan = try CopyCompiler.plan(
        step.mapping, from: tables, to: schema.layout, missingPolicy: missingPolicy,
        policies: policies
      ) { table in try source.highestKey(in: table) }
    }
  }

  private func run(
    _ work: Work, _ source: Source, _ identity: StoreIdentity, into writer: SQLiteWriter,
    _ rejects: RejectedRows, _ external: ExternalFiles?, _ watch: ProgressWatch,
    storePath: String, isFirst: Bool,
    then complete: (CopyRun) throws -> Void = { _ in }
  ) throws -> MigrationReport.Step {
    let (step, schema, plan) = (work.step, work.schema, work.plan)
    let run = CopyRun(plan, writer, rejects, watch, storePath: storePath, external: external)
    var notes: [String] = []
    let (later, first) = schema.statements.divided { $0.utf8.starts(with: "CREATE INDEX ".utf8) }
    try writer.transaction { for statement in first { try writer.define(statement) } }
    if case .sound(let store) = source { try run.fill(store, schema) }
    try writer.transaction {
      switch source {
      case .sound(let store):
        try run.read(store)
        guard plan.hasPolicies else {
          try run.relate(store)
          break
        }
        // Policies follow relationships, for which there are indexes.
        for statement in later { try writer.define(statement) }
        let objects = PolicyRun(
          run,
          try MigrationManager(
            run, work.sourceLayout, policies,
            highestKeys: try highestKeys(work, store, in: writer)))
        try objects.createInstances()
        try run.relate(store)
        try objects.createRelationships()
        try objects.validate()
        notes = objects.notes
      case .damaged(let store, let deleted):
        try run.read(store, entityNames: work.entityNames, deleted ? .all : .readable)
      }
      run.finish()
      try watch.endRows()
      // The indexes of keys make the search for references that lead nowhere short.
      if !plan.hasPolicies { for statement in later { try writer.define(statement) } }
      try run.settleReferences()
      if let handler = step.handler {
        try run.change(
          by: handler, highestKeys: try identity.highestKeys(schema, plan, in: writer))
      }
      try complete(run)
      try identity.write(schema, plan, to: writer)
    }
    // What was staged has left free pages.
    if !plan.staged.isEmpty || !plan.links.isEmpty {
      try writer.execute("PRAGMA incremental_vacuum")
    }
    var report = MigrationReport.Step(step)
    report.entities = run.entities
    report.cut = run.cut
    report.leftOut = Set(
      plan.leftOut + run.broken + run.leftBehindReasons + (isFirst ? identity.leftOut : [])
    ).sorted()
    report.notes = Set(plan.notes + notes + (isFirst ? identity.notes(plan) : [])).sorted()
    return report
  }

  /// The highest key of each new table that is in use or promised to a row of the old store.
  private func highestKeys(_ work: Work, _ store: CoreDataStore, in writer: SQLiteWriter) throws
    -> [String: Int64]
  {
    var highest: [String: Int64] = [:]
    for table in work.schema.layout.tables {
      highest[table.name] = try writer.highestKey(of: table.name)
    }
    for table in work.plan.tables {
      let old = try Source.sound(store).highestKey(in: table.table)
      for copy in table.entities.values.flatMap({ $0 }) {
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

  /// Checks a finished file, by SQLite and, on another thread, by the rules of its model.
  private func finish(_ writer: SQLiteWriter, isKept: Bool) throws {
    let path = writer.path
    if isKept {
      // Core Data opens its stores in WAL mode, which the header says.
      try writer.execute("PRAGMA journal_mode = WAL")
    }
    let own = AnotherThread { try StoreCheck(path: path) }
    let problems = Result { try writer.check(writer.finalCheckDepth(verifies: verifies)) }
    let check = Result { try own.wait() }
    if let problem = try problems.get().first {
      throw MigrationError(.checkFailed, ["SQLite's check of the new store says: \(problem)"])
    }
    // The external files are still beside the old store.
    let damage = try check.get().findings.filter {
      $0.severity == .damage && $0.id != .coredataExternalFileMissing
    }
    guard damage.isEmpty else {
      throw MigrationError(.checkFailed, damage.prefix(5).map(\.message))
    }
    try writer.complete()
  }
}

extension MigrationReport {
  fileprivate mutating func take(_ sources: [Migration.Source], _ more: [Finding]) {
    var all = FindingList()
    for source in sources {
      switch source {
      case .sound(let store): all.add(store.findings)
      case .damaged(let store, _): all.add(store.database.findings)
      }
    }
    for finding in more { all.add(finding) }
    findings = all.kept
    damageCount = all.damageCount
  }
}

extension Array {
  /// The elements for which `isFirst` returns true, and the others, both in order.
  fileprivate func divided(_ isFirst: (Element) -> Bool) -> ([Element], [Element]) {
    (filter(isFirst), filter { !isFirst($0) })
  }
}

extension SourceTables {
  fileprivate init(_ model: ManagedObjectModel, _ source: Migration.Source) throws {
    let layout = TableLayout(model)
    switch source {
    case .sound(let store):
      var names: [Int64: String] = [:]
      for record in store.entities where !record.isHistory {
        names[record.number] = store.entityName(ofNumber: record.number) ?? record.name
      }
      // A model given from outside numbers the entities like the store's own.
      if names.isEmpty || !Set(names.values).isSubset(of: Set(layout.numbering.names)),
        names.count <= layout.numbering.names.count
      {
        for (index, name) in layout.numbering.names.enumerated() { names[Int64(index + 1)] = name }
      }
      self.init(
        layout, entityNames: names,
        store.database.schema.tables.compactMap { table in
          table.definition.map { (table.name, $0) }
        })
    case .damaged(let store, _):
      let naming = RecoveredNaming(
        tables: store.database.tables, entities: store.entities, model: model,
        storePath: store.database.path)
      self.init(
        layout, entityNames: naming.entityNames,
        store.database.tables.map { ($0.name, $0.definition) })
    }
  }
}

extension Migration.Source {
  /// The highest key that a table has or had.
  fileprivate func highestKey(in name: String) throws -> Int64 {
    switch self {
    case .sound(let store):
      let recorded =
        store.entities.filter { "Z" + $0.name.uppercased() == name.uppercased() }
        .map(\.highestKey).max() ?? 0
      guard let table = store.database.schema.table(named: name) else { return recorded }
      return max(recorded, try store.database.rowCount(of: table).highestRowID ?? 0)
    case .damaged(let store, let deleted):
      let tables = store.database.tables
      var highest =
        store.entities.filter { "Z" + $0.name.uppercased() == name.uppercased() }
        .map(\.highestKey).max() ?? 0
      try store.database.forEachRow(deleted ? .all : .readable, of: [name]) { row in
        if let place = row.origin.table, SQLName.isSame(tables[place].name, name) {
          highest = max(highest, row.rowID ?? 0)
        }
        return true
      }
      return highest
    }
  }
}
