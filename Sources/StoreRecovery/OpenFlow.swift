import StoreFiles
import SafeFiles
import Foundation
import SafeText

/// One attempt to open a store. After each call of the app's `opener`, ``next`` says what to do.
struct OpenFlow: Sendable {
  enum Next: Sendable {
    /// The caller must call `opener` with the store's URL after this pause; nil for no pause.
    case call(after: Duration?)
    // `indirect` keeps this value small: each launch copies it, and few launches fail.
    indirect case end(FailedOpen)
  }

  /// The maximum number of times that ``start()`` runs in one attempt. It runs again each time another process has
  /// moved the store.
  private static let startLimit = 3

  private let recovery: Recovery
  private let model: (any ModelExpectation)?
  private(set) var next = Next.call(after: nil)
  private var starts = 0
  /// The main file's path, as ``Recovery/path()`` returns it; empty when the URL is not a file URL.
  private var path = ""
  /// The facts gathered about the store before `opener` ran.
  private var facts = StoreEvidence(mainKind: nil)
  /// The main file's status before `opener` ran; nil when there was no main file.
  private var main: FileStatus?
  /// The moves that an earlier run began and this attempt finished. Their incidents have not been reported to the app
  /// yet.
  private var resumed: [PendingMoves.Ended] = []
  /// The incident with a copy of the store. The copy is made by ``keepsCopy(_:)`` if opening the store would drop a
  /// part of the log. Nil when no copy was made.
  private var copied: Incident?
  /// The first error that `opener` threw.
  private var first: (any Error)?
  private var hasFailedTwice = false
  private var pauses: ArraySlice<Duration> = []
  /// The store that this attempt has moved into a quarantine to make room for a fresh store; nil before such a move.
  private var aside: SetAside?

  init(_ recovery: Recovery, _ model: (any ModelExpectation)?) {
    self.recovery = recovery
    self.model = model
    start()
  }

  private var policy: Policy { recovery.policy }

  // MARK: Before the opener

  /// Finishes or undoes the moves that earlier runs left unfinished, and gathers the facts that decide whether the
  /// store may be opened. If it must not be opened, sets ``next`` to `end`.
  private mutating func start() {
    starts += 1
    first = nil
    hasFailedTwice = false
    pauses = policy.retryPauses[...]
    next = .call(after: nil)
    do {
      try gatherFacts()
      let deadline = Deadline(seconds: policy.maximumWaitSeconds)
      for _ in 1...5 {
        guard classify(facts, policy: policy).action != .open else { return }
        // Other processes may be moving the store or making a fresh one right now, one after another.
        DatabaseLock.isUsed(path, until: deadline)
        _ = deadline.sleepsBriefly()
        try gatherFacts()
      }
    } catch {
      let verdict = Verdict(
        finding: .unavailable, action: error.inUse == nil ? .refuse : .retry,
        reason: (error as? StoreRecoveryError)?.message ?? "the store's folder cannot be read",
        rule: (error as? StoreRecoveryError).map { Verdict.Rule(rawValue: $0.code.rawValue) }
          ?? .storeUnreadable)
      next = .end(FailedOpen(error: error, verdict: verdict, evidence: nil))
      return
    }
    let verdict = classify(facts, policy: policy)
    guard verdict.action != .open else { return }
    FileEvidence.complete(&facts, path)
    recovery.tell(.judged(verdict))
    let judgement = Judgement(evidence: facts, verdict: verdict)
    if keepsCopy(judgement) { return }
    end(
      StoreRecoveryError(
        .refused, "\(verdict.reason) (\(verdict.rule.rawValue)); the store was not changed",
        path: path), judgement)
  }

  private mutating func gatherFacts() throws {
    path = try recovery.path()
    resumed += try recovery.pending(at: path).filter { $0.incident != nil }
    let files = DatabaseFiles(at: path)
    main = files.main
    facts = FileEvidence.beforeOpening(path, files)
  }

  /// Copies the store's files before an open that would discard a damaged write-ahead log. Returns whether the files
  /// were copied, so that the store may be opened.
  private mutating func keepsCopy(_ judgement: Judgement) -> Bool {
    guard judgement.verdict.rule == .storeWALDamaged, policy.keepsDamagedLogs,
      policy.mode == .act, facts.isUsedElsewhere == false
    else { return false }
    do {
      let incident = try recovery.keepCopy(judgement)
      copied = incident
      recovery.tell(.copied(incident))
      return true
    } catch {
      recovery.tell(.setAsideFailed(error))
      return false
    }
  }

  // MARK: After the opener

  /// Called when `opener` has returned `handle`. Writes the marker of this app version (``OpenedBy``). Unless a store
  /// was set aside, also writes the record of a healthy open (``HealthyOpen``). Returns the handle, and the incident
  /// and the lost rows that the app must report to the user.
  mutating func opened<Handle>(_ handle: Handle) -> Opened<Handle> {
    defer { prune() }
    if policy.mode == .act, policy.recordsHealthyOpens {
      OpenedBy(path, recovery.app).note()
    }
    if let aside {
      recovery.note(aside.incident, in: aside.folder.incompatible)
      return aside.opened(handle)
    }
    if let loss = facts.wal?.loss { recovery.tell(.rowsLost(loss)) }
    if policy.mode == .act, policy.recordsHealthyOpens {
      facts.wal?.unrecorded?.write(for: path)
    }
    for one in resumed {
      // If this fails, the next launch reports the incident once more.
      try? recovery.mover.close(one.folder)
    }
    let told = resumed.last { $0.incident?.kind == .setAside }?.incident
    return Opened(handle: handle, incident: copied ?? told, loss: facts.wal?.loss)
  }

