import CoreDataStore
package import CoreDataForensics
import StoreFiles
public import Foundation
public import ObjectModel
package import SQLiteWriter
import StoreExtraction

/// Creates new, empty stores for a model, without the host app.
public enum FreshStore {
  /// Creates the store at `path`, in WAL mode like the stores that Core Data creates. The store has the tables and
  /// indexes of the model, Z_METADATA with the computed version hashes, Z_PRIMARYKEY, and the cached model.
  ///
  /// The store has no triggers for derived attributes. Such triggers would call SQL functions that exist only inside
  /// Core Data, so they would fail in any other program.
  ///
  /// - Throws: `FreshStoreSchema.Failure` when no confirmed rule exists for a version hash, `SQLiteWriterError` when a
  ///   file already exists at the path or the new file cannot be written, `ExtractionError` when SQLite's check of the
  ///   new store finds a problem. After an error, no new file is left behind.
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

  /// The journal mode and the auto-vacuum mode of the files that Core Data creates.
  package static let options = SQLiteWriter.Options(journalMode: .wal, autoVacuum: .incremental)

  /// Writes the tables, the metadata and the cached model of an empty store into a new file, in one transaction.
  package static func write(_ schema: FreshStoreSchema, uuid: UUID, to writer: SQLiteWriter) throws
  {
    try writer.transaction {
      for statement in schema.statements { try writer.define(statement) }
      try writeOwnTables(
        of: schema, uuid: uuid.uuidString, plist: schema.metadataPlist, highestKeys: [:],
        to: writer)
    }
  }

  /// Writes the rows of Core Data's own tables, Z_PRIMARYKEY, Z_METADATA and Z_MODELCACHE, into a new store.
  static func writeOwnTables(
    of schema: FreshStoreSchema, uuid: String, plist: [UInt8], highestKeys: [String: Int64],
    to writer: SQLiteWriter
  ) throws {
    let insert = try writer.prepare("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)")
    for entity in schema.entities {
      let isRoot = entity.superNumber == 0
      try insert.run([
        .integer(entity.number), .string(entity.name), .integer(entity.superNumber),
        .integer(isRoot ? highestKeys[StoreIdentity.table(of: entity)] ?? 0 : 0),
      ])
    }
    try writer.prepare("INSERT INTO Z_METADATA VALUES (1, ?, ?)").run([.string(uuid), .blob(plist)])
    try writer.prepare("INSERT INTO Z_MODELCACHE VALUES (?)").run([.blob(schema.modelCache)])
  }
}
