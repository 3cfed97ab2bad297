import Foundation
import StoreRecovery

/// The command line.
@main struct Notes {
  static let usage = """
    usage: notes --release 1.0|2.0|3.0 --folder DIR COMMAND
      add TITLE TEXT [--tag NAME]… [--attach FILE]…
      list              the notes, one a line
      session           adds a note for each line of input, with the notes open until it ends
      earlier           what was set aside, and where it is
      restore ID        brings notes back that were set aside

    """

  static func main() {
    do {
      var arguments = Array(CommandLine.arguments.dropFirst())
      guard let name = option("--release", &arguments), let release = Release(rawValue: name),
        let folder = option("--folder", &arguments), !arguments.isEmpty
      else { throw Usage() }
      let command = arguments.removeFirst()
      try run(command, &arguments, Library(folder: URL(fileURLWithPath: folder), release: release))
    } catch let failure as LaunchFailure {
      if let notice = failure.notice {
        tell("* \(notice.title)\n\n\(notice.whatHappened)\n\n\(notice.whatToDo)")
      }
      exit(failure.exitCode)
    } catch is Usage {
      tell(usage)
      exit(64)
    } catch {
      tell("notes: \(error)")
      exit(70)
    }
  }

  private struct Usage: Error {}

  private static func run(
    _ command: String, _ arguments: inout [String], _ library: Library
  ) throws {
    switch command {
    case "add":
      var tags: [String] = []
      var files: [URL] = []
      while let tag = option("--tag", &arguments) { tags.append(tag) }
      while let file = option("--attach", &arguments) { files.append(URL(fileURLWithPath: file)) }
      guard arguments.count == 2 else { throw Usage() }
      try launch(library).add(
        title: arguments[0], text: arguments[1], tags: tags, attachments: files)
    case "list":
      for note in try launch(library).all() { print(line(note)) }
    case "session":
      let store = try launch(library)
      say("ready")
      while let title = readLine() {
        try store.add(title: title, text: "", tags: [], attachments: [])
        say("added \(title)")
      }
    case "earlier":
      print(try EarlierNotes(library).text(), terminator: "")
    case "restore":
      guard arguments.count == 1 else { throw Usage() }
      let restoration = try EarlierNotes(library).restore(arguments[0])
      let store = try launch(library)
      print("Your earlier notes are back: \(try store.count())")
      if let replaced = restoration.replaced {
        print("The notes that were in use until now are kept in \(replaced.folder)")
      }
    default: throw Usage()
    }
  }

  /// What an app does when it starts: open, then offer what can be brought back.
  private static func launch(_ library: Library) throws -> NoteStore {
    let store = try library.open()
    for offer in (try? EarlierNotes(library).offers()) ?? [] {
      tell(
        """

        * Good news: this version can open notes that were set aside on \(offer.created.formatted(.iso8601)).
          There are \(offer.noteCount) of them. To bring them back: notes restore \(offer.id)
          Your present notes will be kept, too.

        """)
    }
    return store
  }

  private static func line(_ note: NoteStore.Note) -> String {
    let files = note.attachments.map { file in
      let size = file.content.flatMap { try? Data(contentsOf: $0).count }
      return "\(file.name) (\(size.map { "\($0) bytes" } ?? "missing"))"
    }
    return ([note.title, note.text] + note.tags.map { "#" + $0 } + files).joined(separator: "\t")
  }

  private static func option(_ name: String, _ arguments: inout [String]) -> String? {
    guard let place = arguments.firstIndex(of: name), place + 1 < arguments.count else {
      return nil
    }
    defer { arguments.removeSubrange(place...place + 1) }
    return arguments[place + 1]
  }

  /// Written without a buffer, because a reader waits for it.
  private static func say(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
  }
}

/// Writes messages to standard error, so that they do not mix with a command's output.
func tell(_ text: String) {
  try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
}
