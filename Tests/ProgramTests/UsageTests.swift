import Fixtures
import Foundation
import Testing

/// What is said to who mistypes, and whether what is said can be run.
@Suite struct UsageTests {
  @Test func aNameThatBeginsWithAHyphen() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    try FileManager.default.moveItem(
      at: store, to: folder.url.appendingPathComponent("-dash.sqlite"))
    let program = try #require(Program.path)
    func outcome(_ words: String) throws -> (Int32, String, String) {
      let result = try run(
        "/bin/sh", ["-c", "cd \"$1\" && \"$2\" \(words)", "sh", folder.url.path, program])
      return (
        result.status, String(decoding: result.stdout, as: UTF8.self),
        String(decoding: result.stderr, as: UTF8.self)
      )
    }
    let refused = try outcome("inspect -dash.sqlite")
    #expect(refused.0 == 64)
    #expect(refused.1 == "")
    #expect(refused.2.contains("(usage.parser)"))
    #expect(refused.2.contains("./-dash.sqlite"))
    for words in ["inspect ./-dash.sqlite", "inspect -- -dash.sqlite"] {
      let read = try outcome(words)
      #expect(read.0 == 0, "\(read.2)")
      // What is to be run next can be run.
      #expect(read.1.contains("lifeboat rows ./-dash.sqlite"))
    }
    #expect(try outcome("rows -vq --limit 1 ./-dash.sqlite").0 == 0)
  }

  /// A name that Swift cannot hold is refused, and not taken as another one.
  @Test func aNameThatIsNotUTF8() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let before = treeState(of: folder.url)
    let program = try #require(Program.path)
    for words in ["inspect \"$name\"", "recover \"$3\" -o \"$name\""] {
      let script = "name=$(printf 'o\\377.sqlite'); cd \"$1\" && \"$2\" \(words)"
      let result = try run("/bin/sh", ["-c", script, "sh", folder.url.path, program, store.path])
      #expect(result.status == 64)
      #expect(String(decoding: result.stderr, as: UTF8.self).contains("(usage.notUTF8)"))
    }
    #expect(treeState(of: folder.url) == before)
  }

  /// The letters that count as flags are those that there are.
  @Test func everyLetterIsKnown() throws {
    let dump = try Program.run("--experimental-dump-help").text
    for match in dump.matches(of: /"kind"\s*:\s*"short",\s*"name"\s*:\s*"(.)"/) {
      #expect("0fhinoqv".contains(match.output.1), "UsageAdvice does not know -\(match.output.1)")
    }
    #expect(dump.contains("\"short\""))
  }

  @Test(arguments: [
    (["inspct", "x"], "lifeboat inspect"), (["recvoer", "x"], "lifeboat recover"),
    (["bundle", "vrify", "x"], "lifeboat bundle verify"), (["insp", "x"], "lifeboat inspect"),
    (["incidents", "lst", "x"], "lifeboat incidents list"), (["exprot", "x"], "lifeboat export"),
  ])
  func aMistypedCommand(_ arguments: [String], _ meant: String) throws {
    let outcome = try Program.run(arguments)
    #expect(outcome.status == 64)
    #expect(outcome.errors.hasSuffix("hint: did you mean: \(meant)\n"), "\(outcome.errors)")
    let forPrograms = try Program.run(arguments + ["--json"])
    let object = try JSONDecoder().decode(JSON.self, from: forPrograms.stderr)
    #expect(object["hint"]?.string == "did you mean: \(meant)")
  }

  @Test(arguments: [
    ["rows", "STORE", "--entity", "Noet"], ["rows", "STORE", "--all", "--entity", "Noet"],
    ["extract", "STORE", "--entity", "Noet", "-o", "OUTPUT"],
    ["compare", "STORE", "STORE", "--entity", "Noet"],
    ["rows", "STORE", "--raw", "--entity", "ZNOET"],
  ])
  func aMistypedEntity(_ command: [String]) throws {
    let demo = try Demonstration.shared.get()
    let outcome = try Program.run(
      command.map { word in
        switch word {
        case "STORE": demo.kept.path
        case "OUTPUT": demo.folder.path + "/none"
        default: word
        }
      })
    #expect(outcome.status == 64)
    #expect(outcome.errorCode == "input.unknownName")
    let meant = command.contains("ZNOET") ? "ZNOTE" : "Note"
    #expect(outcome.errors.contains("hint: did you mean \(meant)? "), "\(outcome.errors)")
    #expect(outcome.errors.contains("lifeboat inspect -v \(demo.kept.path)\n"))
  }

  /// A folder with one store stands for it; one with several is not guessed about.
  @Test(arguments: [
    ["rows"], ["check"], ["pages"], ["timeline"], ["recover", "-n"], ["rows", "--all"],
  ])
  func aFolderForAStore(_ command: [String]) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let truth = try Program.run(command + [store.path])
    let outcome = try Program.run(command + [folder.url.path])
    #expect(outcome.status == truth.status && outcome.stdout == truth.stdout, "\(outcome.errors)")
    _ = try StoreFixtures.named("free-blocks").make(folder.url)
    let several = try Program.run(command + [folder.url.path])
    #expect(several.status == 64 && several.errorCode == "usage.oneStore")
    #expect(several.errors.contains("free-blocks.sqlite"), "\(several.errors)")
    #expect(try Program.run("inspect", folder.url.path).status == 0)
  }

  @Test func csvOfAllTablesSaysWhatToDo() throws {
    let demo = try Demonstration.shared.get()
    let path = demo.kept.path
    let raw = try Program.run("rows", "--raw", path, "--format", "csv")
    #expect(raw.errorCode == "usage.oneTable")
    for part in ["--entity ZNOTE (6 rows)", "lifeboat extract --format csv \(path) -o DIR"] {
      #expect(raw.errors.contains(part), "\(part) in \(raw.errors)")
    }
    let all = try Program.run("rows", "--all", "--raw", path, "--format", "csv")
    #expect(all.errors.contains("--entity ZNOTE"))
    #expect(all.errors.contains("lifeboat rows --all --raw --format ndjson \(path)"))
  }

  /// What a shell takes for a word is the path, and nothing of it is run.
  @Test(
    .enabled(if: findTool("bash") != nil, "no bash"),
    arguments: [
      "a'\u{301};touch PWNED;'\u{301}.sqlite", "$(touch PWNED).sqlite", "a b`touch PWNED`",
      "\u{202E}\u{1B}[2J'\u{301}.sqlite", "x" + String(repeating: "\u{301}", count: 40) + "'",
    ])
  func whatIsNextCanBePasted(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let path = folder.url.path + "/" + name
    try #require(unsafe rename(store.path, path) == 0)
    let outcome = try Program.run("inspect", path)
    let lines = outcome.text.split(separator: "\n").filter {
      $0.contains("lifeboat ") && !$0.contains("(lifeboat check lists")
    }
    #expect(lines.count == 2)
    for line in lines {
      let place = try #require(line.firstRange(of: "lifeboat "))
      let script = "cd \"$1\" && lifeboat() { printf '%s\\0' \"$@\"; }; eval \"$2\""
      let bash = try #require(findTool("bash"))
      let result = try run(
        bash,
        ["-c", script, "bash", folder.url.path, String(line[place.lowerBound...])])
      #expect(result.status == 0)
      let words = result.stdout.split(separator: 0)
      #expect(words.contains { Array($0) == Array(path.utf8) }, "\(line)")
      let there = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
      #expect(there.count == 1)
    }
  }

  /// The shell's own completion of file names goes on where a path is wanted.
  @Test(.enabled(if: findTool("bash") != nil, "no bash"))
  func filesAreCompleted() throws {
    let folder = try TemporaryFolder()
    try Data().write(to: folder.url.appendingPathComponent("Notes.sqlite"))
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Nothing"), withIntermediateDirectories: false)
    let script = try Program.run("--generate-completion-script", "bash").text
    let file = folder.url.appendingPathComponent("completion.bash")
    try Data(script.utf8).write(to: file)
    let bash = try #require(findTool("bash"))
    let program = """
      source "$1"; cd "$2"; shift 2
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
      _lifeboat lifeboat "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    for words in [
      ["inspect", "No"], ["check", "No"], ["rows", "No"], ["pages", "No"], ["timeline", "No"],
      ["compare", "Notes.sqlite", "No"], ["extract", "No"], ["extract", "x", "-o", "No"],
      ["recover", "No"], ["rescue", "No"], ["rows", "x", "--model", "No"],
      ["bundle", "create", "No"], ["bundle", "verify", "No"], ["bundle", "list", "No"],
      ["model", "show", "No"], ["model", "diff", "x", "No"], ["model", "identify", "No"],
      ["model", "convert", "x", "-o", "No"], ["rescue", "x", "--model", "No"],
      ["model", "plan", "x", "--mapping", "No"], ["inspect", "x", "--custody-log", "No"],
      ["recover", "x", "--like", "No"],
    ] {
      let result = try run(
        bash, ["-c", program, "bash", file.path, folder.url.path, "lifeboat"] + words)
      let told = String(decoding: result.stdout, as: UTF8.self)
      #expect(told.contains("Notes.sqlite"), "\(words): \(told)")
    }
    let folders = try run(
      bash,
      ["-c", program, "bash", file.path, folder.url.path, "lifeboat", "incidents", "list", "No"])
    #expect(String(decoding: folders.stdout, as: UTF8.self).contains("Nothing"))
  }
}
