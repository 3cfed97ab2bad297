import SafeFiles
import CLibrary
import StoreFiles
import ObjectModel
import SQLiteFile
import SafeText

/// Decides from the evidence what is wrong with a store, and what to do.
///
/// The function is pure. An error code about the environment (locks, space, permissions, the device) decides alone:
/// when the error has such a code, no evidence in the file leads to a quarantine.
package func classify(_ evidence: StoreEvidence, policy: Policy = Policy()) -> Verdict {
  Classifier(evidence: evidence, policy: policy).verdict()
}

/// Decides what is wrong with a store that no opener has tried, for example on the command line. Only the files count.
package func classifyAtRest(_ evidence: StoreEvidence, policy: Policy = Policy()) -> Verdict {
  Classifier(evidence: evidence, policy: policy).verdictAtRest()
}

struct Classifier {
  let evidence: StoreEvidence
  let policy: Policy

  func verdict() -> Verdict {
    if let verdict = lossOnOpening() { return verdict }
    guard let failure = evidence.failure else { return Self.healthy }
    return guarded(judge(failure))
  }

  func verdictAtRest() -> Verdict {
    if let verdict = lossOnOpening() { return verdict }
    guard evidence.mainKind == .file else {
      return refusal(.hostError, "the path does not name a file", .storeNotAFile)
    }
    if evidence.openErrno != 0 {
      return unavailable(.refuse, "the file cannot be read", .fileUnreadable)
    }
    // Without a failed open nothing shows that an empty file was ever a store of the app.
    if evidence.isMainEmpty { return refusal(.foreign, "the file is empty", .fileEmpty) }
    if evidence.looksEncrypted == true { return encrypted(.fileEncrypted) }
    if evidence.header?.isMagicRight != true {
      return refusal(.foreign, "the file is not an SQLite file", .fileNotADatabase)
    }
    if let version = evidence.header?.readVersion, version > 2 {
      return refusal(.newer, Self.newerSQLite, .fileNewer)
    }
    guard let structure = evidence.structure else {
      return unavailable(
        .retry, "the file could not be read to its end, or it changed while it was read",
        .fileUnread)
    }
    if let other = otherApp() { return other }
    if let model = mismatch() { return guarded(model) }
    // A statement that Lifeboat's parser does not understand is only a doubt, because SQLite may understand it.
    let doubts = structure.findings.filter { $0 != Finding.ID.schemaUnreadable.rawValue }
    if structure.isUnopenable || !doubts.isEmpty {
      return guarded(
        quarantine(
          .corrupt, "the file is damaged in \(counted(structure.findingCount, "place"))",
          .fileDamaged))
    }
    guard structure.isComplete else {
      return unavailable(.retry, "the time for reading all tables ran out", .fileUnread)
    }
    guard structure.findings.isEmpty else {
      return refusal(
        .corrupt, "the schema has a statement that could not be read", .schemaUnreadable)
    }
    if evidence.expectsModel, evidence.comparison == nil {
      return refusal(
        .foreign, "the file records no version hashes that the model could be compared with",
        .modelUnrecorded)
    }
    return Self.healthy
  }

  private static let healthy = Verdict(
    finding: .healthy, action: .open, reason: "nothing prevents opening the store", rule: .open)
  private static let newerBuild = "a newer build of the app wrote the store"
  private static let newerSQLite = "the file needs a newer version of SQLite"

  /// Whether the whole main file should be read for more evidence, because this can change the verdict. If false, the
  /// file is not opened, because closing it would release SQLite's locks on it.
  var wantsDeepEvidence: Bool {
    guard lossOnOpening() == nil, evidence.mainKind == .file, !evidence.isMainEmpty,
      let failure = evidence.failure
    else { return false }
    if evidence.host.isExtension == true || evidence.host.isProtectedDataAvailable == false {
      return false
    }
    guard let rule = rule(for: failure) else { return true }
    return !rule.rule.isFinal
  }

  static func speaksOfSurroundings(_ failure: StoreEvidence.Failure) -> Bool {
    let evidence = StoreEvidence(mainKind: .file)
    return Classifier(evidence: evidence, policy: Policy()).rule(for: failure)?.rule.isFinal == true
  }

  // MARK: Before any code

