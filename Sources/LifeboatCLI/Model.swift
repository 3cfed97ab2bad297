import ArgumentParser
import CoreDataStore
import Foundation
import ObjectModel
import SQLiteFile
import StoreExtraction
import Terminal

/// `lifeboat model`
struct Model: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show, hash, identify and compare managed object models.",
    discussion: """
      A model is anything that holds one: .xcdatamodeld, .xcdatamodel, .momd, .mom, VersionInfo.plist, a folder \
      or app bundle with any of these, or a store, which carries its own.
      """,
    subcommands: [ModelShow.self, ModelHash.self, ModelIdentify.self, ModelDiff.self])
}

/// A model with where it came from: a file of models, or a store.
struct ModelInput {
  /// Versions by name; a store has one.
  let versions:
    [(name: String, model: ManagedObjectModel?, recorded: RecordedHashes?, problem: String?)]
  /// What a store records; nil for anything else.
  let storeMetadata: StoreMetadata?
  /// The version that is meant when none is named.
  let current: Int?

  init(_ path: String) throws {
    if let store = try Self.store(at: path) {
      storeMetadata = store.metadata
      versions = [
        (
          "cached in the store", store.cachedModel, nil,
          store.cachedModel == nil ? store.cachedModelProblem ?? "the store carries no model" : nil
        )
      ]
      current = 0
      return
    }
    let collection = try ModelCollection(at: path)
    storeMetadata = nil
    versions = collection.versions.map { ($0.name, $0.model, $0.recorded, $0.problem?.message) }
    current = collection.current.flatMap { version in
      collection.versions.firstIndex { $0.path == version.path && $0.name == version.name }
    }
  }

  /// The store at a path; nil when the path leads to something that is no SQLite file.
  static func store(at path: String) throws -> CoreDataStore? {
    // A store is not followed through a link, a model is.
    if let status = try? FileStatus.of(path), status.kind == .symbolicLink,
      let target = try? ByteFile(URL(fileURLWithPath: path).resolvingSymlinksInPath().path),
      try target.bytes(at: 0, count: 16) == DatabaseHeader.magic
    {
      return try CoreDataStore(path: path)
    }
    let bytes: [UInt8]
    do {
      bytes = try ByteFile(path).bytes(at: 0, count: 16)
    } catch {
      if error.code == .permission { throw error }
      return nil
    }
    return bytes == DatabaseHeader.magic ? try CoreDataStore(path: path) : nil
  }

  /// The model that is meant.
  func model(_ path: String, version: String?) throws -> (name: String, model: ManagedObjectModel) {
    let index: Int
    if let version {
      guard let found = versions.firstIndex(where: { $0.name == version }) else {
        throw Failure(
          64, "usage.noSuchVersion",
          "\(path) has no version \(version); it has \(versions.map(\.name).joined(separator: ", "))"
        )
      }
      index = found
    } else if let current {
      index = current
    } else {
      throw Failure(
        64, "usage.whichVersion",
        "\(path) marks no version as current; it has \(versions.map(\.name).joined(separator: ", "))",
        hint: "name one with --model-version")
    }
    guard let model = versions[index].model else {
      throw Failure(
        65, "model.unreadable", "\(path): \(versions[index].problem ?? "version hashes only")")
    }
    return (versions[index].name, model)
  }
}
