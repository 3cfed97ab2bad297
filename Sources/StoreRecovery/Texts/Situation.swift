import CLibrary

/// The subject of a notice: why a store did not open, or what became of a store. More cases may be added.
public enum Situation: String, Sendable, Codable, CaseIterable {
  /// Another version of the app saved the data, and this version cannot read it.
  case otherVersion
  /// A newer version of the app saved the data: update the app.
  case newerVersion
  /// The file is damaged, or a part of it is missing.
  case damaged
  /// The data seems to be encrypted and the key is missing or wrong. The data is not damaged.
  case encrypted
  /// The file that should hold the data contains something that the app cannot read as a store.
  case unreadable
  /// The data seems to be that of another app. Such data is never moved.
  case otherApp
  /// The app's own code or settings failed.
  case technical
  /// Another program, or another part of the app, uses the data.
  case inUse
  /// The device protects the data while it is locked.
  case deviceLocked
  /// Too little space is free.
  case diskFull
  /// The location of the data cannot be reached, or access is not allowed.
  case noAccess
  /// The device failed to read or write.
  case storageFault
  /// The open failed because of a problem that usually passes by itself.
  case momentary
  /// An extension or a background task tried to open the data; the app itself can do more.
  case inBackground
  /// The same failure has happened so often that the data is left in place.
  case keepsFailing
  /// The data is in use, and the newest changes may be missing from it.
  case newestMissing
  /// The data was set aside, but then moved back, because a fresh store could not be opened.
  case putBack
  /// The current data was moved away, because earlier data was restored in its place.
  case replaced
  /// The data that was set aside is in use again.
  case restored
}

extension Situation {
  /// The situation after a failed open that moved nothing; nil when the verdict says that nothing is wrong.
  ///
  /// - Parameters:
  ///   - verdict: The verdict on the failed open.
  ///   - evidence: The evidence for the verdict. A verdict alone may not tell an encrypted file from another app's
  ///     file, or a locked device from missing permissions.
  public init?(_ verdict: Verdict, evidence: StoreEvidence? = nil) {
    guard verdict.action != .open else { return nil }
    if verdict.action == .openInMemory {
      self = .keepsFailing
      return
    }
    if let held = Self.held(verdict.rule, evidence) {
      self = held
      return
    }
    self =
      switch verdict.finding {
      case .incompatible: .otherVersion
      case .newer: .newerVersion
      case .corrupt: .damaged
      case .foreign: Self.foreign(verdict, evidence)
      case .healthy, .hostError: verdict.action == .refuse ? .technical : .momentary
      case .unavailable: Self.surroundings(verdict, evidence)
      }
  }

  /// Chooses the situation for an error of Lifeboat's recovery. For an error with the code `store.refused`, create the
  /// situation from the verdict instead, because the verdict says more.
  public init(_ error: StoreRecoveryError) {
    switch error.code {
    case .noSpace: self = .diskFull
    case .missing, .notAFile: self = .noAccess
    case .inUse: self = .inUse
    case .cancelled: self = .momentary
    default:
      switch error.errno {
      case ENOSPC, EDQUOT: self = .diskFull
      case EACCES, EPERM, EROFS: self = .noAccess
      case EIO: self = .storageFault
      default: self = .technical
      }
    }
  }

  init(_ incident: Incident, outcome: IncidentOutcome? = nil) {
    self =
      switch (outcome?.kind, incident.kind) {
      case (.putBack?, _): .putBack
      case (.restored?, _): .restored
      case (nil, .replaced): .replaced
      case (nil, .copied): .newestMissing
      // A repaired store that is not in its place yet has the situation of the original, which was set aside.
      case (nil, .setAside), (nil, .returned): Self.kept(incident.verdict, incident.evidence)
      }
  }

