import Fixtures
import Foundation
import Testing

/// What a user may not look at, or may not give away.
@Suite struct PermissionTests {
  /// Runs the program as a user who may do nothing that permissions forbid; `folder` is that user's then. nil after
  /// saying that it cannot be done.
  private func run(_ arguments: [String], owning folder: String) throws -> Outcome? {
    let program = try #require(Program.path)
    guard geteuid() == 0 else { return try Program.run(arguments) }
    guard let setpriv = findTool("setpriv"), let chown = findTool("chown") else {
      print("skipped: root may do everything, and there is no setpriv")
      return nil
    }
    // With the group left as it is.
    _ = try Fixtures.run(chown, ["-R", "65534", folder])
    let result = try Fixtures.run(
      setpriv, ["--reuid=65534", "--regid=65534", "--clear-groups", program] + arguments)
    guard result.status != 126, result.status != 127 else {
      print("skipped: another user cannot run the program")
      return nil
    }
    return Outcome(status: result.status, stdout: result.stdout, stderr: result.stderr)
  }

  private func set(_ permissions: Int, _ path: String) {
    #expect(throws: Never.self) {
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }
  }

  /// The folder of external files may not be opened, so nobody knows what is in it.
  @Test func aSupportFolderThatCannotBeRead() throws {
    let demo = try Demonstration()
    let place = demo.folder.deletingLastPathComponent().path
    let support = demo.kept.deletingLastPathComponent().path + "/.Notes_SUPPORT"
    set(0o755, place)
    set(0, support)
    defer { set(0o700, support) }
    let store = demo.kept.path
    guard let inspected = try run(["inspect", store], owning: place) else { return }
    #expect(inspected.status == 1, "\(inspected.errors)")
    #expect(inspected.text.contains(".Notes_SUPPORT cannot be read"), "\(inspected.text)")
    let json = try #require(try run(["inspect", "--json", store], owning: place)).json()
    #expect(json["findings"]?[0]?["id"]?.string == "store.filesUnread")

    for (command, code) in [
      (["extract", store, "-o", place + "/rows"], 1),
      (["extract", store, "--format", "sqlite", "-o", place + "/rows.sqlite"], 1),
      (["recover", store, "-o", place + "/new.sqlite"], 1),
    ] as [([String], Int32)] {
      let outcome = try #require(try run(command, owning: place))
      #expect(outcome.status == code, "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains("(recover.externalUnread)"), "\(command): \(outcome.errors)")
      #expect(!outcome.errors.contains("which is missing"), "\(outcome.errors)")
    }
    for include in ["structure", "store"] {
      let output = place + "/\(include).zip"
      let outcome = try #require(
        try run(["bundle", "create", store, "--include", include, "-o", output], owning: place))
      #expect(outcome.status == 1, "\(outcome.errors)")
      if include == "store" {
        // The sentence may be broken at any of its blanks.
        let words = outcome.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("may not read"), "\(outcome.text)")
      }
      #expect(try #require(try run(["bundle", "verify", output], owning: place)).status == 0)
    }
    // It says of pages what it saw, and looks at no other file.
    #expect(try #require(try run(["check", store], owning: place)).status == 0)
  }

  /// A folder for output that may not be opened is not said to exist already.
  @Test func anOutputFolderThatCannotBeRead() throws {
    let demo = try Demonstration()
    let place = demo.folder.deletingLastPathComponent().path
    let output = place + "/rows"
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: false)
    set(0o755, place)
    set(0, output)
    defer { set(0o700, output) }
    guard let outcome = try run(["extract", demo.kept.path, "-o", output], owning: place)
    else { return }
    #expect(outcome.status == 73, "\(outcome.errors)")
    #expect(outcome.errors.contains("(output.cannotCreate)"), "\(outcome.errors)")
    #expect(outcome.errors.contains("Permission denied"), "\(outcome.errors)")
  }

  /// What could not be looked at is neither damaged nor the same.
  @Test(arguments: ["show", "restore", "verify", "list"])
  func anIncidentThatCannotBeRead(_ command: String) throws {
    let quarantines = try Quarantines()
    let place = quarantines.demo.folder.deletingLastPathComponent().path
    set(0o755, place)
    set(0, quarantines.demo.incident.path)
    defer { set(0o700, quarantines.demo.incident.path) }
    let id = command == "list" ? [] : [quarantines.id]
    guard let outcome = try run(["incidents", command, quarantines.stores] + id, owning: place)
    else { return }
    switch command {
    case "list":
      #expect(outcome.status == 1)
      #expect(outcome.text.contains("not readable"), "\(outcome.text)")
    case "verify":
      #expect(outcome.status == 1)
      #expect(outcome.text.contains("cannot be examined"), "\(outcome.text)")
    default:
      #expect(outcome.status == 77, "\(outcome.errors)")
      #expect(outcome.errors.contains("permission denied"), "\(outcome.errors)")
    }
    #expect(!outcome.errors.contains("the same"), "\(outcome.errors)")
  }

  /// A file that cannot be read is named, and so are the reason and what to do.
  @Test func aKeptFileThatCannotBeRead() throws {
    let quarantines = try Quarantines()
    let place = quarantines.demo.folder.deletingLastPathComponent().path
    set(0o755, place)
    set(0, quarantines.demo.kept.path)
    defer { set(0o600, quarantines.demo.kept.path) }
    guard let verified = try run(["incidents", "verify", quarantines.stores], owning: place)
    else { return }
    #expect(verified.status == 1, "\(verified.errors)")
    #expect(
      verified.text.contains("unread: Notes.sqlite: the file cannot be read: Permission denied"),
      "\(verified.text)")
    #expect(verified.errors.contains("as the user who owns"), "\(verified.errors)")
    let restored = try #require(
      try run(["incidents", "restore", quarantines.stores, quarantines.id], owning: place))
    #expect(restored.status == 77, "\(restored.errors)")
    #expect(restored.errors.contains("store/Notes.sqlite"), "\(restored.errors)")
    #expect(restored.errors.contains("--force"), "\(restored.errors)")
  }

  /// A group that the user is no member of cannot be given; then neither it nor another gets any right by that.
  @Test(.enabled(if: Shared.isThere)) func aGroupThatCannotBeGiven() throws {
    guard geteuid() == 0, let moody = try Moody("a group that cannot be given"),
      let chgrp = findTool("chgrp")
    else { return }
    set(0o755, moody.home)
    for suffix in ["", "-wal", "-shm"] {
      _ = try Fixtures.run(chgrp, ["12345", moody.store.path + suffix])
      set(0o664, moody.store.path + suffix)
    }
    guard
      let outcome = try run(
        ["rescue", moody.store.path, "--model", moody.models.path, "--app", "Moody"],
        owning: moody.home)
    else { return }
    guard !outcome.errors.contains("model.unreadable") else {
      return print("skipped: another user cannot read the models")
    }
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.contains("chgrp 12345"), "\(outcome.errors)")
    let fresh = try FileManager.default.attributesOfItem(atPath: moody.store.path)
    #expect(fresh[.groupOwnerAccountID] as? Int == 65534)
    #expect(fresh[.posixPermissions] as? Int == 0o644)
  }
}
