import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// Expressions that are nested so deep that SQLite may not read them. SQLite itself says whether it does.
@Suite struct DeepExpressionTests {
  /// An expression around `inner`, and the SQL that it becomes.
  struct Level: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let opening: String
    let closing: String
    /// What each level adds to the value.
    let step: Int
    let around: @Sendable (_ inner: ModelExpression) -> ModelExpression
  }

  private static let sum = Level(
    testDescription: "sum", opening: "(1 + ", closing: ")", step: 1
  ) { .function(target: nil, selector: "add:to:", arguments: [.constant(.integer(1)), $0]) }

  private static let ternary = Level(
    testDescription: "ternary", opening: "CASE WHEN 0 THEN 1 ELSE ", closing: " END", step: 0
  ) { .ternary(.constant(false), .constant(.integer(1)), $0) }

  /// A note, whose successor is the note itself.
  private static let model = ManagedObjectModel(
    entities: [
      Entity(
        name: "Note", attributes: [attribute("size", .integer64)],
        relationships: [
          Relationship(name: "next", destinationEntityName: "Note", isOptional: true)
        ])
    ], versionIdentifiers: ["1"])

  private static let rows = """
    INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZSIZE, ZNEXT) VALUES (1, 1, 1, 5, 1);
    UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
    """

  struct Case: Sendable, CustomTestStringConvertible {
    let level: Level
    let count: Int
    /// The key path in the innermost level.
    let path: String
    let isDamaged: Bool

    var testDescription: String {
      "\(level.testDescription) of \(count) around \(path)\(isDamaged ? ", damaged" : "")"
    }
  }

  private static let cases: [Case] = {
    var cases: [Case] = []
    for level in [sum, ternary] {
      for count in [10, 40] {
        for path in ["size", "next.size"] {
          for isDamaged in [false, true] {
            cases.append(Case(level: level, count: count, path: path, isDamaged: isDamaged))
          }
        }
      }
    }
    return cases
  }()

  /// What SQLite reads is computed. What it does not read is refused before a row is copied, and no file is left.
  @Test(arguments: cases) func anExpressionOfManyLevels(_ form: Case) throws {
    let (level, count) = (form.level, form.count)
    let folder = try TemporaryFolder()
    let scratch = try TemporaryFolder()
    let connection = try SQLiteConnection(scratch.url.appendingPathComponent("a.sqlite"))
    defer { connection.close() }
    let sql =
      String(repeating: level.opening, count: count) + "1"
      + String(repeating: level.closing, count: count)
    let isRead = (try? connection.rows("SELECT \(sql)")) != nil
    #expect(isRead || count > 10)
    var expression = ModelExpression.keyPath(form.path, of: .variable("source"))
    for _ in 0..<count { expression = level.around(expression) }
    var mapping = try MappedReferenceTests.mapping("NoteToNote", "Note", "Note")
    mapping.attributeMappings = [PropertyMapping(name: "size", valueExpression: expression)]
    let mappings = [mapping]
    guard !isRead else {
      let (_, database) = try MappedReferenceTests.migrate(
        Self.model, Self.model, mappings, Self.rows, isDamaged: form.isDamaged, in: folder)
      defer { database.close() }
      #expect(try database.text("SELECT ZSIZE FROM ZNOTE") == "\(5 + level.step * count)")
      return
    }
    let error = #expect(throws: MigrationError.self) {
      _ = try MappedReferenceTests.migrate(
        Self.model, Self.model, mappings, Self.rows, isDamaged: form.isDamaged, in: folder)
    }
    #expect(error?.code == .tooComplex)
    let reason = error?.reasons.first ?? ""
    #expect(reason.contains("mapping NoteToNote is too complex for SQLite"), "\(reason)")
    let levels = count + (form.path == "size" ? 1 : 2)
    #expect(reason.contains("the expression of size has \(levels) levels"), "\(reason)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["Old.sqlite"])
  }

  private final class Steps: @unchecked Sendable {
    private let lock = NSLock()
    private var begun = 0
    var count: Int { lock.withLock { begun } }
    func begin() { lock.withLock { begun += 1 } }
  }

  /// A later step that SQLite does not read, or that no mapping can be compiled for, is refused before the first step
  /// begins. The first of the two steps only copies.
  @Test(arguments: [false, true]) func aLaterStepIsCheckedBeforeTheFirstBegins(_ isDamaged: Bool)
    throws
  {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("Old.sqlite").path
    try FreshStore.create(at: store, for: Self.model)
    func refusal(_ expression: ModelExpression) throws -> MigrationError.Code? {
      var mapping = try MappedReferenceTests.mapping("NoteToNote", "Note", "Note")
      mapping.attributeMappings = [PropertyMapping(name: "size", valueExpression: expression)]
      let steps = [
        try MigrationStep.same(Self.model, named: "1"),
        MigrationStep(
          from: Self.model, named: "1", to: Self.model, named: "2",
          mapping: MappingModel(entityMappings: [mapping]), isInferred: true),
      ]
      let begun = Steps()
      var migration = Migration()
      migration.onProgress = { _ in begun.begin() }
      let code: MigrationError.Code?
      do {
        _ = try migration.run(
          isDamaged
            ? .damaged(try .init(path: store), deleted: false)
            : .sound(try CoreDataStore(path: store)), steps,
          to: folder.url.appendingPathComponent("New.sqlite").path)
        code = nil
      } catch let error as MigrationError {
        code = error.code
      }
      #expect(begun.count == 0)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["Old.sqlite"])
      return code
    }
    // The depth is counted before the store is read, so one of the two readers is enough outside the long rounds.
    if !isDamaged || Rounds.areLong {
      var deep = ModelExpression.keyPath("size", of: .variable("source"))
      for _ in 0..<1_100 { deep = Self.sum.around(deep) }
      #expect(try refusal(deep) == .tooComplex)
    }
    let unknown = ModelExpression.function(target: nil, selector: "sum:", arguments: [])
    #expect(try refusal(unknown) == .unsupportedExpression)
  }

  /// Stores that are read as sound or as damaged, with and without a condition. Outside the long rounds, two of these
  /// four pairs.
  private static let requiringForms: [(Bool, String?)] = {
    let all: [(Bool, String?)] = [
      (false, nil), (false, "a1 == 1"), (true, "a1 == 1"), (true, nil),
    ]
    return Rounds.part(of: all, every: 2)
  }()

  /// An entity may require more attributes than an expression of SQLite has levels. The row that has them all is
  /// copied, and the row that lacks the last one is not.
  @Test(arguments: requiringForms)
  func manyRequiredAttributes(_ isDamaged: Bool, _ predicate: String?) throws {
    let names = (1...1_100).map { "a\($0)" }
    let model = ManagedObjectModel(
      entities: [
        Entity(
          name: "Note",
          attributes: names.map { Attribute(name: $0, type: .integer64, isOptional: false) })
      ], versionIdentifiers: ["1"])
    var mapping = try MappedReferenceTests.mapping("NoteToNote", "Note", "Note", where: predicate)
    mapping.kind = .copy
    let columns = names.map { "Z\($0.uppercased())" }.joined(separator: ", ")
    let ones = Array(repeating: "1", count: names.count)
    let whole = ones.joined(separator: ", ")
    let cut = (ones.dropLast() + ["NULL"]).joined(separator: ", ")
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      model, model, [mapping],
      """
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, \(columns)) VALUES (1, 1, 1, \(whole));
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, \(columns)) VALUES (2, 1, 1, \(cut));
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZA1, ZA1100 FROM ZNOTE") == "1 1 1")
    let note = report.steps.flatMap(\.entities).first { $0.name == "Note" }
    #expect(note?.writtenCount == 1)
    #expect(note?.rejectedCount == 1)
  }
}
