import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// What is written, in the eyes of other programs: Python's `xml.etree` and `plistlib`, and `xmllint`.
struct OtherReadersTests {
  @Test(.enabled(if: Shared.isThere)) func pythonReadsWhatIsWritten() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    guard let python = CachedModels.python() else {
      print("skipped: another program's verdict needs python3")
      return
    }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("other-readers-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Every model of the collection, outside the long rounds every third, as a source and in both archives, and what
    // each should hold.
    var models = [ModelFormsTests.full, Fixture.model]
    for version in try Rounds.part(of: ModelCollection(searching: root).versions, every: 3) {
      if let model = version.model { models.append(model) }
    }
    for (index, model) in models.enumerated() {
      let base = folder.appendingPathComponent("\(index)")
      try Data(model.contentsXML().bytes).write(to: base.appendingPathExtension("contents"))
      for (form, ending) in [(ModelArchiveForm.compiled, "mom"), (.modelCache, "cache")] {
        try Data(model.archive(form: form).bytes).write(to: base.appendingPathExtension(ending))
      }
      let facts: [String: Any] = [
        "entities": model.entityNames,
        "attributes": model.entities.values.reduce(0) { $0 + $1.attributes.count },
        "relationships": model.entities.values.reduce(0) { $0 + $1.relationships.count },
      ]
      try JSONSerialization.data(withJSONObject: facts)
        .write(to: base.appendingPathExtension("json"))
    }
    let versions = [
      ModelBundle.Version(name: "A & <B>", model: Fixture.model),
      ModelBundle.Version(name: "C", model: Fixture.model),
    ]
    for bundle in [
      try ModelBundle(source: versions, current: "A & <B>"),
      try ModelBundle(compiled: versions, current: "A & <B>"),
    ] {
      for file in bundle.files where !file.path.contains("/") && !file.path.hasSuffix(".mom") {
        try Data(file.bytes).write(
          to: folder.appendingPathComponent(
            file.path == ".xccurrentversion" ? "marker.plist" : file.path))
      }
    }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = ["-c", Self.script, folder.path]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(text == "\(models.count) sources, \(2 * models.count) archives, 2 property lists\n")
    print("python3 has read \(text)", terminator: "")
    try lint(folder)
  }

  private func lint(_ folder: URL) throws {
    guard let xmllint = CachedModels.tool("xmllint") else {
      print("skipped: there is no xmllint")
      return
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: xmllint)
    process.arguments =
      ["--noout", "--nonet"] + SharedFiles.files(below: folder.path, suffix: ".contents")
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  private static let script = """
    import glob, json, os, plistlib, sys
    import xml.etree.ElementTree as ET
    folder = sys.argv[1]
    sources = archives = lists = 0
    for path in glob.glob(os.path.join(folder, "*.json")):
        facts = json.load(open(path))
        base = path[:-5]
        root = ET.parse(base + ".contents").getroot()
        assert root.tag == "model", root.tag
        assert root.get("type") == "com.apple.IDECoreDataModeler.DataModel"
        assert root.get("documentVersion") == "1.0"
        assert sorted(e.get("name") for e in root.findall("entity")) == sorted(facts["entities"])
        assert len(root.findall("entity/attribute")) == facts["attributes"], path
        assert len(root.findall("entity/relationship")) == facts["relationships"], path
        for relationship in root.findall("entity/relationship[@inverseName]"):
            entity = root.find("entity[@name='%s']" % relationship.get("inverseEntity"))
            assert any(
                r.get("name") == relationship.get("inverseName")
                for r in entity.findall("relationship")), path
        sources += 1
        for ending in (".mom", ".cache"):
            with open(base + ending, "rb") as handle:
                archive = plistlib.load(handle)
            assert archive["$archiver"] == "NSKeyedArchiver" and archive["$version"] == 100000
            objects = archive["$objects"]
            assert objects[0] == "$null"

            def check(value):
                if isinstance(value, plistlib.UID):
                    assert value.data < len(objects), (base, value)
                elif isinstance(value, dict):
                    for key, part in value.items():
                        check(part)
                        if key == "$class":
                            described = objects[part.data]
                            assert described["$classes"][0] == described["$classname"]
                            assert described["$classes"][-1] == "NSObject"
                elif isinstance(value, list):
                    for part in value:
                        check(part)

            for value in objects:
                check(value)
            reached, pending = set(), [archive["$top"]["root"]]
            while pending:
                value = pending.pop()
                if isinstance(value, plistlib.UID):
                    if value.data not in reached:
                        reached.add(value.data)
                        pending.append(objects[value.data])
                elif isinstance(value, dict):
                    pending.extend(value.values())
                elif isinstance(value, list):
                    pending.extend(value)
            assert len(reached | {0}) == len(objects), (base, len(reached), len(objects))
            model = objects[archive["$top"]["root"].data]
            assert objects[model["$class"].data]["$classname"] == "NSManagedObjectModel"
            names = [
                o["NSEntityName"].data for o in objects
                if isinstance(o, dict) and "NSEntityName" in o and "NSProperties" in o]
            assert sorted(objects[n] for n in names) == sorted(facts["entities"]), base
            archives += 1
    with open(os.path.join(folder, "marker.plist"), "rb") as handle:
        assert plistlib.load(handle) == {"_XCCurrentVersionName": "A & <B>.xcdatamodel"}
    with open(os.path.join(folder, "VersionInfo.plist"), "rb") as handle:
        info = plistlib.load(handle)
    assert info["NSManagedObjectModel_CurrentVersionName"] == "A & <B>"
    assert set(info["NSManagedObjectModel_VersionHashes"]) == {"A & <B>", "C"}
    for hashes in info["NSManagedObjectModel_VersionHashes"].values():
        assert all(isinstance(h, bytes) and len(h) == 32 for h in hashes.values())
    assert all(len(c) == 44 for c in info["NSManagedObjectModel_VersionChecksums"].values())
    lists = 2
    print("%d sources, %d archives, %d property lists" % (sources, archives, lists))
    """
}
