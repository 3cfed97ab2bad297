import ArgumentParser
import SQLiteFile
import StoreExtraction
import Terminal

struct States: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "List the states of a store that its log and journal still hold, and write one as a file.",
    discussion: """
      Examples: lifeboat states Notes.sqlite
                lifeboat states export Notes.sqlite 3 -o Before.sqlite

      A write-ahead log holds the database as it was after each of its commits; a rollback journal holds it as it \
      was before a transaction.
      """,
    subcommands: [StatesList.self, StatesExport.self], defaultSubcommand: StatesList.self)
}

struct StatesList: StoreReader {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the states of a store that its log and journal still hold.",
    discussion: """
      Examples: lifeboat states Notes.sqlite
                lifeboat states Notes.sqlite -v --limit 5

      Exit status: 1 when damage was found; 65 when the file is not a readable store; 75 when it changed \
      while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(
    name: .long,
    help: "List at most this many states, the newest ones; by default 20 in text.")
  var limit: Int?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func validate() throws {
    if let limit, limit < 0 {
      throw ValidationError("--limit takes a number of states, 0 or more.")
    }
  }

  /// The maximum number of states that the text lists when `--limit` is not given.
  private static let shownStates = 20

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    let watch = EvidenceWatch(path)
    let states = try StoreStates(path: path)
    var list = try states.list(limit: limit ?? (display.json ? nil : Self.shownStates))
    list.path = input.shown(path)
    try watch.requireUnchanged()
    try display.write(
      json: list, orText: StatesText(list: list, secrets: secrets, display: display).text,
      evenIfQuiet: true)
    display.note(list.findings)
    if list.damageCount > 0 { try display.exitWithFindings() }
  }
}

extension StoreState.Name: ExpressibleByArgument {
  /// Parses the name of a state: the number of a commit, `before` or `interrupted`.
  init?(argument: String) { self.init(argument) }
}

struct StatesExport: StoreReader {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write a state of a store as a database file of its own.",
    discussion: """
      Examples: lifeboat states export Notes.sqlite 3 -o Before.sqlite
                lifeboat states export Notes.sqlite before -o Before.sqlite

      The new file has the pages of the state as they were. A manifest beside it, OUTPUT.json, says where the pages \
      come from. SQLite checks the new file before it gets its name.

      Exit status: 0 when the state is whole; 1 when it was written but may not be whole; 64 when the store has no \
      such state; 65 when the state cannot be put together; 73 when the output exists; 75 when the store changed \
      while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Argument(
    help:
      "The state, as lifeboat states lists it: the number of a commit, 'before' or 'interrupted'."
  )
  var state: StoreState.Name

  @Option(name: .shortAndLong, help: "The file to make.", completion: .file())
  var output: String

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup var progress: ProgressOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] { [output, StateManifest.path(for: output)] }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    for output in outputPaths { try input.check(output) }
    let states = try StoreStates(path: path)
    let interruption = Interruption()
    var export = StateExport()
    export.made = interruption.files
    export.sourceName = input.shown(path)
    let meter = progress.meter("Writing", unit: .pages, display)
    export.progress = { meter.update($0, of: $1) }
    defer { meter.finish() }
    let manifest = try withExtendedLifetime(interruption) {
      try export.run(state, of: states, to: output)
    }
    meter.finish()
    try display.write(json: manifest, orText: StatesText.text(manifest, secrets, display))
    display.note(manifest.findings)
    if !manifest.isWhole { try display.exitWithFindings() }
  }
}
