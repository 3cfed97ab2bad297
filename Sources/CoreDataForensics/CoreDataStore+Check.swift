public import CoreDataStore
import ObjectModel
public import SQLiteFile
public import SQLiteForensics

extension CoreDataStore {
  /// Checks the file as SQLite's format has it, and what is in it by Core Data's rules: entity numbers, keys handed
  /// out, references between rows, storage classes, files of external values, the model against its recorded hashes.
  ///
  /// - Parameters:
  ///   - depth: whether the entries of indexes are compared with the rows too.
  ///   - progress: told now and then how many pages have been looked at.
  /// - Returns: what was found; damage is a finding in it.
  /// - Throws: `SQLiteFileError` when the device fails.
  public func check(depth: CheckDepth = .quick, progress: ((Int) -> Void)? = nil)
    throws(SQLiteFileError) -> CheckReport
  {
    guard kind == .coreData else { return try database.check(depth: depth, progress: progress) }
    let demands = CoreDataDemands(self)
    let check = try database.check(depth: depth, demands: demands.demands, progress: progress)
    var report = check.report
    for finding in meaningFindings.kept { report.add(finding) }
    checkKeys(check.highestRowIDs, &report)
    checkTables(&report)
    checkModel(&report)
    for breach in check.breaches where breach.demand < demands.subjects.count {
      report.add(Self.finding(breach, demands.subjects[breach.demand]))
    }
    if let unread = StoreSet(at: database.path).unread {
      report.add(UncheckedPart(id: "store.filesUnread", message: unread))
    }
    return report
  }

  /// The highest key of each table against the one that Z_PRIMARYKEY has as handed out: Core Data takes the next
  /// key from there, and would give a row the key of another.
  private func checkKeys(_ highest: [SQLName: Int64], _ report: inout CheckReport) {
    if !entities.contains(where: { !$0.isHistory }) {
      report.add(
        UncheckedPart(
          id: "coredata.keys", message: "keys and entity numbers, as Z_PRIMARYKEY names no entity"))
    }
    for record in entities where record.superNumber == 0 {
      let name =
        record.isHistory ? "A" + record.name.uppercased() : "Z" + record.name.uppercased()
      guard let key = highest[SQLName(name)], key > record.highestKey else { continue }
      report.add(
        Finding(
          "coredata.keyCounter",
          "the highest key of \(name) is \(key), and Z_PRIMARYKEY says that \(record.highestKey) was the last one given: new rows would get keys that are taken",
          table: name))
    }
  }

  /// The tables and columns that the model calls for.
  private func checkTables(_ report: inout CheckReport) {
    guard let layout else {
      return report.add(
        UncheckedPart(
          id: "coredata.values",
          message: "tables, references and storage classes by a model, as the store carries none "
            + "that can be read"))
    }
    guard let metadata, !metadata.versionHashes.isEmpty, model == cachedModel else {
      return report.add(
        UncheckedPart(
          id: "coredata.tables",
          message: "the tables that the model calls for, as it may not be the store's own"))
    }
    for place in layout.tables {
      guard let table = database.schema.table(named: place.name) else {
        report.add(
          Finding(
            "coredata.tableMissing",
            "the model has the entity \(place.rootEntityName), and its table is not there",
            table: place.name))
        continue
      }
      guard table.definition != nil else { continue }
      let names = Set(table.columnNames.map { $0.uppercased() })
      let missing = place.columns.map(\.name).filter { !names.contains($0.uppercased()) }
      guard !missing.isEmpty else { continue }
      report.add(
        Finding(
          "coredata.columnMissing",
          "the model calls for \(missing.count) more columns: \(missing.prefix(5).joined(separator: ", "))",
          table: table.name))
    }
  }

  /// The cached model and the recorded digests against the recorded hashes.
  private func checkModel(_ report: inout CheckReport) {
    let unread = metadata?.unreadHashes ?? []
    if !unread.isEmpty {
      let names = unread.prefix(5).joined(separator: ", ") + (unread.count > 5 ? ", …" : "")
      report.add(
        Finding(
          "coredata.badHash",
          "what is recorded as version hash of \(unread.count) \(unread.count == 1 ? "entity" : "entities") is not \(VersionHash.byteCount) bytes: \(names)",
          table: "Z_METADATA"))
    }
    guard let metadata, !metadata.versionHashes.isEmpty, unread.isEmpty else {
      return report.add(
        UncheckedPart(
          id: "coredata.hashes",
          message: unread.isEmpty
            ? "version hashes, as none are recorded" : "version hashes, as not all can be read"))
    }
    let recorded = metadata.versionHashes
    if let digest = metadata.digest, digest != ModelHashes.digest(of: recorded) {
      report.add(
        Finding(
          "coredata.badDigest", "the digest does not follow from the version hashes beside it",
          table: "Z_METADATA"))
    }
    if let checksum = metadata.checksum, checksum != ModelHashes.checksum(of: recorded) {
      report.add(
        Finding(
          "coredata.badDigest", "the checksum does not follow from the version hashes beside it",
          table: "Z_METADATA"))
    }
    guard let cachedModel else { return }
    let hashes = cachedModel.versionHashes()
    guard !hashes.matches(recorded),
      !cachedModel.versionHashes(honouringTombstones: true).matches(recorded)
    else { return }
    guard hashes.unknown.isEmpty else {
      return report.add(
        UncheckedPart(
          id: "coredata.hashes",
          message: "the model against its version hashes, as the rule for "
            + "\(hashes.unknown.count) of \(cachedModel.entities.count) is not confirmed"))
    }
    report.add(
      Finding(
        "coredata.modelMismatch",
        "the model that the store carries is not the one whose version hashes it records",
        table: "Z_MODELCACHE"))
  }

  private static func finding(_ breach: DemandBreach, _ subject: CoreDataDemands.Subject) -> Finding
  {
    let count = breach.count == 1 ? "1 row has" : "\(breach.count) rows have"
    let text: String
    let id: String
    switch (subject.kind, breach.kind) {
    case (.entityNumber, _):
      id = "coredata.unknownEntity"
      text = "\(count) the number of an entity that is none of this table's"
    case (.toOne(let destination), .rowID):
      id = "coredata.danglingReference"
      text = "\(count) a \(subject.name) that leads to no row of \(destination)"
    case (.link(let destination), .rowID):
      id = "coredata.danglingLink"
      text = "\(count) a link in \(subject.name) that leads to no row of \(destination)"
    case (.attribute, .untrue):
      id = "coredata.externalFileMissing"
      text = "\(count) a \(subject.name) in a file of its own that is not there"
    case (.attribute(let type), .length):
      id = "coredata.storageClass"
      text = "\(count) a \(subject.name) of the wrong length for \(type.name)"
    case (.attribute(let type), _):
      id = "coredata.storageClass"
      text = "\(count) a \(subject.name) of a kind that \(type.name) is never stored as"
    default:
      id = "coredata.storageClass"
      text = "\(count) a \(subject.name) that is no key or number"
    }
    let row = breach.first.rowID.map { ", first in row \($0)" } ?? ""
    let isPlaced = breach.first.page > 0
    return Finding(
      id, text + row, member: breach.first.member, page: isPlaced ? breach.first.page : nil,
      offset: isPlaced ? breach.first.offset : nil, table: subject.table)
  }
}
