import StoreFiles
import SafeFiles
import SafeText
public import Foundation

/// Opens a store, and decides from evidence what to do if opening fails. A store that this build of the app cannot
/// open, for a reason that will not pass, is moved aside but never deleted, and the app continues with a fresh store.
///
/// ```swift
/// let recovery = Recovery(storeURL, app: .init(name: "Done", version: "2.1"))
/// let opened = try await recovery.open { url in try Database(path: url.path) }
/// ```
///
/// Call `open` once per store and process, before anything else opens the store. `open` reads the start of the file and
/// closes the file again. If this process already has the store open, that close would drop SQLite's locks.
public struct Recovery: Sendable {
  /// The app that opens the store.
  public struct App: Sendable, Codable, Equatable {
    /// The app's name as its users know it.
    public var name: String
    /// The version that users see.
    public var version: String
    /// The build number; nil for an app without one.
    public var build: String?

    /// Creates a description of the app.
    public init(name: String, version: String, build: String? = nil) {
      self.name = name
      self.version = version
      self.build = build
    }

    /// The name, version and build in words, as far as they are known.
    package var words: String {
      let parts = [name, version, build.map { "(build \($0))" } ?? ""].filter { !$0.isEmpty }
      return parts.isEmpty ? "not named" : parts.joined(separator: " ")
    }
  }

  /// The main file of the store.
  public var storeURL: URL { parts.storeURL }
  /// The app that opens the store.
  public var app: App { parts.app }
  /// The host's settings for the recovery.
  public var policy: Policy { parts.policy }
  /// The events of the recovery, for the host's log. ``Policy/report`` gets the same events.
  public let events = RecoveryEvents()

  let parts: Parts

  /// The URL, the policy and all other inputs of a recovery, in one object. They are passed on many times in a launch,
  /// and each copy of a struct would retain about forty references.
  final class Parts: Sendable {
    let storeURL: URL
    let app: App
    let policy: Policy
    /// The path of the main file; nil when the URL is not a file URL. The path is stored, because computing it costs as
    /// much as a system call.
    let path: String?
    let structure: StructureReader?
    let fileSystem: FileSystem
    let clock: @Sendable () -> Date
    let isCancelled: @Sendable () -> Bool

    init(
      _ storeURL: URL, _ app: App, _ policy: Policy, _ structure: StructureReader?,
      _ fileSystem: FileSystem, _ clock: @escaping @Sendable () -> Date,
      _ isCancelled: @escaping @Sendable () -> Bool
    ) {
      self.storeURL = storeURL
      self.app = app
      self.policy = policy
      let path = storeURL.isFileURL ? storeURL.path : ""
      self.path = PathText.isPlainName(PathText.lastComponent(of: path)) ? path : nil
      self.structure = structure
      self.fileSystem = fileSystem
      self.clock = clock
      self.isCancelled = isCancelled
    }
  }

  var structure: StructureReader? { parts.structure }
  var fileSystem: FileSystem { parts.fileSystem }
  var clock: @Sendable () -> Date { parts.clock }

  /// Prepares to open the store at `storeURL`, which need not exist. Nothing is read yet.
  public init(_ storeURL: URL, app: App, policy: Policy = .init()) {
    self.init(storeURL, app: app, policy: policy, fileSystem: .real)
  }

  /// Prepares to open the store with a replaceable reader, file system and clock. `isCancelled` is called while the
  /// files of a move are read. If it returns true, the move is cancelled and the files are moved back.
  package init(
    _ storeURL: URL, app: App, policy: Policy = .init(),
    structure: StructureReader? = { FileStructure.read($0, &$1) }, fileSystem: FileSystem = .real,
    clock: @escaping @Sendable () -> Date = { Date() },
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) {
    parts = Parts(storeURL, app, policy, structure, fileSystem, clock, isCancelled)
  }

  /// Opens the store with `opener`.
  ///
  /// Normally `opener` runs once. After a failure that may pass by itself, `opener` runs again after each of
  /// ``Policy/retryPauses``. Before a store is set aside, `opener` runs a second time to confirm the failure. After the
  /// store is set aside, `opener` runs once more to make the fresh store. When `opener` throws, it must leave nothing
  /// open.
  ///
  /// On a normal launch, the checks take microseconds. When a store is set aside, all its files are read to hash them,
  /// so do not open stores of gigabytes on the main actor.
  ///
  /// - Parameters:
  ///   - model: The model with which the app opens the store: a `ManagedObjectModel`, a `ModelCollection` (its current
  ///     version), or an ``ExpectedModel``; nil for an app without a model. A store that shares no entity with the
  ///     model is treated as another app's, and stays in place.
  ///   - isolation: The actor on which `opener` runs, by default the caller's.
  ///   - opener: Opens the store at the given URL, or creates it.
  /// - Returns: The value that `opener` returned, and the incident if a store was set aside or copied.
  /// - Throws: The first error that `opener` threw, unchanged, if no store could be opened. ``StoreRecoveryError`` if
  ///   the evidence forbids running `opener` at all. ``StoreRecoveryError`` with the code `store.inUse` if another
  ///   process is moving the store, or has the store open when it must be moved.
  public func open<Handle>(
    expecting model: (any ModelExpectation)? = nil, isolation: isolated (any Actor)? = #isolation,
    opener: (URL) async throws -> Handle
  ) async throws -> Opened<Handle> {
    try await attempt(expecting: model, isolation: isolation, opener: opener).get()
  }

