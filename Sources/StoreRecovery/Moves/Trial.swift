import CLibrary
import StoreFiles
import SafeFiles
import SafeText
package import Foundation

extension StoreEvidence {
  package struct Trial: Sendable, Codable, Equatable {
    /// The result of opening a private copy of the store.
    package enum Copy: String, Sendable, Codable, CaseIterable {
      /// The copy opened, so the store itself is sound and the cause lies in its environment.
      case opened
      /// The copy failed to open, for a cause that is not in the environment.
      case failed
      /// The copy failed because of the environment: a lock, too little space, a missing permission.
      case unavailable
      /// No copy was made: the set is too large, or too little space is free.
      case skipped
    }

    /// Whether a throw-away store could be made beside the store; nil when that was not tried.
    package var makesFreshStore: Bool?
    /// The error code if no throw-away store could be made: the system's error number or SQLite's code. nil if no store
    /// was tried, the store was made, or the code is unknown.
    package var freshCode: Int32?
    /// The result of opening a private copy; nil when ``Policy/check`` is nil, or ``Policy/maximumCopyBytes`` is 0.
    package var copy: Copy?
  }
}

/// A private folder `Incompatible/.trial-…` on the store's volume, in which a copy of the store is opened. The folder
/// is removed afterwards. A process that works in the folder holds a lock on a file in it. A folder left by a killed
/// process is removed by the next trial or the next check for unfinished moves.
struct TrialFolder {
  private static let prefix = ".trial-"
  private static let lockName = ".lock"
  /// The maximum depth of the folders that are removed from a trial folder. A trial folder holds copies of a store set,
  /// and files that ``Policy/check`` makes.
  private static let maxDepth = IncidentFiles.depthLimit

  let fileSystem: FileSystem
  let path: String
  private let lock: Int32
  /// The status of the folder when it was made, to notice later that another folder has taken its name.
  private let made: FileStatus?
}

extension TrialFolder {
  /// Removes the trial folders of killed runs, and then makes and locks this folder. The lease is held until this
  /// folder is locked, so that no other process removes it.
  init(in home: String, _ mover: SetMover) throws {
    let fileSystem = mover.fileSystem
    let incompatible = QuarantineFolder.parent(in: home)
    try mover.makeIncompatible(in: home)
    self = try mover.leased(home) {
      Self.sweep(try fileSystem.entries(incompatible).names, in: incompatible, fileSystem)
      let token = String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
      let path = incompatible + "/" + Self.prefix + token
      try fileSystem.makeFolder(path, 0o700)
      guard let lock = try fileSystem.lock(path + "/" + Self.lockName) else {
        throw SystemCallError(call: "lock", path: path, errno: EAGAIN)
      }
      let made = try fileSystem.status(path)
      return TrialFolder(fileSystem: fileSystem, path: path, lock: lock, made: made)
    }
  }

  func isOurs() throws -> Bool {
    guard let made, let now = try fileSystem.status(path) else { return false }
    return now.isSameFile(as: made)
  }

  /// Whether `name` has the form of a trial folder's name: the prefix and 16 hexadecimal digits.
  static func isName(_ name: String) -> Bool {
    guard let token = PathText.dropping(prefix: prefix, from: name) else { return false }
    return token.utf8.count == 16 && token.unicodeScalars.allSatisfy(\.properties.isASCIIHexDigit)
  }

  /// Removes the trial folders among `names` that killed runs left. The caller holds the lease. A folder that cannot be
  /// removed now is left for the next time.
  static func sweep(_ names: [String], in incompatible: String, _ fileSystem: FileSystem) {
    for name in names where isName(name) {
      let path = incompatible + "/" + name
      guard (try? fileSystem.status(path))?.kind == .folder else { continue }
      guard (try? fileSystem.status(path + "/" + lockName)) != nil else {
        // The folder is new, or is being removed and its lock has a temporary name. Only an empty folder is removed.
        try? fileSystem.sweep(path)
        try? fileSystem.removeFolder(path)
        continue
      }
      guard let lock = try? fileSystem.lock(path + "/" + lockName) else { continue }
      try? remove(path, fileSystem)
      close(lock)
    }
  }

  /// Removes the folder, if the path still names it, and releases the lock.
  func remove() throws {
    defer { close(lock) }
    guard try isOurs() else { return }
    try Self.remove(path, fileSystem)
  }

