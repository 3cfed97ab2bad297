import CoreDataStore
import Foundation
import SafeText

extension Incidents {
  /// Removes what the limits ask to go and nothing is lost with: records of stores that were restored, and
  /// second copies of a content. Data that is kept nowhere else stays whatever the limits say, and the report
  /// tells so; only you can decide that it may go.
  ///
  /// These stay, too, and the report says why: an incident whose move is not finished, whose record cannot be
  /// read, whose files are not those that were sealed, or beside whose files others stand; one that another
  /// process uses; whatever is reached over a symbolic link. A second copy goes only after both copies were
  /// read and are equal. A record's date says nothing where it is in the future or before 2025, so it limits
  /// nothing then.
  ///
  /// A run that is stopped leaves each incident whole or gone; the next run, or the next open of a store in the
  /// folder, ends what it began.
  ///
  /// - Parameters:
  ///   - retention: The limits. With none set nothing goes.
  ///   - storeName: Only incidents of the store with this main file; nil for those of every store in the
  ///     folder.
  ///   - dryRun: Whether nothing is changed, and the report says what would go.
  /// - Returns: What went and what stays, each with the reason.
  /// - Throws: ``StoreRecoveryError`` when the folder of the incidents is there and cannot be read, or when
  ///   another process does not end a move in it in time.
  public func prune(
    _ retention: Retention, storeName: String? = nil, dryRun: Bool
  ) throws -> PruneReport {
    // Without a folder of incidents there is nothing to keep others from.
    if try dryRun || names().isEmpty { return try pruning(retention, storeName, dryRun: dryRun) }
    return try mover.leased(home) { try pruning(retention, storeName, dryRun: dryRun) }
  }

  private func pruning(
    _ retention: Retention, _ storeName: String?, dryRun: Bool
  ) throws -> PruneReport {
    var report = PruneReport(isDryRun: dryRun)
    let removal = Removal(fileSystem: fileSystem, incompatible: incompatible)
    var stuck: [PruneReport.Kept] = []
    let pending = try names()
    let ends =
      dryRun
      ? pending.filter { PathText.starts($0, with: Removal.prefix) }.compactMap {
        removal.outlook($0)
      }
      : removal.endPending(pending)
    for end in ends {
      switch end {
      case .removed(let id, let bytes):
        report.removed.append(.init(id: id, why: .interrupted, sameAs: nil, freedBytes: bytes))
      case .putBack(let id):
        guard dryRun else { continue }
        let text = "an earlier run was stopped before it removed anything of it"
        stuck.append(.init(id: id, why: .interrupted, text: text))
      case .stuck(let name, let error):
        stuck.append(.init(id: name, why: .failed, text: Self.text(of: error)))
      }
    }
    let plan = RetentionPlan(retention: retention, now: clock())
    var looked = try look(plan, storeName: storeName)
    if plan.isExceeded(looked.map(\.item)) { readTwins(&looked, plan) }
    let items = looked.map(\.item)
    var (removed, kept) = plan.decide(items)
    if !dryRun {
      let files = Dictionary(
        looked.map { (FileName($0.item.id), $0.files.files) },
        uniquingKeysWith: { first, _ in first })
      removed = removed.filter { one in
        do {
          try removal.remove(one.id, files[FileName(one.id)] ?? [])
          return true
        } catch {
          kept.append(.init(id: one.id, why: .failed, text: Self.text(of: error)))
          return false
        }
      }
    }
    report.removed += removed
    report.kept = (kept + stuck).sorted { Self.order($0.id) < Self.order($1.id) }
    let staying = Set(kept.map { FileName($0.id) })
    report.keptBytes = LinkedBytes(items.filter { staying.contains(FileName($0.id)) }).total
    return report
  }

  /// An incident as far as `lstat` and its record tell.
  private struct Looked {
    var item: RetentionPlan.Item
    let files: IncidentFiles
    let incident: Incident?
  }

  private func look(_ plan: RetentionPlan, storeName: String?) throws -> [Looked] {
    var looked: [Looked] = []
    for id in try names().filter({ Timestamp.isFolderName($0) })
      .sorted(by: { Self.order($0) < Self.order($1) })
    {
      let folder = incompatible + "/" + id
      guard let status = try? fileSystem.status(folder) else { continue }
      guard status.kind == .folder else {
        if storeName == nil, status.kind == .symbolicLink {
          let item = RetentionPlan.Item(
            id: id, created: nil, files: [], fate: .stays(.link, "it is a symbolic link"))
          looked.append(Looked(item: item, files: IncidentFiles(), incident: nil))
        }
        continue
      }
      let entry = entry(id)
      if let storeName, !PathText.isSame(entry.incident?.storeName ?? "", storeName) { continue }
      let files = IncidentFiles(in: folder, fileSystem)
      let item = RetentionPlan.Item(
        id: id, created: entry.incident.flatMap { plan.credible($0.created) },
        files: files.files.filter { $0.status.kind == .file }.map { .init($0.status) },
        fate: fate(entry, files))
      looked.append(Looked(item: item, files: files, incident: entry.incident))
    }
    return looked
  }

