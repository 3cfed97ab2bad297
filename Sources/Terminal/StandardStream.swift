import CLibrary
import Quoting

/// Why a stream accepts no more bytes.
package struct StreamError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A stable name for a kind of error. New codes may be added.
  package struct Code: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The reader at the other end has closed the stream; nobody can read what follows.
    package static let closed = Self(rawValue: "stream.closed")
    /// The device or the user's quota is full.
    package static let full = Self(rawValue: "stream.full")
    /// Any other failure of `write(2)`.
    package static let writeFailed = Self(rawValue: "stream.writeFailed")
  }

  package let code: Code
  /// What happened, in one sentence without a full stop.
  package let message: String
  /// The file descriptor, 1 for standard output and 2 for standard error.
  package let descriptor: Int32
  /// The `errno` of the call that failed.
  package let systemError: Int32

  /// The message, the descriptor and the code, on one line.
  package var description: String {
    "\(message), on file descriptor \(descriptor) (\(code.rawValue))"
  }
}

/// A buffered stream over `write(2)`.
///
/// When the reader has closed the stream, the system sends SIGPIPE. A process must ignore this signal to get
/// `stream.closed` instead.
///
/// When the stream object is released, it writes the bytes that are left in the buffer, but cannot report an error. To
/// get such an error, call ``flush()`` first. Only one task at a time may use the object.
package final class StandardStream {
  /// The file descriptor, which stays open when this object is released.
  package let descriptor: Int32
  private let capacity: Int
  private let calls: StreamCalls
  private let isTerminal: Bool
  private var buffer: [UInt8] = []
  private var failure: StreamError?

  /// Makes a stream over an open descriptor: 1 for standard output, 2 for standard error. At most `capacity` bytes wait
  /// in the buffer. If `capacity` is 0, each call writes at once.
  package convenience init(descriptor: Int32, capacity: Int = 64 * 1024) {
    self.init(descriptor: descriptor, capacity: capacity, calls: StreamCalls())
  }

  /// Makes a stream with replaceable system calls. If `isTerminal` is nil, the system says whether the descriptor is a
  /// terminal.
  init(descriptor: Int32, capacity: Int, calls: StreamCalls, isTerminal: Bool? = nil) {
    self.descriptor = descriptor
    self.isTerminal = isTerminal ?? System.isTerminal(descriptor)
    self.capacity = capacity
    self.calls = calls
  }

  deinit {
    try? flush()
  }

  /// Writes text into the buffer. After an error, every further call of any method throws the same error.
  package func write(_ text: String) throws(StreamError) {
    try write(bytes: text.utf8)
  }

  /// Writes JSON into the buffer. If the stream is a terminal, characters that a terminal would obey or hide are
  /// written as JSON escapes, which do not change the meaning of the JSON.
  package func write(json text: String) throws(StreamError) {
    try write(isTerminal ? TerminalText.escaped(text) : text)
  }

  /// Writes text to a descriptor at once. Returns false when the descriptor accepts no more bytes.
  @discardableResult
  static func write(_ text: String, to descriptor: Int32) -> Bool {
    (try? StandardStream(descriptor: descriptor, capacity: 0).write(text)) != nil
  }

  package func writeLine(_ text: String) throws(StreamError) {
    try write(text + "\n")
  }

  /// Writes bytes into the buffer. When the buffer is full, writes it to the descriptor.
  package func write(bytes: some Sequence<UInt8>) throws(StreamError) {
    if let failure { throw failure }
    buffer.append(contentsOf: bytes)
    if buffer.count > capacity { try flush() }
  }

  /// Writes the buffered bytes to the descriptor now, and waits while a non-blocking descriptor is busy.
  package func flush() throws(StreamError) {
    if let failure { throw failure }
    let pending = buffer
    buffer.removeAll(keepingCapacity: true)
    var done = 0
    while done < pending.count {
      let rest = pending[done...]
      let written = unsafe rest.withUnsafeBytes { unsafe calls.write(descriptor, $0) }
      if written > 0 {
        done += written
        continue
      }
      // A result of zero means no progress, and is treated as a full device, so that this loop ends.
      let error = written == 0 ? ENOSPC : errno
      switch error {
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK: calls.waitUntilWritable(descriptor)
      default: throw fail(error)
      }
    }
  }

  private func fail(_ error: Int32) -> StreamError {
    let (code, what): (StreamError.Code, String) =
      switch error {
      case EPIPE: (.closed, "the reader has closed the stream")
      case ENOSPC, EDQUOT: (.full, "the output device is full")
      default: (.writeFailed, "the output cannot be written: \(System.message(error))")
      }
    let failure = StreamError(
      code: code, message: what, descriptor: descriptor, systemError: error)
    self.failure = failure
    return failure
  }
}

/// The system calls of a stream, replaceable so that tests can interrupt and fail them.
@safe struct StreamCalls: Sendable {
  /// Does what `write(2)` does: returns the number of bytes written, or -1 with `errno` set.
  var write: @Sendable (Int32, UnsafeRawBufferPointer) -> Int = {
    unsafe CLibrary.write($0, $1.baseAddress, $1.count)
  }
  var waitUntilWritable: @Sendable (Int32) -> Void = { descriptor in
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = unsafe poll(&entry, 1, -1)
  }
}
