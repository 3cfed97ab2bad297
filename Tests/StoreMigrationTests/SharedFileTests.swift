import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// External files that several new objects get from one old object: each object has a file of its own.
@Suite struct SharedFileTests {
  private static let file = "11111111-2222-4333-8444-555555555555"

  private static func mapping(
    _ name: String, _ from: String, _ to: String, _ values: [String: String]
  ) throws -> EntityMapping {
    EntityMapping(
      name: name, kind: .transform, sourceEntityName: from, destinationEntityName: to,
      attributeMappings: try values.sorted { $0.key < $1.key }.map { key, text in
        PropertyMapping(name: key, valueExpression: try ModelExpression(parsing: text))
      })
  }

  /// Migrates a store of albums with songs. The picture of album 1 is in an external file, that of album 2 in the row.
  private static func migrate(
    to new: ManagedObjectModel, _ mappings: [EntityMapping], then: MappingModel? = nil,
    isDamaged: Bool, in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let old = ManagedObjectModel(
      entities: [
        Entity(
          name: "Album", attributes: [attribute("picture", .binary)],
          relationships: [relationship("songs", to: "Song", "album", isToMany: true)]),
        Entity(
          name: "Song", attributes: [attribute("name")],
          relationships: [relationship("album", to: "Album", "songs")]),
      ], versionIdentifiers: ["1"])
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      INSERT INTO ZALBUM (Z_PK, Z_ENT, Z_OPT, ZPICTURE) VALUES
        (1, 1, 1, CAST(x'02' || '\(file)' || x'00' AS BLOB)), (2, 1, 1, x'010203');
      INSERT INTO ZSONG (Z_PK, Z_ENT, Z_OPT, ZALBUM) VALUES (1, 2, 1, 1), (2, 2, 1, 1), (3, 2, 1, 2);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3;
      """)
    database.close()
    let files = folder.url.appendingPathComponent(".Old_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try Data("picture".utf8).write(to: files.appendingPathComponent(file))
    var steps = [
      MigrationStep(
        from: old, named: "old", to: new, named: "new",
        mapping: MappingModel(entityMappings: mappings), isInferred: true)
    ]
    if let then {
      steps.append(
        MigrationStep(
          from: new, named: "new", to: new, named: "newer", mapping: then, isInferred: true))
    }
    let report = try Migration().run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), steps, to: output.path)
    return (report, try SQLiteConnection(output))
  }

  /// The names of the files that a column names, each with a file of its own in the new store.
  private static func names(
    _ database: SQLiteConnection, _ table: String, _ column: String, in folder: TemporaryFolder
  ) throws -> [String] {
    let names = try database.rows(
      "SELECT CAST(substr(\(column), 2, 36) AS TEXT) FROM \(table) WHERE length(\(column)) = 38"
    ).compactMap { row -> String? in
      if case .text(let bytes)? = row.first { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
    let files = folder.url.appendingPathComponent(".New_SUPPORT/_EXTERNAL_DATA")
    for name in names {
      let content = try String(contentsOf: files.appendingPathComponent(name), encoding: .utf8)
      #expect(content == "picture")
    }
    return names
  }

  /// A value at the end of a path is in a file for each object, also where no mapping takes the object that had it.
  @Test(arguments: [false, true], [false, true])
  func atTheEndOfAPath(_ isDamaged: Bool, _ keepsAlbums: Bool) throws {
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "Album", attributes: [attribute("picture", .binary)]),
        Entity(name: "Song", attributes: [attribute("cover", .binary)]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    var mappings = [
      try Self.mapping("SongToSong", "Song", "Song", ["cover": "$source.album.picture"])
    ]
    if keepsAlbums {
      mappings.append(
        try Self.mapping("AlbumToAlbum", "Album", "Album", ["picture": "$source.picture"]))
    }
    let (report, database) = try Self.migrate(to: new, mappings, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    let names =
      try Self.names(database, "ZSONG", "ZCOVER", in: folder)
      + Self.names(database, "ZALBUM", "ZPICTURE", in: folder)
    #expect(names.count == (keepsAlbums ? 3 : 2))
    #expect(Set(names).count == names.count)
    #expect(names.contains(Self.file))
    #expect(
      try database.rows("SELECT ZCOVER FROM ZSONG WHERE Z_PK = 3") == [[.blob([1, 2, 3])]])
    #expect(report.damageCount == 0)
    #expect(report.incompleteCount == 0)
  }

  /// A file at the end of a path does not become bytes of the row; that is told, and the name is not taken for them.
  @Test(arguments: [false, true]) func atTheEndOfAPathIntoTheRow(_ isDamaged: Bool) throws {
    let cover = Attribute(name: "cover", type: .binary, isOptional: true)
    let new = ManagedObjectModel(
      entities: [Entity(name: "Song", attributes: [cover])], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      to: new, [try Self.mapping("SongToSong", "Song", "Song", ["cover": "$source.album.picture"])],
      isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.rows("SELECT ZCOVER FROM ZSONG ORDER BY Z_PK") == [
        [.null], [.null], [.blob([2, 3])],
      ])
    #expect(report.incompleteCount == 2)
    #expect(
      try MergeTests.rejects(report).allSatisfy { $0.contains("cannot hold the value: cover") })
  }

  /// Two objects that are made of one, and two attributes of one, do not share a file; nor do they after a further step.
  @Test(arguments: [false, true], [false, true])
  func twoOfOne(_ isDamaged: Bool, _ goesOn: Bool) throws {
    let new = ManagedObjectModel(
      entities: [
        Entity(
          name: "Album", attributes: [attribute("picture", .binary), attribute("small", .binary)]),
        Entity(name: "Poster", attributes: [attribute("picture", .binary)]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      to: new,
      [
        try Self.mapping(
          "AlbumToAlbum", "Album", "Album",
          ["picture": "$source.picture", "small": "$source.picture"]),
        try Self.mapping("AlbumToPoster", "Album", "Poster", ["picture": "$source.picture"]),
      ], then: goesOn ? try MappingModel.inferred(from: new, to: new) : nil,
      isDamaged: isDamaged, in: folder)
    defer { database.close() }
    let names =
      try Self.names(database, "ZALBUM", "ZPICTURE", in: folder)
      + Self.names(database, "ZALBUM", "ZSMALL", in: folder)
      + Self.names(database, "ZPOSTER", "ZPICTURE", in: folder)
    #expect(names.count == 3)
    #expect(Set(names).count == 3)
    #expect(report.damageCount == 0)
  }
}