  /// The verdict on a store whose opening would lose rows; nil for any other store. If the main file is empty or
  /// missing, SQLite deletes the log. If the log's header is damaged, SQLite drops the log's rows. If the log belongs
  /// to another store, SQLite mixes two stores.
  private func lossOnOpening() -> Verdict? {
    let leftover: String? =
      if evidence.mayHoldRows(.wal) {
        "write-ahead log"
      } else if evidence.mayHoldRows(.journal) {
        "rollback journal"
      } else {
        nil
      }
    if let leftover, evidence.mainKind == nil {
      return refusal(
        .corrupt,
        "the main file is missing but its \(leftover) exists; opening would create an empty store and delete the \(leftover)",
        .storeMainMissing)
    }
    if let leftover, evidence.isMainEmpty {
      return refusal(
        .corrupt,
        "the main file is empty but its \(leftover) is not; opening would delete the \(leftover)",
        .storeMainEmpty)
    }
    switch evidence.wal?.loss?.kind {
    // If the log contains no lost pages, opening the store cannot destroy any content.
    case .headerDamaged where evidence.wal?.loss?.keptPages != 0:
      let pages = evidence.wal?.loss?.keptPages.map { " of \(counted($0, "page"))" } ?? ""
      return refusal(
        .corrupt,
        "the header of the write-ahead log is damaged; opening would silently drop the newest content\(pages)",
        .storeWALDamaged)
    case .foreign:
      return refusal(
        .corrupt,
        "the write-ahead log and the main file do not belong together; opening would mix two stores",
        .storeWALForeign)
    case .headerDamaged, .cutShort, .frameDamaged, .gone, nil: break
    }
    return nil
  }

  // MARK: Codes

  private struct Match {
    let rule: CodeRule
    let id: Verdict.Rule
  }

  /// Returns the rule for the most significant code of a failed open. The codes are tried in this order: SQLite's code;
  /// a Cocoa code that never leads to a quarantine; the POSIX code; the outermost Cocoa code that does more than wrap
  /// other errors; any other Cocoa code.
  private func rule(for failure: StoreEvidence.Failure) -> Match? {
    if let code = failure.sqliteCode, let rule = SQLiteRules.rule(for: code) {
      return Match(rule: rule, id: .sqlite(code))
    }
    var codes = failure.chain.filter { $0.domain == OpenFailure.cocoaDomain }.map(\.code)
    if let code = failure.cocoaCode, !codes.contains(code) { codes.insert(code, at: 0) }
    let cocoa = codes.compactMap { code in
      CocoaRules.rule(for: code).map { Match(rule: $0, id: .cocoa(code)) }
    }
    if let final = cocoa.first(where: { $0.rule.isFinal }) { return final }
    if let code = failure.posixCode {
      return Match(rule: posixRule(code), id: .posix(code))
    }
    return cocoa.first { $0.rule.treatment != .wrapper } ?? cocoa.first
  }

  private func posixRule(_ code: Int32) -> CodeRule {
    let action: Action =
      switch code {
      case ENOSPC, EDQUOT, EIO: .wait
      case EMFILE, ENFILE, EAGAIN, EINTR, EBUSY, ENOMEM, ETIMEDOUT: .retry
      default: .refuse
      }
    return CodeRule(
      Int(code), .fixed(action), .unavailable, "the system reported error \(code)")
  }

  private func judge(_ failure: StoreEvidence.Failure) -> Verdict {
    let match = rule(for: failure)
    if match?.rule.isFinal != true {
      // A store of another app must not be moved, whatever else is wrong with it.
      if let other = otherApp() { return other }
      if let meaning = failure.meaning { return judge(meaning) }
    }
    guard let match else { return unknownError(.errorUnknown) }
    let rule = match.rule
    let id = match.id
    switch rule.treatment {
    case .fixed(let action):
      return Verdict(finding: rule.finding, action: action, reason: rule.reason, rule: id)
    case .cannotOpen: return cannotOpen(rule, id)
    case .shortRead:
      guard evidence.isCutShort else {
        return Verdict(finding: rule.finding, action: .retry, reason: rule.reason, rule: id)
      }
      return refusal(
        .corrupt, "\(rule.reason), and the file is shorter than its header says", id)
    // Hashes that differ from the model's are no sign of damage: a store of an earlier version that only waits for its
    // migration has such hashes too.
    case .damage: return damage(rule.reason, id)
    case .notADatabase: return notADatabase(id, rule.reason)
    case .repairable:
      guard policy.setsAsideRepairable else { return refusal(.corrupt, rule.reason, id) }
      return damage(rule.reason, id)
    case .statement: return statement(rule, failure, id)
    case .model: return mismatch() ?? unprovenMismatch(rule, id)
    case .migration:
      guard policy.setsAsideFailedMigrations else { return refusal(.incompatible, rule.reason, id) }
      return mismatch() ?? unprovenMismatch(rule, id)
    case .mapping:
      guard policy.setsAsideMappingFaults else { return refusal(.hostError, rule.reason, id) }
      return mismatch() ?? unprovenMismatch(rule, id)
    case .configuration: return mismatchAlone() ?? refusal(.hostError, rule.reason, id)
    case .wrapper: return wrapper(rule, id)
    case .noSuchFile: return noSuchFile(rule, id)
    case .noPermission: return noPermission(rule.reason, id)
    case .writeFailed:
      let needed = policy.neededFreeBytes(evidence.members.map(\.sizeBytes))
      let isShort = evidence.freeBytes.map { $0 < needed } ?? false
      return unavailable(isShort ? .wait : .refuse, rule.reason, id)
    }
  }

