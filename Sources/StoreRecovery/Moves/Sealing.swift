import StoreFiles
import SafeFiles
import Foundation
import SafeText

/// The saved progress of sealing a store set, in `.seal.json` beside the record of the incident.
///
/// A launch may end before a large set is read completely, so the progress is saved at intervals. When one launch has
/// read ``SealPace/bytesPerLaunch``, the incident's record is written without a seal. A later launch adds the seal.
struct SealProgress: Codable, Sendable {
  struct Current: Codable, Sendable {
    let name: String
    let status: FileStatus
    let state: ResumableSHA256.State
  }

  var schema = Self.schemaName
  var version = 1
  var files: [StoreSeal.File] = []
  /// The file that is only partly read so far; nil when no file is partly read.
  var current: Current?

  static let schemaName = "lifeboat.sealProgress"

  /// Whether this saved progress can be used: its format is known, and the hash state of the file ``current`` is valid
  /// and covers no more bytes than the file has.
  var isValid: Bool {
    schema == Self.schemaName && version == 1 && current?.state.isValid != false
      && (current.map { $0.state.byteCount <= max(0, $0.status.sizeBytes) } ?? true)
  }
}

package struct SealPace: Sendable {
  /// The number of bytes that one launch reads to continue a seal that an earlier launch could not finish.
  package var bytesPerLaunch: Int64
  /// The number of bytes read between two saves of the progress.
  package var bytesPerNote: Int64

  package init(
    bytesPerLaunch: Int64 = 256 * 1024 * 1024, bytesPerNote: Int64 = 32 * 1024 * 1024
  ) {
    self.bytesPerLaunch = bytesPerLaunch
    self.bytesPerNote = bytesPerNote
  }
}

extension SetMover {
  /// Seals the store set `kept`, continuing where an earlier run ended. `budget` is the maximum number of bytes to
  /// read, and is reduced by the number of bytes read; nil for no limit. At least one file, or one step of a large
  /// file, is always read.
  ///
  /// - Returns: The seal; nil when more bytes must be read, in which case the progress is saved.
  /// - Throws: ``StoreRecoveryError`` or ``StoreSealError`` when a file cannot be read or changes, or when sealing is
  ///   cancelled.
  func seal(
    _ folder: QuarantineFolder, _ kept: StoreSet, budget: inout Int64?
  ) throws -> StoreSeal? {
    let deadline = Deadline(seconds: maximumWaitSeconds)
    while true {
      var sealing = Sealing(self, folder, kept, budget: budget)
      defer { budget? -= sealing.read }
      do { return try sealing.run() } catch let error as StoreSealError {
        if error.code == .cancelled {
          throw StoreRecoveryError(
            .cancelled, "the move was cancelled; the store is where it was", path: error.path,
            underlying: error)
        }
        guard error.code == .changing else { throw error }
        // Another process that reads the store may be writing to the wal-index.
        guard deadline.sleepsBriefly() else {
          throw StoreRecoveryError(.inUse, error.message, path: error.path, underlying: error)
        }
      }
    }
  }

  /// Continues to hash the files of an incident whose seal is incomplete. Adds the complete seal to the incident's
  /// record. The caller holds the lease.
  ///
  /// - Returns: Whether a later launch must read further bytes.
  @discardableResult
  func continueSeal(_ folder: QuarantineFolder, budget: inout Int64?) throws -> Bool {
    guard try fileSystem.status(folder.back) == nil,
      var incident = try records.incident(in: folder.path),
      PathText.isSame(incident.storeName, folder.storeName)
    else { return false }
    if incident.seal == nil {
      // Closing a file that this process has open as a database would drop SQLite's locks on it.
      if let here = try fileSystem.status(folder.keptMainPath),
        try fileSystem.status(folder.mainPath)?.isSameFile(as: here) == true
      {
        return false
      }
      let kept = StoreSet(at: folder.keptMainPath)
      guard !kept.members.isEmpty else { return false }
      guard let seal = try seal(folder, kept, budget: &budget) else { return true }
      incident.seal = seal
      try records.write(incident, to: folder.incident, replacing: true)
    }
    try forgetProgress(folder)
    try fileSystem.syncFolder(folder.path)
    return false
  }

  func forgetProgress(_ folder: QuarantineFolder) throws {
    for path in [folder.sealing, folder.sealing + RecordFile.partSuffix] {
      try fileSystem.remove(path)
    }
  }
}

private struct Sealing {
  let mover: SetMover
  let folder: QuarantineFolder
  let kept: StoreSet
  let budget: Int64?
  var progress: SealProgress
  /// The number of bytes that this run has read.
  var read: Int64 = 0
  /// The number of bytes read since the progress was last saved.
  var unnoted: Int64 = 0

