import CoreDataStore
import Fixtures
import Foundation
import ObjectModel
import StoreFiles
import Testing
@testable import CoreDataForensics

/// The statements that we write for a model, against those that Core Data wrote for it: in every real store that
/// carries its model, the schema that follows from the model is the store's own, byte for byte, but for a few known
/// differences.
@Suite struct FreshDDLTests {
  /// A statement of a schema.
  struct Statement {
    let kind: String
    let name: String
    /// The statement, with each run of white space as one space.
    let sql: String

    var key: String { kind + " " + name }

    init(kind: String, name: String, sql: String) {
      self.kind = kind
      self.name = name
      self.sql = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// One of ours.
    init(_ sql: String) {
      let words = sql.split(separator: " ")
      let kind = words[1] == "UNIQUE" ? words[2] : words[1]
      let name = words[words[1] == "UNIQUE" ? 3 : 2]
      self.init(
        kind: kind.lowercased(), name: name.replacingOccurrences(of: "\"", with: ""), sql: sql)
    }

    /// Without the quotes that SQLite adds to the name of a table when the table is renamed.
    var unquoted: String { sql.replacingOccurrences(of: "\"", with: "") }

    /// The declarations of a table's columns and its constraints.
    var declarations: [String] {
      Self.list(
        unquoted.drop { $0 != "(" }.dropFirst().dropLast().trimmingCharacters(in: .whitespaces))
    }

    /// The table and the columns of an index, without collations and directions.
    var subject: String {
      let parts = unquoted.components(separatedBy: " ON ")
      return parts.last.map { $0.replacingOccurrences(of: " COLLATE BINARY ASC", with: "") } ?? ""
    }

    /// The parts between commas that are in no inner parentheses.
    static func list(_ text: String) -> [String] {
      var parts = [""]
      var depth = 0
      for character in text {
        if character == "(" { depth += 1 }
        if character == ")" { depth -= 1 }
        if character == ",", depth == 0 {
          parts.append("")
        } else {
          parts[parts.count - 1].append(character)
        }
      }
      return parts.map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  /// Why a statement of a real store may differ from ours.
  enum Difference: String, CaseIterable {
    /// Older frameworks index an indexed attribute as they do a key: `ZTABLE_ZCOLUMN_INDEX`, without collation.
    case indexedAttribute
    /// Older frameworks name a compound index after its table and columns, without collations.
    case compoundIndex
    /// Older frameworks declare uniqueness constraints in the table, not as indexes.
    case uniquenessInTable
    /// The first form of the history has texts in each transaction, and no table of texts.
    case firstHistory
    /// The order of the positions in several ordered relationships follows no known rule.
    case orderOfPositions
    /// The table of a relationship of an entity with itself is named after either side, by no known rule.
    case otherSide
    /// Migration in place has renamed a table; SQLite then writes its name in quotes.
    case renamedTable
    /// Migration in place has added columns, which stand at the end.
    case addedColumns
    /// Migration in place has left an index under the name that it has in an earlier model, beside the one that it has
    /// now.
    case formerIndex

    /// The framework versions of the stores in which it is seen.
    var versions: ClosedRange<Int64> {
      switch self {
      case .indexedAttribute: 637...754
      case .compoundIndex: 637...754
      case .uniquenessInTable: 637...851
      case .firstHistory: 851...851
      case .orderOfPositions: 640...865
      case .otherSide: 641...1340
      case .renamedTable: 977...1145
      case .addedColumns: 977...1145
      case .formerIndex: 847...1145
      }
    }

    /// Whether it shows that a store was migrated in place.
    var isMigration: Bool { self == .renamedTable || self == .addedColumns || self == .formerIndex }
  }

  /// A store that carries its model, with its schema and ours.
  struct Comparison {
    let name: String
    let version: Int64
    let real: [Statement]
    let ours: [Statement]
    let triggerCount: Int
    /// Whether each statement's b-tree lies behind that of the one before. Where a migration has replaced tables,
    /// theirs lie in pages that were free; but VACUUM puts them in order.
    let isWrittenAtOnce: Bool
    var same = 0
    var found: [(difference: Difference, key: String)] = []
    var unexplained: [String] = []

    /// Nil when the store carries no model.
    init?(_ url: URL) throws {
      let store = try CoreDataStore(path: url.path)
      guard let model = store.cachedModel, let version = store.metadata?.frameworkVersion else {
        return nil
      }
      name = url.lastPathComponent
      self.version = version
      let folder = try TemporaryFolder()
      let connection = try SQLiteConnection(SQLiteConnection.copyStore(url, into: folder.url))
      defer { connection.close() }
      let schema = try FreshDDLTests.schema(connection)
      let triggers = schema.filter { $0.kind == "trigger" }
      #expect(triggers.allSatisfy { $0.name.hasPrefix("Z_DA_") }, "\(name)")
      triggerCount = triggers.count
      isWrittenAtOnce =
        try connection.integer(
          """
          SELECT count(*) FROM (SELECT rootpage, lag(rootpage) OVER (ORDER BY rowid) AS former
            FROM sqlite_schema WHERE rootpage > 0) WHERE rootpage < former
          """) == 0
      // Other tables are the app's own.
      real = schema.filter {
        $0.kind != "trigger" && ($0.name.first == "Z" || $0.name.first == "A")
      }
      let hasHistory = real.contains { $0.name == "ACHANGE" }
      ours = try FreshStoreSchema(model, withHistory: hasHistory).statements.map(Statement.init)
      compare()
    }

    private mutating func compare() {
      let theirs = Dictionary(uniqueKeysWithValues: real.map { ($0.key, $0) })
      let mine = Dictionary(uniqueKeysWithValues: ours.map { ($0.key, $0) })
      // Uniqueness constraints that tables declare, by table and columns.
      let constraints = Set(real.flatMap(Self.constraints))
      let selfRelated = Set(
        ours.filter { $0.kind == "table" && $0.name.hasPrefix("Z_") }.compactMap(Self.bothSides))
      for statement in ours where theirs[statement.key]?.sql != statement.sql {
        if let other = theirs[statement.key] {
          explain(statement.key, differences(statement, other))
        } else if statement.sql.hasPrefix("CREATE UNIQUE"), constraints.contains(statement.subject)
        {
          explain(statement.key, [.uniquenessInTable])
        } else if let other = real.first(where: {
          $0.kind == "index" && statement.kind == "index" && mine[$0.key] == nil
            && $0.subject == statement.subject
        }), let difference = Self.olderIndex(other) {
          explain(statement.key, [difference])
        } else if statement.name.hasPrefix("ATRANSACTION")
          || statement.name.hasPrefix("Z_TRANSACTIONSTRING_"),
          version == Difference.firstHistory.versions.lowerBound
        {
          explain(statement.key, [.firstHistory])
        } else if Self.sides(statement).contains(where: selfRelated.contains) {
          explain(statement.key, [.otherSide])
        } else {
          unexplained.append("\(name) (\(version)) only ours: \(statement.sql)")
        }
      }
      for statement in real where mine[statement.key] == nil {
        if let now = ours.first(where: {
          $0.kind == "index" && statement.kind == "index" && $0.subject == statement.subject
        }) {
          if theirs[now.key] != nil {
            explain(statement.key, [.formerIndex])
          } else if Self.olderIndex(statement) == nil {
            unexplained.append("\(name) (\(version)) only theirs: \(statement.sql)")
          }
        } else if Self.sides(statement).contains(where: selfRelated.contains) {
          explain(
            statement.key, [.otherSide] + (statement.sql.contains("\"") ? [.renamedTable] : []))
        } else {
          unexplained.append("\(name) (\(version)) only theirs: \(statement.sql)")
        }
      }
      same = ours.count { theirs[$0.key]?.sql == $0.sql }
    }

    private mutating func explain(_ key: String, _ differences: [Difference]?) {
      guard let differences, !differences.isEmpty else {
        let sql = (ours + real).filter { $0.key == key }.map(\.sql).joined(separator: "\n")
        unexplained.append("\(name) (\(version)) differs:\n\(sql)")
        return
      }
      for difference in differences {
        found.append((difference, key))
        if !difference.versions.contains(version) {
          unexplained.append("\(name) (\(version)): \(difference.rawValue), \(key)")
        }
      }
    }

    /// What makes a statement differ from ours of the same name; nil when that is not known.
    private func differences(_ mine: Statement, _ theirs: Statement) -> [Difference]? {
      var found: [Difference] = []
      if theirs.sql.contains("\"") { found.append(.renamedTable) }
      if mine.sql == theirs.unquoted { return found }
      guard mine.kind == "table" else { return nil }
      var wanted = mine.declarations
      var given = theirs.declarations
      if mine.name.hasPrefix("A"), version == Difference.firstHistory.versions.lowerBound {
        wanted.removeAll { $0.hasSuffix("TS INTEGER") }
        found.append(.firstHistory)
      }
      let constrained = given.filter { !$0.hasPrefix("CONSTRAINT") }
        .map { $0.hasSuffix(" UNIQUE") ? String($0.dropLast(7)) : $0 }
      if constrained != given {
        given = constrained
        found.append(.uniquenessInTable)
      }
      // SQLite writes added columns before the last parenthesis and leaves the space that Core Data puts there.
      if !theirs.sql.hasSuffix(" )"), theirs.sql.contains(" , "), given.sorted() == wanted.sorted()
      {
        let count = theirs.unquoted.components(separatedBy: " , ").last.map(Statement.list)?.count
        let kept = given.dropLast(count ?? 0)
        wanted = wanted.filter(kept.contains) + given.suffix(count ?? 0)
        found.append(.addedColumns)
      }
      func isPosition(_ declaration: String) -> Bool { declaration.hasPrefix("Z_FOK_") }
      if given != wanted, given.filter(isPosition).sorted() == wanted.filter(isPosition).sorted(),
        given.map({ isPosition($0) ? "" : $0 }) == wanted.map({ isPosition($0) ? "" : $0 })
      {
        wanted = given
        found.append(.orderOfPositions)
      }
      if given != wanted, Self.bothSides(mine) != nil,
        Self.bothSides(mine) == Self.bothSides(theirs)
      {
        wanted = given
        found.append(.otherSide)
      }
      return given == wanted ? found : nil
    }

    /// Which older form of an index this is; nil for another statement.
    private static func olderIndex(_ statement: Statement) -> Difference? {
      guard !statement.sql.contains("COLLATE"), !statement.name.hasPrefix("Z_") else { return nil }
      return statement.subject.contains(",") ? .compoundIndex : .indexedAttribute
    }

    /// The uniqueness constraints that a table declares, as tables and columns.
    private static func constraints(_ table: Statement) -> [String] {
      guard table.kind == "table" else { return [] }
      return table.declarations.compactMap { declaration in
        if declaration.hasPrefix("CONSTRAINT") {
          return "\(table.name) " + declaration.drop { $0 != "(" }
        }
        return declaration.hasSuffix(" UNIQUE")
          ? "\(table.name) (\(declaration.prefix { $0 != " " }))" : nil
      }
    }

    /// The two key columns of the table of a relationship of an entity with itself, sorted.
    private static func bothSides(_ table: Statement) -> String? {
      let columns = table.declarations.prefix(2).map { $0.split(separator: " ").first ?? "" }
      guard table.name.hasPrefix("Z_"), columns.count == 2,
        columns[0].dropFirst(2).prefix(while: \.isNumber)
          == columns[1].dropFirst(2).prefix(while: \.isNumber)
      else { return nil }
      return columns.sorted().joined(separator: ", ")
    }

    /// The key columns of the table of a relationship, or of its index, sorted.
    private static func sides(_ statement: Statement) -> [String] {
      if statement.kind == "table" { return [bothSides(statement)].compactMap { $0 } }
      let columns = statement.subject.drop { $0 != "(" }.dropFirst().dropLast()
      return [Statement.list(String(columns)).sorted().joined(separator: ", ")]
    }
  }

  /// The statements of a store's schema, in order.
  static func schema(_ connection: SQLiteConnection) throws -> [Statement] {
    try connection.rows(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"
    ).compactMap { row in
      guard case .text(let kind) = row[0], case .text(let name) = row[1],
        case .text(let sql) = row[2]
      else { return nil }
      return Statement(
        kind: String(decoding: kind, as: UTF8.self), name: String(decoding: name, as: UTF8.self),
        sql: String(decoding: sql, as: UTF8.self))
    }
  }

  /// The comparisons of all stores that carry their models.
  static let comparisons = Result<[Comparison], any Error> {
    guard let found = Shared.folder?.appendingPathComponent("stores/found/models") else {
      return []
    }
    let others = [
      "composite/PreloadedCocktails.store", "composite/default-5-entities.store",
      "self-inverse/Sample.sqlite",
    ].map(found.appendingPathComponent)
    return try (RealStores.all.map(\.url) + others).compactMap { try Comparison($0) }
  }

  @Test(.enabled(if: Shared.isThere)) func statementsAreThoseOfCoreData() throws {
    guard Shared.require("schemas of real stores") != nil else { return }
    let comparisons = try Self.comparisons.get()
    #expect(comparisons.count == 50)
    for comparison in comparisons {
      #expect(
        comparison.unexplained.isEmpty, "\(comparison.unexplained.joined(separator: "\n"))")
    }
    // Triggers of derived attributes are not written.
    #expect(comparisons.reduce(0) { $0 + $1.triggerCount } == 26)
    let same = comparisons.reduce(0) { $0 + $1.same }
    #expect(same == 1991)
    print("of \(comparisons.reduce(0) { $0 + $1.ours.count }) statements, the same: \(same)")
    print("without any difference: \(comparisons.count { $0.found.isEmpty }) stores")
    for difference in Difference.allCases {
      let stores = comparisons.compactMap { comparison in
        let count = comparison.found.count { $0.difference == difference }
        return count == 0 ? nil : (version: comparison.version, name: comparison.name, count: count)
      }
      let versions = stores.map(\.version)
      #expect(versions.min() == difference.versions.lowerBound, "\(difference)")
      #expect(versions.max() == difference.versions.upperBound, "\(difference)")
      print(
        difference, versions.min() ?? 0, versions.max() ?? 0, "stores:", stores.count,
        "statements:", stores.reduce(0) { $0 + $1.count })
    }
  }

  /// Statements stand in Core Data's order in all stores whose schema was written at once.
  ///
  /// Among the tables of many-to-many relationships of one entity no rule for the order is known. Migration with a
  /// mapping model makes the indexes after the rows and so after Core Data's own tables; the stores in which that is
  /// seen are of framework version 637.
  @Test(.enabled(if: Shared.isThere)) func statementsAreInCoreDatasOrder() throws {
    guard Shared.require("order of statements in real stores") != nil else { return }
    func place(_ statement: Statement) -> String {
      let digits = statement.name.dropFirst(2).prefix(while: \.isNumber)
      return statement.name.hasPrefix("Z_") && !digits.isEmpty
        ? statement.kind + " Z_" + digits : statement.key
    }
    var sameCount = 0
    var lateIndexes: [Int64] = []
    for comparison in try Self.comparisons.get()
    where comparison.isWrittenAtOnce && !comparison.found.contains(where: \.difference.isMigration)
    {
      let both = Set(comparison.real.map(\.key)).intersection(comparison.ours.map(\.key))
      let given = comparison.real.filter { both.contains($0.key) }.map(place)
      let wanted = comparison.ours.filter { both.contains($0.key) }
      if given == wanted.map(place) {
        sameCount += 1
        continue
      }
      lateIndexes.append(comparison.version)
      let tables = wanted.filter { $0.kind == "table" }
      #expect(
        given == (tables + wanted.filter { $0.kind == "index" }).map(place), "\(comparison.name)")
    }
    #expect(sameCount == 30)
    #expect(lateIndexes == [637, 637, 637])
  }

