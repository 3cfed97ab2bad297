import CLibrary
import SafeFiles

/// The system calls that create, write, sync and name an output file in an open folder. Tests replace each call with
/// one that fails. Except for `remove`, a call that fails returns -1 and sets `errno`, as system calls do.
@safe struct OutputCalls: Sendable {
  var create: @Sendable (_ folder: Int32, _ name: String) -> Int32 = {
    SystemCalls.create($1, in: $0, O_RDWR)
  }
  var write: @Sendable (Int32, UnsafeRawBufferPointer, off_t) -> Int = {
    unsafe pwrite($0, $1.baseAddress, $1.count, $2)
  }
  var sync: @Sendable (_ descriptor: Int32) -> Int32 = { synchronize($0) }
  var link: @Sendable (_ folder: Int32, _ from: String, _ to: String) -> Int32 = {
    addLink($0, $1, $2)
  }
  /// Renames a file. Fails if a file with the new name exists.
  var rename: @Sendable (_ folder: Int32, _ from: String, _ to: String) -> Int32 = {
    moveFile($0, $1, $2)
  }
  /// Removes the file `name`, if `isOurs` returns true. `isOurs` returns whether a file is the expected one. Its
  /// argument is the name that the file has at the time of the call, which may be a temporary one.
  var remove:
    @Sendable (_ folder: Int32, _ name: String, _ isOurs: (_ name: String) -> Bool) ->
      SafeRemoval.End =
      { SafeRemoval.remove($1, in: $0, isOurs: $2) }
}

private func synchronize(_ descriptor: Int32) -> Int32 {
  guard let error = SystemCalls.synchronize(descriptor) else { return 0 }
  errno = error
  return -1
}

private func addLink(_ folder: Int32, _ from: String, _ to: String) -> Int32 {
  unsafe linkat(folder, from, folder, to, 0)
}

private func moveFile(_ folder: Int32, _ from: String, _ to: String) -> Int32 {
  guard let error = SystemCalls.rename(from, in: folder, to: to, in: folder) else { return 0 }
  errno = error
  return -1
}
