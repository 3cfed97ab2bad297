import ArgumentParser
import Quoting
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

struct Browse: StoreReader {
  static let configuration = CommandConfiguration(
    abstract: "Look through a store on the full screen: entities, rows, relationships, pages.",
    usage: "lifeboat browse [<options>] <path>",
    discussion: """
      Examples: lifeboat browse Notes.sqlite
                lifeboat browse --linear Notes.sqlite

      Shows entities with their numbers of rows, the rows of each, one row with its relationships to follow, deleted \
      rows and older versions, blobs decoded or as bytes, findings, and the page map. The last line of the screen \
      shows the main keys; ? shows all keys. Nothing is written to the store.

      Without a terminal, the rows are printed as lifeboat rows prints them. --linear is for screen readers, and for \
      terminals that cannot move their cursor: it prints each view in plain lines, then a prompt.

      Exit status: 0 when you quit; 65 when the file is not a readable store; 75 when it changed while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Flag(name: .long, help: "Use plain lines and a prompt instead of the full screen.")
  var linear = false

  @Option(
    name: .long, help: "Use this model instead of the one in the store.", completion: .file())
  var model: String?

  @Option(name: .customLong("model-version"), help: "The version of --model to use.")
  var modelVersion: String?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func read(_ input: StoreInput) throws {
    guard linear || (!display.json && RawTerminal.refusal() == nil) else {
      return try printRows(input)
    }
    let given = try model.map { try display.model(at: $0, version: modelVersion).model }
    let place = BackgroundReading.Place(
      path: try input.storePath(), logView: store.wal, model: given)
    // If the file is not a store, this throws before the full-screen mode hides error messages.
    _ = try place.open()
    let watch = EvidenceWatch(place.path)
    if linear {
      try LinearBrowse(place, name: input.given).run()
    } else {
      try showScreens(place, name: input.given)
    }
    try watch.requireUnchanged()
  }

  /// Prints the rows as `lifeboat rows` does, because there is no terminal to browse on.
  private func printRows(_ input: StoreInput) throws {
    if !display.json {
      display.note(
        "note: there is no terminal to browse on, so the rows are printed as by lifeboat rows "
          + "(to browse in plain lines, add --linear)")
    }
    var command = try Rows.parse(["--", path])
    command.rows.model = model
    command.rows.modelVersion = modelVersion
    command.secrets = secrets
    command.store = store
    command.display = display
    try command.read(input)
  }

  private func showScreens(_ place: BackgroundReading.Place, name: String) throws {
    let terminal: RawTerminal
    do { terminal = try RawTerminal() } catch {
      throw Failure(74, "output.io", "the terminal cannot be put into raw mode: \(error)")
    }
    defer { terminal.restore() }
    // When a signal ends the process, the terminal is restored first.
    let interruption = Interruption { _ in terminal.restore() }
    let session = BrowseSession { terminal.wake() }
    defer { session.end() }
    session.start(place, name: name)
    var loop = BrowseLoop(
      terminal, session, BrowseModel(name: name), isColored: display.style.isColored)
    withExtendedLifetime(interruption) { loop.run() }
  }
}
