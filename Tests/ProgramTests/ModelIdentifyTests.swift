import Fixtures
import Foundation
import Testing

/// `lifeboat model identify`
@Suite struct ModelIdentifyTests {
  /// The stores of public projects by what their file names say, and where their models are; nil for
  /// a store that fits none.
  static let stores: [(store: String, models: String, version: String?)] = {
    var all: [(String, String, String?)] = []
    let wire = "wireapp-wire-ios-data-model"
    for version in [
      "1-27", "1-28", "2-3", "2-4", "2-5", "2-21-1", "2-24-1", "2-29-0", "2-39-0", "2-45-0",
      "2-52-0", "2-60-0", "2-67-0", "2-75-0", "2-80-0", "2-85-0", "2-92-0", "2-101-0",
    ] {
      let name = "zmessaging" + version.replacingOccurrences(of: "-", with: ".")
      all.append(("\(wire)/stores/store\(version).wiredatabase", wire + "/models", name))
    }
    all.append(("\(wire)/stores/store1-25.wiredatabase", wire + "/models", "zmessaging"))
    all.append(("\(wire)/stores/store2-65-0.wiredatabase", wire + "/models", nil))
    for name in ["Moody", "Moody 2", "Moody 3"] {
      all.append(
        ("objcio-core-data/Migrations/MigrationsTests/\(name).moody", "objcio-core-data", name))
    }
    let wibosco = "wibosco-CoreDataMigrationRevised-Example"
    for (number, suffix) in [(1, ""), (2, " 2"), (3, " 3")] {
      all.append(
        (
          "\(wibosco)/CoreDataMigration-ExampleTests/Resources/SQLite/CoreDataMigration_Example_\(number).sqlite",
          wibosco, "CoreDataMigration_Example" + suffix
        ))
    }
    let duck = "duckduckgo-BrowserServicesKit"
    for (number, suffix) in [(1, ""), (2, " 2"), (3, " 3")] {
      all.append(
        (
          "\(duck)/Tests/BookmarksTests/Resources/Bookmarks_V\(number).sqlite", duck,
          "BookmarksModel" + suffix
        ))
    }
    let plus = "alemar11-CoreDataPlus/Tests/Resources"
    all.append(
      (
        "\(plus)/SampleModel/Fixtures/SampleModel_V1.sqlite", plus + "/SampleModel", "SampleModel"
      ))
    all.append(
      (
        "\(plus)/SampleModel/Fixtures/SampleModel_V2.sqlite", plus + "/SampleModel", "SampleModel2"
      ))
    for number in [1, 2] {
      all.append(("\(plus)/SampleModel2/Fixtures/SampleModel2_V\(number).sqlite", plus, nil))
    }
    return all
  }()

  @Test(.enabled(if: Shared.isThere)) func everyStoreOfTheFamilies() throws {
    guard let shared = Shared.require("stores of public projects") else { return }
    let root = shared.appendingPathComponent("stores/real").path
    for (store, models, version) in Rounds.part(of: Self.stores, every: 3) {
      let outcome = try Program.run(
        "model", "identify", "--json", "\(root)/\(store)", "\(root)/\(models)")
      let report = try outcome.json()
      let names = Set(report["matches"]?.array?.compactMap { $0["name"]?.string } ?? [])
      #expect(names == Set([version].compactMap { $0 }), "\(store)")
      #expect(outcome.status == (version == nil ? 1 : 0), "\(store)")
      #expect((report["nearest"] == nil) == (version != nil) || names.isEmpty, "\(store)")
    }
  }