  private func fate(_ entry: Entry, _ files: IncidentFiles) -> RetentionPlan.Fate {
    let hasUnreadOutcome =
      entry.outcome == nil
      && files.files.contains { PathText.isSame($0.name, QuarantineFolder.outcomeName) }
    guard !entry.isUnfinished else { return .stays(.unfinished, "a move of it is not finished") }
    guard let incident = entry.incident, !hasUnreadOutcome else {
      return .stays(.recordUnread, entry.problem ?? "the record of its outcome cannot be read")
    }
    guard PathText.isSame(incident.id, entry.id) else {
      return .stays(.recordUnread, "its record is that of another incident, \(incident.id)")
    }
    guard !files.isCut else { return .stays(.filesUnread, "its files could not all be listed") }
    if let link = files.files.first(where: { $0.status.kind != .file && $0.status.kind != .folder })
    {
      return .stays(.link, "\(link.name) is a \(link.status.kind.rawValue)")
    }
    if let strange = files.strange.first {
      return .stays(.strangeFiles, "\(strange.name) is none of its files")
    }
    if let outcome = entry.outcome {
      guard let first = files.kept.first else { return .husk }
      return .stays(
        .strangeFiles, "\(first.name) is there although the store was \(outcome.kind.rawValue)")
    }
    guard !entry.isSealPending else {
      return .stays(.unfinished, "the seal of its files is not taken yet")
    }
    guard let seal = incident.seal, let fingerprint = seal.fingerprint else {
      return .stays(.sealBroken, "its record holds no seal of its files")
    }
    if let other = files.kept.first(where: {
      StoreSet.role(ofMember: $0.name, mainName: incident.storeName) == nil
    }) {
      return .stays(.strangeFiles, "\(other.name) is none of its files")
    }
    let sizes = Dictionary(
      files.kept.map { (FileName($0.name), $0.status) }, uniquingKeysWith: { first, _ in first })
    for sealed in seal.files {
      // The role decides whether a member counts as content, so a record may not choose it.
      guard StoreSet.role(ofMember: sealed.name, mainName: incident.storeName) == sealed.role
      else { return .stays(.recordUnread, "its record says of \(sealed.name) what it is not") }
      guard let now = sizes[FileName(sealed.name)], now.kind == sealed.kind,
        now.kind == .folder || now.sizeBytes == sealed.sizeBytes
      else { return .stays(.sealBroken, "\(sealed.name) is not as it was sealed") }
    }
    guard files.kept.count == seal.files.count, sizes.count == seal.files.count else {
      return .stays(.sealBroken, "files are there that were not sealed")
    }
    return .whole(fingerprint: incident.storeName + " " + fingerprint)
  }

  /// Reads all files of the incidents that share their content with another one, as the seals say. What is not
  /// as it was sealed is no copy, and stays.
  private func readTwins(_ looked: inout [Looked], _ plan: RetentionPlan) {
    let keepers = plan.keepers(looked.map(\.item))
    let twins = Set(keepers.keys).union(keepers.values.map { FileName($0) })
    var folders: Set<LinkedBytes.File> = []
    for index in looked.indices where twins.contains(FileName(looked[index].item.id)) {
      guard let incident = looked[index].incident, let seal = incident.seal else { continue }
      let folder = QuarantineFolder(
        home: home, storeName: incident.storeName, id: looked[index].item.id)
      // The same folder mounted at two places is one copy.
      guard let status = try? fileSystem.status(folder.path),
        folders.insert(.init(device: status.device, inode: status.inode, sizeBytes: 0)).inserted
      else {
        looked[index].item.fate = .stays(.filesUnread, "its folder is that of another incident")
        continue
      }
      if FileEvidence.isUsedElsewhere(folder.keptMainPath) == true {
        looked[index].item.fate = .stays(.inUse, "another process has its store open")
        continue
      }
      do {
        let now = try StoreSeal(
          sealing: StoreSet(at: folder.keptMainPath), isCancelled: isCancelled)
        let differences = seal.differences(from: now).filter(\.affectsContent)
        if let first = differences.first {
          looked[index].item.fate = .stays(.sealBroken, first.text)
        }
      } catch {
        looked[index].item.fate = .stays(.filesUnread, error.message)
      }
    }
  }

  private static func text(of error: any Error) -> String {
    switch error {
    case let error as StoreRecoveryError: error.message
    case let error as SystemCallError: "\(error.call) failed with error \(error.errno)"
    default: String(describing: error)
    }
  }
}

extension StoreSeal {
  /// What the set's content is: the names, kinds and bytes of all members that hold data; nil when there is
  /// none, or one whose content no seal can hold. The index of a log holds no data.
  var fingerprint: String? {
    let members = files.filter { $0.role != .sharedMemory }.sorted {
      FileName($0.name) < FileName($1.name)
    }
    guard members.contains(where: { $0.kind == .file }) else { return nil }
    var text = ""
    for member in members {
      guard member.kind == .folder || member.kind == .file && member.sha256 != nil else {
        return nil
      }
      // The length keeps names apart that hold a line's end.
      text +=
        "\(member.name.utf8.count) \(member.name) \(member.kind.rawValue) \(member.sizeBytes) \(member.sha256 ?? "-")\n"
    }
    return Digest.sha256(Array(text.utf8))
  }
}
