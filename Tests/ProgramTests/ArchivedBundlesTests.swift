import Fixtures
import Foundation
import Testing

/// Support bundles inside archives. What the bundle itself gives is the truth.
@Suite struct ArchivedBundlesTests {
  private let demo: Demonstration
  private let place: TemporaryFolder

  init() throws {
    demo = try Demonstration.shared.get()
    place = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }

  private func bundle(_ name: String, _ include: String) throws -> String {
    let made = try Program.run(
      "bundle", "create", demo.kept.path, "-o", path(name), "--include", include)
    try #require(made.status == 0, "\(made.errors)")
    return path(name)
  }

  /// An archive of files, made by Python.
  private func archive(_ name: String, of files: [String]) throws -> String {
    let script = """
      import os, sys, tarfile, zipfile
      output, files = sys.argv[1], sys.argv[2:]
      if output.endswith(".zip"):
          with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
              for file in files: archive.write(file, os.path.basename(file))
      else:
          with tarfile.open(output, "w:gz") as archive:
              for file in files: archive.add(file, os.path.basename(file))
      """
    let outcome = try Fixtures.run(
      try #require(findTool("python3")), ["-c", script, path(name)] + files)
    try #require(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    return path(name)
  }

  /// Outside the long rounds, each kind of bundle is in one kind of archive.
  private static let archived: [(include: String, form: String)] = Rounds.part(
    of: [
      ("structure", "Mail.zip"), ("structure", "Mail.tar.gz"), ("rows", "Mail.tar.gz"),
      ("rows", "Mail.zip"), ("store", "Mail.zip"), ("store", "Mail.tar.gz"),
    ], every: 2)

  @Test(arguments: archived)
  func aBundleInAnArchiveIsTheBundle(include: String, form: String) throws {
    let bundle = try bundle("sent.zip", include)
    let outer = try archive(form, of: [bundle])
    for packed in [outer, outer + "/sent.zip", try archive("Far.zip", of: [outer])] {
      for arguments in [
        ["model", "hash", "--json"], ["rows", "--format", "ndjson"], ["rows"],
      ] {
        let truth = try Program.run(arguments + [bundle])
        let ours = try Program.run(arguments + [packed])
        #expect(ours.text == truth.text, "\(arguments) \(packed): \(ours.errors)")
        #expect(ours.status == truth.status && ours.errorCode == truth.errorCode)
        #expect(!ours.errors.contains(#/lifeboat-[0-9a-f]{30}/#), "\(ours.errors)")
      }
      let inspected = try Program.run("inspect", "--json", packed)
      let recorded = try Program.run("inspect", "--json", bundle).json()
      for field in ["entities", "metadata", "model", "findings", "liveRowCount"] {
        #expect(try inspected.json()[field] == recorded[field], "\(packed): \(inspected.errors)")
      }
      let identified = try Program.run("model", "identify", "--json", packed, demo.kept.path)
      let known = try Program.run("model", "identify", "--json", bundle, demo.kept.path)
      #expect(identified.status == 0, "\(packed): \(identified.errors)")
      #expect(try identified.json()["matches"] == known.json()["matches"])
      let plan = try Program.run("model", "plan", packed, demo.kept.path)
      let plain = try Program.run("model", "plan", bundle, demo.kept.path)
      #expect(plan.status == plain.status, "\(packed): \(plan.errors)")

      let line = try #require(try Program.run("triage", packed).lines().first?.object)
      let sorted = try #require(try Program.run("triage", bundle).lines().first?.object)
      // The paths and sizes are those of the inputs.
      for field in Set(line.keys).union(sorted.keys).subtracting(["path", "sizes"]) {
        #expect(line[field] == sorted[field], "\(field) of \(packed)")
      }
      let page = path("\(UUID().uuidString).html")
      let report = try Program.run("report", packed, "-o", page)
      #expect(report.status == 0, "\(packed): \(report.errors)")
    }
  }

  /// Several things in one archive are listed by their names.
  @Test func severalBundles() throws {
    let bundles = [try bundle("a.zip", "structure"), try bundle("b.zip", "store")]
    let outer = try archive("Mail.tar.gz", of: bundles)
    let list = try Program.run("inspect", outer)
    #expect(list.status == 0, "\(list.errors)")
    #expect(list.text.contains(outer + "/a.zip") && list.text.contains(outer + "/b.zip"))
    let lines = try Program.run("triage", outer).lines()
    #expect(lines.compactMap { $0["path"]?.string } == [outer + "/a.zip", outer + "/b.zip"])
    #expect(lines.allSatisfy { $0["kind"]?.string == "bundle" && $0["failed"] == nil })
    // Only one of them holds a store.
    let rows = try Program.run("rows", outer)
    #expect(rows.status == 0 && rows.errors.contains(outer + "/a.zip"), "\(rows.errors)")
    let hashes = try Program.run("model", "hash", "--json", outer)
    #expect(try hashes.status == 0 && hashes.json()["versions"]?.array?.count == 2)
  }
}
