import Fixtures
import Foundation
import Testing

/// What the model commands accept as a model, and how `model show` tells of it.
@Suite struct ModelInputTests {
  /// A support bundle that holds the store stands for the store.
  @Test func aBundleStandsForItsStore() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let whole = folder.url.appendingPathComponent("whole.zip").path
    let structure = folder.url.appendingPathComponent("structure.zip").path
    let made = try Program.run(
      "bundle", "create", demo.kept.path, "--include", "store", "-o", whole)
    #expect(made.status == 0, "\(made.errors)")
    #expect(try Program.run("bundle", "create", demo.kept.path, "-o", structure).status == 0)
    let bare = folder.url.appendingPathComponent("bare.zip").path
    #expect(
      try Program.run("bundle", "create", demo.kept.path, "--no-model", "-o", bare).status == 0)

    let store = try Program.run("model", "hash", "--json", demo.kept.path).json()
    let bundle = try Program.run("model", "hash", "--json", whole).json()
    #expect(bundle["versions"]?[0]?["hashes"] == store["versions"]?[0]?["hashes"])
    #expect(bundle["recorded"] == store["recorded"])
    let shown = try Program.run("model", "show", "--json", whole).json()
    let real = try Program.run("model", "show", "--json", demo.kept.path).json()
    #expect(shown["entities"] == real["entities"])
    #expect(shown["path"]?.string?.hasPrefix(whole) == true)
    #expect(try Program.run("model", "diff", whole, demo.kept.path).status == 0)

    // Without the store there are its model and its recorded hashes.
    let carried = try Program.run("model", "hash", "--json", structure).json()
    #expect(carried["recorded"] == store["recorded"])
    #expect(carried["versions"]?[0]?["hashes"] == store["versions"]?[0]?["hashes"])
    #expect(try Program.run("model", "show", structure).status == 0)
    #expect(try Program.run("model", "diff", structure, demo.kept.path).status == 0)

    // Without either, the hashes identify it all the same.
    let hashes = try Program.run("model", "hash", "--json", bare)
    #expect(hashes.status == 0)
    #expect(try hashes.json()["recorded"] == store["recorded"])
    #expect(try hashes.json()["versions"]?[0]?["problem"] != nil)
    #expect(try Program.run("model", "show", bare).status == 65)
    for path in [whole, structure, bare] {
      let identity = try Program.run("model", "identify", "--json", path, demo.kept.path)
      #expect(identity.status == 0, "\(identity.errors)")
    }
    // Nothing is left behind.
    let left = try FileManager.default.contentsOfDirectory(
      atPath: FileManager.default.temporaryDirectory.path
    ).filter { name in
      // Folders of other tests may hold such a file, too.
      name.hasPrefix("lifeboat-") && !name.hasPrefix("lifeboat-test-")
        && FileManager.default.fileExists(
          atPath: FileManager.default.temporaryDirectory.path + "/\(name)/hashes.json")
    }
    #expect(left == [])
  }

  /// An app with a model somewhere in it, as a folder and as a zip.
  @Test(.enabled(if: Shared.isThere)) func anAppIsSearched() throws {
    guard let moody = try Moody("models in an app") else { return }
    let folder = try TemporaryFolder()
    let app = folder.url.appendingPathComponent("Payload/Moody.app")
    let framework = app.appendingPathComponent("Frameworks/Core.framework/Versions/A/Resources")
    try FileManager.default.createDirectory(at: framework, withIntermediateDirectories: true)
    let compiled = framework.appendingPathComponent("Moody.momd").path
    _ = try Program.run("model", "convert", moody.models.path, "--to", "momd", "-o", compiled)
    let before = try Program.run("model", "hash", "--json", compiled).json()
    #expect(before["versions"]?.array?.count == 6)
    #expect(try Program.run("model", "hash", "--json", app.path).json() == before)
    #expect(try Program.run("model", "identify", moody.store.path, app.path).status == 0)
    guard let python = findTool("python3") else {
      print("skipped: a zipped app needs python3")
      return
    }
    let script = "import shutil, sys; shutil.make_archive(sys.argv[1], 'zip', sys.argv[2])"
    let zip = folder.url.appendingPathComponent("Moody").path
    #expect(
      try run(python, ["-c", script, zip, app.deletingLastPathComponent().path]).status == 0)
    #expect(try Program.run("model", "hash", "--json", zip + ".zip").json() == before)
    let shown = try Program.run("model", "show", zip + ".zip", "--model-version", "Moody 2")
    #expect(shown.status == 0, "\(shown.errors)")
  }

  /// A folder of stores: the models that they carry.
  @Test(.enabled(if: Shared.isThere)) func aFolderOfStoresHoldsTheirModels() throws {
    guard let moody = try Moody("a folder of stores") else { return }
    let one = try Program.run("model", "show", "--json", moody.home)
    #expect(one.status == 0, "\(one.errors)")
    let direct = try Program.run("model", "show", "--json", moody.store.path)
    #expect(try one.json()["entities"] == direct.json()["entities"])
  }

  /// What the reading commands find inside an archive by its name, the model commands find, too.
  @Test func aPartOfAnArchiveIsNamed() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let python = try #require(findTool("python3"))
    let store = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    let compiled = folder.url.appendingPathComponent("Notes.momd").path
    _ = try Program.run("model", "convert", store, "--to", "momd", "-o", compiled)
    let zip = folder.url.appendingPathComponent("Crew.zip").path
    let script = """
      import os, sys, zipfile
      output, store, models = sys.argv[1:]
      with zipfile.ZipFile(output, 'w') as archive:
        archive.write(store, 'Documents/Notes.sqlite')
        archive.write(store, 'Documents/without an ending')
        archive.write(store, 'Library/Other.sqlite')
        for name in os.listdir(models):
          archive.write(models + '/' + name, 'Payload/Notes.momd/' + name)
      with zipfile.ZipFile(output + '.outer.zip', 'w') as archive:
        archive.write(output, 'inner/Crew.zip')
      """
    let made = try run(python, ["-c", script, zip, store, compiled])
    try #require(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    let expected = try Program.run("model", "hash", "--json", store).json()["versions"]?[0]?[
      "hashes"]
    for path in [
      zip + "/Documents/Notes.sqlite", zip + "/Documents/without an ending",
      zip + "/Library", zip + "/Payload/Notes.momd", zip + "/Payload",
      zip + ".outer.zip/inner/Crew.zip/Documents/Notes.sqlite",
      zip + ".outer.zip/inner/Crew.zip/Payload/Notes.momd",
    ] {
      let hashed = try Program.run("model", "hash", "--json", path)
      #expect(hashed.status == 0, "\(path): \(hashed.errors)")
      #expect(try hashed.json()["versions"]?[0]?["hashes"] == expected, "\(path)")
      let shown = try Program.run("model", "show", path)
      #expect(shown.status == 0, "\(path): \(shown.errors)")
      #expect(!(shown.text + shown.errors).contains(#/lifeboat-[0-9a-f]{30}/#), "\(shown.text)")
    }
    let identity = try Program.run(
      "model", "identify", zip + "/Documents/Notes.sqlite", zip + "/Payload/Notes.momd")
    #expect(identity.status == 0, "\(identity.errors)")
    // A folder in an archive is read as a folder is.
    let counts = try Program.run("inspect", "--json", zip + "/Library").json()["entities"]
    #expect(try counts == Program.run("inspect", "--json", store).json()["entities"])
    #expect(counts?[2]?["name"]?.string == "Tag")
    let two = try Program.run("rows", zip + "/Documents")
    #expect(two.status == 64 && two.errorCode == "usage.oneStore", "\(two.errors)")
    let none = try Program.run("model", "show", zip + "/Documents/None.sqlite")
    #expect(none.status == 64 && none.errorCode == "input.unknownName", "\(none.errors)")
    #expect(none.errors.contains(zip), "\(none.errors)")
  }

  @Test func aZipWithoutAModelIsRefused() throws {
    guard let python = findTool("python3") else { return print("skipped: a zip needs python3") }
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("a.zip").path
    let script = """
      import sys, zipfile
      with zipfile.ZipFile(sys.argv[1], "w") as archive:
          archive.writestr("readme.txt", "nothing")
          archive.writestr("store/../evil.sqlite", "evil") if len(sys.argv) > 2 else None
      """
    #expect(try run(python, ["-c", script, path]).status == 0)
    let none = try Program.run("model", "show", path)
    #expect(none.status == 65)
    #expect(none.errorCode == "model.notAModel")
    #expect(try run(python, ["-c", script, path, "evil"]).status == 0)
    let evil = try Program.run("model", "show", path)
    #expect(evil.status == 65)
    #expect(evil.errorCode == "bundle.badName")
  }

  // MARK: What is shown

  /// A model with everything, told in words.
  @Test func everythingIsShown() throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("contents").path
    let xml = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
      userDefinedModelVersionIdentifier="7">
      <entity name="Item" isAbstract="YES" syncable="YES"/>
      <entity name="Note" representedClassName="NoteObject" parentEntity="Item" elementID="Memo" \
      versionHashModifier="v2" codeGenerationType="class">
      <attribute name="body" optional="YES" attributeType="String" minValueString="3" \
      maxValueString="50" regularExpressionString="^a.*$" defaultValueString="abc" elementID="text"/>
      <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES" \
      derivationExpression="pages.@count"/>
      <attribute name="photo" attributeType="Binary" allowsExternalBinaryDataStorage="YES" \
      preserveAfterDeletion="YES"/>
      <attribute name="shape" attributeType="Transformable" valueTransformerName="T" \
      customClassName="Shape"/>
      <relationship name="pages" optional="YES" toMany="YES" minCount="2" ordered="YES" \
      deletionRule="Cascade" destinationEntity="Note" inverseName="gone" inverseEntity="Note"/>
      <fetchedProperty name="recent" optional="YES"><fetchRequest name="r" entity="Note" \
      predicateString="count &gt; 3"/></fetchedProperty>
      <fetchIndex name="byBody"><fetchIndexElement property="body" type="Binary" \
      order="descending"/></fetchIndex>
      <uniquenessConstraints><uniquenessConstraint><constraint value="body"/>\
      <constraint value="count"/></uniquenessConstraint></uniquenessConstraints>
      <userInfo><entry key="k" value="v"/></userInfo>
      </entity>
      <fetchRequest name="All" entity="Note" predicateString="body == $B" fetchLimit="5"/>
      <configuration name="Local"><memberEntity name="Note"/></configuration>
      </model>
      """
    try Data(xml.utf8).write(to: URL(fileURLWithPath: source))
    let outcome = try Program.run("model", "show", source)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let expected = [
      "Holds           2 entities, 4 attributes, 1 relationship", "Identifier      7",
      "Configuration   Local: Note", "Fetch request   All: Note where body == $B, at most 5",
      "Problem         Note.pages has the inverse Note.gone, which is not in the model.",
      "Item, abstract\n", "Note, a kind of Item\n", "Class           NoteObject (generated: class)",
      "Was called      Memo", "Hash modifier   v2", "Unique          body with count",
      "Index           byBody: body descending", "User info       k: v",
      "body     String, optional, default \"abc\", at least 3 characters, at most 50 characters, "
        + "must match ^a.*$, was called text",
      "count    Integer 64, optional, derived: count:(pages)",
      "photo    Binary, may be in an external file, kept in history on deletion",
      "shape    Transformable, transformed by T, of class Shape",
      "pages    many Note, ordered, optional, at least 2, inverse gone, on deletion Cascade",
      "recent   fetches Note where count > 3, optional",
    ]
    for line in expected { #expect(outcome.text.contains(line), "\(line)\n\(outcome.text)") }

    let report = try Program.run("model", "show", "--json", source, "--entity", "Note").json()
    #expect(report["entities"]?.array?.count == 1)
    let note = report["entities"]?[0]
    #expect(note?["attributes"]?[0]?["validations"]?.array?.count == 3)
    #expect(note?["attributes"]?[1]?["derivation"]?.string == "count:(pages)")
    #expect(note?["relationships"]?[0]?["minCount"]?.integer == 2)
    #expect(note?["fetchedProperties"]?[0]?["request"]?["predicate"]?.string == "count > 3")
    #expect(note?["indexes"]?[0]?["elements"]?[0]?["isAscending"]?.boolean == false)
    #expect(note?["userInfo"]?["k"]?.string == "v")
    #expect(report["configurations"]?["Local"]?.strings == ["Note"])
    #expect(report["fetchRequests"]?[0]?["fetchLimit"]?.integer == 5)
    #expect(report["problems"]?[0]?["kind"]?.string == "missingInverse")

    let none = try Program.run("model", "show", source, "--entity", "Page")
    #expect(none.status == 64)
    #expect(none.errorCode == "input.unknownName")
  }

  /// No line is wider than the terminal.
  @Test(.enabled(if: Shared.isThere), arguments: [80, 132]) func linesFit(_ width: Int) throws {
    guard let path = Shared.require("width of shown models") else { return }
    let store = try RealStores.named("ios17-mastodon/shared.sqlite")
    _ = path
    var environment = ProcessInfo.processInfo.environment
    environment["COLUMNS"] = String(width)
    environment["NO_COLOR"] = "1"
    let program = try #require(Program.path)
    let result = try run(program, ["model", "show", store.url.path], environment: environment)
    let lines = String(decoding: result.stdout, as: UTF8.self).split(separator: "\n")
    #expect(lines.count > 200)
    #expect(lines.allSatisfy { $0.count <= width })
  }

  @Test(.enabled(if: Shared.isThere)) func anOptimisedModelSaysOfWhichVersionItIs() throws {
    guard
      let shared = Shared.require("an optimised model")
    else { return }
    let bundle = shared.appendingPathComponent(
      "stores/real/alemar11-CoreDataPlus/Tests/Resources/SampleModel/Fixtures/SampleModel.momd")
    let outcome = try Program.run("model", "show", bundle.path + "/SampleModel.omo")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("Declares          4 entities, 14 properties"))
    #expect(outcome.text.contains("Version of        SampleModel\n"))
    #expect(outcome.text.contains("Not read"))
    let report = try Program.run("model", "show", "--json", bundle.path + "/SampleModel.omo").json()
    #expect(report["optimised"]?["belongsTo"]?.strings == ["SampleModel"])
    let whole = try Program.run("model", "show", "--json", bundle.path).json()
    #expect(whole["optimised"]?["entityCount"]?.integer == 4)
    #expect(whole["isCurrent"]?.boolean == true)
  }

  /// Without the `.mom`, an `.omo` still identifies the stores of its version, and of no other.
  @Test(.enabled(if: Shared.isThere)) func anOptimisedModelIdentifiesStores() throws {
    guard let shared = Shared.require("stores of an optimised model") else { return }
    let bundle = shared.appendingPathComponent(
      "stores/real/alemar11-CoreDataPlus/Tests/Resources/SampleModel/Fixtures/SampleModel.momd")
    let folder = try TemporaryFolder()
    let alone = folder.url.appendingPathComponent("SampleModel.omo")
    try FileManager.default.copyItem(
      at: bundle.appendingPathComponent("SampleModel.omo"), to: alone)
    var fitting = 0
    for store in RealStores.all where store.description.contains("CoreDataPlus") {
      let whole = try Program.run("model", "identify", "--json", store.url.path, bundle.path)
      guard whole.status != 65 else { continue }
      let fits = try whole.json()["matches"]?.array?.contains {
        $0["name"]?.string == "SampleModel"
      }
      let ours = try Program.run("model", "identify", "--json", store.url.path, alone.path)
      #expect((ours.status == 0) == (fits == true), "\(store)")
      if fits == true { fitting += 1 }
    }
    #expect(fitting > 0)
  }

  /// An archive that is not opened may hold the model that is looked for.
  @Test func anArchiveThatIsNotOpenedIsTold() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      store, folder = sys.argv[1:]
      inner = store
      for number in range(6):
        outer = f'{folder}/{number}.zip'
        with zipfile.ZipFile(outer, 'w') as archive:
          archive.write(inner, 'inner.zip' if number else 'inner.sqlite')
          if number == 5: archive.write(store, 'Notes.sqlite')
        inner = outer
      """
    let store = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    let made = try run(python, ["-c", script, store, folder.url.path])
    #expect(made.status == 0, "\(String(decoding: made.stderr, as: UTF8.self))")
    let outcome = try Program.run("model", "hash", folder.url.path + "/5.zip")
    #expect(outcome.status == 1, "\(outcome.text)")
    #expect(outcome.errors.contains("input.notEntered"), "\(outcome.errors)")
    #expect(outcome.errors.contains("5.zip/inner.zip/"), "\(outcome.errors)")
  }
}
