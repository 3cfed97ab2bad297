public import ArgumentParser
import CoreDataStore
import ModelTools
import ObjectModel
import Quoting
import SQLiteFile
import SafeText
import StoreExtraction
import StoreMigration
import Terminal

/// What `migrate` and `salvage` have in common.
struct MigrationOptions: ParsableArguments {
  @Option(
    name: [.customLong("to-version"), .customLong("model-version")],
    help: "The version to migrate to; without it, the current one.")
  var targetVersion: String?

  @Option(
    name: .customLong("mapping"), help: "A mapping model, or a folder of them; may be repeated.",
    completion: .file())
  var mappings: [String] = []

  @Option(
    name: .customLong("from-model"),
    help: "The model that wrote the store, for a store that carries none.", completion: .file())
  var fromModel: String?

  @Option(
    name: .customLong("missing-policy"),
    help:
      "What a mapping does that needs a class of the app: refuse, or copy properties of the same name."
  )
  var missingPolicy: MissingPolicy = .refuse

  @Flag(
    name: [.customShort("n"), .customLong("dry-run")],
    help: "Make no file; show the steps.")
  var dryRun = false

  /// The model that wrote the store, as given.
  func sourceModel() throws -> ManagedObjectModel? {
    try fromModel.map { path in
      let version = try ModelInput(path).version()
      guard let model = version.model else {
        throw version.problem
          ?? Failure(65, "model.unreadable", "\(path): the model cannot be read")
      }
      return model
    }
  }

  /// The route to a model, or to the current one of a folder of versions. A version of a bundle is named by its path;
  /// the others of the bundle may be steps on the way.
  func route(to models: String) throws -> MigrationRoute {
    var (path, target) = (PathText.withoutTrailingSlashes(models), targetVersion)
    let bundle = PathText.folder(of: path)
    if target == nil,
      [".xcdatamodeld", ".momd"].contains(where: { PathText.ends(bundle, with: $0) })
    {
      target = PathText.stem(of: PathText.lastComponent(of: path))
      path = bundle
    }
    return try MigrationRoute(
      [path], to: target, versionOption: "--to-version", mappings: mappings)
  }

  /// The migration with these options.
  func migration(_ verification: VerificationOptions, _ interruption: Interruption) -> Migration {
    var migration = Migration()
    migration.missingPolicy = missingPolicy
    migration.verifies = verification.verify
    migration.made = interruption.files
    return migration
  }
}

extension MissingPolicy: ExpressibleByArgument {}

/// `lifeboat migrate`
struct Migrate: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Carry a store's rows into a new store of another version of its model.",
    discussion: """
      Examples: lifeboat migrate Notes.sqlite --to Notes.momd -o New.sqlite
                lifeboat migrate Notes.sqlite --to Notes.xcdatamodeld --to-version "Notes 3" -o New.sqlite
                lifeboat migrate Notes.sqlite --to Notes.momd --dry-run

      The old store is only read. Other versions and mapping models beside the model are found by themselves; the \
      steps are those of: lifeboat model plan. Rows that break a rule of the new model go to NEW.rejects.ndjson, and \
      references that lead to no row are cut and listed.

      Exit status: 0 when everything is in the new store that its model has room for; 1 when rows or references \
      were lost; 65 when there is no way; 73 when the output exists; 75 when the store changed while it was read.
      """)

  @Argument(help: "The store.", completion: .file())
  var path: String

  @Option(
    name: .customLong("to"), help: "A model, or a folder of versions whose current one is meant.",
    completion: .file())
  var models: String

  @Option(name: .shortAndLong, help: "The store to make.", completion: .file())
  var output: String?

  @OptionGroup var migration: MigrationOptions
  @OptionGroup var verification: VerificationOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }
  var outputPaths: [String] { output.map { [$0] } ?? [] }

  func validate() throws {
    guard output != nil || migration.dryRun else {
      throw ValidationError("Name the store to make with --output, or ask for --dry-run.")
    }
  }

  func run() throws {
    if let output { try EvidenceGuard.check(output, against: path) }
    let given = try migration.sourceModel()
    let source = try MigrationRoute.Source(path, model: given)
    let route = try migration.route(to: models)
    let plan = route.plan(from: source, display)
    if migration.dryRun || plan.steps == nil {
      if display.json {
        try display.write(json: PlanReport(store: path, plan: plan))
      } else {
        try display.write(PlanText(store: path, plan: plan, style: display.style).text)
      }
      if plan.steps == nil { throw ExitCode(65) }
      return
    }
    guard let output else { return }
    let steps = try MigrationStep.steps(of: plan, model: source.model)
    let store = try CoreDataStore(path: path, model: steps.first?.from, logView: store.wal)
    let interruption = Interruption()
    let report = try withExtendedLifetime(interruption) {
      try migration.migration(verification, interruption).run(.sound(store), steps, to: output)
    }
    try MigrationText.tell(report, display)
  }
}

