import CoreDataStore
public import Foundation

/// Opens a store, and when it will not open, decides from evidence what to do. A store that no build of
/// the app can open as it is gets set aside, never deleted, and the app goes on with a fresh one.
///
/// ```swift
/// let recovery = StoreRecovery(storeURL, app: .init(name: "Done", version: "2.1"))
/// let opened = try await recovery.open { url in try Database(path: url.path) }
/// ```
///
/// Call it once per store and process, before anything else opens the store: reading a file's first bytes
/// and closing it again would drop the locks that SQLite holds on it.
public struct StoreRecovery: Sendable {
  /// The app that opens the store.
  public struct App: Sendable, Codable, Equatable {
    /// The app's name as its users know it.
    public var name: String
    /// The version that users see.
    public var version: String
    /// The build number; nil when there is none.
    public var build: String?

    /// Names an app.
    public init(name: String, version: String, build: String? = nil) {
      self.name = name
      self.version = version
      self.build = build
    }
  }

  /// The main file of the store.
  public let storeURL: URL
  /// The app that opens it.
  public let app: App
  /// What the host decides.
  public let policy: Policy

  let evidence: EvidenceReader
  let structure: StructureReader?
  let fileSystem: FileSystem
  let clock: @Sendable () -> Date

  /// Prepares to open the store at `storeURL`, which need not exist. Nothing is read yet.
  public init(_ storeURL: URL, app: App, policy: Policy = .init()) {
    // The one place where the reader of the deep facts is connected. Without it a store is set aside only
    // for what its first bytes show.
    self.init(storeURL, app: app, policy: policy, structure: nil)
  }

  /// The same with the parts that read, write and tell the time.
  package init(
    _ storeURL: URL, app: App, policy: Policy = .init(), evidence: EvidenceReader? = nil,
    structure: StructureReader?, fileSystem: FileSystem = .real,
    clock: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.storeURL = storeURL
    self.app = app
    self.policy = policy
    self.evidence = evidence ?? { FileEvidence.read($0) }
    self.structure = structure
    self.fileSystem = fileSystem
    self.clock = clock
  }

  /// Opens the store with `opener`.
  ///
  /// `opener` runs once when all is well; before a store is set aside it runs a second time, and then once
  /// more for the fresh store. It must leave nothing open when it throws.
  ///
  /// - Parameters:
  ///   - expected: The model that the app opens the store with; nil for an app without one.
  ///   - isolation: The actor that `opener` stays on: the caller's.
  ///   - opener: Opens the store at the URL that it gets, or creates it.
  /// - Returns: What `opener` returned, and what happened to the earlier store.
  /// - Throws: What `opener` threw first, untouched, whenever the store stays where it is;
  ///   ``StoreRecoveryError`` when the evidence forbids to run `opener` at all.
  public func open<Handle>(
    expecting expected: ExpectedModel? = nil, isolation: isolated (any Actor)? = #isolation,
    opener: (URL) async throws -> Handle
  ) async throws -> Opened<Handle> {
    let attempt = try begin(expected)
    do {
      return attempt.opened(try await opener(storeURL))
    } catch {
      let first = error
      guard var verdict = attempt.verdict(on: first) else { throw first }
      if policy.triesTwice {
        do { return attempt.opened(try await opener(storeURL)) } catch {
          guard let second = attempt.verdict(on: error) else { throw first }
          verdict = second
        }
      }
      guard let set = attempt.setAside(verdict) else { throw first }
      do {
        return set.opened(try await opener(storeURL))
      } catch {
        set.putBack(after: error)
        throw first
      }
    }
  }

  /// Opens the store with an `opener` that does not wait. All else is as in the other form.
  ///
  /// - Parameters:
  ///   - expected: The model that the app opens the store with; nil for an app without one.
  ///   - opener: Opens the store at the URL that it gets, or creates it.
  /// - Returns: What `opener` returned, and what happened to the earlier store.
  /// - Throws: What `opener` threw first, untouched, whenever the store stays where it is;
  ///   ``StoreRecoveryError`` when the evidence forbids to run `opener` at all.
  public func openSynchronously<Handle>(
    expecting expected: ExpectedModel? = nil, opener: (URL) throws -> Handle
  ) throws -> Opened<Handle> {
    let attempt = try begin(expected)
    do {
      return attempt.opened(try opener(storeURL))
    } catch {
      let first = error
      guard var verdict = attempt.verdict(on: first) else { throw first }
      if policy.triesTwice {
        do { return attempt.opened(try opener(storeURL)) } catch {
          guard let second = attempt.verdict(on: error) else { throw first }
          verdict = second
        }
      }
      guard let set = attempt.setAside(verdict) else { throw first }
      do {
        return set.opened(try opener(storeURL))
      } catch {
        set.putBack(after: error)
        throw first
      }
    }
  }
}

/// A store that is open.
public struct Opened<Handle> {
  /// What the opener returned.
  public let handle: Handle
  /// What happened to the earlier store; nil on a normal launch. Tell the user.
  public let incident: Incident?
}

extension Opened: Sendable where Handle: Sendable {}

/// The verdict on a failed open, with all that it rests on.
package struct Judgement: Sendable {
  package let evidence: StoreEvidence
  package let verdict: Verdict
  package let expected: ExpectedModel?

  package init(evidence: StoreEvidence, verdict: Verdict, expected: ExpectedModel? = nil) {
    self.evidence = evidence
    self.verdict = verdict
    self.expected = expected
  }
}

