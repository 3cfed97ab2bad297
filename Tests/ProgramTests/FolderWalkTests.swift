import CLibrary
import Fixtures
import Foundation
import Testing

/// `lifeboat inspect FOLDER`: nothing that is or was a store is passed over in silence.
@Suite struct FolderWalkTests {
  private let folder: TemporaryFolder
  private let outside: TemporaryFolder
  /// A database of several pages.
  private let content: [UInt8]

  init() throws {
    folder = try TemporaryFolder()
    outside = try TemporaryFolder()
    let store = outside.url.appendingPathComponent("notes.sqlite")
    try smallRows(megabytes: 1, at: store)
    content = try bytes(of: store)
  }

  private func put(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: folder.url.appendingPathComponent(name))
  }

  /// The code told of each path that was passed over.
  private func told() throws -> [String: String] {
    let outcome = try Program.run("inspect", "--json", folder.url.path)
    #expect(outcome.status == 1, "\(outcome.errors)")
    let other = try outcome.json()["passedOver"]?.array ?? []
    var told: [String: String] = [:]
    for entry in other {
      let path = try #require(entry["path"]?.string)
      told[String(path.dropFirst(folder.url.path.count + 1))] = entry["code"]?.string
    }
    // The same for people, a line each.
    let text = try Program.run("inspect", folder.url.path)
    #expect(text.status == 1)
    #expect(text.errors.split(separator: "\n").count == other.count, "\(text.errors)")
    #expect(try Program.run("inspect", "--exit-zero", folder.url.path).status == 0)
    return told
  }

  @Test func whatLostItsHeader() throws {
    try put([UInt8](repeating: 0, count: 4096) + content[4096...], "page1zeroed.sqlite")
    try put(Array(content[4096...]), "cut")
    try put(Array(content[1234...]), "cut-anywhere.db")
    try put([UInt8](repeating: 7, count: 16) + content[16...], "magic-gone.sqlite")
    try put(content, "fine.sqlite")
    let told = try told()
    #expect(
      told == [
        "page1zeroed.sqlite": "file.notADatabase", "cut": "file.notADatabase",
        "cut-anywhere.db": "file.notADatabase", "magic-gone.sqlite": "file.notADatabase",
      ])
    // Each of them is read by its own name.
    for name in told.keys {
      #expect(try Program.run("inspect", folder.url.path + "/" + name).status == 0, "\(name)")
    }
  }

  @Test func whatLiesBesideTells() throws {
    let store = outside.url.appendingPathComponent("wal")
    try FileManager.default.createDirectory(at: store, withIntermediateDirectories: false)
    let main = try StoreFixtures.named("wal-committed").make(store)
    let log = try bytes(of: URL(fileURLWithPath: main.path + "-wal"))
    try put([], "empty.sqlite")
    try put(log, "empty.sqlite-wal")
    try put(log, "gone.sqlite-wal")
    try put(log, "renamed.bak")
    try randomFile(folder.url.appendingPathComponent("locked.sqlite"), bytes: 8192, seed: 3)
    try put(log, "locked.sqlite-wal")
    try put([], "pictures.sqlite")
    for name in ["pictures", "lost"] {
      let data = folder.url.appendingPathComponent(".\(name)_SUPPORT/_EXTERNAL_DATA")
      try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
      try Data("x".utf8).write(to: data.appendingPathComponent("file"))
    }
    try #require(unsafe mkfifo(folder.url.path + "/pipe.sqlite", 0o600) == 0)
    try put(log, "pipe.sqlite-wal")
    try FileManager.default.createSymbolicLink(
      atPath: folder.url.path + "/link.sqlite",
      withDestinationPath: outside.url.path + "/notes.sqlite")
    #expect(
      try told() == [
        "empty.sqlite": "file.empty", "gone.sqlite-wal": "file.missing",
        "renamed.bak": "file.isLog", "locked.sqlite": "file.looksEncrypted",
        "pictures.sqlite": "file.empty", ".lost_SUPPORT": "file.missing",
        "pipe.sqlite": "file.notRegular", "link.sqlite": "file.notRegular",
      ])
  }

  @Test func namesThatAreNoText() throws {
    let store = outside.url.appendingPathComponent("notes.sqlite")
    let script = #"cp "$1" "$2/$(printf 'caf\351')""#
    // Some file systems take only text.
    guard try run("/bin/sh", ["-c", script, "sh", store.path, folder.url.path]).status == 0 else {
      return print("skipped: names that are no text")
    }
    #expect(try told() == ["caf\\xE9": "input.nameNotText"])
  }

  /// Deeper than is looked, and what nobody may look into.
  @Test func whatIsNotEntered() throws {
    var path = folder.url
    for _ in 0..<18 { path.appendPathComponent("d") }
    try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    #expect(try Array(told().values) == ["input.notEntered"])
  }

  @Test(
    .enabled(
      if: geteuid() != 0 || findTool("setpriv") != nil, "everything is permitted to root"))
  func whatCannotBeRead() throws {
    try put(content, "private.sqlite")
    let inner = folder.url.appendingPathComponent("inner")
    try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
    try put(content, "inner/notes.sqlite")
    for path in [folder.url.path + "/private.sqlite", inner.path] {
      try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    }
    defer {
      try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: inner.path)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
    let program = try #require(Program.path)
    let drop = geteuid() == 0 ? ["--reuid=65534", "--clear-groups", program] : []
    let tool = geteuid() == 0 ? try #require(findTool("setpriv")) : program
    let result = try run(tool, drop + ["inspect", folder.url.path])
    let errors = String(decoding: result.stderr, as: UTF8.self)
    // Where the program itself is out of reach nothing can be said.
    guard result.status != 127, result.status != 126 else {
      return print("skipped: what cannot be read: \(errors)")
    }
    #expect(result.status == 1)
    #expect(errors.components(separatedBy: "(file.permission)\n").count == 3, "\(errors)")
  }

  /// Whatever the width is, a path in the list is that of the file.
  @Test(arguments: [40, 80, 200]) func pathsAreNotCut(_ columns: Int) throws {
    let names = ["a store with a long name.sqlite", "other.sqlite"]
    let deep = "one folder/another folder/a third folder in it"
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent(deep), withIntermediateDirectories: true)
    for name in names { try put(content, deep + "/" + name) }
    let outcome = try Program.run(["inspect", folder.url.path], columns: columns)
    #expect(outcome.status == 0, "\(outcome.errors)")
    for name in names {
      #expect(
        outcome.text.contains("\(folder.url.path)/\(deep)/\(name)"), "\(outcome.text)")
    }
  }

  /// Ordinary files stay unmentioned.
  @Test func nothingElseIsTold() throws {
    try put(content, "fine.sqlite")
    try randomFile(folder.url.appendingPathComponent("photo.jpg"), bytes: 3 << 20, seed: 5)
    try put(Array(String(repeating: "Just words.\n", count: 100_000).utf8), "words.txt")
    try put(Array("CREATE TABLE t(a);\nINSERT INTO t VALUES(1);\n".utf8), "dump.sql")
    try put([UInt8](repeating: 0, count: 1 << 20), "zeros")
    try put([], "empty")
    try put(Array("{}".utf8), "small.json")
    let program = try #require(Program.path)
    try FileManager.default.createSymbolicLink(
      atPath: folder.url.path + "/same.sqlite", withDestinationPath: "fine.sqlite")
    try FileManager.default.copyItem(
      atPath: program, toPath: folder.url.path + "/program")
    let outcome = try Program.run("inspect", folder.url.path)
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
  }

  // MARK: - Other commands that walk

  /// A Core Data store beside one that lost its header, a log without its store and a store of which the schema
  /// cannot be read.
  private func manyStores() throws -> [String: String] {
    let demo = try Demonstration.shared.get()
    for suffix in ["", "-wal"] {
      let file = URL(fileURLWithPath: demo.kept.path + suffix)
      try put(try bytes(of: file), "Notes.sqlite" + suffix)
    }
    try put([UInt8](repeating: 0, count: 4096) + content[4096...], "ruined.sqlite")
    try put(Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 84), "short.sqlite")
    return ["ruined.sqlite": "file.notADatabase"]
  }

  @Test func modelsOfAFolderAreToldWithWhatIsNot() throws {
    let told = try manyStores()
    let path = folder.url.path
    let output = outside.url.appendingPathComponent("M.mom").path
    for command in [
      ["show", path], ["hash", path], ["diff", path, path],
      ["convert", path, "--to", "mom", "-o", output],
      ["identify", path + "/Notes.sqlite", path], ["plan", path + "/Notes.sqlite", path],
    ] {
      let outcome = try Program.run(["model"] + command)
      #expect(outcome.status == 1, "\(command): \(outcome.errors)")
      #expect(outcome.text != "", "\(command)")
      for (name, code) in told {
        let line = "finding: \(path)/\(name): "
        #expect(outcome.errors.contains(line), "\(command): \(outcome.errors)")
        #expect(outcome.errors.contains("(\(code))\n"), "\(command): \(outcome.errors)")
      }
      #expect(outcome.errors.contains("\(path)/short.sqlite: "), "\(command): \(outcome.errors)")
    }
    #expect(try Program.run("model", "hash", "--exit-zero", path).status == 0)
    // Where nothing can be read, that is the error.
    for name in ["Notes.sqlite", "Notes.sqlite-wal"] {
      try FileManager.default.removeItem(atPath: path + "/" + name)
    }
    let nothing = try Program.run("model", "show", path)
    #expect(nothing.status == 65)
    #expect(nothing.errors.contains(path + "/ruined.sqlite"), "\(nothing.errors)")
  }

  /// A record names the hash of each file that is evidence, and names the files without a hash.
  @Test func theCustodyLogLeavesNothingOut() throws {
    _ = try manyStores()
    var deep = folder.url
    for _ in 0..<18 { deep.appendPathComponent("d") }
    try FileManager.default.createDirectory(at: deep, withIntermediateDirectories: true)
    let log = outside.url.appendingPathComponent("custody.ndjson")
    _ = try Program.run("inspect", folder.url.path, "--custody-log", log.path)
    let record = try JSONDecoder().decode(JSON.self, from: try Data(contentsOf: log))
    let names = record["inputs"]?.array?.compactMap { $0["path"]?.string }
      .map { String($0.dropFirst(folder.url.path.count + 1)) }
    #expect(names == ["Notes.sqlite", "ruined.sqlite", "short.sqlite"])
    let ruined = try Data(contentsOf: folder.url.appendingPathComponent("ruined.sqlite"))
    #expect(
      record["inputs"]?[1]?["sha256Before"]?["ruined.sqlite"]?.string == hex(of: ruined))
    #expect(
      record["passedOver"]?.array?.compactMap { $0["code"]?.string } == ["input.notEntered"])
  }

  /// A model, and beside it a folder deeper than any walk goes.
  private func makeModelAndDeepFolder() throws -> URL {
    let model = folder.url.appendingPathComponent("M.xcdatamodel")
    var deep = folder.url
    for _ in 0..<18 { deep.appendPathComponent("d") }
    for path in [model, deep] {
      try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    }
    try put(Array("<model><entity name=\"A\"/></model>".utf8), "M.xcdatamodel/contents")
    return model
  }

  /// Models too: a folder that lies too deep is named.
  @Test func foldersOfModelsThatAreNotEnteredAreTold() throws {
    _ = try makeModelAndDeepFolder()
    let outcome = try Program.run("model", "show", folder.url.path)
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("(input.notEntered)\n"), "\(outcome.errors)")
  }

  /// So do the options that take a folder of models.
  @Test(arguments: [["recover", "-n"], ["rows", "--all"], ["rows", "--deleted"]])
  func foldersOfExamplesThatAreNotEnteredAreTold(_ command: [String]) throws {
    let store = outside.url.appendingPathComponent("Plain.sqlite")
    try Data(content).write(to: store)
    let model = try makeModelAndDeepFolder()
    let outcome = try Program.run(command + [store.path, "--like", folder.url.path])
    let line = "finding: \(folder.url.path)/d/"
    #expect(outcome.errors.contains(line), "\(outcome.status) \(outcome.errors)")
    #expect(outcome.errors.contains("(input.notEntered)\n"), "\(outcome.errors)")
    let other = try Program.run(command + [store.path, "--like", model.path])
    #expect(!other.errors.contains("input.notEntered"), "\(other.errors)")
  }
}