/// `lifeboat salvage`
struct Salvage: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Bring the rows of a damaged store into a new store that the app's model opens.",
    discussion: """
      Examples: lifeboat salvage Notes.sqlite -o Saved.sqlite
                lifeboat salvage Notes.sqlite --model Notes.momd -o Saved.sqlite

      Live rows are taken wherever they are found, as rows --all finds them; without --model the new store has the \
      model that the old one carries. One bad row never stops the others: rows that break a rule go to \
      NEW.rejects.ndjson, and references that lead to no row are cut and listed.

      Exit status: 0 when nothing was lost; 1 with findings; 65 when the file is not a database or no model is \
      known; 73 when the output exists; 75 when the store changed while it was read.
      """)

  @Argument(help: "The store.", completion: .file())
  var path: String

  @Option(
    name: .customLong("model"),
    help: "The app's model, or a folder of versions whose current one is meant.",
    completion: .file())
  var models: String?

  @Option(name: .shortAndLong, help: "The store to make.", completion: .file())
  var output: String?

  @Flag(name: .long, help: "Also bring back deleted rows whose keys are free.")
  var deleted = false

  @OptionGroup var migration: MigrationOptions
  @OptionGroup var verification: VerificationOptions
  @OptionGroup var likes: LikeOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }
  var outputPaths: [String] { output.map { [$0] } ?? [] }

  func validate() throws {
    guard output != nil || migration.dryRun else {
      throw ValidationError("Name the store to make with --output, or ask for --dry-run.")
    }
  }

  func run() throws {
    if let output { try EvidenceGuard.check(output, against: path) }
    let given = try migration.sourceModel()
    let like = likes.like + (models.map { [$0] } ?? [])
    let damaged = try DamagedStore(path: path, logView: store.wal, like: like, model: given) {
      display.note($0)
    }
    let steps = try steps(damaged)
    guard let output, !migration.dryRun else {
      try MigrationText.announce(steps, of: path, display)
      return
    }
    let interruption = Interruption()
    let report = try withExtendedLifetime(interruption) {
      try migration.migration(verification, interruption).run(
        source(damaged, steps), steps, to: output)
    }
    try MigrationText.tell(report, display)
  }

  /// A sound store is read in the ordinary way, which gives the same rows in a third of the time.
  private func source(_ damaged: DamagedStore, _ steps: [MigrationStep]) throws -> Migration.Source
  {
    if !deleted, try StoreCheck(path: path, logView: store.wal).isSound {
      return .sound(try CoreDataStore(path: path, model: steps.first?.from, logView: store.wal))
    }
    return .damaged(damaged, deleted: deleted)
  }

  private func steps(_ damaged: DamagedStore) throws -> [MigrationStep] {
    guard let models else {
      guard let model = damaged.model else {
        throw Failure(
          65, MigrationError.Code.noSourceModel.rawValue,
          "the store carries no model that can be read",
          hint: "give the app's model: --model MODELS")
      }
      return [try .same(model, named: "the store's own model")]
    }
    let route = try migration.route(to: models)
    // What a damaged store records may be lost; then its rows are taken for rows of the wanted version.
    let recorded =
      damaged.recordedHashes.isEmpty
      ? damaged.model?.versionHashes().hashes : damaged.recordedHashes
    guard let recorded else { return [try .same(try route.target(), named: "the given model")] }
    let plan = route.plan(from: .init(hashes: recorded, model: damaged.model), display)
    return try MigrationStep.steps(of: plan, model: damaged.model)
  }
}
