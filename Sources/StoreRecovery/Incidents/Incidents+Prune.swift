import StoreFiles
import SafeFiles
import Foundation
import SafeText

extension Incidents {
  /// Removes incidents that exceed the limits, but only if no data is lost. Such incidents are records of stores that
  /// were restored, and second copies of content that another incident keeps. Data that is kept nowhere else stays,
  /// whatever the limits are. The report names that data; only you can decide to remove it.
  ///
  /// An incident also stays if its move is unfinished, if its record cannot be read, if its files do not match their
  /// seal, if its folder contains a file that does not belong to the incident, if another process uses its store, or if
  /// its folder is or contains a symbolic link. The report gives the reason. A second copy is removed only after both
  /// copies were read and found equal. A record's date that is in the future or before 2025 is ignored.
  ///
  /// If a run is stopped during a removal, the next run, or the next open of a store in the folder, finishes or undoes
  /// that removal. After that, each incident is either whole or gone.
  ///
  /// - Parameters:
  ///   - retention: The limits. When none is set, nothing is removed.
  ///   - storeName: The main file's name, to prune only incidents of this store; nil for all stores in the folder.
  ///   - dryRun: Whether to change nothing and only report what would be removed.
  /// - Returns: What was removed and what stays, each with the reason.
  /// - Throws: ``StoreRecoveryError`` when the incidents' folder exists but cannot be read, or is a link or a file, or
  ///   when another process does not finish a move in that folder in time.
  public func prune(
    _ retention: Retention, storeName: String? = nil, dryRun: Bool
  ) throws -> PruneReport {
    // Without a folder of incidents there is nothing to lock.
    if try dryRun || names().isEmpty { return try pruning(retention, storeName, dryRun: dryRun) }
    return try mover.leased(home) { try pruning(retention, storeName, dryRun: dryRun) }
  }