  private static func remove(_ path: String, _ fileSystem: FileSystem, depth: Int = 0) throws {
    guard let status = try fileSystem.status(path) else { return }
    guard status.kind == .folder, depth < maxDepth else {
      return try fileSystem.unlink(path, status)
    }
    for name in try fileSystem.entries(path).names where !PathText.isSame(name, lockName) {
      try remove(path + "/" + name, fileSystem, depth: depth + 1)
    }
    // The lock goes last, so that a folder with content is not taken for a new one.
    let lock = path + "/" + lockName
    for last in depth == 0 ? [part(path), lock] : [lock] {
      if let status = try fileSystem.status(last) { try fileSystem.unlink(last, status) }
    }
    try fileSystem.removeFolder(path)
  }

  /// The temporary path, beside the store, of a file that is copied from the trial folder `path` to another volume.
  fileprivate static func part(_ path: String) -> String {
    QuarantineFolder(
      home: PathText.folder(of: PathText.folder(of: path)), storeName: "",
      id: PathText.lastComponent(of: path)
    ).copyInProgress
  }

  /// The subfolder that holds a copied store set until it becomes an incident.
  var kept: String { path + "/kept" }

  /// Turns the store set in ``kept`` into an incident. Syncs the set, writes the incident's records beside it, and
  /// gives the folder its final name.
  func publish(
    _ home: String, _ set: StoreSet, _ seal: StoreSeal, _ now: Date, _ mover: SetMover,
    draft: (_ folder: QuarantineFolder, _ created: Date) -> Incident
  ) throws -> Incident {
    try mover.sync(set)
    let created = Timestamp.wholeSeconds(now)
    for folder in QuarantineFolder.candidates(
      Timestamp.folderName(created), home: home, storeName: set.storeName)
    {
      if try fileSystem.status(folder.path) != nil { continue }
      var incident = draft(folder, created)
      incident.seal = seal
      let text = Array(incident.plainText.utf8)
      try mover.records.write(
        bytes: text, to: kept + "/" + QuarantineFolder.textName, replacing: true)
      try mover.records.write(
        incident, to: kept + "/" + QuarantineFolder.incidentName, replacing: true)
      guard try isOurs() else {
        throw StoreRecoveryError(
          .unmovable, "another folder has replaced the folder of the copy", path: path)
      }
      do {
        try fileSystem.rename(kept, folder.path)
      } catch let error as SystemCallError where [EEXIST, ENOTEMPTY].contains(error.errno) {
        continue
      }
      try fileSystem.syncFolder(folder.incompatible)
      return incident
    }
    throw QuarantineFolder.noneFree(in: home)
  }

  /// Tests whether a fresh store can be made, by making a throw-away store. `check` makes that store; if `check` is
  /// nil, two pages are written.
  func makeFresh(_ storeName: String, check: (@Sendable (URL) throws -> Void)?) throws {
    let folder = path + "/fresh"
    try fileSystem.makeFolder(folder, 0o700)
    guard let check else {
      // Two pages, the size of the smallest database with a table.
      return try fileSystem.write(folder + "/" + storeName, [UInt8](repeating: 0, count: 8192))
    }
    try check(URL(fileURLWithPath: folder + "/" + storeName))
  }

  /// The roles of the members that a copy needs to be opened; not the wal-index, because SQLite makes a new one.
  static let withoutIndex = Set(StoreSet.Role.allCases).subtracting([.sharedMemory])

  /// Copies the members of a set that have one of `roles` into the subfolder `name`. Links are copied as links.
  ///
  /// - Returns: The set of the copies.
  func copy(
    _ set: StoreSet, _ roles: Set<StoreSet.Role>, to name: String
  ) throws -> StoreSet {
    let folder = path + "/" + name
    try fileSystem.makeFolder(folder, 0o700)
    for member in set.members where roles.contains(member.role) {
      let target = folder + "/" + member.name
      if member.kind == .folder {
        try fileSystem.makeFolder(target, 0o700)
      } else {
        try fileSystem.copy(member.path, target)
      }
    }
    return StoreSet(at: folder + "/" + PathText.lastComponent(of: set.mainPath))
  }
}

extension Recovery {
  /// Judges the store again, with facts that are gathered only when it is about to be set aside: whether enough space
  /// is free, whether the host allows the same failure to set a store aside again, and whether a fresh store and a
  /// private copy open.
  func confirmed(_ judgement: Judgement) throws -> Judgement {
    let path = try realPath()
    var evidence = judgement.evidence
    evidence.freeBytes =
      (try? fileSystem.freeSpace(PathText.folder(of: path))) ?? evidence.freeBytes
    if var repetition = evidence.repetition, repetition.isKnown, repetition.same == 1 {
      repetition.isAllowed = policy.allowsRepetition(
        RepeatedFailure(verdict: judgement.verdict, incidents: repetition.incidents))
      evidence.repetition = repetition
    }
    // No trial is needed when the move is already forbidden.
    let verdict = classify(evidence, policy: policy)
    guard verdict.action == .quarantine else {
      return Judgement(evidence: evidence, verdict: verdict)
    }
    try mover.check(path, minimumFreeBytes: 0)
    evidence.trial = try trial(path)
    var confirmed = Judgement(evidence: evidence, verdict: classify(evidence, policy: policy))
    confirmed.main = judgement.main
    return confirmed
  }

