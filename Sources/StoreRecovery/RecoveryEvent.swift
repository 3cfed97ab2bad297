import SafeFiles
import SafeText
import StoreFiles

/// An event of the recovery, for the host's log.
public enum RecoveryEvent: Sendable {
  /// A move that an earlier run began was finished, or, if `finished` is false, undone.
  case resumed(incident: String, finished: Bool)
  /// The store did not open, or must not be opened, and this verdict was reached.
  case judged(Verdict)
  /// The store was set aside.
  case setAside(Incident)
  /// A store could not be set aside, copied or brought back, or the record or seal of an earlier move has a problem.
  case setAsideFailed(any Error)
  /// The fresh store could not be opened, for the reason given, so the earlier store was moved back.
  case putBack(incident: String, any Error)
  /// SQLite silently leaves out committed rows of the store.
  case rowsLost(SilentLoss)
  /// Opening the store makes SQLite drop a part of the log, so a copy was kept. The store stays in use.
  case copied(Incident)
  /// Incidents were removed by the policy's ``Policy/retention``.
  case pruned(PruneReport)
  /// The record of failures could not be updated after a store was set aside. The incident still shows the failure.
  case notNoted(any Error)
}

extension RecoveryEvent {
  /// How much an event matters. The raw values are those of swift-log's levels.
  public enum Level: String, Sendable, Codable, CaseIterable {
    /// Nothing was lost, and nothing needs to be done.
    case info
    /// The store did not open. The app should try again or wait, or the store is about to be set aside.
    case notice
    /// The host should look into the event, for example because a store was set aside or rows are lost.
    case warning
    /// The recovery itself did not work, or the fresh store did not open.
    case error
  }

  /// The name of the case, for example `setAside`. Later versions may add names.
  public var name: String {
    switch self {
    case .resumed: "resumed"
    case .judged: "judged"
    case .setAside: "setAside"
    case .setAsideFailed: "setAsideFailed"
    case .putBack: "putBack"
    case .rowsLost: "rowsLost"
    case .copied: "copied"
    case .pruned: "pruned"
    case .notNoted: "notNoted"
    }
  }

  /// How much the event matters.
  public var level: Level {
    switch self {
    case .resumed, .pruned: .info
    case .judged(let verdict):
      switch verdict.action {
      case .open: .info
      case .retry, .wait, .quarantine: .notice
      case .refuse, .openInMemory: .warning
      }
    case .setAside, .copied, .rowsLost, .notNoted: .warning
    case .setAsideFailed, .putBack: .error
    }
  }

  /// Values for a structured log or for telemetry, by key. They contain no paths, file names or error texts, because
  /// such texts may reveal something about the user.
  ///
  /// | key | value | in |
  /// | --- | --- | --- |
  /// | `event` | ``name`` | all |
  /// | `incident` | the incident's id, which is a time | `resumed`, `setAside`, `putBack`, `copied` |
  /// | `finished` | `true`, or `false` when the move was undone | `resumed` |
  /// | `finding`, `action`, `rule` | the verdict's | `judged`, `setAside`, `copied` |
  /// | `files`, `bytes` | what was kept | `setAside`, `copied` |
  /// | `removed`, `bytes` | how many incidents were removed, and the bytes freed | `pruned` |
  /// | `loss`, `witness` | what happened to the log, and what shows it | `rowsLost` |
  /// | `frames` | the minimum number of committed frames that SQLite does not read; absent when unknown | `rowsLost` |
  /// | `code` | ``StoreRecoveryError/code`` | `setAsideFailed`, `putBack`, `notNoted`; absent for any other error |
  /// | `errno` | the system's error number | as `code` |
  /// | `error` | domain and code of any other error, and of its underlying errors | as `code` |
  public var metadata: [String: String] {
    var values = ["event": name]
    switch self {
    case .resumed(let incident, let finished):
      values["incident"] = incident
      values["finished"] = "\(finished)"
    case .judged(let verdict): Self.add(verdict, to: &values)
    case .pruned(let report):
      values["removed"] = "\(report.removed.count)"
      values["bytes"] = "\(report.removed.reduce(Int64(0)) { $0.addingClamped($1.freedBytes) })"
    case .rowsLost(let loss):
      values["loss"] = loss.kind.rawValue
      values["witness"] = loss.witness.rawValue
      values["frames"] = loss.frames.map { "\($0)" }
    case .setAside(let incident), .copied(let incident):
      values["incident"] = incident.id
      Self.add(incident.verdict, to: &values)
      if let seal = incident.seal {
        values["files"] = "\(seal.files.count { $0.kind == .file })"
        values["bytes"] = "\(seal.sizeBytes)"
      }
    case .setAsideFailed(let error), .notNoted(let error): Self.add(error, to: &values)
    case .putBack(let incident, let error):
      values["incident"] = incident
      Self.add(error, to: &values)
    }
    return values
  }

  private static func add(_ verdict: Verdict, to values: inout [String: String]) {
    values["finding"] = verdict.finding.rawValue
    values["action"] = verdict.action.rawValue
    values["rule"] = verdict.rule.rawValue
  }

  private static func add(_ error: any Error, to values: inout [String: String]) {
    var error = error
    if let own = error as? StoreRecoveryError {
      values["code"] = own.code.rawValue
      if let code = own.errno { values["errno"] = "\(code)" }
      guard let underlying = own.underlying else { return }
      error = underlying
    }
    let chain = OpenFailure.facts(of: error, sqliteCode: nil).chain.prefix(8)
    values["error"] = chain.map { "\($0.domain) \($0.code)" }.joined(separator: " > ")
  }
}

extension RecoveryEvent: CustomStringConvertible {
  /// One line for a log, in English, without paths and without the text of an error.
  public var description: String {
    let values = metadata
    let cause = values["code"] ?? values["error"] ?? "no code"
    return switch self {
    case .resumed(let incident, let finished):
      finished
        ? "finished a move that an earlier run began (\(incident))"
        : "undid a move that an earlier run began (\(incident))"
    case .judged(let verdict):
      "the store did not open (\(verdict.finding.rawValue)); action: \(verdict.action.rawValue), rule: \(verdict.rule.rawValue)"
    case .setAside(let incident):
      "set the store aside as \(incident.id) (\(incident.verdict.finding.rawValue), rule: \(incident.verdict.rule.rawValue))"
    case .setAsideFailed: "could not set the store aside or bring it back: \(cause)"
    case .rowsLost(let loss): "rows are lost: \(loss.sentence)"
    case .copied(let incident):
      "kept a copy of the store as \(incident.id), because SQLite drops a part of its log"
    case .pruned(let report): "removed \(counted(report.removed.count, "old incident"))"
    case .notNoted: "could not note the incident for later launches: \(cause)"
    case .putBack(let incident, _):
      "put the store back, because no fresh one could be opened (\(incident)): \(cause)"
    }
  }
}
