#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The system calls that create, write, sync and name an output file, replaceable so that tests can fail
/// each. All return -1 with `errno` set on failure, as the calls themselves do.
@safe struct OutputCalls: Sendable {
  var create: @Sendable (_ path: String) -> Int32 = { createExclusively($0) }
  var write: @Sendable (Int32, UnsafeRawBufferPointer, off_t) -> Int = {
    unsafe pwrite($0, $1.baseAddress, $1.count, $2)
  }
  var sync: @Sendable (_ descriptor: Int32) -> Int32 = { syncToDrive($0) }
  var link: @Sendable (_ from: String, _ to: String) -> Int32 = { addLink($0, $1) }
  var rename: @Sendable (_ from: String, _ to: String) -> Int32 = { moveFile($0, $1) }
  var unlink: @Sendable (_ path: String) -> Int32 = { removeLink($0) }
}

private func createExclusively(_ path: String) -> Int32 {
  unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
}

private func syncToDrive(_ descriptor: Int32) -> Int32 {
  #if canImport(Darwin)
    // fsync leaves the bytes in the drive's cache; not every volume knows F_FULLFSYNC.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
  #endif
  return fsync(descriptor)
}

private func addLink(_ from: String, _ to: String) -> Int32 { unsafe link(from, to) }
private func moveFile(_ from: String, _ to: String) -> Int32 { unsafe rename(from, to) }
private func removeLink(_ path: String) -> Int32 { unsafe unlink(path) }