  /// Opens the store as ``open(expecting:isolation:opener:)`` does, but with a synchronous `opener`.
  ///
  /// - Parameters:
  ///   - model: The model with which the app opens the store: a `ManagedObjectModel`, a `ModelCollection` (its current
  ///     version), or an ``ExpectedModel``; nil for an app without a model.
  ///   - opener: Opens the store at the given URL, or creates it.
  /// - Returns: The value that `opener` returned, and the incident if a store was set aside or copied.
  /// - Throws: The first error that `opener` threw, unchanged, if no store could be opened. ``StoreRecoveryError`` if
  ///   the evidence forbids running `opener` at all. ``StoreRecoveryError`` with the code `store.inUse` if another
  ///   process is moving the store, or has the store open when it must be moved.
  public func openSynchronously<Handle>(
    expecting model: (any ModelExpectation)? = nil, opener: (URL) throws -> Handle
  ) throws -> Opened<Handle> {
    try attemptSynchronously(expecting: model, opener: opener).get()
  }

  /// Opens the store as ``open(expecting:isolation:opener:)`` does, but does not throw. When no store could be opened,
  /// the result contains the verdict and the evidence for it. The verdict says whether to try again, to wait, or to go
  /// on without a store.
  ///
  /// - Parameters:
  ///   - model: The model with which the app opens the store; nil for an app without a model.
  ///   - isolation: The actor on which `opener` runs, by default the caller's.
  ///   - opener: Opens the store at the given URL, or creates it.
  /// - Returns: The open store, or why no store is open.
  public func attempt<Handle>(
    expecting model: (any ModelExpectation)? = nil, isolation: isolated (any Actor)? = #isolation,
    opener: (URL) async throws -> Handle
  ) async -> Outcome<Handle> {
    var flow = OpenFlow(self, model)
    while true {
      switch flow.next {
      case .call(let pause):
        if let pause { try? await Task.sleep(for: pause) }
        do {
          let handle = try await opener(storeURL)
          return .opened(flow.opened(handle))
        } catch { flow.failed(error) }
      case .end(let failed): return .failed(failed)
      }
    }
  }

  /// Does the same as ``attempt(expecting:isolation:opener:)`` with a synchronous `opener`. Each pause of
  /// ``Policy/retryPauses`` blocks the thread.
  ///
  /// - Parameters:
  ///   - model: The model with which the app opens the store; nil for an app without a model.
  ///   - opener: Opens the store at the given URL, or creates it.
  /// - Returns: The open store, or why no store is open.
  public func attemptSynchronously<Handle>(
    expecting model: (any ModelExpectation)? = nil, opener: (URL) throws -> Handle
  ) -> Outcome<Handle> {
    var flow = OpenFlow(self, model)
    while true {
      switch flow.next {
      case .call(let pause):
        if let pause { Thread.sleep(forTimeInterval: pause / .seconds(1)) }
        do {
          let handle = try opener(storeURL)
          return .opened(flow.opened(handle))
        } catch { flow.failed(error) }
      case .end(let failed): return .failed(failed)
      }
    }
  }
}

/// The verdict on a failed open, with the evidence for it.
package struct Judgement: Sendable {
  package let evidence: StoreEvidence
  package let verdict: Verdict
  /// The status that the main file had when it was judged. The store is moved only if the path still names the same
  /// file. If nil, the path is not checked.
  var main: FileStatus?

  package init(evidence: StoreEvidence, verdict: Verdict) {
    var evidence = evidence
    evidence.wal?.unrecorded = nil
    self.evidence = evidence
    self.verdict = verdict
  }
}

// MARK: Building blocks, for `open` and for the command line

