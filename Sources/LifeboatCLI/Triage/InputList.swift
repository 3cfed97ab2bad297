import CLibrary
import SafeFiles

/// The paths that are to be read, one after the other: those of the command line, and for `-` those of standard input.
/// Nothing is held but the piece of the list that was read last.
struct InputList {
  /// What comes next.
  enum Next {
    case path([UInt8])
    /// Nothing yet: there is more once this descriptor can be read.
    case waiting(Int32)
    case end
  }

  /// The most bytes of a path; no system takes more.
  static let maxPathBytes = 32 << 10

  private let arguments: [String]
  private var place = 0
  private let separator: UInt8
  /// What was read of standard input and not handed out.
  private var buffer: [UInt8] = []
  private var start = 0
  private var hasEnded = false
  /// Whether a path was too long, and the rest of it is passed over.
  private var isSkipping = false

  /// A list. With `endsInZero`, a zero byte stands between the paths of standard input instead of a line end.
  init(_ arguments: [String], endsInZero: Bool) {
    self.arguments = arguments
    separator = endsInZero ? 0 : 0x0a
  }

  /// The next path. `canRead` says whether a descriptor has something to read, so that this never waits.
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

  /// The next line of what was read; nil when there is no whole one.
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
      // The last line may lack its end.
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
      // A standard input that is a folder, or closed, has no lines.
      if count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) { hasEnded = true }
      return
    }
    buffer += piece[..<count]
  }
}
