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

  /// Throws an error for `call` on `path` unless `errno` is nil.
  package static func check(
    _ call: String, _ path: String, _ errno: Int32?
  ) throws(SystemCallError) {
    if let errno { throw SystemCallError(call: call, path: path, errno: errno) }
  }
}
