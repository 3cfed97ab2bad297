import CLibrary
import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeFiles
import SafeText
import StoreExtraction
import StoreFiles

extension Migration {
  /// Runs the steps one after the other. Each step writes a new store, and only the store of the last step is kept. If
  /// `present` is not nil, the rows of the present store are merged with the rows of the last step.
  ///
  /// No file may exist at `output`.
  /// - Throws: ``MigrationError``, `FreshStoreSchema.Failure`, `SQLiteFileError`, `SQLiteWriterError`,
  ///   `ExtractionError`. After an error, all files of this run are removed.
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
      throw MigrationError(.presentStore, ["\(present.path) is the old store itself"])
    }
    if present != nil, keepsHistory {
      throw MigrationError(
        .presentStore,
        ["a merge cannot keep the persistent history, which contains keys of the old store"])
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
        guard let last else { throw MigrationError(.noWay, ["the migration has no steps"]) }
        // The folder with the copies of external files has a private name, too, until the store gets its name.
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
        for watch in watches { try watch.requireUnchanged() }
        // The store, its external files and the file of rejects get their final names together. The process cannot be
        // interrupted in between.
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

  /// Runs the steps. Returns the new file of the last step, which is complete but still has a temporary name; nil if
  /// there are no steps. After an error, no file is left behind.
  func carry(
    _ source: Source, _ steps: [MigrationStep], _ target: MergeTarget?, to output: String,
    _ rejects: RejectedRows, _ external: ExternalFiles, _ watch: ProgressWatch,
    _ report: inout MigrationReport
  ) throws -> SQLiteWriter? {
    try checkLaterSteps(steps, to: output)
    var identity = try StoreIdentity(source)
    var current = source
    var last: SQLiteWriter?
    var previous: Work?
    for (index, step) in steps.enumerated() {
      let isLast = index == steps.count - 1
      try watch.beginStep()
      let work = try Work(
        step, current, missingPolicy, policies,
        namedAfter: isLast ? target?.work.sides : nil, withHistory: keepsHistory, after: previous)
      previous = work
      let writer = try newFile(for: output)
      do {
        report.steps.append(
          try attaching(work.plan.hasPolicies ? last : nil, to: writer) {
            try run(
              work, current, identity, into: writer, rejects, isLast ? external : nil,
              watch, storePath: source.path, isFirst: index == 0)
          })
        // Only the store that is kept gets triggers, and only now: all rows are written.
        if isLast, target == nil, let model = steps.first?.from ?? source.model {
          let notes = try DerivedTriggers(source, model).make(in: writer, work.schema)
          report.steps[index].notes = (report.steps[index].notes + notes).sorted()
        }
        try finish(writer, isKept: isLast && target == nil)
        try watch.endStep()
      } catch {
        writer.discard()
        last?.discard()
        throw error
      }
      last?.discard()
      last = writer
      if !isLast {
        let store = try CoreDataStore(path: writer.path, model: step.to)
        identity.takeKeys(of: store)
        current = .sound(store)
      }
    }
    return last
  }

  /// Returns `steps`, the steps of a migration. If a policy takes part in the first step, a step that only copies the
  /// store is put before it. So a policy reads and writes only files that this run has made.
  func withObjects(_ steps: [MigrationStep], of source: Source) throws -> [MigrationStep] {
    // If a policy class that any step needs is missing, the error is thrown before the first step begins.
    let missing = steps.flatMap(\.mapping.entityMappings).filter { policies.isMissing(for: $0) }
    guard missing.isEmpty || missingPolicy == .copy else {
      throw MigrationError(
        .missingPolicy,
        missing.map {
          "mapping \($0.name) needs the class \($0.migrationPolicyClassName ?? "") of the app"
        }
        .sorted())
    }
    guard let first = steps.first, let model = first.from ?? source.model,
      first.mapping.entityMappings.contains(where: { policies.className(of: $0) != nil })
    else { return steps }
    return [try .same(model, named: first.fromName)] + steps
  }

  func attaching<R>(
    _ last: SQLiteWriter?, to writer: SQLiteWriter, _ body: () throws -> R
  ) throws -> R {
    guard let last else { return try body() }
    return try writer.attaching(last, as: MigrationManager.schema, body)
  }

  /// Makes a new file under a temporary name, in the folder of the output.
  func newFile(for output: String) throws -> SQLiteWriter {
    let writer = try made.making {
      let writer = try SQLiteWriter(
        creating: SQLiteWriter.privatePath(for: output), options: Self.options)
      return (writer, writer.path)
    }
    made.noteSidecars(ofDatabaseAt: writer.path)
    return writer
  }

  /// The options of a new file. The journal is kept in memory, and the file is not synced, because an unfinished file
  /// is discarded anyway.
  static let options: SQLiteWriter.Options = {
    var options = SQLiteWriter.Options(journalMode: .memory, autoVacuum: .incremental)
    options.isSynchronous = false
    options.cacheKiB = 8 * 1024
    return options
  }()

  /// Throws when the new store would share the folder of external files with the old store. In a shared folder,
  /// deleting an object of one store would delete a file of the other store.
  static func checkApart(_ output: String, _ store: String) throws {
    let support = StoreSet.supportPath(of: output)
    guard let there = FileStatus.found(support),
      let own = FileStatus.found(StoreSet.supportPath(of: store)), there.isSameFile(as: own)
    else { return }
    throw ExtractionError(
      .outputExists,
      "the new store would share its external files with the old one; choose another name",
      path: support)
  }

  /// Renames the folder of external files. Neither a file nor a folder may already have the new name.
  static func rename(_ from: String, to: String) throws {
    let folder = try OpenFolder(PathText.folder(of: to))
    func move(_ from: String, to: String) -> Int32? {
      SystemCalls.rename(
        PathText.lastComponent(of: from), in: folder.descriptor, to: PathText.lastComponent(of: to),
        in: folder.descriptor)
    }
    if let code = move(from, to: to) {
      throw ExtractionError(
        code == EEXIST ? .outputExists : .cannotCreate,
        "the folder of external files cannot be moved to this path", path: to)
    }
    do { try folder.synchronize() } catch {
      _ = move(to, to: from)
      throw error
    }
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