  private func pruning(
    _ retention: Retention, _ storeName: String?, dryRun: Bool
  ) throws -> PruneReport {
    var report = PruneReport(isDryRun: dryRun)
    let removal = Removal(fileSystem: fileSystem, incompatible: incompatible)
    var stuck: [PruneReport.Kept] = []
    var begun: [LinkedBytes.File] = []
    let pending = try names()
    let ends =
      dryRun
      ? pending.filter { PathText.starts($0, with: Removal.prefix) }.compactMap {
        removal.expectedEnd(of: $0)
      }
      : removal.endPending(pending)
    for end in ends {
      switch end {
      case .removed(let id, let bytes):
        report.removed.append(.init(id: id, why: .interrupted, sameAs: nil, freedBytes: bytes))
      case .putBack(let id, let name):
        guard dryRun else { continue }
        let text = "an earlier run was stopped before it removed any file of the incident"
        stuck.append(.init(id: id, why: .interrupted, text: text))
        begun += removal.files(in: incompatible + "/" + name)
      case .stuck(let name, let error):
        stuck.append(.init(id: name, why: .failed, text: Self.text(of: error)))
        begun += removal.files(in: incompatible + "/" + name)
      }
    }
    let plan = RetentionPlan(retention: retention, now: clock())
    var candidates = try findCandidates(plan, storeName: storeName)
    if plan.isExceeded(candidates.map(\.item)) { readDuplicates(&candidates, plan) }
    let items = candidates.map(\.item)
    var (removed, kept) = plan.decide(items)
    if !dryRun {
      let files = Dictionary(firstOf: candidates.map { (FileName($0.item.id), $0.files.files) })
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
    let left = items.filter { staying.contains(FileName($0.id)) }.flatMap(\.files)
    report.keptBytes = LinkedBytes(left + begun).total
    return report
  }

  private struct Candidate {
    var item: RetentionPlan.Item
    let files: IncidentFiles
    let incident: Incident?
  }

  private func findCandidates(_ plan: RetentionPlan, storeName: String?) throws -> [Candidate] {
    var candidates: [Candidate] = []
    for id in try names().filter({ Timestamp.isFolderName($0) })
      .sorted(by: { Self.order($0) < Self.order($1) })
    {
      let folder = incompatible + "/" + id
      guard let status = try? fileSystem.status(folder) else { continue }
      guard status.kind == .folder else {
        if storeName == nil, status.kind == .symbolicLink {
          let item = RetentionPlan.Item(
            id: id, created: nil, files: [], fate: .stays(.link, "it is a symbolic link"))
          candidates.append(Candidate(item: item, files: IncidentFiles(), incident: nil))
        }
        continue
      }
      let entry = entry(id)
      if let storeName, !PathText.isSame(entry.incident?.storeName ?? "", storeName) { continue }
      let files = IncidentFiles(in: folder, fileSystem)
      let item = RetentionPlan.Item(
        id: id, created: entry.incident.flatMap { plan.credible($0.created) },
        files: files.linked, fate: fate(entry, files))
      candidates.append(Candidate(item: item, files: files, incident: entry.incident))
    }
    return candidates
  }

  private func fate(_ entry: Entry, _ files: IncidentFiles) -> RetentionPlan.Fate {
    let hasUnreadOutcome =
      entry.outcome == nil
      && files.files.contains { PathText.isSame($0.name, QuarantineFolder.outcomeName) }
    guard !entry.isUnfinished else { return .stays(.unfinished, "its move is not finished") }
    guard let incident = entry.incident, !hasUnreadOutcome else {
      return .stays(.recordUnread, entry.problem ?? "the record of its outcome cannot be read")
    }
    guard PathText.isSame(incident.id, entry.id) else {
      return .stays(.recordUnread, "its record belongs to another incident, \(incident.id)")
    }
    guard !files.isCut else { return .stays(.filesUnread, "its files could not all be listed") }
    if let link = files.files.first(where: { $0.status.kind != .file && $0.status.kind != .folder })
    {
      return .stays(.link, "\(link.name) is \(link.status.kind.words)")
    }
    if let file = files.unexpected.first {
      return .stays(.strangeFiles, "\(file.name) is not one of the incident's files")
    }
    if let outcome = entry.outcome {
      guard let first = files.kept.first else { return .recordOnly }
      let fate = outcome.kind == .putBack ? "put back" : "restored"
      return .stays(
        .strangeFiles, "the incident still holds \(first.name), although the store was \(fate)")
    }
    guard !entry.isSealPending else {
      return .stays(.unfinished, "the checksums of its files are not complete yet")
    }
    guard let seal = incident.seal, let fingerprint = seal.fingerprint else {
      return .stays(.sealBroken, "its record lacks checksums of its files")
    }
    if let other = files.kept.first(where: {
      StoreSet.role(ofMember: $0.name, mainName: incident.storeName) == nil
    }) {
      return .stays(.strangeFiles, "\(other.name) is not one of the incident's files")
    }
    let sizes = Dictionary(firstOf: files.kept.map { (FileName($0.name), $0.status) })
    for sealed in seal.files {
      // The role decides whether a member counts as content, so the role must match the member's name.
      guard StoreSet.role(ofMember: sealed.name, mainName: incident.storeName) == sealed.role
      else {
        return .stays(
          .recordUnread, "its record gives \(sealed.name) a role that does not fit the name")
      }
      guard let now = sizes[FileName(sealed.name)], now.kind == sealed.kind,
        now.kind == .folder || now.sizeBytes == sealed.sizeBytes
      else { return .stays(.sealBroken, "\(sealed.name) is missing or not as recorded") }
    }
    guard files.kept.count == seal.files.count, sizes.count == seal.files.count else {
      return .stays(.sealBroken, "it holds files that its record does not list")
    }
    return .whole(fingerprint: incident.storeName + " " + fingerprint)
  }

  /// Checks the files of incidents that have equal content according to their seals. An incident is not removed, and
  /// does not count as a copy, if its files differ from its seal, cannot be read or are in use.
  private func readDuplicates(_ candidates: inout [Candidate], _ plan: RetentionPlan) {
    let keepers = plan.keepers(candidates.map(\.item))
    let duplicates = Set(keepers.keys).union(keepers.values.map { FileName($0) })
    var folders: Set<LinkedBytes.File> = []
    for index in candidates.indices where duplicates.contains(FileName(candidates[index].item.id)) {
      guard let incident = candidates[index].incident, let seal = incident.seal else { continue }
      let folder = QuarantineFolder(
        home: home, storeName: incident.storeName, id: candidates[index].item.id)
      // A folder that is mounted at two paths is only one copy.
      guard let status = try? fileSystem.status(folder.path),
        folders.insert(.init(device: status.device, inode: status.inode, sizeBytes: 0)).inserted
      else {
        candidates[index].item.fate = .stays(
          .filesUnread, "its folder is also the folder of another incident")
        continue
      }
      if FileEvidence.isUsedElsewhere(folder.keptMainPath) == true {
        candidates[index].item.fate = .stays(.inUse, "another process has its store open")
        continue
      }
      do {
        let now = try StoreSeal(
          sealing: StoreSet(at: folder.keptMainPath), isCancelled: isCancelled)
        let differences = seal.differences(from: now).filter(\.affectsContent)
        if let first = differences.first {
          candidates[index].item.fate = .stays(.sealBroken, first.text)
        }
      } catch {
        candidates[index].item.fate = .stays(
          .filesUnread, "\(PathText.lastComponent(of: error.path)): \(error.message)")
      }
    }
  }

  private static func text(of error: any Error) -> String {
    switch error {
    case let error as StoreRecoveryError: error.message + (error.path.map { ": " + $0 } ?? "")
    case let error as SystemCallError: "\(error.reason): \(error.path)"
    default: String(describing: error)
    }
  }
}

extension StoreSeal {
  /// A hash of the names, kinds and bytes of all files in the seal except the wal-index. Equal store sets have equal
  /// hashes. nil when the set has no file with data, or when the seal lacks the content of a member.
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
      // The length is included because a name may contain line breaks.
      text +=
        "\(member.name.utf8.count) \(member.name) \(member.kind.rawValue) \(member.sizeBytes) \(member.sha256 ?? "-")\n"
    }
    return Digest.sha256(Array(text.utf8))
  }
}
