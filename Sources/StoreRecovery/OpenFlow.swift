import CoreDataStore
import Foundation

/// One attempt to open a store: decides between the calls of the opener what comes next.
struct OpenFlow: Sendable {
  /// What comes next.
  enum Next: Sendable {
    /// Call the opener with the store's URL, after a pause.
    case call(after: Duration?)
    case end(FailedOpen)
  }

  private let recovery: StoreRecovery
  private let model: (any ModelExpectation)?
  private(set) var next = Next.call(after: nil)
  /// The facts from before the opener ran.
  private var facts = StoreEvidence(mainKind: nil)
  /// Moves of an earlier run that were finished, and whose incident nobody was told about.
  private var resumed: [PendingMoves.Ended] = []
  /// The copy that was made because the opener drops a part of the log.
  private var copied: Incident?
  /// What the opener threw first.
  private var first: (any Error)?
  private var hasFailedTwice = false
  private var pauses: ArraySlice<Duration>
  /// The set that made room for a fresh store; nil as long as the earlier store is in place.
  private var aside: SetAside?

  init(_ recovery: StoreRecovery, _ model: (any ModelExpectation)?) {
    self.recovery = recovery
    self.model = model
    pauses = recovery.policy.retryPauses[...]
    do {
      let ended = try recovery.pending()
      resumed = ended.filter { $0.incident != nil }
      facts = FileEvidence.beforeOpening(try recovery.path())
    } catch {
      let verdict = Verdict(
        finding: .unavailable, action: .refuse,
        reason: (error as? StoreRecoveryError)?.message ?? "the store's folder cannot be read",
        rule: (error as? StoreRecoveryError)?.code.rawValue ?? "store.unreadable")
      next = .end(FailedOpen(error: error, verdict: verdict, evidence: nil))
      return
    }
    let verdict = classify(facts, policy: policy)
    if let loss = facts.wal?.loss { recovery.tell(.rowsLost(loss)) }
    guard verdict.action != .open else { return }
    FileEvidence.complete(&facts, recovery.storeURL.path)
    recovery.tell(.judged(verdict))
    if verdict.rule == Classifier.damagedLog, policy.keepsDamagedLogs, policy.mode == .act,
      facts.isUsedElsewhere == false
    {
      do {
        let incident = try recovery.keepCopy(Judgement(evidence: facts, verdict: verdict))
        copied = incident
        recovery.tell(.copied(incident))
        return
      } catch {
        recovery.tell(.setAsideFailed(error))
      }
    }
    end(
      StoreRecoveryError(
        .refused, "\(verdict.reason) (\(verdict.rule)); the store is as it was",
        path: recovery.storeURL.path), Judgement(evidence: facts, verdict: verdict))
  }

  private var policy: Policy { recovery.policy }

  /// The opener returned a handle.
  func opened<Handle>(_ handle: Handle) -> Opened<Handle> {
    if let aside {
      recovery.note(aside.incident, in: aside.folder.incompatible)
      return aside.opened(handle)
    }
    if policy.mode == .act, policy.recordsHealthyOpens {
      HealthyOpen.facts(from: facts)?.write(for: recovery.storeURL.path)
    }
    for one in resumed {
      // When this fails, the incident is reported once more at the next launch.
      try? recovery.mover.close(one.folder)
    }
    let told = resumed.last { $0.incident?.kind == .setAside }?.incident
    return Opened(handle: handle, incident: copied ?? told, loss: facts.wal?.loss)
  }

  /// The opener threw.
  mutating func failed(_ error: any Error) {
    let first = self.first ?? error
    self.first = first
    if let aside {
      let facts = OpenFailure.facts(of: error, sqliteCode: policy.sqliteCode)
      // Want of space says nothing of the store, so it does not count as a repetition.
      if !Classifier.speaksOfSurroundings(facts) {
        recovery.note(aside.incident, in: aside.folder.incompatible)
      }
      let problem = aside.putBack(after: error)
      let reason =
        problem == nil
        ? "a fresh store could not be opened either, so the earlier one is back"
        : "a fresh store could not be opened, and the earlier one goes back at the next open"
      return end(
        first,
        Judgement(
          evidence: aside.judgement.evidence,
          verdict: Verdict(
            finding: aside.judgement.verdict.finding, action: .refuse, reason: reason,
            rule: "fresh.failed")))
    }
    let judgement = judge(error)
    switch judgement.verdict.action {
    case .quarantine:
      if policy.triesTwice, !hasFailedTwice {
        hasFailedTwice = true
        next = .call(after: nil)
        return
      }
      setAside(judgement, first)
    case .retry:
      guard let pause = pauses.popFirst() else { return end(first, judgement) }
      next = .call(after: pause)
    case .open, .wait, .refuse, .openInMemory: end(first, judgement)
    }
  }

  private mutating func end(_ error: any Error, _ judgement: Judgement) {
    next = .end(
      FailedOpen(error: error, verdict: judgement.verdict, evidence: judgement.evidence))
  }

  private func judge(_ error: any Error) -> Judgement {
    var evidence = facts
    FileEvidence.complete(&evidence, recovery.storeURL.path)
    evidence.failure = OpenFailure.facts(
      of: error, sqliteCode: policy.sqliteCode, meaning: policy.meaning)
    if let state = policy.hostState?() { evidence.host = state }
    if policy.mode == .extension { evidence.host.isExtension = true }
    if Classifier(evidence: evidence, policy: policy).wantsDeepEvidence {
      evidence = recovery.deepened(evidence, model)
      evidence.repetition = recovery.repetition(of: evidence)
    }
    let verdict = classify(evidence, policy: policy)
    recovery.tell(.judged(verdict))
    return Judgement(evidence: evidence, verdict: verdict)
  }

  /// Sets the store aside and has the opener make a fresh one; ends when a last look forbids it or the move
  /// fails, with the set where it was.
  private mutating func setAside(_ judgement: Judgement, _ first: any Error) {
    guard policy.mode == .act else { return end(first, judgement) }
    do {
      let confirmed = try recovery.confirmed(judgement)
      guard confirmed.verdict.action == .quarantine else {
        recovery.tell(.judged(confirmed.verdict))
        return end(first, confirmed)
      }
      aside = try recovery.moveAside(confirmed)
      next = .call(after: nil)
    } catch {
      recovery.tell(.setAsideFailed(error))
      var held = judgement.verdict
      held.action = .retry
      held.reason += "; it could not be set aside: \(error)"
      end(first, Judgement(evidence: judgement.evidence, verdict: held))
    }
  }
}
