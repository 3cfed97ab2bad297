import StoreFiles
import CoreDataForensics
import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreMigration
import Testing

/// A row as a test compares it: the entity, the key and the values by name.
struct NamedRow: Hashable, CustomStringConvertible {
  let entity: String
  let key: Int64
  let values: [String: PropertyValue]

  var description: String { "\(entity) \(key) \(values)" }

  /// The rows of a store; null values are left out.
  static func all(of path: String, model: ManagedObjectModel? = nil) throws -> Set<NamedRow> {
    let store = try CoreDataStore(path: path, model: model)
    var rows: Set<NamedRow> = []
    try store.forEachRow { row in
      rows.insert(
        NamedRow(
          entity: row.entityName ?? "?", key: row.primaryKey,
          values: Dictionary(
            row.properties.filter { $0.value != .null && $0.value != .toMany([]) }.map {
              ($0.name, $0.value)
            }, uniquingKeysWith: { first, _ in first })))
      return true
    }
    return rows
  }
}

/// Stores that keep their model, and stores that get the next one, against what a reader makes of both.
@Suite struct MigrationTests {
  /// All rows of real stores go into a new store of the same model, whether read as sound or as damaged ones.
  /// Outside the long rounds, those of each third store.
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 3, from: 2))
  func aRealStoreIsCopiedWhole(_ real: RealStore) throws {
    let store = try CoreDataStore(path: real.url.path)
    guard let model = store.cachedModel else { return }
    let folder = try TemporaryFolder()
    let before = treeState(of: real.url.deletingLastPathComponent())
    let old = try NamedRow.all(of: real.url.path)
    for isDamaged in [false, true] {
      let url = folder.url.appendingPathComponent("New \(isDamaged).sqlite")
      let source: Migration.Source =
        isDamaged
        ? .damaged(try DamagedStore(path: real.url.path), deleted: false) : .sound(store)
      let report = try Migration().run(source, [.same(model, named: "own")], to: url.path)
      #expect(report.rejectedCount == 0, "\(report)")
      #expect(report.writtenCount == old.count)
      let new = try NamedRow.all(of: url.path)
      // References that led to no row lead nowhere now, and a missing external file is missed under the new name.
      let cut = Set(report.cut.map { $0.entity + "." + $0.property })
      #expect(
        Set(new.map { $0.without(cut, model) }) == Set(old.map { $0.without(cut, model) }))
      let connection = try SQLiteConnection(url)
      #expect(try connection.integrityCheck() == ["ok"])
      #expect(try connection.string("PRAGMA journal_mode") == "wal")
      connection.close()
      let copy = try CoreDataStore(path: url.path)
      #expect(copy.metadata?.uuid == store.metadata?.uuid)
      // What belongs to the history is gone with the history.
      #expect(
        try copy.otherKeys()
          == store.otherKeys().filter { !$0.name.hasPrefix("_NSStoreAncillary") })
      #expect(copy.cachedModel?.versionHashes().hashes == model.versionHashes().hashes)
      for record in store.entities where record.superNumber == 0 && !record.isHistory {
        let name = store.entityName(ofNumber: record.number)
        let kept = copy.entities.first { $0.name == name }
        #expect(kept?.highestKey ?? 0 >= record.highestKey, "\(record)")
      }
    }
    #expect(treeState(of: real.url.deletingLastPathComponent()) == before)
  }

  /// Two versions that follow each other in a bundle.
  struct Pair: Sendable, CustomStringConvertible {
    let bundle: String
    let from: String
    let to: String
    var description: String { "\(bundle) \(from) \(to)" }
  }

  /// Neighbours in every model bundle, and its oldest and newest version, both ways: every 15th of these pairs, in long
  /// rounds all of them and those up to three versions apart.
  private static func pairs() throws -> [(Pair, ManagedObjectModel, ManagedObjectModel)] {
    guard let root = Shared.folder?.appendingPathComponent("stores") else { return [] }
    var pairs: [(Pair, ManagedObjectModel, ManagedObjectModel)] = []
    let names =
      FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    for name in names.sorted() where name.hasSuffix(".xcdatamodeld") || name.hasSuffix(".momd") {
      guard let found = try? ModelCollection(searching: root.appendingPathComponent(name).path)
      else { continue }
      let versions = found.versions.sorted {
        $0.name.compare($1.name, options: .numeric) == .orderedAscending
      }
      let distances = Set([1, versions.count - 1] + (Rounds.areLong ? [2, 3] : [])).filter {
        $0 > 0
      }
      for distance in distances.sorted() {
        for (one, other) in zip(versions, versions.dropFirst(distance)) {
          guard let from = one.model, let to = other.model, from != to else { continue }
          pairs.append((Pair(bundle: name, from: one.name, to: other.name), from, to))
          pairs.append((Pair(bundle: name, from: other.name, to: one.name), to, from))
        }
      }
    }
    return Rounds.part(of: pairs, every: 15)
  }

  /// Stores filled at random, carried to the next version and to the one before, wherever a mapping can be inferred:
  /// each row keeps each value that both models have.
  @Test(.enabled(if: Shared.isThere)) func neighbouringVersions() throws {
    guard Shared.require("pairs of versions") != nil else { return }
    var done = 0
    var rowCount = 0
    for (index, (pair, from, to)) in try Self.pairs().enumerated() {
      let mapping: MappingModel
      do { mapping = try MappingModel.inferred(from: from, to: to) } catch { continue }
      guard from.versionHashes().unknown.isEmpty, to.versionHashes().unknown.isEmpty else {
        continue
      }
      let folder = try TemporaryFolder()
      let old = try FilledStore(from, in: folder.url, seed: UInt64(index))
      let url = folder.url.appendingPathComponent("New.sqlite")
      let step = MigrationStep(
        from: from, named: pair.from, to: to, named: pair.to, mapping: mapping, isInferred: true)
      let report: MigrationReport
      do {
        report = try Migration().run(
          .sound(try CoreDataStore(path: old.url.path)), [step], to: url.path)
      } catch {
        Issue.record("\(pair): \(error)")
        continue
      }
      let expectation = try MigrationExpectation(from, to, NamedRow.all(of: old.url.path))
      try expectation.expect(report, NamedRow.all(of: url.path), "\(pair)")
      #expect(
        to.versionHashes().matches(
          try CoreDataStore(path: url.path).metadata?.versionHashes ?? [:]), "\(pair)")
      done += 1
      rowCount += report.writtenCount
    }
    #expect(done >= (Rounds.areLong ? 400 : 12))
    #expect(rowCount > (Rounds.areLong ? 5_000 : 250))
  }
}

extension MigrationReport {
  fileprivate var cut: [Cut] { steps.flatMap(\.cut) }
}

extension NamedRow {
  /// The row without some relationships, and without the paths of external files.
  fileprivate func without(_ relationships: Set<String>, _ model: ManagedObjectModel) -> NamedRow {
    let lineage = [entity] + model.ancestors(of: entity).map(\.name)
    let names = Set(relationships.map { String($0.split(separator: ".").last ?? "") })
    var kept: [String: PropertyValue] = [:]
    for (name, value) in values
    where !lineage.contains(where: { relationships.contains($0 + "." + name) })
      && !names.contains(name)
    {
      if case .external(let blob) = value {
        kept[name] = .string(StoredText(blob.identifier))
      } else {
        kept[name] = value
      }
    }
    return NamedRow(entity: entity, key: key, values: kept)
  }
}
