package import CoreDataStore
import StoreFiles
import ObjectModel
import SafeText
package import SQLiteFile
package import SQLiteForensics

extension CoreDataStore {
  /// Checks the file against SQLite's file format, and the rows against Core Data's rules on entity numbers, the
  /// highest keys that Z_PRIMARYKEY records, references between rows, storage classes and external files. Compares the
  /// model with the recorded version hashes.
  ///
  /// - Parameters:
  ///   - depth: whether index entries are also compared with the rows.
  ///   - progress: called repeatedly with the number of pages examined so far.
  /// - Returns: what was found, including damage.
  /// - Throws: `SQLiteFileError` when the file cannot be read.
  package func check(depth: CheckDepth = .quick, progress: ((Int) -> Void)? = nil)
    throws(SQLiteFileError) -> CheckReport
  {
    guard kind == .coreData else { return try database.check(depth: depth, progress: progress) }
    let demands = CoreDataDemands(self)
    let check = try database.check(depth: depth, demands: demands.demands, progress: progress)
    var report = check.report
    for finding in coreDataFindings.kept { report.add(finding) }
    checkKeys(check.highestRowIDs, &report)
    checkTables(&report)
    checkModel(&report)
    for breach in check.breaches where breach.demand < demands.subjects.count {
      report.add(Self.finding(breach, demands.subjects[breach.demand]))
    }
    if let unread = StoreSet(at: database.path).unread {
      report.add(UncheckedPart(id: .storeFilesUnread, message: unread))
    }
    return report
  }

  /// Compares the highest key in each table with the highest key that Z_PRIMARYKEY records. Core Data gives a new row
  /// the key after the recorded one. If the recorded key is too low, the new row gets a key that is in use.
  private func checkKeys(_ highest: [SQLName: Int64], _ report: inout CheckReport) {
    if !entities.contains(where: { !$0.isHistory }) {
      report.add(
        UncheckedPart(
          id: .coredataKeys,
          message: "keys and entity numbers, because Z_PRIMARYKEY names no entity"))
    }
    var tables = rootTables.map { (name: $0.table.name, record: $0.record) }
    for record in entities where record.isHistory && record.superNumber == 0 {
      tables.append(("A" + record.name.uppercased(), record))
    }
    for (name, record) in tables {
      guard let key = highest[SQLName(name)], key > record.highestKey else { continue }
      report.add(
        Finding(
          .coredataKeyCounter,
          "the highest key of \(name) is \(key), but Z_PRIMARYKEY records \(record.highestKey): new rows would get keys that are in use",
          table: name))
    }
  }

  /// Checks that the store has the tables and columns that the model needs. Reports the tables as not examined if there
  /// is no model, or if it is uncertain that the store was made for this model.
  private func checkTables(_ report: inout CheckReport) {
    guard let layout else {
      return report.add(
        UncheckedPart(
          id: .coredataValues,
          message: "tables, references and storage classes, because the store carries no model "
            + "that can be read"))
    }
    guard let metadata, !metadata.versionHashes.isEmpty, model == cachedModel else {
      return report.add(
        UncheckedPart(
          id: .coredataTables,
          message: "the tables that the model needs, because the model may not be the store's own"))
    }
    for place in layout.tables {
      guard let table = database.schema.table(named: place.name) else {
        report.add(
          Finding(
            .coredataTableMissing,
            "the model has the entity \(place.rootEntityName), but its table is missing",
            table: place.name))
        continue
      }
      guard table.definition != nil else { continue }
      let names = Set(table.columnNames.map { $0.uppercased() })
      let missing = place.columns.map(\.name).filter { !names.contains($0.uppercased()) }
      guard !missing.isEmpty else { continue }
      report.add(
        Finding(
          .coredataColumnMissing,
          "columns that the model needs are missing, \(missing.count) in all: \(missing.prefix(5).joined(separator: ", "))",
          table: table.name))
    }
  }

  /// Compares the cached model and the recorded digests with the recorded version hashes.
  private func checkModel(_ report: inout CheckReport) {
    let unread = metadata?.unreadHashes ?? []
    if !unread.isEmpty {
      let names = unread.prefix(5).joined(separator: ", ") + (unread.count > 5 ? ", …" : "")
      report.add(
        Finding(
          .coredataBadHash,
          "the recorded version hash of \(counted(unread.count, "entity", "entities")) is not \(VersionHash.byteCount) bytes long: \(names)",
          table: "Z_METADATA"))
    }
    guard let metadata, !metadata.versionHashes.isEmpty, unread.isEmpty else {
      return report.add(
        UncheckedPart(
          id: .coredataHashes,
          message: unread.isEmpty
            ? "version hashes, because none are recorded"
            : "version hashes, because not all can be read"))
    }
    let recorded = metadata.versionHashes
    if let digest = metadata.digest, digest != ModelHashes.digest(of: recorded) {
      report.add(
        Finding(
          .coredataBadDigest,
          "the metadata's digest of the version hashes does not match the version hashes",
          table: "Z_METADATA"))
    }
    if let checksum = metadata.checksum, checksum != ModelHashes.checksum(of: recorded) {
      report.add(
        Finding(
          .coredataBadDigest,
          "the metadata's checksum of the version hashes does not match the version hashes",
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
          id: .coredataHashes,
          message: "the model against its version hashes, because the hashes of "
            + "\(hashes.unknown.count) of \(cachedModel.entities.count) entities cannot be "
            + "computed with certainty"))
    }
    report.add(
      Finding(
        .coredataModelMismatch,
        "the model that the store carries does not match the version hashes that the store records",
        table: "Z_MODELCACHE"))
  }

  private static func finding(_ breach: DemandBreach, _ subject: CoreDataDemands.Subject) -> Finding
  {
    let name = subject.name
    let (id, what): (Finding.ID, String) =
      switch (subject.kind, breach.kind) {
      case (.entityNumber, .number):
        (.coredataUnknownEntity, "an entity number that does not belong to this table")
      case (.entityNumber, _):
        (.coredataUnknownEntity, "a \(name) that is not the number of an entity")
      case (.toOne(let destination), .rowID):
        (.coredataDanglingReference, "a \(name) that leads to no row of \(destination)")
      case (.link(let destination), .rowID):
        (.coredataDanglingLink, "a link in \(name) that leads to no row of \(destination)")
      case (.attribute, .untrue):
        (.coredataExternalFileMissing, "a \(name) whose external file is missing")
      case (.attribute(let type), .length):
        (.coredataStorageClass, "a \(name) of the wrong length for \(type.name)")
      case (.attribute(let type), _):
        (.coredataStorageClass, "a \(name) of a storage class that \(type.name) never has")
      case (.number, .number):
        (
          .coredataStorageClass,
          "a \(name) that is not the number of a destination entity of the relationship"
        )
      default: (.coredataStorageClass, "a \(name) that is not an integer")
      }
    let count = counted(breach.count, "row has", "rows have")
    let row = breach.first.rowID.map { ", first in row \($0)" } ?? ""
    let isPlaced = breach.first.page > 0
    return Finding(
      id, "\(count) \(what)\(row)", member: breach.first.member,
      page: isPlaced ? breach.first.page : nil, offset: isPlaced ? breach.first.offset : nil,
      table: subject.table)
  }
}
