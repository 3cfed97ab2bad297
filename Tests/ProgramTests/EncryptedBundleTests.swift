import Fixtures
import Foundation
import Testing

/// Bundles for one reader, as commands.
@Suite struct EncryptedBundleTests {
  @Test func aBundleForSupport() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let place = try TemporaryFolder()
    func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }
    let made = try Program.run("bundle", "keygen", "-o", path("key"))
    #expect(made.status == 0, "\(made.errors)")
    let publicKey = made.text.trimmingCharacters(in: .newlines)
    let mode = try FileManager.default.attributesOfItem(atPath: path("key"))[.posixPermissions]
    #expect(mode as? Int == 0o600)
    // A key is never replaced.
    #expect(try Program.run("bundle", "keygen", "-o", path("key")).status == 73)

    let created = try Program.run(
      "bundle", "create", demo.kept.path, "--include", "store", "--to", publicKey, "-o",
      path("b.age"))
    #expect(created.status == 0, "\(created.errors)")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path("b.age")))
    for word in ["manifest.json", "SQLite format", "lifeboat.bundle"] {
      #expect(!bytes.holds(word))
    }
    for command in [["verify"], ["list"], ["show"], ["extract", "-o", path("no")]] {
      let refused = try Program.run(["bundle"] + command + [path("b.age")])
      #expect(refused.status == 65)
      #expect(refused.errors.contains("age.noKeyFits") && refused.errors.contains("--identity"))
      let opened = try Program.run(
        ["bundle"] + command.map { $0.replacingOccurrences(of: "/no", with: "/out") } + [
          path("b.age"), "-i", path("key"),
        ])
      #expect(opened.status == 0, "\(opened.errors)")
    }
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: path("out/store/Notes.sqlite")))
        == Data(contentsOf: demo.kept))
    #expect(!FileManager.default.fileExists(atPath: path("no")))
    #expect(treeState(of: demo.folder) == before)
    // The keys of a file, and text instead of bytes.
    try Data("# support\n\n\(publicKey)\n".utf8).write(to: URL(fileURLWithPath: path("public")))
    let text = try Program.run(
      "bundle", "create", demo.kept.path, "--to", path("public"), "--armor", "-o", path("t.age"))
    #expect(text.status == 0, "\(text.errors)")
    let armored = try String(
      decoding: Data(contentsOf: URL(fileURLWithPath: path("t.age"))), as: UTF8.self)
    #expect(armored.hasPrefix("-----BEGIN AGE ENCRYPTED FILE-----\n"))
    #expect(try Program.run("bundle", "verify", path("t.age"), "-i", path("key")).status == 0)
  }

  @Test func aSignedBundle() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }
    let key = try Program.run("bundle", "keygen", "--signing", "-o", path("key")).text
      .trimmingCharacters(in: .newlines)
    let other = try Program.run("bundle", "keygen", "--signing", "-o", path("other")).text
      .trimmingCharacters(in: .newlines)
    let made = try Program.run(
      "bundle", "create", demo.kept.path, "--sign", path("key"), "-o", path("b.zip"))
    #expect(made.status == 0, "\(made.errors)")
    let good = try Program.run("bundle", "verify", path("b.zip"), "--public-key", key)
    #expect(good.status == 0 && good.text.contains("signed by the key"), "\(good.errors)")
    #expect(try Program.run("bundle", "verify", path("b.zip"), "--public-key", other).status == 65)
    #expect(try Program.run("bundle", "verify", path("b.zip"), "--public-key", "RW").status == 65)
    // Without room for its signature, no bundle is made.
    try Data().write(to: URL(fileURLWithPath: path("d.zip.minisig")))
    let unsigned = try Program.run(
      "bundle", "create", demo.kept.path, "--sign", path("key"), "-o", path("d.zip"))
    #expect(unsigned.status == 73 && unsigned.errorCode == "bundle.outputExists")
    #expect(!FileManager.default.fileExists(atPath: path("d.zip")))
    // Another bundle under the same signature.
    _ = try Program.run("bundle", "create", demo.kept.path, "--no-model", "-o", path("c.zip"))
    let forged = try Program.run(
      "bundle", "verify", path("c.zip"), "--public-key", key, "--signature",
      path("b.zip.minisig"))
    #expect(forged.status == 65 && forged.errors.contains("bundle.badSignature"))
    #expect(try Program.run("bundle", "verify", path("c.zip"), "--public-key", key).status == 66)
  }

  @Test func aPassphrase() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }
    try Data("correct horse\nnot this\n".utf8).write(to: URL(fileURLWithPath: path("right")))
    try Data("wrong horse\n".utf8).write(to: URL(fileURLWithPath: path("wrong")))
    try Data("\n".utf8).write(to: URL(fileURLWithPath: path("none")))
    let created = try Program.run(
      "bundle", "create", demo.kept.path, "--passphrase-file", path("right"), "-o", path("b.age"))
    #expect(created.status == 0, "\(created.errors)")
    // Each passphrase takes a second. Another test has a wrong one: aJournalDependsOnNoPassphrase.
    for (name, status) in [("right", 0), ("wrong", 65), ("none", 65)] as [(String, Int32)]
    where Rounds.areLong || name != "wrong" {
      let verified = try Program.run(
        "bundle", "verify", path("b.age"), "--passphrase-file", path(name))
      #expect(verified.status == status, "\(name): \(verified.errors)")
    }
  }

  /// Only who has no key is told to make one.
  @Test func hintsFitTheFileThatIsMissing() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    func errors(_ option: String, _ path: String) throws -> String {
      try Program.run(
        "bundle", "create", demo.kept.path, "-o", place.url.path + "/b.age", option, path
      ).errors
    }
    let missing = place.url.path + "/missing"
    #expect(try errors("--to", missing).contains("bundle keygen"))
    let passphrase = try errors("--passphrase-file", missing)
    #expect(passphrase.contains("whose first line is the passphrase"), "\(passphrase)")
    for option in ["--to", "--passphrase-file"] {
      let folder = try errors(option, place.url.path)
      #expect(folder.contains("bundle.permissionDenied"), "\(folder)")
      #expect(!folder.contains("keygen"), "\(folder)")
    }
  }

  @Test func wrongUse() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("b.age").path
    let empty = place.url.appendingPathComponent("empty").path
    try Data("# nothing\n".utf8).write(to: URL(fileURLWithPath: empty))
    let key = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
    let cases: [([String], Int32)] = [
      (["--armor"], 64), (["--to", key, "--passphrase-file", empty], 64), (["--to", "age1x"], 64),
      (["--to", empty], 65), (["--to", place.url.path + "/missing"], 66),
      (["--to", "AGE-SECRET-KEY-1ZQ"], 64), (["--to", "age-secret-key-1zq"], 64),
    ]
    for (flags, status) in cases {
      let outcome = try Program.run(["bundle", "create", demo.kept.path, "-o", output] + flags)
      #expect(outcome.status == status, "\(flags): \(outcome.errors)")
      // A secret key in the wrong place is not repeated.
      #expect(!outcome.errors.lowercased().contains("1zq"))
    }
    let log = place.url.appendingPathComponent("log").path
    _ = try Program.run(
      "bundle", "create", demo.kept.path, "-o", output, "--to", "AGE-SECRET-KEY-1ZQ",
      "--custody-log", log)
    #expect(try !String(contentsOfFile: log, encoding: .utf8).contains("1ZQ"))
    #expect(!FileManager.default.fileExists(atPath: output))
    #expect(
      try Program.run("bundle", "create", demo.kept.path, "-o", output, "--to", key).status == 0)
  }
}
