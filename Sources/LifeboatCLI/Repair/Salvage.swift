public import ArgumentParser
import CoreDataStore
import ModelTools
import ObjectModel
import Quoting
import SQLiteFile
import SafeFiles
import SafeText
import StoreExtraction
import StoreMigration
import StoreRecovery
import Terminal

struct Salvage: StoreReader {
  static let configuration = CommandConfiguration(
    abstract: "Bring the rows of a damaged store into a new store that the app's model opens.",
    discussion: """
      Examples: lifeboat salvage Notes.sqlite -o Saved.sqlite
                lifeboat salvage Notes.sqlite --model Notes.momd -o Saved.sqlite
                lifeboat salvage Incompatible/ID --into Notes.sqlite -o Merged.sqlite

      The live rows that rows --all finds are brought back. Without --model, the new store has the model that the old \
      store carries. One bad row never stops the others: rows that break a rule go to NEW.rejects.ndjson, and \
      references that lead to no row are cut and listed.

      With --into, the new store also has all rows of the present store, which is the store that the app has used \
      since. The salvaged rows get new keys. If both stores have an object with the same unique values, the present \
      object stays, unless --duplicates says otherwise.

      Exit status: 0 when nothing was lost; 1 with findings; 65 when the file is not a database or no model is \
      known; 73 when the output exists; 75 when the store changed while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(
    name: .customLong("model"),
    help: "The app's model, or a folder of its versions; the current version is used.",
    completion: .file())
  var models: String?

  @Flag(name: .long, help: "Also bring back deleted rows, unless another row has the same key.")
  var deleted = false

  @Option(
    name: .customLong("into"),
    help: "The present store, which the app uses now, to merge the rows with; it is only read.",
    completion: .file()
  )
  var present: String?

  @Option(
    name: .long,
    help:
      "What to do with an object that both stores have: keep the present one, fill its gaps, or replace its values."
  )
  var duplicates: MergePolicy.Duplicates?

  @Flag(
    name: .customLong("equal-content"),
    help: "Also match objects whose attributes and to-one relationships are equal.")
  var matchesEqualContent = false

  @OptionGroup var migration: MigrationOptions
  @OptionGroup var verification: VerificationOptions
  @OptionGroup var likes: LikeOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] {
    [path] + (present.map { [$0] } ?? [])
  }
  var outputPaths: [String] { Self.paths(ofDatabaseAt: migration.output) }

  func validate() throws {
    guard present != nil || duplicates == nil && !matchesEqualContent else {
      throw ValidationError("--duplicates and --equal-content are for merging: add --into STORE.")
    }
    guard models != nil || migration.targetVersion == nil && migration.mappings.isEmpty else {
      throw ValidationError(
        "--to-version and --mapping are about the way to the app's model: add --model MODELS.")
    }
    guard present == nil || !migration.keepsHistory else {
      throw ValidationError(
        "A merge cannot keep the history, which has the keys of the old store. Leave out --keep-history or --into."
      )
    }
  }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    if let output = migration.output {
      try input.check(output)
      if let present { try EvidenceGuard.check(output, against: present) }
      try likes.check(output)
    }
    let given = try migration.sourceModel(display)
    let like = likes.like + (models.map { [$0] } ?? [])
    let isSound = try !deleted && StoreCheck(path: path, logView: store.wal).isSound
    let sound = try isSound ? CoreDataStore(path: path, model: given, logView: store.wal) : nil
    var source: Migration.Source
    if let sound, sound.model != nil {
      source = .sound(sound)
      if !likes.like.isEmpty {
        try DamagedStore.check(examples: likes.like)
        display.note("note: \(input.shown(path)) is sound, so --like is not needed")
      }
    } else {
      let damaged = try DamagedStore(path: path, logView: store.wal, like: like, model: given) {
        display.note($0)
      }
      source = .damaged(damaged, deleted: deleted)
    }
    guard !Self.isPlain(source) else {
      let argument = secrets.argument(input.shown(path))
      throw Failure(
        65, MigrationError.Code.noSourceModel.rawValue,
        "\(input.shown(path)): not a Core Data store: the file has none of Core Data's tables",
        hint: "to save its rows, run: \(RepairCommand.recover.text(argument))")
    }
    let target = try present.map { try PresentStore(path: $0, policy: policy) }
    let steps = try steps(source, to: target)
    guard let output = migration.output, !migration.dryRun else {
      let found = try survey(source)
      try MigrationText.announce(
        steps, of: input.shown(path), into: present,
        found: found.map {
          RecoverText(
            result: $0, secrets: secrets, display: display, readsAllOfLog: store.wal == .all)
        }, display)
      if let found {
        display.note(found.findings)
        if !found.isLossless { try display.exitWithFindings() }
      }
      return
    }
    // A sound store is read as SQLite reads it, because this is faster than recovery. The store is read with the model
    // that the first step starts from.
    if isSound, case .damaged = source {
      source = .sound(try CoreDataStore(path: path, model: steps.first?.from, logView: store.wal))
    }
    var report = try migration.run(verification, display) {
      try $0.run(source, steps, to: output, into: target)
    }
    report.source = input.shown(path)
    try MigrationText.tell(report, display)
  }

  /// Counts what can be read of a damaged store; nil for a sound one.
  private func survey(_ source: Migration.Source) throws -> RebuildResult? {
    guard case .damaged(let store, let includesDeleted) = source else { return nil }
    var rebuild = StoreRebuild()
    rebuild.includesDeleted = includesDeleted
    return try rebuild.survey(store)
  }

  /// Whether a file has no table of Core Data. A damaged store that lost its schema has the tables that `--like` and
  /// `--model` describe.
  private static func isPlain(_ source: Migration.Source) -> Bool {
    switch source {
    case .sound(let store): store.kind == .sqlite
    case .damaged(let store, _): RepairCommand(of: store) == .recover
    }
  }

  private var policy: MergePolicy {
    var policy = MergePolicy()
    policy.duplicates = duplicates ?? .keep
    policy.matchesEqualContent = matchesEqualContent
    return policy
  }

  private func steps(_ source: Migration.Source, to present: PresentStore?) throws
    -> [MigrationStep]
  {
    guard let models else {
      if let present { return try [step(source, to: present)] }
      guard let model = source.model else {
        throw Failure(
          65, MigrationError.Code.noSourceModel.rawValue,
          "the store carries no model that can be read",
          hint: "give the app's model: --model MODELS")
      }
      return [try .same(model, named: "the store's own model")]
    }
    let route = try migration.route(to: models)
    // A damaged store may have lost its version hashes. Its rows are then treated as rows of the wanted version.
    let recorded =
      source.recordedHashes ?? source.model?.versionHashes().hashes
    guard let recorded else { return [try .same(try route.target(), named: "the given model")] }
    let plan = route.plan(from: .init(hashes: recorded, model: source.model), display)
    return try MigrationStep.steps(of: plan, model: source.model)
  }

  /// Returns the migration step from the source to the model of the present store.
  private func step(_ source: Migration.Source, to present: PresentStore) throws -> MigrationStep {
    // A present store that lost its model may still record the version hashes of the old store's model.
    let same = source.model.flatMap { present.records($0) ? $0 : nil }
    guard let model = present.model ?? same else {
      throw Failure(
        65, MigrationError.Code.noSourceModel.rawValue,
        "\(present.path) carries no model that can be read",
        hint: "give the app's model: --model MODELS")
    }
    let name = "the present store's model"
    let wanted = model.versionHashes().hashes
    // A damaged store may have lost its version hashes. Its rows are then treated as rows of the wanted version.
    guard let old = source.model, old.versionHashes().hashes != wanted,
      source.recordedHashes != wanted
    else { return try .same(model, named: name) }
    let step = try MigrationStep.inferred(
      from: old, named: "the store's own model", to: model, named: name)
    let isCarried = step.mapping.entityMappings.contains {
      $0.sourceEntityName != nil && $0.destinationEntityName != nil
    }
    guard isCarried else {
      throw Failure(
        65, MigrationError.Code.noWay.rawValue,
        "the store and \(present.path) have no entity in common: they belong to different apps",
        hint: "give the store that the app uses now: --into STORE")
    }
    return step
  }
}

extension MergePolicy.Duplicates: ExpressibleByArgument {}