  private func judge(_ meaning: FailureMeaning) -> Verdict {
    switch meaning {
    case .newerStore: return newer(.hostNewerStore)
    case .otherVersion:
      return mismatch()
        ?? quarantine(
          .incompatible, "the app says that it does not know the version of the store",
          .hostOtherVersion)
    case .wrongKey: return encrypted(.hostWrongKey)
    }
  }

  private func cannotOpen(_ rule: CodeRule, _ id: Verdict.Rule) -> Verdict {
    if !evidence.folderExists {
      return unavailable(.refuse, "the store's folder does not exist", id)
    }
    switch evidence.mainKind {
    case .folder: return unavailable(.refuse, "the store's path names a folder", id)
    case .symbolicLink: return unavailable(.refuse, "the store's path names a symbolic link", id)
    case .other: return unavailable(.refuse, "the store's path names a pipe, socket or device", id)
    case .file, nil: break
    }
    if let wal = evidence.member(.wal), wal.kind != .file {
      return unavailable(.refuse, "the write-ahead log is not an ordinary file", id)
    }
    switch evidence.openErrno {
    case EMFILE, ENFILE: return unavailable(.retry, "too many files are open", id)
    case EACCES, EPERM: return noPermission(rule.reason, id)
    default: return refusal(rule.finding, rule.reason, id)
    }
  }

  private func noPermission(_ reason: String, _ id: Verdict.Rule) -> Verdict {
    if evidence.host.isProtectedDataAvailable == false {
      return unavailable(.wait, "\(reason); the device is locked", id)
    }
    return unavailable(.refuse, reason, id)
  }

  private func noSuchFile(_ rule: CodeRule, _ id: Verdict.Rule) -> Verdict {
    if !evidence.folderExists {
      return unavailable(.refuse, "the store's folder does not exist", id)
    }
    return unavailable(.retry, rule.reason, id)
  }

  private func wrapper(_ rule: CodeRule, _ id: Verdict.Rule) -> Verdict {
    switch evidence.openErrno {
    case 0, nil: return unknownError(id)
    case EACCES, EPERM: return noPermission(rule.reason, id)
    default: return unavailable(.refuse, rule.reason, id)
    }
  }

  // MARK: The file

  /// The verdict on a store that shares no entity with any known version of the app's model; nil for any other store.
  /// Such a store belongs to another app. It can be found at this app's path, because all apps without a sandbox share
  /// the same `default.store`.
  private func otherApp() -> Verdict? {
    guard evidence.sharesEntities == false else { return nil }
    // A newer build may have renamed all entities.
    if evidence.failure?.meaning == .newerStore {
      return refusal(.newer, Self.newerBuild, .hostNewerStore)
    }
    if evidence.isNewerThanApp == true {
      return refusal(.newer, Self.newerBuild, .modelNewer)
    }
    return refusal(
      .foreign,
      "the store and the app's model have no entity in common, so it is treated as the store of another app",
      .modelForeign)
  }

  /// The verdict on a store whose version hashes were computed by newer rules than ``ExpectedModel/knownRules``; nil if
  /// the rules are known, or if no model is expected.
  private func laterRules() -> Verdict? {
    guard let version = evidence.hashesVersion, version > ExpectedModel.knownRules,
      evidence.expectsModel
    else { return nil }
    return refusal(
      .newer,
      "a newer version of Core Data wrote the store: its NSStoreModelVersionHashesVersion is \(version)",
      .modelNewerRules)
  }

