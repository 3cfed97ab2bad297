import CLibrary
import CSQLite

/// Interrupts a statement that computes for too long. SQLite calls the meter after a fixed number of steps of SQLite's
/// virtual machine.
@safe final class WorkMeter {
  /// The number of virtual machine steps after which the clock is read again. A row of an ordinary table takes a few
  /// dozen steps.
  private static let steps: Int32 = 1000
  private var end: UInt64 = .max

  /// The CPU time of this thread in nanoseconds. Unlike elapsed time, CPU time does not include waiting for the disk.
  private static var now: UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return 0 }
    return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
  }

  fileprivate func begin(_ handle: OpaquePointer, seconds: Double) -> UInt64 {
    let start = Self.now
    let nanoseconds = max(0, min(seconds, 1e9)) * 1e9
    end = start &+ UInt64(nanoseconds)
    unsafe sqlite3_progress_handler(
      handle, Self.steps,
      { context in
        guard let context = unsafe context else { return 0 }
        let meter = unsafe Unmanaged<WorkMeter>.fromOpaque(context).takeUnretainedValue()
        return WorkMeter.now > meter.end ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
    return start
  }

  /// Returns the CPU time since `start`, in seconds.
  fileprivate func end(_ handle: OpaquePointer, since start: UInt64) -> Double {
    unsafe sqlite3_progress_handler(handle, 0, nil, nil)
    let now = Self.now
    return now > start ? Double(now - start) / 1e9 : 0
  }
}

extension SQLiteWriter {
  /// Runs `body` with a limit for CPU time. Use this method for SQL that evaluates a definition from a file, for
  /// example an expression.
  ///
  /// When the CPU time is used up, the current statement fails with `tooLong`. If this statement writes, the whole
  /// transaction is rolled back. A single call of an SQL function is not interrupted, but ``Options/maxValueBytes``
  /// limits its work.
  ///
  /// `seconds`: the CPU time that `body` may use. On return, or after an error, the CPU time that was used is
  /// subtracted.
  package func limited<R>(to seconds: inout Double, _ body: () throws(SQLiteWriterError) -> R)
    throws(SQLiteWriterError) -> R
  {
    guard let handle = unsafe handle else { throw closedError }
    let start = unsafe meter.begin(handle, seconds: seconds)
    defer {
      // If `body` has closed the writer, the progress handler no longer exists.
      if unsafe self.handle != nil { seconds -= unsafe meter.end(handle, since: start) }
    }
    return try body()
  }

  /// The maximum number of columns of a table; 0 when the writer is closed.
  package var maxColumns: Int {
    guard let handle = unsafe handle else { return 0 }
    return Int(unsafe sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, -1))
  }
}
