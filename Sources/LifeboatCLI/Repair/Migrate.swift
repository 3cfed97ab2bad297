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

/// The options that `migrate` and `salvage` share.
struct MigrationOptions: ParsableArguments {
  @Option(name: .shortAndLong, help: "The store file to make.", completion: .file())
  var output: String?

  @Option(
    name: [.customLong("to-version"), .customLong("model-version")],
    help: "The version to migrate to; by default the current one.")
  var targetVersion: String?

  @Option(
    name: .customLong("mapping"), help: "A mapping model, or a folder of them; may be repeated.",
    completion: .file())
  var mappings: [String] = []

  @Option(
    name: .customLong("from-model"),
    help: "The model that wrote the store; needed if the store carries no model.",
    completion: .file())
  var fromModel: String?

  @Option(
    name: .customLong("missing-policy"),
    help:
      "What to do if a mapping needs a class of the app: refuse, or copy properties of the same name."
  )
  var missingPolicy: MissingPolicy = .refuse

  @Flag(
    name: .customLong("keep-history"),
    help:
      "Copy the persistent history, too; without this flag, apps that follow the history start anew."
  )
  var keepsHistory = false

  @OptionGroup var progress: ProgressOptions

  @Flag(
    name: [.customShort("n"), .customLong("dry-run")],
    help: "Only show the steps, and make no file.")
  var dryRun = false

  func validate() throws {
    guard output != nil || dryRun else {
      throw ValidationError("Name the new store with --output, or add --dry-run.")
    }
  }

  /// The model that `--from-model` names; nil without this option. Throws when the model cannot be read.
  func sourceModel(_ display: DisplayOptions) throws -> ManagedObjectModel? {
    try fromModel.map { try display.model(at: $0, version: nil).model }
  }

  /// Returns the route to the version that `--to-version` names. Without this option, the route leads to the version at
  /// the path `models`. If `models` is a folder of versions, the route leads to the current version. If the version at
  /// the path is inside an .xcdatamodeld or .momd, the route may use the other versions in this bundle.
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

  /// Calls `body` with a migration that has these options, and shows the progress of the migration. Returns the report
  /// that `body` returns.
  func run(
    _ verification: VerificationOptions, _ display: DisplayOptions,
    _ body: (Migration) throws -> MigrationReport
  ) throws -> MigrationReport {
    let interruption = Interruption()
    let meter = progress.meter("Migrating", unit: .rows, display)
    defer { meter.cancel() }
    var migration = Migration()
    migration.missingPolicy = missingPolicy
    migration.verifies = verification.verify
    migration.keepsHistory = keepsHistory
    migration.made = interruption.files
    // It takes time to count the rows beforehand, so they are counted only if somebody sees the progress.
    if meter.isShown {
      migration.onProgress = { state in
        // The total is an estimate: it assumes that each step has the same number of rows as the present step.
        let total = state.totalRowCount.map {
          UInt64(clamping: $0) * UInt64(clamping: state.stepCount)
        }
        meter.update(
          total.map { UInt64(Double($0) * state.fractionCompleted) }
            ?? UInt64(clamping: state.rowCount),
          of: total)
      }
    }
    let report = try withExtendedLifetime(interruption) { try body(migration) }
    meter.finish()
    return report
  }
}

extension MissingPolicy: ExpressibleByArgument {}

struct Migrate: StoreReader {
  static let configuration = CommandConfiguration(
    abstract: "Carry a store's rows into a new store of another version of its model.",
    discussion: """
      Examples: lifeboat migrate Notes.sqlite --to Notes.momd -o New.sqlite
                lifeboat migrate Notes.sqlite --to Notes.xcdatamodeld --to-version "Notes 3" -o New.sqlite
                lifeboat migrate Notes.sqlite --to Notes.momd --dry-run

      The old store is only read. Other versions and mapping models beside the model are found automatically; lifeboat \
      model plan shows the steps. Rows that break a rule of the new model go to NEW.rejects.ndjson, and references \
      that lead to no row are cut and listed.

      Exit status: 0 when the new store has everything that its model has room for; 1 when rows or references were \
      lost; 65 when the store cannot be migrated; 73 when the output exists; 75 when the store changed while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(
    name: .customLong("to"),
    help: "The model to migrate to, or a folder of its versions; the current version is used.",
    completion: .file())
  var models: String

  @OptionGroup var migration: MigrationOptions
  @OptionGroup var verification: VerificationOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] { Self.paths(ofDatabaseAt: migration.output) }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    if let output = migration.output { try input.check(output) }
    let given = try migration.sourceModel(display)
    let source = try MigrationRoute.Source(path, model: given, logView: store.wal)
    let route = try migration.route(to: models)
    let plan = route.plan(from: source, display)
    if migration.dryRun || plan.steps == nil {
      let name = input.shown(path)
      try display.write(
        json: PlanReport(store: name, plan: plan),
        orText: PlanText(store: name, plan: plan, style: display.style).text, evenIfQuiet: true)
      if plan.steps == nil { throw ExitCode(65) }
      return
    }
    guard let output = migration.output else { return }
    let steps = try MigrationStep.steps(of: plan, model: source.model)
    let store = try CoreDataStore(path: path, model: steps.first?.from, logView: store.wal)
    var report = try migration.run(verification, display) {
      try $0.run(.sound(store), steps, to: output)
    }
    report.source = input.shown(path)
    try MigrationText.tell(report, display)
  }
}
