import CLibrary

/// A failed system call: its name, its path and its `errno`.
package struct SystemCallError: Error, Sendable, Equatable {
  package let call: String
  package let path: String
  package let errno: Int32

  package init(call: String, path: String, errno: Int32) {
    self.call = call
    self.path = path
    self.errno = errno
  }

  /// The system's words for the error, with the name of the call and the number: `Permission denied (open, error 13)`.
  package var reason: String {
    "\(Self.words(errno)) (\(call), error \(errno))"
  }

  /// The system's words for an error number.
  package static func words(_ errno: Int32) -> String {
    unsafe String(cString: strerror(errno))
  }

  /// Throws an error for `call` on `path` unless `errno` is nil.
  package static func check(
    _ call: String, _ path: String, _ errno: Int32?
  ) throws(SystemCallError) {
    if let errno { throw SystemCallError(call: call, path: path, errno: errno) }
  }
}
