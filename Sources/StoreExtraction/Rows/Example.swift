import CoreDataForensics
import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SafeText

/// A model or a healthy store that tells what the tables of a damaged store should look like.
struct Example {
  struct Content {
    var tables: [ExpectedTable]
    /// The schema entries of indexes, views, triggers and virtual tables.
    var companions: [SchemaEntry]
    var model: ManagedObjectModel?
    /// Whether the CREATE statements come from a store and not from a model.
    var isStore = false
  }

  private enum Kind {
    case store(CoreDataStore)
    case models(ModelCollection)
  }

  private let path: String
  private let kind: Kind

  /// Opens the model or store at a path. Throws `SQLiteFileError` or `ModelError` when the path is neither a store nor
  /// a model.
  init(_ path: String) throws {
    self.path = path
    if (try? ByteFile(path).beginsAsDatabase()) == true {
      kind = .store(try CoreDataStore(path: path))
    } else {
      kind = .models(try Self.models(at: path))
    }
  }

  private static func models(at path: String) throws -> ModelCollection {
    do throws(ModelError) {
      return try ModelCollection(searching: path)
    } catch {
      guard error.code == .notAModel else { throw error }
      throw ExtractionError(
        .noExample, "--like needs a store or a model; the path leads to neither",
        path: path)
    }
  }

  /// The files and folders that could not be read in a folder of models. Empty if the example is a store.
  var passedOver: [StoreFinder.PassedOver] {
    switch kind {
    case .store: []
    case .models(let collection): collection.notEntered.map { .init($0) }
    }
  }

  /// Returns the tables and entities that the example describes. If the example has several versions of a model, the
  /// version that wrote the damaged store is used. If this version is not known, the current version is used.
  func content(for facts: DamagedStore.Facts) throws -> Content {
    switch kind {
    case .store(let store): return Self.described(by: store)
    case .models(let collection):
      return Self.described(by: try Self.model(of: collection, at: path, for: facts))
    }
  }

  /// Returns the model version that matches the version hashes in the damaged store. If no version matches, returns the
  /// current version, or the only version if no version is marked as current.
  private static func model(
    of collection: ModelCollection, at path: String, for facts: DamagedStore.Facts
  ) throws -> ManagedObjectModel {
    if !facts.hashes.isEmpty,
      let version = collection.versions(matching: facts.hashes).first(where: { $0.model != nil }),
      let model = version.model
    {
      return model
    }
    guard let version = collection.current else {
      throw ExtractionError(
        .whichVersion,
        "the model marks no version as current, and no version matches the store; the versions are \(collection.versions.map(\.name).joined(separator: ", "))",
        path: path)
    }
    if let model = version.model { return model }
    if let problem = version.problem { throw problem }
    throw ExtractionError(
      .whichVersion, "the version \(version.name) has only version hashes and no model", path: path)
  }

  /// Returns the tables and indexes that Core Data makes for a model.
  static func described(by model: ManagedObjectModel) -> Content {
    var companions: [SchemaEntry] = []
    for sql in (try? FreshStoreSchema(model))?.statements ?? [] {
      guard let index = IndexStatement(sql: sql) else { continue }
      companions.append(
        SchemaEntry(
          type: "index", name: index.name, tableName: index.tableName, rootPage: 0, sql: sql))
    }
    return Content(
      tables: CoreDataExpectations.bookkeeping + CoreDataExpectations.tables(of: model)
        + CoreDataExpectations.history, companions: companions, model: model)
  }

  /// Returns the schema of a store, and the entity numbers that can occur in its tables.
  private static func described(by store: CoreDataStore) -> Content {
    let ranges = store.model.map { model in
      Dictionary(
        firstOf: CoreDataExpectations.tables(of: model).map { (SQLName($0.name), $0.integers) })
    }
    let entries = store.database.schema.entries
    let tables = entries.compactMap { entry -> ExpectedTable? in
      guard entry.type == "table", entry.rootPage > 0, let sql = entry.sql,
        var table = ExpectedTable(name: entry.name, sql: sql)
      else { return nil }
      if let integers = ranges?[SQLName(entry.name)] { table.integers = integers }
      return table
    }
    let companions = entries.filter { $0.type != "table" || $0.rootPage == 0 }
    return Content(
      tables: tables,
      companions: companions.map {
        SchemaEntry(
          type: $0.type, name: $0.name, tableName: $0.tableName, rootPage: 0, sql: $0.sql)
      }, model: store.model, isStore: true)
  }
}

/// The names of the index and its table in a CREATE INDEX statement that Lifeboat has made.
struct IndexStatement {
  let name: String
  let tableName: String

  init?(sql: String) {
    var rest = sql.unicodeScalars[...]
    for word in ["CREATE ", "UNIQUE ", "INDEX "] {
      if rest.starts(with: word.unicodeScalars) {
        rest = rest.dropFirst(word.unicodeScalars.count)
      } else if word != "UNIQUE " {
        return nil
      }
    }
    guard let name = Self.takeName(&rest), rest.starts(with: " ON ".unicodeScalars) else {
      return nil
    }
    rest = rest.dropFirst(4)
    guard let table = Self.takeName(&rest) else { return nil }
    self.name = name
    tableName = table
  }

  private static func takeName(_ rest: inout Substring.UnicodeScalarView) -> String? {
    guard rest.first == ("\"" as Unicode.Scalar) else {
      let name = rest.prefix { $0 != " " && $0 != "(" }
      rest = rest.dropFirst(name.count)
      return name.isEmpty ? nil : String(name)
    }
    rest = rest.dropFirst()
    var name = String.UnicodeScalarView()
    while let scalar = rest.popFirst() {
      if scalar == "\"" {
        guard rest.first == ("\"" as Unicode.Scalar) else { return String(name) }
        rest = rest.dropFirst()
      }
      name.append(scalar)
    }
    return nil
  }
}
