import CLibrary
import SafeFiles

/// The paths of the inputs, in the order in which triage reads them. These are the paths on the command line, where `-`
/// stands for all paths from standard input. Standard input is read in pieces, so that the paths need little memory.
struct InputList {
  enum Next {
    case path([UInt8])
    /// No complete path has arrived on standard input yet. Call `next` again when the file descriptor in the associated
    /// value has bytes to read.
    case waiting(Int32)
    case end
  }

  /// The maximum number of bytes of a path. No system accepts a longer path.
  static let maxPathBytes = 32 << 10

  private let arguments: [String]
  private var place = 0
  private let separator: UInt8
  /// Bytes that were read from standard input. The bytes before `start` belong to paths that ``next(_:)`` has returned.
  private var buffer: [UInt8] = []
  private var start = 0
  private var hasEnded = false
  /// Whether a path was too long, and the rest of it is being skipped.
  private var isSkipping = false

  /// Creates a list of the paths in `arguments`. Each path from standard input ends in a zero byte if `endsInZero` is
  /// true, else in a line feed.
  init(_ arguments: [String], endsInZero: Bool) {
    self.arguments = arguments
    separator = endsInZero ? 0 : 0x0a
  }

  /// Returns the path of the next input. Never blocks: a descriptor is read only if `canRead` returns true for it.
  mutating func next(_ canRead: (Int32) -> Bool) -> Next {
    while place < arguments.count {
      guard arguments[place] == "-" else {
        defer { place += 1 }
        return .path(Array(arguments[place].utf8))
      }
      if let path = line() {
        if path.isEmpty { continue }
        return .path(path)
      }
      if hasEnded {
        place += 1
        continue
      }
      guard canRead(0) else { return .waiting(0) }
      read()
    }
    return .end
  }

  /// Returns the next path in `buffer`; nil when `buffer` contains no complete path. A path that is too long is cut to
  /// ``maxPathBytes`` + 1 bytes, so that the caller can reject the path.
  private mutating func line() -> [UInt8]? {
    while true {
      let rest = buffer[start...]
      if let end = rest.firstIndex(of: separator) {
        start = end + 1
        if isSkipping {
          isSkipping = false
          continue
        }
        return Array(rest[..<end])
      }
      if rest.count > Self.maxPathBytes {
        let path = Array(rest.prefix(Self.maxPathBytes + 1))
        start = buffer.count
        defer { isSkipping = true }
        if isSkipping { return nil }
        return path
      }
      // The last path on standard input may have no separator after it.
      guard hasEnded, !rest.isEmpty else { return nil }
      start = buffer.count
      return isSkipping ? nil : Array(rest)
    }
  }

  private mutating func read() {
    buffer.removeFirst(start)
    start = 0
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe piece.withUnsafeMutableBytes { bytes in
      SystemCalls.retrying { unsafe CLibrary.read(0, bytes.baseAddress, bytes.count) }
    }
    guard count > 0 else {
      // Standard input has ended, is closed, or is a folder, so no more paths follow.
      if count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) { hasEnded = true }
      return
    }
    buffer += piece[..<count]
  }
}
