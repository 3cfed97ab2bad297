import CLibrary
import SafeFiles

/// The paths of the inputs, in the order in which they are read. These are the paths on the command line, with the
/// paths from standard input in place of `-`. Only the last piece that was read from standard input is held in memory.
struct InputList {
  enum Next {
    case path([UInt8])
    /// No path has arrived yet. The next path can be read as soon as this descriptor has bytes to read.
    case waiting(Int32)
    case end
  }

  /// The maximum number of bytes of a path. No system accepts a longer path.
  static let maxPathBytes = 32 << 10

  private let arguments: [String]
  private var place = 0
  private let separator: UInt8
  /// Bytes that were read from standard input. ``next(_:)`` has already returned the paths before `start`.
  private var buffer: [UInt8] = []
  private var start = 0
  private var hasEnded = false
  /// Whether the rest of a path that is too long is being skipped.
  private var isSkipping = false

  /// Creates a list of the paths in `arguments`. On standard input, a zero byte ends each path if `endsInZero` is true,
  /// else a line end.
  init(_ arguments: [String], endsInZero: Bool) {
    self.arguments = arguments
    separator = endsInZero ? 0 : 0x0a
  }

  /// The next path. This call never blocks, because it reads from a descriptor only if `canRead` returns true for it.
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

  /// The next path in the bytes that were read; nil when these bytes contain no complete path. A path that is too long
  /// is cut to one byte more than the maximum, so that the caller sees that it is too long.
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
      // The last path on standard input may lack the byte that ends a path.
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
      // Standard input has ended, is closed, or is a folder: it has no more paths.
      if count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) { hasEnded = true }
      return
    }
    buffer += piece[..<count]
  }
}
