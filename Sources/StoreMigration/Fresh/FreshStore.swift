import CoreDataStore
package import CoreDataForensics
import StoreFiles
public import Foundation
public import ObjectModel
package import SQLiteWriter
import StoreExtraction

/// Makes a new, empty store for a model when there is no host app to make one.
public enum FreshStore {
  /// Creates the store at `path`: tables, indexes, Z_METADATA with the computed version hashes, Z_PRIMARYKEY and
  /// the cached model, in WAL mode as Core Data leaves it.
  ///
  /// Derived attributes get no triggers: their SQL functions exist only inside Core Data, and the triggers would fail
  /// everywhere else.
  ///
  /// - Throws: `FreshStoreSchema.Failure` when a version hash follows no confirmed rule, `SQLiteWriterError` when
  ///   something already exists at the path or the file cannot be written, `ExtractionError` when SQLite's check of the
  ///   new store finds a problem. In each case, no file is left.
  public static func create(at path: String, for model: ManagedObjectModel, uuid: UUID = UUID())
    throws
  {
    let schema = try FreshStoreSchema(model)
    try SQLiteWriter.checkFree(path)
    let writer = try SQLiteWriter(
      creating: SQLiteWriter.privatePath(for: path), options: options)
    do {
      try write(schema, uuid: uuid, to: writer)
      if let problem = try writer.check().first {
        throw ExtractionError(
          .writeFailed, "the new store does not pass SQLite's own check: \(problem)", path: path)
      }
      try writer.publish(as: path)
    } catch {
      writer.discard()
      throw error
    }
  }

  /// The journal mode and auto-vacuum mode that Core Data gives its files.
  package static let options = SQLiteWriter.Options(journalMode: .wal, autoVacuum: .incremental)

  /// Writes the content of a new, empty store into a new file, in one transaction.
  package static func write(_ schema: FreshStoreSchema, uuid: UUID, to writer: SQLiteWriter) throws
  {
    try writer.transaction {
      for statement in schema.statements { try writer.define(statement) }
      let insert = try writer.prepare("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)")
      for entity in schema.entities {
        try insert.run([
          .integer(entity.number), .string(entity.name), .integer(entity.superNumber),
          .integer(entity.highestKey),
        ])
      }
      try writer.prepare("INSERT INTO Z_METADATA VALUES (1, ?, ?)")
        .run([.string(uuid.uuidString), .blob(schema.metadataPlist)])
      try writer.prepare("INSERT INTO Z_MODELCACHE VALUES (?)").run([.blob(schema.modelCache)])
    }
  }
}
