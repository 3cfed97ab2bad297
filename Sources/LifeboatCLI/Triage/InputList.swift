import CLibrary
import SafeFiles

/// The paths of the inputs, one after the other: those of the command line, with the paths of standard input in the
/// place of `-`. Only the piece of standard input that was read last is held in memory.
struct InputList {
  /// What ``next(_:)`` gives.
  enum Next {
    case path([UInt8])
    /// There is no path yet. There may be one as soon as this descriptor can be read.
    case waiting(Int32)
    case end
  }

  /// The maximum number of bytes of a path. No system takes a longer one.
  static let maxPathBytes = 32 << 10

  private let arguments: [String]
  private var place = 0
  private let separator: UInt8
  /// The bytes of standard input that were read; those before `start` were handed out.
  private var buffer: [UInt8] = []
  private var start = 0
  private var hasEnded = false
  /// Whether the rest of a path that is too long is being skipped.
  private var isSkipping = false

  /// A list of the paths in `arguments`. With `endsInZero`, a zero byte ends each path of standard input, instead of a
  /// line end.
  init(_ arguments: [String], endsInZero: Bool) {
    self.arguments = arguments
    separator = endsInZero ? 0 : 0x0a
  }

  /// The next path. `canRead` says whether a descriptor has something to read, so that this call never blocks.
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

  /// The next path in the bytes that were read; nil when no whole path is there. A path that is too long is returned
  /// with more than the maximum number of bytes, so that the caller refuses it.
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
      // The last path of standard input may lack its end.
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
      // If standard input is closed or is a folder, it has no paths.
      if count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) { hasEnded = true }
      return
    }
    buffer += piece[..<count]
  }
}