  /// The history's rows in `Z_PRIMARYKEY` are those that Core Data writes.
  @Test(.enabled(if: Shared.isThere)) func entitiesOfTheHistory() throws {
    guard Shared.require("histories of real stores") != nil else { return }
    var count = 0
    for real in RealStores.all {
      let store = try CoreDataStore(path: real.url.path)
      guard let model = store.cachedModel, store.entities.contains(where: { $0.number == 16003 })
      else { continue }
      count += 1
      let made = try FreshStoreSchema(model, withHistory: true).entities
      let plain = try FreshStoreSchema(model).entities
      #expect(made.prefix(plain.count) == plain[...])
      func described(_ record: EntityRecord) -> String {
        "\(record.number) \(record.name) \(record.superNumber)"
      }
      #expect(
        made.dropFirst(plain.count).map(described)
          == store.entities.filter(\.isHistory).map(described).sorted(), "\(real)")
    }
    #expect(count == 7)
  }

  /// What no store with a cached model can show: indexes of a model that is not compiled.
  @Test func indexesOfOlderDeclarations() throws {
    let model = ManagedObjectModel(entities: [
      Entity(
        name: "Note",
        attributes: [
          Attribute(name: "count", type: .integer16, isIndexed: true),
          Attribute(name: "title", type: .string, isIndexed: true),
        ],
        relationships: [
          Relationship(
            name: "next", destinationEntityName: "Note", inverseName: "next",
            inverseEntityName: "Note", maxCount: 1, isIndexed: true)
        ],
        fetchIndexes: [
          FetchIndex(name: "byTitle", elements: [FetchIndex.Element(propertyName: "title")]),
          FetchIndex(name: "byNext", elements: [FetchIndex.Element(propertyName: "next")]),
        ],
        compoundIndexes: [["title", "count"]])
    ])
    let names = try FreshStoreSchema(model).statements.map(Statement.init)
      .filter { $0.kind == "index" }.map(\.name)
    #expect(
      names == ["ZNOTE_ZNEXT_INDEX", "Z_Note_count", "Z_Note_title_count", "Z_Note_byTitle"])
  }
}