  /// What is compiled and what is source has equal hashes: both are named.
  @Test(.enabled(if: Shared.isThere)) func equalSourcesAreAllNamed() throws {
    guard let shared = Shared.require("sources with equal hashes") else { return }
    let folder = shared.appendingPathComponent(
      "stores/real/alemar11-CoreDataPlus/Tests/Resources/SampleModel"
    ).path
    let outcome = try Program.run(
      "model", "identify", folder + "/Fixtures/SampleModel_V2.sqlite", folder)
    #expect(outcome.status == 0)
    #expect(outcome.text.contains("written by SampleModel2, "))
    #expect(outcome.text.contains("also fits SampleModel2, "))
    #expect(outcome.text.contains("These versions have equal hashes"))
    #expect(
      outcome.text.contains(
        "It is not known whether the store is older or newer than the models: the store fits `SampleModel2`, and the current version is "
          + "`SampleModel`; `SampleModel` is marked as current, but"))
  }

  /// Models with a relationship that is its own inverse: a store with another hash certainly fits none.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      ("vkmelnik-v1.sqlite", "vkmelnik+IOS-home-work-4", "CoreDataNotes"),
      ("vkmelnik-random-hash.sqlite", "vkmelnik+IOS-home-work-4", nil),
      ("dashsync-v6.sqlite", "DashSync.xcdatamodeld", "DashSync 6"),
      ("Sample.sqlite", "Model.xcdatamodeld", ""),
    ])
  func selfInverses(_ store: String, _ models: String, _ version: String?) throws {
    guard let shared = Shared.require("models with self-inverses") else { return }
    let folder = shared.appendingPathComponent("stores/found/models/self-inverse").path
    let report = try Program.run(
      "model", "identify", "--json", "\(folder)/\(store)", "\(folder)/\(models)"
    ).json()
    #expect(report["possible"]?.array == [])
    let names = report["matches"]?.array?.compactMap { $0["name"]?.string } ?? []
    if version != "" { #expect(names == [version].compactMap(\.self)) }
  }

  /// Hashes that somebody pasted are told from a store, and never called damage.
  @Test func pastedHashes() throws {
    let hex = "5431c046d30e7f32c2cc809958add1e7579ad104a3aa8fc4846e97d7af01cc79"
    let folder = try TemporaryFolder()
    let model = folder.url.appendingPathComponent("M.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try Data("<model><entity name=\"Event\"/></model>".utf8)
      .write(to: model.appendingPathComponent("contents"))
    let data = Data((0..<32).map { UInt8($0) })
    let files: [String: Data] = [
      "log.txt": Data(
        ("UserInfo={metadata={\n NSStoreModelVersionHashes = {\n  Event = <5431c046 d30e7f32 c2cc8099 "
          + "58add1e7 579ad104 a3aa8fc4 846e97d7 af01cc79>;\n };\n"
          + String(repeating: "and more of the log\n", count: 400)).utf8),
      "new.txt": Data("  Event = {length = 32, bytes = 0x5431c046 d30e7f32 ... af01cc79 };\n".utf8),
      "hashes.json": Data("{\"Event\": \"\(hex)\"}".utf8),
      "base64.txt": Data("Event: \(data.base64EncodedString())\n".utf8),
      "table.txt": Data(try Program.run("model", "hash", model.path).text.utf8),
      "whole-table.txt": Data(try Program.run("model", "hash", "-v", model.path).text.utf8),
      "report.json": Data(try Program.run("model", "hash", "--json", model.path).text.utf8),
      "words.txt": Data("Event  \(data.base64EncodedString())\r\nEvent  \(hex)\r\n".utf8),
      "bare.plist": try PropertyListSerialization.data(
        fromPropertyList: ["Event": data], format: .xml, options: 0),
      "metadata.plist": try PropertyListSerialization.data(
        fromPropertyList: ["NSStoreModelVersionHashes": ["Event": data], "NSStoreType": "SQLite"],
        format: .binary, options: 0),
    ]
    // Each command reads two or three of the files, and in long rounds all of them.
    for (number, (name, bytes)) in files.sorted(by: { $0.key < $1.key }).enumerated() {
      let path = folder.url.appendingPathComponent(name).path
      try bytes.write(to: URL(fileURLWithPath: path))
      let commands = [
        ["inspect", path], ["check", path], ["rows", path], ["model", "hash", path],
        ["rows", "--all", path], ["timeline", path], ["pages", path],
        ["extract", path, "-o", path + ".out"], ["recover", path, "-o", path + ".out"],
        ["compare", path, path], ["model", "show", path], ["model", "diff", path, model.path],
        ["model", "convert", path, "--to", "mom", "-o", path + ".mom"],
        ["model", "plan", path, model.path], ["model", "identify", path, model.path],
        ["rescue", path, "--model", model.path, "--app", "Done", "-n"],
      ]
      for command in Rounds.part(of: commands, every: 4, from: number % 4) {
        let outcome = try Program.run(command)
        #expect(outcome.status == 65, "\(command)")
        #expect(outcome.errorCode == "file.versionHashes", "\(command): \(outcome.errors)")
        #expect(outcome.errors.contains("holds version hashes (Event)"))
        let all = (outcome.text + outcome.errors).lowercased()
        #expect(!all.contains("damage"), "\(command): \(all)")
      }
    }
    // Sums of files are no version hashes.
    let sums = folder.url.appendingPathComponent("SHA256SUMS")
    try Data("\(hex)  Done.sqlite\nsha256: \(hex)\nSHA256 (Done) = \(hex)\n".utf8).write(to: sums)
    #expect(try Program.run("inspect", sums.path).errorCode == "file.notADatabase")
  }

  /// The hashes that a store records, in a form in which people paste them.
  private static func pasted(_ hashes: [(name: String, hex: String)], _ form: String) throws
    -> String
  {
    func spaced(_ digits: Substring) -> String {
      stride(from: 0, to: digits.count, by: 8).map { digits.dropFirst($0).prefix(8) }
        .joined(separator: " ")
    }
    return hashes.map { name, hex in
      switch form {
      case "error":
        "        \(name) = {length = 32, bytes = 0x\(spaced(hex.prefix(32))) ... \(spaced(hex.suffix(16))) };"
      case "old error": "    \(name) = <\(spaced(hex[...]))>;"
      case "base64":
        "\(name): "
          + Data(
            stride(from: 0, to: 64, by: 2).compactMap {
              UInt8(hex.dropFirst($0).prefix(2), radix: 16)
            }
          ).base64EncodedString()
      default: "\"\(name)\": \"\(hex)\","
      }
    }.joined(separator: "\n")
  }

  /// Pasted hashes lead to the version to which the store leads, also where the middle of each is left out. Each
  /// form is that of a quarter of the stores in long rounds, and otherwise of a twelfth; one of them fits none.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: ["error", "old error", "base64", "hexadecimal"].enumerated().map { ($0, $1) })
  func versionsOfPastedHashes(turn: Int, form: String) throws {
    let shared = try #require(Shared.require("stores of public projects"))
    let place = try TemporaryFolder()
    let file = place.url.appendingPathComponent("mail.txt").path
    let ofForm = Self.stores.enumerated().filter { $0.offset % 4 == turn }.map { $0.element }
    for known in Rounds.part(of: ofForm, every: 3, from: 1) {
      let root = shared.appendingPathComponent("stores/real")
      let store = root.appendingPathComponent(known.store).path
      let models = root.appendingPathComponent(known.models).path
      let recorded = try Program.run("inspect", "--json", "--no-hash", store).json()["metadata"]?[
        "versionHashes"]
      let hashes = try #require(recorded?.object).map { ($0.key, $0.value.string ?? "") }
      try
        "Unresolved error: UserInfo={metadata={\n NSStoreModelVersionHashes = {\n\(Self.pasted(hashes, form))\n};\n"
        .write(toFile: file, atomically: true, encoding: .utf8)
      let truth = try Program.run("model", "identify", "--json", store, models).json()
      let ours = try Program.run("model", "identify", "--json", "--hashes", file, models)
      func names(_ report: JSON) -> [String] {
        report["matches"]?.array?.compactMap { $0["name"]?.string }.sorted() ?? []
      }
      #expect(
        try names(ours.json()) == names(truth), "\(known.store): \(ours.text) \(ours.errors)")
      // One wrong digit of one hash, and no version fits.
      let wrong = hashes.enumerated().map { index, hash in
        index > 0 ? hash : (hash.0, (hash.1.hasPrefix("0") ? "1" : "0") + hash.1.dropFirst())
      }
      try Self.pasted(wrong, form).write(toFile: file, atomically: true, encoding: .utf8)
      #expect(
        try Program.run("model", "identify", "--json", "--hashes", file, models).json()["matches"]?
          .array?.isEmpty == true, "\(known.store)")
    }
  }

  @Test func textsWithoutHashesOrWithTwoSets() throws {
    let place = try TemporaryFolder()
    let model = place.url.appendingPathComponent("M.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try Data("<model><entity name=\"Event\"/></model>".utf8)
      .write(to: model.appendingPathComponent("contents"))
    let file = place.url.appendingPathComponent("mail.txt").path
    func code(_ text: String) throws -> String? {
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      return try Program.run("model", "identify", "--hashes", file, model.path).errorCode
    }
    let hash = String(repeating: "ab", count: 32)
    #expect(try code("it crashes, please help") == "hashes.none")
    #expect(try code("Event = \(hash)\nEvent = \(hash.dropLast())c\n") == "hashes.several")
    #expect(
      try code(String(repeating: "x", count: 1 << 20) + "Event = \(hash)") == "hashes.tooLong")
    #expect(try code("Event = \(hash)\nEvent = \(hash)\n") == nil)
    #expect(try Program.run("model", "identify", model.path).status == 64)
    #expect(
      try Program.run("model", "identify", "--hashes", file + "x", model.path).errorCode
        == "file.missing")
  }

  @Test(.enabled(if: Shared.isThere)) func theNearestWithWhatDiffers() throws {
    guard let shared = Shared.require("a store that fits none") else { return }
    let folder = shared.appendingPathComponent("stores/real/wireapp-wire-ios-data-model").path
    let store = folder + "/stores/store2-65-0.wiredatabase"
    let report = try Program.run("model", "identify", "--json", store, folder).json()
    let nearest = report["nearest"]
    #expect(nearest?["name"]?.string == "zmessaging2.65.0")
    #expect(nearest?["agreeing"]?.integer == 11)
    #expect(nearest?["of"]?.integer == 18)
    #expect(nearest?["differing"]?.array?.count == 7)
    #expect(nearest?["onlyInStore"]?.array == [])
    #expect(
      nearest?["changes"]?.array?.compactMap { $0["kind"]?.string }
        == ["attributeAdded", "attributeAdded"])
    #expect(report["others"]?[1]?["name"]?.string == "zmessaging2.60.0")
    #expect(report["age"]?["state"]?.string == "unknown")
    let text = try Program.run("model", "identify", store, folder).text
    #expect(text.contains("no version fits\nthe nearest version is zmessaging2.65.0, "))
    #expect(text.contains("with 11 of 18 entities the same\n"))
    #expect(text.contains("  `Message.linkAttachments` was added, Transformable, optional\n"))
  }

  @Test(.enabled(if: Shared.isThere)) func aSupportBundleStandsForItsStore() throws {
    guard let moody = try Moody("identify a support bundle"), let folder = moody.folder else {
      return
    }
    let bundle = folder.url.appendingPathComponent("Moody.zip").path
    let made = try Program.run("bundle", "create", moody.store.path, "-o", bundle)
    #expect(made.status <= 1, "\(made.errors)")
    let outcome = try Program.run("model", "identify", "--json", bundle, moody.models.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["matches"]?[0]?["name"]?.string == "Moody")
    #expect(report["age"]?["state"]?.string == "older")
  }

  /// A version that cannot be read may be the one; nothing is hashed where nothing can be read.
  @Test(.enabled(if: Shared.isThere)) func aVersionThatCannotBeReadIsTold() throws {
    guard let moody = try Moody("identify with a broken version") else { return }
    let folder = try TemporaryFolder()
    let models = folder.url.appendingPathComponent("Moody.xcdatamodeld")
    try FileManager.default.copyItem(at: moody.models, to: models)
    let broken = models.appendingPathComponent("Moody.xcdatamodel/contents")
    // What is copied from a read-only folder is read-only too.
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: broken.deletingLastPathComponent().path)
    try FileManager.default.removeItem(at: broken)
    try Data("garbage".utf8).write(to: broken)
    let store = moody.store.path
    let report = try Program.run("model", "identify", "--json", store, models.path)
    #expect(report.status == 1, "\(report.errors)")
    #expect(try report.json()["unread"]?[0]?["name"]?.string == "Moody")
    let text = try Program.run("model", "identify", store, models.path).text
    #expect(text.contains("no readable version fits\nMoody could not be read: "))
    let plan = try Program.run("model", "plan", store, models.path)
    #expect(plan.text.contains("; this version may have written"))
    #expect(!plan.text.contains("134130"))
    let hashes = try Program.run("model", "hash", "--json", models.path)
    #expect(hashes.status == 1)
    #expect(hashes.errors.contains("note: not read: "))
    let nothing = try Program.run(
      "model", "hash", models.appendingPathComponent("Moody.xcdatamodel").path)
    #expect(nothing.status == 65)
    let swapped = try Program.run("model", "identify", models.path, store)
    #expect(swapped.status == 64)
    #expect(swapped.errorCode == "usage.folderAsStore")
  }

  @Test(.enabled(if: Shared.isThere)) func aLaterFrameworkIsNewer() throws {
    guard let moody = try Moody("identify by framework") else { return }
    let report = try Program.run(
      "model", "identify", "--json", "--framework", "300", moody.store.path, moody.models.path
    ).json()
    #expect(report["age"]?["state"]?.string == "newer")
    let reason = try #require(report["age"]?["reason"]?.string)
    #expect(reason.hasSuffix("and the app runs on framework 300"))
  }
}