  /// The situation for a rule that overrides the finding about the store; nil for any other rule. Such a rule is an
  /// error of Lifeboat itself, or a condition that keeps the store in place although the finding calls for a
  /// quarantine.
  private static func held(_ rule: Verdict.Rule, _ evidence: StoreEvidence?) -> Situation? {
    switch rule {
    case .holdExtension, .holdBackground: .inBackground
    case .holdLocked: .deviceLocked
    case .holdShared, .storeInUse: .inUse
    case .holdNoSpace, .quarantineNoSpace: .diskFull
    case .holdFreshFails:
      // 13 is SQLite's code for a full volume.
      ([ENOSPC, EDQUOT, 13] as [Int32?]).contains(evidence?.trial?.freshCode)
        ? .diskFull : .noAccess
    case .holdCopyOpens, .holdCopyUnavailable: .momentary
    case .freshFailed: .putBack
    case .quarantineUnfinished: .technical
    case .holdUnrecorded, .holdUnreadable, .holdSymbolicLink, .holdNotAFile: .noAccess
    case .storeMissing, .storeNotAFile, .fileUnreadable: .noAccess
    default: nil
    }
  }

  /// Returns the situation of a store that was set aside. The result is never ``otherApp``, because a store of another
  /// app is never moved. It is ``unreadable`` instead.
  private static func kept(_ verdict: Verdict, _ evidence: StoreEvidence) -> Situation {
    switch verdict.finding {
    case .incompatible: return .otherVersion
    case .newer: return .newerVersion
    case .corrupt: return .damaged
    case .foreign:
      let situation = foreign(verdict, evidence)
      return situation == .otherApp ? .unreadable : situation
    case .healthy, .unavailable, .hostError: return .technical
    }
  }

  private static func foreign(_ verdict: Verdict, _ evidence: StoreEvidence?) -> Situation {
    switch verdict.rule {
    case .modelForeign: .otherApp
    case .fileEncrypted, .hostWrongKey: .encrypted
    case _ where evidence?.looksEncrypted == true: .encrypted
    // An SQLite or Cocoa code leads to a refusal as foreign only if the file looks encrypted or could not be read.
    case .sqlite, .cocoa: verdict.action == .refuse && evidence == nil ? .encrypted : .unreadable
    case .posix, .named: .unreadable
    }
  }

  // MARK: Codes of the environment

  private static func surroundings(_ verdict: Verdict, _ evidence: StoreEvidence?) -> Situation {
    let found: Situation? =
      switch verdict.rule {
      case .sqlite(let code): sqlite(code, verdict.action)
      case .cocoa(let code): cocoa(code, verdict.action)
      case .posix(let code): posix(code)
      case .named: nil
      }
    let situation = found ?? (verdict.action == .refuse ? .technical : .momentary)
    guard situation == .noAccess, verdict.action == .wait else { return situation }
    return evidence?.host.isProtectedDataAvailable == true ? .noAccess : .deviceLocked
  }

  private static func sqlite(_ code: Int32, _ action: Action) -> Situation? {
    switch code {
    case 23, 7178: return .deviceLocked
    case 13, 4874: return .diskFull
    case 520, 2058, 2314, 3594, 3850, 5130: return .inUse
    case 3338: return .noAccess
    case 10, 266, 522, 778, 1034, 1290, 1546, 1802, 6154, 8202, 8458, 8714: return .storageFault
    default: break
    }
    switch code & 0xff {
    case 5, 6, 15: return .inUse
    case 3, 8, 10, 14: return action == .retry ? .momentary : .noAccess
    default: return nil
    }
  }

  private static func cocoa(_ code: Int, _ action: Action) -> Situation? {
    switch code {
    case 640, 134160: .diskFull
    case 512, 513: action == .wait ? .diskFull : .noAccess
    case 4, 256, 257, 258, 260, 263, 642, 134080, 134150, 134180:
      action == .retry ? .momentary : .noAccess
    default: nil
    }
  }

  private static func posix(_ code: Int32) -> Situation? {
    switch code {
    case ENOSPC, EDQUOT: .diskFull
    case EIO: .storageFault
    case EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: .noAccess
    default: nil
    }
  }
}