extension Recovery {
  /// Examines a store that no opener has tried. Reads the whole main file, and changes nothing.
  ///
  /// - Throws: ``StoreRecoveryError`` with the code `store.missing` when no file of the store exists.
  package func examine(
    expecting model: (any ModelExpectation)? = nil
  ) throws -> StoreEvidence {
    let path = try path()
    let facts = FileEvidence.read(path)
    guard !facts.members.isEmpty else {
      throw StoreRecoveryError(.missing, "there is no store at this path", path: path)
    }
    return facts.mainKind == .file ? deepened(facts, at: path, model) : facts
  }

  /// The verdict on a store that no opener has tried. The first row that applies decides:
  ///
  /// | state | finding | action |
  /// | --- | --- | --- |
  /// | the main file is missing or empty, and the log or journal may hold rows | corrupt | refuse |
  /// | the log's header is damaged, or the log belongs to another store | corrupt | refuse |
  /// | the path names a link, a folder or a device | host error | refuse |
  /// | the file cannot be read | unavailable | refuse |
  /// | the file is empty, encrypted, or not an SQLite file | foreign | refuse |
  /// | the file needs a newer SQLite | newer | refuse |
  /// | the file could not be read to its end, or it changed while it was read | unavailable | retry |
  /// | the store shares no entity with any known version of the model | foreign | refuse |
  /// | newer rules than the known ones computed the version hashes | newer | refuse |
  /// | a newer build of the app wrote the store | newer | refuse |
  /// | the version hashes differ from the model's | incompatible | quarantine |
  /// | Lifeboat's reader finds damage | corrupt | quarantine |
  /// | the time for reading all tables ran out | unavailable | retry |
  /// | Lifeboat's reader cannot read a statement in the schema | corrupt | refuse |
  /// | a model is expected, and the store records no version hashes | foreign | refuse |
  /// | anything else | healthy | open |
  ///
  /// If a condition for a quarantine is not met (space, another process), the action is to wait, to retry or to refuse
  /// instead. If ``Policy/setsAsideNewerStores`` is true, the action for the store of a newer build is a quarantine.
  package func judge(_ evidence: StoreEvidence) -> Judgement {
    Judgement(evidence: evidence, verdict: classifyAtRest(evidence, policy: policy))
  }

  @discardableResult
  package func resume() throws -> [Incident] {
    try pending(at: path()).compactMap(\.incident)
  }

  /// Finishes or undoes unfinished moves. Calls `fresh` to make the fresh store if an earlier run set the old store
  /// aside but ended before it made a fresh one.
  ///
  /// - Returns: The incident of the old store if `fresh` was called; otherwise nil.
  /// - Throws: The error that `fresh` threw. The old store then stays aside, and the next run calls `fresh` again. Also
  ///   the errors of ``resume()``.
  package func resume(makingFresh fresh: (Incident) throws -> Void) throws -> Incident? {
    let path = try path()
    let ended = try pending(at: path).filter { $0.incident?.kind == .setAside }
    guard let incident = ended.last?.incident else { return nil }
    let isMissing = StoreSet(at: path).members.isEmpty
    if isMissing { try fresh(incident) }
    for one in ended { try mover.close(one.folder) }
    return isMissing ? incident : nil
  }

  /// Sets aside a store that no opener has tried. The move is final, and the caller makes a fresh store.
  ///
  /// - Throws: ``StoreRecoveryError`` with the code `store.refused` when the verdict's action is not `quarantine`, or
  ///   when the store has changed since it was judged. Any other code says why the store could not be moved.
  package func setAside(_ judgement: Judgement) throws -> Incident {
    let set = try moveAside(try checked(judgement))
    try mover.close(set.folder)
    return set.incident
  }

  /// Sets aside a store that no opener has tried, and calls `fresh` to make a fresh one. If `fresh` throws, the old
  /// store is moved back.
  ///
  /// - Throws: The errors of ``setAside(_:)``; the error of `fresh`, after the old store was moved back;
  ///   ``StoreRecoveryError`` with the code `store.inUse` or `quarantine.unfinished` if the old store could not be
  ///   moved back.
  package func recover<Handle>(
    _ judgement: Judgement, fresh: (URL) throws -> Handle
  ) throws -> Opened<Handle> {
    let set = try moveAside(try checked(judgement))
    do {
      return set.opened(try fresh(storeURL))
    } catch {
      if let problem = set.putBack(after: error) {
        // Another process has made a fresh store. That store stays in place, and the old one stays aside.
        if let inUse = problem.inUse { throw inUse }
        throw StoreRecoveryError(
          .unfinished,
          "the fresh store could not be made, and the earlier store could not be put back yet; the earlier store is kept, and the next open tries again",
          path: set.folder.path, underlying: problem)
      }
      throw error
    }
  }

