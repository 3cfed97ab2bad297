import CLibrary
import Fixtures
import Foundation
import SQLiteFile
import StoreExtraction
import Testing

/// Files of external binary data, which belong to a store as much as its rows.
@Suite struct ExternalFilesTests {
  private struct Case {
    let folder: TemporaryFolder
    let url: URL
    let names = [
      "6A4C0F5E-0B71-4F0C-9E0B-1D6B0F1F2A01", "6A4C0F5E-0B71-4F0C-9E0B-1D6B0F1F2A02",
      "6A4C0F5E-0B71-4F0C-9E0B-1D6B0F1F2A03",
    ]
    var support: URL { folder.url.appendingPathComponent("old/.Notes_SUPPORT/_EXTERNAL_DATA") }
    let place: URL
    var output: URL { place.appendingPathComponent("Saved.sqlite") }
    var copies: URL { place.appendingPathComponent(".Saved_SUPPORT/_EXTERNAL_DATA") }

    /// A store of three notes with a file each, and a file that no row names.
    init() throws {
      folder = try TemporaryFolder()
      let old = folder.url.appendingPathComponent("old")
      place = folder.url.appendingPathComponent("new")
      for url in [old, place] {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      }
      url = old.appendingPathComponent("Notes.sqlite")
      let database = try SQLiteConnection(url)
      try database.exec(
        """
        CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR, ZPICTURE BLOB);
        CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
        INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 3);
        """)
      try FileManager.default.createDirectory(at: support, withIntermediateDirectories: true)
      for (number, name) in names.enumerated() {
        try database.insert(
          "INSERT INTO ZNOTE VALUES(?, 1, 1, ?, ?)",
          [
            [
              .integer(Int64(number + 1)), .string("note \(number)"),
              .blob([2] + Array(name.utf8) + [0]),
            ]
          ])
        try Data(repeating: UInt8(number + 65), count: 300_000 + number)
          .write(to: support.appendingPathComponent(name))
      }
      database.close()
      try Data("nobody's".utf8).write(
        to: support.appendingPathComponent("6A4C0F5E-0B71-4F0C-9E0B-1D6B0F1F2AFF"))
    }

    func rebuild() throws -> RebuildResult {
      try StoreRebuild().run(try DamagedStore(path: url.path), to: output.path)
    }
  }

  @Test func theyComeAlong() throws {
    let made = try Case()
    let before = treeState(of: made.url.deletingLastPathComponent())
    let survey = try StoreRebuild().survey(try DamagedStore(path: made.url.path))
    #expect(survey.externalFiles?.fileCount == 3)
    #expect(survey.externalFiles?.output == nil)
    let result = try made.rebuild()
    #expect(result.externalFiles?.fileCount == 3)
    #expect(result.externalFiles?.sizeBytes == 900_003)
    #expect(result.externalFiles?.missingCount == 0)
    #expect(result.isLossless, "\(result.findings)")
    // What no row names is told, and is no loss.
    #expect(result.externalFiles?.strayCount == 1)
    #expect(
      result.findings.filter { $0.id.rawValue == "recover.externalStray" }.map(\.severity) == [
        .note
      ])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: made.copies.path).sorted() == made.names)
    for name in made.names {
      #expect(
        try Data(contentsOf: made.copies.appendingPathComponent(name))
          == Data(contentsOf: made.support.appendingPathComponent(name)))
    }
    #expect(treeState(of: made.url.deletingLastPathComponent()) == before)
  }

  @Test func aMissingOneIsAFinding() throws {
    let made = try Case()
    try FileManager.default.removeItem(at: made.support.appendingPathComponent(made.names[1]))
    // A link is no file of the store: what is behind it is not copied.
    try FileManager.default.removeItem(at: made.support.appendingPathComponent(made.names[2]))
    try FileManager.default.createSymbolicLink(
      at: made.support.appendingPathComponent(made.names[2]),
      withDestinationURL: made.support.appendingPathComponent(made.names[0]))
    let survey = try StoreRebuild().survey(try DamagedStore(path: made.url.path))
    let result = try made.rebuild()
    for one in [survey, result] {
      #expect(one.externalFiles?.fileCount == 1)
      #expect(one.externalFiles?.missingCount == 2)
      #expect(
        one.findings.count { $0.id.rawValue == "recover.externalMissing" && $0.table == "ZNOTE" }
          == 2)
      #expect(one.findings.count { $0.message.hasSuffix("special file has this name") } == 1)
      #expect(!one.isLossless)
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: made.copies.path) == [made.names[0]])
  }

  @Test func oneWithoutContentIsAFinding() throws {
    let made = try Case()
    try Data().write(to: made.support.appendingPathComponent(made.names[0]))
    try Data(repeating: 0, count: 200_000)
      .write(to: made.support.appendingPathComponent(made.names[1]))
    let survey = try StoreRebuild().survey(try DamagedStore(path: made.url.path))
    let result = try made.rebuild()
    for one in [survey, result] {
      #expect(one.externalFiles?.fileCount == 3)
      #expect(one.externalFiles?.emptyCount == 1)
      #expect(one.externalFiles?.zeroedCount == 1)
      #expect(
        one.findings.count { $0.id.rawValue == "recover.externalEmpty" && $0.table == "ZNOTE" } == 1
      )
      #expect(
        one.findings.count { $0.id.rawValue == "recover.externalZeroed" && $0.table == "ZNOTE" }
          == 1)
      #expect(!one.isLossless)
    }
  }

  /// Two files of nearly 2^63 bytes: no sum of theirs overflows, and no copy of them fills a disk.
  @Test func filesOfHoles() throws {
    let made = try Case()
    var isLarge = true
    for name in made.names.prefix(2) {
      let path = made.support.appendingPathComponent(name).path
      isLarge = unsafe isLarge && truncate(path, .max) == 0
      if !isLarge { _ = unsafe truncate(path, 1 << 43) }
    }
    let before = treeState(of: made.place)
    let survey = try StoreRebuild().survey(try DamagedStore(path: made.url.path))
    if isLarge { #expect(survey.externalFiles?.sizeBytes == .max) }
    // Where the volume has no room for such a file the copy fails, and goes again.
    do {
      let result = try made.rebuild()
      #expect(result.externalFiles?.fileCount == 3)
      for name in made.names {
        let copy = made.copies.appendingPathComponent(name)
        let handle = try FileHandle(forReadingFrom: copy)
        defer { try? handle.close() }
        #expect(try handle.read(upToCount: 4)?.first != 0)
      }
    } catch is ExtractionError { #expect(treeState(of: made.place) == before) }
  }

  @Test func filesOfAnotherStoreAreNotTouched() throws {
    let made = try Case()
    try FileManager.default.createDirectory(at: made.copies, withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: made.copies.appendingPathComponent(made.names[0]))
    let before = treeState(of: made.place)
    do {
      _ = try made.rebuild()
      Issue.record("it wrote into the folder of another store")
    } catch let error as ExtractionError {
      #expect(error.code == .outputExists)
    }
    #expect(treeState(of: made.place) == before)
  }

  /// What cannot be copied ends the run, and the copies go again.
  @Test func aFailureTakesThemBack() throws {
    guard getuid() != 0 else { return print("skipped: root may read every file") }
    let made = try Case()
    let file = made.support.appendingPathComponent(made.names[2])
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: file.path)
    #expect(throws: (any Error).self) { _ = try made.rebuild() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: made.place.path).isEmpty)
  }
}