  init(
    _ mover: SetMover, _ folder: QuarantineFolder, _ kept: StoreSet, budget: Int64?
  ) {
    self.mover = mover
    self.folder = folder
    self.kept = kept
    self.budget = budget
    // A damaged progress file counts as missing.
    let noted = try? mover.records.read(
      SealProgress.self, from: folder.sealing, limit: RecordFile.limit)
    progress = noted.flatMap { $0.isValid ? $0 : nil } ?? SealProgress()
  }

  mutating func run() throws -> StoreSeal? {
    if let problem = kept.problem {
      throw StoreSealError.incomplete(kept.mainPath, problem)
    }
    let known = Dictionary(firstOf: progress.files.map { (FileName($0.name), $0) })
    progress.files = []
    for member in kept.members {
      if let done = known[FileName(member.name)], try isUnchangedSince(member, done) {
        progress.files.append(done)
        continue
      }
      guard let file = try seal(member) else {
        try note()
        return nil
      }
      progress.files.append(file)
      progress.current = nil
      if unnoted >= mover.pace.bytesPerNote { try note() }
    }
    return StoreSeal(files: progress.files)
  }

  private func isUnchangedSince(_ member: StoreSet.Member, _ done: StoreSeal.File) throws -> Bool {
    guard done.role == member.role, done.kind == member.kind,
      let status = try mover.fileSystem.status(member.path)
    else { return false }
    return member.kind == .folder
      || status.sizeBytes == (member.kind == .file ? done.sizeBytes : status.sizeBytes)
        && status.inode == done.inode && status.modified == done.modifiedNanoseconds
  }

  /// Reads one member of the store set, and returns its size and SHA-256 for the seal. Returns nil when the budget of
  /// this launch does not allow reading the member.
  private mutating func seal(_ member: StoreSet.Member) throws -> StoreSeal.File? {
    if let budget {
      if member.kind == .file, member.sizeBytes > mover.pace.bytesPerNote {
        return try sealLarge(member, budget)
      }
      // Each launch reads at least one file, however small its budget is.
      if read > 0, member.sizeBytes > budget - read { return nil }
    }
    let file = try StoreSeal.seal(member, isCancelled: mover.isCancelled)
    count(file.sizeBytes)
    return file
  }

  /// Computes the seal of a large file of the store set, beginning at the position that an earlier launch has saved.
  /// Saves the progress after each step. Returns nil when the budget is used up before the end of the file.
  private mutating func sealLarge(
    _ member: StoreSet.Member, _ budget: Int64
  ) throws -> StoreSeal.File? {
    guard let status = try mover.fileSystem.status(member.path), status.kind == .file else {
      throw StoreSealError.changing(member.path)
    }
    var hasher = ResumableSHA256()
    if let current = progress.current, PathText.isSame(current.name, member.name),
      current.status.isUnchanged(status)
    {
      hasher = ResumableSHA256(current.state)
    }
    while true {
      let start = hasher.state.byteCount
      // Each launch reads at least one step, however small its budget is.
      let share = read == 0 ? mover.pace.bytesPerNote : budget - read
      let step = max(64, min(mover.pace.bytesPerNote, share))
      var rest: [UInt8] = []
      let end = unsafe try StoreSeal.read(
        member.path, expecting: status, from: start, isCancelled: mover.isCancelled
      ) { bytes in
        // A short read may end within a block; the rest of the block is hashed with the next read.
        unsafe rest.append(contentsOf: bytes)
        let taken = unsafe rest.withUnsafeBytes { unsafe hasher.update($0) }
        rest.removeFirst(taken)
        return hasher.state.byteCount - start < step
      }
      count(end - start)
      if end == status.sizeBytes {
        return StoreSeal.File(
          name: member.name, role: member.role, kind: .file, sizeBytes: status.sizeBytes,
          sha256: hasher.finalize(rest), modifiedNanoseconds: status.modified, inode: status.inode)
      }
      progress.current = .init(name: member.name, status: status, state: hasher.state)
      if read >= budget { return nil }
      try note()
    }
  }

  private mutating func count(_ bytes: Int64) {
    read = read.addingClamped(bytes)
    unnoted = unnoted.addingClamped(bytes)
  }

  private mutating func note() throws {
    try mover.records.write(progress, to: folder.sealing, replacing: true)
    unnoted = 0
  }
}

extension FileStatus {
  /// Whether `other` is the same file with the same content, as far as its status shows. The number of hard links and
  /// the status change time may differ.
  func isUnchanged(_ other: FileStatus) -> Bool {
    isSameFile(as: other) && hasSizeAndTime(of: other)
  }

  /// Whether this file has the size and the modification time of `other`, as a copy that this package makes has.
  func hasSizeAndTime(of other: FileStatus) -> Bool {
    sizeBytes == other.sizeBytes && modified == other.modified
  }
}
