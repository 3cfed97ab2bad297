import Foundation
@testable import ModelTools
import Testing

@testable import ObjectModel

struct ModelCollectionTests {
  /// A folder that is made for a test and removed after it.
  static func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("models-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  static func write(_ bytes: [UInt8], _ folder: URL, _ path: String) throws {
    let file = folder.appendingPathComponent(path)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
  }

  static func versionInfo(current: String?, _ versions: [String: ManagedObjectModel]) -> [UInt8] {
    var entries: [String: PropertyList] = [
      "NSManagedObjectModel_VersionHashes": .dictionary(
        versions.mapValues { model in
          .dictionary(model.versionHashes().hashes.mapValues { .data($0.bytes) })
        })
    ]
    if let current { entries["NSManagedObjectModel_CurrentVersionName"] = .string(current) }
    return PropertyList.dictionary(entries).binaryBytes()
  }

  static let older: ManagedObjectModel = {
    var model = Fixture.model
    model.entities["Page"] = nil
    model.entities["Note"]?.relationships = []
    model.entities["Note"]?.attributes.removeAll { $0.isDerived }
    model.configurations = [:]
    return model
  }()

  @Test func compiledBundle() throws {
    try Self.withFolder { folder in
      try Self.write(Self.older.archive(form: .compiled).bytes, folder, "App.app/M.momd/M.mom")
      try Self.write(Fixture.model.archive(form: .compiled).bytes, folder, "App.app/M.momd/M 2.mom")
      try Self.write(Array("broken".utf8), folder, "App.app/M.momd/M 3.mom")
      try Self.write(Array("momv2$".utf8), folder, "App.app/M.momd/M 2.omo")
      try Self.write(
        Self.versionInfo(
          current: "M 2",
          ["M": Self.older, "M 2": Fixture.model, "M 3": Self.older, "M 4": Self.older]),
        folder, "App.app/M.momd/VersionInfo.plist")
      try Self.write([1, 2, 3], folder, "App.app/contents")
      let collection = try ModelCollection(searching: folder.path)
      #expect(collection.versions.map(\.name) == ["M", "M 2", "M 3", "M 4"])
      #expect(
        collection.versions.map { $0.problem?.code } == [nil, nil, .notAModel, .missingVersion])
      #expect(collection.currentVersionName == "M 2")
      #expect(collection.current?.model == Fixture.model)
      let hashes = Fixture.model.versionHashes().hashes
      #expect(collection.versions(matching: hashes).map(\.name) == ["M 2"])
      var near = hashes
      near["Note"] = near["Item"]
      #expect(collection.versions(matching: near).isEmpty)
      // A host reads the bundle itself, and no other form.
      let bundle = folder.path + "/App.app/M.momd"
      let hosts = try ModelCollection(at: bundle)
      #expect(hosts.versions.map(\.name) == collection.versions.map(\.name))
      #expect(hosts.versions.map(\.path) == collection.versions.map(\.path))
      #expect(hosts.versions.map(\.hashes) == collection.versions.map(\.hashes))
      #expect(hosts.versions.map(\.recorded) == collection.versions.map(\.recorded))
      #expect(
        hosts.versions.map { $0.problem?.code } == collection.versions.map { $0.problem?.code })
      #expect(hosts.currentVersionName == "M 2")
      #expect(try ModelCollection(at: bundle + "/M.mom").current?.model == Self.older)
      for (name, code) in [
        ("/M 3.mom", ModelError.Code.notAModel), ("/none.momd", .unreadable), ("/..", .notAModel),
        ("/VersionInfo.plist", .notAModel), ("/M 2.omo", .optimisedFormat),
      ] {
        let error = #expect(throws: ModelError.self) { try ModelCollection(at: bundle + name) }
        #expect(error?.code == code, "\(name)")
      }
      // The record alone will do.
      let info = try ModelCollection(
        searching: folder.appendingPathComponent("App.app/M.momd/VersionInfo.plist").path)
      #expect(info.versions.map(\.name) == ["M", "M 2", "M 3", "M 4"])
      #expect(info.current?.recorded?.hashes == hashes)
      #expect(info.versions(matching: hashes).map(\.name) == ["M 2"])
    }
  }

  @Test func sourceBundle() throws {
    try Self.withFolder { folder in
      let contents = Array(Fixture.contents.utf8)
      let marker = PropertyList.dictionary(["_XCCurrentVersionName": .string("N 10.xcdatamodel")])
      try Self.write(contents, folder, "N.xcdatamodeld/N.xcdatamodel/contents")
      try Self.write(contents, folder, "N.xcdatamodeld/N 10.xcdatamodel/contents")
      try Self.write(contents, folder, "N.xcdatamodeld/N 2.xcdatamodel/elements")
      let path = folder.appendingPathComponent("N.xcdatamodeld").path
      #expect(try ModelCollection(searching: path).current == nil)
      try Self.write(marker.binaryBytes(), folder, "N.xcdatamodeld/.xccurrentversion")
      let collection = try ModelCollection(searching: path)
      #expect(collection.versions.map(\.name) == ["N", "N 2", "N 10"])
      #expect(collection.versions.allSatisfy { $0.model != nil })
      #expect(collection.current?.fileName == "N 10.xcdatamodel")
      let single = try ModelCollection(searching: path + "/N 2.xcdatamodel")
      #expect(single.current?.name == "N 2")
      let file = try ModelCollection(searching: path + "/N 10.xcdatamodel/contents")
      #expect(file.current?.name == "N 10")
    }
  }

  /// A marker that cannot be read, as after a conflict of two branches, is told, and not taken for a marker that is not
  /// there.
  @Test func aDamagedMarkerIsTold() throws {
    try Self.withFolder { folder in
      let contents = Array(Fixture.contents.utf8)
      try Self.write(contents, folder, "N.xcdatamodeld/N.xcdatamodel/contents")
      try Self.write(contents, folder, "N.xcdatamodeld/N 2.xcdatamodel/contents")
      try Self.write(Array("<<<<<<< HEAD".utf8), folder, "N.xcdatamodeld/.xccurrentversion")
      try Self.write(Fixture.model.archive(form: .modelCache).bytes, folder, "M.momd/M.mom")
      try Self.write(Array("bplist00".utf8), folder, "M.momd/VersionInfo.plist")
      try Self.write(Fixture.model.archive(form: .modelCache).bytes, folder, "O.momd/O.mom")
      let collection = try ModelCollection(searching: folder.path)
      #expect(collection.versions.map(\.name) == ["M", "N", "N 2", "O"])
      let told = collection.notEntered
      #expect(
        told.map { ModelFile.lastComponent($0.path ?? "") }
          == ["VersionInfo.plist", ".xccurrentversion"])
      #expect(told.allSatisfy { $0.code == .malformed })
    }
  }

  /// A folder that may not be listed has no missing versions, and is not called empty.
  @Test(.enabled(if: geteuid() != 0)) func aFolderThatCannotBeListed() throws {
    try Self.withFolder { folder in
      let bundle = folder.appendingPathComponent("M.momd").path
      try Self.write(Fixture.model.archive(form: .compiled).bytes, folder, "M.momd/M.mom")
      try Self.write(
        Self.versionInfo(current: "M", ["M": Fixture.model]), folder, "M.momd/VersionInfo.plist")
      let manager = FileManager.default
      try manager.setAttributes([.posixPermissions: 0o100], ofItemAtPath: bundle)
      defer { try? manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: bundle) }
      let error = #expect(throws: ModelError.self) { try ModelCollection(at: bundle) }
      #expect(error?.code == .unreadable)
      let found = try ModelCollection(searching: folder.path)
      #expect(found.versions.map { $0.problem?.code } == [.unreadable])
      #expect(MappingModelSet(beside: bundle + "/M.mom").notEntered.map(\.code) == [.unreadable])
      try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: bundle)
      let closed = folder.appendingPathComponent("closed")
      try manager.createDirectory(
        at: closed.appendingPathComponent("in"), withIntermediateDirectories: true)
      try manager.setAttributes([.posixPermissions: 0], ofItemAtPath: closed.path + "/in")
      defer {
        try? manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: closed.path + "/in")
      }
      let none = #expect(throws: ModelError.self) { try ModelCollection(searching: closed.path) }
      #expect(none?.code == .notAModel)
      #expect(none?.message.contains("cannot be read") == true)
    }
  }

  @Test func linksAndPipesAreLeftAlone() throws {
    try Self.withFolder { folder in
      try Self.write(Fixture.model.archive(form: .modelCache).bytes, folder, "a/one.mom")
      let manager = FileManager.default
      try manager.createSymbolicLink(
        atPath: folder.path + "/a/loop", withDestinationPath: folder.path)
      try manager.createSymbolicLink(
        atPath: folder.path + "/a/two.mom", withDestinationPath: folder.path + "/a/one.mom")
      let made = unsafe mkfifo(folder.path + "/a/three.mom", 0o600)
      #expect(made == 0)
      #expect(try ModelCollection(searching: folder.path).versions.map(\.name) == ["one"])
      // The path itself may be a link.
      #expect(
        try ModelCollection(searching: folder.path + "/a/two.mom").versions.map(\.name) == ["one"])
      #expect(throws: ModelError.self) {
        try ModelCollection(searching: folder.path + "/a/three.mom")
      }
    }
  }

  @Test func nothingThere() throws {
    try Self.withFolder { folder in
      let empty = #expect(throws: ModelError.self) { try ModelCollection(searching: folder.path) }
      #expect(empty?.code == .notAModel)
      let missing = #expect(throws: ModelError.self) {
        try ModelCollection(searching: folder.path + "/none")
      }
      #expect(missing?.code == .unreadable)
      try Self.write([0, 1, 2], folder, "x.sqlite")
      #expect(throws: ModelError.self) { try ModelCollection(searching: folder.path + "/x.sqlite") }
      try Self.write([], folder, "VersionInfo.plist")
      #expect(throws: ModelError.self) {
        try ModelCollection(searching: folder.path + "/VersionInfo.plist")
      }
    }
  }

  /// The search for models and that for mapping models end at the same depth.
  @Test func bothSearchesEndAtTheSameDepth() throws {
    try Self.withFolder { folder in
      let last = String(repeating: "d/", count: ModelCollection.maximumDepth)
      for path in [last, last + "d/"] {
        try Self.write(Fixture.model.archive(form: .modelCache).bytes, folder, path + "M.mom")
        try Self.write([0], folder, path + "M.cdm")
      }
      let models = try ModelCollection(searching: folder.path)
      let mappings = try MappingModelSet(at: folder.path)
      #expect(models.versions.count == 1)
      #expect(mappings.items.count == 1)
      #expect(models.notEntered.map(\.code) == [.notEntered])
      #expect(models.notEntered.map(\.path) == mappings.notEntered.map(\.path))
    }
  }

  @Test func onlyPathsOfTheCopyAreMoved() throws {
    try Self.withFolder { folder in
      let copy = folder.path + "/copy"
      let link = folder.path + "/link"
      try FileManager.default.createDirectory(
        atPath: copy, withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: copy)
      for path in [copy + "2/M.mom", "/x" + copy + "/M.mom", "/x"] {
        #expect(ModelCollection.moved(path, from: copy, to: "/a.zip") == path)
      }
      #expect(ModelCollection.moved(copy, from: copy, to: "/a.zip") == "/a.zip")
      for path in [copy, link, ModelFile.resolved(link)] {
        let moved = ModelCollection.moved(path + "/M.mom", from: path, to: "/a.zip")
        #expect(moved == "/a.zip/M.mom")
      }
      let resolved = ModelFile.resolved(link) + "/M.mom"
      #expect(ModelCollection.moved(resolved, from: link, to: "/a.zip") == "/a.zip/M.mom")
    }
  }
}
