import StoreFiles
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
  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all)
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
        copy.metadata?.otherKeys
          == store.metadata?.otherKeys.filter { !$0.name.hasPrefix("_NSStoreAncillary") })
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

  /// Whether the long tests run, too.
  private static let isLong = ProcessInfo.processInfo.environment["LIFEBOAT_LONG"] == "1"

  /// Every pair of neighbours of every model bundle; with `LIFEBOAT_LONG=1` also pairs up to three versions apart; both ways.
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
      for distance in 1...(isLong ? 3 : 1) {
        for (one, other) in zip(versions, versions.dropFirst(distance)) {
          guard let from = one.model, let to = other.model, from != to else { continue }
          pairs.append((Pair(bundle: name, from: one.name, to: other.name), from, to))
          pairs.append((Pair(bundle: name, from: other.name, to: one.name), to, from))
        }
      }
    }
    return pairs
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
      let expectation = try Expectation(from, to, NamedRow.all(of: old.url.path))
      try expectation.expect(report, NamedRow.all(of: url.path), "\(pair)")
      #expect(
        to.versionHashes().matches(
          try CoreDataStore(path: url.path).metadata?.versionHashes ?? [:]), "\(pair)")
      done += 1
      rowCount += report.writtenCount
    }
    #expect(done >= (Self.isLong ? 400 : 200))
    #expect(rowCount > 5_000)
  }
}

/// What must be in the new store, worked out from names and renaming identifiers alone.
private struct Expectation {
  let from: ManagedObjectModel
  let to: ManagedObjectModel
  let old: Set<NamedRow>

  private struct Place: Hashable {
    let root: String
    let key: Int64
  }
  /// The entity of each old row.
  private let kinds: [Place: String]

  init(_ from: ManagedObjectModel, _ to: ManagedObjectModel, _ old: Set<NamedRow>) {
    self.from = from
    self.to = to
    self.old = old
    kinds = Dictionary(
      old.map { (Place(root: from.rootEntity(of: $0.entity)?.name ?? "", key: $0.key), $0.entity) },
      uniquingKeysWith: { first, _ in first })
  }

  private static func counterpart(
    _ name: String, _ identifier: String?, among news: [(name: String, identifier: String?)]
  ) -> String? {
    // The renaming identifier first: the new thing that says it was called so.
    let own = identifier ?? name
    return news.first { ($0.identifier ?? $0.name) == own }?.name
      ?? news.first { $0.name == name && $0.identifier == nil }?.name
  }

  private func entity(_ name: String) -> String? {
    guard let old = from.entities[name] else { return nil }
    return Self.counterpart(
      name, old.renamingIdentifier,
      among: to.entities.values.map { ($0.name, $0.renamingIdentifier) })
  }

  /// The keys that each relationship must lead to, where both versions have it in the same form.
  private func links(of row: NamedRow, as target: String) -> [String: [Int64]] {
    let others = to.allRelationships(of: target).filter { !$0.isTransient }
    var links: [String: [Int64]] = [:]
    for relationship in from.allRelationships(of: row.entity) where !relationship.isTransient {
      guard
        let name = Self.counterpart(
          relationship.name, relationship.renamingIdentifier,
          among: others.map { ($0.name, $0.renamingIdentifier) }),
        let other = others.first(where: { $0.name == name }),
        other.isToMany == relationship.isToMany,
        self.inverse(of: relationship, in: from)?.isToMany
          == self.inverse(of: other, in: to)?.isToMany,
        entity(relationship.destinationEntityName) == other.destinationEntityName
      else { continue }
      // A row of an entity that is gone is led to no more.
      let keys = row.keys(of: relationship.name).filter { key in
        let root = from.rootEntity(of: relationship.destinationEntityName)?.name
        return kinds[Place(root: root ?? "", key: key)].map { kind in
          entity(kind).map { to.entities[$0]?.isAbstract == false && isA($0, other) } ?? false
        } ?? false
      }
      links[name] = keys
    }
    return links
  }

  private func isA(_ entity: String, _ relationship: Relationship) -> Bool {
    entity == relationship.destinationEntityName
      || to.ancestors(of: entity).contains { $0.name == relationship.destinationEntityName }
  }

  private func inverse(of relationship: Relationship, in model: ManagedObjectModel) -> Relationship?
  {
    model.allRelationships(of: relationship.destinationEntityName).first {
      $0.name == relationship.inverseName
    }
  }

  func expect(_ report: MigrationReport, _ new: Set<NamedRow>, _ pair: String) throws {
    let rejected = report.steps.flatMap(\.entities).reduce(0) { $0 + $1.rejectedCount }
    var wanted = 0
    var byKey: [String: [NamedRow]] = [:]
    for row in new { byKey[row.entity, default: []].append(row) }
    var roots: [String: Set<String>] = [:]
    for name in from.entities.keys {
      if let target = entity(name), let root = to.rootEntity(of: target)?.name {
        roots[root, default: []].insert(from.rootEntity(of: name)?.name ?? name)
      }
    }
    // Keys are those of before where no new table takes the rows of several old ones.
    let isWhole = rejected == 0 && roots.values.allSatisfy { $0.count == 1 }
    for row in old {
      guard let target = entity(row.entity), to.entities[target]?.isAbstract == false else {
        continue
      }
      wanted += 1
      let attributes = from.allAttributes(of: row.entity)
      let others = to.allAttributes(of: target)
      var values: [String: PropertyValue] = [:]
      for attribute in attributes where !attribute.isTransient {
        guard let value = row.values[attribute.name],
          let name = Self.counterpart(
            attribute.name, attribute.renamingIdentifier,
            among: others.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }),
          others.first(where: { $0.name == name })?.type == attribute.type
        else { continue }
        values[name] = value
      }
      let links = links(of: row, as: target)
      let isAlone = roots[to.rootEntity(of: target)?.name ?? target]?.count == 1
      let found = (byKey[target] ?? []).contains { candidate in
        (!isAlone || candidate.key == row.key)
          && values.allSatisfy { candidate.values[$0.key] == $0.value }
          && (!isWhole || links.allSatisfy { candidate.keys(of: $0.key) == $0.value })
      }
      if !found, rejected == 0 {
        Issue.record("\(pair): \(row) is not there; wanted \(target) \(values) \(links)")
        return
      }
    }
    #expect(new.count + rejected == wanted, "\(pair): \(report)")
    // A key with the number of its entity leads to a row of that very entity.
    let places = Set(new.map { "\($0.entity) \($0.key)" })
    for row in new {
      for case .toOne(let reference) in row.values.values
      where !places.contains("\(reference.entityName ?? "?") \(reference.primaryKey)") {
        Issue.record("\(pair): \(row) leads to \(reference), which is not there")
        return
      }
    }
  }
}

extension NamedRow {
  /// The keys that a relationship leads to, sorted.
  fileprivate func keys(of relationship: String) -> [Int64] {
    switch values[relationship] {
    case .toOne(let reference)?: [reference.primaryKey]
    case .toMany(let references)?: references.map(\.primaryKey).sorted()
    default: []
    }
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
