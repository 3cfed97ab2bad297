import CLibrary
import StoreFiles
import SafeFiles

/// Two kinds of locks between processes.
///
/// The lease ensures that only one process at a time moves stores with Lifeboat. SQLite's own locks keep all other
/// processes out of a store while its files are moved. Both are held only during a move, because iOS kills a process
/// that is suspended while it holds a file lock. The kernel releases both when a process ends.
///
/// An idle connection in rollback mode holds no lock, so it cannot be detected. What it writes after the move goes to
/// the files in the quarantine.
extension SetMover {
  /// Runs `body` while this process holds the lease, so no other process moves a store in `home`. `body` must not call
  /// this method again.
  ///
  /// - Throws: ``StoreRecoveryError`` with the code `store.inUse` when another process does not finish its move in
  ///   time; otherwise what `body` throws.
  func leased<Result>(_ home: String, _ body: () throws -> Result) throws -> Result {
    let path = QuarantineFolder.parent(in: home) + "/" + QuarantineFolder.leaseName
    let deadline = Deadline(seconds: maximumWaitSeconds)
    while true {
      if let descriptor = try fileSystem.lock(path) {
        defer { _ = CLibrary.close(descriptor) }
        return try body()
      }
      guard deadline.sleepsBriefly() else {
        throw StoreRecoveryError(
          .inUse, "another process is moving a store in this folder; try again", path: path)
      }
    }
  }

  /// Runs `body` while no connection of another process can read or write the database at `path`. If `path` is nil or
  /// names no file, nothing is locked.
  ///
  /// `body` must not open the file: closing it would release the locks.
  ///
  /// - Throws: ``StoreRecoveryError`` with the code `store.inUse` when another process still holds a lock at the end of
  ///   the maximum waiting time; otherwise what `body` throws.
  func lockingOut<Result>(_ path: String?, _ body: () throws -> Result) throws -> Result {
    guard let path, try fileSystem.status(path)?.kind == .file else { return try body() }
    let deadline = Deadline(seconds: maximumWaitSeconds)
    while true {
      switch try DatabaseLock.take(path) {
      case .taken(let descriptor):
        defer { _ = CLibrary.close(descriptor) }
        return try body()
      case .free: return try body()
      case .usedElsewhere: break
      }
      guard deadline.sleepsBriefly() else {
        throw StoreRecoveryError(
          .inUse, "another process has the store open; close it there, then open it here again",
          path: path)
      }
    }
  }
}

/// The result of taking all of SQLite's locks on a main file at once: the pending, reserved and shared bytes (SQLite
/// file format, section 1.2, "The Lock-Byte Page"). A connection in WAL mode holds one of these locks while it is open.
enum DatabaseLock {
  case taken(Int32)
  /// No other process holds a lock, or this volume does not report locks.
  case free
  case usedElsewhere

  /// The argument of `fcntl` for taking or querying a lock that excludes every other connection.
  static var exclusive: flock {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = 0x4000_0000
    lock.l_len = 512
    return lock
  }

  static func take(_ path: String) throws -> DatabaseLock {
    var descriptor = SystemCalls.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
    let isReadOnly = descriptor < 0 && [EACCES, EPERM, EROFS].contains(errno)
    if isReadOnly { descriptor = SystemCalls.openForReading(path) }
    guard descriptor >= 0 else {
      if errno == ENOENT { return .free }
      throw SystemCallError(call: "open", path: path, errno: errno)
    }
    var lock = exclusive
    // A file that cannot be written cannot be locked for writing, but its locks can be queried.
    let result = SystemCalls.retrying {
      unsafe fcntl(descriptor, isReadOnly ? F_GETLK : F_SETLK, &lock)
    }
    let code = errno
    if result == 0, !isReadOnly { return .taken(descriptor) }
    close(descriptor)
    if result == 0 { return lock.l_type == Int16(F_UNLCK) ? .free : .usedElsewhere }
    return code == EACCES || code == EAGAIN ? .usedElsewhere : .free
  }

  /// Waits until no other process holds a lock on the database at `path`, at most until `deadline`.
  ///
  /// - Returns: Whether another process still holds a lock; nil when unknown.
  @discardableResult
  static func isUsed(_ path: String, until deadline: Deadline) -> Bool? {
    while true {
      let isUsed = FileEvidence.isUsedElsewhere(path)
      guard isUsed == true, deadline.sleepsBriefly() else { return isUsed }
    }
  }
}

/// The time at which a wait for another process ends.
struct Deadline {
  private let end: ContinuousClock.Instant

  /// Ends the wait after `seconds`, at most 60; NaN means no wait.
  init(seconds: Double) {
    end = .now + .seconds(seconds.isNaN ? 0 : min(max(seconds, 0), 60))
  }

  /// Sleeps for 2 ms and returns true. Returns false at once if the deadline has passed.
  func sleepsBriefly() -> Bool {
    guard ContinuousClock.now < end else { return false }
    usleep(2000)
    return true
  }
}
