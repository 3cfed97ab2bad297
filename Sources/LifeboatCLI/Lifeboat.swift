import ArgumentParser
import CLibrary
import StoreFiles
import SafeText
import Terminal

@main
struct Lifeboat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lifeboat",
    abstract:
      "Reads, sets aside and passes on Core Data, SwiftData and SQLite stores that will not open.",
    discussion: """
      lifeboat inspect Notes.sqlite          what is this file, and is it sound?
      lifeboat extract Notes.sqlite -o Rows  save every row that can be read
      lifeboat demo                          see it all in a minute

      No command writes to a store that it reads, and SQLite never opens the store.

      EXIT STATUS
        0 done   1 done, with findings   64 wrong usage   65 not a readable store
        66 input missing   70 a bug in lifeboat   73 output exists   74 device error
        75 try again   77 permission denied.  Treat any other code as a failure.
      """,
    version: Tool.version,
    subcommands: [TriageWorker.self],
    groupedSubcommands: [
      CommandGroup(
        name: "Look",
        subcommands: [
          Inspect.self, Check.self, Model.self, Rows.self, Browse.self, Search.self, Pages.self,
          Timeline.self, Compare.self, States.self,
        ]),
      CommandGroup(
        name: "Save",
        subcommands: [Recover.self, Migrate.self, Salvage.self, Extract.self, Rescue.self]),
      CommandGroup(name: "Pass on", subcommands: [Bundle.self, Report.self, Custody.self]),
      CommandGroup(name: "Manage incidents", subcommands: [IncidentsCommand.self, Return.self]),
      CommandGroup(name: "Read many", subcommands: [Triage.self]),
      CommandGroup(name: "Learn", subcommands: [Demo.self]),
    ])

  static func main() {
    // `--version` is answered here, because the argument parser first searches all loaded libraries for conformances,
    // which takes longer than all other work.
    if CommandLine.arguments.dropFirst() == ["--version"] { return print(Tool.version) }
    #if os(Linux)
      // With this call, commands that pack bundles need a sixth less memory, and at most a twentieth more processor
      // time.
      lifeboat_give_back_memory()
    #endif
    Interruption.unblock()
    var log: CustodyLog?
    do {
      try requireUTF8()
      try UsageAdvice.check(CommandLine.arguments.dropFirst())
      var command = try parseAsRoot()
      log = try (command as? any RecordedCommand).flatMap { try CustodyLog($0) }
      try command.run()
      let finished = log
      log = nil
      try finished?.append(exitCode: 0)
    } catch {
      let isJSON = CommandLine.arguments.contains("--json")
      let failure = Failure(error) ?? usage(error, isJSON)
      let code = failure?.exitCode ?? exitCode(for: error).rawValue
      let isClosed = Interruption.isOfClosedOutput(error)
      if !isClosed { failure?.report(asJSON: isJSON) }
      do { try log?.append(exitCode: code) } catch { Failure(error)?.report(asJSON: isJSON) }
      // From here on, SIGPIPE has its usual effect again.
      log = nil
      if isClosed {
        Interruption.leaveByClosedOutput()
        failure?.report(asJSON: isJSON)
      }
      if failure == nil { leave(error) }
      exit(withError: ExitCode(code))
    }
  }

  /// Throws if an argument is not valid UTF-8. Swift's strings replace the bytes that are not, so the argument would name
  /// another file.
  private static func requireUTF8() throws(Failure) {
    for (place, argument) in CommandLine.arguments.enumerated() {
      guard let bytes = unsafe CommandLine.unsafeArgv[place],
        unsafe String(validatingCString: bytes) == nil
      else { continue }
      throw Failure(
        64, "usage.notUTF8", "the name \(argument) is not valid UTF-8",
        hint: "copy the file, with its -wal, to a name in UTF-8")
    }
  }

  /// Returns the failure that `--json` prints for a command line that the argument parser rejects. Returns nil without
  /// `--json`, and for an error of another kind. For nil, the argument parser's own message is shown.
  private static func usage(_ error: any Error, _ isJSON: Bool) -> Failure? {
    guard isJSON, exitCode(for: error) == .validationFailure else { return nil }
    return Failure(64, "usage.parser", message(for: error), hint: usageHint)
  }

  private static var usageHint: String? {
    UsageAdvice.hint(for: Array(CommandLine.arguments.dropFirst()))
  }

  /// Shows the argument parser's own message, and exits. Control characters in the message are escaped, because it
  /// repeats the command line, which may hold any bytes.
  private static func leave(_ error: any Error) -> Never {
    guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
    let errors = StandardStream(descriptor: 2)
    // The parser's message begins with "Error:". Every other error of this program begins with a small letter.
    let message = fullMessage(for: error)
    let spelled = PathText.dropping(prefix: "Error: ", from: message).map { "error: " + $0 }
    for line in (spelled ?? message).unicodeScalars.split(
      separator: "\n", omittingEmptySubsequences: false)
    {
      try? errors.writeLine(VisibleText.visible(String(line)))
    }
    if let hint = usageHint { try? errors.writeLine("hint: " + VisibleText.visible(hint)) }
    try? errors.flush()
    exit(withError: ExitCode.validationFailure)
  }
}