  /// Returns the judgement with the current status of the main file. Throws if the verdict's action is not
  /// `quarantine`, or if the store has changed since it was judged.
  private func checked(_ judgement: Judgement) throws -> Judgement {
    var judgement = judgement
    let verdict = judgement.verdict
    guard verdict.action == .quarantine else {
      throw StoreRecoveryError(
        .refused, "\(verdict.reason) (\(verdict.rule.rawValue))", path: storeURL.path)
    }
    try resume()
    let path = try path()
    judgement.main = try fileSystem.status(path)
    let now = FileEvidence.read(path)
    guard now.members == judgement.evidence.members, now.header == judgement.evidence.header,
      now.isUsedElsewhere != true
    else {
      throw StoreRecoveryError(
        .refused, "the store has changed since it was examined, so something uses it",
        path: storeURL.path)
    }
    return judgement
  }

  func tell(_ event: RecoveryEvent) {
    policy.report?(event)
    events.send(event)
  }

  var mover: SetMover {
    SetMover(
      fileSystem: fileSystem, maximumWaitSeconds: policy.maximumWaitSeconds,
      pace: policy.sealPace, isCancelled: parts.isCancelled,
      texts: { [policy] in policy.texts })
  }

  /// Returns the path of the store's main file. If the store's folder is a symbolic link, the path contains the folder
  /// that the link leads to, because the code that works on the store does not follow links.
  /// - Throws: ``StoreRecoveryError`` when the store's URL is not a file URL.
  func path() throws -> String {
    guard let path = parts.path else {
      throw StoreRecoveryError(
        .notAFile, "the URL of a store must be a file URL", path: storeURL.path)
    }
    let folder = PathText.folder(of: path)
    let resolved = StoreSet.resolvedFolder(folder)
    if PathText.isSame(resolved, folder) { return path }
    return resolved + "/" + PathText.lastComponent(of: path)
  }

  /// The main file's path, with all symbolic links in its folder's path resolved. Code that changes files beside the
  /// main file uses this path.
  func realPath() throws -> String {
    let path = try path()
    return StoreSet.realFolder(PathText.folder(of: path)) + "/" + PathText.lastComponent(of: path)
  }

  func pending(at path: String) throws -> [PendingMoves.Ended] {
    // A normal launch returns here.
    if try SettledMoves.isNothingPending(in: PathText.folder(of: path), fileSystem.status) {
      return []
    }
    let home = StoreSet.realFolder(PathText.folder(of: path))
    let moves = PendingMoves(
      mover: mover, home: home, storeName: PathText.lastComponent(of: path), report: tell)
    guard policy.mode == .act else {
      guard try !moves.hasUnfinishedMove() else {
        throw StoreRecoveryError(
          .unfinished,
          "an earlier move of the store is not finished; the app finishes it when it opens the store",
          path: path)
      }
      return []
    }
    let ended = try moves.end(now: clock())
    for one in ended {
      tell(.resumed(incident: one.folder.id, finished: one.incident != nil))
    }
    // A move that was finished just now may already have read the bytes that one launch may read for seals.
    if ended.isEmpty { moves.continueSeals() }
    return ended
  }

  func deepened(
    _ evidence: StoreEvidence, at path: String, _ model: (any ModelExpectation)?
  ) -> StoreEvidence {
    var evidence = evidence
    structure?(path, &evidence)
    model?.expectedModel.compare(&evidence)
    evidence.isNewerThanApp = OpenedBy(path, app).isNewer ?? evidence.isNewerThanApp
    return evidence
  }

  func moveAside(_ judgement: Judgement) throws -> SetAside {
    let path = try realPath()
    let home = PathText.folder(of: path)
    let now = Timestamp.wholeSeconds(clock())
    let needed = policy.neededFreeBytes(judgement.evidence.members.map(\.sizeBytes))
    try mover.check(path, minimumFreeBytes: needed)
    try mover.makeIncompatible(in: home)
    let set = try mover.leased(home) {
      // Another process may have moved the store first.
      if let judged = judgement.main, try fileSystem.status(path)?.isSameFile(as: judged) != true {
        throw StoreRecoveryError(
          .inUse, "another process has moved the store in the meantime", path: path)
      }
      let (folder, record) = try mover.begin(path, name: Timestamp.folderName(now)) { id, folder in
        draft(judgement, id: id, folder: folder, created: now)
      }
      let incident = try mover.advanceOrUndo(folder, record, now: now)
      return SetAside(recovery: self, judgement: judgement, folder: folder, incident: incident)
    }
    tell(.setAside(set.incident))
    return set
  }

  private func draft(
    _ judgement: Judgement, id: String, folder: String, created: Date
  ) -> Incident {
    Incident(
      judgement, app: app, storeName: PathText.lastComponent(of: storeURL.path), id: id,
      folder: folder, created: created, kind: .setAside, texts: policy.texts)
  }
}