  /// The verdict when the hashes that the store records differ from those of the app's model, or were computed by newer
  /// rules. Nil when the hashes are equal or cannot be compared.
  private func mismatch() -> Verdict? {
    if let later = laterRules() { return later }
    guard let comparison = evidence.comparison, !comparison.isEqual else { return nil }
    if evidence.isNewerThanApp == true { return newer() }
    let count =
      comparison.differing.count + comparison.onlyInStore.count + comparison.onlyInModel.count
    let writer = evidence.writtenBy.map { ", written by model version \($0)," } ?? ""
    return quarantine(
      .incompatible,
      "the store\(writer) and the app's model differ in \(count) of their entities",
      .modelMismatch)
  }

  /// Returns the verdict for a store whose version hashes differ from those of the app's model, although the error does
  /// not blame the model. Nil when the hashes are equal or unknown, or when the policy ignores such a difference.
  private func mismatchAlone() -> Verdict? {
    policy.setsAsideOnMismatchAlone ? mismatch() : nil
  }

  private func newer(_ rule: Verdict.Rule = .modelNewer) -> Verdict {
    policy.setsAsideNewerStores
      ? quarantine(.newer, Self.newerBuild, rule) : refusal(.newer, Self.newerBuild, rule)
  }

  /// The verdict on an error that says that the store does not fit the app's model, when the version hashes do not
  /// prove it.
  private func unprovenMismatch(_ rule: CodeRule, _ id: Verdict.Rule) -> Verdict {
    if evidence.isNewerThanApp == true { return newer() }
    if evidence.comparison != nil, evidence.undecided?.isEmpty != false {
      return refusal(
        .hostError, "\(rule.reason), but the hashes recorded in the store do not confirm it", id)
    }
    // No hashes were compared, or some entities can be compared only by Core Data. If the store records hashes, Core
    // Data's error therefore decides.
    guard evidence.recordedHashes?.isEmpty == false else {
      return refusal(
        .hostError, "\(rule.reason), but no version hashes in the store can confirm it", id)
    }
    return quarantine(.incompatible, rule.reason, id)
  }

  private func damage(_ reason: String, _ id: Verdict.Rule) -> Verdict {
    if evidence.looksEncrypted == true { return encrypted(id) }
    if let structure = evidence.structure, structure.findingCount > 0 {
      return quarantine(
        .corrupt,
        "\(reason), and a second check found \(counted(structure.findingCount, "fault")) in the file",
        id)
    }
    if evidence.isCutShort {
      return quarantine(.corrupt, "\(reason), and the file is shorter than its header says", id)
    }
    return unavailable(.retry, "\(reason), but a second check does not confirm it", id)
  }

  private func notADatabase(_ id: Verdict.Rule, _ reason: String = "the file is not an SQLite file")
    -> Verdict
  {
    if evidence.looksEncrypted == true { return encrypted(id) }
    if evidence.isMainEmpty {
      return refusal(.hostError, "the file is empty, like that of a new store", id)
    }
    guard let header = evidence.header else {
      // The file has fewer bytes than the magic number, or could not be read.
      if let size = evidence.mainSizeBytes, size > 0, size < 16, evidence.openErrno == 0 {
        return quarantine(.foreign, "\(reason): it has only \(counted(size, "byte"))", id)
      }
      return damage(reason, id)
    }
    if !header.isMagicRight {
      guard evidence.looksEncrypted == false else {
        return refusal(
          .foreign, "\(reason), and it is unknown whether the file is encrypted", id)
      }
      return quarantine(.foreign, "\(reason): its first bytes are not those of an SQLite file", id)
    }
    if let version = header.readVersion, version > 2 {
      return refusal(.newer, Self.newerSQLite, id)
    }
    return damage(reason, id)
  }

  private func encrypted(_ id: Verdict.Rule) -> Verdict {
    refusal(.foreign, "the file looks encrypted; the key is missing or wrong", id)
  }

  private func statement(
    _ rule: CodeRule, _ failure: StoreEvidence.Failure, _ id: Verdict.Rule
  ) -> Verdict {
    if let model = mismatchAlone() { return model }
    guard failure.blamesSchema, let structure = evidence.structure, structure.findingCount > 0
    else {
      return refusal(rule.finding, rule.reason, id)
    }
    return quarantine(
      .corrupt, "SQLite cannot read the schema, and a second check found it damaged", id)
  }