  /// Prunes incidents according to ``Policy/retention``. What cannot be removed now is left for a later launch.
  private func prune() {
    guard let retention = policy.retention, policy.mode == .act else { return }
    let incidents = Incidents(
      home: PathText.folder(of: path), fileSystem: recovery.fileSystem, clock: recovery.clock)
    let report = try? incidents.prune(
      retention, storeName: PathText.lastComponent(of: path), dryRun: false)
    if let report, !report.removed.isEmpty { recovery.tell(.pruned(report)) }
  }

  /// Called when `opener` has thrown `error`. Decides what to do, and sets ``next`` accordingly.
  mutating func failed(_ error: any Error) {
    let first = self.first ?? error
    self.first = first
    if let aside { return freshFailed(error, aside, first) }
    if error is CancellationError {
      // A cancellation says nothing about the store.
      let verdict = Verdict(
        finding: .unavailable, action: .retry, reason: "the attempt was cancelled",
        rule: .errorCancelled)
      return end(first, Judgement(evidence: facts, verdict: verdict))
    }
    let judgement = judge(error)
    switch judgement.verdict.action {
    case .quarantine:
      if policy.triesTwice, !hasFailedTwice {
        hasFailedTwice = true
        next = .call(after: nil)
      } else {
        setAside(judgement, first)
      }
    case .retry:
      guard !isSuperseded, let pause = pauses.popFirst() else { return end(first, judgement) }
      next = .call(after: pause)
    case .open, .wait, .refuse, .openInMemory: end(first, judgement)
    }
  }

  private mutating func freshFailed(_ error: any Error, _ aside: SetAside, _ first: any Error) {
    let facts = OpenFailure.facts(of: error, sqliteCode: policy.sqliteCode)
    // An error about the environment, or a cancellation, says nothing about the store, so it is not counted.
    if !(error is CancellationError), !Classifier.speaksOfSurroundings(facts) {
      recovery.note(aside.incident, in: aside.folder.incompatible)
    }
    let problem = aside.putBack(after: error)
    let verdict = Verdict(
      finding: aside.judgement.verdict.finding, action: problem?.inUse == nil ? .refuse : .retry,
      reason: problem == nil
        ? "a fresh store could not be opened either, so the earlier store was put back"
        : "a fresh store could not be opened; the earlier store is kept, and the next open tries again",
      rule: problem == nil
        ? .freshFailed : problem?.inUse == nil ? .quarantineUnfinished : .storeInUse)
    next = .end(
      FailedOpen(
        error: problem?.inUse ?? first, verdict: verdict, evidence: aside.judgement.evidence))
  }

  /// Ends the attempt to open the store with a failure. If another process has moved or replaced the main file
  /// meanwhile, the attempt starts again instead.
  private mutating func end(_ error: any Error, _ judgement: Judgement) {
    if isSuperseded, starts < Self.startLimit { return start() }
    next = .end(
      FailedOpen(error: error, verdict: judgement.verdict, evidence: judgement.evidence))
  }

  private var isSuperseded: Bool {
    guard let main else { return false }
    do {
      return try recovery.fileSystem.status(path)?.isSameFile(as: main) != true
    } catch { return false }
  }

  // MARK: The verdict

  private func judge(_ error: any Error) -> Judgement {
    var evidence = facts
    FileEvidence.complete(&evidence, path)
    evidence.failure = OpenFailure.facts(
      of: error, sqliteCode: policy.sqliteCode, meaning: policy.meaning)
    if let state = policy.hostState?() { evidence.host = state }
    if policy.mode == .extension { evidence.host.isExtension = true }
    evidence.host = evidence.host.completed(
      openErrno: facts.openErrno, protection: HostState.protection(ofFileAt: path))
    if Classifier(evidence: evidence, policy: policy).wantsDeepEvidence {
      waitForOtherOpeners(&evidence)
      evidence = recovery.deepened(evidence, at: path, model)
      waitForOtherOpeners(&evidence)
      evidence.repetition = recovery.repetition(of: evidence, at: path)
    }
    let verdict = classify(evidence, policy: policy)
    recovery.tell(.judged(verdict))
    var judgement = Judgement(evidence: evidence, verdict: verdict)
    // The status of the main file before `opener` ran. By now, the path may name another process's fresh store.
    judgement.main = main
    return judgement
  }

  /// Waits until no other process holds a lock on the main file. A process that is trying to open the store holds a
  /// lock only until its attempt ends.
  private func waitForOtherOpeners(_ evidence: inout StoreEvidence) {
    guard evidence.isUsedElsewhere == true else { return }
    evidence.isUsedElsewhere = DatabaseLock.isUsed(
      path, until: Deadline(seconds: policy.maximumWaitSeconds))
  }

  /// Moves the store into a quarantine, so that the next call of `opener` makes a fresh store. If the last check before
  /// the move (`Recovery.confirmed`) forbids the move, or the move fails, the attempt to open the store ends.
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
      let isUnfinished = (error as? StoreRecoveryError)?.code == .unfinished
      if !isUnfinished, isSuperseded, starts < Self.startLimit { return start() }
      recovery.tell(.setAsideFailed(error))
      var held = judgement.verdict
      held.action = .retry
      let code = (error as? StoreRecoveryError)?.code.rawValue ?? "\((error as NSError).domain)"
      held.reason += "; the store could not be set aside (\(code))"
      next = .end(
        FailedOpen(
          error: error.inUse ?? first, verdict: held, evidence: judgement.evidence))
    }
  }
}
