import Fixtures
import Foundation
import Testing

/// `lifeboat model convert`
@Suite struct ModelConvertTests {
  static let forms = ["contents", "xcdatamodeld", "mom", "momd", "cache"]

  /// The model of a store in each form: the same hashes as the store records.
  @Test(arguments: forms) func theModelOfAStoreGoesIntoEveryForm(_ form: String) throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("Notes.\(form)").path
    let arguments = ["model", "convert", demo.kept.path, "--to", form, "-o", output]
    let outcome = try Program.run(arguments + ["--json"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.modelConversion")
    #expect(report["versions"]?.array?.count == 1)
    #expect(report["versions"]?[0]?["isEqual"]?.boolean == true)
    #expect(report["versions"]?[0]?["hashesCompared"]?.integer == 3)
    #expect(report["versions"]?[0]?["differingHashes"]?.array?.isEmpty == true)

    let store = try Program.run("model", "hash", "--json", demo.kept.path).json()
    let model = try Program.run("model", "hash", "--json", output).json()
    #expect(model["versions"]?[0]?["hashes"] == store["recorded"]?["hashes"])
    #expect(model["versions"]?[0]?["checksum"] == store["versions"]?[0]?["checksum"])
    #expect(model["versions"]?[0]?["digest"] == store["versions"]?[0]?["digest"])
    if form == "momd" {
      #expect(model["versions"]?[0]?["recorded"]?["hashes"] == store["recorded"]?["hashes"])
    }
    let diff = try Program.run("model", "diff", demo.kept.path, output)
    #expect(diff.status == 0, "\(diff.text)")

    // Never twice.
    let again = try Program.run(arguments)
    #expect(again.status == 73)
    #expect(again.errorCode == "output.exists")
    #expect(try Program.run("model", "hash", "--json", output).json() == model)
  }

  @Test(arguments: [("xcdatamodeld", "xcdatamodel"), ("momd", "mom")])
  func aVersionIsNamedAfterTheOutputWithAllItsDots(_ form: String, _ ending: String) throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    for (name, version) in [("Notes.v2", "Notes.v2"), (".Hidden", "Hidden")] {
      let output = folder.url.appendingPathComponent("\(name).\(form)").path
      let outcome = try Program.run(
        "model", "convert", demo.kept.path, "--to", form, "-o", output, "--json")
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try outcome.json()["versions"]?[0]?["name"]?.string == version)
      #expect(FileManager.default.fileExists(atPath: "\(output)/\(version).\(ending)"))
    }
  }

  /// Text for people names what was written, checked and lost.
  @Test func theTextSaysWhatWasChecked() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("Notes.xcdatamodel").path
    let outcome = try Program.run(
      "model", "convert", demo.kept.path, "--to", "contents", "-o", output)
    #expect(outcome.status == 0)
    #expect(outcome.text.contains("read back as the same model; 3 version hashes the same"))
    #expect(outcome.text.contains("Lost      nothing"))
    #expect(FileManager.default.fileExists(atPath: output + "/contents"))
  }

  @Test(.enabled(if: Shared.isThere)) func allVersionsOfABundleAreConverted() throws {
    guard let moody = try Moody("conversion of Moody's versions") else { return }
    let folder = try TemporaryFolder()
    let compiled = folder.url.appendingPathComponent("Moody.momd").path
    let first = try Program.run(
      "model", "convert", moody.models.path, "--to", "momd", "-o", compiled, "--json")
    #expect(first.status == 1 || first.status == 0, "\(first.errors)")
    let report = try first.json()
    #expect(report["versions"]?.array?.count == 6)
    #expect(report["currentVersion"]?.string == "Moody 6")
    // Each loss is said on standard error as well.
    let losses = report["versions"]?.array?.flatMap { $0["losses"]?.array ?? [] } ?? []
    let lines = first.errors.split(separator: "\n").filter { $0.hasPrefix("lost: ") }
    #expect(lines.count == losses.count)
    #expect(first.status == (losses.isEmpty ? 0 : 1))

    let source = folder.url.appendingPathComponent("Moody.xcdatamodeld").path
    let second = try Program.run(
      "model", "convert", compiled, "--to", "xcdatamodeld", "-o", source)
    #expect(second.status == 0, "\(second.errors)")
    let before = try Program.run("model", "hash", "--json", moody.models.path).json()
    let after = try Program.run("model", "hash", "--json", source).json()
    #expect(after["versions"] == before["versions"])
    let identity = try Program.run("model", "identify", "--json", moody.store.path, compiled).json()
    #expect(identity["matches"]?[0]?["name"]?.string == "Moody")

    let one = try Program.run(
      "model", "convert", compiled, "--model-version", "Moody 3", "--to", "cache", "-o",
      folder.url.appendingPathComponent("cache").path, "--json")
    #expect(try one.json()["versions"]?[0]?["name"]?.string == "Moody 3")
  }

  /// Python's zlib and plistlib read what would go into `Z_MODELCACHE`.
  @Test func theCacheIsARawDeflateStreamOfAnArchive() throws {
    guard let python = findTool("python3") else {
      print("skipped: another program's verdict on a cache needs python3")
      return
    }
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("cache").path
    _ = try Program.run("model", "convert", demo.kept.path, "--to", "cache", "-o", output)
    let script = """
      import plistlib, sys, zlib
      archive = plistlib.loads(zlib.decompress(open(sys.argv[1], "rb").read(), -15))
      objects = archive["$objects"]
      print(sorted(objects[o["NSEntityName"].data] for o in objects
                   if isinstance(o, dict) and "NSEntityName" in o))
      """
    let result = try run(python, ["-c", script, output])
    #expect(result.status == 0)
    #expect(String(decoding: result.stdout, as: UTF8.self) == "['Folder', 'Note', 'Tag']\n")
  }

  @Test func whatTheFormCannotHoldIsSaid() throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("contents").path
    // A source has a name for the composite, which an archive has no place for.
    let xml = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\
      <entity name="A" codeGenerationType="class"><attribute name="n" attributeType="Integer 16" \
      usesScalarValueType="YES"/></entity></model>
      """
    try Data(xml.utf8).write(to: URL(fileURLWithPath: source))
    let output = folder.url.appendingPathComponent("A.mom").path
    let outcome = try Program.run("model", "convert", source, "--to", "mom", "-o", output)
    #expect(outcome.status == 1)
    #expect(outcome.errors.split(separator: "\n").filter { $0.hasPrefix("lost: ") }.count == 2)
    #expect(outcome.text.contains("Lost      2 things"))
    #expect(outcome.text.contains("1 version hash the same"))
    let zero = try Program.run(
      "model", "convert", source, "--to", "mom", "-o", output + "2", "--exit-zero")
    #expect(zero.status == 0)
  }

  @Test(.enabled(if: Shared.isThere)) func evidenceIsNotWrittenTo() throws {
    guard let moody = try Moody("conversion into the evidence") else { return }
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("Moody.sqlite")
    try FileManager.default.copyItem(at: moody.store, to: store)
    let models = folder.url.appendingPathComponent("Moody.xcdatamodeld")
    try FileManager.default.copyItem(at: moody.models, to: models)
    let state = treeState(of: folder.url)
    let cases = [
      (store.path, store.path + "-wal"), (store.path, store.path),
      (models.path, models.path + "/New.xcdatamodel"), (models.path, models.path),
      (folder.url.path, folder.url.path + "/New.momd"),
    ]
    for (input, output) in cases {
      let outcome = try Program.run("model", "convert", input, "--to", "contents", "-o", output)
      #expect(outcome.status == 73, "\(output)")
      #expect(["output.isEvidence", "output.exists"].contains(outcome.errorCode), "\(output)")
    }
    #expect(treeState(of: folder.url) == state)
    let missing = try Program.run(
      "model", "convert", models.path, "--to", "contents", "-o", "/no/such/folder/contents")
    #expect(missing.status == 73)
    #expect(missing.errorCode == "output.cannotCreate")
  }

  @Test func wrongInputs() throws {
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("out").path
    let nothing = try Program.run(
      "model", "convert", folder.url.path + "/none", "--to", "mom", "-o", output)
    #expect(nothing.status == 66)
    try Data("no model".utf8).write(to: folder.url.appendingPathComponent("text"))
    let text = try Program.run(
      "model", "convert", folder.url.path + "/text", "--to", "mom", "-o", output)
    #expect(text.status == 65)
    let form = try Program.run("model", "convert", "x", "--to", "yaml", "-o", output)
    #expect(form.status == 64)
    #expect(!FileManager.default.fileExists(atPath: output))
  }

  /// Every second store of the collection, there and back, by turns in one of two forms; in long rounds, every store in
  /// both.
  @Test(.enabled(if: Shared.isThere)) func theWholeCollection() throws {
    guard Shared.require("conversion of every model") != nil else { return }
    let folder = try TemporaryFolder()
    var count = 0
    var lossy = 0
    for (index, store) in Rounds.part(of: RealStores.all.enumerated(), every: 2) {
      let forms = Rounds.part(
        of: ["xcdatamodeld", "cache"], every: 2, from: (index / 2 + 1) % 2)
      for form in forms {
        let output = folder.url.appendingPathComponent("\(index).\(form)").path
        let outcome = try Program.run(
          "model", "convert", store.url.path, "--to", form, "-o", output, "--json")
        // Old stores carry no model.
        if outcome.status == 65 { continue }
        #expect(outcome.status == 0 || outcome.status == 1, "\(store): \(outcome.errors)")
        let report = try outcome.json()["versions"]?[0]
        let losses = report?["losses"]?.array?.count ?? 0
        #expect((outcome.status == 1) == (losses > 0), "\(store)")
        #expect(losses > 0 || report?["isEqual"]?.boolean == true, "\(store)")
        #expect(losses > 0 || report?["differingHashes"]?.array?.isEmpty == true, "\(store)")
        if losses > 0 { lossy += 1 }
        count += 1
      }
    }
    print("\(count) conversions of stores, \(lossy) with losses")
    #expect(count >= (Rounds.areLong ? 90 : 24))
    // The two stores with losses stand side by side, at 9 and 10, and only the source loses something.
    #expect(lossy == (Rounds.areLong ? 2 : 1))
  }

  /// A value that is not understood is told of by `show`, `diff` and `convert`, and refuses nothing.
  @Test func aValueThatIsNotReadIsALoss() throws {
    let folder = try TemporaryFolder()
    let model = folder.url.appendingPathComponent("M.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0"?><model usedWithCloudKit="soon"><entity name="A"/></model>
      """
    try Data(text.utf8).write(to: model.appendingPathComponent("contents"))
    let sentence =
      "usedWithCloudKit of the model is \"soon\", which is not understood; it is ignored."
    let show = try Program.run("model", "show", "--json", model.path)
    #expect(show.status == 0)
    #expect(try show.json()["problems"]?[0]?["kind"]?.string == "unreadValue")
    let diff = try Program.run("model", "diff", model.path, model.path)
    #expect(diff.status == 0)
    #expect(diff.errors.contains(sentence))
    let output = folder.url.appendingPathComponent("M.mom").path
    let convert = try Program.run(
      "model", "convert", "--json", model.path, "--to", "mom", "-o", output)
    #expect(convert.status == 1)
    #expect(try convert.json()["versions"]?[0]?["losses"]?[0]?["sentence"]?.string == sentence)
  }
}