  private func unknownError(_ id: Verdict.Rule) -> Verdict {
    if let model = mismatchAlone() { return model }
    if evidence.structure?.isUnopenable == true, evidence.looksEncrypted != true {
      return quarantine(.corrupt, "the header or the schema of the file is damaged", .fileDamaged)
    }
    return refusal(
      .hostError,
      "the error has no code that says anything about the store, and the file shows no cause", id)
  }

  // MARK: Conditions

  /// Returns the verdict unchanged if its action is not `quarantine`. Otherwise checks the conditions for a quarantine.
  /// If a condition is not met, returns a verdict with an action that leaves the store in place.
  private func guarded(_ verdict: Verdict) -> Verdict {
    guard verdict.action == .quarantine else { return verdict }
    func held(_ action: Action, _ reason: String, _ rule: Verdict.Rule) -> Verdict {
      Verdict(
        finding: verdict.finding, action: action,
        reason: "\(verdict.reason); the store stays in place because \(reason)", rule: rule)
    }
    let host = evidence.host
    if host.isExtension == true { return held(.refuse, "an extension opened it", .holdExtension) }
    if host.isInBackground == true {
      return held(.wait, "the app is in the background", .holdBackground)
    }
    if host.isProtectedDataAvailable == false {
      return held(.wait, "the device is locked", .holdLocked)
    }
    if host.ownsStore == false || evidence.isUsedElsewhere == true {
      return held(.wait, "another process may use the store", .holdShared)
    }
    switch evidence.mainKind {
    case .file: break
    case .symbolicLink: return held(.refuse, "its path is a symbolic link", .holdSymbolicLink)
    case .folder, .other, nil:
      return held(.refuse, "its path does not name a file", .holdNotAFile)
    }
    guard evidence.openErrno == 0 else {
      return held(
        .wait, "the file could not be read before the app tried to open it", .holdUnreadable)
    }
    let needed = policy.neededFreeBytes(evidence.members.map(\.sizeBytes))
    if let free = evidence.freeBytes, free < needed {
      return held(.wait, "only \(free) bytes are free, and \(needed) are needed", .holdNoSpace)
    }
    if let repetition = evidence.repetition {
      guard repetition.isKnown else {
        return held(
          .refuse, "the record of earlier launches could not be read", .holdUnrecorded)
      }
      if repetition.same >= 2 {
        return held(
          .openInMemory,
          "this build has set it aside \(repetition.same) times for the same reason",
          .holdRepeated)
      }
      if repetition.all >= policy.maximumQuarantines {
        return held(
          .openInMemory, "this build has set it aside \(counted(repetition.all, "time")) already",
          .holdRepeated)
      }
      if repetition.same == 1, repetition.isAllowed == false {
        return held(
          .refuse, "the app does not want it to be set aside a second time", .holdHostDecides)
      }
    }
    return evidence.trial.flatMap { heldBack(by: $0, held) } ?? verdict
  }

  private func heldBack(
    by trial: StoreEvidence.Trial, _ held: (Action, String, Verdict.Rule) -> Verdict
  ) -> Verdict? {
    if trial.makesFreshStore == false {
      let code = trial.freshCode.map { " (error \($0))" } ?? ""
      return held(
        .wait, "a trial could not make a new store beside it\(code)", .holdFreshFails)
    }
    switch trial.copy {
    case .opened:
      return held(.retry, "a private copy of it opens", .holdCopyOpens)
    case .unavailable:
      return held(
        .retry, "a lock, lack of space or a missing permission kept a private copy from opening",
        .holdCopyUnavailable)
    case .failed, .skipped, nil: return nil
    }
  }

  private func unavailable(_ action: Action, _ reason: String, _ rule: Verdict.Rule) -> Verdict {
    Verdict(finding: .unavailable, action: action, reason: reason, rule: rule)
  }

  private func refusal(_ finding: Verdict.Finding, _ reason: String, _ rule: Verdict.Rule)
    -> Verdict
  {
    Verdict(finding: finding, action: .refuse, reason: reason, rule: rule)
  }

  private func quarantine(_ finding: Verdict.Finding, _ reason: String, _ rule: Verdict.Rule)
    -> Verdict
  {
    Verdict(finding: finding, action: .quarantine, reason: reason, rule: rule)
  }
}
