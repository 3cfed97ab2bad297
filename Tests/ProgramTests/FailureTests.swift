import CLibrary
import Fixtures
import Foundation
import Testing

/// What is no store, and what each command says to it.
@Suite struct FailureTests {
  /// A kind of input that no command can use as a store.
  enum Input: String, CaseIterable, CustomTestStringConvertible {
    case text, empty, random, emptyFolder, missing, pipe, link, shortHeader

    var testDescription: String { rawValue }

    func make(in folder: URL) throws -> String {
      let url = folder.appendingPathComponent("input")
      switch self {
      case .text: try Data("Just some words, and no store at all.\n".utf8).write(to: url)
      case .empty: try Data().write(to: url)
      case .random: try randomFile(url, bytes: 1 << 20, seed: 7)
      case .emptyFolder:
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      case .missing: break
      case .pipe:
        guard unsafe mkfifo(url.path, 0o600) == 0 else { throw FixtureError("mkfifo failed") }
      case .link:
        let store = try StoreFixtures.named("page-512").make(folder)
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: store)
      case .shortHeader: try Data("SQLite format 3\0\u{10}\0".utf8).write(to: url)
      }
      return url.path
    }
  }

  /// A command that is given the input in place of `INPUT`.
  struct Command: CustomTestStringConvertible {
    let arguments: [String]
    /// The expected code and exit status of each kind of input.
    let expected: @Sendable (Input) -> (status: Int32, codes: Set<String>)

    var testDescription: String { arguments.prefix(2).joined(separator: " ") }
  }

  private static func asStore(_ input: Input) -> (status: Int32, codes: Set<String>) {
    switch input {
    case .text, .shortHeader: (65, ["file.notADatabase"])
    case .empty: (65, ["file.empty"])
    case .random: (65, ["file.looksEncrypted"])
    case .emptyFolder: (66, ["file.notRegular", "input.noStores"])
    case .missing: (66, ["file.missing"])
    case .pipe, .link: (66, ["file.notRegular"])
    }
  }

  static let commands: [Command] = [
    Command(arguments: ["inspect", "INPUT"], expected: asStore),
    Command(arguments: ["check", "INPUT"], expected: asStore),
    Command(arguments: ["pages", "INPUT"], expected: asStore),
    Command(arguments: ["rows", "INPUT"], expected: asStore),
    Command(arguments: ["rows", "--raw", "--format", "ndjson", "INPUT"], expected: asStore),
    Command(arguments: ["extract", "INPUT", "-o", "OUTPUT"], expected: asStore),
    Command(
      arguments: ["extract", "INPUT", "--format", "sqlite", "-o", "OUTPUT"], expected: asStore),
    Command(arguments: ["bundle", "create", "INPUT", "-o", "OUTPUT"], expected: asStore),
    Command(arguments: ["model", "identify", "INPUT", "MODEL"]) { input in
      input == .emptyFolder ? (64, ["usage.folderAsStore"]) : asStore(input)
    },
    Command(arguments: ["rescue", "INPUT", "--model", "MODEL", "--app", "Test"]) { input in
      switch input {
      case .text, .empty, .random: (65, ["store.foreign"])
      default: asStore(input)
      }
    },
    Command(arguments: ["model", "hash", "INPUT"]) { input in
      switch input {
      case .missing, .pipe: (66, ["model.unreadable"])
      case .link: (66, ["file.notRegular"])
      case .shortHeader: (65, ["file.notADatabase"])
      default: (65, ["model.notAModel"])
      }
    },
    Command(arguments: ["bundle", "verify", "INPUT"]) { input in
      switch input {
      case .missing: (66, ["bundle.inputMissing"])
      case .emptyFolder, .pipe: (66, ["bundle.notAFile"])
      default: (65, ["bundle.notAZip"])
      }
    },
  ]

  private static let model = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="Note" syncable="YES">
        <attribute name="title" optional="YES" attributeType="String"/>
      </entity>
    </model>
    """

  /// Every command with every input in long rounds; otherwise each command with two or three, and each input with four.
  private static let pairs = Rounds.part(
    of: commands.flatMap { command in Input.allCases.map { (command, $0) } }, every: 3)

  @Test(arguments: pairs)
  func saysWhatAndWhatNext(_ command: Command, _ input: Input) throws {
    // A header alone is a store whose rest is gone: rescue sets it aside, which another test covers.
    if command.arguments[0] == "rescue", input == .shortHeader { return }
    let folder = try TemporaryFolder()
    let place = try TemporaryFolder()
    let models = place.url.appendingPathComponent("Notes.xcdatamodel")
    try FileManager.default.createDirectory(at: models, withIntermediateDirectories: false)
    try Data(Self.model.utf8).write(to: models.appendingPathComponent("contents"))
    let path = try input.make(in: folder.url)
    let output = place.url.appendingPathComponent("output").path
    let arguments = command.arguments.map {
      $0.replacingOccurrences(of: "INPUT", with: path)
        .replacingOccurrences(of: "OUTPUT", with: output)
        .replacingOccurrences(of: "MODEL", with: models.path)
    }
    let before = treeState(of: folder.url)
    let expected = command.expected(input)

    let outcome = try Program.run(arguments)
    #expect(outcome.status == expected.status, "\(outcome.errors)")
    let code = try #require(outcome.errorCode, "\(outcome.errors)")
    #expect(expected.codes.contains(code), "\(outcome.errors)")
    #expect(outcome.errors.contains("input"), "the path is not named: \(outcome.errors)")
    #expect(outcome.errors.contains("\nhint: "))

    let forPrograms = try Program.run(arguments + ["--json"])
    #expect(forPrograms.status == expected.status)
    #expect(forPrograms.stderr.split(separator: UInt8(ascii: "\n")).count == 1)
    let object = try JSONDecoder().decode(JSON.self, from: forPrograms.stderr)
    #expect(object["message_type"]?.string == "exit_error")
    #expect(object["code"]?.string == code)
    #expect(object["message"]?.string?.isEmpty == false)

    #expect(treeState(of: folder.url) == before)
    #expect(!FileManager.default.fileExists(atPath: output))
  }

  @Test func aLinkIsNamedAsWhatItIs() throws {
    let folder = try TemporaryFolder()
    let outcome = try Program.run("inspect", try Input.link.make(in: folder.url))
    #expect(outcome.errors.contains("a symbolic link, not the file that it leads to"))
  }

  @Test(arguments: [["inspect"], ["rows"], ["model", "hash"]])
  func aFileWithoutPermissionIs77(_ command: [String]) throws {
    guard geteuid() != 0 else {
      print("skipped: a file without permission: everything is permitted to root")
      return
    }
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: store.path)
    let outcome = try Program.run(command + [store.path])
    #expect(outcome.status == 77)
    #expect(outcome.errorCode == "file.permission")
  }

  /// A store that lost its second half: each reading command reads the rest and says so.
  @Test(arguments: [
    ["rows", "INPUT"], ["rows", "--raw", "--format", "ndjson", "INPUT"],
    ["extract", "INPUT", "-o", "OUTPUT"], ["bundle", "create", "INPUT", "-o", "OUTPUT"],
  ])
  func aTruncatedStoreIsReadAsFarAsItGoes(_ command: [String]) throws {
    let folder = try TemporaryFolder()
    let place = try TemporaryFolder()
    let store = try StoreFixtures.named("page-1024").make(folder.url)
    try truncate(store, to: try bytes(of: store).count / 2)
    let before = treeState(of: folder.url)
    let output = place.url.appendingPathComponent("output").path
    let arguments = command.map {
      $0.replacingOccurrences(of: "INPUT", with: store.path)
        .replacingOccurrences(of: "OUTPUT", with: output)
    }
    let outcome = try Program.run(arguments)
    #expect(outcome.status == 1)
    #expect(!outcome.stdout.isEmpty)
    #expect(outcome.errors.contains("finding: "))
    #expect(outcome.errors.contains("(file.truncated)"))
    #expect(try Program.run("inspect", store.path).status == 0)
    try? FileManager.default.removeItem(atPath: output)
    let zero = try Program.run(arguments + ["--exit-zero"])
    #expect(zero.status == 0)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func ofSeveralPathsTheWorstCounts() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let text = try Input.text.make(in: folder.url)
    let outcome = try Program.run("inspect", text, store.path, folder.url.path + "/none")
    #expect(outcome.status == 66)
    #expect(outcome.text.contains("page-512.sqlite"))
    #expect(outcome.errors.contains("(file.notADatabase)"))
    #expect(outcome.errors.contains("(file.missing)"))
  }
}
