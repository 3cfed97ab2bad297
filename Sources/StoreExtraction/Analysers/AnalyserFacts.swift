import CoreDataStore
package import Foundation
import SafeFiles
package import SQLiteFile
import SQLiteForensics
import StoreFiles

/// The known facts about a store, by name. A name is a key path in the JSON form of a ``StoreInspection``, such as
/// `file.sqliteVersion` or `writeAheadLog.staleFrameCount`. In a name with the prefix `incident.`, the rest is a key
/// path in the JSON record of an incident.
package struct AnalyserFacts: Sendable {
  package enum Value: Sendable, Hashable, Decodable {
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([Value])

    package init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let flag = try? container.decode(Bool.self) {
        self = .flag(flag)
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else {
        self = .text(try container.decode(String.self))
      }
    }

    init?(_ value: JSONValue) {
      switch value {
      case .boolean(let flag): self = .flag(flag)
      case .integer(let number): self = .number(Double(number))
      case .unsigned(let number): self = .number(Double(number))
      case .real(let number): self = .number(number)
      case .string(let text): self = .text(text)
      case .null, .array, .object: return nil
      }
    }

    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var version: SystemVersion? {
      if case .text(let text) = self { SystemVersion(text) } else { nil }
    }
    var elements: [Value] { if case .list(let values) = self { values } else { [] } }
  }

  private var values: [String: Value] = [:]

  subscript(_ name: String) -> Value? { values[name] }

  /// Collects the facts about a store from its files and from the findings of a check.
  ///
  /// - Parameters:
  ///   - path: the main file.
  ///   - logView: which part of the write-ahead log is read.
  ///   - findings: the findings that the check kept. A check keeps a limited number of findings.
  ///   - damageCount: the number of findings of damage that the check made, including those that it did not keep.
  ///   - incident: the record of the incident as JSON; nil if there is no incident.
  /// - Throws: `SQLiteFileError` when the file cannot be opened.
  package init(
    path: String, logView: SQLiteDatabase.LogView = .committed, findings: [Finding],
    damageCount: Int, incident: Data? = nil
  ) throws {
    let store = try CoreDataStore(SQLiteDatabase.surveyed(path: path, logView: logView))
    let database = store.database
    values["kind"] = .text(store.kind.rawValue)
    add(StoreInspection.File(database), as: "file")
    add(database.writeAheadLog.map(StoreInspection.Log.init), as: "writeAheadLog")
    values["journal.state"] = database.journal.map { .text($0.state.rawValue) }
    add(try StoreInspection.Metadata(store), as: "metadata")
    add(StoreInspection.Model(store), as: "model")
    values["tables"] = .list(database.schema.tables.map { .text($0.name) })
    values["entities"] = .list(
      store.entities.filter { !$0.isHistory }.map {
        .text(store.entityName(ofNumber: $0.number) ?? $0.name)
      })
    values["findings"] = .list(Set(findings.map(\.id.rawValue)).sorted().map { .text($0) })
    values["damageCount"] = .number(Double(damageCount))
    addFiles(of: path)
    if let incident { add(incident, as: "incident") }
  }

  /// Collects the facts about a store from an inspection that this process made or that a bundle contains.
  ///
  /// - Parameters:
  ///   - inspection: the inspection.
  ///   - path: the store's main file; nil if only the inspection is available.
  ///   - incident: the record of the incident as JSON; nil if there is no incident.
  package init(_ inspection: StoreInspection, at path: String? = nil, incident: Data? = nil) {
    values["kind"] = .text(inspection.kind.rawValue)
    add(inspection.file, as: "file")
    add(inspection.writeAheadLog, as: "writeAheadLog")
    values["journal.state"] = inspection.journal.map { .text($0.state) }
    add(inspection.metadata, as: "metadata")
    add(inspection.model, as: "model")
    values["tables"] = .list(inspection.tables.map { .text($0.name) })
    values["entities"] = .list(inspection.entities.map { .text($0.name) })
    values["findings"] = .list(
      Set(inspection.findings.map(\.id.rawValue)).sorted().map { .text($0) })
    values["damageCount"] = .number(Double(inspection.damageCount))
    if let path {
      addFiles(of: path)
    } else {
      values["files"] = .list(
        Set(inspection.members.map(\.role.rawValue)).sorted().map { .text($0) })
      addLogSize(inspection.members.first(where: { $0.role == .wal })?.sizeBytes)
    }
    if let incident { add(incident, as: "incident") }
  }

  /// Collects the facts from the record of an incident whose store is not available.
  package init(incident: Data?) { if let incident { add(incident, as: "incident") } }

  /// Creates facts for tests. The key of a value is the name of the fact.
  init(_ values: [String: Value]) { self.values = values }

  /// Adds the fact `files`, which lists the roles of the files in the store set, and the fact
  /// `sharedMemory.isOlderThanLog`, which says whether the wal-index was modified before the log.
  private mutating func addFiles(of path: String) {
    let members = StoreSet(at: path).members
    values["files"] = .list(
      Set(members.filter { $0.kind == .file }.map(\.role.rawValue)).sorted().map { .text($0) })
    func modified(_ role: StoreSet.Role) -> Int64? {
      guard let member = members.first(where: { $0.role == role && $0.kind == .file }),
        let status = FileStatus.found(member.path)
      else { return nil }
      return status.modified
    }
    if let index = modified(.sharedMemory), let log = modified(.wal) {
      // A difference of up to one second between the two times does not count, because the two files are written one
      // after the other.
      values["sharedMemory.isOlderThanLog"] = .flag(index < log - 1_000_000_000)
    }
    addLogSize(members.first(where: { $0.role == .wal && $0.kind == .file })?.sizeBytes)
  }

  /// Adds the size of a write-ahead log that was not read, because it is empty or to be ignored: such a log is not
  /// missing. `sizeBytes`: the size of the file; nil if there is no log.
  private mutating func addLogSize(_ sizeBytes: Int64?) {
    guard let sizeBytes, values["writeAheadLog.sizeBytes"] == nil else { return }
    values["writeAheadLog.sizeBytes"] = .number(Double(sizeBytes))
  }

  private mutating func add(_ value: (some Encodable)?, as name: String) {
    guard let value, let data = try? JSONEncoder().encode(value) else { return }
    add(data, as: name)
  }

  private mutating func add(_ record: Data, as name: String) {
    if let value = try? JSONDecoder().decode(JSONValue.self, from: record) { flatten(value, name) }
  }

  /// Adds each member of a JSON object as a fact named by the member's key path. An array becomes a list. Objects and
  /// arrays in the array are left out.
  private mutating func flatten(_ value: JSONValue, _ name: String) {
    switch value {
    case .object(let members): for (key, member) in members { flatten(member, name + "." + key) }
    case .array(let list): values[name] = .list(list.compactMap(Value.init))
    default: values[name] = Value(value)
    }
  }
}

/// A version of one to four numbers, such as `3.51.2`.
package struct SystemVersion: Sendable, Equatable {
  private let parts: [Int]

  /// Parses a version. Returns nil if `text` is not one to four numbers separated by dots.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      .map { Int(String(decoding: $0, as: UTF8.self)) }
    guard (1...4).contains(parts.count), parts.allSatisfy({ $0 ?? -1 >= 0 }) else { return nil }
    self.parts = parts.compactMap(\.self)
  }

  /// Whether this version is older than `other`. False if `other` is not a version.
  func precedes(_ other: String) -> Bool {
    guard let other = SystemVersion(other) else { return false }
    for place in 0..<4 {
      let (one, two) = (
        place < parts.count ? parts[place] : 0, place < other.parts.count ? other.parts[place] : 0
      )
      if one != two { return one < two }
    }
    return false
  }
}
