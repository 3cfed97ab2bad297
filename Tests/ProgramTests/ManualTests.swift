import Foundation
import Testing

/// The manual against the program.
@Suite struct ManualTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private struct Dump: Decodable {
    let command: Command
  }

  private struct Command: Decodable {
    let commandName: String
    let aliases: [String]?
    let shouldDisplay: Bool?
    let arguments: [Argument]?
    let subcommands: [Command]?
  }

  private struct Argument: Decodable {
    struct Name: Decodable {
      let kind: String
      let name: String
    }
    let names: [Name]?
    let shouldDisplay: Bool
  }

  private static func page(_ name: String) throws -> String {
    try String(
      contentsOf: root.appendingPathComponent("man/\(name).1"), encoding: .utf8)
  }

  private static func tree() throws -> Command {
    let outcome = try Program.run("--experimental-dump-help")
    return try JSONDecoder().decode(Dump.self, from: outcome.stdout).command
  }

  /// The commands that are for people.
  private static func shown() throws -> [Command] {
    (try tree().subcommands ?? []).filter {
      $0.commandName != "help" && $0.shouldDisplay != false
    }
  }

  /// Every flag of a command and of those below it, as it is typed.
  private static func flags(of command: Command) -> Set<String> {
    var flags: Set<String> = []
    for argument in command.arguments ?? [] where argument.shouldDisplay {
      for name in argument.names ?? [] {
        flags.insert((name.kind == "long" ? "--" : "-") + name.name)
      }
    }
    for child in command.subcommands ?? [] { flags.formUnion(Self.flags(of: child)) }
    return flags
  }

  /// Every flag that a page names, in mdoc's own way or in an example.
  private static func flags(in page: String) -> Set<String> {
    var flags: Set<String> = []
    for match in page.matches(of: /Fl (-[a-z][a-z-]*|[a-zA-Z0-9])\b/) {
      flags.insert("-" + match.output.1)
    }
    for match in page.matches(of: /Fl [a-zA-Z0-9] , (-[a-z][a-z-]*)/) {
      flags.insert("-" + match.output.1)
    }
    for match in page.matches(of: /\s(--[a-z][a-z-]*|-[a-zA-Z])(?=\s|$)/) {
      flags.insert(String(match.output.1))
    }
    return flags
  }

  /// The codes, ids and rules that the manual explains, each once.
  private static func explained() throws -> Set<String> {
    let all = try page("lifeboat").matches(of: /\n\.It Li ([a-z]+\.[a-z][A-Za-z]+)\n/)
      .map { String($0.output.1) }
    let explained = Set(all)
    #expect(explained.filter { code in all.filter { $0 == code }.count > 1 } == [])
    return explained
  }

  @Test func everyFlagIsInItsPageAndNoPageNamesAnother() throws {
    let commands = try Self.shown()
    #expect(commands.count >= 8)
    for command in commands {
      let page = try Self.page("lifeboat-" + command.commandName)
      let real = Self.flags(of: command)
      let named = Self.flags(in: page)
      #expect(real.subtracting(named) == [], "not in lifeboat-\(command.commandName).1")
      #expect(named.subtracting(real) == [], "only in lifeboat-\(command.commandName).1")
    }
  }

  @Test func everyCommandIsNamed() throws {
    let tree = try Self.tree()
    let main = try Self.page("lifeboat")
    for command in try Self.shown() {
      #expect(main.contains(".It Ic \(command.commandName)\n"))
      #expect(main.contains(".Xr lifeboat-\(command.commandName) 1"))
      let page = try Self.page("lifeboat-" + command.commandName)
      #expect(page.contains(".Nm lifeboat \(command.commandName)"))
      for alias in command.aliases ?? [] {
        #expect(main.contains(".Ic \(alias) ."), "\(alias)")
        #expect(page.contains(".Ic \(alias) ."), "\(alias)")
      }
      for child in command.subcommands ?? [] {
        #expect(main.contains(".Ic \(command.commandName) \(child.commandName)"))
        #expect(page.contains(".Nm lifeboat \(command.commandName) \(child.commandName)"))
      }
    }
    #expect(Self.flags(in: main).subtracting(Self.flags(of: tree)) == [])
  }

  @Test func everyPageHasItsSections() throws {
    let folder = Self.root.appendingPathComponent("man")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".1") }
    #expect(names.count >= 9)
    for name in names {
      let page = try Self.page(String(name.dropLast(2)))
      for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"] {
        #expect(page.contains(".Sh \(section)\n"), "\(section) of \(name)")
      }
      #expect(page.contains(".Sh OPTIONS\n") || name == "lifeboat.1")
    }
  }

  /// Codes, finding ids and rules stand in the sources as texts in quotes.
  @Test func everyCodeIsExplainedAndNoOtherIs() throws {
    let families =
      "file|header|freelist|ptrmap|freeblock|index|table|page|tree|cell|record|row|text|overflow|schema|wal|journal|coredata|model|plist|evidence|seal|store"
      + "|quarantine|incident|restore|recover|hold|bundle|input|output|stream|writer|usage|custody|demo|migration|mapping|return|age|cipher|hashes|report|backup|state|timeline|triage"
    let quoted = try Regex(
      "\"((?:\(families))\\.[a-z][A-Za-z]+)\"", as: (Substring, Substring).self)
    var codes: Set<String> = []
    let sources = Self.root.appendingPathComponent("Sources")
    let files = try #require(FileManager.default.enumerator(atPath: sources.path))
    // Ids of analysers and names of facts are no codes.
    for case let name as String in files
    where name.hasSuffix(".swift") && !name.contains("/Analysers/") {
      let text = try String(contentsOf: sources.appendingPathComponent(name), encoding: .utf8)
      for match in text.matches(of: quoted) { codes.insert(String(match.output.1)) }
    }
    // Names of files and a key of JSON, not codes.
    codes.remove("model.problem")
    codes = codes.filter {
      !$0.hasSuffix(".json") && !$0.hasSuffix(".txt") && !$0.hasSuffix(".sql")
    }
    #expect(codes.count > 100)
    let explained = try Self.explained()
    #expect(codes.subtracting(explained).sorted() == [])
    // Those that are put together from a verdict.
    let composed = Set(
      ["foreign", "newer", "corrupt", "incompatible", "unavailable", "hostError"]
        .map { "store." + $0 })
    #expect(explained.subtracting(codes).subtracting(composed).sorted() == [])
  }

  /// The ids of findings are constants, in one file of each target that finds something.
  @Test func everyFindingIsExplainedAndNoOtherIs() throws {
    let sources = Self.root.appendingPathComponent("Sources")
    let files = try #require(FileManager.default.enumerator(atPath: sources.path))
    var ids: [String] = []
    for case let name as String in files where name.hasSuffix("/Finding+IDs.swift") {
      let text = try String(contentsOf: sources.appendingPathComponent(name), encoding: .utf8)
      let constants = text.matches(of: /static let (\w+) = Self\(rawValue: "([a-z]+)\.(\w+)"\)\n/)
      #expect(constants.count == text.matches(of: /rawValue/).count, "\(name)")
      for constant in constants {
        let (_, named, family, rest) = constant.output
        #expect(String(named) == "\(family)\(rest.prefix(1).uppercased())\(rest.dropFirst())")
        ids.append("\(family).\(rest)")
      }
    }
    #expect(ids.count > 100 && Set(ids).count == ids.count)
    let explained = try Self.explained()
    #expect(Set(ids).subtracting(explained).sorted() == [])
    // Errors and verdicts about files and stores have codes of these families too.
    let families = Set(ids.map { $0.prefix { $0 != "." } }).subtracting(["file", "store"])
    let others = explained.filter { families.contains($0.prefix { $0 != "." }) }.subtracting(ids)
    #expect(others == ["coredata.noHashes"], "this one is the code of an error")
  }
}
