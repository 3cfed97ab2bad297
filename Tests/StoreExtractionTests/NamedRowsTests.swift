import CoreDataStore
import Crypto
import Fixtures
import Foundation
import ObjectModel
import RowText
import SQLiteFile
import StoreMigration
import Testing
@testable import StoreExtraction

/// Rows rendered straight from their records are, byte for byte, what their values give.
@Suite struct NamedRowsTests {
  /// The output of a function that writes to a descriptor.
  private static func output(_ write: (Int32) throws -> Void) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("out").path
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try write(descriptor)
    return try bytes(of: URL(fileURLWithPath: path))
  }

  /// The lines of JSON that the values of the rows give.
  private static func lines(
    _ store: CoreDataStore, _ entities: [String]? = nil, blobs: BlobForm = .hex
  ) throws -> [UInt8] {
    try output { descriptor in
      var output = OutputBuffer(descriptor: descriptor)
      try store.forEachRow(of: entities) { row in
        output.append(membersOf: row, key: row.primaryKey, blobs: blobs)
        output.append("}\n")
        return true
      }
      try output.finish()
    }
  }

  private static func csv(
    _ entity: DescribedEntity, _ store: CoreDataStore, safe: Bool
  ) throws -> [UInt8] {
    try output { descriptor in
      var output = OutputBuffer(descriptor: descriptor)
      let form = CSVForm(isSafeForSpreadsheets: safe)
      output.append(csvHeader: entity, form)
      try store.forEachRow(of: [entity.name]) { row in
        guard row.entityNumber == entity.number else { return true }
        output.append(integer: row.primaryKey)
        output.append(csvValuesOf: row.properties, form)
        output.append("\r\n")
        return true
      }
      try output.finish()
    }
  }

  /// Whether the bytes are the same; else the first that differ, with what is around them. The difference of such arrays
  /// takes too long to be worked out in full.
  private static func expect(
    _ given: [UInt8], _ expected: [UInt8], _ what: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard given != expected else { return }
    let place = zip(given, expected).prefix { $0 == $1 }.count
    func part(_ bytes: [UInt8]) -> String {
      String(decoding: bytes.dropFirst(max(0, place - 60)).prefix(160), as: UTF8.self)
        .debugDescription
    }
    Issue.record(
      "\(what): byte \(place) of \(given.count), \(expected.count):\n\(part(given))\n\(part(expected))",
      sourceLocation: sourceLocation)
  }

  /// The CSV of several entities that the values of their rows give: each property has one column, wherever it comes from.
  private static func csv(_ entities: [DescribedEntity], _ store: CoreDataStore) throws -> [UInt8] {
    var names: [String] = []
    var columns: [String: Int] = [:]
    for isLink in [false, true] {
      for entity in entities {
        for property in entity.properties where (property.kind == .toMany) == isLink {
          let key = (isLink ? "link " : "") + property.name
          guard columns[key] == nil else { continue }
          columns[key] = names.count
          names.append(
            isLink && columns[property.name] != nil
              ? entity.name + "." + property.name : property.name)
        }
      }
    }
    return try output { descriptor in
      var output = OutputBuffer(descriptor: descriptor)
      for (place, name) in (["_entity", "_pk"] + names).enumerated() {
        if place > 0 { output.append(UInt8(ascii: ",")) }
        output.append(csvField: name, safeForSpreadsheets: false)
      }
      output.append("\r\n")
      try store.forEachRow(of: nil) { row in
        guard let entity = entities.first(where: { $0.number == row.entityNumber }) else {
          return true
        }
        output.append(csvField: entity.name, safeForSpreadsheets: false)
        output.append(UInt8(ascii: ","))
        output.append(integer: row.primaryKey)
        var cells = [PropertyValue](repeating: .null, count: names.count)
        for (property, described) in zip(row.properties, entity.properties) {
          cells[columns[(described.kind == .toMany ? "link " : "") + property.name] ?? 0] =
            property.value
        }
        for cell in cells {
          output.append(UInt8(ascii: ","))
          output.append(csvValue: cell, CSVForm())
        }
        output.append("\r\n")
        return true
      }
      try output.finish()
    }
  }

  /// All entities in one CSV.
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 2))
  func severalEntitiesShareColumns(_ real: RealStore) throws {
    let store = try CoreDataStore(path: real.url.path)
    let entities = try store.entityTables.flatMap { try store.describedEntities(of: $0) }
    guard entities.count > 1 else { return }
    let given = try Self.output {
      _ = try RowOutput().writeCSV(of: entities, in: store, to: $0)
    }
    Self.expect(given, try Self.csv(entities, store), real.url.lastPathComponent)
  }

  /// The header has the form of the rows, here that of Excel with semicolons.
  @Test func theHeaderOfSeveralEntitiesHasTheFormOfTheRows() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let title = Attribute(name: "title", type: .string, isOptional: true)
    try FreshStore.create(
      at: url.path,
      for: ManagedObjectModel(
        entities: [Entity(name: "Note", attributes: [title]), Entity(name: "Tag")]))
    let database = try SQLiteConnection(url)
    try database.exec("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'milk')")
    database.close()
    let store = try CoreDataStore(path: url.path)
    let entities = try store.entityTables.flatMap { try store.describedEntities(of: $0) }
    var options = RowOutput.Options()
    options.excel = ExcelForm(hasDecimalComma: true, dates: .utc)
    let output = RowOutput(options)
    let given = try Self.output { _ = try output.writeCSV(of: entities, in: store, to: $0) }
    let wanted = "_entity;_pk;title\r\nNote;1;milk\r\n"
    #expect(given == CSVForm.byteOrderMark + Array(wanted.utf8))
  }

  /// Compares the JSON of a store's rows with what their values give.
  /// - Returns: the lines.
  @discardableResult
  private static func compareLines(_ path: String) throws -> [[UInt8]] {
    let byValues = try CoreDataStore(path: path)
    let byRecords = try CoreDataStore(path: path)
    let wanted = try lines(byValues)
    var count = 0
    expect(
      try output { count = try RowOutput().writeJSON(of: byRecords, to: $0) }, wanted, path)
    #expect(byRecords.findings.kept == byValues.findings.kept, "\(path)")
    let rows = wanted.split(separator: 0x0a).map(Array.init)
    #expect(count == rows.count)
    return rows
  }

  /// Compares rows with tokens in place of values with what their values give. Some properties are allowed.
  private static func compareTokens(_ path: String) throws {
    let key = SymmetricKey(data: Array(0..<32))
    func isAllowed(_ property: String) -> Bool { property.utf8.last.map { $0 % 5 == 0 } ?? false }
    let byRecords = try CoreDataStore(path: path)
    let byValues = try CoreDataStore(path: path)
    func ancestors(_ name: String) -> [String] {
      byValues.model?.ancestors(of: name).map(\.name) ?? []
    }
    let redaction = RowRedaction(
      ValueTokens(key: key, shift: 1e8), entityName: { $0 }, propertyName: { $0 },
      ancestors: ancestors, isAllowed: { property, _ in isAllowed(property) })
    let given = try output { try RowOutput().writeJSON(of: byRecords, redaction, to: $0) }
    let tokens = ValueTokens(key: key, shift: 1e8)
    let wanted = try output { descriptor in
      var output = OutputBuffer(descriptor: descriptor)
      try byValues.forEachRow { row in
        output.append("{\"entity\":")
        if let name = row.entityName {
          output.append(jsonString: name)
        } else {
          output.append("null")
        }
        output.append(",\"pk\":\(row.primaryKey),\"values\":{")
        for (place, property) in row.properties.enumerated() {
          if place > 0 { output.append(",") }
          output.append(jsonString: property.name)
          output.append(":")
          switch property.value {
          case .toOne, .toMany: output.append(json: property.value, blobs: .hex)
          case let value where isAllowed(property.name): output.append(json: value, blobs: .hex)
          case let value:
            let owner = row.entityName.map { ancestors($0).last ?? $0 } ?? ""
            tokens.append(value, of: HiddenColumn(property.name, of: owner).key, to: &output)
          }
        }
        output.append("}}\n")
        return true
      }
      try output.finish()
    }
    expect(given, wanted, "tokens of \(path)")
  }

  /// The other forms, of all rows, some rows and some entities.
  private static func compareForms(_ path: String, _ rows: [[UInt8]]) throws {
    let byValues = try CoreDataStore(path: path)
    func write(_ options: RowOutput.Options, as form: JSONForm = .lines) throws -> [UInt8] {
      try output {
        try RowOutput(options).writeJSON(of: CoreDataStore(path: path), as: form, to: $0)
      }
    }
    let opening = Array(JSONForm.object.opening.utf8)
    let closing = Array(JSONForm.object.closing.utf8)
    expect(
      try write(.init(), as: .object),
      opening + Array(rows.joined(separator: Array(",\n".utf8))) + closing, path)
    let limit = rows.count / 2
    expect(
      try write(.init(limit: limit)), rows.prefix(limit).flatMap { $0 + [0x0a] }, path)
    expect(try write(.init(blobs: .summary)), try lines(byValues, blobs: .summary), path)
    for table in byValues.entityTables {
      for entity in try byValues.describedEntities(of: table) {
        expect(
          try write(.init(entityNames: [entity.name])), try lines(byValues, [entity.name]), path)
        let safe = try output {
          _ = try RowOutput(.init(isSafeForSpreadsheets: true)).writeCSV(
            of: entity, in: CoreDataStore(path: path), to: $0)
        }
        expect(safe, try csv(entity, byValues, safe: true), "\(path) \(entity.name)")
      }
    }
  }

  /// A file for each entity: together they have all rows, each entity's in their order.
  private static func compareFiles(_ path: String, _ rows: [[UInt8]]) throws {
    let store = try CoreDataStore(path: path)
    let folder = try TemporaryFolder()
    func files(_ format: StoreExport.Format) throws -> [String: (name: String, text: [UInt8])] {
      let output = folder.url.appendingPathComponent(format.rawValue)
      let parts = try StoreExport().run(store, as: format, to: output.path).parts
      return try Dictionary(
        parts.map {
          let text = try bytes(of: output.appendingPathComponent($0.target))
          return ($0.target, ($0.name, text))
        }, uniquingKeysWith: { one, _ in one })
    }
    let json = try files(.ndjson)
    var written = 0
    var unknown: [UInt8] = []
    for table in store.entityTables {
      for (target, (name, text)) in json where name == table.name && target.contains("unknown") {
        unknown += text
      }
    }
    expect(unknown, rows.filter { head($0) == nil }.flatMap { $0 + [0x0a] }, "unknown")
    for (name, text) in json.values {
      written += text.count { $0 == 0x0a }
      guard let first = text.split(separator: 0x0a).first, let own = head(Array(first)) else {
        continue
      }
      expect(text, rows.filter { head($0) == own }.flatMap { $0 + [0x0a] }, name)
    }
    #expect(written == rows.count)
    for (target, (name, text)) in try files(.csv) {
      if let same = json[target] {
        expect(text, same.text, name)
        continue
      }
      for table in store.entityTables {
        for entity in try store.describedEntities(of: table) where entity.name == name {
          expect(text, try csv(entity, store, safe: false), name)
        }
      }
    }
  }

  /// The tables of a new SQLite file: each has its entity's rows, in the order of their keys.
  private static func compareTables(_ path: String) throws {
    let store = try CoreDataStore(path: path)
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("out.sqlite")
    let parts = try StoreExport().run(CoreDataStore(path: path), as: .sqlite, to: output.path).parts
    let connection = try SQLiteConnection(output)
    var targets = parts[...]
    for table in store.entityTables {
      let entities = try store.describedEntities(of: table)
      var rows: [Int64: [[FixtureValue]]] = [:]
      var unknown: [[FixtureValue]] = []
      try store.forEachRow(in: [table]) { row in
        guard let number = row.entityNumber, row.entityName != nil else {
          unknown.append([row.entityNumber.map { .integer($0) } ?? .null] + values(of: row, nil))
          return true
        }
        let entity = entities.first { $0.number == number }
        rows[number, default: []].append(values(of: row, entity))
        return true
      }
      for entity in entities {
        let part = try #require(targets.first)
        targets.removeFirst()
        #expect(part.name == entity.name)
        let expected = (rows[entity.number] ?? []).sorted { key(of: $0) < key(of: $1) }
        let given = try connection.rows("SELECT * FROM \"\(quoted(part.target))\" ORDER BY _pk")
        #expect(part.rowCount == expected.count)
        expect(given, expected, "\(path) \(entity.name)")
      }
      guard !unknown.isEmpty else { continue }
      let part = try #require(targets.first)
      targets.removeFirst()
      expect(
        try connection.rows("SELECT * FROM \"\(quoted(part.target))\" ORDER BY rowid"), unknown,
        part.target)
    }
    #expect(targets.isEmpty)
  }

  private static func quoted(_ name: String) -> String {
    name.replacingOccurrences(of: "\"", with: "\"\"")
  }

  private static func key(of row: [FixtureValue]) -> Int64 {
    if case .integer(let key)? = row.first { key } else { .min }
  }

  /// Whether the rows are the same; else the first that differ.
  private static func expect(
    _ given: [[FixtureValue]], _ expected: [[FixtureValue]], _ what: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard given != expected else { return }
    let place = zip(given, expected).prefix { $0 == $1 }.count
    Issue.record(
      "\(what): row \(place) of \(given.count), \(expected.count):\n\(given.dropFirst(place).first ?? [])\n\(expected.dropFirst(place).first ?? [])",
      sourceLocation: sourceLocation)
  }

  /// The values for a row's columns; a to-one relationship has a second one, the destination's entity.
  private static func values(of row: ManagedRow, _ entity: DescribedEntity?) -> [FixtureValue] {
    var values: [FixtureValue] = [.integer(row.primaryKey)]
    for (index, property) in row.properties.enumerated() {
      switch property.value {
      case .null, .external: values.append(.null)
      case .integer(let number): values.append(.integer(number))
      case .real(let number): values.append(.real(number))
      case .boolean(let flag): values.append(.integer(flag ? 1 : 0))
      case .string(let text): values.append(.text(text.utf8))
      case .date(let date):
        values.append(date.iso8601.map { .text(Array($0.utf8)) } ?? .real(date.seconds))
      case .uuid(let bytes): values.append(.text(Array(UUIDText.string(bytes).utf8)))
      case .binary(let bytes): values.append(.blob(bytes))
      case .toOne(let reference): values.append(.integer(reference.primaryKey))
      case .toMany: continue
      }
      guard let entity, entity.properties[index].kind == .toOne else { continue }
      if case .toOne(let reference) = property.value, let name = reference.entityName {
        values.append(.text(Array(name.utf8)))
      } else {
        values.append(.null)
      }
    }
    return values
  }

  /// What a line begins with, up to the key; nil for a row of an unknown entity.
  private static func head(_ line: [UInt8]) -> [UInt8]? {
    guard !line.starts(with: Array("{\"entity\":null".utf8)) else { return nil }
    return line.firstRange(of: Array(",\"pk\":".utf8)).map { Array(line[..<$0.lowerBound]) }
  }

  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 5, from: 1))
  func realStores(_ real: RealStore) throws {
    guard Shared.require("rows of \(real)") != nil else { return }
    guard try CoreDataStore(path: real.url.path).kind != .sqlite else { return }
    let rows = try Self.compareLines(real.url.path)
    try Self.compareTokens(real.url.path)
    guard rows.count < 20_000 else { return }
    try Self.compareForms(real.url.path, rows)
    try Self.compareFiles(real.url.path, rows)
    try Self.compareTables(real.url.path)
  }

  // MARK: - Stores with anything in any column

  private static let model: ManagedObjectModel = {
    let types: [(String, AttributeType)] = [
      ("b", .boolean), ("c", .integer16), ("d", .date), ("e", .decimal), ("f", .float),
      ("g", .double), ("i", .integer64), ("s", .string), ("u", .uuid), ("w", .uri),
      ("x", .binary),
    ]
    let item = Entity(
      name: "Item",
      attributes: types.map {
        Attribute(
          name: $0.0, type: $0.1, isOptional: true,
          allowsExternalBinaryDataStorage: $0.0 == "x")
      },
      relationships: [
        Relationship(
          name: "parent", destinationEntityName: "Item", inverseName: "children",
          inverseEntityName: "Item", isOptional: true),
        Relationship(
          name: "children", destinationEntityName: "Item", inverseName: "parent",
          inverseEntityName: "Item", maxCount: 0, isOptional: true),
        Relationship(
          name: "tags", destinationEntityName: "Tag", inverseName: "items",
          inverseEntityName: "Tag", maxCount: 0, isOrdered: true, isOptional: true),
        Relationship(
          name: "first", destinationEntityName: "Tag", inverseName: "firsts",
          inverseEntityName: "Tag", isOptional: true),
      ])
    let sub = Entity(
      name: "Sub \"quoted\", x", superentityName: "Item",
      attributes: [Attribute(name: "=own, name", type: .string, isOptional: true)])
    let tag = Entity(
      name: "Tag", attributes: [Attribute(name: "name", type: .string, isOptional: true)],
      relationships: [
        Relationship(
          name: "items", destinationEntityName: "Item", inverseName: "tags",
          inverseEntityName: "Item", maxCount: 0, isOptional: true),
        Relationship(
          name: "firsts", destinationEntityName: "Item", inverseName: "first",
          inverseEntityName: "Item", maxCount: 0, isOptional: true),
      ])
    return ManagedObjectModel(entities: [item, sub, tag])
  }()

  private static let external =
    "02" + "30303030303030302D303030302D303030302D303030302D303030303030303030303030" + "00"

  private static func below(_ random: inout SplitMix64, _ bound: Int) -> Int {
    Int.random(in: 0..<bound, using: &random)
  }

  private static func digits(_ random: inout SplitMix64, upTo bound: Int) -> String {
    let count = below(&random, bound)
    return hex(of: Data(random.bytes(count)))
  }

  /// Any value, as SQL.
  private static func value(_ random: inout SplitMix64) -> String {
    switch Self.below(&random, 14) {
    case 0: "NULL"
    case 1: "0"
    case 2: "1"
    case 3: "\(Int64(bitPattern: random.next()) >> Int64(Self.below(&random, 63)))"
    case 4: "\(Double(Self.below(&random, 2_000_000_000)) / 7 - 100_000_000)"
    case 5: "9e99"
    case 6: "-63114076800.5"
    case 7: "x'" + hex(of: Data(random.bytes(16))) + "'"
    case 8:
      "x'" + Self.digits(&random, upTo: 40)
        + "'"
    case 9:
      "x'01" + Self.digits(&random, upTo: 9)
        + "'"
    case 10: "x'\(external)'"
    case 11: "CAST(x'66ff6fe282' AS TEXT)"
    case 12: "'=a,\"b\"' || char(10, 1, 8232, 128512) || ';'"
    default: "'" + String(repeating: "tü", count: Self.below(&random, 400)) + "'"
    }
  }

  @Test(
    arguments: Rounds.areLong
      ? [("UTF-8", 1_500), ("UTF-16le", 400), ("UTF-16be", 400)]
      : [("UTF-8", 500), ("UTF-16le", 200), ("UTF-16be", 200)])
  func anythingInAnyColumn(_ encoding: String, _ count: Int) throws {
    let folder = try TemporaryFolder()
    let fresh = folder.url.appendingPathComponent("Fresh.sqlite")
    try FreshStore.create(at: fresh.path, for: Self.model)
    let url = folder.url.appendingPathComponent("Any.sqlite")
    let made = try SQLiteConnection(fresh)
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 1024; PRAGMA encoding = '\(encoding)'; BEGIN")
    for row in try made.rows("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL") {
      guard case .text(let sql)? = row.first else { continue }
      try connection.exec(String(decoding: sql, as: UTF8.self))
    }
    for table in ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"] {
      for row in try made.rows("SELECT * FROM \(table)") {
        let marks = row.map { _ in "?" }.joined(separator: ",")
        try connection.rows("INSERT INTO \(table) VALUES (\(marks))", row)
      }
    }
    made.close()
    var random = SplitMix64(seed: 1)
    let numbers = try connection.rows("SELECT Z_ENT FROM Z_PRIMARYKEY ORDER BY Z_NAME")
    #expect(numbers.count == 3)
    for table in ["ZITEM", "ZTAG"] {
      let columns = try connection.rows(
        "SELECT name FROM pragma_table_info('\(table)') WHERE name NOT IN ('Z_PK', 'Z_ENT')")
      for key in 1...count {
        let number = ["1", "2", "2", "1", "3", "77", "NULL", "'x'"][
          key % 9 == 0 ? Int.random(in: 0..<8, using: &random) : table == "ZTAG" ? 4 : key % 4]
        let values = columns.map { _ in Self.value(&random) }.joined(separator: ",")
        try connection.exec("INSERT INTO \(table) VALUES (\(key * 3 - 5), \(number), \(values))")
      }
    }
    for name in try connection.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'Z_[0-9]*'")
      + []
    {
      guard case .text(let text)? = name.first else { continue }
      let join = String(decoding: text, as: UTF8.self)
      guard !join.hasSuffix("INDEX"), !join.contains("UNIQUE") else { continue }
      let columns = try connection.rows("SELECT name FROM pragma_table_info('\(join)')")
      for _ in 0..<count {
        let values = columns.map { _ in
          "\(Int.random(in: -2...count * 3, using: &random))"
        }.joined(separator: ",")
        try connection.exec("INSERT OR IGNORE INTO \(join) VALUES (\(values))")
      }
    }
    try connection.exec("ALTER TABLE ZTAG ADD COLUMN ZLATE VARCHAR DEFAULT 'late'")
    try connection.exec("COMMIT")
    #expect(try connection.integrityCheck() == ["ok"])
    connection.close()
    let rows = try Self.compareLines(url.path)
    #expect(rows.count == 2 * count)
    try Self.compareTokens(url.path)
    try Self.compareForms(url.path, rows)
    try Self.compareFiles(url.path, rows)
    try Self.compareTables(url.path)
  }

  /// Large tables are rendered in blocks, side by side, also where a row is larger than a block. These rows take more
  /// than 700 leaves.
  @Test func blocks() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Large.sqlite")
    try FreshStore.create(at: url.path, for: Self.model)
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      BEGIN;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZS, ZD, ZI)
        SELECT i, iif(i % 1000 = 7, 99, 1 + i % 2), 1, hex(randomblob(150)), i / 3.0, i * i FROM n;
      UPDATE ZITEM SET ZX = zeroblob(3000000) WHERE Z_PK = 7000;
      COMMIT;
      PRAGMA wal_checkpoint(TRUNCATE);
      """)
    connection.close()
    let rows = try Self.compareLines(url.path)
    #expect(rows.count == 9_000)
    try Self.compareTokens(url.path)
    try Self.compareFiles(url.path, rows)
  }
}