  /// Completes the judgement of a store without a call of an opener. Tests whether the store set can be moved,
  /// whether a fresh store can be made, and whether a private copy of the store opens.
  package func confirmedAtRest(_ judgement: Judgement) throws -> Judgement {
    let path = try realPath()
    var evidence = judgement.evidence
    try mover.check(path, minimumFreeBytes: 0)
    evidence.trial = try trial(path)
    return judge(evidence)
  }

  /// Calls `make` to create a file in a private folder, then gives the file the store's name. A killed run leaves the
  /// complete file or no file.
  ///
  /// - Parameters:
  ///   - traits: The file's owner and permissions; nil to leave those that `make` set.
  ///   - make: Makes the file at the given URL.
  /// - Throws: What `make` threw, or the reason why the folder or the name is not available; no file is left then.
  package func makeWhole(traits: FileTraits? = nil, _ make: (URL) throws -> Void) throws {
    let path = try realPath()
    let folder = try TrialFolder(in: PathText.folder(of: path), mover)
    defer { try? folder.remove() }
    let file = folder.path + "/fresh/" + PathText.lastComponent(of: path)
    try fileSystem.makeFolder(PathText.folder(of: file), 0o700)
    try make(URL(fileURLWithPath: file))
    guard try folder.isOurs() else {
      throw StoreRecoveryError(
        .inUse, "another folder has replaced the folder of the fresh store", path: folder.path)
    }
    if let traits { try fileSystem.setTraits(file, traits) }
    try fileSystem.syncFile(file)
    guard let status = try fileSystem.status(file) else {
      throw SystemCallError(call: "lstat", path: file, errno: ENOENT)
    }
    do {
      try mover.place(file, at: path, status: status, part: TrialFolder.part(folder.path))
    } catch let error as SystemCallError where error.errno == EEXIST {
      throw StoreRecoveryError(
        .inUse, "another process has made a store at this path in the meantime", path: path)
    }
    try fileSystem.syncFolder(PathText.folder(of: path))
  }

  /// Tries, in a trial folder, to make a new store and to open a private copy of the store at `path`. The result says
  /// what worked. Throws only if another process uses or moves the store, or if the store set cannot be moved.
  private func trial(_ path: String) throws -> StoreEvidence.Trial {
    var trial = StoreEvidence.Trial()
    do {
      let folder = try TrialFolder(in: PathText.folder(of: path), mover)
      defer { try? folder.remove() }
      do {
        try folder.makeFresh(PathText.lastComponent(of: path), check: policy.check)
        trial.makesFreshStore = true
      } catch {
        trial.makesFreshStore = false
        trial.freshCode = code(of: error)
        return trial
      }
      // A limit of 0 means that no copy is made.
      trial.copy =
        policy.maximumCopyBytes > 0 ? policy.check.map { copyTrial(path, folder, $0) } : nil
    } catch  where error.inUse != nil || (error as? StoreRecoveryError)?.code == .unmovable {
      throw error
    } catch {
      trial.makesFreshStore = false
      trial.freshCode = code(of: error)
    }
    return trial
  }

  private func code(of error: any Error) -> Int32? {
    if let call = error as? SystemCallError { return call.errno }
    let facts = OpenFailure.facts(of: error, sqliteCode: policy.sqliteCode)
    return facts.sqliteCode ?? facts.posixCode
  }

  private func copyTrial(
    _ path: String, _ folder: TrialFolder, _ check: @Sendable (URL) throws -> Void
  ) -> StoreEvidence.Trial.Copy {
    let set = StoreSet(at: path)
    guard set.isComplete, set.sizeBytes <= policy.maximumCopyBytes,
      let free = try? fileSystem.freeSpace(PathText.folder(of: path)),
      free - set.sizeBytes >= policy.neededFreeBytes(set.members.map(\.sizeBytes))
    else { return .skipped }
    let copy: StoreSet
    do { copy = try folder.copy(set, TrialFolder.withoutIndex, to: "copy") } catch {
      return .skipped
    }
    do {
      try check(URL(fileURLWithPath: copy.mainPath))
      return .opened
    } catch {
      let failure = OpenFailure.facts(
        of: error, sqliteCode: policy.sqliteCode, meaning: policy.meaning)
      return Classifier.speaksOfSurroundings(failure) ? .unavailable : .failed
    }
  }
}