// MARK: Building blocks, for `open` and for the command line

extension StoreRecovery {
  /// What is known about the store without opening it, by a look through the whole file.
  package func examine(expecting expected: ExpectedModel? = nil) throws -> StoreEvidence {
    deepened(evidence(try path()), expected)
  }

  /// Brings moves that an earlier run left half-done to an end.
  @discardableResult
  package func resume() throws -> [Incident] {
    try pending().compactMap(\.incident)
  }

  /// Sets the store aside, for good: a fresh one is the caller's business.
  package func setAside(_ judgement: Judgement) throws -> Incident {
    let set = try moveAside(judgement)
    try mover.close(set.folder)
    return set.incident
  }

  /// Sets the store aside and makes a fresh one; when that fails, the set goes back.
  ///
  /// - Throws: What `fresh` threw, with the set back in place, or why the set could not be moved.
  package func recover<Handle>(
    _ judgement: Judgement, fresh: (URL) throws -> Handle
  ) throws -> Opened<Handle> {
    let set = try moveAside(judgement)
    do {
      return set.opened(try fresh(storeURL))
    } catch {
      set.putBack(after: error)
      throw error
    }
  }

  var mover: SetMover { SetMover(fileSystem: fileSystem) }

  func path() throws -> String {
    let path = storeURL.path
    guard storeURL.isFileURL, StoreSet.isPlainName(StoreSet.lastComponent(of: path)) else {
      throw StoreRecoveryError(.notAFile, "the URL of a store must be that of a file", path: path)
    }
    return path
  }

  func pending() throws -> [PendingMoves.Ended] {
    let path = try path()
    let ended = try PendingMoves(
      mover: mover, home: StoreSet.folder(of: path), storeName: StoreSet.lastComponent(of: path)
    ).end(now: clock())
    for one in ended {
      policy.report?(.resumed(incident: one.folder.id, finished: one.incident != nil))
    }
    return ended
  }

  func deepened(_ evidence: StoreEvidence, _ expected: ExpectedModel?) -> StoreEvidence {
    var evidence = evidence
    structure?(storeURL.path, expected, &evidence)
    if evidence.comparison == nil, let expected, let recorded = evidence.recordedHashes {
      evidence.comparison = HashComparison(recorded: recorded, expected: expected.hashes)
    }
    return evidence
  }

  func moveAside(_ judgement: Judgement) throws -> SetAside {
    let path = try path()
    let now = Timestamp.wholeSeconds(clock())
    let (folder, record) = try mover.begin(
      path, name: Timestamp.folderName(now), minimumFreeBytes: policy.minimumFreeBytes
    ) { id, folder in
      draft(judgement, id: id, folder: folder, created: now)
    }
    let incident = try mover.advanceOrUndo(folder, record, now: now)
    policy.report?(.setAside(incident))
    return SetAside(recovery: self, folder: folder, incident: incident)
  }

  private func draft(
    _ judgement: Judgement, id: String, folder: String, created: Date
  ) -> Incident {
    Incident(
      judgement, app: app, storeName: StoreSet.lastComponent(of: storeURL.path), id: id,
      folder: folder, created: created, kind: .setAside, texts: policy.texts)
  }

  /// What comes before the opener: pending moves, cheap facts, and sets that must not be opened.
  private func begin(_ expected: ExpectedModel?) throws -> Attempt {
    let ended = try pending()
    var facts = evidence(try path())
    // The opener would drop the log's rows silently, so here the look comes first.
    if facts.wal?.isMagicRight == false { facts = deepened(facts, expected) }
    let verdict = classify(facts, policy: policy)
    guard verdict.action == .open else {
      policy.report?(.judged(verdict))
      throw StoreRecoveryError(
        .refused, "\(verdict.reason) (\(verdict.rule)); the store is as it was", path: storeURL.path
      )
    }
    return Attempt(
      recovery: self, expected: expected, facts: facts, resumed: ended.filter { $0.incident != nil }
    )
  }
}

extension Incident {
  init(
    _ judgement: Judgement, app: StoreRecovery.App, storeName: String, id: String, folder: String,
    created: Date, kind: Kind, texts: IncidentTexts
  ) {
    schema = Self.schemaName
    version = Self.currentVersion
    self.id = id
    self.created = created
    self.kind = kind
    self.app = app
    self.storeName = storeName
    self.folder = folder
    let evidence = judgement.evidence
    storeUUID = evidence.storeUUID
    verdict = judgement.verdict
    self.evidence = evidence
    if judgement.expected != nil || evidence.writtenBy != nil || evidence.comparison != nil {
      model = Model(
        writtenBy: evidence.writtenBy, expected: judgement.expected?.name,
        onlyInStore: evidence.comparison?.onlyInStore ?? [],
        onlyInModel: evidence.comparison?.onlyInModel ?? [],
        differing: evidence.comparison?.differing ?? [])
    } else {
      model = nil
    }
    seal = nil
    toolVersion = Self.currentToolVersion
    notice = Notice(title: "", whatHappened: "", whatWasKept: "", whatToDo: "")
    notice = texts.notice(self)
  }
}
